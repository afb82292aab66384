//! Every fault that a command can end with: its message, its exit code and its word for programs. The faults themselves stand in a
//! file for each subject.

use std::io;

use crate::as_typed::as_typed;
use crate::contract_values::path_of;
use crate::error::code::ErrorCode;
use crate::exit::Exit;
use crate::secrets;
use monolith_core::contract::{ChangedError, SpecErrors};
use monolith_core::replay::ForkFault;
use monolith_host::config::ConfigFault;
use monolith_host::driver::{ConfinementError, DriverError, KeyFileError};
use monolith_host::inference::{ModelStoreError, PullError};
use monolith_host::store::{
    EraseError, ExportError, ImportError, MigrateError, RemoveError, StoreError,
};
use monolith_host::telemetry::BillingFault;
use monolith_host::tools::LoginFault;

pub mod advice;
pub mod agent;
pub mod code;
pub mod contract;
pub mod corpus;
pub mod diagnosis;
pub mod driver;
pub mod input;
pub mod login;
pub mod model;
pub mod state;
pub mod store;
pub mod system;
pub mod transcript;
pub mod trust;
pub mod undo;
pub mod work;

pub(crate) use crate::error::advice::Advice;
pub(crate) use crate::error::agent::AgentFault;
pub(crate) use crate::error::contract::ContractFault;
pub(crate) use crate::error::corpus::CorpusFault;
pub(crate) use crate::error::input::InputFault;
pub(crate) use crate::error::login::LoginRefused;
pub(crate) use crate::error::model::ModelFault;
pub(crate) use crate::error::state::StateFault;
pub(crate) use crate::error::system::SystemFault;
pub(crate) use crate::error::transcript::TranscriptFault;
pub(crate) use crate::error::trust::TrustFault;
pub(crate) use crate::error::undo::UndoFault;
pub(crate) use crate::error::work::WorkFault;

