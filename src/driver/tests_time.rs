//! Waits, deadlines and requests to end, in the real driver. Where nothing but time is waited for, time is paused: it goes on by
//! itself to the next timer, so moments are exact.

use super::Control;
use super::tests::{Watcher, call, end, replay, run, say};
use crate::kernel::State;

const HANGS: &str = r#"{"proto":"openai-chat","status":200,"response":"","fault":"hang"}"#;

/// An answer that tells to wait so many seconds.
fn limited(seconds: u64) -> String {
    format!(
        r#"{{"proto":"openai-chat","status":429,"headers":{{"retry-after":"{seconds}"}},"response":"slow down"}}"#
    )
}

/// The end of a run over that script, and when it came; the transcript replays.
async fn ends(script: &[String], sets: &[&str], watcher: Watcher) -> (String, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let finished = run(folder.path(), script, sets, watcher).await;
    let report = replay(folder.path(), &finished);
    assert!(report.same, "{:#?}", report.first_difference);
    (end(&finished), finished.elapsed_ms)
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_for_as_long_as_the_server_says() {
    let script = [limited(7), say("Done.")];
    let (end, at_ms) = ends(&script, &["tool_policy=optional"], Watcher::default()).await;
    assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)");
    assert_eq!(at_ms, 7_000);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_passes_a_deadline_ends_at_the_deadline() {
    for (set, expect) in [
        ("total_timeout_ms=5000", "FAILED_TIMEOUT (total_timeout)"),
        ("step_timeout_ms=5000", "FAILED_TIMEOUT (step_timeout)"),
    ] {
        let script = [limited(120), say("Too late.")];
        let (end, at_ms) = ends(&script, &[set], Watcher::default()).await;
        assert_eq!((end.as_str(), at_ms), (expect, 5_001), "{set}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_that_is_limited_is_followed_by_no_wait() {
    let script = [limited(7), limited(9), limited(3600)];
    let (end, at_ms) = ends(&script, &[], Watcher::default()).await;
    assert_eq!(end, "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
    assert_eq!(at_ms, 16_000);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_costs_an_attempt_each_llm_timeout() {
    let script = [HANGS, HANGS, HANGS].map(str::to_owned);
    let sets = ["llm_timeout_ms=1000"];
    let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
    assert_eq!(end, "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
    assert_eq!(at_ms, 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_wait_at_once() {
    let script = [limited(120), say("So far: nothing.")];
    let asked = Watcher::asking(State::Commit, &[Control::Stop]);
    let (end, at_ms) = ends(&script, &["tool_policy=optional"], asked).await;
    assert_eq!(
        (end.as_str(), at_ms),
        ("COMPLETED_CHAT_ONLY (synthesis)", 0)
    );
    let asked = Watcher::asking(State::Commit, &[Control::Stop]);
    let (end, at_ms) = ends(&script, &[], asked).await;
    assert_eq!((end.as_str(), at_ms), ("INTERRUPTED (stop)", 0));
}

#[tokio::test]
async fn a_second_stop_is_an_abort() {
    let script = [HANGS.to_owned()];
    let twice = Watcher::asking(State::Infer, &[Control::Stop, Control::Stop]);
    let (end, _) = ends(&script, &["tool_policy=optional"], twice).await;
    assert_eq!(end, "INTERRUPTED (abort)");
}

#[tokio::test]
async fn a_shutdown_ends_the_run_from_every_state() {
    for state in [
        State::Precheck,
        State::Infer,
        State::ValidateCalls,
        State::Execute,
        State::Observe,
        State::Commit,
    ] {
        let script = [call("read_file", r#"{"path":"LICENSE"}"#), HANGS.to_owned()];
        let asked = Watcher::asking(state, &[Control::Shutdown]);
        let (end, _) = ends(&script, &[], asked).await;
        assert_eq!(end, "INTERRUPTED (shutdown)", "{state}");
    }
    let script = [
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    let asked = Watcher::asking(State::Terminate, &[Control::Shutdown]);
    let (end, _) = ends(&script, &[], asked).await;
    assert_eq!(end, "COMPLETED_WITH_TOOLS (final_message)", "it has ended");
}
