//! The file that a run was begun with, and what is typed to go on under it once it is changed. Reads no file.

use crate::cli::context::app::App;
use crate::cli::ui::command::typed_word;
use crate::message::RunId;
use crate::store::StoreReader;

/// How overrides begin that a run of an agent records beside those that were typed.
const OF_AGENT: [&str; 2] = ["profile.", "prompt.FORMAT="];

/// The file that a run was begun with.
pub(super) struct FileOfRun {
    /// Whether it is a workflow, whose section `contract` the run is under.
    is_workflow: bool,
    /// Whether it is known.
    is_known: bool,
    /// What was changed of its values, as options of a command.
    sets: String,
    /// As the caller would name it; `FILE` where it is not known.
    pub(super) word: String,
}

impl FileOfRun {
    pub(super) fn of(app: &App, run_id: &RunId) -> Self {
        let reader = app.reader().ok().flatten();
        let found = reader.and_then(|reader| {
            let own = begun_with(app, &reader, run_id);
            own.map(|begun| (begun, false)).or_else(|| {
                let above = reader.lineage(run_id).ok()??;
                let begun = above
                    .is_workflow
                    .then(|| begun_with(app, &reader, &above.parent.run_id));
                Some((begun??, true))
            })
        });
        let is_known = found.is_some();
        let unknown = || (("FILE".to_owned(), String::new()), false);
        let ((word, sets), is_workflow) = found.unwrap_or_else(unknown);
        Self {
            is_workflow,
            is_known,
            sets,
            word,
        }
    }

    /// The file to name where the run is continued under it; `None` if it is not known, or is no contract.
    pub(super) fn into_contract_file(self) -> Option<String> {
        (self.is_known && !self.is_workflow).then_some(self.word)
    }

    /// A command of these words. One that judges the file judges it as the run had it, with the values that were changed.
    pub(super) fn hint(&self, app: &App, words: &str) -> String {
        let judges = ["contract check ", "doctor ", "tools "];
        if judges.iter().any(|begin| words.starts_with(begin)) {
            app.hint(&format!("{words}{}", self.sets))
        } else {
            app.hint(words)
        }
    }

    /// What goes on from that run with `KEY=VALUE`.
    pub(super) fn with_value(&self, app: &App, run_id: &RunId, set: &str) -> String {
        let name = app.brief_name(run_id.as_str());
        let words = format!("continue {name} \"…\" --contract {} --set {set}", self.word);
        self.of_step(app, &words)
            .unwrap_or_else(|| app.hint(&words))
    }

    /// What takes the pins of its servers anew.
    pub(super) fn pin(&self, app: &App) -> String {
        if self.is_workflow {
            format!("take away `pin` in the section `contract` of {}", self.word)
        } else {
            app.hint(&format!("contract pin {}", self.word))
        }
    }

    /// What is done in the place of `continue …` where the run is a step, which has no contract file of its own to go on under; none of
    /// other runs, and of other commands.
    pub(super) fn of_step(&self, app: &App, words: &str) -> Option<String> {
        if !self.is_workflow || !words.starts_with("continue ") {
            return None;
        }
        let run = app.hint(&format!("run {}", self.word));
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

/// The file with which that run was begun by its own name, and what was changed of its values.
fn begun_with(app: &App, reader: &StoreReader, run_id: &RunId) -> Option<(String, String)> {
    let begun = reader.invocation(run_id).ok()??;
    let file = begun.contract_file.strip_prefix(&app.cwd);
    let file = file.unwrap_or(&begun.contract_file);
    let sets = begun.sets.iter();
    // What follows from the choice of an agent was typed by no one.
    let sets = sets.filter(|set| !OF_AGENT.iter().any(|begin| set.starts_with(begin)));
    let sets = sets.map(|set| format!(" --set {}", typed_word(set)));
    Some((typed_word(&file.display().to_string()), sets.collect()))
}