/// The error of a command. Completes "failed to …" where it does not stand alone.
///
/// An error of the command line itself is a variant of its subject's enum, below `error/`, which also has its exit code and its
/// advice.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The author: the contract file breaks rules.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// The same of a value that cannot be run under, or no longer: what is wrong, and where the file has it.
    #[error("{1}")]
    Located(Box<DriverError>, SpecErrors),
    /// The file of a contract gives another one than the run was begun with, which no line of it shows; what the caller may do.
    #[error("{0}")]
    ChangedFile(Box<DriverError>, String),
    /// An agent, or the registry of agents.
    #[error(transparent)]
    Agent(#[from] AgentFault),
    /// The file of the contract.
    #[error(transparent)]
    Contract(#[from] ContractFault),
    /// The layers of settings.
    #[error("use {0}")]
    Config(#[from] ConfigFault),
    /// A run could not be begun or brought to its end.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// No run can begin there.
    #[error(transparent)]
    Fork(#[from] ForkFault),
    /// The task of a run, or its contract.
    #[error(transparent)]
    Input(#[from] InputFault),
    /// The file changes of a run were not reverted.
    #[error(transparent)]
    Undo(#[from] UndoFault),
    /// Work items.
    #[error(transparent)]
    Work(#[from] WorkFault),
    /// There was no login at a tool server.
    #[error(transparent)]
    Login(#[from] LoginRefused),
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateFault),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A blob was not erased.
    #[error(transparent)]
    Erase(#[from] EraseError),
    /// A run cannot be deleted.
    #[error(transparent)]
    Remove(#[from] RemoveError),
    /// A file was not imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The store was not migrated.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The transcript could not be written out.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The operator: the accounting cannot be kept.
    #[error(transparent)]
    Billing(#[from] BillingFault),
    /// A transcript is not what it must be.
    #[error(transparent)]
    Transcript(#[from] TranscriptFault),
    /// A key cannot be used or made.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// Keys, pins, the log of runs.
    #[error(transparent)]
    Trust(#[from] TrustFault),
    /// There is no model, or the caller did not name one.
    #[error(transparent)]
    Model(#[from] ModelFault),
    /// The store of models.
    #[error("use the store of models: {0}")]
    ModelStore(#[from] ModelStoreError),
    /// A model was not fetched or not stored.
    #[error("get the model: {0}")]
    GetModel(#[from] PullError),
    /// Cases and records.
    #[error(transparent)]
    Corpus(#[from] CorpusFault),
    /// The system, or the person at the terminal.
    #[error(transparent)]
    System(#[from] SystemFault),
    /// The reader of the output.
    #[error("write the output: {0}")]
    Output(#[from] io::Error),
}

impl From<LoginFault> for ServiceError {
    fn from(fault: LoginFault) -> Self {
        Self::Login(fault.into())
    }
}

impl From<ChangedError> for ServiceError {
    fn from(fault: ChangedError) -> Self {
        match fault {
            ChangedError::Spec(errors) => Self::Spec(errors),
            ChangedError::Factory(fault) => Self::Driver(fault.into()),
        }
    }
}

impl ServiceError {
    /// monolith itself failed.
    pub const fn is_panic(&self) -> bool {
        matches!(self, Self::System(SystemFault::Panic { .. }))
    }

    /// Returns the word for programs that `metadata.reason` has where no run began.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.code().as_str()
    }

    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Contract(ContractFault::Untrusted(_) | ContractFault::Foreign { .. }) => {
                ErrorCode::Untrusted
            }
            Self::Spec(_) | Self::Config(_) | Self::Contract(_) => ErrorCode::ContractInvalid,
            Self::Located(fault, _) | Self::ChangedFile(fault, _) => code_of(fault),
            Self::Driver(fault) => code_of(fault),
            Self::Store(_) | Self::State(_) => ErrorCode::Store,
            Self::Key(_) => ErrorCode::Key,
            Self::Billing(_) => ErrorCode::BillingFile,
            Self::Fork(_) => ErrorCode::ForkRefused,
            Self::Input(_) => ErrorCode::Usage,
            Self::System(SystemFault::Panic { .. }) => ErrorCode::Internal,
            Self::System(
                SystemFault::AnswerUnwritten { .. }
                | SystemFault::ItemsUnwritten { .. }
                | SystemFault::ResultsUnwritten { .. },
            )
            | Self::Output(_) => ErrorCode::Output,
            Self::System(_) | Self::Work(_) => ErrorCode::System,
            Self::Agent(_) => ErrorCode::Agent,
            Self::Undo(_) => ErrorCode::Undo,
            Self::Login(_) => ErrorCode::Login,
            Self::Erase(_) | Self::Remove(_) => ErrorCode::Delete,
            Self::Import(_) => ErrorCode::Import,
            Self::Migrate(_) => ErrorCode::Migrate,
            Self::Export(_) => ErrorCode::Export,
            Self::Transcript(_) => ErrorCode::Transcript,
            Self::Trust(_) => ErrorCode::Trust,
            Self::Model(_) | Self::ModelStore(_) | Self::GetModel(_) => ErrorCode::Model,
            Self::Corpus(_) => ErrorCode::Corpus,
        }
    }

    /// The fault as its subject knows it.
    fn subject(&self) -> &dyn Advice {
        match self {
            Self::Spec(fault) => fault,
            Self::Located(fault, _) | Self::ChangedFile(fault, _) => fault.as_ref(),
            Self::Contract(fault) => fault,
            Self::Config(fault) => fault,
            Self::Driver(fault) => fault,
            Self::Fork(fault) => fault,
            Self::State(fault) => fault,
            Self::Input(fault) => fault,
            Self::Login(fault) => fault,
            Self::Agent(fault) => fault,
            Self::Undo(fault) => fault,
            Self::Store(fault) => fault,
            Self::Erase(fault) => fault,
            Self::Remove(fault) => fault,
            Self::Import(fault) => fault,
            Self::Migrate(fault) => fault,
            Self::Export(fault) => fault,
            Self::Billing(fault) => fault,
            Self::Transcript(fault) => fault,
            Self::Key(fault) => fault,
            Self::Trust(fault) => fault,
            Self::Model(fault) => fault,
            Self::ModelStore(fault) => fault,
            Self::GetModel(fault) => fault,
            Self::Corpus(fault) => fault,
            Self::System(fault) => fault,
            Self::Work(fault) => fault,
            Self::Output(fault) => fault,
        }
    }

    /// The fault in one line, for documents.
    ///
    /// Secrets are taken out of each part: together, a key and its rule may look like a header.
    pub fn summary(&self) -> String {
        let clean = secrets::without_secrets;
        match self {
            Self::Spec(errors) | Self::Located(_, errors) => {
                let lines = errors.with_helps().map(|(error, help)| {
                    let typed = error.set.as_deref().map(as_typed).as_deref().map(clean);
                    let is_option = typed
                        .as_deref()
                        .is_some_and(|it| SpecErrors::option_of(it).is_some());
                    let place = typed.unwrap_or_else(|| {
                        let (file, line, column) = errors.place_of(error);
                        format!("{file}:{line}:{column}")
                    });
                    let is_whole = is_option && !SpecErrors::is_of_definition(&error.path);
                    let path = if error.path.is_empty() || is_whole {
                        String::new()
                    } else {
                        format!("{}: ", error.path)
                    };
                    let help = help.map(|help| format!(" ({})", clean(help)));
                    format!(
                        "{place}: {path}{}{}",
                        clean(&error.rule),
                        help.unwrap_or_default()
                    )
                });
                lines.collect::<Vec<_>>().join("; ")
            }
            _ => self.message(),
        }
    }

    /// The fault as a sentence, without secrets.
    pub fn message(&self) -> String {
        let text = match self {
            Self::Driver(DriverError::Store(fault)) => format!("failed to {fault}"),
            Self::Driver(fault) => sentence(fault),
            Self::ChangedFile(fault, _) => sentence(fault),
            Self::System(SystemFault::Panic { .. }) => self.to_string(),
            _ => format!("failed to {self}"),
        };
        let path = match self {
            Self::Driver(fault) => path_of(fault),
            _ => None,
        };
        let clean = secrets::without_secrets;
        match path
            .as_deref()
            .and_then(|path| Some((path, text.split_once(path)?)))
        {
            Some((path, (before, rule))) => format!("{}{path}{}", clean(before), clean(rule)),
            None => clean(&text),
        }
    }
}

/// A fault of the driver as a sentence: some complete "failed to", others stand alone.
fn sentence(fault: &DriverError) -> String {
    if fault.completes_failed_to() {
        format!("failed to {fault}")
    } else {
        fault.to_string()
    }
}

/// The code of what keeps a run from being prepared.
const fn code_of(fault: &DriverError) -> ErrorCode {
    match fault {
        DriverError::Cancelled => ErrorCode::Cancelled,
        DriverError::Store(_) => ErrorCode::Store,
        DriverError::Randomness(_) => ErrorCode::Internal,
        DriverError::Confinement(ConfinementError::Untried { .. }) => ErrorCode::Sandbox,
        DriverError::RunEnded { .. }
        | DriverError::NothingRecorded { .. }
        | DriverError::BelowDeleted { .. }
        | DriverError::WorkflowChanged { .. }
        | DriverError::WorkflowDiffers { .. }
        | DriverError::UnknownSemantics { .. }
        | DriverError::NoTokenizer { .. }
        | DriverError::DoesNotReplay { .. }
        | DriverError::OtherContract { .. }
        | DriverError::OtherScript { .. }
        | DriverError::NoParent { .. }
        | DriverError::CallerNotHere { .. }
        | DriverError::OtherWorkspace { .. }
        | DriverError::Confinement(ConfinementError::Less { .. })
        | DriverError::ServerDown { .. } => ErrorCode::ResumeRefused,
        DriverError::ChangedContract { .. } | DriverError::ChangedScript { .. } => {
            ErrorCode::ForkRefused
        }
        _ => ErrorCode::ContractInvalid,
    }
}

impl Advice for ServiceError {
    fn exit(&self) -> Exit {
        let exit = self.subject().exit();
        debug_assert!(
            self.code().exit_codes().contains(&exit.0),
            "docs/errors.md: {} ends with {}",
            self.code(),
            exit.0
        );
        exit
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::ChangedFile(_, way_on) => Some(way_on.clone()),
            _ => self.subject().help(),
        }
    }
}

impl From<&ServiceError> for Exit {
    fn from(error: &ServiceError) -> Self {
        error.exit()
    }
}
