//! The commands that a remedy names, for the file that a run was begun with. Reads no file.

use std::path::Path;

use crate::contract_file::PROMPT_KEPT;
use crate::drive::typed_at::TypedAt;
use crate::service::Service;
use crate::text::command::typed_word;
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;

/// Prefixes of overrides that a run of an agent records and no one typed.
const OF_AGENT: [&str; 2] = ["profile.", "prompt.FORMAT="];

/// The commands of one run, as a person types them.
#[derive(Clone, Debug)]
pub struct Commands<'s> {
    /// The file of the work item that the run is of, as a person types it.
    items: Option<String>,
    kind: FileKind,
    /// The name of the run.
    run: String,
    service: &'s Service,
    /// The overrides of its values, as options of a command.
    sets: String,
    typed_at: TypedAt<'s>,
    /// As the caller would name it; `FILE` where it is not known.
    word: String,
}

/// The kind of file that a run was begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// An agent's file, whose providers may be defined in `.ai-agent.json`.
    Agent,
    Contract,
    /// A system prompt instead of a file: no command can name it.
    Prompt,
    Unknown,
    /// A workflow, whose section `contract` the run is under.
    Workflow,
}

impl<'s> Commands<'s> {
    /// Returns the commands for a run that was begun with a file, as the store has it.
    pub fn of_run(service: &'s Service, run_id: &RunId, typed_at: TypedAt<'s>) -> Self {
        let reader = service.reader().ok().flatten();
        let found = reader.and_then(|reader| {
            let own = begun_with(service, &reader, run_id);
            own.or_else(|| {
                let above = reader.lineage(run_id).ok()??;
                let begun = above
                    .is_workflow()
                    .then(|| begun_with(service, &reader, &above.parent.run_id));
                let (_, word, sets) = begun??;
                Some((FileKind::Workflow, word, sets))
            })
        });
        let unknown = || (FileKind::Unknown, "FILE".to_owned(), String::new());
        let (kind, word, sets) = found.unwrap_or_else(unknown);
        Self {
            items: service.items_above(run_id),
            kind,
            run: service.brief_name(run_id.as_str()),
            service,
            sets,
            typed_at,
            word,
        }
    }

    /// Returns the commands for a contract file without a run; `word` names it.
    pub fn of_file(service: &'s Service, word: String) -> Self {
        Self {
            items: None,
            kind: FileKind::Contract,
            run: "RUN".to_owned(),
            service,
            sets: String::new(),
            typed_at: TypedAt::Shell,
            word,
        }
    }

    /// The file to name where the run is continued under it; `None` if it is not known, or is no contract.
    pub fn into_contract_file(self) -> Option<String> {
        matches!(self.kind, FileKind::Agent | FileKind::Contract).then_some(self.word)
    }

    /// True if there is no file that a command could name.
    pub(super) fn is_prompt(&self) -> bool {
        self.kind == FileKind::Prompt
    }

