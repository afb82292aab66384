use crate::cli::context::error::CliError;
use crate::cli::context::run_status::RunStatus;
use crate::cli::context::source::Source;
use crate::store::Lineage;
use crate::view::RunView;

use crate::cli::ui::entry_row::EntryRow;

/// A whole run as `show` lays it out, without the texts of its entries.
pub(in crate::cli) struct ShownRun {
    /// The run that it was forked from, where the store has both.
    pub(in crate::cli) lineage: Option<Lineage>,
    pub(in crate::cli) rows: Vec<EntryRow>,
    /// How it stands, where it is in the store and has no end.
    pub(in crate::cli) status: Option<RunStatus>,
    pub(in crate::cli) view: RunView,
}

impl ShownRun {
    /// Reads a run, one page of entries at a time.
    pub(in crate::cli) fn read(mut source: Source) -> Result<Self, CliError> {
        let lineage = source.lineage()?;
        let status = source.status()?;
        let mut rows = Vec::new();
        let view = source.each_step(|view, entry, step| {
            rows.push(EntryRow::of(view, entry.entry(), step));
            Ok(())
        })?;
        Ok(Self {
            lineage,
            rows,
            status,
            view,
        })
    }
}
