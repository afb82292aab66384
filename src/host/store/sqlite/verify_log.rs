//! The log of runs, checked against the runs of the store, the notes of deleted ones, and heads that were noted earlier.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Deserialize;

use super::deletions;
use super::reader::SqliteReader;
use super::run_log::{leaf_hashes, missing};
use super::schema::{missing_table, name};
use crate::store::run::IMPORTED;
use crate::store::{LogReport, StoreError};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Flaw, FlawKind, LogLeaf, Pin, SealedOutcome, Trust, check_tree};

impl SqliteReader {
    /// Holds the log of runs against the runs of the store, and against heads that were noted earlier.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read at all. What it holds is judged in the report.
    pub(super) fn verify_log(&self, trust: &Trust) -> Result<LogReport, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        let tx = self.conn.unchecked_transaction().map_err(sql)?;
        let mut report = LogReport {
            log: String::new(),
            size: 0,
            checks: Vec::new(),
            not_checked: vec!["entries: what the runs hold; monolith verify RUN".to_owned()],
            first_bad: None,
        };
        if let Some(table) = missing_table(&tx).map_err(sql)? {
            report.take("schema", table, Err(missing(table)), String::new());
            return Ok(report);
        }
        match name(&tx).map_err(sql)? {
            Ok(name) => report.log = name,
            Err(flaw) => report.take("name", "log_name", Err(flaw), String::new()),
        }
        let leaves = leaf_hashes(&tx).map_err(sql)?;
        report.size = leaves.len();
        let judged = judge_leaves(&tx).map_err(sql)?;
        let detail = format!("each of a run as it is kept: {}", report.size);
        report.take("leaves", "log_leaves", judged, detail);
        let judged = deletions::judge(&tx, &report.log, trust).map_err(sql)?;
        report.take_deletions(judged);
        let judged = judge_sealed(&tx).map_err(sql)?;
        let detail = "every sealed run has its leaf".to_owned();
        report.take("runs", "runs", judged, detail);
        match judge_receipts(&tx).map_err(sql)? {
            Ok(0) => {}
            judged => {
                let detail = "each of an item of this store names the one before it".to_owned();
                report.take("receipts", "log_leaves", judged.map(|_| ()), detail);
            }
        }
        let unsigned = unsigned_seals(&tx).map_err(sql)?;
        if unsigned > 0 {
            report.not_checked.push(format!(
                "signatures: sealed runs without a checkpoint at their seal, not signed or the checkpoint removed: {unsigned}"
            ));
        }
        if trust.pins.is_empty() {
            let why =
                "pinned heads: none was given, so an older state or a removed run can go unnoticed";
            report.not_checked.push(why.to_owned());
        }
        if let Err(flaw) = trust.check_pins() {
            report.take("pins", "log_leaves", Err(flaw), String::new());
        }
        for pin in &trust.pins {
            let (name, table, judged, detail) = match pin {
                Pin::Log { head, .. } => {
                    let log = Some(report.log.as_str());
                    let detail = format!("the first {} runs are those that were noted", head.size);
                    ("pins", "log_leaves", check_tree(head, log, &leaves), detail)
                }
                Pin::Run {
                    run_id,
                    entries,
                    head,
                    ..
                } => {
                    let noted = (*entries, *head);
                    let judged = judge_run_pin(&tx, trust, run_id, noted).map_err(sql)?;
                    match judged {
                        Ok(detail) => ("pins", "runs", Ok(()), detail),
                        Err(flaw) => ("pins", "runs", Err(flaw), String::new()),
                    }
                }
            };
            report.take(name, table, judged, detail);
        }
        Ok(report)
    }
}

/// Counts the sealed runs that no checkpoint covers to their seal.
fn unsigned_seals(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row(
        "SELECT count(*) FROM runs r WHERE class IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM checkpoints c WHERE c.run = r.id AND c.entries = r.head_seq + 1)",
        [],
        |row| row.get(0),
    )
}

