//! A work item that has succeeded, entry by entry.

use monolith_core::message::{Digest, RunId};
use monolith_core::work::{
    AgentEnd, AttemptCalls, Capsule, Deltas, PathChange, ReceiptFacts, TestEnd, TreeNode, Work,
    WorkDraft, WorkEvent, WorkEventKind, WorkItem, WorkPath, WorkStarted,
};

/// An item that created one file and passed its tests.
pub struct SampleWork {
    /// Its entries, the seal last.
    pub drafts: Vec<WorkDraft>,
    /// The facts that its receipt needs.
    pub facts: ReceiptFacts,
    /// Its machine at the end.
    pub work: Work,
}

impl SampleWork {
    /// The attempt of that name at the item `page`.
    #[must_use]
    pub fn new(work_id: &str) -> Self {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let text = r#"{"id": "page", "agent_id": "agent-1", "description": "Write the page", "test_command": "make test"}"#;
        let item: WorkItem = serde_json::from_str(text).unwrap();
        let id = |text: &str| RunId::try_from(text.to_owned()).unwrap();
        let path: WorkPath = "page.md".parse().unwrap();
        let (mut work, first) = Work::start(WorkStarted {
            contract_hash: digest("contract"),
            dependencies: Vec::new(),
            item,
            started_unix_ms: 1_790_000_000_000,
            work_id: id(work_id),
        });
        let change = PathChange {
            after: Some(TreeNode::File {
                content: digest("the page"),
                mode: 0o644,
                size: 8,
            }),
            before: None,
            path: path.clone(),
        };
        let events = [
            WorkEventKind::Prepared {
                before: digest("before"),
                missing_inputs: Vec::new(),
            },
            WorkEventKind::RunEnded(Box::new(AgentEnd {
                calls: AttemptCalls {
                    count: 1,
                    ..AttemptCalls::default()
                },
                failure: None,
                head: Some(digest("head")),
                run_id: id(&format!("{work_id}.1")),
            })),
            WorkEventKind::Compared(Box::new(Capsule {
                changes: vec![change],
                deltas: Deltas {
                    o: 1,
                    ..Deltas::default()
                },
                output_hash: digest("after"),
                ..Capsule::default()
            })),
            WorkEventKind::Tested(Box::new(TestEnd {
                exit_code: Some(0),
                failed: None,
                output: "all is well".to_owned(),
                output_blob: None,
                output_digest: digest("all is well"),
                passed: None,
            })),
            WorkEventKind::Published {
                after: digest("after"),
            },
        ];
        let mut drafts = vec![first];
        for (event, at_ms) in events.into_iter().zip(1..) {
            drafts.extend(work.step(WorkEvent { at_ms, event }));
        }
        Self {
            drafts,
            facts: ReceiptFacts {
                finished_unix_ms: 1_790_000_060_000,
                present: digest("before"),
                sha256: [(path, "0".repeat(64))].into(),
                toolchain: "monolith test".to_owned(),
            },
            work,
        }
    }
}
