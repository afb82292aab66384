//! The parameters of requests: overrides of the command line apart from what is written, and one layer over another.

use serde_json::Value;

use super::form::{Facts, Read, Schemas, Stated, Visit};
use super::keys::{SAMPLING, SamplingSpec};
use super::reporter::Reporter;
use super::section::{Keyed, Section};
use super::tree::{Kind, Node};

impl Read for SamplingSpec {
    type Output = Self;

    /// Overrides of the command line are kept apart: they come before every part of the file.
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            reporter.expected(node, "a mapping");
            return None;
        };
        let (commanded, written): (Vec<_>, Vec<_>) = entries
            .iter()
            .cloned()
            .partition(|(_, value)| value.place.is_override());
        let part = |entries| {
            let kind = Kind::Map(entries);
            let place = node.place.clone();
            Section::of::<Self>(&Node { kind, place }, reporter, &SAMPLING)
        };
        let above = (!commanded.is_empty()).then(|| part(commanded));
        let below = part(written)?;
        Some(Self {
            commanded: above.flatten().map(Box::new),
            ..below
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&SAMPLING)
    }
}

impl SamplingSpec {
    /// The keys that are stated here or on the command line, switched off or not.
    pub fn written(&self) -> Vec<&'static str> {
        let mut written = Written(Vec::new());
        self.clone().visit(self, &mut written);
        let commanded = self.commanded.iter();
        let commanded = commanded.flat_map(|sampling| sampling.written());
        written.0.sort_unstable();
        written.0.into_iter().chain(commanded).collect()
    }

    /// Returns the parameters that hold: the command line's part before the written one.
    pub(super) fn effective(&self) -> Self {
        match &self.commanded {
            Some(commanded) => commanded.over(self),
            None => self.clone(),
        }
    }

    /// This, and what it leaves out from `below`. What the command line says is left out of both.
    pub(super) fn over(&self, below: &Self) -> Self {
        let mut made = Self {
            commanded: None,
            ..self.clone()
        };
        made.visit(below, &mut Over);
        made
    }

    /// This without the keys of these names.
    pub(super) fn without(&self, keys: &[&str]) -> Self {
        let mut made = self.clone();
        made.visit(self, &mut Without(keys));
        made
    }
}

/// Collects the keys that are stated.
struct Written(Vec<&'static str>);

impl Visit for Written {
    fn visit<T: Stated>(&mut self, key: &Facts, own: &mut T, _: &T) {
        if own.is_stated() {
            self.0.push(key.name);
        }
    }
}

/// Takes what is left out from the other one.
struct Over;

impl Visit for Over {
    fn visit<T: Stated>(&mut self, _: &Facts, own: &mut T, other: &T) {
        if !own.is_stated() {
            own.clone_from(other);
        }
    }
}

/// Leaves out the keys of these names.
struct Without<'k>(&'k [&'k str]);

impl Visit for Without<'_> {
    fn visit<T: Stated>(&mut self, key: &Facts, own: &mut T, _: &T) {
        if self.0.contains(&key.name) {
            *own = T::default();
        }
    }
}
