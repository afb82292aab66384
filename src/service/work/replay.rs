//! A success, replayed: the tree before it in a new folder, the agent's calls made again there, and the hash of what they left. A live replay
//! runs the agent again instead; nothing else asks a model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::agent::task_of;
use super::answer::Signals;
use super::common::terms_of;
use super::conflicts::{files_of, receipts_of};
use super::receipts::{FoundReceipt, find_published};
use super::run::lock;
use crate::contract_file::ContractFile;
use crate::drive::display::Quiet;
use crate::drive::follower::Follower;
use crate::drive::run::{Conduct, Start, start};
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::exit::Exit;
use crate::replay::{ReplayFile, contract_file};
use crate::service::Service;
use crate::source::Source;
use crate::verify::report::require_verified;
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::LiveScope;
use monolith_core::session::Control;
use monolith_core::work::{Capsule, Manifest, Receipt, WorkPath, first_difference};
use monolith_host::driver::{Recording, blocking, random_run_id, reissue};
use monolith_host::store::{Durability, private_folder};
use monolith_host::work_tree::{WorkTree, WorkTreeError};

/// The name of the publication that restores the tree.
const RESTORE: &str = "replay";

/// The report of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct WorkReplay {
    /// The tree hash that the replay left.
    pub actual: Digest,
    /// Number of calls that were made again.
    pub calls: u64,
    /// The first call whose result is another one, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_result: Option<String>,
    /// The tree hash that the item left.
    pub expected: Digest,
    /// The first path that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<WorkPath>,
    /// The new run of a live replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRun>,
    /// The receipt.
    pub receipt_id: String,
}

/// The run of the agent in a live replay.
#[derive(Clone, Debug, Serialize)]
pub struct LiveRun {
    /// The hash of the contract, if the agent's file has changed since the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_contract: Option<Digest>,
    /// The outcome and code of a run without success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The run.
    pub run_id: Option<RunId>,
}

impl WorkReplay {
    /// Returns the exit code: 6 if another tree was left. A live replay need not match: 1 if its run failed.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match &self.live {
            Some(live) if live.failure.is_some() => Exit::FAILED,
            Some(_) => Exit::OK,
            None if self.actual == self.expected => Exit::OK,
            None => Exit::DIVERGED,
        }
    }
}

/// The folder of a replay. It goes with it.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, ServiceError> {
        let name = format!("monolith-replay-{}", random_run_id("")?);
        let path = std::env::temp_dir().join(name);
        let made = private_folder(&path).and_then(|()| fs::create_dir(path.join("tree")));
        made.map_err(|fault| WorkFault::Receipt {
            path: path.clone(),
            reason: fault.to_string(),
        })?;
        Ok(Self(path))
    }

    fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is read-only stays in the folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The tree before an item, in a new folder.
struct Restored {
    before: Manifest,
    /// The receipts of the items that it reconciles.
    reconciled: Vec<Receipt>,
    tree: Arc<WorkTree>,
}

/// The work of an item, done again.
struct Again {
    calls: u64,
    changed_result: Option<String>,
    live: Option<LiveRun>,
}

/// Replays a success. `live` asks the model again instead of making the recorded calls. `progress` hears of each recorded call before it is
/// made.
///
/// # Errors
/// There is no such receipt, its item published nothing, its run does not verify, or something that it needs is not kept here.
pub async fn replay(
    service: &Service,
    asked: &str,
    live: bool,
    cancel: &CancellationToken,
    progress: &mut dyn FnMut(&str),
) -> Result<WorkReplay, ServiceError> {
    let FoundReceipt { receipt, work, .. } = find_published(service, asked)?;
    let published = receipt.capsule.clone();
    let published = published.filter(|_| receipt.published.is_some());
    let run = receipt.run.as_ref().map(|run| run.run_id.clone());
    let (Some(capsule), Some(run_id)) = (published, run) else {
        return Err(WorkFault::NothingPublished {
            action: "replay",
            id: receipt.id(),
        }
        .into());
    };
    require_verified(service, run_id.as_str())?;
    let folder = Folder::make()?;
    let restored = {
        let (service, receipt, root) = (service.clone(), receipt.clone(), folder.tree());
        let reconciled = work.reconciled().to_vec();
        blocking(move || restored(&service, (&receipt, reconciled.as_slice()), &root)).await?
    };
    let Restored {
        before,
        reconciled,
        tree,
    } = restored;
    let place = (&run_id, tree.path());
    // Their futures are large.
    let again = if live {
        let task = (&receipt, reconciled.as_slice());
        Box::pin(run_again(service, task, place, cancel)).await?
    } else {
        Box::pin(called_again(service, place, cancel, progress)).await?
    };
    let (scanned, of) = (receipt.clone(), Arc::clone(&tree));
    // A run that was stopped is reported with what it left.
    let has_failed = again.live.as_ref().is_some_and(|it| it.failure.is_some());
    let signals = Signals {
        stop: if has_failed {
            CancellationToken::new()
        } else {
            cancel.clone()
        },
        ..Signals::default()
    };
    let watch = signals.watch();
    let after = blocking(move || {
        // The rules that counted before the item decide what it left.
        let scan = of.scan_by(scanned.before, terms_of(&scanned.item), &watch);
        let scan = scan.map_err(|fault| match fault {
            WorkTreeError::Stopped => {
                ServiceError::from(WorkFault::Interrupted { id: scanned.id() })
            }
            fault => WorkFault::from(fault).into(),
        })?;
        let scan = scan.ok_or_else(|| none_kept(&scanned))?;
        Ok::<_, ServiceError>(scan.manifest)
    });
    let after = after.await?;
    let Capsule { changes, .. } = &capsule;
    let expected = before.with(changes);
    Ok(WorkReplay {
        actual: after.hash(),
        calls: again.calls,
        changed_result: again.changed_result,
        expected: receipt.after,
        first_difference: first_difference(&expected, &after),
        live: again.live,
        receipt_id: receipt.id(),
    })
}