/// The row of a run, with the receipt of a work item: the one of its blobs that its leaf names.
const SEALED: &str = "SELECT id, run_id, contract_hash, head_seq, head_hash, class, code, \
    CASE WHEN kind = 'work' THEN (SELECT b.hash FROM run_blobs b JOIN log_leaves l ON l.run = b.run \
    WHERE b.run = runs.id AND instr(l.leaf, '\"receipt\":\"' || lower(hex(b.hash)) || '\"') > 0) END FROM runs";

/// The leaf that a row of `runs` gives; `None` if it does not read as a sealed run.
fn leaf_of(row: &Row<'_>) -> Option<LogLeaf> {
    let digest = |column| row.get(column).ok().map(Digest::from_bytes);
    let (class, code): (String, String) = (row.get(5).ok()?, row.get(6).ok()?);
    let outcome = serde_json::json!({"class": class, "code": code});
    let outcome: SealedOutcome = serde_json::from_value(outcome).ok()?;
    let head_seq: i64 = row.get(3).ok()?;
    let receipt: Option<[u8; 32]> = row.get(7).ok()?;
    Some(LogLeaf {
        contract_hash: digest(2)?,
        entries: u64::try_from(head_seq.checked_add(1)?).ok()?,
        head: digest(4)?,
        outcome,
        receipt: receipt.map(Digest::from_bytes),
        run_id: RunId::try_from(row.get::<_, String>(1).ok()?).ok()?,
    })
}

/// Checks that leaves are numbered without a gap, and that each belongs to a run that still exists or was deleted.
fn judge_leaves(conn: &Connection) -> rusqlite::Result<Result<(), Flaw>> {
    let mut deletion = conn.prepare("SELECT 1 FROM deletions WHERE leaf = ?1")?;
    let mut leaves = conn.prepare(
        "SELECT idx, run, CAST(coalesce(leaf, '') AS BLOB) FROM log_leaves ORDER BY idx",
    )?;
    let mut run = conn.prepare(&format!("{SEALED} WHERE id = ?1"))?;
    let mut rows = leaves.query([])?;
    let mut next = 0_i64;
    while let Some(row) = rows.next()? {
        let index: i64 = row.get(0)?;
        if index != next {
            return Ok(Err(Flaw::tampered("idx", next, index)));
        }
        next = next.saturating_add(1);
        let stored: Vec<u8> = row.get(2)?;
        let stored = String::from_utf8_lossy(&stored);
        let Some(key) = row.get::<_, Option<i64>>(1)? else {
            // What its note says is judged by itself.
            if deletion.exists([index])? {
                continue;
            }
            let got = format!("no such run, but leaf {index}: {stored}");
            let expected = "a run of every leaf, or the signed note of its deletion";
            return Ok(Err(Flaw::new(FlawKind::Truncated, "run", expected, got)));
        };
        let kept = run.query_row([key], |row| Ok(leaf_of(row)));
        let Some(kept) = kept.optional()? else {
            let got = format!("no such run, but leaf {index}: {stored}");
            let flaw = Flaw::new(FlawKind::Truncated, "run", "a run of every leaf", got);
            return Ok(Err(flaw));
        };
        let kept = kept.map_or_else(
            || "a row that is no sealed run".to_owned(),
            |kept| kept.text(),
        );
        if kept != stored {
            let flaw = Flaw::tampered("leaf", kept, format_args!("leaf {index}: {stored}"));
            return Ok(Err(flaw));
        }
    }
    Ok(Ok(()))
}

/// The place of a receipt as it states it.
#[derive(Deserialize)]
struct StatedPlace {
    count: u64,
    #[serde(default)]
    previous: Option<Digest>,
}

