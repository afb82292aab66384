use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ancestry::{answered_before, by_target};
use super::backends::{Sources, backends};
use super::bring_up::{Prepared, RunRequest, Start, server_specs, workspace, workspace_digest};
use super::guard::Guard;
use super::tokenizers::Tokenizers;
use super::{DriverError, Environment};
use crate::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, SEMANTICS_VERSION,
    ToolPin,
};
use crate::kernel::{BringUpFault, EventKind, RunStarted};
use crate::message::{Digest, RunId};
use crate::replay::{BlobSource, ReplayReport, Replayer, Unfinished, first_difference};
use crate::session::Session;
use crate::store::{Invocation, RunLock, Store, StoreReader};
use crate::tools::{BringUp, ToolServers};
use crate::transcript::SealedEntry;

/// An unfinished run of the store: locked for this process, and decided again up to where its transcript ends.
pub(crate) struct Reopened {
    /// How many requests each provider had answered where the run began.
    answered_before: BTreeMap<String, usize>,
    contract: Arc<ExecutionContract>,
    entries: Vec<SealedEntry>,
    invocation: Option<Invocation>,
    lock: RunLock,
    started: RunStarted,
    unfinished: Unfinished,
}

/// What the loop needs to go on where the transcript ends.
pub(super) struct Resumption {
    pub(super) at_ms: u64,
    pub(super) head: Digest,
    pub(super) lock: RunLock,
    /// The run, as far as it is recorded.
    pub(super) session: Session,
    pub(super) started_unix_ms: u64,
    /// Exposed names of tools whose pin no longer holds.
    pub(super) tools_changed: Vec<String>,
}

/// Locks an unfinished run and folds what is stored of it through a fresh machine. Nothing is written.
///
/// # Errors
/// [`DriverError::Store`] where another process drives the run or it cannot be read, and by name where there is nothing to
/// go on with or the transcript does not replay.
pub(crate) fn reopen(store: &Store, run_id: &RunId) -> Result<Reopened, DriverError> {
    let lock = store.lock_run(run_id)?;
    let blobs = Blobs(store.reader()?);
    let invocation = blobs.0.invocation(run_id)?;
    let mut reader = store.reader()?;
    let stored = reader.read_run(run_id)?;
    if stored.row().outcome.is_some() {
        lock.discard();
        return Err(DriverError::RunEnded {
            run_id: run_id.clone(),
        });
    }
    let contract = stored.contract()?;
    if contract.semantics_version != SEMANTICS_VERSION {
        return Err(DriverError::UnknownSemantics {
            run_id: run_id.clone(),
            got: contract.semantics_version,
            known: SEMANTICS_VERSION,
        });
    }
    let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
    // Replaying knows nothing of signed checkpoints, indexes and blobs: a run that was cut would do again what it had done.
    let verified = reader.verify_run(run_id, true)?;
    if let Some(flaw) = &verified.first_bad {
        return Err(DriverError::DoesNotReplay {
            run_id: run_id.clone(),
            report: Box::new(ReplayReport::default().with_flaw(flaw)),
        });
    }
    let mut replayer = Replayer::new(contract.clone(), run_id);
    for entry in &entries {
        replayer.take(entry, &blobs);
    }
    if entries.is_empty() {
        return Err(DriverError::NothingRecorded {
            run_id: run_id.clone(),
        });
    }
    let does_not_replay = |report| DriverError::DoesNotReplay {
        run_id: run_id.clone(),
        report,
    };
    let unfinished = replayer.into_unfinished().map_err(does_not_replay)?;
    let first = entries.first().map(SealedEntry::decode_event);
    let Some(Ok(Some(first))) = first else {
        return Err(DriverError::NothingRecorded {
            run_id: run_id.clone(),
        });
    };
    let EventKind::RunStarted(started) = first.event else {
        return Err(DriverError::NothingRecorded {
            run_id: run_id.clone(),
        });
    };
    let answered_before = answered_before(&mut reader, &contract, &started)?;
    Ok(Reopened {
        answered_before,
        contract: Arc::new(contract),
        entries,
        invocation,
        lock,
        started: *started,
        unfinished,
    })
}

impl Reopened {
    /// The contract of the run, as it is stored.
    #[must_use]
    pub(crate) const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// What is recorded so far.
    #[must_use]
    pub(crate) fn entries(&self) -> &[SealedEntry] {
        &self.entries
    }

    /// How the run was asked for, where that was recorded.
    #[must_use]
    pub(crate) const fn invocation(&self) -> Option<&Invocation> {
        self.invocation.as_ref()
    }

    /// What the run was told to do.
    fn task(&self) -> Option<String> {
        RunStarted::intent(&self.started.messages)
    }

    /// Refuses a file from which another contract would come than the one under which the run was begun. What the tool
    /// servers offer now does not matter here: calls are held to the pins.
    fn check_contract(
        &self,
        spec: &ContractSpec,
        sources: &Sources,
        tokenizers: &Tokenizers,
    ) -> Result<(), DriverError> {
        let other = other_terms(&self.contract, spec, sources, tokenizers)?;
        let Some((pointer, recorded, given)) = other else {
            return Ok(());
        };
        let run_id = self.started.run_id.clone();
        if let Some((provider, path)) = sources.script_at(spec, &pointer) {
            return Err(DriverError::OtherScript {
                path,
                provider,
                run_id,
            });
        }
        Err(DriverError::OtherContract {
            run_id,
            pointer,
            recorded,
            given,
        })
    }
}

