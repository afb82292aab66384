//! What a run is created from.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::run::{stored, this_process};
use super::run_row::{RUN, WORKFLOW};
use super::{Invocation, RunHandle, StoreError};
use monolith_core::contract::{ExecutionContract, WorkflowDefinition};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::Chain;

/// A run that is to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    /// What it is bound to.
    pub binding: Binding,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub created_unix_ms: u64,
    /// What a resume needs beside the contract, where it is known.
    pub invocation: Option<Invocation>,
    /// Its name.
    pub run_id: RunId,
}

/// What a run or a workflow is bound to for good.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    /// The contract of a run.
    Contract(Arc<ExecutionContract>),
    /// The definition of a workflow.
    Workflow(Arc<WorkflowDefinition>),
}

impl Binding {
    fn hash(&self) -> Digest {
        match self {
            Self::Contract(contract) => contract.contract_hash(),
            Self::Workflow(definition) => definition.definition_hash(),
        }
    }

    fn document(&self) -> String {
        match self {
            Self::Contract(contract) => contract.canonical_text(),
            Self::Workflow(definition) => definition.canonical_text(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Contract(_) => RUN,
            Self::Workflow(_) => WORKFLOW,
        }
    }
}

impl NewRun {
    /// Writes the row of a run without entries, inside the open transaction.
    pub(super) fn insert(self, conn: &Connection, path: &Path) -> Result<RunHandle, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let run_id = self.run_id;
        let contract_hash = self.binding.hash();
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
                stored(self.created_unix_ms),
                this_process(),
                head.as_bytes(),
                self.binding.kind(),
            ])
            .map_err(sql)?;
        if made == 0 {
            return Err(StoreError::RunExists { run_id });
        }
        let key = conn.last_insert_rowid();
        insert_contract(conn, key, &self.binding.document()).map_err(sql)?;
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

/// Keeps the document of a run's contract.
pub(super) fn insert_contract(conn: &Connection, key: i64, document: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO contracts(run, document) VALUES(?1, ?2)")?
        .execute(params![key, document])?;
    Ok(())
}
