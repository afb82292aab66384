//! What the checkpoints that a run has so far amount to, for the one of its seal.

use super::column::Columns;
use super::{RunHandle, Store, StoreError};
use monolith_core::transcript::{EarlierCheckpoints, Note};

impl Store {
    /// What the checkpoints that are kept of a run amount to, as the checkpoint of its seal has to state it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where one of them is no note, and the faults of the file.
    pub(crate) async fn earlier_checkpoints(
        &self,
        run: &RunHandle,
    ) -> Result<EarlierCheckpoints, StoreError> {
        let path = self.path().to_owned();
        let (key, run_id) = (run.key, run.run_id.clone());
        self.submit(false, move |conn| {
            let of = format!("run {run_id}");
            let sql = |fault: rusqlite::Error| StoreError::from_sql(&path, &fault);
            let mut select = conn
                .prepare_cached("SELECT note FROM checkpoints WHERE run = ?1 ORDER BY entries")
                .map_err(sql)?;
            let mut rows = select.query([key]).map_err(sql)?;
            let mut earlier = EarlierCheckpoints::default();
            while let Some(row) = rows.next().map_err(sql)? {
                let columns = Columns {
                    path: &path,
                    row,
                    table: "checkpoints",
                    of: &of,
                };
                let stored = columns.text(0, "note")?;
                let note: Note = stored
                    .parse()
                    .map_err(|fault| columns.refuse("note", "a signed note", fault))?;
                earlier.add(note.text());
            }
            Ok(earlier)
        })
        .await
    }
}
