//! Admission (004 "Admission Rules"): the rules in order, with 004's words. A value equal to its limit passes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Capsule, Constraints};
use crate::message::Digest;

/// The reason that an item is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Denial {
    /// Rule 1.
    MaxFiles {
        /// Files touched.
        count: u64,
        /// Their limit.
        limit: u64,
    },
    /// Rule 2.
    MaxToolOps {
        /// Tool calls.
        count: u64,
        /// Their limit.
        limit: u64,
    },
    /// Rule 3.
    MaxDeltaSize {
        /// State changes.
        count: u64,
        /// Their limit.
        limit: u64,
    },
    /// Rule 4: an equal item already succeeded from this tree.
    Duplicate {
        /// Its receipt.
        receipt_id: String,
    },
    /// A call acted outside the tree and no pattern allows it.
    External {
        /// The tool.
        tool: String,
    },
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxFiles { count, limit } => write!(f, "Exceeded max files: {count} > {limit}"),
            Self::MaxToolOps { count, limit } => {
                write!(f, "Exceeded max tool ops: {count} > {limit}")
            }
            Self::MaxDeltaSize { count, limit } => {
                write!(f, "Exceeded max delta size: {count} > {limit}")
            }
            Self::Duplicate { receipt_id } => write!(f, "Duplicate run: receipt {receipt_id}"),
            Self::External { tool } => write!(f, "External effect: {tool}"),
        }
    }
}

/// The calls of an attempt, as its transcript counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptCalls {
    /// All tool calls, refused ones and those of child runs included.
    pub count: u64,
    /// Tools that acted outside the tree without being allowed to, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<String>,
    /// The first tool whose call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The first tool of whose call the process ended first: what it did is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// The limit of the item that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<RunLimit>,
}

/// A limit of an item that its agent's contract has, too, so that it ends the run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLimit {
    /// `max_tool_ops`: the run wanted another call.
    Calls,
    /// `timeout_ms`.
    Time,
}

/// Judges an attempt by rules 1 to 3 and its effects outside the tree.
///
/// # Errors
/// The first [`Denial`], never `Duplicate`.
pub fn admit(limits: &Constraints, capsule: &Capsule, calls: &AttemptCalls) -> Result<(), Denial> {
    let files = capsule.files_touched();
    if files > limits.max_files {
        return Err(Denial::MaxFiles {
            count: files,
            limit: limits.max_files,
        });
    }
    // The contract stops a run at its limit of calls, so a run that wanted one more counts one more.
    let wanted = match calls.limit {
        Some(RunLimit::Calls) => limits.max_tool_ops.saturating_add(1),
        Some(RunLimit::Time) | None => 0,
    };
    let count = calls.count.max(wanted);
    if count > limits.max_tool_ops {
        return Err(Denial::MaxToolOps {
            count,
            limit: limits.max_tool_ops,
        });
    }
    let size = capsule.deltas.size();
    if size > limits.max_delta_size {
        return Err(Denial::MaxDeltaSize {
            count: size,
            limit: limits.max_delta_size,
        });
    }
    match calls.external.first() {
        Some(tool) => Err(Denial::External { tool: tool.clone() }),
        None => Ok(()),
    }
}

/// An earlier success of an equal item, from its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierSuccess {
    /// The tree hash after it.
    pub after: Digest,
    /// The tree hash before it.
    pub before: Digest,
    /// [`super::WorkItem::duplicate_key`] of its item.
    pub key: Digest,
    /// Its receipt.
    pub receipt_id: String,
}

/// The verdict of rule 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// No equal item: the run begins.
    New,
    /// The tree is as an equal item left it: its receipt is the answer, without work.
    Done {
        /// Its receipt.
        receipt_id: String,
    },
    /// An equal item succeeded from this very tree.
    Denied(Denial),
}

