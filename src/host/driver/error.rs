//! The reasons why a run cannot begin or continue. Faults inside a run are outcomes, not errors.

use std::path::{Path, PathBuf};

use super::confinement_error::ConfinementError;
use super::file_place::FilePlace;
use crate::inference::BackendError;
use crate::store::StoreError;
use monolith_core::adapter::{AdapterError, ScriptError};
use monolith_core::contract::FactoryError;
use monolith_core::kernel::BringUpFault;
use monolith_core::message::RunId;
use monolith_core::replay::ReplayReport;
use monolith_core::session::SessionError;

/// The reason why a run could not begin or reach its end. Faults inside a run are outcomes, not errors.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The author: the file has no task, and none was given.
    #[error("no task given")]
    NoTask,
    /// The author: the folder that tools are to see is not there.
    #[error("the workspace {} is not a folder that can be opened: {reason}", path.display())]
    Workspace {
        /// The folder, resolved.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The author: the path at that place of the file passes a link that a confined program may have made, in words.
    #[error("{0}: {1}")]
    PlantedLink(String, String),
    /// The author: a scripted provider's file cannot be read.
    #[error("provider `{provider}`: the script {} cannot be read: {reason}", path.display())]
    ScriptUnreadable {
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
        /// The system's error.
        reason: String,
    },
    /// The author: a scripted provider's file breaks its format.
    #[error("provider `{provider}`: {}: {fault}", path.display())]
    Script {
        /// The error, and its line.
        fault: ScriptError,
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
    },
    /// The operator: a variable that the file names is not set, or empty.
    #[error("{place}: the environment variable {name} is {state}")]
    MissingVariable {
        /// The variable.
        name: String,
        /// The place that names it, as a dotted path of the file.
        place: FilePlace,
        /// `not set` or `empty`.
        state: &'static str,
    },
    /// The operator: a variable that a layer of configuration names is not set (001 §4, §7).
    #[error("{place}: Unresolved variable ${{{name}}} for {scope} '{id}' at {origin}")]
    UnresolvedVariable {
        /// The name in the layer of the thing it is for.
        id: Box<str>,
        /// The variable.
        name: String,
        /// The file of the layer.
        origin: Box<str>,
        /// The place in the contract, as a dotted path of its file.
        place: String,
        /// The kind of thing it is for.
        scope: &'static str,
    },
    /// The author: a tool that an agent names is not offered by its server.
    #[error("{place}: the tool server `{server}` does not offer `{tool}`")]
    ToolNotOffered {
        /// The offered tools, as the contract takes them.
        offered: String,
        /// The server's place, as a dotted path of the contract's file.
        place: String,
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The operator: a variable that the file names holds no address.
    #[error("{place}: the environment variable {name}: {rule}")]
    Address {
        /// The variable.
        name: String,
        /// The place that names it, as a dotted path of the file.
        place: FilePlace,
        /// The rule that its value breaks.
        rule: &'static str,
    },
    /// The operator: what a header is to hold cannot be sent. Its value is not shown.
    #[error("{place}: its value cannot be sent in a header")]
    HeaderValue {
        /// The place that names it, as a dotted path of the file.
        place: FilePlace,
    },
    /// The author: nothing says how many tokens a target's model takes in.
    #[error("{place}: the context window of the model `{model}` is not known")]
    UnknownWindow {
        /// The model.
        model: String,
        /// The target, as a dotted path of the file.
        place: String,
        /// The profiles that give models of the target's provider a window, and how many tokens.
        profiles: Vec<(&'static str, u64)>,
    },
    /// The author: a rule is about a tool of a server that the file does not define.
    #[error(
        "{place}: `{tool}` is a tool of the server `{server}`, and tools.mcp defines {known} alone"
    )]
    UnknownServer {
        /// The servers that it defines.
        known: String,
        /// The place that names the tool, as a dotted path of the file.
        place: String,
        /// The server that is not defined.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The author: `${` without a name and `}` after it.
    #[error("{place}: `${{` is not followed by a variable's name and `}}`")]
    Placeholder {
        /// Its dotted path in the file.
        place: FilePlace,
    },
    /// The author: the contract holds a value that must not be recorded, and the contract is recorded unchanged.
    #[error(
        "the contract shows a secret: what {place} gives is at {pointer:?} of the contract, which is recorded as it is"
    )]
    SecretInContract {
        /// The place in the contract, as an RFC 6901 pointer.
        pointer: String,
        /// The source of the secret, as a dotted path of the file.
        place: String,
    },
    /// The author: no contract can be made.
    #[error(transparent)]
    Contract(#[from] FactoryError),
    /// The author: a schema of a pinned tool does not compile, or an adapter is not built.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// The author: a provider's address or headers cannot be used.
    #[error("provider `{provider}`: {fault}")]
    Backend {
        /// The error.
        fault: BackendError,
        /// The key under `providers`.
        provider: String,
    },
    /// The operator: interrupted before the run had begun.
    #[error("interrupted before the run had begun")]
    Cancelled,
    /// The operator: the system gave no randomness for a run id.
    #[error("the system gave no randomness for a run id: {0}")]
    Randomness(String),
    /// The caller: there is nothing left to do.
    #[error("resume run {run_id}: it has already ended; monolith show says how")]
    RunEnded {
        /// The run.
        run_id: RunId,
    },
    /// The caller: the process died before anything of the run was recorded, so nothing was begun either.
    #[error("resume run {run_id}: nothing was recorded, so nothing was started; run it again")]
    NothingRecorded {
        /// The run.
        run_id: RunId,
    },
    /// The caller: the name leaves no room for those of step runs.
    #[error(
        "run workflow {run_id}: its name is longer than {most} characters, and the names of its steps add to it"
    )]
    WorkflowName {
        /// The most.
        most: usize,
        /// The name.
        run_id: RunId,
    },
    /// The caller: a run has the name that one below it would get, so it is of another tree.
    #[error(
        "run {run_id}: a child run would be called {taken}, and this store already has a run of that name"
    )]
    NameBelowTaken {
        /// The name of the workflow, or of the run that has agents.
        run_id: RunId,
        /// The run that is there.
        taken: RunId,
    },
    /// The caller: the workflow has ended at that entry.
    #[error("fork workflow {run_id} after entry {at}: it ended there, so nothing is left to do")]
    WorkflowForkEnded {
        /// The entry.
        at: u64,
        /// The workflow.
        run_id: RunId,
    },
    /// The operator: a run below this one was begun, and somebody deleted it.
    #[error(
        "resume run {run_id}: its child run {below} was deleted{}",
        because(reason)
    )]
    BelowDeleted {
        /// The run that was deleted.
        below: RunId,
        /// The reason.
        reason: String,
        /// The first run of the tree.
        root: RunId,
        /// The run that began it.
        run_id: RunId,
    },
    /// The evidence: what is stored of a workflow, or of a step of it, is not what was written.
    #[error("read {run_id}: {what}")]
    WorkflowDiffers {
        /// The workflow or the step run.
        run_id: RunId,
        /// The difference.
        what: String,
    },
    /// The caller: the workflow that was begun is another one than the file has now.
    #[error("resume workflow {run_id}: {what} has changed since it started")]
    WorkflowChanged {
        /// The workflow.
        run_id: RunId,
        /// The changed file.
        what: String,
    },
    /// The caller: this build does not know the rules under which the run was begun.
    #[error("resume run {run_id}: its semantics version is {got}, and this build knows {known}")]
    UnknownSemantics {
        /// The run.
        run_id: RunId,
        /// The contract's version.
        got: u32,
        /// This build's.
        known: u32,
    },
    /// The caller: this build cannot estimate tokens as the run has done so far.
    #[error("resume run {run_id}: {reason}")]
    NoTokenizer {
        /// The missing tokenizer, and the way to get it.
        reason: String,
        /// The run.
        run_id: RunId,
    },
    /// The transcript was changed, or monolith was: the recorded events do not give the recorded entries.
    #[error(
        "resume run {run_id}: its transcript does not replay: {}",
        first(report)
    )]
    DoesNotReplay {
        /// The run.
        run_id: RunId,
        /// The differences.
        report: Box<ReplayReport>,
    },
    /// The author: the file gives another contract than the one under which the run was begun.
    #[error(
        "resume run {run_id}: {} gives another contract{}: {pointer} is {given}, but the run started with {recorded}",
        named(file.as_deref()),
        for_agent(agent.as_deref())
    )]
    OtherContract {
        /// The agent that differs or cannot be read, in words, if that is the difference.
        agent: Option<Box<str>>,
        /// The file, where it is not the one that the caller named.
        file: Option<Box<Path>>,
        /// The run.
        run_id: RunId,
        /// The place where the two documents first differ.
        pointer: Box<str>,
        /// The recorded contract's value.
        recorded: Box<str>,
        /// The file's value.
        given: Box<str>,
    },
    /// The author: the script has changed since the run was begun.
    #[error(
        "resume run {run_id}: the script {} of provider `{provider}` is not the one that the run started with",
        path.display()
    )]
    OtherScript {
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
        /// The run.
        run_id: RunId,
    },
    /// The author: the file of an ended run gives another contract by now.
    #[error(
        "continue run {run_id}: {}: {pointer} is {given}, but the run started with {recorded}",
        if *.has_sets { "the contract made from the file and --set differs" } else { "the file has changed" }
    )]
    ChangedContract {
        /// True if the caller changes values of the file.
        has_sets: bool,
        /// The run.
        run_id: RunId,
        /// The place where the two documents first differ.
        pointer: Box<str>,
        /// The recorded contract's value.
        recorded: String,
        /// The file's value.
        given: String,
    },
    /// The author: the script of an ended run has changed.
    #[error(
        "continue run {run_id}: the script {} of provider `{provider}` has changed since the run started",
        path.display()
    )]
    ChangedScript {
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
        /// The run.
        run_id: RunId,
    },
    /// The operator: the position in a fork's scripts is recorded in a run that is missing.
    #[error(
        "find how far the scripts of run {child} were played: its parent run {parent} is missing from this store or has changed"
    )]
    NoParent {
        /// The run that began from the other.
        child: RunId,
        /// The other.
        parent: RunId,
    },
    /// The operator: a child run resumes with its highest open parent run.
    #[error("resume run {run_id}: it resumes with its parent run {parent}")]
    Delegated {
        /// The highest open run above it.
        parent: RunId,
        /// The run.
        run_id: RunId,
    },
    /// The operator: whether the run that began it has ended is not known.
    #[error(
        "resume run {run_id}: its parent run {parent} is not in this store{}",
        if *is_another { ": another run has its name" } else { "" }
    )]
    CallerNotHere {
        /// True if another run has its name.
        is_another: bool,
        /// The run that began it.
        parent: RunId,
        /// The run.
        run_id: RunId,
    },
    /// The operator: the file of an agent whose run was begun cannot be read again.
    #[error("resume run {run_id}: the file of its agent cannot be read: {reason}")]
    AgentUnreadable {
        /// The reason.
        reason: String,
        /// The run of the agent.
        run_id: RunId,
    },
    /// The operator: tools would see another folder than before.
    #[error("resume run {run_id}: it started in a workspace other than {}", path.display())]
    OtherWorkspace {
        /// The run.
        run_id: RunId,
        /// The folder, resolved.
        path: PathBuf,
    },
    /// The operator: a tool server that the run has does not come up now. Nothing of the run was recorded.
    #[error("resume run {run_id}: tool server {}: {}", fault.server, fault.detail)]
    ServerDown {
        /// The run.
        run_id: RunId,
        /// The first server that is down, and why.
        fault: Box<BringUpFault>,
        /// The run with which it resumes: itself, or the first open one above it.
        root: Box<RunId>,
    },
    /// The operator: what this machine can confine.
    #[error(transparent)]
    Confinement(#[from] ConfinementError),
    /// The author or the operator: the environment differs from the run's, so the answers could not be compared.
    #[error("ask again for run {run_id}: {reason}")]
    CannotAskAgain {
        /// The difference.
        reason: String,
        /// The run.
        run_id: RunId,
    },
    /// The operator: a tool server that the run has does not come up now.
    #[error("ask again for run {run_id}: tool server {}: {}", fault.server, fault.detail)]
    ServerDownToCompare {
        /// The first server that is down, and why.
        fault: Box<BringUpFault>,
        /// The run.
        run_id: RunId,
    },
    /// The operator: interrupted before everything was asked again.
    #[error("ask again for run {run_id}: interrupted")]
    AskingInterrupted {
        /// The run.
        run_id: RunId,
    },
    /// monolith itself: the driver handed in what no host may.
    #[error("monolith itself failed to drive the run: {0}")]
    Session(#[from] SessionError),
    /// The operator: the transcript could not be written. Nothing was done after the last durable entry.
    #[error("the transcript cannot be written: {0}")]
    Store(#[from] StoreError),
}

impl DriverError {
    /// Returns true if the message completes "failed to …" instead of standing alone.
    #[must_use]
    pub const fn completes_failed_to(&self) -> bool {
        matches!(
            self,
            Self::RunEnded { .. }
                | Self::NothingRecorded { .. }
                | Self::WorkflowName { .. }
                | Self::NameBelowTaken { .. }
                | Self::WorkflowForkEnded { .. }
                | Self::BelowDeleted { .. }
                | Self::WorkflowDiffers { .. }
                | Self::WorkflowChanged { .. }
                | Self::UnknownSemantics { .. }
                | Self::NoTokenizer { .. }
                | Self::DoesNotReplay { .. }
                | Self::OtherContract { .. }
                | Self::OtherScript { .. }
                | Self::ChangedContract { .. }
                | Self::ChangedScript { .. }
                | Self::AgentUnreadable { .. }
                | Self::CallerNotHere { .. }
                | Self::Delegated { .. }
                | Self::NoParent { .. }
                | Self::OtherWorkspace { .. }
                | Self::ServerDown { .. }
                | Self::CannotAskAgain { .. }
                | Self::ServerDownToCompare { .. }
                | Self::AskingInterrupted { .. }
        )
    }

    /// The fault of a run below the one that the caller asked for, whose contract that file gives.
    pub(in crate::driver) fn of_file(mut self, path: Option<PathBuf>) -> Self {
        if let Self::OtherContract {
            file: file @ None, ..
        } = &mut self
        {
            *file = path.map(PathBuf::into_boxed_path);
        }
        self
    }

    /// Makes this the error of a child run that resumes with that one.
    pub(in crate::driver) fn of_tree(mut self, above: RunId) -> Self {
        if let Self::ServerDown { root, .. }
        | Self::Confinement(ConfinementError::Less { root, .. }) = &mut self
        {
            **root = above;
        }
        self
    }
}

fn named(file: Option<&Path>) -> String {
    file.map_or_else(|| "the file".to_owned(), |file| file.display().to_string())
}

fn for_agent(agent: Option<&str>) -> String {
    agent.map_or_else(String::new, |agent| format!(", for {agent}"))
}

fn because(reason: &str) -> String {
    let because = (!reason.is_empty()).then(|| format!(": {reason}"));
    because.unwrap_or_default()
}

/// The first difference, in words.
fn first(report: &ReplayReport) -> String {
    let first = report.first_difference.as_ref();
    first.map_or_else(|| "it has no beginning".to_owned(), ToString::to_string)
}