    /// The place where the address of a provider is written.
    pub(super) const fn address_key(&self) -> &'static str {
        match self.kind {
            FileKind::Agent | FileKind::Prompt => "`base_url` in .ai-agent.json",
            FileKind::Contract | FileKind::Unknown | FileKind::Workflow => "`base_url`",
        }
    }

    /// Continues the run under its own contract.
    pub(super) fn next(&self) -> String {
        match (self.typed_at, self.kind) {
            (TypedAt::Chat(_), _) => "your next message".to_owned(),
            (TypedAt::Shell, _) if self.is_below() => self.again(),
            (TypedAt::Shell, _) => self.typed(&format!("continue {} \"…\"", self.run)),
        }
    }

    /// Continues it under the corrected file.
    pub(super) fn corrected(&self) -> String {
        match (self.typed_at, self.kind) {
            (TypedAt::Chat(again), _) => self.typed(again),
            (TypedAt::Shell, _) if self.is_below() => self.again(),
            (TypedAt::Shell, _) => self.under(&format!("continue {} \"…\"", self.run)),
        }
    }

    /// Continues it with another value of a key.
    pub(super) fn with_value(&self, key: &str, value: &str) -> String {
        let set = format!("--set {key}={value}");
        match (self.typed_at, self.kind) {
            (TypedAt::Chat(again), _) => self.typed(&format!("{again} {set}")),
            (TypedAt::Shell, FileKind::Workflow) => format!(
                "`{key}: {value}` in the section `contract` of {}, then {}",
                self.word,
                self.again()
            ),
            (TypedAt::Shell, _) if self.is_below() => {
                format!("`{key}: {value}` in {}, then {}", self.word, self.again())
            }
            (TypedAt::Shell, FileKind::Prompt) => {
                self.typed(&format!("continue {} \"…\" {set}", self.run))
            }
            (TypedAt::Shell, _) => self.typed(&format!(
                "continue {} \"…\" --contract {} {set}",
                self.run, self.word
            )),
        }
    }

    /// True if a workflow or a work item begins the run: nothing else continues it.
    fn is_below(&self) -> bool {
        self.kind == FileKind::Workflow || self.items.is_some()
    }

    /// Runs the file once more: that of the items for the run of a work item.
    pub(super) fn again(&self) -> String {
        match &self.items {
            Some(items) => self.typed(&format!("work run {items}")),
            None => self.typed(&format!("run {}", self.word)),
        }
    }

    /// Judges the file as the run had it. Where no command can name it, a run that continues this one is judged.
    pub(super) fn check(&self) -> String {
        if self.is_prompt() {
            self.typed(&format!("continue {} \"…\" --dry-run", self.run))
        } else {
            self.judged(&format!("contract check {} --start-servers", self.word))
        }
    }

    /// Asks the servers of the file.
    pub(super) fn doctor(&self) -> String {
        if self.is_prompt() {
            self.typed("doctor")
        } else {
            self.judged(&format!("doctor --contract {}", self.word))
        }
    }

    /// A text, and the command that asks the servers of the file where it has one.
    pub(super) fn asks(&self, text: String) -> String {
        if self.is_prompt() {
            return text;
        }
        format!("{text}; {} asks the server", self.doctor())
    }

    /// Lists the tools of the file.
    pub(super) fn tools(&self, options: &str) -> String {
        if self.is_prompt() {
            "the documentation of the tools".to_owned()
        } else {
            self.judged(&format!("tools {}{options}", self.word))
        }
    }

    /// Returns how to take its servers' pins again.
    pub(super) fn pin(&self) -> String {
        match self.kind {
            FileKind::Prompt => "a new run takes it as it is".to_owned(),
            FileKind::Workflow => {
                format!("take away `pin` in the section `contract` of {}", self.word)
            }
            FileKind::Agent | FileKind::Contract | FileKind::Unknown => {
                self.typed(&format!("contract pin {}", self.word))
            }
        }
    }

    /// Gets a token for a tool server of the file.
    pub(super) fn login(&self, server: &str, scopes: &[String]) -> String {
        let mut words = format!("mcp login {}", typed_word(server));
        if !scopes.is_empty() {
            words.push_str(" --scope ");
            words.push_str(&typed_word(&scopes.join(" ")));
        }
        self.under(&words)
    }

    /// Shows the run.
    pub(super) fn show(&self, option: &str) -> String {
        self.typed(&format!("show {} {option}", self.run))
    }

    /// A command of these words.
    pub(super) fn typed(&self, words: &str) -> String {
        self.service.hint(words)
    }

    fn judged(&self, words: &str) -> String {
        self.typed(&format!("{words}{}", self.sets))
    }

    fn under(&self, words: &str) -> String {
        if self.is_prompt() {
            self.typed(words)
        } else {
            self.typed(&format!("{words} --contract {}", self.word))
        }
    }
}

/// With what that run was begun by its own name: the kind of file, its word, and the options.
fn begun_with(
    service: &Service,
    reader: &StoreReader,
    run_id: &RunId,
) -> Option<(FileKind, String, String)> {
    let begun = reader.invocation(run_id).ok()??;
    let file = begun.contract_file.strip_prefix(&service.cwd);
    let file: &Path = file.unwrap_or(&begun.contract_file);
    let mut sets = begun.sets.iter();
    let kind = if sets.any(|set| set.starts_with(PROMPT_KEPT)) {
        FileKind::Prompt
    } else if file.extension().is_some_and(|form| form == "ai") {
        FileKind::Agent
    } else {
        FileKind::Contract
    };
    let sets = begun.sets.iter();
    // What follows from the choice of an agent was typed by no one.
    let sets = sets.filter(|set| !OF_AGENT.iter().any(|begin| set.starts_with(begin)));
    let sets = sets.map(|set| format!(" --set {}", typed_word(set)));
    let word = typed_word(&file.display().to_string());
    Some((kind, word, sets.collect()))
}