fn none_kept(receipt: &Receipt) -> WorkFault {
    WorkFault::Replay {
        id: receipt.id(),
        reason: "the tree before the item is not kept here".to_owned(),
    }
}

/// Restores the tree before an item in a new folder, with the versions of the items that it reconciles.
fn restored(
    service: &Service,
    (receipt, reconciled): (&Receipt, &[String]),
    root: &Path,
) -> Result<Restored, ServiceError> {
    let refuse = |reason: String| WorkFault::Replay {
        id: receipt.id(),
        reason,
    };
    let store = service.open_store(Durability::Full)?;
    let (tree, _) = lock(service, &store, root)?;
    let before = tree.manifest(receipt.before);
    let before = before.map_err(|fault| refuse(fault.to_string()))?;
    let before = before.ok_or_else(|| none_kept(receipt))?;
    let changes = Manifest::default().changes_to(&before);
    tree.fill(RESTORE, &changes).map_err(WorkFault::from)?;
    let reconciled = receipts_of(&mut store.reader()?, reconciled)?;
    tree.put_aside(tree.path(), &files_of(&reconciled))
        .map_err(WorkFault::from)?;
    Ok(Restored {
        before,
        reconciled,
        tree: Arc::new(tree),
    })
}

/// The contract file of a run, with that folder as the workspace; and the run.
fn file_in(
    service: &Service,
    run_id: &RunId,
    workspace: &Path,
) -> Result<(ContractFile, Source), ServiceError> {
    let text = workspace.to_str().ok_or_else(|| WorkFault::Unnameable {
        path: workspace.to_owned(),
    })?;
    let asked = run_id.as_str();
    let source = service.run(asked)?;
    let terms = ReplayFile {
        changed_then: true,
        contract: None,
        sets: vec![format!("tools.workspace={}", Value::from(text))],
    };
    Ok((contract_file(service, asked, &source, terms)?, source))
}

/// Runs the agent again in that folder, with the limits and the task of its first run.
async fn run_again(
    service: &Service,
    (receipt, reconciled): (&Receipt, &[Receipt]),
    (run_id, workspace): (&RunId, &Path),
    cancel: &CancellationToken,
) -> Result<Again, ServiceError> {
    let (mut file, _) = file_in(service, run_id, workspace)?;
    let contract_hash = file.digest_of(&file.text()?)?;
    let mut spec = file.read(service)?;
    spec.task = Some(task_of(&receipt.item, reconciled, &spec));
    let spec = file.with_abilities(service, spec)?;
    let sessions = spec.sessions_dir.clone();
    let display = Box::new(Quiet);
    let durability = Durability::Full;
    let follower = Follower::accounting(service, display, sessions.as_deref(), durability)?;
    let (control, asked) = mpsc::channel(1);
    let conduct = Conduct {
        asked,
        ..Conduct::unattended(&follower)
    };
    // Its future is large.
    let mut driving = Box::pin(start(service, Start::new(file, spec), conduct));
    let mut is_stopped = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut driving => break ended,
            () = cancel.cancelled(), if !is_stopped => {
                is_stopped = true;
                // Nothing else is asked.
                drop(control.try_send(Control::Abort));
            }
        }
    };
    let ended = ended.map_err(|broken| broken.error)?;
    Ok(Again {
        calls: ended.view.requested_tools(),
        changed_result: None,
        live: Some(LiveRun {
            changed_contract: Some(contract_hash).filter(|it| *it != receipt.contract_hash),
            failure: ended.result.error,
            run_id: ended.result.run_id,
        }),
    })
}

/// Makes the calls of a run again, in that folder.
async fn called_again(
    service: &Service,
    (run_id, workspace): (&RunId, &Path),
    cancel: &CancellationToken,
    progress: &mut dyn FnMut(&str),
) -> Result<Again, ServiceError> {
    let (file, source) = file_in(service, run_id, workspace)?;
    let request = file.request(service, file.read(service)?, service.redaction_key()?);
    let recorded = Source::load(source)?;
    let recording = Recording {
        answered_before: BTreeMap::new(),
        blobs: &recorded,
        contract: recorded.contract.clone(),
        elsewhere: true,
        entries: &recorded.entries,
        open: false,
        run_id: run_id.clone(),
    };
    let scope = LiveScope {
        effects: true,
        inference: false,
        tools: true,
    };
    // Its future is large.
    let report = Box::pin(reissue(recording, request, scope, cancel, progress)).await?;
    let result = report.first_difference.as_ref();
    Ok(Again {
        calls: report.calls,
        changed_result: result.map(|it| {
            format!(
                "entry {}: {}: expected {}, got {}",
                it.seq, it.pointer, it.expected, it.actual
            )
        }),
        live: None,
    })
}
