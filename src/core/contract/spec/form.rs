//! The elements of the table of keys: a [`Key`] is a name, the type of its value, its default, and what it
//! means. Reading, the JSON Schema and the tables of the documentation come from it.

use std::marker::PhantomData;

use serde_json::{Map, Value, json};

use super::reporter::Reporter;
use super::tree::Node;
use crate::contract::ProviderType;

/// A type that is read from one node; None if a finding says why not.
pub(super) trait Read: Sized {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self>;

    /// JSON Schema of what is read.
    fn schema(definitions: &mut Schemas) -> Value;
}

/// A closed list of words.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// What null means at a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    /// It is refused.
    Refused,
    /// The same as leaving the key out.
    LeftOut,
    /// That there shall be none.
    Off,
    /// The same, as do the words of 001 §2.
    OffAsWords,
}

/// The words that switch a parameter off (001 §2).
pub(super) const OFF_WORDS: [&str; 4] = ["off", "none", "unset", "default"];

/// Whether a mapping means nothing without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    No,
    Here,
    /// Here, or in a definition outside the file.
    Somewhere,
}

/// The default of a key in words: it depends on something else.
#[derive(Clone, Copy, Debug)]
pub(in crate::contract) struct DefaultText(pub(super) &'static str);

/// Takes the place of a default if a key cannot be left out.
pub(super) const NEEDED: DefaultText = DefaultText("needed");

/// A key of a mapping: the type of its value, and that of what holds where it is left out.
pub(in crate::contract) struct Key<T, U> {
    pub(in crate::contract) name: &'static str,
    /// Its default.
    pub(in crate::contract) default_value: U,
    facts: Facts,
    read: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy)]
struct Facts {
    at_least_one: bool,
    meaning: &'static str,
    need: Need,
    needed_for: &'static [ProviderType],
    not_with: &'static [&'static str],
    null: Null,
    only_for: &'static [ProviderType],
}

impl<T, U> Key<T, U> {
    pub(super) const fn new(name: &'static str, default_value: U, meaning: &'static str) -> Self {
        Self {
            name,
            default_value,
            facts: Facts {
                at_least_one: false,
                meaning,
                need: Need::No,
                needed_for: &[],
                not_with: &[],
                null: Null::Refused,
                only_for: &[],
            },
            read: PhantomData,
        }
    }

    /// The list is not empty.
    pub(super) const fn at_least_one(mut self) -> Self {
        self.facts.at_least_one = true;
        self
    }

    /// The mapping means nothing without it.
    pub(super) const fn needed(mut self) -> Self {
        self.facts.need = Need::Here;
        self
    }

    /// The mapping means nothing without it, but what is missing may be defined outside the file.
    pub(super) const fn needed_somewhere(mut self) -> Self {
        self.facts.need = Need::Somewhere;
        self
    }

    /// A provider of these types means nothing without it.
    pub(super) const fn needed_for(mut self, types: &'static [ProviderType]) -> Self {
        self.facts.needed_for = types;
        self
    }

    /// It excludes that key.
    pub(super) const fn not_with(mut self, others: &'static [&'static str]) -> Self {
        self.facts.not_with = others;
        self
    }

    /// Null means the same as leaving it out.
    pub(super) const fn nullable(mut self) -> Self {
        self.facts.null = Null::LeftOut;
        self
    }

    /// Null means that there shall be none.
    pub(super) const fn or_off(mut self) -> Self {
        self.facts.null = Null::Off;
        self
    }

    /// Null and the words for it mean that there shall be none.
    pub(super) const fn or_off_word(mut self) -> Self {
        self.facts.null = Null::OffAsWords;
        self
    }

    /// Only providers of these types have it.
    pub(super) const fn only_for(mut self, types: &'static [ProviderType]) -> Self {
        self.facts.only_for = types;
        self
    }

    pub(super) const fn null(&self) -> Null {
        self.facts.null
    }

    pub(super) const fn is_needed(&self) -> bool {
        !matches!(self.facts.need, Need::No)
    }
}

/// A key's documentation, and its table there.
pub(super) fn row<T: Read, U: DefaultValue>(key: &Key<T, U>, table: &'static str) -> Row {
    let Facts {
        at_least_one,
        meaning,
        need,
        needed_for,
        not_with,
        null,
        only_for,
    } = key.facts;
    Row {
        at_least_one,
        meaning,
        name: key.name,
        need,
        needed_for,
        not_with,
        null,
        only_for,
        schema: T::schema,
        table,
        default_value: key.default_value.rendered(),
    }
}

/// The documentation of a [`Key`] of any type.
pub(super) struct Row {
    pub(super) at_least_one: bool,
    pub(super) meaning: &'static str,
    pub(super) name: &'static str,
    pub(super) need: Need,
    pub(super) needed_for: &'static [ProviderType],
    pub(super) not_with: &'static [&'static str],
    pub(super) null: Null,
    pub(super) only_for: &'static [ProviderType],
    pub(super) schema: fn(&mut Schemas) -> Value,
    /// Its table in the documentation.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test writes the documentation")
    )]
    pub(super) table: &'static str,
    pub(super) default_value: RenderedDefault,
}

/// The default of a key as the documentation shows it.
pub(super) enum RenderedDefault {
    Text(
        #[cfg_attr(
            not(test),
            expect(dead_code, reason = "a test writes the documentation")
        )]
        &'static str,
    ),
    Value(Value),
}

/// A type that can be the default of a key.
pub(super) trait DefaultValue {
    fn rendered(&self) -> RenderedDefault;
}

impl DefaultValue for DefaultText {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Text(self.0)
    }
}

impl DefaultValue for bool {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Value(json!(self))
    }
}

impl DefaultValue for u32 {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Value(json!(self))
    }
}

impl DefaultValue for u64 {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Value(json!(self))
    }
}

impl DefaultValue for f64 {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Value(json!(self))
    }
}

impl DefaultValue for &str {
    fn rendered(&self) -> RenderedDefault {
        RenderedDefault::Value(json!(self))
    }
}

impl<T: Choice + PartialEq> DefaultValue for T {
    fn rendered(&self) -> RenderedDefault {
        let word = T::WORDS.iter().find(|(_, value)| value == self);
        RenderedDefault::Value(json!(word.map(|(word, _)| word)))
    }
}

/// A mapping of the file: its keys.
pub(super) trait Form: Sync {
    /// What the schema calls it.
    fn id(&self) -> &'static str;

    /// What it is.
    fn title(&self) -> &'static str;

    fn names(&self) -> &'static [&'static str];

    fn rows(&self) -> Vec<Row>;
}

/// The schemas of mappings that others refer to, by id.
#[derive(Default)]
pub(super) struct Schemas(pub(super) Map<String, Value>);

/// Declares a mapping: a static with one field for each key, in the order of the documentation, by table.
macro_rules! form {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (
        $(#[$doc:meta])*
        $form:ident: $keys:ident, $id:literal, $title:literal;
        $($table:literal: {
            $(
                $field:ident $(as $name:literal)?: $value:ty, $default_value:ty = $default:expr,
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
                $crate::contract::spec::form::form!(@name $field $($name)?),
                $default,
                $meaning,
            )$($(.$fact($($argument)?))+)?,)+)+
        };

        impl $keys {
            /// The names of its keys, in the order of the documentation.
            pub(in crate::contract) const fn every_name() -> &'static [&'static str] {
                &[$($($crate::contract::spec::form::form!(@name $field $($name)?),)+)+]
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
