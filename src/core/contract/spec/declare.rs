//! The macro that declares a mapping of the file: its keys, the struct that holds them, and its reader.

use super::form::DefaultText;
use crate::contract::BigCount;

/// The value of a key in the contract, which records it under the same name.
pub(in crate::contract) trait Recorded<U, T> {
    fn recorded(&self, default_value: &U) -> T;
}

impl<T: Clone> Recorded<T, T> for Option<T> {
    fn recorded(&self, default_value: &T) -> T {
        self.as_ref().unwrap_or(default_value).clone()
    }
}

impl<T: Clone> Recorded<DefaultText, T> for T {
    fn recorded(&self, _: &DefaultText) -> T {
        self.clone()
    }
}

impl<T: Clone + Default> Recorded<DefaultText, T> for Option<T> {
    fn recorded(&self, _: &DefaultText) -> T {
        self.clone().unwrap_or_default()
    }
}

impl Recorded<&'static str, String> for Option<String> {
    fn recorded(&self, default_value: &&'static str) -> String {
        self.as_deref().unwrap_or(default_value).to_owned()
    }
}

impl Recorded<u64, BigCount> for Option<u64> {
    fn recorded(&self, default_value: &u64) -> BigCount {
        BigCount(self.unwrap_or(*default_value))
    }
}

impl Recorded<DefaultText, Option<BigCount>> for Option<u64> {
    fn recorded(&self, _: &DefaultText) -> Option<BigCount> {
        self.map(BigCount)
    }
}

