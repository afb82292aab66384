//! The names of tools in requests: every provider takes only some characters and 64 of them. Changes no contract.

use std::collections::BTreeMap;

use super::{BATCH, FINAL_REPORT, PROGRESS_REPORT, Terms};
use crate::message::Digest;

/// The most characters of a name that every provider takes.
const MAX_CHARS: usize = 64;
/// Hex digits of the hash that ends a cut name.
const HASH_DIGITS: usize = 8;

/// The tools of a contract by their own names and by their wire names. It is a bijection: no two tools share a wire name, and a name
/// that every provider takes stays as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireNames {
    /// Own names by wire name, of every tool.
    own: BTreeMap<String, String>,
    /// Wire names by own name, where they differ.
    wire: BTreeMap<String, String>,
}

impl WireNames {
    /// Gives each tool its name. The names of the session's tools are always taken.
    pub(crate) fn of(terms: &Terms) -> Self {
        let reserved = [BATCH, FINAL_REPORT, PROGRESS_REPORT].into_iter();
        let tools = || terms.tools.iter().map(|tool| tool.name.as_str());
        let kept = reserved.chain(tools()).filter(|name| is_wire_name(name));
        let mut names = Self {
            own: kept
                .map(|name| (name.to_owned(), name.to_owned()))
                .collect(),
            wire: BTreeMap::new(),
        };
        for name in tools().filter(|name| !is_wire_name(name)) {
            let wire = names.free(&legal(name));
            names.own.insert(wire.clone(), name.to_owned());
            names.wire.insert(name.to_owned(), wire);
        }
        names
    }

    /// The name in requests of the tool that the contract calls `name`. A name that is no tool's, but that a model once called, gets a
    /// legal form that is no tool's either.
    pub(crate) fn wire(&self, name: &str) -> String {
        match self.wire.get(name) {
            Some(wire) => wire.clone(),
            None if is_wire_name(name) => name.to_owned(),
            None => self.free(&legal(name)),
        }
    }

    /// The contract's name of the tool that a model calls `name`; a name that is no wire name stays as it is.
    pub(crate) fn own<'n>(&'n self, name: &'n str) -> &'n str {
        self.own.get(name).map_or(name, String::as_str)
    }

    /// The name itself, or the first of it with a number that no tool has.
    fn free(&self, name: &str) -> String {
        let numbered = (2_u64..).map(|n| {
            let end = format!("_{n}");
            let kept: String = name.chars().take(MAX_CHARS - end.len()).collect();
            kept + &end
        });
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let free = candidates.find(|candidate| !self.own.contains_key(candidate));
        free.unwrap_or_else(|| name.to_owned())
    }
}

/// True if every provider takes that name: a letter or `_`, then letters, digits, `_` and `-`, at most 64 characters in all.
fn is_wire_name(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    begins_well(name) && name.len() <= MAX_CHARS && name.bytes().all(word)
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The name with `_` for each character that a provider refuses; a long one is cut and ends with a hash of the whole.
fn legal(name: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let first = if begins_well(name) { "" } else { "_" };
    let rest = name.chars().map(|c| if word(c) { c } else { '_' });
    let whole: String = first.chars().chain(rest).collect();
    if whole.len() <= MAX_CHARS {
        return whole;
    }
    let hash = Digest::of(name.as_bytes()).short(HASH_DIGITS);
    let kept: String = whole.chars().take(MAX_CHARS - HASH_DIGITS - 1).collect();
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::contract::ToolTerms;
    use crate::contract::tests::make;

    fn named(names: &[&str]) -> WireNames {
        let mut terms = Terms::clone(&make(&[]));
        let first = terms.tools.first().cloned().unwrap();
        let one = |name: &&str| ToolTerms {
            name: (*name).to_owned(),
            ..first.clone()
        };
        terms.tools = names.iter().map(one).collect();
        terms.tools.sort_by(|a, b| a.name.cmp(&b.name));
        WireNames::of(&terms)
    }

    #[test]
    fn a_name_that_every_provider_takes_stays_and_another_gets_a_legal_one() {
        let names = named(&[
            "calendar.list",
            "files/read",
            "read_file",
            "7z",
            "Grüße senden",
        ]);
        for (own, wire) in [
            ("calendar.list", "calendar_list"),
            ("files/read", "files_read"),
            ("read_file", "read_file"),
            ("7z", "_7z"),
            ("Grüße senden", "Gr__e_senden"),
        ] {
            assert_eq!(names.wire(own), wire);
            assert_eq!(names.own(wire), own);
        }
    }

    #[test]
    fn names_that_would_be_one_are_numbered_and_a_legal_one_keeps_its_name() {
        let names = named(&["a.b", "a/b", "a_b", "agent._batch"]);
        let wire = ["a_b", "a.b", "a/b", "agent._batch"].map(|own| names.wire(own));
        assert_eq!(wire, ["a_b", "a_b_2", "a_b_3", "agent__batch_2"]);
    }

    #[test]
    fn a_long_name_is_cut_and_ends_with_a_hash_of_the_whole() {
        let long = |end: &str| format!("{}{end}", "x".repeat(80));
        let (one, other) = (long("1"), long("2"));
        let names = named(&[&one, &other]);
        let wire: BTreeSet<String> = [&one, &other].map(|own| names.wire(own)).into();
        assert_eq!(wire.len(), 2);
        assert!(
            wire.iter()
                .all(|name| is_wire_name(name) && name.len() == 64),
            "{wire:?}"
        );
        assert_eq!(names.own(&names.wire(&other)), other);
    }

    #[test]
    fn an_invented_name_is_sent_in_a_legal_form_that_is_no_tools() {
        let names = named(&["echo"]);
        assert_eq!(
            names.wire("echo<|channel|>commentary"),
            "echo__channel__commentary"
        );
        assert_eq!(named(&["a_b"]).wire("a.b"), "a_b_2");
        assert_eq!(names.own("unknown"), "unknown");
    }
}
