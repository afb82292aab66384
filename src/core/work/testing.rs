//! Items, events and ended items for the tests of this module.

use std::collections::BTreeMap;

use super::*;
use crate::message::{Digest, RunId};

pub(super) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

pub(super) fn path(text: &str) -> WorkPath {
    text.parse().expect("a path")
}

pub(super) fn id(text: &str) -> RunId {
    RunId::try_from(text.to_owned()).expect("an id")
}

/// The item `w` with tests and a deadline of 1,000 ms.
pub(super) fn item() -> WorkItem {
    let text = r#"{"id": "w", "agent_id": "agent-1", "description": "do it", "test_command": "make test",
        "constraints": {"max_files": 2, "max_tool_ops": 3, "max_delta_size": 4, "timeout_ms": 1000}}"#;
    serde_json::from_str(text).expect("an item")
}

/// The item `w` without tests.
pub(super) fn untested() -> WorkItem {
    WorkItem {
        test_command: None,
        ..item()
    }
}

pub(super) fn started(item: WorkItem, dependencies: &[&str]) -> WorkStarted {
    WorkStarted {
        contract_hash: digest("contract"),
        dependencies: dependencies.iter().map(|id| (*id).to_owned()).collect(),
        item,
        started_unix_ms: 1_700_000_000_000,
        work_id: id("work-1"),
    }
}

pub(super) fn prepared() -> WorkEventKind {
    WorkEventKind::Prepared {
        before: digest("before"),
        missing_inputs: Vec::new(),
    }
}

/// The end of a run with that many calls.
pub(super) fn agent_end(calls: u64) -> AgentEnd {
    AgentEnd {
        calls: AttemptCalls {
            count: calls,
            ..AttemptCalls::default()
        },
        failure: None,
        head: Some(digest("head")),
        run_id: id("run-1"),
    }
}

pub(super) fn run_ended(calls: u64) -> WorkEventKind {
    WorkEventKind::RunEnded(Box::new(agent_end(calls)))
}

/// The changes of a run that created that many files, each of them one edit hunk.
pub(super) fn changes(files: u64) -> Capsule {
    let change = |number| PathChange {
        after: Some(TreeNode::File {
            content: digest(&format!("content {number}")),
            mode: 0o644,
            size: 9,
        }),
        before: None,
        path: path(&format!("f{number}")),
    };
    let changes: Vec<_> = (0..files).map(change).collect();
    Capsule {
        deltas: Deltas::of_changes(&changes, |_| 1, 0),
        changes,
        output_hash: digest("after"),
        ..Capsule::default()
    }
}

pub(super) fn compared(files: u64) -> WorkEventKind {
    WorkEventKind::Compared(Box::new(changes(files)))
}

pub(super) fn tested(exit_code: i32) -> WorkEventKind {
    WorkEventKind::Tested(Box::new(TestEnd {
        exit_code: Some(exit_code),
        failed: Some(u64::from(exit_code != 0)),
        output: "the output".to_owned(),
        output_blob: None,
        output_digest: digest("the output"),
        passed: Some(5),
    }))
}

pub(super) fn published() -> WorkEventKind {
    WorkEventKind::Published {
        after: digest("published"),
    }
}

/// The events of an item that succeeds with one file.
pub(super) fn success() -> Vec<WorkEventKind> {
    vec![
        prepared(),
        run_ended(2),
        compared(1),
        tested(0),
        published(),
    ]
}

/// A machine after these events, 10 ms apart, and its entries.
pub(super) fn driven(item: WorkItem, events: Vec<WorkEventKind>) -> (Work, Vec<WorkDraft>) {
    let (mut work, first) = Work::start(started(item, &[]));
    let mut drafts = vec![first];
    for (event, at_ms) in events.into_iter().zip((10..).step_by(10)) {
        drafts.extend(work.step(WorkEvent { at_ms, event }));
    }
    (work, drafts)
}

/// The end of an item after these events.
pub(super) fn end(item: WorkItem, events: Vec<WorkEventKind>) -> WorkEnd {
    let (work, _) = driven(item, events);
    work.end().expect("an end").clone()
}

/// The facts that a receipt of [`changes`] needs.
pub(super) fn facts() -> ReceiptFacts {
    let sha256: BTreeMap<_, _> = [(path("f0"), "0".repeat(64))].into();
    ReceiptFacts {
        finished_unix_ms: 1_700_000_060_000,
        present: digest("before"),
        sha256,
        toolchain: "monolith test".to_owned(),
    }
}

/// The place of a store's first receipt.
pub(super) fn place() -> ReceiptPlace {
    ReceiptPlace {
        previous: None,
        work_head: digest("work head"),
    }
}

/// The receipt of an ended item.
pub(super) fn receipt(item: WorkItem, events: Vec<WorkEventKind>) -> Receipt {
    let (work, _) = driven(item, events);
    let receipt = Receipt::of_work(&work, &facts(), &place()).expect("every hash");
    receipt.expect("an end")
}