/// Declares a mapping: the one place of its keys.
///
/// A key is `name: type as held type => mode, default type = default, "meaning" => facts;`. The held type is left out where it is the type
/// that is read, `name as "text"` gives a key another name than its field. The mode says how a struct holds the value:
///
/// | mode | field | left out |
/// |---|---|---|
/// | none | `Option<T>` | `None` |
/// | `or_empty` | `T` | `T::default()` |
/// | `or_default` | `T` | the default |
/// | `or_off`, `or_off_word` | `Setting<T>` | `Setting::Unset` |
/// | `needed`, `needed_somewhere` | `T` | refused |
///
/// A key with `#[recorded]` is a field of the contract of the same name. Brackets behind the title name the struct: `struct X` declares
/// it, `reads X` fills one that is declared elsewhere. Braces behind it hold fields that are no keys. `judged` has [`Judge`] make the value,
/// which `judged elsewhere` may be defined outside the file, `by hand` leaves [`Read`] to the author.
macro_rules! form {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };

    (@held $mode:tt $value:ty as $held:ty) => { $crate::contract::spec::declare::form!(@held $mode $held) };
    (@held [] $value:ty) => { Option<$value> };
    (@held [or_off] $value:ty) => { $crate::contract::Setting<$value> };
    (@held [or_off_word] $value:ty) => { $crate::contract::Setting<$value> };
    (@held [$mode:ident] $value:ty) => { $value };

    (@get [or_off] $section:ident $key:expr) => { $section.or_off(&$key) };
    (@get [or_off_word] $section:ident $key:expr) => { $section.or_off(&$key) };
    (@get $mode:tt $section:ident $key:expr) => { $section.get(&$key) };

    (@take [or_empty] $field:ident $key:expr) => { $field.unwrap_or_default() };
    (@take [or_default] $field:ident $key:expr) => { $field.unwrap_or($key.default_value.into()) };
    (@take [needed] $field:ident $key:expr) => { $field? };
    (@take [needed_somewhere] $field:ident $key:expr) => { $field? };
    (@take $mode:tt $field:ident $key:expr) => { $field };

    (@visit [] $visitor:ident $key:expr, $own:expr, $other:expr) => { $visitor.visit($key.facts(), &mut $own, &$other) };
    (@visit [or_off] $($rest:tt)+) => { $crate::contract::spec::declare::form!(@visit [] $($rest)+) };
    (@visit [or_off_word] $($rest:tt)+) => { $crate::contract::spec::declare::form!(@visit [] $($rest)+) };
    (@visit $mode:tt $($rest:tt)+) => {};

    (@spec [] $form:ident $doc:tt $fields:tt) => {};
    (@spec [$(#[$attribute:meta])* $visibility:vis struct $spec:ident $({$($extra:tt)*})? $($how:ident)* $(-> $terms:ty)?] $form:ident [$(#[$doc:meta])*]
        [$([$field:ident $flag:tt $mode:tt [$($held:tt)+] $meaning:expr])+]
    ) => {
        $(#[$doc])*
        $(#[$attribute])*
        $visibility struct $spec {
            $(#[doc = $meaning] pub $field: $crate::contract::spec::declare::form!(@held $mode $($held)+),)+
            $($($extra)*)?
        }

        $crate::contract::spec::declare::form!(@keyed $spec [$({$($extra)*})?] $form [$([$field $mode])+]);
        $crate::contract::spec::declare::form!(@read [$($how)*] $spec $form);
        $crate::contract::spec::declare::form!(@record [$($terms)?] $spec $form [$([$field $flag])+]);
    };
    (@spec [reads $spec:ident $({$($extra:tt)*})? $($how:ident)*] $form:ident $doc:tt
        [$([$field:ident $flag:tt $mode:tt $held:tt $meaning:expr])+]
    ) => {
        $crate::contract::spec::declare::form!(@keyed $spec [$({$($extra)*})?] $form [$([$field $mode])+]);
        $crate::contract::spec::declare::form!(@read [$($how)*] $spec $form);
    };

    (@keyed $spec:ident $extra:tt $form:ident [$([$field:ident $mode:tt])+]) => {
        impl $crate::contract::spec::section::Keyed for $spec {
            fn from_section(section: &mut $crate::contract::spec::section::Section<'_, '_>) -> Option<Self> {
                // Every key is read before one that is missing ends it, so that every fault is found.
                $(let $field = $crate::contract::spec::declare::form!(@get $mode section $form.$field);)+
                Some($crate::contract::spec::declare::form!(@make $spec $extra {
                    $($field: $crate::contract::spec::declare::form!(@take $mode $field $form.$field),)+
                }))
            }

            #[allow(unused_variables, reason = "a mapping may have no key that can be left out")]
            fn visit(&mut self, other: &Self, visitor: &mut impl $crate::contract::spec::form::Visit) {
                $($crate::contract::spec::declare::form!(@visit $mode visitor $form.$field, self.$field, other.$field);)+
            }
        }
    };
    (@make $spec:ident [] {$($fields:tt)+}) => { $spec { $($fields)+ } };
    (@make $spec:ident [$extra:tt] {$($fields:tt)+}) => { $spec { $($fields)+ ..$spec::default() } };

    (@read [by hand] $spec:ident $form:ident) => {};
    (@read [] $spec:ident $form:ident) => {
        impl $crate::contract::spec::form::Read for $spec {
            type Output = Self;

            fn read(node: &$crate::contract::spec::tree::Node, reporter: &$crate::contract::spec::reporter::Reporter<'_>) -> Option<Self> {
                $crate::contract::spec::section::Section::of(node, reporter, &$form)
            }

            fn schema(definitions: &mut $crate::contract::spec::form::Schemas) -> serde_json::Value {
                definitions.form(&$form)
            }
        }
    };
    (@schema [] $definitions:ident $form:ident) => { $definitions.form(&$form) };
    (@schema [elsewhere] $definitions:ident $form:ident) => { $definitions.form_or_elsewhere(&$form) };
    (@read [judged $($elsewhere:ident)?] $spec:ident $form:ident) => {
        impl $crate::contract::spec::form::Read for $spec {
            type Output = <Self as $crate::contract::spec::section::Judge>::Output;

            fn read(
                node: &$crate::contract::spec::tree::Node,
                reporter: &$crate::contract::spec::reporter::Reporter<'_>,
            ) -> Option<Self::Output> {
                $crate::contract::spec::section::Section::judged::<Self>(node, reporter, &$form)
            }

            fn schema(definitions: &mut $crate::contract::spec::form::Schemas) -> serde_json::Value {
                $crate::contract::spec::declare::form!(@schema [$($elsewhere)?] definitions $form)
            }
        }
    };

    (@record [] $($rest:tt)+) => {};
    (@record [$terms:ty] $spec:ident $form:ident [$([$field:ident $flag:tt])+]) => {
        impl $spec {
            /// Puts every key into the contract that records it under the same name.
            pub(in crate::contract) fn record(&self, terms: &mut $terms) {
                $($crate::contract::spec::declare::form!(@recorded $flag terms.$field, self.$field, $form.$field);)+
            }
        }
    };
    (@recorded [] $term:expr, $own:expr, $key:expr) => {};
    (@recorded [recorded] $term:expr, $own:expr, $key:expr) => {
        $term = $crate::contract::spec::declare::Recorded::recorded(&$own, &$key.default_value)
    };

    (
        $(#[$doc:meta])*
        $form:ident: $keys:ident, $id:literal, $title:literal $([$($spec:tt)*])?;
        $($table:literal: {
            $(
                $(#[$flag:ident])?
                $field:ident $(as $name:literal)?: $value:ty $(as $held:ty)? $(=> $mode:ident)?, $default_value:ty = $default:expr,
                $meaning:expr $(=> $($fact:ident $(($argument:expr))?),+)?;
            )+
        })+
    ) => {
        $(#[$doc])*
        pub(in crate::contract) struct $keys {
            $($(pub(in crate::contract) $field: $crate::contract::spec::form::Key<$value, $default_value>,)+)+
        }

        $(#[$doc])*
        pub(in crate::contract) static $form: $keys = $keys {
            $($($field: $crate::contract::spec::form::Key::new(
                $crate::contract::spec::declare::form!(@name $field $($name)?),
                $default,
                $meaning,
            )$(.$mode())?$($(.$fact($($argument)?))+)?,)+)+
        };

        $crate::contract::spec::declare::form!(@spec [$($($spec)*)?] $form [$(#[$doc])*]
            [$($([$field [$($flag)?] [$($mode)?] [$value $(as $held)?] $meaning])+)+]);

        impl $keys {
            /// The names of its keys, in the order of the documentation.
            pub(in crate::contract) const fn every_name() -> &'static [&'static str] {
                &[$($($crate::contract::spec::declare::form!(@name $field $($name)?),)+)+]
            }
        }

        impl $crate::contract::spec::form::Form for $keys {
            fn id(&self) -> &'static str {
                $id
            }

            fn title(&self) -> &'static str {
                $title
            }

            fn names(&self) -> &'static [&'static str] {
                Self::every_name()
            }

            fn rows(&self) -> Vec<$crate::contract::spec::form::Row> {
                vec![$($($crate::contract::spec::form::row(&self.$field, $table),)+)+]
            }
        }
    };
}
pub(super) use form;
