//! The receipt of an item: its end with the evidence for it, in canonical JSON. Signs nothing and keeps nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AgentEnd, Capsule, Denial, PathChange, TestEnd, TreeNode, Work, WorkEnd, WorkItem, WorkPath,
    WorkStatus, admit,
};
use crate::contract::RECEIPT_FORMAT;
use crate::message::{Digest, RunId};

/// The content of RECEIPT.json. It is written for every end of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The tree hash afterwards: that of the snapshot with the item's changes, or of the snapshot where nothing was published.
    pub after: Digest,
    /// The created and modified files of a success.
    pub artifacts: BTreeMap<WorkPath, Artifact>,
    /// The tree hash before.
    pub before: Digest,
    /// The changes of the attempt; none if it did not come so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<Capsule>,
    /// The contract of the agent.
    pub contract_hash: Digest,
    /// Number of receipts so far, this one included.
    pub count: u64,
    /// The end.
    pub end: WorkEnd,
    /// Wall-clock time of the end, in milliseconds since 1970-01-01 UTC.
    pub finished_unix_ms: u64,
    /// [`RECEIPT_FORMAT`].
    pub format: String,
    /// The item, its defaults filled in.
    pub item: WorkItem,
    /// Figures of the attempt.
    pub metrics: Metrics,
    /// The hash of the receipt before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Digest>,
    /// The tree hash of the work tree after publishing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Digest>,
    /// The run of the agent, and its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<AgentEnd>,
    /// Wall-clock time of the start, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestEnd>,
    /// The program that wrote it, with its version.
    pub toolchain: String,
    /// The hash of the last entry of the item's transcript.
    pub work_head: Digest,
    /// The name of this attempt at the item.
    pub work_id: RunId,
}

/// The hashes of one file or link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// BLAKE3 of the content, or of a link's target.
    pub blake3: Digest,
    /// SHA-256 of the same bytes. Lower-case hex, 64 characters.
    pub sha256: String,
}

/// The figures of an attempt (004 "Metrics").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Milliseconds from the start to the end.
    pub execution_time_ms: u64,
    /// Tool calls.
    pub tool_ops_count: u64,
    /// State changes.
    pub delta_size: u64,
    /// Files touched.
    pub files_touched: u64,
    /// Passed tests, where their output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_passed: Option<u64>,
    /// Failed tests, where their output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_failed: Option<u64>,
}

/// The facts of a receipt that the machine does not know and its host does.
#[derive(Clone, Debug)]
pub struct ReceiptFacts {
    /// Wall-clock time of the end.
    pub finished_unix_ms: u64,
    /// The tree hash of the work tree, for an item that ended before its snapshot.
    pub present: Digest,
    /// SHA-256 of each file and link that the item created or modified. Lower-case hex.
    pub sha256: BTreeMap<WorkPath, String>,
    /// The program, with its version.
    pub toolchain: String,
}

/// The place of a receipt among those of its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptPlace {
    /// The hash of the receipt before this one, and its count.
    pub previous: Option<(Digest, u64)>,
    /// The hash of the last entry of the item's transcript.
    pub work_head: Digest,
}

/// The reason that bytes are no receipt, or that a receipt contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// The bytes are no receipt.
    #[error("not a receipt: {0}")]
    Syntax(String),
    /// The receipt is of another format.
    #[error(
        "receipt format {got:?} is not {RECEIPT_FORMAT:?}; use a version of monolith that knows it"
    )]
    Format {
        /// Its format.
        got: String,
    },
    /// The bytes are not the canonical ones, so another hash was signed.
    #[error("the receipt is not in canonical JSON (RFC 8785)")]
    Form,
    /// The hashes of an artifact are missing.
    #[error("no SHA-256 of {path}")]
    Hash {
        /// The artifact.
        path: WorkPath,
    },
    /// A part contradicts another one.
    #[error("the receipt contradicts itself: {0}")]
    Contradiction(&'static str),
}

impl Receipt {
    /// The receipt of an ended item; none before its end.
    ///
    /// # Errors
    /// [`ReceiptError::Hash`] where `facts` lacks the hash of a created or modified file.
    pub fn of_work(
        work: &Work,
        facts: &ReceiptFacts,
        place: &ReceiptPlace,
    ) -> Result<Option<Self>, ReceiptError> {
        let Some(end) = work.end() else {
            return Ok(None);
        };
        let started = work.started();
        let before = work.before().unwrap_or(facts.present);
        let published = work.capsule().filter(|_| work.published().is_some());
        let changes = published.map_or(&[][..], |capsule| capsule.changes.as_slice());
        let mut artifacts = BTreeMap::new();
        for (path, content) in written(changes) {
            let sha256 = facts.sha256.get(path).cloned();
            let sha256 = sha256.ok_or_else(|| ReceiptError::Hash { path: path.clone() })?;
            artifacts.insert(
                path.clone(),
                Artifact {
                    blake3: content,
                    sha256,
                },
            );
        }
        let earlier = place.previous.map_or(0, |(_, count)| count);
        Ok(Some(Self {
            after: published.map_or(before, |capsule| capsule.output_hash),
            artifacts,
            before,
            capsule: work.capsule().cloned(),
            contract_hash: started.contract_hash,
            count: earlier.saturating_add(1),
            end: end.clone(),
            finished_unix_ms: facts.finished_unix_ms,
            format: RECEIPT_FORMAT.to_owned(),
            item: started.item.clone(),
            metrics: Metrics {
                execution_time_ms: work.elapsed_ms(),
                ..Metrics::counted(work.capsule(), work.run(), work.tests())
            },
            previous: place.previous.map(|(hash, _)| hash),
            published: work.published(),
            run: work.run().cloned(),
            started_unix_ms: started.started_unix_ms,
            tests: work.tests().cloned(),
            toolchain: facts.toolchain.clone(),
            work_head: place.work_head,
            work_id: started.work_id.clone(),
        }))
    }

