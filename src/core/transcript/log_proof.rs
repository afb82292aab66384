//! Printed proofs about a log of runs: inclusion and growth. Does not know the store.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::verify::signers;
use super::{
    Flaw, FlawKind, LogDeletions, LogLeaf, Note, Pin, SignedDeletion, TreeHash, TreeHead, Trust,
    VerifyCheck, leaf_hash, verify_consistency, verify_inclusion,
};
use crate::message::amount;

/// A proof about a log of runs, as it is printed: that a run is in it, or that it has only grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogProof {
    /// A leaf is in the log.
    Inclusion(InclusionProof),
    /// The log at one size is a prefix of the log at another.
    Consistency(ConsistencyProof),
}

/// A proof of a run in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InclusionProof {
    /// The number of the leaf, from 0.
    pub index: u64,
    /// The bytes of the leaf.
    pub leaf: String,
    /// Number of leaves.
    pub size: u64,
    /// The root over them, in base64.
    pub root: String,
    /// The hashes in base64, the sibling of the leaf first.
    pub proof: Vec<String>,
    /// The signed head of the log.
    pub note: String,
    /// Runs of the log that were deleted, that of this leaf first.
    #[serde(default, skip_serializing_if = "LogDeletions::is_none")]
    pub deletions: LogDeletions,
}

/// A proof that the log at one size is a prefix of the log now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyProof {
    /// Earlier number of leaves.
    pub old_size: u64,
    /// The root over them, in base64.
    pub old_root: String,
    /// Number of leaves now.
    pub size: u64,
    /// The root over them, in base64.
    pub root: String,
    /// The hashes in base64.
    pub proof: Vec<String>,
    /// The signed head of the log.
    pub note: String,
    /// Runs of the log that were deleted.
    #[serde(default, skip_serializing_if = "LogDeletions::is_none")]
    pub deletions: LogDeletions,
}

/// The result of checking a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProofReport {
    /// Proven statement, for people.
    pub proven: String,
    /// The checks that came to a verdict, in their order; nothing behind the first that failed was looked at.
    pub checks: Vec<VerifyCheck>,
    /// Checks that were left out, each with its reason.
    pub not_checked: Vec<String>,
    /// Kind of the flaw, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FlawKind>,
}

