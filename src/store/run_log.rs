use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::column::Columns;
use super::log_name::name;
use super::schema::{missing_table, refusal};
use super::{STORE_FORMAT, StoreError, StoreReader};
use crate::kernel::Outcome;
use crate::message::{Digest, RunId};
use crate::transcript::{
    Deletion, FirstBad, Flaw, FlawKind, LogLeaf, Note, Pin, PublicKey, TreeHash, TreeHead, Trust,
    VerifyCheck, check_tree, leaf_hash, signers,
};

/// The log of runs as it stands: a leaf for every sealed run, in the order of the seals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLog {
    /// Its name, random, for good.
    pub name: String,
    /// The hashes of its leaves.
    pub leaves: Vec<TreeHash>,
}

/// What a verification of the log of runs found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The name of the log.
    pub log: String,
    /// How many runs are in it.
    pub size: usize,
    /// The checks that came to a verdict, in their order.
    pub checks: Vec<VerifyCheck>,
    /// What was not checked, each with its reason.
    pub not_checked: Vec<String>,
    /// The first flaw, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<FirstBad>,
}

impl RunLog {
    /// Its head.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        TreeHead::over(&self.name, &self.leaves)
    }
}

impl StoreReader {
    /// The log of runs.
    pub fn run_log(&self) -> Result<RunLog, StoreError> {
        let read = || {
            // One snapshot for both.
            let tx = self.conn.unchecked_transaction()?;
            Ok((name(&tx)?, leaf_hashes(&tx)?))
        };
        let (name, leaves) = read().map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        // The name is part of what is signed: no other text may get there.
        match name {
            Ok(name) => Ok(RunLog { name, leaves }),
            Err(flaw) => Err(StoreError::Corrupt {
                path: self.path.clone(),
                reason: format!("table log_name: {flaw}"),
            }),
        }
    }

    /// The number and the text of the leaf of that run; none before its seal.
    pub fn log_leaf(&self, run_id: &RunId) -> Result<Option<(u64, String)>, StoreError> {
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT idx, leaf FROM log_leaves WHERE run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .map_err(sql)?;
        let mut rows = select.query([run_id.as_str()]).map_err(sql)?;
        let Some(row) = rows.next().map_err(sql)? else {
            return Ok(None);
        };
        let columns = Columns {
            path: &self.path,
            row,
            table: "log_leaves",
            of: &format!("run {run_id}"),
        };
        Ok(Some((columns.count(0, "idx")?, columns.text(1, "leaf")?)))
    }

    /// Holds the log of runs against the runs of the store, and against heads that were noted earlier.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read at all. What it holds is judged in the report.
    pub fn verify_log(&self, trust: &Trust) -> Result<LogReport, StoreError> {
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
        let judged = judge_leaves(&tx, trust).map_err(sql)?;
        let (deleted, judged) = match judged {
            Ok(deleted) => (deleted, Ok(())),
            Err(flaw) => (Vec::new(), Err(flaw)),
        };
        let detail = format!("each of a run as it is kept: {}", report.size);
        report.take("leaves", "log_leaves", judged, detail);
        for told in deleted {
            report.take("deletions", "deletions", Ok(()), told);
        }
        let judged = judge_sealed(&tx).map_err(sql)?;
        let detail = "every sealed run has its leaf".to_owned();
        report.take("runs", "runs", judged, detail);
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
                    run_id, entries, ..
                } => {
                    let judged = judge_run_pin(&tx, run_id, *entries).map_err(sql)?;
                    let detail = format!("run {run_id} has its {entries} entries or more");
                    ("pins", "runs", judged, detail)
                }
            };
            report.take(name, table, judged, detail);
        }
        Ok(report)
    }
}

impl LogReport {
    fn take(
        &mut self,
        name: &'static str,
        table: &'static str,
        judged: Result<(), Flaw>,
        detail: String,
    ) {
        let detail = match &judged {
            Ok(()) => detail,
            Err(flaw) => format!(
                "{}: expected {}, got {}",
                flaw.field, flaw.expected, flaw.actual
            ),
        };
        let ok = judged.is_ok();
        self.checks.push(VerifyCheck { name, ok, detail });
        if let (Err(flaw), None) = (judged, &self.first_bad) {
            self.first_bad = Some(FirstBad {
                seq: None,
                line: None,
                table: Some(table),
                field: flaw.field,
                expected: flaw.expected,
                actual: flaw.actual,
                kind: flaw.kind,
            });
        }
    }
}

/// What is wrong with a store that lost a table.
pub(super) fn missing(table: &str) -> Flaw {
    let expected = format!("the table {table}, which every store of format {STORE_FORMAT} has");
    Flaw::new(FlawKind::Truncated, "table", expected, "no such table")
}

/// How many sealed runs no checkpoint covers to their seal.
fn unsigned_seals(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row(
        "SELECT count(*) FROM runs r WHERE class IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM checkpoints c WHERE c.run = r.id AND c.entries = r.head_seq + 1)",
        [],
        |row| row.get(0),
    )
}

/// The hashes of the leaves, in their order.
pub(super) fn leaf_hashes(conn: &Connection) -> rusqlite::Result<Vec<TreeHash>> {
    conn.prepare_cached("SELECT CAST(coalesce(leaf, '') AS BLOB) FROM log_leaves ORDER BY idx")?
        .query_map([], |row| Ok(leaf_hash(&row.get::<_, Vec<u8>>(0)?)))?
        .collect()
}