/// Judges an item by rule 4, before it runs. `again` asks for a second run of an equal item.
#[must_use]
pub fn find_duplicate(
    key: Digest,
    present: Digest,
    earlier: &[EarlierSuccess],
    again: bool,
) -> Duplicate {
    let equal = |success: &&EarlierSuccess| success.key == key && !again;
    let mut equals = earlier.iter().filter(equal);
    if let Some(done) = equals.clone().find(|success| success.after == present) {
        let receipt_id = done.receipt_id.clone();
        return Duplicate::Done { receipt_id };
    }
    match equals.find(|success| success.before == present) {
        Some(success) => {
            let receipt_id = success.receipt_id.clone();
            Duplicate::Denied(Denial::Duplicate { receipt_id })
        }
        None => Duplicate::New,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Deltas, PathChange, TreeNode};
    use super::*;

    fn capsule(files: u64, delta: u64) -> Capsule {
        let change = |number| PathChange {
            path: format!("f{number}").parse().expect("a path"),
            before: None,
            after: Some(TreeNode::File {
                content: Digest::ZERO,
                mode: 0o644,
                size: 0,
            }),
        };
        Capsule {
            changes: (0..files).map(change).collect(),
            deltas: Deltas {
                o: delta,
                ..Deltas::default()
            },
            ..Capsule::default()
        }
    }

    fn calls(count: u64) -> AttemptCalls {
        AttemptCalls {
            count,
            ..AttemptCalls::default()
        }
    }

    const LIMITS: Constraints = Constraints {
        max_delta_size: 3,
        max_files: 1,
        max_tool_ops: 2,
        timeout_ms: 1,
    };

    fn denied(files: u64, ops: u64, delta: u64) -> Option<String> {
        let verdict = admit(&LIMITS, &capsule(files, delta), &calls(ops));
        verdict.err().map(|denial| denial.to_string())
    }

    /// 004/5.admission.3, 004/5.admission.5, 004/5.admission.8
    #[test]
    fn a_value_equal_to_its_limit_passes() {
        assert_eq!(denied(1, 2, 3), None);
    }

    /// 004/5.admission.4, 004/5.admission.6, 004/5.admission.9
    #[test]
    fn each_rule_denies_in_the_words_of_004() {
        assert_eq!(
            denied(2, 0, 0).as_deref(),
            Some("Exceeded max files: 2 > 1")
        );
        assert_eq!(
            denied(0, 3, 0).as_deref(),
            Some("Exceeded max tool ops: 3 > 2")
        );
        assert_eq!(
            denied(0, 0, 4).as_deref(),
            Some("Exceeded max delta size: 4 > 3")
        );
    }

    /// 004/5.admission.1
    #[test]
    fn the_rules_are_judged_in_their_order() {
        assert_eq!(
            denied(2, 3, 4).as_deref(),
            Some("Exceeded max files: 2 > 1")
        );
        assert_eq!(
            denied(1, 3, 4).as_deref(),
            Some("Exceeded max tool ops: 3 > 2")
        );
    }

    /// 004/5.admission.5
    #[test]
    fn a_run_that_used_up_its_calls_is_denied_by_rule_2() {
        let limit = Some(RunLimit::Calls);
        let used_up = AttemptCalls {
            count: 2,
            limit,
            ..AttemptCalls::default()
        };
        let denial = admit(&LIMITS, &capsule(0, 0), &used_up).expect_err("a denial");
        assert_eq!(denial.to_string(), "Exceeded max tool ops: 3 > 2");
    }

    #[test]
    fn a_call_outside_the_tree_is_a_denial_that_names_the_tool() {
        let external = AttemptCalls {
            external: vec!["mail".to_owned()],
            ..AttemptCalls::default()
        };
        let denial = admit(&LIMITS, &capsule(0, 0), &external).expect_err("a denial");
        assert_eq!(denial.to_string(), "External effect: mail");
    }

    /// 004/5.admission.10
    #[test]
    fn an_equal_success_is_returned_or_denied_unless_asked_again() {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let earlier = [EarlierSuccess {
            after: digest("after"),
            before: digest("before"),
            key: digest("key"),
            receipt_id: "r".to_owned(),
        }];
        let find = |key, tree, again| find_duplicate(digest(key), digest(tree), &earlier, again);
        assert_eq!(
            find("key", "after", false),
            Duplicate::Done {
                receipt_id: "r".to_owned()
            }
        );
        let Duplicate::Denied(denial) = find("key", "before", false) else {
            panic!("an equal item from this tree is denied");
        };
        assert_eq!(denial.to_string(), "Duplicate run: receipt r");
        for new in [
            find("other", "before", false),
            find("key", "third", false),
            find("key", "before", true),
        ] {
            assert_eq!(new, Duplicate::New);
        }
    }
}
