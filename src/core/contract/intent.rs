//! The intent rules: from a task to a tool policy (002 Phase 2b). Deterministic; asks no model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Grounds, Page, PolicyDecision, ToolPolicy};
use crate::message::Digest;

const RULES: &str = include_str!("../../../contracts/intent-rules.v1.json");

/// Maximum number of matched phrases in a decision.
const MAX_MATCHED: usize = 32;

/// The rule set as data.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// A name with one of these endings is a file.
    extensions: BTreeSet<String>,
    /// Names that only look like files.
    not_files: BTreeSet<String>,
    /// Words, or words in a row, by the kind of intent that they show.
    phrases: BTreeMap<String, Vec<String>>,
    version: u32,
}

static PARSED: LazyLock<Rules> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    serde_json::from_str(RULES).unwrap_or_default()
});

/// A decision, and the words of the task that led to it. The words are the run's, not the contract's: another task that leads
/// to the same policy is the same contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The recorded decision.
    pub decision: PolicyDecision,
    /// The phrases and file names of the task that the rules matched, in order of appearance.
    pub matched: Vec<String>,
}

/// Chooses the tool policy from the page and the words of the task (002 Phase 2b, semantics §8).
///
/// Deterministic: no model is asked. The decision names the rule set and the words that led to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntentPolicyResolver;

impl IntentPolicyResolver {
    /// Decides. `given` is the file's own `tool_policy`; it counts where there is no page.
    #[must_use]
    pub fn resolve(
        page: Option<Page>,
        given: Option<ToolPolicy>,
        task: Option<&str>,
    ) -> Resolution {
        let (grounds, policy, matched) = match (page, given) {
            (Some(Page::Chat), _) => (Grounds::ChatPage, ToolPolicy::Forbidden, Vec::new()),
            (Some(Page::Code), _) => {
                let matched = matches(task.unwrap_or_default(), &PARSED);
                if matched.is_empty() {
                    (Grounds::CodeConceptual, ToolPolicy::Optional, matched)
                } else {
                    (Grounds::CodeIntent, ToolPolicy::Required, matched)
                }
            }
            (None, Some(policy)) => (Grounds::Given, policy, Vec::new()),
            (None, None) => (Grounds::Default, ToolPolicy::Optional, Vec::new()),
        };
        Resolution {
            decision: PolicyDecision {
                grounds,
                policy,
                rules_hash: Digest::of(RULES.as_bytes()),
                rules_version: PARSED.version,
            },
            matched,
        }
    }
}

/// The phrases and file names in `task`, each once, in order of appearance.
fn matches(task: &str, rules: &Rules) -> Vec<String> {
    let lower = task.to_lowercase();
    let words = words(&lower);
    let phrases: Vec<Vec<&str>> = rules
        .phrases
        .values()
        .flatten()
        .map(|phrase| phrase.split(' ').collect())
        .collect();
    let mut matched: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let here = words.get(at..).unwrap_or_default();
        // The longest phrase that begins here says most.
        let phrase = phrases
            .iter()
            .filter(|phrase| here.starts_with(phrase))
            .max_by_key(|phrase| phrase.len())
            .map(|phrase| phrase.join(" "));
        let found = phrase.or_else(|| is_file(word, rules).then(|| (*word).to_owned()));
        if let Some(found) = found
            && !matched.contains(&found)
        {
            matched.push(found);
            if matched.len() == MAX_MATCHED {
                break;
            }
        }
    }
    matched
}

/// Whole words: runs of letters, digits and `_`, and of `.` between two of them.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_file(word: &str, rules: &Rules) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else {
        return false;
    };
    !stem.is_empty()
        && !stem.chars().all(|c| c.is_ascii_digit())
        && rules.extensions.contains(extension)
        && !rules.not_files.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_code_page(task: &str) -> Resolution {
        IntentPolicyResolver::resolve(Some(Page::Code), None, Some(task))
    }

    #[test]
    fn the_rule_set_is_read() {
        let rules: Rules = serde_json::from_str(RULES).unwrap();
        assert_eq!(rules.version, 1);
        let kinds: Vec<&String> = rules.phrases.keys().collect();
        assert_eq!(kinds, ["command", "file", "workspace"]);
        for phrase in rules.phrases.values().flatten() {
            assert_eq!(
                words(phrase).join(" "),
                *phrase,
                "a phrase that cannot match"
            );
            assert_eq!(phrase.to_lowercase(), *phrase);
        }
    }

    /// Shows 002/6.factory.6.
    #[test]
    fn explicit_intent_on_the_code_page_requires_tools() {
        let check = |task: &str, expect: &[&str]| {
            let Resolution { decision, matched } = on_code_page(task);
            assert_eq!(matched, expect, "{task}");
            assert_eq!(decision.policy, ToolPolicy::Required, "{task}");
            assert_eq!(decision.grounds, Grounds::CodeIntent, "{task}");
        };
        check("Which licence does this repository use?", &["repository"]);
        check("REPOSITORY", &["repository"]);
        check("Fix the bug in src/main.rs.", &["main.rs"]);
        check("«Repository»—Lizenz", &["repository"]);
        check(
            "Run the tests, then list files in the folder",
            &["run the", "files", "folder"],
        );
        check("files, files and more files", &["files"]);
        check("what's in Ünïcode.md?", &["ünïcode.md"]);
    }

    /// Shows 002/6.factory.7.
    #[test]
    fn a_conceptual_question_on_the_code_page_leaves_tools_optional() {
        for task in [
            "What is a borrow checker?",
            "Explain profiles and filesystems",
            "How does a runner work?",
            "What is Node.js?",
            "Is 2.0 newer than 1.5?",
            "repositorys",
            "",
        ] {
            let Resolution { decision, matched } = on_code_page(task);
            assert_eq!(matched, [""; 0], "{task}");
            assert_eq!(decision.policy, ToolPolicy::Optional, "{task}");
            assert_eq!(decision.grounds, Grounds::CodeConceptual, "{task}");
        }
    }

    #[test]
    fn the_chat_page_forbids_and_without_a_page_the_file_decides() {
        let check = |page, given, grounds, policy| {
            let resolution = IntentPolicyResolver::resolve(page, given, Some("read the file"));
            let decision = resolution.decision;
            assert_eq!((decision.grounds, decision.policy), (grounds, policy));
        };
        let required = Some(ToolPolicy::Required);
        check(
            Some(Page::Chat),
            required,
            Grounds::ChatPage,
            ToolPolicy::Forbidden,
        );
        check(
            Some(Page::Chat),
            None,
            Grounds::ChatPage,
            ToolPolicy::Forbidden,
        );
        check(None, required, Grounds::Given, ToolPolicy::Required);
        check(None, None, Grounds::Default, ToolPolicy::Optional);
    }

    #[test]
    fn a_decision_names_a_bounded_number_of_words() {
        let names: Vec<String> = (0..1000).map(|n| format!("f{n}.rs")).collect();
        assert_eq!(on_code_page(&names.join(" ")).matched.len(), MAX_MATCHED);
    }
}