    /// The bytes of RECEIPT.json: canonical JSON (RFC 8785).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// BLAKE3 of the bytes.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// The id: a UUID of version 8 whose bits are the first ones of the hash.
    #[must_use]
    pub fn id(&self) -> String {
        uuid_v8(self.hash())
    }

    /// Reads RECEIPT.json and checks that the receipt agrees with itself.
    ///
    /// # Errors
    /// [`ReceiptError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        let syntax = |error: serde_json::Error| ReceiptError::Syntax(error.to_string());
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(syntax)?;
        let format = value.get("format").and_then(serde_json::Value::as_str);
        let format = format.unwrap_or_default();
        if format != RECEIPT_FORMAT {
            let got = format.chars().take(80).collect();
            return Err(ReceiptError::Format { got });
        }
        let receipt: Self = serde_json::from_value(value).map_err(syntax)?;
        if receipt.to_bytes() != bytes {
            return Err(ReceiptError::Form);
        }
        receipt.check()?;
        Ok(receipt)
    }

    /// True if it is the receipt that follows from the item's transcript.
    #[must_use]
    pub fn is_of(&self, work: &Work) -> bool {
        let artifacts = self.artifacts.iter();
        let sha256 = artifacts.map(|(path, hashes)| (path.clone(), hashes.sha256.clone()));
        let facts = ReceiptFacts {
            finished_unix_ms: self.finished_unix_ms,
            present: self.before,
            sha256: sha256.collect(),
            toolchain: self.toolchain.clone(),
        };
        let earlier = self.count.saturating_sub(1);
        let place = ReceiptPlace {
            previous: self.previous.map(|hash| (hash, earlier)),
            work_head: self.work_head,
        };
        Self::of_work(work, &facts, &place).is_ok_and(|again| again.as_ref() == Some(self))
    }

    /// Judges again what the receipt claims, from the evidence in it.
    fn check(&self) -> Result<(), ReceiptError> {
        let holds = |is_so: bool, claim| {
            let contradiction = ReceiptError::Contradiction(claim);
            is_so.then_some(()).ok_or(contradiction)
        };
        let is_success = self.end.status == WorkStatus::Success && self.end.receipt_id.is_none();
        let capsule = self.capsule.as_ref();
        let published = capsule.filter(|_| is_success);
        let calls = self.run.as_ref().map(|run| &run.calls);
        let after = published.map_or(self.before, |capsule| capsule.output_hash);
        holds(self.after == after, "the tree hash afterwards")?;
        holds(
            self.published.is_some() == is_success,
            "only a success is published",
        )?;
        holds(!is_success || capsule.is_some(), "a success has changes")?;
        let passed = self.tests.as_ref().is_some_and(TestEnd::is_pass);
        let needs_tests = is_success && self.item.test_command.is_some();
        holds(!needs_tests || passed, "a success has passed its tests")?;
        let counted = Metrics {
            execution_time_ms: self.metrics.execution_time_ms,
            ..Metrics::counted(capsule, self.run.as_ref(), self.tests.as_ref())
        };
        holds(self.metrics == counted, "the metrics")?;
        let verdict = match (capsule, calls) {
            (Some(capsule), Some(calls)) => admit(&self.item.constraints, capsule, calls).err(),
            _ => None,
        };
        holds(!is_success || verdict.is_none(), "a success is admitted")?;
        let is_judged = !matches!(self.end.denial, None | Some(Denial::Duplicate { .. }));
        holds(
            !is_judged || verdict == self.end.denial,
            "the reason of the denial",
        )?;
        let is_denied = self.end.status == WorkStatus::Denied;
        holds(
            is_denied == self.end.denial.is_some(),
            "a denial has a reason",
        )?;
        let changes = published.map_or(&[][..], |capsule| capsule.changes.as_slice());
        let written: BTreeMap<_, _> = written(changes).collect();
        let artifacts = self
            .artifacts
            .iter()
            .map(|(path, hashes)| (path, hashes.blake3));
        holds(
            artifacts.collect::<BTreeMap<_, _>>() == written,
            "the artifacts",
        )
    }
}

impl Metrics {
    /// The figures without the time.
    fn counted(capsule: Option<&Capsule>, run: Option<&AgentEnd>, tests: Option<&TestEnd>) -> Self {
        Self {
            execution_time_ms: 0,
            tool_ops_count: run.map_or(0, |run| run.calls.count),
            delta_size: capsule.map_or(0, |capsule| capsule.deltas.size()),
            files_touched: capsule.map_or(0, Capsule::files_touched),
            tests_passed: tests.and_then(|tests| tests.passed),
            tests_failed: tests.and_then(|tests| tests.failed),
        }
    }
}

/// The files and links that exist after the changes, with the digests of their contents.
fn written(changes: &[PathChange]) -> impl Iterator<Item = (&WorkPath, Digest)> {
    changes.iter().filter_map(|change| {
        let content = change.after.as_ref().and_then(TreeNode::content)?;
        Some((&change.path, *content))
    })
}

/// A UUID of version 8 (RFC 9562 §5.8) with the first bits of a digest.
fn uuid_v8(digest: Digest) -> String {
    let first = digest.as_bytes().first_chunk().copied();
    let bits = u128::from_be_bytes(first.unwrap_or_default());
    let versioned = (bits & !(0xf << 76)) | (0x8 << 76);
    let variant = (versioned & !(0x3 << 62)) | (0x2 << 62);
    let hex = format!("{variant:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    parts.join("-")
}
