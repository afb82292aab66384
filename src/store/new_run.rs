//! What a run is created from.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::run::{stored, this_process};
use super::{Invocation, RunHandle, StoreError};
use crate::contract::ExecutionContract;
use crate::message::RunId;
use crate::transcript::Chain;

/// A run that is to be created.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its contract.
    pub contract: Arc<ExecutionContract>,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub created_unix_ms: u64,
    /// What a resume needs beside the contract, where it is known.
    pub invocation: Option<Invocation>,
    /// Its name.
    pub run_id: RunId,
}

impl NewRun {
    /// Writes the row of a run without entries, inside the open transaction.
    pub(super) fn insert(self, conn: &Connection, path: &Path) -> Result<RunHandle, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let run_id = self.run_id;
        let contract_hash = self.contract.contract_hash();
        let head = Chain::genesis(contract_hash, &run_id).head();
        let mut insert = conn
            .prepare_cached(
                "INSERT INTO runs(run_id, contract, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash) \
                 VALUES(?1, ?2, ?3, ?4, 1, ?5, -1, ?6) ON CONFLICT(run_id) DO NOTHING",
            )
            .map_err(sql)?;
        let made = insert
            .execute(params![
                run_id.as_str(),
                self.contract.canonical_text(),
                contract_hash.as_bytes(),
                stored(self.created_unix_ms),
                this_process(),
                head.as_bytes(),
            ])
            .map_err(sql)?;
        if made == 0 {
            return Err(StoreError::RunExists { run_id });
        }
        let key = conn.last_insert_rowid();
        if let Some(invocation) = self.invocation {
            invocation.insert(conn, key).map_err(sql)?;
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
}
