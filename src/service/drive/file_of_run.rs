//! The file that a run was begun with, and what is typed to go on under it once it is changed. Reads no file.

use std::path::Path;

use crate::contract_file::PROMPT_KEPT;
use crate::service::Service;
use crate::text::command::typed_word;
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;

/// How overrides begin that a run of an agent records beside those that were typed.
const OF_AGENT: [&str; 2] = ["profile.", "prompt.FORMAT="];

/// The file that a run was begun with.
pub struct FileOfRun {
    /// Whether it is a workflow, whose section `contract` the run is under.
    is_workflow: bool,
    /// Whether it is known.
    is_known: bool,
    /// Whether it is a system prompt in the place of a file.
    is_prompt: bool,
    /// The name of the run.
    run: String,
    /// What was changed of its values, as options of a command.
    sets: String,
    /// As the caller would name it; `FILE` where it is not known.
    pub(super) word: String,
}

impl FileOfRun {
    /// Finds the file of a run.
    pub fn of(service: &Service, run_id: &RunId) -> Self {
        let reader = service.reader().ok().flatten();
        let found = reader.and_then(|reader| {
            let own = begun_with(service, &reader, run_id);
            own.map(|begun| (begun, false)).or_else(|| {
                let above = reader.lineage(run_id).ok()??;
                let begun = above
                    .is_workflow
                    .then(|| begun_with(service, &reader, &above.parent.run_id));
                Some((begun??, true))
            })
        });
        let is_known = found.is_some();
        let unknown = || Begun {
            is_prompt: false,
            sets: String::new(),
            word: "FILE".to_owned(),
        };
        let (begun, is_workflow) = found.unwrap_or_else(|| (unknown(), false));
        Self {
            is_workflow,
            is_known,
            is_prompt: begun.is_prompt,
            run: service.brief_name(run_id.as_str()),
            sets: begun.sets,
            word: begun.word,
        }
    }

    /// Whether there is no file that a command could name.
    pub(super) const fn is_prompt(&self) -> bool {
        self.is_prompt
    }

    /// Whether its providers may be defined in `.ai-agent.json`, and not in itself.
    pub(super) fn is_agent(&self) -> bool {
        let file = Path::new(self.word.trim_end_matches('\''));
        self.is_prompt || file.extension().is_some_and(|form| form == "ai")
    }

    /// The file to name where the run is continued under it; `None` if it is not known, or is no contract.
    pub fn into_contract_file(self) -> Option<String> {
        (self.is_known && !self.is_workflow && !self.is_prompt).then_some(self.word)
    }

    /// A command of these words. One that judges the file judges it as the run had it, with the values that were changed.
    pub(super) fn hint(&self, service: &Service, words: &str) -> String {
        if words.starts_with("contract pin ") {
            return self.pin(service);
        }
        if self.is_prompt {
            return self.for_prompt(service, words);
        }
        let judges = ["contract check ", "doctor ", "tools "];
        if judges.iter().any(|begin| words.starts_with(begin)) {
            service.hint(&format!("{words}{}", self.sets))
        } else {
            service.hint(words)
        }
    }

    /// What goes on from that run with `KEY=VALUE`.
    pub(super) fn with_value(&self, service: &Service, run_id: &RunId, set: &str) -> String {
        let name = service.brief_name(run_id.as_str());
        let words = format!("continue {name} \"…\" --contract {} --set {set}", self.word);
        self.of_step(service, &words)
            .unwrap_or_else(|| self.hint(service, &words))
    }

    /// The same where no command can name a file: a run that goes on from this one is judged in its place.
    fn for_prompt(&self, service: &Service, words: &str) -> String {
        if words.starts_with("contract check ") {
            service.hint(&format!("continue {} \"…\" --dry-run", self.run))
        } else if words.starts_with("tools ") {
            "the documentation of the tools".to_owned()
        } else {
            service.hint(&words.replace(&format!(" --contract {}", self.word), ""))
        }
    }

    /// What takes the pins of its servers anew.
    pub(super) fn pin(&self, service: &Service) -> String {
        if self.is_workflow {
            format!("take away `pin` in the section `contract` of {}", self.word)
        } else if self.is_prompt {
            "a new run takes it as it is".to_owned()
        } else {
            service.hint(&format!("contract pin {}", self.word))
        }
    }

    /// What is done in the place of `continue …` where the run is a step, which has no contract file of its own to go on under; none of
    /// other runs, and of other commands.
    pub(super) fn of_step(&self, service: &Service, words: &str) -> Option<String> {
        if !self.is_workflow || !words.starts_with("continue ") {
            return None;
        }
        let run = service.hint(&format!("run {}", self.word));
        let set = words
            .split_once(" --set ")
            .and_then(|(_, set)| set.split_once('='));
        Some(match set {
            None => run,
            Some((key, value)) => format!(
                "`{key}: {value}` in the section `contract` of {}, then {run}",
                self.word
            ),
        })
    }
}

/// With what a run was begun.
struct Begun {
    is_prompt: bool,
    sets: String,
    word: String,
}

/// With what that run was begun by its own name.
fn begun_with(service: &Service, reader: &StoreReader, run_id: &RunId) -> Option<Begun> {
    let begun = reader.invocation(run_id).ok()??;
    let file = begun.contract_file.strip_prefix(&service.cwd);
    let file = file.unwrap_or(&begun.contract_file);
    let mut sets = begun.sets.iter();
    let is_prompt = sets.any(|set| set.starts_with(PROMPT_KEPT));
    let sets = begun.sets.iter();
    // What follows from the choice of an agent was typed by no one.
    let sets = sets.filter(|set| !OF_AGENT.iter().any(|begin| set.starts_with(begin)));
    let sets = sets.map(|set| format!(" --set {}", typed_word(set)));
    Some(Begun {
        is_prompt,
        sets: sets.collect(),
        word: typed_word(&file.display().to_string()),
    })
}
