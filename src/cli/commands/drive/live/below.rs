//! The runs below a run that is followed: those of its agents, or of the steps of a workflow.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::{Following, Live, Snapshots};
use monolith_core::message::RunId;
use monolith_core::session::Control;
use monolith_core::view::RunView;

impl Following {
    fn add_below(&mut self, run: &Live, control: mpsc::Sender<Control>) {
        self.below.retain(|(run, _)| run.strong_count() > 0);
        self.below.push((Arc::downgrade(&run.0), control));
    }

    /// One below: a person watches the first run, and this one only where every step of every run is asked for.
    fn one_below(&self) -> Live {
        let (screen, verbose) = if self.verbose {
            (self.screen, true)
        } else {
            (self.screen.quieted(), false)
        };
        let below = Live::following(screen, verbose, None);
        below.lock().is_below = true;
        below
    }
}

impl Live {
    /// The runs below it that are under way.
    pub(crate) fn runs_below(&self) -> Vec<(Self, mpsc::Sender<Control>)> {
        let following = self.lock();
        let below = following.below.iter();
        let below =
            below.filter_map(|(run, control)| Some((Self(run.upgrade()?), control.clone())));
        below.collect()
    }

    /// Whether both follow the same run.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A run below it: its lines of accounting go where those of this one go.
    pub(crate) fn follow_below(&self, control: mpsc::Sender<Control>) -> Self {
        let mut following = self.lock();
        let accounts = following.billing.as_ref().map(|(file, _)| file.clone());
        let child = following.one_below();
        let view = following.view.as_ref();
        {
            let mut of_child = child.lock();
            of_child.billing = accounts.map(|accounts| (accounts, 0));
            of_child.origin = view.and_then(RunView::origin).cloned();
            of_child.step_path = view.and_then(RunView::step_path).map(str::to_owned);
            let first = view.and_then(RunView::run_id);
            let snapshots = following.snapshots.as_ref();
            of_child.snapshots = snapshots.map(|snapshots| snapshots.of_tree(first));
        }
        following.add_below(&child, control);
        child
    }

    /// The run of a step of a workflow: its lines of accounting go where those of this one go. `first` is the workflow, `path` its id
    /// and that of the step.
    pub(crate) fn follow_step(
        &self,
        first: RunId,
        path: String,
        control: mpsc::Sender<Control>,
    ) -> Self {
        let mut following = self.lock();
        let accounts = following.billing.as_ref().map(|(file, _)| file.clone());
        let step = following.one_below();
        {
            let mut of_step = step.lock();
            of_step.billing = accounts.map(|accounts| (accounts, 0));
            of_step.origin = Some(first);
            of_step.step_path = Some(path);
            of_step.snapshots.clone_from(&following.snapshots);
        }
        following.add_below(&step, control);
        step
    }

    /// Keeps snapshots of the run of a step into the folder that the layers of its contract name, unless the caller names one.
    pub(crate) fn keeps_snapshots_in(&self, folder: &Path, store: &Path) {
        let mut following = self.lock();
        let snapshots = &mut following.snapshots;
        snapshots.get_or_insert_with(|| Snapshots::within(folder, store));
    }
}
