//! The elements of the table of keys: a [`Key`] is a name, the type of its value, its default, and what it
//! means. Reading, the JSON Schema and the tables of the documentation come from it.

use std::marker::PhantomData;
use std::ops::Deref;

use serde_json::{Map, Value, json};

use super::reporter::Reporter;
use super::tree::Node;
use crate::contract::ProviderType;

/// A type that is read from one node. It may be a marker: [`Self::Output`] is the value.
pub(super) trait Read {
    /// The value that is read.
    type Output;

    /// Returns the value; None if a finding says why there is none.
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output>;

    /// JSON Schema of the node.
    fn schema(definitions: &mut Schemas) -> Value;
}

/// A closed list of words.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// The meaning of null at a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    /// It is refused.
    Refused,
    /// The same as leaving the key out.
    LeftOut,
    /// Switches the value off.
    Off,
    /// The same, as do the words of 001 §2.
    OffAsWords,
}

/// The words that switch a parameter off (001 §2).
pub(super) const OFF_WORDS: [&str; 4] = ["off", "none", "unset", "default"];

/// The way in which the value of a layer of configuration becomes that of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromLayer {
    /// As it is, with its placeholders replaced.
    AsIs,
    /// As it is: its placeholders are replaced where it is used.
    Later,
    /// A path, which begins in the folder of the layer.
    Located,
    /// Names, one of which may stand without a list.
    Names,
    /// Parameters, which have other names in a layer.
    Parameters,
    /// The name of a variable, which is looked up where it is used.
    Variable,
}

/// The need for a key in its mapping.
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

/// A key of a mapping: the type of its value, and that of its default.
pub(in crate::contract) struct Key<T, U> {
    pub(in crate::contract) name: &'static str,
    /// Its default.
    pub(in crate::contract) default_value: U,
    facts: Facts,
    read: PhantomData<fn() -> T>,
}

/// Everything about a key but its type and its default.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) at_least_one: bool,
    /// Names of the key in front matter and in `defaults` of a layer of configuration, the one that messages use first.
    pub(super) front: &'static [&'static str],
    /// True if an agent has the value of the run that delegates to it, unless its own file states one.
    pub(super) inherited: bool,
    /// Its name in a layer of configuration, where that is another one.
    pub(super) layer_name: Option<&'static str>,
    /// The way in which it is taken from a layer; `None` if no layer has it.
    pub(super) layers: Option<FromLayer>,
    pub(super) meaning: &'static str,
    pub(super) name: &'static str,
    pub(super) need: Need,
    pub(super) not_with: &'static [&'static str],
    pub(super) null: Null,
    pub(super) only_for: &'static [ProviderType],
    /// True if the word `undefined` switches it off.
    pub(super) undefined_is_off: bool,
    /// The least and the greatest number.
    pub(super) within: Option<(u64, u64)>,
}

impl<T, U> Key<T, U> {
    pub(super) const fn new(name: &'static str, default_value: U, meaning: &'static str) -> Self {
        Self {
            name,
            default_value,
            facts: Facts {
                at_least_one: false,
                front: &[],
                inherited: false,
                layer_name: None,
                layers: None,
                meaning,
                name,
                need: Need::No,
                not_with: &[],
                null: Null::Refused,
                only_for: &[],
                undefined_is_off: false,
                within: None,
            },
            read: PhantomData,
        }
    }

    /// Front matter has it under these names, the one that messages use first.
    pub(super) const fn front(mut self, names: &'static [&'static str]) -> Self {
        self.facts.front = names;
        self
    }

    /// An agent has the value of the run that delegates to it, unless its own file states one.
    pub(super) const fn inherited(mut self) -> Self {
        self.facts.inherited = true;
        self
    }

    /// A layer of configuration has it under this name, too.
    pub(super) const fn layer_name(mut self, name: &'static str) -> Self {
        self.facts.layer_name = Some(name);
        self
    }

    /// Layers of configuration have it.
    pub(super) const fn layers(mut self, taken: FromLayer) -> Self {
        self.facts.layers = Some(taken);
        self
    }

    /// Left out, it is empty.
    pub(super) const fn or_empty(self) -> Self {
        self
    }

    /// Left out, it has its default.
    pub(super) const fn or_default(self) -> Self {
        self
    }

    /// The word `undefined` switches it off.
    pub(super) const fn undefined_is_off(mut self) -> Self {
        self.facts.undefined_is_off = true;
        self
    }

    /// A number from `least` to `most`.
    pub(super) const fn within(mut self, (least, most): (u64, u64)) -> Self {
        self.facts.within = Some((least, most));
        self
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

    pub(super) const fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) const fn is_needed(&self) -> bool {
        !matches!(self.facts.need, Need::No)
    }
}

/// A key's documentation, and its table there.
pub(super) fn row<T: Read, U: DefaultValue>(key: &Key<T, U>, table: &'static str) -> Row {
    Row {
        facts: key.facts,
        schema: T::schema,
        table,
        default_value: key.default_value.rendered(),
    }
}

/// The documentation of a [`Key`] of any type.
pub(super) struct Row {
    facts: Facts,
    pub(super) schema: fn(&mut Schemas) -> Value,
    /// Its table in the documentation.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test writes the documentation")
    )]
    pub(super) table: &'static str,
    pub(super) default_value: RenderedDefault,
}

impl Deref for Row {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
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

macro_rules! plain_defaults {
    ($($value:ty),+) => {
        $(impl DefaultValue for $value {
            fn rendered(&self) -> RenderedDefault {
                RenderedDefault::Value(json!(self))
            }
        })+
    };
}
plain_defaults!(bool, u32, u64, f64, &str);

impl<T: Choice + PartialEq> DefaultValue for T {
    fn rendered(&self) -> RenderedDefault {
        let word = T::WORDS.iter().find(|(_, value)| value == self);
        RenderedDefault::Value(json!(word.map(|(word, _)| word)))
    }
}

/// A mapping of the file: its keys.
pub(super) trait Form: Sync {
    /// Returns its name in the schema.
    fn id(&self) -> &'static str;

    /// Its title.
    fn title(&self) -> &'static str;

    fn names(&self) -> &'static [&'static str];

    fn rows(&self) -> Vec<Row>;
}

/// The schemas of mappings that others refer to, by id.
#[derive(Default)]
pub(super) struct Schemas(pub(super) Map<String, Value>);

/// A parameter that can be left out, switched off (never sent) or set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// Not mentioned: the layer below decides.
    #[default]
    Unset,
    /// `off`, `none`, `unset`, `default` or null: it is not sent.
    Off,
    /// This value.
    Value(T),
}

/// An action on every key of two structs that hold the same mapping.
pub(super) trait Visit {
    fn visit<T: Stated>(&mut self, key: &Facts, own: &mut T, other: &T);
}

/// A value that the author may leave out.
pub(super) trait Stated: Clone + Default {
    /// True if the author states it.
    fn is_stated(&self) -> bool;
}

impl<T: Clone> Stated for Option<T> {
    fn is_stated(&self) -> bool {
        self.is_some()
    }
}

impl<T: Clone> Stated for Setting<T> {
    fn is_stated(&self) -> bool {
        !matches!(self, Self::Unset)
    }
}
