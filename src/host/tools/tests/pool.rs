//! Servers that several runs of a process use.

use std::sync::Arc;

use super::Fixture;
use super::mcp::{python, runs, scripted, wait_until_gone};
use crate::tools::mcp::Timeouts;
use crate::tools::{ServerHost, ServerPool, ServerSpec, StartFiles};
use monolith_core::contract::McpTerms;
use monolith_core::message::{NoSecrets, ToolOutcome};

async fn run(host: &ServerHost, spec: ServerSpec, root: &std::path::Path) -> (Fixture, String) {
    let run = Fixture::bring_up_at(host, [("s", spec)], root).await;
    assert_eq!(run.faults(), Vec::<String>::new());
    let pid = run.text_of("s__pid", "{}").await;
    (run, pid)
}

/// 001/6.servers.10
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
    assert_eq!(other.text_of("s__pid", "{}").await, first);
    other.up.servers.close().await;
    wait_until_gone(&first).await;
    let (_, third) = run(&host, spec(), root.path()).await;
    assert_ne!(third, first);
}

/// 001/6.servers.10
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
        scrub: Arc::new(monolith_core::session::Redactor::fixed(Arc::new(
            monolith_core::session::KnownSecrets::values_only(Arc::new(
                monolith_core::session::KnownValues::new(["another secret"]),
            )),
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
    assert_eq!(one.text_of("s__hello", "{}").await, "hello");
    let next = up().await;
    assert_eq!(next.text_of("s__hello", "{}").await, "hello");
    assert_eq!(up().await.text_of("s__hello", "{}").await, "hello");
}

/// A server that writes a line into `starts`, and then does as the script says.
fn shell(root: &std::path::Path, script: &str) -> ServerSpec {
    ServerSpec::Stdio {
        terms: McpTerms::default(),
        args: vec!["-c".to_owned(), format!("echo $$ >> starts; {script}")],
        command: "sh".to_owned(),
        env: std::collections::BTreeMap::new(),
        files: StartFiles::default(),
        folder: root.to_owned(),
        sandbox: None,
        shared: true,
        supervisor: None,
    }
}

fn starts(root: &std::path::Path) -> usize {
    let starts = std::fs::read_to_string(root.join("starts")).unwrap();
    starts.lines().count()
}

#[tokio::test]
async fn those_who_wait_for_a_start_share_its_fault_and_the_next_tries_again() {
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let spec = || shell(root.path(), "read -r question; echo no cheese >&2; exit 3");
    let up = || Fixture::bring_up_at(&host, [("s", spec())], root.path());
    let (one, other) = tokio::join!(up(), up());
    assert_eq!(one.faults(), other.faults());
    assert!(one.faults()[0].contains("no cheese"), "{:?}", one.faults());
    // One that ends on the first question is started once more, to be asked the older one.
    assert_eq!(starts(root.path()), 2);
    assert!(up().await.faults()[0].contains("no cheese"));
    assert_eq!(starts(root.path()), 4);
}

#[tokio::test]
async fn each_run_waits_for_the_start_of_another_as_long_as_its_own_contract_allows() {
    let host = ServerHost::alone(Arc::new(NoSecrets));
    for [first, second] in [[60_000, 1], [300, 700]] {
        let root = tempfile::tempdir().unwrap();
        let up = |initialise_ms| {
            let timeouts = Timeouts {
                initialise_ms,
                list_ms: 1,
            };
            let spec = shell(root.path(), "exec sleep 600");
            Fixture::bring_up_within(&host, [("s", spec)], root.path(), timeouts)
        };
        let joins = async {
            while !root.path().join("starts").exists() {
                tokio::task::yield_now().await;
            }
            up(second).await
        };
        let mut starts = std::pin::pin!(up(first));
        let mut joins = std::pin::pin!(joins);
        if second < first {
            let hasty = tokio::select! {
                _ = starts => panic!("it has a minute"),
                hasty = joins => hasty,
            };
            assert!(hasty.faults()[0].contains("start: no answer within 2 ms"));
        } else {
            let (hasty, patient) = tokio::join!(starts.as_mut(), joins.as_mut());
            assert!(hasty.faults()[0].contains("initialise: no answer within 300 ms"));
            assert!(patient.faults()[0].contains("initialise: no answer within 700 ms"));
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_left_to_its_users_and_one_that_answers_is_not() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let (mut one, first) = run(&host, scripted(&["child"]), root.path()).await;
    one.timeout_ms = 100;
    assert_eq!(one.call("s__never", "{}").await, ToolOutcome::TimedOut);
    let (_same, second) = run(&host, scripted(&["child"]), root.path()).await;
    assert_eq!(second, first, "it answers, only not to that call");
    assert_eq!(one.call("s__hang", "{}").await, ToolOutcome::TimedOut);
    let (_other, third) = run(&host, scripted(&["child"]), root.path()).await;
    assert_ne!(third, first);
    assert!(runs(&first), "its users keep it");
}

#[tokio::test]
async fn a_server_does_not_start_before_the_last_one_has_ended() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let stubborn = || scripted(&["child", "stubborn"]);
    let (one, first) = run(&host, stubborn(), root.path()).await;
    let next = async {
        let next = run(&host, stubborn(), root.path()).await;
        (runs(&first), next)
    };
    let ((), (still_runs, (_next, second))) = tokio::join!(one.up.servers.close(), next);
    assert_ne!(second, first);
    assert!(!still_runs, "both were there at once");
}

#[tokio::test]
async fn a_run_below_waits_for_no_place_that_the_one_above_it_holds() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let scrub: Arc<dyn monolith_core::message::Scrubber> = Arc::new(NoSecrets);
    let above = ServerHost {
        is_below: false,
        pool: ServerPool::bounded(1),
        scrub,
    };
    let own = || {
        let mut spec = scripted(&["child"]);
        if let ServerSpec::Stdio { shared, .. } = &mut spec {
            *shared = false;
        }
        spec
    };
    let (parent, first) = run(&above, own(), root.path()).await;
    let below = ServerHost {
        is_below: true,
        ..above.clone()
    };
    // Another run waits for the place, and holds up nothing below the first.
    let mut other = Box::pin(run(&above, own(), root.path()));
    let waits = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(waits, &mut other).await.is_err());
    let (child, second) = run(&below, own(), root.path()).await;
    assert_ne!(first, second);
    child.up.servers.close().await;
    parent.up.servers.close().await;
    other.await.0.up.servers.close().await;
}
