//! The row that says how a run was asked for.

use std::path::PathBuf;

use rusqlite::{Connection, params};

use super::column::Columns;
use super::reader::SqliteReader;
use super::schema::refusal;
use crate::store::{Invocation, StoreError};
use monolith_core::message::RunId;

/// Writes the row. If a path is not UTF-8, nothing is written: the resume must then be given the file again.
pub(super) fn insert_invocation(
    invocation: &Invocation,
    conn: &Connection,
    key: i64,
) -> rusqlite::Result<()> {
    let paths = invocation
        .base_dir
        .to_str()
        .zip(invocation.contract_file.to_str());
    let Some((base_dir, contract_file)) = paths else {
        return Ok(());
    };
    let config = match invocation.config.as_ref().map(|path| path.to_str()) {
        Some(None) => return Ok(()),
        found => found.flatten(),
    };
    // What has no JSON text is a path that is not UTF-8: a resume asks then.
    let files = invocation.files.as_ref();
    let files = files.and_then(|files| serde_json::to_string(files).ok());
    // A list of strings always has a JSON text.
    let sets = serde_json::to_string(&invocation.sets).unwrap_or_default();
    conn.prepare_cached(
        "INSERT INTO invocations(run, base_dir, contract_file, config, sets, files) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![key, base_dir, contract_file, config, sets, files])?;
    Ok(())
}

impl SqliteReader {
    /// Returns the recorded invocation of that run.
    pub(super) fn invocation(&self, run_id: &RunId) -> Result<Option<Invocation>, StoreError> {
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT base_dir, contract_file, config, sets, files FROM invocations \
                 WHERE run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .map_err(sql)?;
        let mut rows = select.query([run_id.as_str()]).map_err(sql)?;
        let Some(row) = rows.next().map_err(sql)? else {
            return Ok(None);
        };
        let columns = Columns {
            path: &self.path,
            row,
            table: "invocations",
            of: &format!("run {run_id}"),
        };
        let sets = columns.text(3, "sets")?;
        let sets = serde_json::from_str(&sets)
            .map_err(|fault| columns.refuse("sets", "a list of texts", fault))?;
        let files = columns.text_or_null(4, "files")?;
        let files = files.map(|files| serde_json::from_str(&files)).transpose();
        let files =
            files.map_err(|fault| columns.refuse("files", "a list of trusted files", fault))?;
        Ok(Some(Invocation {
            config: columns.text_or_null(2, "config")?.map(PathBuf::from),
            base_dir: columns.text(0, "base_dir")?.into(),
            contract_file: columns.text(1, "contract_file")?.into(),
            files,
            sets,
        }))
    }
}
