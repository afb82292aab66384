//! Faults of a task, or of the arguments that name contract and task.

use std::fmt;
use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::{command, typed_word};
use crate::text::numbers::counted;
use monolith_core::message::RunId;

/// The source of a task or a system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextSource {
    Argument(String),
    File(PathBuf),
    Stdin,
}

impl fmt::Display for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text) => f.write_str(text),
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// The task of a run, or its contract, cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum InputFault {
    /// The caller: no contract is named, and the folder has no usual one.
    #[error("find a contract: this folder has no agent.yaml or agent.yml{}", taken(task.as_deref()))]
    NoAgentFile {
        /// The argument that was taken as the task.
        task: Option<String>,
        /// The command to type with a contract.
        with_file: &'static str,
    },
    /// The caller: a path that leads to no contract file.
    #[error("run {}: {why}", path.display())]
    NotAContract {
        /// The contract file there whose name is nearest.
        nearest: Option<PathBuf>,
        path: PathBuf,
        /// The problem with the path.
        why: &'static str,
    },
    /// The caller: a word that may be a contract file without its ending, or the task of the folder's own contract.
    #[error("run {word}: it may be a task, or the file {}", path.display())]
    WordForFile {
        path: PathBuf,
        /// The argument after it.
        task: Option<String>,
        word: String,
    },
    /// The caller: the contract file stands behind the task.
    #[error("run {}: the file comes first, then the task", path.display())]
    FileFirst { path: PathBuf, task: String },
    /// The caller: what is said of one run, said of a workflow.
    #[error("use {option} with the workflow {workflow}: {why}")]
    OfARun {
        help: Option<&'static str>,
        option: String,
        why: &'static str,
        workflow: String,
    },
    /// The caller: two conversations to begin with.
    #[error("continue a run with --load: a continued run starts with its own conversation")]
    LoadedTwice,
    /// The caller: what only an agent's file has, for a contract file.
    #[error("change {} with {option}: it has no front matter", path.display())]
    OnlyAgents { option: &'static str, path: PathBuf },
    /// The caller: system prompt and task are both to be read from standard input.
    #[error("read the system prompt and the task from standard input: only one of them can be")]
    OneInputTwice,
    /// The caller: a change that a recorded run says nothing of.
    #[error("replay with another {key}: it cannot be judged from the recorded run: {why}")]
    NotJudged {
        /// The dotted key.
        key: String,
        why: &'static str,
        help: &'static str,
    },
    /// The caller: two contract files.
    #[error("choose a contract: {} and --contract both name one", path.display())]
    TwoContracts { path: PathBuf },
    /// The caller: two tasks.
    #[error("choose a task: two were given")]
    TwoTasks,
    /// The caller: a limit of many runs, for one.
    #[error("limit the runs: --max-runs and --max-inferences require {option}")]
    LimitOfOne { option: &'static str },
    /// The caller: a list has no such beginning.
    #[error("start {} at {from}: it is neither a file of the folder nor a line number", path.display())]
    NoSuchLine { from: String, path: PathBuf },
    /// The caller: a list has fewer lines.
    #[error("start {} at line {first}: it has only {}", path.display(), counted(*lines, "line"))]
    PastTheEnd {
        first: u64,
        lines: u64,
        path: PathBuf,
    },
    /// The author of a list: two of its lines would begin the same run.
    #[error("run the list {}: lines {first} and {second} have the same run_id, {run_id}", path.display())]
    EqualRunIds {
        first: u64,
        path: PathBuf,
        run_id: RunId,
        second: u64,
    },
    /// The caller: a run instead of the contract file.
    #[error("chat under the contract {run}: no such file, but a run has that name")]
    RunForContract { run: String },
    /// The caller: one contract file instead of a list.
    #[error("run the list {}: it is a contract, not a list", path.display())]
    ContractForList { path: PathBuf },
    /// The caller: a message instead of the run.
    #[error("continue a run: {message:?} is not a run")]
    NoRun {
        /// The newest run.
        last: Option<String>,
        message: String,
    },
    /// The caller: a run that its parent run began for a call of its agent, and continues itself.
    #[error(
        "{action} run {run}: {parent} called it as an agent, and its budget, tools and place belong to that call"
    )]
    RunOfAgent {
        /// The refused action.
        action: &'static str,
        parent: String,
        run: String,
        /// The alternative.
        way: String,
    },
    /// The caller: a step of a workflow whose contract is a part of the workflow's file.
    #[error(
        "continue run {run}: it is a step of the workflow {workflow}, and its contract is not a separate file"
    )]
    Step {
        /// The workflow's file.
        file: String,
        run: String,
        workflow: String,
    },
    /// The caller: no answer to the call of a run is taken, or this one is not.
    #[error("answer for run {run}: {why}")]
    NotAnswered {
        help: Option<String>,
        run: String,
        why: String,
    },
    /// The caller: a continuation without anything new.
    #[error("continue the run: no message given")]
    NoMessage,
    /// Another process: the run that a conversation continues was replaced by another one of its name.
    #[error("continue from run {run}: it is not the run that answered here")]
    AnotherRun { run: String },
    /// The caller: the text of the system prompt cannot be read.
    #[error("read the system prompt from {from}: {reason}")]
    Prompt { from: TextSource, reason: String },
    /// The caller: the text of the task cannot be read.
    #[error("read the task from {from}: {reason}")]
    Task { from: TextSource, reason: String },
    /// The caller: the second of two texts is empty.
    #[error("run the system prompt: the task after it is empty")]
    NoTaskBeside,
    /// The caller: no conversation that a run can begin with.
    #[error("read the saved conversation {}: {reason}", path.display())]
    Saved { path: PathBuf, reason: String },
    /// The caller: a conversation would be written over something else.
    #[error("save the conversation as {}: {holds}", path.display())]
    Overwritten {
        /// The existing content.
        holds: &'static str,
        path: PathBuf,
    },
    /// The caller: a message that is no text.
    #[error("send the line: it is not UTF-8")]
    NotText,
    /// The operator: the terminal gives no lines.
    #[error("read a line: {reason}")]
    Line { reason: String },
}