impl LogProof {
    /// Reads a proof.
    ///
    /// # Errors
    /// [`Flaw`] where the text is none.
    pub fn read(text: &str) -> Result<Self, Flaw> {
        let refuse = |fault: serde_json::Error| {
            let expected = "what `log prove` or `log consistency` prints";
            Flaw::tampered("proof", expected, fault)
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(refuse)?;
        if value.get("old_size").is_some() {
            let proof = serde_json::from_str(text).map_err(refuse)?;
            return Ok(Self::Consistency(proof));
        }
        Ok(Self::Inclusion(serde_json::from_str(text).map_err(refuse)?))
    }

    /// Checks the proof against the head that it brings along, and that against keys and heads from elsewhere.
    #[must_use]
    pub fn verify(&self, trust: &Trust) -> ProofReport {
        let mut report = ProofReport {
            proven: String::new(),
            checks: Vec::new(),
            not_checked: Vec::new(),
            kind: None,
        };
        if let Err((name, flaw)) = self.check_into(trust, &mut report) {
            let detail = format!(
                "{}: expected {}, got {}",
                flaw.field, flaw.expected, flaw.actual
            );
            let ok = false;
            report.checks.push(VerifyCheck { name, ok, detail });
            report.kind = Some(flaw.kind);
        }
        report
    }

    fn check_into(
        &self,
        trust: &Trust,
        report: &mut ProofReport,
    ) -> Result<(), (&'static str, Flaw)> {
        let passed = |report: &mut ProofReport, name, detail: String| {
            let ok = true;
            report.checks.push(VerifyCheck { name, ok, detail });
        };
        let (size, root, note) = match self {
            Self::Inclusion(proof) => (proof.size, &proof.root, &proof.note),
            Self::Consistency(proof) => (proof.size, &proof.root, &proof.note),
        };
        let root = hash("root", root).map_err(|flaw| ("proof", flaw))?;
        let (detail, old) = self
            .check_hashes(size, &root)
            .map_err(|flaw| ("proof", flaw))?;
        report.proven.clone_from(&detail);
        passed(report, "proof", detail);
        let note: Note = note
            .parse()
            .map_err(|fault| ("note", Flaw::tampered("note", "a signed note", fault)))?;
        let head = TreeHead::read(&note).filter(|head| (head.size, head.root) == (size, root));
        let Some(head) = head else {
            let expected = format!(
                "the head of a log with {} and this root",
                amount(size, "run")
            );
            return Err(("note", Flaw::tampered("note", expected, note.text())));
        };
        passed(report, "note", format!("it states {}", head.origin));
        let signers = signers(&trust.keys, &note, "note").map_err(|flaw| ("signature", flaw))?;
        if !signers.is_empty() {
            passed(report, "signature", signers.join(", "));
        } else if trust.signature_required {
            let expected = "a signature by a key that was named";
            let flaw = Flaw::new(FlawKind::Unsigned, "note", expected, "none");
            return Err(("signature", flaw));
        } else {
            let why = "signature: the head is not signed by a known key";
            report.not_checked.push(why.to_owned());
        }
        self.judge_deletions(&head, trust, report)
            .map_err(|flaw| ("deletions", flaw))?;
        let pins = self
            .check_pins(trust, &head, old)
            .map_err(|flaw| ("pins", flaw))?;
        if pins > 0 {
            passed(report, "pins", format!("heads noted earlier: {pins}"));
        } else if !trust.pins.is_empty() {
            let expected = "a head that was noted at one of the sizes of this proof";
            let flaw = Flaw::new(
                FlawKind::Incomplete,
                "pins",
                expected,
                "heads of other sizes or logs",
            );
            return Err(("pins", flaw));
        } else {
            let why = "pinned heads: none of these sizes was given, and the author of the proof can have made the log";
            report.not_checked.push(why.to_owned());
        }
        Ok(())
    }

    /// Checks the hashes; returns what they prove, and the old size with its root if there is one.
    fn check_hashes(
        &self,
        size: u64,
        root: &TreeHash,
    ) -> Result<(String, Option<(u64, TreeHash)>), Flaw> {
        let refuse = |fault| Flaw::tampered("proof", "a proof that leads to the root", fault);
        match self {
            Self::Inclusion(proof) => {
                let leaf = LogLeaf::decode(&proof.leaf)?;
                let hashed = leaf_hash(proof.leaf.as_bytes());
                let path = hashes(&proof.proof)?;
                verify_inclusion(proof.index, size, &hashed, &path, root)
                    .map_err(|fault| refuse(fault.to_string()))?;
                let detail = format!(
                    "run {} is leaf {} of {size}: {}, head {}, {}",
                    leaf.run_id,
                    proof.index,
                    amount(leaf.entries, "entry"),
                    leaf.head,
                    leaf.outcome
                );
                Ok((detail, None))
            }
            Self::Consistency(proof) => {
                let old_root = hash("old_root", &proof.old_root)?;
                let path = hashes(&proof.proof)?;
                verify_consistency(proof.old_size, size, &path, &old_root, root)
                    .map_err(|fault| refuse(fault.to_string()))?;
                let detail = format!(
                    "the first {} of {} are the same",
                    proof.old_size,
                    amount(size, "run")
                );
                Ok((detail, Some((proof.old_size, old_root))))
            }
        }
    }

    /// Checks what the proof states of deleted runs, and lists what nothing covers: the tree is the same with and without them.
    fn judge_deletions(
        &self,
        head: &TreeHead,
        trust: &Trust,
        report: &mut ProofReport,
    ) -> Result<(), Flaw> {
        let size = head.size;
        let (deletions, own) = match self {
            Self::Inclusion(proof) => (&proof.deletions, Some((proof.index, &proof.leaf))),
            Self::Consistency(proof) => (&proof.deletions, None),
        };
        let named = u64::try_from(deletions.notes.len()).unwrap_or(u64::MAX);
        if deletions.count < named || deletions.count > size {
            let expected = format!("{named} to {size} deleted runs");
            return Err(Flaw::tampered("count", expected, deletions.count));
        }
        let mut seen = BTreeSet::new();
        for deletion in &deletions.notes {
            let read = SignedDeletion::read(&deletion.note, &trust.keys)?;
            read.judge_place(head.log(), Some(deletion.leaf))?;
            if !seen.insert(deletion.leaf) {
                let expected = "one note of each leaf";
                return Err(Flaw::tampered("leaf", expected, deletion.leaf));
            }
            if deletion.leaf >= size {
                let expected = format!("a leaf of a log with {}", amount(size, "run"));
                return Err(Flaw::tampered("leaf", expected, deletion.leaf));
            }
            if let Some((index, leaf)) = own.filter(|(index, _)| *index == deletion.leaf) {
                read.judge_leaf(index, leaf)?;
            }
            let detail = format!("leaf {}, {read}", deletion.leaf);
            if read.is_known() {
                let (name, ok) = ("deletions", true);
                report.checks.push(VerifyCheck { name, ok, detail });
            } else if trust.signature_required {
                let expected = "a deletion that a given key has signed";
                return Err(Flaw::new(FlawKind::Unsigned, "note", expected, detail));
            } else {
                report.not_checked.push(format!("deletions: {detail}"));
            }
        }
        let unnamed = deletions.count.saturating_sub(named);
        if unnamed > 0 {
            report.not_checked.push(format!(
                "deletions: {unnamed} more that the proof does not name"
            ));
        }
        report.not_checked.push(format!(
            "deletions: {} of {}, as its author says; the tree keeps the leaf of a deleted run, so it covers none of them",
            deletions.count,
            amount(size, "run")
        ));
        Ok(())
    }

    /// Compares the heads of the proof with the pinned ones; returns how many could be compared.
    fn check_pins(
        &self,
        trust: &Trust,
        head: &TreeHead,
        old: Option<(u64, TreeHash)>,
    ) -> Result<usize, Flaw> {
        trust.check_pins()?;
        let mut count = 0_usize;
        for pin in &trust.pins {
            match pin {
                Pin::Log { head: pinned, .. } if pinned.origin == head.origin => {
                    let heads = [Some((head.size, head.root)), old];
                    let Some((size, root)) = heads
                        .into_iter()
                        .flatten()
                        .find(|(size, _)| *size == pinned.size)
                    else {
                        continue;
                    };
                    if root != pinned.root {
                        let expected =
                            format!("the root over {} that was noted", amount(size, "run"));
                        let flaw = Flaw::new(FlawKind::SplitView, "root", expected, "another root");
                        return Err(flaw);
                    }
                    count = count.saturating_add(1);
                }
                Pin::Run {
                    run_id,
                    entries,
                    head: pinned,
                    ..
                } => {
                    let Self::Inclusion(proof) = self else {
                        continue;
                    };
                    let leaf = LogLeaf::decode(&proof.leaf)?;
                    if leaf.run_id != *run_id || leaf.entries > *entries {
                        continue;
                    }
                    if leaf.entries < *entries {
                        let expected = format!("{}, as was noted", amount(*entries, "entry"));
                        return Err(Flaw::new(
                            FlawKind::Rollback,
                            "leaf",
                            expected,
                            leaf.entries,
                        ));
                    }
                    if leaf.head != *pinned {
                        return Err(Flaw::tampered("leaf", pinned, leaf.head));
                    }
                    // It vouches for the run, not for the log.
                }
                Pin::Log { .. } => {}
            }
        }
        Ok(count)
    }
}

fn hash(field: &str, text: &str) -> Result<TreeHash, Flaw> {
    let bytes = BASE64.decode(text).unwrap_or_default();
    TreeHash::try_from(bytes).map_err(|_| Flaw::tampered(field, "32 bytes in base64", text))
}

fn hashes(texts: &[String]) -> Result<Vec<TreeHash>, Flaw> {
    texts.iter().map(|text| hash("proof", text)).collect()
}
