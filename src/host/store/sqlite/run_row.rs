//! The rows of the table `runs`.

use std::path::Path;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::column::Columns;
use crate::store::{DamagedRow, RunRow, StoreError};
use monolith_core::message::{MAX_EXACT, RunId};

/// The kinds of what has a row.
pub(super) const RUN: &str = "run";
pub(super) const WORKFLOW: &str = "workflow";

/// The columns that [`run_row`] reads.
pub(super) const ROW: &str = "SELECT run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code, id, kind \
                   FROM runs";

/// The row that a [`ROW`] query stands at.
pub(super) fn run_row(row: &Row<'_>, path: &Path) -> Result<RunRow, StoreError> {
    let of = match (row.get_ref(0), row.get_ref(9)) {
        (Ok(ValueRef::Text(name)), _) => format!("run {:?}", String::from_utf8_lossy(name)),
        (_, Ok(ValueRef::Integer(key))) => format!("id {key}"),
        _ => "a row without a name".to_owned(),
    };
    let columns = Columns {
        path,
        row,
        table: "runs",
        of: &of,
    };
    let outcome = match (
        columns.text_or_null(7, "class")?,
        columns.text_or_null(8, "code")?,
    ) {
        (Some(class), Some(code)) => Some((class, code)),
        (None, None) => None,
        (Some(_), None) => return Err(columns.refuse("code", "a code beside the class", "null")),
        (None, Some(_)) => return Err(columns.refuse("class", "a class beside the code", "null")),
    };
    let created_unix_ms = columns.count(2, "created_unix_ms")?;
    if created_unix_ms > MAX_EXACT {
        let expected = format_args!("at most {MAX_EXACT}");
        return Err(columns.refuse("created_unix_ms", expected, created_unix_ms));
    }
    let head_seq = columns.integer(5, "head_seq")?;
    let length = u64::try_from(head_seq.saturating_add(1));
    let run_id = RunId::try_from(columns.text(0, "run_id")?);
    let kind = columns.text(10, "kind")?;
    let workflow = match kind.as_str() {
        RUN => false,
        WORKFLOW => true,
        _ => return Err(columns.refuse("kind", "run or workflow", format_args!("{kind:?}"))),
    };
    Ok(RunRow {
        workflow,
        run_id: run_id.map_err(|fault| columns.refuse("run_id", "the name of a run", fault))?,
        contract_hash: columns.digest(1, "contract_hash")?,
        created_unix_ms,
        epoch: columns.integer(3, "epoch")?,
        owner: columns.text(4, "owner")?,
        length: length.map_err(|_| columns.refuse("head_seq", "-1 or more", head_seq))?,
        head: columns.digest(6, "head_hash")?,
        outcome,
    })
}

pub(super) fn damaged(row: &Row<'_>, fault: StoreError) -> DamagedRow {
    let name = row.get::<_, String>(0);
    let number = || row.get::<_, i64>(9).unwrap_or_default();
    let run = name.unwrap_or_else(|_| format!("in row {}", number()));
    DamagedRow { run, fault }
}
