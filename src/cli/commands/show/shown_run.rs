//! A run as `show` reads it: rows, conversation, answer and view. Does not lay it out.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::context::approval::ApprovalStatus;
use crate::cli::context::error::CliError;
use crate::cli::context::run_status::RunStatus;
use crate::cli::context::source::Source;
use crate::cli::ui::entry_row::EntryRow;
use crate::kernel::EventKind;
use crate::message::AgentMessage;
use crate::store::Lineage;
use crate::telemetry::AgentResult;
use crate::view::RunView;

/// A whole run as `show` lays it out, without the texts of its entries.
pub(in crate::cli) struct ShownRun {
    /// The run that it was forked from, where the store has both.
    pub(in crate::cli) lineage: Option<Lineage>,
    pub(in crate::cli) rows: Vec<EntryRow>,
    /// How it stands, where it is in the store and has no end.
    pub(in crate::cli) status: Option<RunStatus>,
    pub(in crate::cli) view: RunView,
    /// What the model was sent and what it answered.
    pub(in crate::cli) conversation: Vec<Arc<AgentMessage>>,
    /// How many messages the run began with.
    pub(in crate::cli) opening: usize,
    /// The answer of a run that succeeded.
    pub(in crate::cli) answer: Option<String>,
    /// How its call stands that needs an approval, where it is in the store and has no end.
    pub(in crate::cli) approval: Option<ApprovalStatus>,
    /// The folder that its tools saw, where that is known.
    pub(in crate::cli) workspace: Option<PathBuf>,
}

impl ShownRun {
    /// Reads a run, one page of entries at a time.
    pub(in crate::cli) fn read(mut source: Source) -> Result<Self, CliError> {
        let lineage = source.lineage()?;
        let status = source.status()?;
        let (mut rows, mut opening) = (Vec::new(), 0);
        let view = source.each_step(|view, entry, step| {
            let entry = entry.entry();
            rows.push(EntryRow::of(view, entry, step));
            if let Some(EventKind::RunStarted(started)) = entry.event.map(|event| &event.event) {
                opening = started.messages.len();
            }
            Ok(())
        })?;
        let run = view.machine();
        let result = run.map(|run| AgentResult::of_run(run, &view));
        let result = result.filter(|result| result.success);
        let conversation = run.map_or_else(Vec::new, |run| run.conversation().to_vec());
        Ok(Self {
            lineage,
            rows,
            answer: result.map(|result| result.report_text().to_owned()),
            conversation,
            opening,
            status,
            view,
            approval: None,
            workspace: None,
        })
    }
}
