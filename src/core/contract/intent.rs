//! The intent rules: from a task to a tool policy (002 Phase 2b). Deterministic; asks no model.

use std::sync::LazyLock;

use super::{Grounds, Page, PolicyDecision, ToolPolicy};
use crate::message::{Digest, char_prefix};

mod findings;
mod judge;
mod lexicon;
mod reference;
mod text;
mod unspaced;
mod verb;

const RULES: &str = include_str!("../../../contracts/intent-rules.v2.json");

/// Maximum number of grounds in a decision.
const MAX_MATCHED: usize = 32;
/// Maximum bytes of a task that are judged.
const MAX_TASK_BYTES: usize = 64 * 1024;

static PARSED: LazyLock<lexicon::RuleSet> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    serde_json::from_str(RULES).unwrap_or_default()
});

/// A decision, and the words of the task that led to it. The words are the run's, not the contract's: another task that leads
/// to the same policy is the same contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The recorded decision.
    pub decision: PolicyDecision,
    /// The grounds in order of appearance, each as `rule: words`; the words are the rule set's or a file's name.
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
                let task = char_prefix(task.unwrap_or_default(), MAX_TASK_BYTES);
                let verdict = verdict(task.trim());
                let matched = findings::distinct(verdict.grounds, MAX_MATCHED);
                if verdict.needs_tools {
                    (Grounds::CodeIntent, ToolPolicy::Required, matched)
                } else {
                    (Grounds::CodeConceptual, ToolPolicy::Optional, matched)
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

/// The verdict over a task in its language.
fn verdict(task: &str) -> findings::Verdict {
    match text::language(task, &PARSED) {
        language @ ("ja" | "zh") => unspaced::judge(task, language, &PARSED),
        language => judge::judge(task, language, &PARSED),
    }
}

#[cfg(test)]
mod tests {
    use monolith_testkit::skipped::skip;

    use super::*;

    fn on_code_page(task: &str) -> Resolution {
        IntentPolicyResolver::resolve(Some(Page::Code), None, Some(task))
    }

    /// The share of prompts of each label that gets the policy of its label, in percent.
    fn figures(lines: &str) -> [f64; 2] {
        #[derive(serde::Deserialize)]
        struct Prompt {
            label: String,
            text: String,
            #[serde(default)]
            unclear: bool,
        }
        let mut counts = [(0.0, 0.0); 2];
        for line in lines.lines() {
            let prompt: Prompt = serde_json::from_str(line).unwrap();
            if prompt.unclear {
                continue;
            }
            let required = prompt.label == "required";
            let Resolution { decision, matched } = on_code_page(&prompt.text);
            let (right, all) = &mut counts[usize::from(required)];
            *all += 1.0;
            if (decision.policy == ToolPolicy::Required) == required {
                *right += 1.0;
            } else {
                eprintln!("{}: {:?} {matched:?}", prompt.label, prompt.text);
            }
        }
        counts.map(|(right, all)| 100.0 * right / all)
    }

    #[test]
    fn the_rule_set_is_read() {
        let rules: lexicon::RuleSet = serde_json::from_str(RULES).unwrap();
        assert_eq!(rules.version, 2);
        for code in ["de", "en", "es", "fr", "ja", "pt", "ru", "zh"] {
            let lexicon = rules.lexicon(code).unwrap();
            let shapes = [&lexicon.order, &lexicon.order_end];
            for shape in shapes.into_iter().flatten() {
                assert!(regex::Regex::new(shape).is_ok(), "{shape}");
            }
            assert!(lexicon.ask.within("").is_none());
        }
    }

    #[test]
    fn the_projects_own_prompts_get_the_policy_of_their_label() {
        let [optional, required] = figures(include_str!("../../../corpus/intent.jsonl"));
        eprintln!("own prompts: {optional:.1} % of optional, {required:.1} % of required");
        assert!(optional >= 97.0 && required >= 97.0);
    }

    #[test]
    fn the_shared_prompts_get_the_policy_of_their_label() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/corpus/intent.jsonl"
        );
        let Ok(prompts) = std::fs::read_to_string(path) else {
            skip(280, "prompts", &format!("{path} is missing"));
            return;
        };
        let [optional, required] = figures(&prompts);
        eprintln!("shared prompts: {optional:.1} % of optional, {required:.1} % of required");
        assert!(optional >= 97.0 && required >= 97.0);
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
        check("Fix the failing test", &["order: fix"]);
        check("Delete everything in tmp", &["order: delete"]);
        check("Which licence does this repository use?", &["question"]);
        check("git status", &["command: git"]);
        check(
            "@src/app.css make the header sticky",
            &["file: @src/app.css", "order: make"],
        );
        check("the tests hang on ci", &["statement: hang"]);
        check("what is a mutex? add one to our pool", &["order: add"]);
        check("do not commit, just run the tests", &["order: run"]);
        check("what's in Ünïcode.md?", &["question"]);
        check("behebe den Deadlock im Pool", &["order: behebe"]);
        check("跑一下测试", &["order: 跑一下"]);
        check("There is a typo in the readme", &["statement: typo"]);
        check("Don't stop until all tests pass", &["order: don't stop"]);
        check(
            "If the build fails, fix it",
            &["statement: fails", "order: fix"],
        );
        check("Fix the grammar in the readme", &["order: fix"]);
        for question in [
            "Quantos arquivos há nesta pasta?",
            "Qual é o conteúdo do README?",
            "Сколько файлов в этой папке?",
        ] {
            check(question, &["question"]);
        }
    }

    /// Shows 002/6.factory.7.
    #[test]
    fn a_conceptual_question_on_the_code_page_leaves_tools_optional() {
        for task in [
            "What is git?",
            "What is a borrow checker?",
            "Explain profiles and filesystems",
            "How does a runner work?",
            "What is Node.js?",
            "Is 2.0 newer than 1.5?",
            "how do I undo the last commit in git?",
            "in theory, can you delete a directory while a process has it open?",
            "without running anything, what would this regex match: ^a+$",
            "If I delete the file, what happens?",
            "Wenn ich die Datei lösche, was passiert dann?",
            "Fixing tests is hard, why?",
            "Calculate 17 * 23",
            "Fix the grammar: he go home. They was late.",
            "Remove the word 'very' from this sentence: it is very good",
            "Create a regex that matches emails",
            "Test me on French verbs",
            "Move on to the next topic: explain monads",
            "thanks",
            "",
        ] {
            let decision = on_code_page(task).decision;
            assert_eq!(decision.policy, ToolPolicy::Optional, "{task}");
            assert_eq!(decision.grounds, Grounds::CodeConceptual, "{task}");
        }
    }

    #[test]
    fn a_request_to_leave_the_workspace_alone_is_named() {
        let matched = on_code_page("no tools please, what is our default port?").matched;
        assert_eq!(matched, ["question", "quiet: no tools"]);
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
        let files: Vec<String> = (0..1000).map(|n| format!("@src/f{n}.rs fix it.")).collect();
        assert_eq!(on_code_page(&files.join(" ")).matched.len(), MAX_MATCHED);
    }
}
