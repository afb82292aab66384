use crate::cli::error::CliError;
use crate::cli::recorded::Source;
use crate::cli::standing::Standing;
use crate::store::Lineage;
use crate::view::RunView;

use super::entry_row::EntryRow;

/// A whole run as `show` lays it out, without the texts of its entries.
pub(super) struct ShownRun {
    /// The run that it was forked from, where the store has both.
    pub(super) lineage: Option<Lineage>,
    pub(super) rows: Vec<EntryRow>,
    /// How it stands, where it is in the store and has no end.
    pub(super) standing: Option<Standing>,
    pub(super) view: RunView,
}

impl ShownRun {
    /// Reads a run, one page of entries at a time.
    pub(super) fn read(mut source: Source) -> Result<Self, CliError> {
        let lineage = source.lineage()?;
        let standing = source.standing()?;
        let mut rows = Vec::new();
        let view = source.each_step(|view, entry, step| {
            rows.push(EntryRow::of(view, entry.entry(), step));
            Ok(())
        })?;
        Ok(Self {
            lineage,
            rows,
            standing,
            view,
        })
    }
}
