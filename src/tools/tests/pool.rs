//! Servers that several runs of a process use.

use std::sync::Arc;

use super::Fixture;
use super::mcp::{python, runs, scripted, wait_until_gone};
use crate::contract::McpTerms;
use crate::message::{NoSecrets, ToolOutcome};
use crate::tools::{ServerHost, ServerSpec};

async fn run(host: &ServerHost, spec: ServerSpec, root: &std::path::Path) -> (Fixture, String) {
    let run = Fixture::bring_up_at(host, [("s", spec)], root).await;
    assert_eq!(run.faults(), Vec::<String>::new());
    let pid = run.said("s__pid", "{}").await;
    (run, pid)
}

#[tokio::test]
async fn a_server_is_started_by_its_first_user_and_ended_by_its_last() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let spec = || scripted(&["child"]);
    let ((one, first), (other, second)) = tokio::join!(
        run(&host, spec(), root.path()),
        run(&host, spec(), root.path())
    );
    assert_eq!(first, second);
    one.up.servers.close().await;
    assert!(runs(&first));
    assert_eq!(other.said("s__pid", "{}").await, first);
    other.up.servers.close().await;
    wait_until_gone(&first).await;
    let (_, third) = run(&host, spec(), root.path()).await;
    assert_ne!(third, first);
}

#[tokio::test]
async fn what_is_reached_in_another_way_is_another_server() {
    if !python() {
        return;
    }
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let (_one, first) = run(&host, scripted(&["child"]), root.path()).await;
    let own = || {
        let mut spec = scripted(&["child"]);
        if let ServerSpec::Stdio { shared, .. } = &mut spec {
            *shared = false;
        }
        spec
    };
    let other_secrets = ServerHost {
        scrub: Arc::new(crate::session::Redactor::fixed(Arc::new(
            crate::session::KnownSecrets::values_only(Arc::new(crate::session::KnownValues::new(
                ["another secret"],
            ))),
        ))),
        ..host.clone()
    };
    let others = [
        run(&host, scripted(&["child"]), elsewhere.path()).await,
        run(&host, scripted(&["child", "more"]), root.path()).await,
        run(&other_secrets, scripted(&["child"]), root.path()).await,
        run(&host, own(), root.path()).await,
        run(&host, own(), root.path()).await,
    ];
    let mut pids: Vec<&String> = others.iter().map(|(_, pid)| pid).chain([&first]).collect();
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 6);
}

#[tokio::test]
async fn a_server_that_dies_ends_the_calls_of_all_its_runs_and_the_next_call_starts_another() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let up = || Fixture::bring_up_at(&host, [("s", scripted(&[]))], root.path());
    let (one, other) = tokio::join!(up(), up());
    // The one call waits for an answer that never comes, and the other one ends the server.
    let ends = tokio::join!(one.call("s__never", "{}"), other.call("s__die", "{}"));
    for end in [ends.0, ends.1] {
        assert!(matches!(end, ToolOutcome::ConnectionLost { .. }), "{end:?}");
    }
    assert_eq!(one.said("s__hello", "{}").await, "hello");
    let next = up().await;
    assert_eq!(next.said("s__hello", "{}").await, "hello");
    assert_eq!(up().await.said("s__hello", "{}").await, "hello");
}

#[tokio::test]
async fn those_who_wait_for_a_start_share_its_fault_and_the_next_tries_again() {
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let spec = || ServerSpec::Stdio {
        terms: McpTerms::default(),
        args: Vec::new(),
        command: "./server".to_owned(),
        env: std::collections::BTreeMap::new(),
        folder: root.path().to_owned(),
        shared: true,
        supervisor: None,
    };
    let up = || Fixture::bring_up_at(&host, [("s", spec())], root.path());
    let (one, other) = tokio::join!(up(), up());
    assert_eq!(one.faults(), other.faults());
    assert!(
        one.faults()[0].contains("find the command"),
        "{:?}",
        one.faults()
    );
    std::fs::write(root.path().join("server"), "no program").unwrap();
    assert!(up().await.faults()[0].contains("start the command"));
}
