//! The link between the words of a clause and the workspace. Does not judge what the clause asks for.

use super::lexicon::{Lexicon, RuleSet};
use super::text::{self, Paste};

/// Maximum number of words between a determiner and its noun.
const NOUN_WITHIN: usize = 5;

/// The link between a clause and the workspace, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A file or folder is named.
    Path,
    /// A possessive, a near determiner or an identifier.
    Ours,
    /// A mark of the workspace or the machine.
    Here,
    /// A definite noun of a workspace.
    Thing,
    /// Such a noun beside a language or a tool.
    Topic,
}

/// The lexicon and the circumstances under which the clauses of a task are read.
pub(super) struct Reader<'r> {
    pub(super) lexicon: &'r Lexicon,
    pub(super) paste: Option<Paste>,
    pub(super) rules: &'r RuleSet,
    /// The verb of a request may stand at its end, and a negation after its verb.
    pub(super) verb_last: bool,
}

impl Reader<'_> {
    /// The link between words and the workspace.
    pub(super) fn reference(&self, raw: &[&str], words: &[String]) -> Option<Reference> {
        let lexicon = self.lexicon;
        if raw.iter().any(|word| text::is_path(word, self.rules)) {
            return Some(Reference::Path);
        }
        let named = raw.iter().any(|word| text::is_name(word, self.rules));
        if lexicon.ours.occurs(words) || named && !self.verb_last {
            return Some(Reference::Ours);
        }
        let names_topic = self.rules.topics.occurs(words);
        if self.verb_last {
            let here = lexicon.here.occurs(words) && !names_topic;
            return here.then_some(Reference::Here);
        }
        let definite = self.definite(words);
        if definite == Some(Reference::Ours) {
            return definite;
        }
        let is_code = self.paste == Some(Paste::Code);
        if !is_code && lexicon.here.occurs(words) {
            return Some(Reference::Here);
        }
        let bare = !is_code && self.is_open(words);
        let found = definite.or_else(|| bare.then_some(Reference::Thing))?;
        Some(if names_topic { Reference::Topic } else { found })
    }

    /// A noun of the workspace behind a determiner: the user's own, or any.
    fn definite(&self, words: &[String]) -> Option<Reference> {
        let lexicon = self.lexicon;
        let mut found = None;
        for at in 0..words.len() {
            let from = words.get(at..).unwrap_or_default();
            let near = lexicon.near.lead(from) > 0;
            // In pasted code, every definite noun is a part of the paste.
            let of_paste =
                self.paste == Some(Paste::Code) && from.first().is_none_or(|w| w != "my");
            if of_paste || !near && lexicon.determiners.lead(from) == 0 {
                continue;
            }
            // `a regex that matches …`: a relative pronoun, which points at nothing.
            let before = |back: usize| words.get(at.checked_sub(back)?..);
            let of_any = |back| before(back).is_some_and(|from| lexicon.indefinite.lead(from) > 0);
            if from.first().is_some_and(|word| word == "that") && (of_any(2) || of_any(3)) {
                continue;
            }
            for next in 1..from.len().min(NOUN_WITHIN) {
                let rest = from.get(next..).unwrap_or_default();
                if lexicon.determiners.lead(rest) > 0 || lexicon.breaks.lead(rest) > 0 {
                    break;
                }
                let noun = lexicon.nouns.lead(rest);
                if noun == 0 {
                    continue;
                }
                if near {
                    return Some(Reference::Ours);
                }
                let after = rest.get(noun..).unwrap_or_default();
                let of = after.first().is_some_and(|word| word == "of");
                if of && lexicon.indefinite.lead(after.get(1..).unwrap_or_default()) > 0 {
                    break;
                }
                found = Some(Reference::Thing);
            }
        }
        found
    }

    /// True if a question asks for nouns of the workspace without an article: `which tests …`.
    fn is_open(&self, words: &[String]) -> bool {
        let lexicon = self.lexicon;
        let opener = lexicon.open.lead(words);
        let rest = words.get(opener..).unwrap_or_default();
        let program = |word: &String| self.rules.programs.contains(word);
        opener > 0
            && lexicon.indefinite.lead(rest) == 0
            && (0..2).any(|at| lexicon.nouns.lead(rest.get(at..).unwrap_or_default()) > 0)
            && !rest.iter().any(program)
    }
}