fn taken(task: Option<&str>) -> String {
    task.map_or(String::new(), |task| {
        format!("; `{task}` is not a .yaml, .yml, .json or .ai file here, so it is the task")
    })
}

impl InputFault {
    /// An option that says something of one run, for a workflow.
    pub fn of_a_run(
        option: &str,
        workflow: &str,
        why: &'static str,
        help: Option<&'static str>,
    ) -> Self {
        Self::OfARun {
            help,
            option: option.to_owned(),
            why,
            workflow: workflow.to_owned(),
        }
    }
}

impl Advice for InputFault {
    fn exit(&self) -> Exit {
        match self {
            Self::Line { .. } => Exit::FAILED,
            _ => Exit::USAGE,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NotJudged { help, .. } => help,
            Self::NotAnswered { help, .. } => return help.clone(),
            Self::RunOfAgent { way, .. } => return Some(way.clone()),
            Self::Step { file, run, .. } => {
                let go_on = command(&format!("monolith continue {run} \"…\" --contract FILE"));
                return Some(format!(
                    "copy the section `contract` of {file} into a separate file: {go_on}"
                ));
            }
            Self::NotAContract {
                nearest: Some(nearest),
                ..
            } => {
                let nearest = typed_word(&nearest.to_string_lossy());
                let run = command(&format!("monolith run {nearest}"));
                return Some(format!(
                    "did you mean {run}? To pass it as a task: monolith run --task TEXT"
                ));
            }
            Self::NotAContract { nearest: None, .. } => {
                "name a contract file (monolith init writes one); to pass it as a task: monolith run --task TEXT"
            }
            Self::WordForFile { path, task, word } => {
                let quoted = |text: &str| typed_word(text);
                let path = quoted(&path.to_string_lossy());
                let task = task.iter().map(|task| format!(" {}", quoted(task)));
                let run = command(&format!("monolith run {path}{}", task.collect::<String>()));
                let give = command(&format!("monolith run --task {}", quoted(word)));
                return Some(format!("the file: {run}; the task: {give}"));
            }
            Self::NoAgentFile { with_file, .. } => {
                return Some(format!(
                    "monolith init writes one; or name a contract: monolith {with_file}"
                ));
            }
            Self::FileFirst { path, task } => {
                let path = typed_word(&path.to_string_lossy());
                let words = format!("monolith run {path} {}", typed_word(task));
                return Some(command(&words));
            }
            Self::OfARun { help, .. } => return help.map(str::to_owned),
            Self::OnlyAgents { .. } => {
                "--set changes a contract file: --set max_turns=3; front matter is that of an agent's file (.ai)"
            }
            Self::LoadedTwice => {
                "monolith run FILE \"task\" --load FILE starts a new run with that conversation"
            }
            Self::Saved { .. } => {
                "monolith run --save FILE writes one; monolith continue RUN continues a run without a file"
            }
            Self::Overwritten { .. } => "name another file with --save FILE",
            Self::Task {
                from: TextSource::File(path),
                ..
            } if !path.exists() => {
                "a word that starts with @ names a file; --task - reads a task that starts with @ from standard input"
            }
            Self::NoTaskBeside => {
                "the second text is the task: monolith run \"You answer in one sentence.\" \"What is a hash chain?\" --models PROVIDER/MODEL"
            }
            Self::OneInputTwice => "give the other one as @FILE",
            Self::TwoTasks => "pass one, as an argument or with --task",
            Self::NoRun { last, message } => {
                let last = match last {
                    Some(last) => format!("; the newest run is {last}"),
                    None => String::new(),
                };
                let message = typed_word(message);
                let again = command(&format!("monolith continue last {message}"));
                return Some(format!("the run comes first: {again}{last}"));
            }
            Self::NoMessage => "monolith continue RUN \"message\"",
            Self::AnotherRun { .. } => {
                "somebody replaced that run; /forget returns to the run before it"
            }
            Self::EqualRunIds { .. } => {
                "give each line its own run_id, or leave it out for a random one"
            }
            Self::NoSuchLine { .. } => {
                "--from takes the name of a file of the folder, or the number of a line of the list"
            }
            Self::RunForContract { run } => {
                let chat = command(&format!("monolith chat --run {}", typed_word(run)));
                return Some(format!("to continue that run: {chat}"));
            }
            Self::ContractForList { path } => {
                let name = typed_word(&path.to_string_lossy());
                return Some(command(&format!("monolith run {name}")));
            }
            Self::LimitOfOne { .. }
            | Self::PastTheEnd { .. }
            | Self::TwoContracts { .. }
            | Self::Prompt { .. }
            | Self::Task { .. }
            | Self::Line { .. }
            | Self::NotText => return None,
        };
        Some(text.to_owned())
    }
}