/// Adds a leaf at the end.
pub(super) fn append_leaf(conn: &Connection, run: i64, leaf: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO log_leaves(idx, run, leaf) SELECT coalesce(max(idx) + 1, 0), ?1, ?2 FROM log_leaves",
    )?
    .execute(params![run, leaf])?;
    Ok(())
}

const SEALED: &str = "SELECT id, run_id, contract_hash, head_seq, head_hash, class, code FROM runs";

/// The leaf that a row of `runs` gives; none where it does not read as a sealed run.
fn leaf_of(row: &Row<'_>) -> Option<LogLeaf> {
    let digest = |column| row.get(column).ok().map(Digest::from_bytes);
    let (class, code): (String, String) = (row.get(5).ok()?, row.get(6).ok()?);
    let outcome = serde_json::json!({"class": class, "code": code});
    let outcome: Outcome = serde_json::from_value(outcome).ok()?;
    let head_seq: i64 = row.get(3).ok()?;
    Some(LogLeaf {
        contract_hash: digest(2)?,
        entries: u64::try_from(head_seq.checked_add(1)?).ok()?,
        head: digest(4)?,
        outcome,
        run_id: RunId::try_from(row.get::<_, String>(1).ok()?).ok()?,
    })
}

/// Whether leaves are numbered without a gap, and each is that of a run that is still there.
fn judge_leaves(conn: &Connection, trust: &Trust) -> rusqlite::Result<Result<Vec<String>, Flaw>> {
    let mut deleted = Vec::new();
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
            match judge_deletion(conn, index, &stored, trust)? {
                Ok(told) => deleted.push(told),
                Err(flaw) => return Ok(Err(flaw)),
            }
            continue;
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
    Ok(Ok(deleted))
}

/// Whether a leaf without a run is that of one that was deleted by design; who says so.
fn judge_deletion(
    conn: &Connection,
    index: i64,
    leaf: &str,
    trust: &Trust,
) -> rusqlite::Result<Result<String, Flaw>> {
    let note: Option<Vec<u8>> = conn
        .prepare_cached("SELECT CAST(note AS BLOB) FROM deletions WHERE leaf = ?1")?
        .query_row([index], |row| row.get(0))
        .optional()?;
    let Some(note) = note else {
        let got = format!("no such run, but leaf {index}: {leaf}");
        let expected = "a run of every leaf, or the signed note of its deletion";
        return Ok(Err(Flaw::new(FlawKind::Truncated, "run", expected, got)));
    };
    let note = String::from_utf8_lossy(&note).into_owned();
    let read: Option<Note> = note.parse().ok();
    let Some((note, stated)) = read
        .and_then(|note| Some((Deletion::read(&note)?, note)))
        .map(|(stated, note)| (note, stated))
    else {
        let expected = "the signed note of a deletion";
        return Ok(Err(Flaw::tampered("note", expected, note)));
    };
    let names = format!(
        "\"entries\":{},\"head\":\"{}\",",
        stated.entries, stated.head
    );
    let run = format!("\"run_id\":\"{}\"", stated.run_id);
    if !leaf.contains(&names) || !leaf.contains(&run) {
        return Ok(Err(Flaw::tampered("note", leaf, note.text())));
    }
    if trust.signature_required && signers(&trust.keys, &note, "note").is_ok_and(|by| by.is_empty())
    {
        let expected = "a deletion that a given key has signed";
        let got = "a signature by others";
        return Ok(Err(Flaw::new(FlawKind::Unsigned, "note", expected, got)));
    }
    Ok(told_by(&trust.keys, &note).map(|by| {
        let reason = if stated.reason.is_empty() {
            "no reason given".to_owned()
        } else {
            stated.reason
        };
        format!("run {}: deleted by {by}, {reason}", stated.run_id)
    }))
}

/// Who has signed a note, and whether that key is known.
fn told_by(keys: &[PublicKey], note: &Note) -> Result<String, Flaw> {
    let known = signers(keys, note, "note")?;
    if !known.is_empty() {
        return Ok(known.join(", "));
    }
    let by = note.signatures().iter();
    let by: Vec<String> = by.map(|s| format!("{}+{}", s.name, s.id)).collect();
    Ok(format!("{} (not known here)", by.join(", ")))
}

impl StoreReader {
    /// What is said of a run that was deleted: by whom, and why; none where none of that name was.
    pub(crate) fn deleted(
        &self,
        name: &str,
        keys: &[PublicKey],
    ) -> Result<Option<(String, String)>, StoreError> {
        let Some(note) = self.deletion(name)? else {
            return Ok(None);
        };
        let reason = Deletion::read(&note).map(|stated| stated.reason);
        let by = told_by(keys, &note);
        let by = by.unwrap_or_else(|_| "a signature that does not hold".to_owned());
        Ok(Some((by, reason.unwrap_or_default())))
    }
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

/// Whether a run that was noted earlier still has as many entries; that they are the same is for its own verification.
fn judge_run_pin(
    conn: &Connection,
    run_id: &RunId,
    entries: u64,
) -> rusqlite::Result<Result<(), Flaw>> {
    let head_seq: Option<i64> = conn
        .query_row(
            "SELECT head_seq FROM runs WHERE run_id = ?1",
            [run_id.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    let length = head_seq.map(|seq| u64::try_from(seq.saturating_add(1)).unwrap_or(0));
    if length.is_some_and(|length| length >= entries) {
        return Ok(Ok(()));
    }
    Ok(Err(Flaw::new(
        FlawKind::Rollback,
        "pin",
        format_args!("run {run_id} with {entries} entries, as was noted"),
        length.map_or_else(
            || "no such run".to_owned(),
            |length| format!("{length} entries"),
        ),
    )))
}
