//! Keeping secrets out: of what servers offer, of the contract, of the run, and of how it was asked for.

use std::path::PathBuf;
use std::sync::Arc;

use crate::driver::environment::Environment;
use crate::driver::error::DriverError;
use crate::driver::secrets::{Secrets, Unmatched};
use crate::driver::shared::Shared;
use crate::store::Invocation;
use crate::tools::ServerHost;
use monolith_core::contract::{ContractDraft, ContractSpec, ExecutionContract};
use monolith_core::message::{RunId, Scrubber as _};
use monolith_core::session::{RedactionKey, Redactor};

/// The guard that keeps the secrets of a request out of its contract and its run.
#[derive(Debug)]
pub(super) struct Guard {
    /// The host that starts tool servers. It scrubs their offers, which become part of the contract.
    pub(super) servers: ServerHost,
    secrets: Secrets,
    shared: Shared,
}

impl Guard {
    /// Collects the secrets of a file, and refuses the file where its own text, which is all that a draft holds, shows one. No
    /// server is started for it. Why there is no draft is another station's to report.
    pub(super) fn of(
        spec: &ContractSpec,
        environment: &Environment,
        draft: Option<&ContractDraft>,
    ) -> Result<Self, DriverError> {
        let mut secrets = Secrets::of(spec, environment);
        if let Some(draft) = draft {
            secrets.held_against_arguments(spec, environment.shared())?;
            secrets = secrets.held_against(draft, environment.shared())?;
        }
        let host = environment
            .shared()
            .server_host(secrets.matched(), &spec.redact);
        Ok(Self {
            servers: ServerHost {
                is_below: environment.is_below(),
                ..host
            },
            shared: environment.shared().clone(),
            secrets,
        })
    }

    /// Values that are too short to be distinguished from ordinary text.
    pub(super) fn unmatched(&self) -> Vec<Unmatched> {
        self.secrets.unmatched().collect()
    }

    /// Refuses a contract that shows a secret.
    pub(super) fn check(&self, contract: &ExecutionContract) -> Result<(), DriverError> {
        let secrets = self.secrets.clone();
        secrets.held_against(contract, &self.shared).map(drop)
    }

    /// Returns the redactor for everything recorded of that run.
    pub(super) fn redactor(
        &self,
        spec: &ContractSpec,
        key: &RedactionKey,
        run_id: &RunId,
    ) -> Arc<Redactor> {
        let salt = key.salt(run_id);
        // With the key, trying values shows what a marker stands for.
        let own = key.texts();
        let values = self.secrets.matched().chain(own.iter().map(String::as_str));
        let secrets = self.shared.secrets(values, &spec.redact);
        Arc::new(Redactor::salted(secrets, salt))
    }
}

/// A scrubber for a run that another process shows: it removes the secrets of a file that this process knows.
///
/// # Errors
/// As of `Guard::of`.
pub fn redactor_of(
    spec: &ContractSpec,
    environment: &Environment,
    key: &RedactionKey,
    run_id: &RunId,
) -> Result<Arc<Redactor>, DriverError> {
    let environment = environment.over(spec);
    let guard = Guard::of(spec, &environment, None)?;
    Ok(guard.redactor(spec, key, run_id))
}

/// Returns the invocation as it may be recorded. Leaves out a change of the file's values that holds a secret, and the whole
/// invocation if a path does.
pub(super) fn recorded(invocation: Invocation, redactor: &Redactor) -> Option<Invocation> {
    let shows = |text: &str| redactor.text(text) != text;
    let named = |path: &PathBuf| shows(&path.to_string_lossy());
    let begun = &invocation;
    if named(&begun.base_dir)
        || named(&begun.contract_file)
        || begun.config.as_ref().is_some_and(named)
    {
        return None;
    }
    let mut kept = invocation;
    kept.sets.retain(|set| !shows(set));
    let files = kept.files.take();
    kept.files = files.filter(|files| !files.iter().any(|file| named(&file.path)));
    Some(kept)
}
