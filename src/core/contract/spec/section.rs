//! One mapping of the file while its keys are read. Does not know what they mean.

use super::error::SourceRange;
use super::form::{Form, Key as FormKey, Null, OFF_WORDS, Read, Setting, Visit};
use super::reporter::{Reporter, elsewhere, suggest};
use super::tree::{Key, Kind, Node};

/// The word of other programs for a parameter that has no value. For the longest answer it means that none is asked for (001 §2).
const UNDEFINED: &str = "undefined";

/// One mapping of the file while its keys are read; [`Section::read`] refuses the keys that its form does not have.
pub(super) struct Section<'n, 'f> {
    declared: Vec<&'static str>,
    entries: &'n [(Key, Node)],
    form: &'static dyn Form,
    place: &'n SourceRange,
    pub(super) reporter: Reporter<'f>,
}

impl<'n, 'f> Section<'n, 'f> {
    /// Reads `node` as a mapping: opens it, lets `fill` take its keys, refuses those that are none of the form's.
    pub(super) fn read<T>(
        node: &'n Node,
        reporter: &Reporter<'f>,
        form: &'static dyn Form,
        fill: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let Kind::Map(entries) = &node.kind else {
            reporter.expected(node, "a mapping");
            return None;
        };
        let mut section = Self {
            declared: Vec::new(),
            entries,
            form,
            place: &node.place,
            reporter: reporter.clone(),
        };
        let filled = fill(&mut section);
        section.finish();
        Some(filled)
    }

    /// Reads `node` as the mapping of a struct.
    pub(super) fn of<T: Keyed>(
        node: &'n Node,
        reporter: &Reporter<'f>,
        form: &'static dyn Form,
    ) -> Option<T> {
        Self::read(node, reporter, form, T::from_section)?
    }

    /// Reads `node` as the mapping of a struct, and returns the value that its keys come to.
    pub(super) fn judged<T: Keyed + Judge>(
        node: &'n Node,
        reporter: &Reporter<'f>,
        form: &'static dyn Form,
    ) -> Option<T::Output> {
        Self::read(node, reporter, form, |section| {
            T::from_section(section)?.judge(section)
        })?
    }

    /// The node of `key`, which counts as read.
    pub(super) fn node<T, U>(&mut self, key: &FormKey<T, U>) -> Option<&'n Node> {
        self.declared.push(key.name);
        self.peek(key.name)
    }

    /// The node of a key of that name.
    pub(super) fn peek(&self, name: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|(k, _)| k.text == name);
        found.map(|(_, node)| node)
    }

    /// True if the file has a key of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.peek(name).is_some()
    }

    /// The value of `key`. Null is one, and faulty, unless null means the same as leaving the key out.
    pub(super) fn get<T: Read, U>(&mut self, key: &FormKey<T, U>) -> Option<T::Output> {
        let node = self.node(key);
        if node.is_none() && key.is_needed() {
            self.refuse(format!("the key `{}` is missing", key.name), None);
        }
        let facts = key.facts();
        let node = node.filter(|node| facts.null != Null::LeftOut || !node.is_null())?;
        if let Some((least, most)) = facts.within
            && let Kind::Scalar { text, .. } = &node.kind
            && let Ok(number) = text.parse::<u64>()
            && !(least..=most).contains(&number)
        {
            let rule = format!("out of range: expected {least} to {most}");
            self.refuse_key(key.name, rule, None);
        }
        T::read(node, &self.reporter.below(key.name))
    }

    /// The value of `key`, which null, and where the key takes them the words of 001 §2, switch off.
    pub(super) fn or_off<T: Read, U>(&mut self, key: &FormKey<T, U>) -> Setting<T::Output> {
        let Some(node) = self.node(key) else {
            return Setting::Unset;
        };
        let facts = key.facts();
        let reporter = self.reporter.below(key.name);
        if let (Kind::Scalar { text, .. }, Null::OffAsWords) = (&node.kind, facts.null) {
            if OFF_WORDS.contains(&text.as_str()) || (text == UNDEFINED && facts.undefined_is_off) {
                return Setting::Off;
            }
            if text == UNDEFINED {
                let rule = format!("expected a value, got {}", reporter.describe(node));
                let help = format!("a word switches it off: {}", OFF_WORDS.join(", "));
                reporter.refuse(node, rule, Some(help));
                return Setting::Unset;
            }
        }
        if node.is_null() {
            return Setting::Off;
        }
        T::read(node, &reporter).map_or(Setting::Unset, Setting::Value)
    }

    /// Reports a rule that the section as a whole breaks.
    pub(super) fn refuse(&self, rule: impl Into<String>, help: Option<String>) {
        let Reporter { findings, path } = &self.reporter;
        findings.add(self.place, path, rule, help);
    }

    /// Reports a rule that the value of a key of that name breaks.
    pub(super) fn refuse_key(&self, name: &str, rule: impl Into<String>, help: Option<String>) {
        let place = self.peek(name).map_or(self.place, |node| &node.place);
        self.reporter
            .findings
            .add(place, &self.reporter.join(name), rule, help);
    }

    fn finish(self) {
        let known = self.form.names();
        debug_assert!(
            known.iter().all(|name| self.declared.contains(name)),
            "a key of {} is declared and never read",
            self.form.id()
        );
        for (key, _) in self.entries {
            if known.contains(&key.text.as_str()) {
                continue;
            }
            let rule = format!("unknown key `{}`", key.text);
            let help = elsewhere(&self.reporter.path, &key.text)
                .or_else(|| suggest(&key.text, known.iter().copied()))
                .unwrap_or_else(|| {
                    let mut known = known.to_vec();
                    known.sort_unstable();
                    format!("known keys: {}", known.join(", "))
                });
            let path = self.reporter.join(&key.text);
            self.reporter
                .findings
                .add(&key.place, &path, rule, Some(help));
        }
    }
}

/// A struct that holds the keys of one mapping.
pub(super) trait Keyed: Sized {
    /// Reads every key; None if one is missing that the mapping needs.
    fn from_section(section: &mut Section<'_, '_>) -> Option<Self>;

    /// Hands every key that may be left out to `visitor`, with its value here and in `other`.
    fn visit(&mut self, other: &Self, visitor: &mut impl Visit);
}

/// Rules about more than one key of a mapping, and the value that its keys come to.
pub(super) trait Judge: Sized {
    type Output;

    /// Reports broken rules and returns the value.
    fn judge(self, section: &Section<'_, '_>) -> Option<Self::Output>;
}
