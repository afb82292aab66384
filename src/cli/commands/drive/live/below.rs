//! The runs below a run that is followed: those of its agents, or of the steps of a workflow.

use std::path::Path;

use tokio::sync::mpsc;

use super::{Live, Snapshots};
use crate::message::RunId;
use crate::session::Control;
use crate::view::RunView;

impl Live {
    /// The runs below it, without the first `known` of them.
    pub(in crate::cli) fn below_since(&self, known: usize) -> Vec<(Self, mpsc::Sender<Control>)> {
        let following = self.lock();
        following.below.get(known..).unwrap_or_default().to_vec()
    }

    /// A run below it: a person watches this one alone, and its lines of accounting go where those of this one go.
    pub(in crate::cli) fn follow_below(&self, control: mpsc::Sender<Control>) -> Self {
        let mut following = self.lock();
        let accounts = following.billing.as_ref().map(|(file, _)| file.clone());
        let child = Self::following(
            following.screen.quieted(),
            false,
            accounts.map(|accounts| (accounts, 0)),
        );
        let view = following.view.as_ref();
        {
            let mut of_child = child.lock();
            of_child.origin = view.and_then(RunView::origin).cloned();
            of_child.step_path = view.and_then(RunView::step_path).map(str::to_owned);
            let first = view.and_then(RunView::run_id);
            let snapshots = following.snapshots.as_ref();
            of_child.snapshots = snapshots.map(|snapshots| snapshots.of_tree(first));
        }
        following.below.push((child.clone(), control));
        child
    }

    /// The run of a step of a workflow: its lines of accounting go where those of this one go. `first` is the workflow, `path` its id
    /// and that of the step.
    pub(in crate::cli) fn follow_step(&self, first: RunId, path: String) -> Self {
        let following = self.lock();
        let accounts = following.billing.as_ref().map(|(file, _)| file.clone());
        // A person watches the workflow, and this run only where every step of every run is asked for.
        let (screen, verbose) = if following.verbose {
            (following.screen, true)
        } else {
            (following.screen.quieted(), false)
        };
        let accounts = accounts.map(|accounts| (accounts, 0));
        let step = Self::following(screen, verbose, accounts);
        {
            let mut of_step = step.lock();
            of_step.origin = Some(first);
            of_step.step_path = Some(path);
            of_step.snapshots.clone_from(&following.snapshots);
        }
        step
    }

    /// Keeps snapshots of the run of a step into the folder that the layers of its contract name, unless the caller names one.
    pub(in crate::cli) fn keeps_snapshots_in(&self, folder: &Path, store: &Path) {
        let mut following = self.lock();
        let snapshots = &mut following.snapshots;
        snapshots.get_or_insert_with(|| Snapshots::within(folder, store));
    }
}
