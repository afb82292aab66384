//! How many transactions a turn takes.

use super::tests::{Watcher, call, run_into, say};
use crate::store::{Durability, Store};

/// The transactions of a run that answers in the end.
async fn commits(mut script: Vec<String>) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    script.push(say("MIT"));
    let path = folder.path().join("runs.db");
    let store = Store::open(&path, Durability::Normal).unwrap();
    let sets = ["strict_mode=false", "max_format_retries=3"];
    let finished = run_into(&store, folder.path(), &script, &sets, Watcher::default()).await;
    let outcome = finished.run.outcome().unwrap();
    assert!(outcome.class.is_success(), "{outcome:?}");
    store.commits()
}

fn reads(count: usize) -> Vec<String> {
    let read = |limit| {
        call(
            "read_file",
            &format!("{{\"path\":\"LICENSE\",\"limit\":{limit}}}"),
        )
    };
    (1..=count).map(read).collect()
}

#[tokio::test]
async fn a_turn_with_a_call_is_two_commits_and_one_without_is_one() {
    let one = commits(reads(1)).await;
    assert_eq!(commits(reads(5)).await, one + 4 * 2);
    let malformed = |count| {
        let calls = (0..count).map(|_| call("read_file", "no arguments"));
        calls.chain(reads(1)).collect()
    };
    assert_eq!(commits(malformed(1)).await, one + 1);
    assert_eq!(commits(malformed(2)).await, one + 2);
    // Begun, probed, called, observed, answered.
    assert_eq!(one, 5);
}