/// Checks that each receipt names the one before it in the log and counts them; the number of receipts. An imported one states its place
/// in another store.
fn judge_receipts(conn: &Connection) -> rusqlite::Result<Result<u64, Flaw>> {
    let mut select = conn.prepare(
        "SELECT CAST(l.leaf AS BLOB), CASE WHEN r.owner <> ?1 THEN CAST(x.bytes AS BLOB) END FROM log_leaves l \
         LEFT JOIN runs r ON r.id = l.run LEFT JOIN run_blobs b ON b.run = r.id \
         AND instr(l.leaf, '\"receipt\":\"' || lower(hex(b.hash)) || '\"') > 0 LEFT JOIN blobs x ON x.hash = b.hash \
         WHERE instr(l.leaf, ',\"receipt\":\"') > 0 ORDER BY l.idx",
    )?;
    let mut rows = select.query([IMPORTED])?;
    let (mut previous, mut count) = (None, 0_u64);
    while let Some(row) = rows.next()? {
        let leaf: Vec<u8> = row.get(0)?;
        let leaf = LogLeaf::decode(&String::from_utf8_lossy(&leaf));
        let receipt = leaf.ok().and_then(|leaf| leaf.receipt);
        count = count.saturating_add(1);
        if let Some(bytes) = row.get::<_, Option<Vec<u8>>>(1)? {
            let stated: Option<StatedPlace> = serde_json::from_slice(&bytes).ok();
            let is_here = stated.is_some_and(|at| (at.count, at.previous) == (count, previous));
            if !is_here || receipt != Some(Digest::of(&bytes)) {
                let before = previous.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
                let expected = format!("receipt {count} of the log, after {before}");
                let got = String::from_utf8_lossy(&bytes).into_owned();
                return Ok(Err(Flaw::tampered("receipt", expected, got)));
            }
        }
        previous = receipt;
    }
    Ok(Ok(count))
}

fn judge_sealed(conn: &Connection) -> rusqlite::Result<Result<(), Flaw>> {
    let lacking: Option<Vec<u8>> = conn
        .query_row(
            "SELECT CAST(run_id AS BLOB) FROM runs WHERE class IS NOT NULL AND id NOT IN (SELECT run FROM log_leaves WHERE run IS NOT NULL) LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(lacking.map_or(Ok(()), |run_id| {
        let run_id = String::from_utf8_lossy(&run_id);
        let got = format!("none of run {run_id}");
        Err(Flaw::new(
            FlawKind::Truncated,
            "leaf",
            "a leaf of every sealed run",
            got,
        ))
    }))
}

/// Checks that a run noted earlier still has as many entries and that head, or was deleted with it; in words. The run's own
/// verification checks that the entry of the head matches its hash.
fn judge_run_pin(
    conn: &Connection,
    trust: &Trust,
    run_id: &RunId,
    noted: (u64, Digest),
) -> rusqlite::Result<Result<String, Flaw>> {
    let (entries, head) = noted;
    let expected = format!("run {run_id} with {entries} entries, as was noted");
    let rollback = |length: u64| {
        let got = format!("{length} entries");
        Flaw::new(FlawKind::Rollback, "pin", &expected, got)
    };
    let there: Option<(i64, Option<Vec<u8>>)> = conn
        .query_row(
            "SELECT head_seq, (SELECT CAST(hash AS BLOB) FROM entries WHERE run = runs.id AND seq = ?2) FROM runs WHERE run_id = ?1",
            (
                run_id.as_str(),
                i64::try_from(entries).unwrap_or(i64::MAX).saturating_sub(1),
            ),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let other = match there {
        None => None,
        Some((seq, hash)) => {
            let length = u64::try_from(seq.saturating_add(1)).unwrap_or(0);
            let is_noted = hash.as_deref() == Some(head.as_bytes().as_slice());
            if length >= entries && (is_noted || entries == 0) {
                return Ok(Ok(format!(
                    "run {run_id} has its {entries} entries or more"
                )));
            }
            Some(if length < entries {
                rollback(length)
            } else {
                Flaw::tampered("pin", head, "another entry there")
            })
        }
    };
    // The run of that name may be a later one.
    let deleted = deletions::judge_pinned(conn, trust, run_id, noted)?;
    Ok(deleted.map_err(|flaw| other.unwrap_or(flaw)))
}