/// Where the contract that a file gives first differs from the recorded one, and what both say there. What the tool servers
/// offer now does not count.
pub(super) fn other_terms(
    recorded: &ExecutionContract,
    spec: &ContractSpec,
    sources: &Sources,
    tokenizers: &Tokenizers,
) -> Result<Option<(String, String, String)>, DriverError> {
    let manifest = CapabilityManifest {
        targets: sources.capabilities(spec),
        ..CapabilityManifest::recorded_in(recorded)
    };
    let parent = recorded.parent_contract_hash;
    let given = ContractFactory.make_counting(spec, &manifest, parent, tokenizers)?;
    if given.contract_hash() == recorded.contract_hash() {
        return Ok(None);
    }
    let (recorded, given) = (terms_text(recorded), terms_text(&given));
    let whole = || (String::new(), "another".to_owned(), "another".to_owned());
    Ok(Some(
        first_difference("", &recorded, &given).unwrap_or_else(whole),
    ))
}

/// The first server of the contract that is not there any more.
pub(super) fn missing_server(contract: &ExecutionContract, up: &BringUp) -> Option<BringUpFault> {
    let mut missing = contract.servers.iter().filter(|(name, terms)| {
        let found = up.capabilities.get(*name);
        terms.available && !found.is_some_and(|server| server.available)
    });
    let (name, _) = missing.next()?;
    let told = up.faults.iter().find(|fault| fault.server == *name);
    Some(told.cloned().unwrap_or_else(|| BringUpFault {
        detail: "it is not in the file".to_owned(),
        server: name.clone(),
    }))
}

/// The pin of every tool of a contract.
pub(super) fn pins_of(contract: &ExecutionContract) -> BTreeMap<String, ToolPin> {
    let pins = contract.tools.iter();
    pins.map(|tool| (tool.name.clone(), ToolPin(tool.pin)))
        .collect()
}

/// Brings up again what a reopened run needs. The contract is the stored one; `request` only supplies what a contract
/// does not hold: values of variables and headers, keys, the folder. Its task and name are the run's own.
///
/// # Errors
/// [`DriverError`] where the file, the workspace or the tool servers are not what the run was begun with. Nothing is
/// written, and the run stays as it is.
pub(crate) async fn prepare_resume(
    reopened: Reopened,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let mut spec = request.spec;
    spec.task = reopened.task();
    let environment: &Environment = &request.environment;
    let run_id = reopened.started.run_id.clone();
    let sources = Sources::read(&spec, &request.contract_dir, &request.environment, cancel).await?;
    let tokenizers = Tokenizers::ready(
        reopened.contract.tokenizer.clone(),
        &sources,
        &spec,
        environment,
        cancel,
    )
    .await?;
    let counter = tokenizers.counter_of(reopened.contract.tokenizer.as_deref());
    let counter = counter.map_err(|reason| DriverError::NoTokenizer {
        reason,
        run_id: run_id.clone(),
    })?;
    reopened.check_contract(&spec, &sources, &tokenizers)?;
    let workspace = workspace(&spec, &request.base_dir).await?;
    if reopened.started.workspace != Some(workspace_digest(&workspace)) {
        let path = workspace;
        return Err(DriverError::OtherWorkspace { run_id, path });
    }
    let contract = Arc::clone(&reopened.contract);
    let with_keys = contract.servers.values().all(|server| server.available);
    let guard = Guard::of(&spec, environment, &sources)?;
    let redactor = guard.redactor(&spec, &request.redaction_key, &run_id);
    let before = by_target(&spec.targets, reopened.answered_before);
    let own = &reopened.unfinished.answered;
    let answered = before.iter().zip(own).map(|(a, b)| a.saturating_add(*b));
    let answered: Vec<usize> = answered.collect();
    let backends = backends(&spec, &contract, sources, environment, with_keys, &answered)?;
    let servers = server_specs(&spec, environment)?;
    let up = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(DriverError::Cancelled),
        up = ToolServers::bring_up(servers, &workspace, &guard.servers, cancel) => up,
    };
    if let Some(fault) = missing_server(&contract, &up) {
        up.servers.close().await;
        return Err(DriverError::ServerDown { run_id, fault });
    }
    let mut servers = up.servers;
    let tools_changed = servers.expect_pins(pins_of(&contract));
    let Unfinished {
        at_ms,
        head,
        session,
        ..
    } = reopened.unfinished;
    Ok(Prepared {
        backends,
        contract,
        counter,
        redactor,
        run_id,
        servers,
        start: Start::Again(Box::new(Resumption {
            at_ms,
            head,
            lock: reopened.lock,
            session,
            started_unix_ms: reopened.started.started_unix_ms,
            tools_changed,
        })),
    })
}

/// The contract's document without what is derived from the rest of it.
fn terms_text(contract: &ExecutionContract) -> String {
    // Terms serialise as they are stored; a document without text would differ as a whole.
    serde_json::to_string(&**contract).unwrap_or_default()
}

/// The blobs of the store.
pub(super) struct Blobs<R>(pub(super) R);

impl<R: Borrow<StoreReader>> BlobSource for Blobs<R> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.borrow().blob(hash).ok().flatten()
    }
}
