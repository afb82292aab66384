use std::fmt;
use std::io;
use std::path::PathBuf;

use miette::{Diagnostic, ReportHandler};

use super::commands::init::ways_out;
use super::escape;
use super::exit::Exit;
use super::known;
use super::model_help::{model_help, pull_help};
use crate::config::ConfigFault;
use crate::conformance::CaseError;
use crate::contract::SpecErrors;
use crate::driver::{DriverError, KeyFileError};
use crate::inference::{ModelStoreError, PullError};
use crate::message::{RunId, VersionFault};
use crate::replay::ForkFault;
use crate::store::{EraseError, ExportError, ImportError, MigrateError, StoreError};
use crate::telemetry::BillingFault;
use crate::transcript::{BlockError, Flaw, LineError};

/// Why a command did not do what it was asked. Completes "failed to …" where it does not stand alone.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The author: the contract file breaks rules.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// The author: there is no such contract file.
    #[error("read the contract {}: {reason}", path.display())]
    ContractUnreadable { path: PathBuf, reason: String },
    #[error("use {0}")]
    Config(#[from] ConfigFault),
    /// A run could not be begun or brought to its end.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operator: the state folder cannot be made.
    #[error("make the state folder {}: {reason}", path.display())]
    StateFolder { path: PathBuf, reason: String },
    /// The operator: the accounting cannot be kept.
    #[error(transparent)]
    Billing(#[from] BillingFault),
    /// The operator: the system names no home folder.
    #[error("find a state folder: the system names no home folder")]
    NoStateFolder,
    /// The caller: no such file.
    #[error("read the transcript {}: {reason}", path.display())]
    TranscriptUnreadable { path: PathBuf, reason: String },
    /// Whoever changed the file.
    #[error("read the transcript {}: {fault}", path.display())]
    Line { path: PathBuf, fault: LineError },
    /// Whoever changed the file.
    #[error("read the transcript {}: it does not begin with its contract", path.display())]
    NoHeader { path: PathBuf },
    /// The caller: a file of another kind.
    #[error("read {}: not a monolith transcript", path.display())]
    NotATranscript { path: PathBuf },
    /// The caller: the store that the caller names is not there.
    #[error("read the store {}: there is no such file", path.display())]
    NoSuchStore { path: PathBuf },
    /// The caller: there is a file already.
    #[error("write {}: there is a file of that name", path.display())]
    FileExists { path: PathBuf },
    /// The caller: the transcript does not hold.
    #[error("show {asked}: the transcript is not verified: {place}")]
    NotVerified { asked: String, place: String },
    /// The caller: the transcript does not hold.
    #[error("export {asked}: the transcript is not verified: {place}")]
    ExportNotVerified { asked: String, place: String },
    /// Whoever changed the transcript.
    #[error("read entry {seq}: {flaw}")]
    Entry { seq: u64, flaw: Flaw },
    /// The caller: the run has no such entry.
    #[error("show entry {asked}: the run has entries 0 to {last}")]
    NoSuchEntry { asked: u64, last: u64 },
    /// The caller: a file where only a run of the store will do.
    #[error("export {}: it is a file already", path.display())]
    FileInsteadOfRun { path: PathBuf },
    /// A blob was not erased.
    #[error(transparent)]
    Erase(#[from] EraseError),
    /// The caller: nobody said yes.
    #[error("{what}: nobody confirmed it")]
    NotConfirmed { what: &'static str },
    /// A file was not imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The store was not migrated.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The caller: the file is of a version that this build does not read.
    #[error("read {}: {fault}", path.display())]
    Version { path: PathBuf, fault: VersionFault },
    /// The caller: what the file names is of a version that this build does not have.
    #[error("read {}: its {what} is {found:?}, and this build knows {known}", path.display())]
    UnknownPart {
        path: PathBuf,
        what: &'static str,
        found: String,
        known: String,
    },
    /// The caller: a file without a version.
    #[error("read {}: it states no format, so it is neither a transcript nor a contract as monolith contract show prints it", path.display())]
    NoFormat { path: PathBuf },
    /// The caller: a store where a transcript or a contract is meant.
    #[error("read {}: it is a database, not a transcript or a contract", path.display())]
    StoreInsteadOfFile { path: PathBuf },
    /// The caller: the file holds no proof of the log.
    #[error("read the proof {}: {flaw}", path.display())]
    BrokenProof { path: PathBuf, flaw: Flaw },
    /// The transcript could not be written out.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The caller: no case has such an id.
    #[error("play the corpus: no case's id contains {filter:?}")]
    NoSuchCase { filter: String },
    /// The caller: this build has no such profile.
    #[error("play the corpus: no model profile {got:?}; this build has {known}")]
    NoSuchProfile { got: String, known: String },
    /// monolith: a live case that it carries is faulty; or the caller's endpoint cannot stand in a contract.
    #[error("make the contract of a live case: {0}")]
    LiveCase(CaseError),
    /// The operator: the system does not say which program this is.
    #[error("find the program of this process: {reason}")]
    OwnProgram { reason: String },
    /// The caller: no such file of records.
    #[error("read the records {}: {reason}", path.display())]
    RecordsUnreadable { path: PathBuf, reason: String },
    /// Whoever wrote the file: lines that are no records.
    #[error("judge every line of {}:\n  {faults}", path.display())]
    RecordsNotJudged { path: PathBuf, faults: String },
    /// The operator: the embedded model cannot answer.
    #[error("use the model: {reason}")]
    ModelUnavailable { reason: String },
    /// The caller, or monolith: a trial cannot be begun.
    #[error("try the model: {reason}")]
    ModelTrial { reason: String },
    /// The store of models.
    #[error("use the store of models: {0}")]
    ModelStore(#[from] ModelStoreError),
    /// The caller: no shipped profile has that id.
    #[error("show the model profile {got:?}: this build has {known}")]
    NoProfile { got: String, known: String },
    /// The operator: nothing here could answer.
    #[error("find something that answers{}", asked.as_ref().map_or(String::new(), |asked| format!(" as {asked:?}")))]
    NothingToUse { asked: Option<String> },
    /// The caller: there are several ways, and nobody said which.
    #[error("choose what is to answer: nobody said which")]
    NobodyChose,
    /// The contract that would have been written does not hold.
    #[error("write a contract for {way}: {why}")]
    ContractOfInit {
        exit: Exit,
        way: String,
        why: String,
    },
    /// A model was not fetched or not stored.
    #[error("get the model: {0}")]
    GetModel(#[from] PullError),
    /// The caller: no model of that name is known.
    #[error("pull the model {name}: only {known} can be pulled by name")]
    NoKnownModel { name: String, known: String },
    /// The world: a model could not be fetched.
    #[error("pull the model {name}: {reason}")]
    ModelPull { name: String, reason: String },
    /// A key cannot be used or made.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The caller: no such file of keys or pins.
    #[error("read the keys or pins {}: {reason}", path.display())]
    TrustUnreadable { path: PathBuf, reason: String },
    /// The caller: the file holds something else.
    #[error("read the keys or pins {}: {fault}", path.display())]
    BrokenTrust { path: PathBuf, fault: BlockError },
    /// The caller: nothing was ever written here, or only before there was a log.
    #[error("read the log of runs: this store keeps none")]
    NoLog,
    /// The caller: the run has no seal yet.
    #[error("find run {run_id} in the log: a run is in it from its seal on")]
    NotInLog { run_id: RunId },
    /// The caller: the log never had that size.
    #[error("prove the log of {asked} runs: it has {size}, and one is the least")]
    NoSuchLogSize { asked: u64, size: u64 },
    /// The caller: there is no demo run yet.
    #[error("find a demo run: there is none in this store")]
    NoDemoRun,
    /// The caller: it was not recorded which file the run's contract came from.
    #[error("resume run {run_id}: it is not recorded which contract file it was begun with")]
    NoContractFile { run_id: RunId },
    /// No run can begin there.
    #[error(transparent)]
    Fork(ForkFault),
    /// The caller: nothing says which file the contract came from.
    #[error("find the contract file of {asked}: it is not recorded with it")]
    NoFileOfRun { asked: String },
    /// monolith: a changed byte was not found.
    #[error("find the changed byte: verify accepted the file")]
    NothingTampered,
    /// The operator: a file cannot be written.
    #[error("write {}: {reason}", path.display())]
    CannotWrite { path: PathBuf, reason: String },
    /// The operator: the process stands in no folder.
    #[error("find the current folder: {reason}")]
    CurrentFolder { reason: String },
    /// The operator: the filter of diagnostics is none.
    #[error("read MONOLITH_LOG: {got:?} is no filter of diagnostics")]
    LogFilter { got: String },
    /// The operator: no threads can be started.
    #[error("start the runtime: {reason}")]
    Runtime { reason: String },
    /// The operator: the system gave no randomness.
    #[error("find a name for the run: {reason}")]
    Randomness { reason: String },
    /// Whoever reads the output.
    #[error("write the output: {0}")]
    Output(#[from] io::Error),
    /// monolith itself.
    #[error("monolith itself failed: {message}")]
    Panic { message: String },
}

/// One fault as it is shown: what, and what to do next.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
struct Shown {
    message: String,
    #[help]
    help: Option<String>,
}

impl CliError {
    /// A word for programs: what `metadata.reason` says where no run was begun.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Spec(_) | Self::Config(_) | Self::ContractUnreadable { .. } => "contract_invalid",
            Self::Driver(fault) => match fault {
                DriverError::Cancelled => "cancelled",
                DriverError::Store(_) => "store",
                DriverError::Randomness(_) => "internal",
                DriverError::RunEnded { .. }
                | DriverError::NothingRecorded { .. }
                | DriverError::UnknownSemantics { .. }
                | DriverError::DoesNotReplay { .. }
                | DriverError::OtherContract { .. }
                | DriverError::OtherScript { .. }
                | DriverError::NoParent { .. }
                | DriverError::OtherWorkspace { .. }
                | DriverError::ServerDown { .. } => "resume_refused",
                _ => "contract_invalid",
            },
            Self::Store(_)
            | Self::NoSuchStore { .. }
            | Self::StateFolder { .. }
            | Self::NoStateFolder => "store",
            Self::Key(_) => "key",
            Self::Billing(_) => "billing_file",
            Self::Fork(_) => "fork_refused",
            Self::Panic { .. } => "internal",
            _ => "error",
        }
    }

    /// What to do next, where it can be said.
    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Driver(DriverError::Store(fault))
            | Self::Store(fault)
            | Self::Erase(EraseError::Store(fault))
            | Self::Import(ImportError::Store(fault))
            | Self::Migrate(MigrateError::Store(fault)) => {
                return store_help(fault);
            }
            Self::Driver(DriverError::MissingVariable { .. }) => {
                "set the variable, or leave its name out of the file"
            }
            Self::Driver(DriverError::SecretInContract { .. }) => {
                "keep the value out of the file, or do not name it as a secret"
            }
            Self::Driver(DriverError::OtherContract { .. }) => {
                "name the file that the run was begun with, and give again each --set below providers or tools"
            }
            Self::Driver(DriverError::OtherWorkspace { .. }) => {
                "a run goes on in the folder that it was begun in"
            }
            Self::Driver(DriverError::ServerDown { .. }) => {
                "nothing was recorded: resume the run again once the server is there"
            }
            Self::Driver(DriverError::DoesNotReplay { .. }) => "monolith replay RUN shows them all",
            Self::NoContractFile { .. } => "name it: monolith resume RUN --contract FILE",
            Self::Driver(DriverError::OtherScript { .. }) => {
                "a run goes on with the script that it was begun with: put that one back"
            }
            Self::Driver(DriverError::NoParent { .. }) => {
                "its script is played on from where that run had come: monolith import takes its transcript"
            }
            Self::Fork(ForkFault::NoSuchEntry { .. } | ForkFault::Unanswered { .. }) => {
                "monolith show RUN lists the entries"
            }
            Self::NoFileOfRun { .. } => "name it with --contract FILE",
            Self::Driver(DriverError::NoTask) => "monolith run --contract FILE --task \"…\"",
            Self::Billing(_) => "name another file with --billing-file FILE",
            Self::NoStateFolder | Self::StateFolder { .. } => {
                "name the file with --store PATH, or a folder with MONOLITH_HOME"
            }
            Self::Line { .. }
            | Self::NoHeader { .. }
            | Self::Entry { .. }
            | Self::NotVerified { .. } => "monolith verify RUN|FILE says what still holds",
            Self::Key(KeyFileError::Permissions { .. }) => {
                "chmod 600 the file, if nobody else has read it; else make a new key"
            }
            Self::Key(KeyFileError::None { name }) if name == "redaction" => {
                "the first run makes it; a run of another machine is opened with that machine's file"
            }
            Self::Key(KeyFileError::None { .. }) => "monolith key generate makes one",
            Self::Key(KeyFileError::Exists { .. }) => "monolith key rotate replaces it",
            Self::Key(_) => "name a folder with MONOLITH_HOME, or run with --no-sign",
            Self::NoLog => "the first run that ends begins it",
            Self::Erase(EraseError::Shared { .. }) => "--all-runs erases them from those runs too",
            Self::Erase(EraseError::Ambiguous { .. }) => "give more of the hash",
            Self::Erase(EraseError::NotNamed { .. } | EraseError::NotHere { .. }) => {
                "monolith show RUN --raw names them: raw_hash, full, blob, request_hash"
            }
            Self::Erase(EraseError::Unfinished { .. }) => {
                "end what reads the store, and give the same command again"
            }
            Self::NotConfirmed { .. } => "--yes says so where nobody can be asked",
            Self::Import(ImportError::OtherHistory { .. } | ImportError::OtherContract { .. }) => {
                "name another store with --store, and compare the two"
            }
            Self::Import(ImportError::OwnRun { .. }) => {
                "name another store with --store for the file; here monolith resume RUN goes on"
            }
            Self::Import(ImportError::Tombstone { .. }) => {
                "--key takes the key of whoever erased it, if you trust it: monolith key show on their machine"
            }
            Self::Migrate(MigrateError::NoRoom { .. }) => "nothing was changed; make room",
            Self::Migrate(MigrateError::Downgrade { .. } | MigrateError::UnknownTarget { .. })
            | Self::Version { .. }
            | Self::UnknownPart { .. } => "monolith migrate --list names what this build knows",
            Self::StoreInsteadOfFile { .. } => "monolith migrate --store FILE migrates a store",
            Self::NoFormat { .. } => {
                "the file that an author writes has no version: monolith contract check FILE reads it"
            }
            Self::BrokenProof { .. } => "monolith log prove and log consistency print proofs",
            Self::NoSuchEntry { .. } => "monolith show RUN lists them",
            Self::NotATranscript { .. } => "monolith export RUN -o FILE writes one",
            Self::NoSuchStore { .. } => "monolith run makes it; name another file with --store",
            Self::FileExists { .. } => "--force replaces it",
            Self::ExportNotVerified { .. } => "--force-unverified makes it nevertheless",
            Self::FileInsteadOfRun { .. } => "monolith list names the runs of this store",
            Self::LogFilter { .. } => {
                "a level (error, warn, info, debug, trace), or monolith::tools=debug"
            }
            Self::NoDemoRun => "monolith demo makes one",
            Self::RecordsNotJudged { .. } => {
                "the other lines are judged; docs/conformance.md has the format"
            }
            Self::NoSuchCase { .. } => "monolith corpus run lists them all",
            Self::NoKnownModel { .. } => {
                "monolith model pull hf:OWNER/REPO/FILE.gguf fetches another, monolith model add NAME FILE takes any GGUF file"
            }
            Self::NothingToUse { .. } => return Some(ways_out()),
            Self::NobodyChose => "--yes takes the first, --use WAY and --model NAME say which",
            Self::ContractOfInit { .. } => {
                "nothing was written; --use and --model choose another way"
            }
            Self::GetModel(fault) => return pull_help(fault),
            Self::ModelStore(fault) => return model_help(fault),
            Self::NothingTampered | Self::Panic { .. } => {
                "this is a bug in monolith: please report it"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// The fault in one line, for documents.
    pub(super) fn summary(&self) -> String {
        known::without_secrets(&self.in_one_line())
    }

    fn in_one_line(&self) -> String {
        match self {
            Self::Spec(errors) => {
                let lines = errors.errors.iter().map(|error| {
                    let place = match &error.set {
                        Some(set) => format!("--set {set}"),
                        None => format!("{}:{}:{}", errors.file, error.line, error.column),
                    };
                    let path = if error.path.is_empty() {
                        String::new()
                    } else {
                        format!("{}: ", error.path)
                    };
                    let help = error.help.as_ref().map(|help| format!(" ({help})"));
                    format!("{place}: {path}{}{}", error.rule, help.unwrap_or_default())
                });
                lines.collect::<Vec<_>>().join("; ")
            }
            _ => self.message(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Driver(DriverError::Store(fault)) => format!("failed to {fault}"),
            Self::Driver(fault) if fault.completes_failed_to() => format!("failed to {fault}"),
            Self::Driver(_) | Self::Panic { .. } => self.to_string(),
            _ => format!("failed to {self}"),
        }
    }

    /// The fault for people, ready for a stream.
    pub(super) fn render(&self, color: bool) -> String {
        match self {
            Self::Spec(errors) => escape::text(&known::without_secrets(&errors.render())),
            _ => shown(&known::without_secrets(&self.message()), self.help(), color),
        }
    }
}

/// A fault as it stands in every terminal: what, then what to do next.
struct Plain {
    color: bool,
}

impl ReportHandler for Plain {
    fn debug(&self, fault: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = if self.color {
            "\u{1b}[31merror\u{1b}[0m"
        } else {
            "error"
        };
        writeln!(f, "{error}: {fault}")?;
        match fault.help() {
            Some(help) => writeln!(f, "  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// A diagnostic with its handler, so that it can be formatted.
struct Report<'d>(&'d Plain, &'d Shown);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}

/// A fault and what to do next, ready for a stream.
pub(super) fn shown(message: &str, help: Option<String>, color: bool) -> String {
    let shown = Shown {
        message: escape::text(message),
        help,
    };
    Report(&Plain { color }, &shown).to_string()
}

fn store_help(fault: &StoreError) -> Option<String> {
    let text = match fault {
        StoreError::NoSuchRun { .. } => "monolith list names the runs of this store",
        StoreError::Ambiguous { .. } => "give more of the name",
        StoreError::RunExists { .. } => "give another name, or none",
        StoreError::NotADatabase { .. } | StoreError::Foreign { .. } | StoreError::Empty { .. } => {
            "name another file with --store, or put it back from a copy; it was left as it is"
        }
        StoreError::CannotOpen { .. } => {
            "the folder must exist and be yours to write; to read a store elsewhere, it must be yours to read"
        }
        StoreError::ReadOnly { .. } => {
            "make the file and its folder writable, or name another with --store"
        }
        StoreError::CutOff { .. } => {
            "monolith list by somebody who may write there does it; or copy both files to a folder of your own"
        }
        StoreError::DiskFull { .. } => {
            "make room: what was acknowledged is kept, and monolith resume RUN goes on with a run that had begun"
        }
        StoreError::Io { .. } => {
            "look at the disk: what was acknowledged is kept, and monolith resume RUN goes on with a run that had begun"
        }
        StoreError::Locked { .. } => {
            "wait for the other process, or name another file with --store"
        }
        StoreError::RunLocked { .. } => "wait for it, or end it: a run has one driver at a time",
        StoreError::OlderFormat { .. } => {
            "monolith migrate brings it up, and keeps a copy of it as it is"
        }
        StoreError::InUse { .. } => "wait for it to end",
        StoreError::NewerFormat { .. } => "use the build of monolith that wrote it, or a newer one",
        StoreError::Corrupt { .. } => "monolith verify RUN says what still holds",
        _ => return None,
    };
    Some(text.to_owned())
}
