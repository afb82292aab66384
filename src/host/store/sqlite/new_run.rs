//! The rows of a run that is created.

use std::path::Path;

use rusqlite::{Connection, params};

use super::column::stored;
use super::invocation::insert_invocation;
use super::run_row::{RUN, WORKFLOW};
use crate::store::StoreError;
use crate::store::new_run::NewRun;
use crate::store::run::{RunHandle, this_process};
use monolith_core::transcript::Chain;

/// Writes the row of a run without entries, inside the open transaction.
pub(super) fn insert_run(
    new: NewRun,
    conn: &Connection,
    path: &Path,
) -> Result<RunHandle, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let run_id = new.run_id;
    let contract_hash = new.binding.hash();
    let kind = if new.binding.is_workflow() {
        WORKFLOW
    } else {
        RUN
    };
    let head = Chain::genesis(contract_hash, &run_id).head();
    let mut insert = conn
        .prepare_cached(
            "INSERT INTO runs(run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, kind) \
             VALUES(?1, ?2, ?3, 1, ?4, -1, ?5, ?6) ON CONFLICT(run_id) DO NOTHING",
        )
        .map_err(sql)?;
    let made = insert
        .execute(params![
            run_id.as_str(),
            contract_hash.as_bytes(),
            stored(new.created_unix_ms),
            this_process(),
            head.as_bytes(),
            kind,
        ])
        .map_err(sql)?;
    if made == 0 {
        return Err(StoreError::RunExists { run_id });
    }
    let key = conn.last_insert_rowid();
    insert_contract(conn, key, &new.binding.document()).map_err(sql)?;
    if let Some(invocation) = new.invocation {
        insert_invocation(&invocation, conn, key).map_err(sql)?;
    }
    Ok(RunHandle {
        contract_hash,
        epoch: 1,
        head,
        key,
        length: 0,
        run_id,
    })
}

/// Keeps the document of a run's contract.
pub(super) fn insert_contract(conn: &Connection, key: i64, document: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO contracts(run, document) VALUES(?1, ?2)")?
        .execute(params![key, document])?;
    Ok(())
}
