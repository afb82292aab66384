//! Tests of servers that go down while a run uses them (001 §6).

use std::sync::Arc;
use std::time::Duration;

use super::Fixture;
use super::mcp::{python, scripted};
use crate::tools::offer;
use crate::tools::{ServerHost, ServerSpec};
use monolith_core::contract::HealthProbe;
use monolith_core::message::{NoSecrets, ToolOutcome};

/// Returns the outcome of a call once no delay is left.
async fn after_the_delay(fixture: &Fixture, tool: &str) -> ToolOutcome {
    let called = async {
        loop {
            match fixture.call(tool, "{}").await {
                ToolOutcome::RestartFailed { .. } | ToolOutcome::RestartInProgress => {
                    tokio::task::yield_now().await;
                }
                other => return other,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), called)
        .await
        .unwrap()
}

fn lost(outcome: &ToolOutcome) -> bool {
    matches!(outcome, ToolOutcome::ConnectionLost { .. })
}

/// 001/6.servers.13
#[tokio::test]
async fn a_server_that_does_not_come_up_again_is_named_and_waited_for() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let specs = [("other", scripted(&[])), ("s", scripted(&["once"]))];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    assert!(lost(&fixture.call("s__die", "{}").await));
    match fixture.call("s__hello", "{}").await {
        ToolOutcome::RestartFailed { detail } => assert_eq!(
            detail,
            "failed to initialise: the server ended before it answered: exit status: 5"
        ),
        other => panic!("{other:?}"),
    }
    let waiting = fixture.call("s__hello", "{}").await;
    assert_eq!(waiting, ToolOutcome::RestartInProgress);
    assert_eq!(fixture.text_of("other__hello", "{}").await, "hello");

    std::fs::remove_file(root.path().join("started")).unwrap();
    let up = after_the_delay(&fixture, "s__hello").await;
    assert!(matches!(up, ToolOutcome::Returned(_)), "{up:?}");
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    fixture.up.servers.close().await;
}

/// 001 §6: the end of a server begins its restarts, which go on until one succeeds. No call asks for it here.
/// 001/6.servers.12
#[tokio::test]
async fn a_server_that_died_is_started_again_before_any_call() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["once"]))], root.path()).await;
    let started = root.path().join("started");
    assert!(lost(&fixture.call("s__die", "{}").await));
    // As long as this file is there a start fails, and a start that succeeds makes it.
    std::fs::remove_file(&started).unwrap();
    let begun = async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), begun)
        .await
        .unwrap();
    let up = after_the_delay(&fixture, "s__hello").await;
    assert!(matches!(up, ToolOutcome::Returned(_)), "{up:?}");
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn a_server_that_comes_up_with_other_tools_is_held_to_the_pinned_ones() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["anew"]))], root.path()).await;
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    assert!(lost(&fixture.call("s__die", "{}").await));
    let changed = fixture.call("s__hello", "{}").await;
    assert_eq!(changed, offer::changed());
    assert_eq!(fixture.text_of("s__slow", "{}").await, "slow but here");
    fixture.up.servers.close().await;
}

/// 001/6.servers.11
#[cfg(unix)]
#[tokio::test]
async fn a_frozen_server_is_replaced_and_a_slow_one_is_not() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::bring_up([("s", scripted(&[]))], root.path()).await;
    fixture.timeout_ms = 300;
    assert_eq!(fixture.call("s__never", "{}").await, ToolOutcome::TimedOut);
    fixture.timeout_ms = 20_000;
    // It remembers the call that was given up, so it is the same process.
    assert_eq!(
        fixture.text_of("s__cancelled", "{}").await,
        r#"["timeout"]"#
    );

    fixture.timeout_ms = 300;
    assert_eq!(fixture.call("s__freeze", "{}").await, ToolOutcome::TimedOut);
    fixture.timeout_ms = 20_000;
    assert_eq!(fixture.text_of("s__cancelled", "{}").await, "[]");
    fixture.up.servers.close().await;
}

/// 001 §6: the sign of life has more time than a call may take.
/// 001/6.servers.11
#[cfg(unix)]
#[tokio::test]
async fn a_frozen_server_is_replaced_although_no_call_has_the_time_to_ask_it() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::bring_up([("s", scripted(&[]))], root.path()).await;
    fixture.timeout_ms = 300;
    assert_eq!(fixture.call("s__freeze", "{}").await, ToolOutcome::TimedOut);
    let replaced = async {
        loop {
            match fixture.call("s__cancelled", "{}").await {
                ToolOutcome::RestartInProgress => {}
                other => return other,
            }
        }
    };
    let replaced = tokio::time::timeout(Duration::from_secs(20), replaced).await;
    match replaced.unwrap() {
        ToolOutcome::Returned(envelope) => assert_eq!(envelope.text(), "[]"),
        other => panic!("{other:?}"),
    }
    fixture.up.servers.close().await;
}

/// 001 §6: a server that does not implement ping is asked for its tools alone.
/// 001/6.servers.11
#[tokio::test]
async fn a_server_is_asked_for_a_sign_of_life_as_the_contract_says() {
    if !python() {
        return;
    }
    for (probe, expect) in [
        (HealthProbe::Ping, "ping"),
        (HealthProbe::ListTools, "tools/list"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let mut spec = scripted(&[]);
        if let ServerSpec::Stdio { terms, .. } = &mut spec {
            terms.health_probe = probe;
        }
        let mut fixture = Fixture::bring_up([("s", spec)], root.path()).await;
        fixture.timeout_ms = 300;
        assert_eq!(fixture.call("s__never", "{}").await, ToolOutcome::TimedOut);
        fixture.timeout_ms = 20_000;
        let asked = fixture.text_of("s__asked", "{}").await;
        let asked: Vec<String> = serde_json::from_str(&asked).unwrap();
        // Before it: the call that was given up; after it: this one.
        let [.., cancelled, probed, call] = asked.as_slice() else {
            panic!("{asked:?}");
        };
        assert_eq!(
            [cancelled, probed, call],
            ["notifications/cancelled", expect, "tools/call"],
            "{probe:?}"
        );
        fixture.up.servers.close().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn runs_that_shared_a_server_share_the_one_in_its_place() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let one = Fixture::bring_up_at(&host, [("s", scripted(&[]))], root.path()).await;
    let other = Fixture::bring_up_at(&host, [("s", scripted(&[]))], root.path()).await;
    let before = one.text_of("s__own_pid", "{}").await;
    assert_eq!(other.text_of("s__own_pid", "{}").await, before);
    assert!(lost(&one.call("s__die", "{}").await));
    let after = other.text_of("s__own_pid", "{}").await;
    assert_ne!(after, before);
    assert_eq!(one.text_of("s__own_pid", "{}").await, after);
    one.up.servers.close().await;
    assert_eq!(other.text_of("s__hello", "{}").await, "hello");
    other.up.servers.close().await;
    super::mcp::wait_until_gone(&after).await;
}
