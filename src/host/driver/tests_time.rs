//! Waits, deadlines and requests to end, in the real driver. Where a test waits only for time, time is paused: it advances by
//! itself to the next timer, so moments are exact.

use std::ops::RangeInclusive;

use super::Finished;
use super::tests::{Watcher, call, chat, end, replay, run, say, tool_server};
use monolith_core::kernel::State;
use monolith_core::message::Role;
use monolith_core::session::Control;

const HANGS: &str = r#"{"proto":"openai-chat","status":200,"response":"","fault":"hang"}"#;

/// An answer that asks to wait so many seconds.
fn limited(seconds: u64) -> String {
    format!(
        r#"{{"proto":"openai-chat","status":429,"headers":{{"retry-after":"{seconds}"}},"response":"slow down"}}"#
    )
}

/// The total wait for one target after that many consecutive faults without a stated wait: `min(1000 × 2^k, 60000)` ms for each,
/// and a jitter of 0 to half of that.
fn backoffs(faults: u32) -> RangeInclusive<u64> {
    let plain: u64 = (0..faults).map(|k| (1_000_u64 << k).min(60_000)).sum();
    plain..=plain * 3 / 2
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
async fn a_rate_limit_is_waited_for_as_long_as_the_server_asks() {
    let script = [limited(7), say("Done.")];
    let (end, at_ms) = ends(&script, &["tool_policy=optional"], Watcher::default()).await;
    assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)");
    assert_eq!(at_ms, 7_000);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_passes_a_deadline_is_not_begun() {
    for (set, expect) in [
        ("total_timeout_ms=5000", "FAILED_TIMEOUT (total_timeout)"),
        ("step_timeout_ms=5000", "FAILED_TIMEOUT (step_timeout)"),
    ] {
        let script = [limited(120), say("Too late.")];
        let (end, at_ms) = ends(&script, &[set], Watcher::default()).await;
        assert_eq!((end.as_str(), at_ms), (expect, 0), "{set}");
    }
}

/// 001/1.stop.3
#[tokio::test(start_paused = true)]
async fn the_last_attempt_that_is_limited_is_followed_by_no_wait() {
    let script = [limited(7), limited(9), limited(3600)];
    let (end, at_ms) = ends(&script, &[], Watcher::default()).await;
    assert_eq!(end, "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
    assert_eq!(at_ms, 16_000);
}

/// 001/2.knobs.6
#[tokio::test(start_paused = true)]
async fn a_silent_model_costs_an_attempt_each_llm_timeout() {
    let script = [HANGS, HANGS, HANGS].map(str::to_owned);
    let sets = ["llm_timeout_ms=1000"];
    let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
    assert_eq!(end, "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
    // The hold after the last attempt is not waited for.
    assert!(backoffs(2).contains(&(at_ms - 3 * 1_000)), "{at_ms}");
}

/// An answer of status 429 with that header.
fn limited_by(name: &str, value: &str) -> String {
    let headers = serde_json::json!({ name: value });
    format!(r#"{{"proto":"openai-chat","status":429,"headers":{headers},"response":"slow down"}}"#)
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_means_nothing_is_replaced_by_the_backoff() {
    for value in [
        "-5",
        "0",
        "",
        "soon",
        "NaN",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "1,5",
    ] {
        let script = [
            limited_by("Retry-After", value),
            limited_by("retry-after", value),
            say("Done."),
        ];
        let (end, at_ms) = ends(&script, &["tool_policy=optional"], Watcher::default()).await;
        assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)", "{value}");
        assert!(backoffs(2).contains(&at_ms), "{value}: {at_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_end_is_not_begun() {
    for value in [
        "3e7",
        "99999999999999999999",
        "1e300",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let script = [limited_by("retry-after", value), say("Too late.")];
        let sets = ["tool_policy=optional", "total_timeout_ms=9000"];
        let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
        let expect = ("FAILED_TIMEOUT (total_timeout)", 0);
        assert_eq!((end.as_str(), at_ms), expect, "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_backoff_doubles_up_to_a_minute() {
    let mut script: Vec<String> = vec![limited_by("x", "y"); 9];
    script.push(say("Done."));
    let sets = ["tool_policy=optional", "max_attempts_per_turn=10"];
    let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
    assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)");
    assert!(backoffs(9).contains(&at_ms), "{at_ms}");
}

const TWO: &str = "targets=[{provider: demo, model: script}, {provider: demo, model: other}]";

#[tokio::test(start_paused = true)]
async fn a_fault_that_may_pass_holds_its_target_and_the_next_is_asked_at_once() {
    let refused = r#"{"proto":"openai-chat","fault":"refused"}"#.to_owned();
    let reset =
        r#"{"proto":"openai-chat","status":200,"response":"{}","fault":"reset","after_bytes":1}"#;
    let broken = r#"{"proto":"openai-chat","status":500,"response":"oh no"}"#.to_owned();
    let slow = r#"{"proto":"openai-chat","status":504,"response":"too slow"}"#.to_owned();
    for fault in [refused, reset.to_owned(), broken, slow] {
        let sets = ["tool_policy=optional", TWO];
        let script = [fault.clone(), say("Done.")];
        let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
        let expect = ("COMPLETED_CHAT_ONLY (final_message)", 0);
        assert_eq!((end.as_str(), at_ms), expect, "{fault}");
        // The second target is held, too, and is free before the first.
        let script = [limited(7), fault.clone(), say("Done.")];
        let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
        assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)", "{fault}");
        assert!(backoffs(1).contains(&at_ms), "{fault}: {at_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_targets_are_all_on_hold_waits_for_the_one_that_is_free_first() {
    for (first, second) in [(3, 11), (11, 3)] {
        let script = [limited(first), limited(second), say("Done.")];
        let sets = ["tool_policy=optional", TWO];
        let (end, at_ms) = ends(&script, &sets, Watcher::default()).await;
        assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)", "{first}");
        assert_eq!(at_ms, 3_000, "{first}");
    }
}

/// 001/1.models.3
#[tokio::test(start_paused = true)]
async fn a_refused_key_or_a_used_up_quota_asks_no_other_target() {
    let auth = r#"{"proto":"openai-chat","status":401,"response":"no such key"}"#;
    let quota = r#"{"proto":"openai-chat","status":429,"response":"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"used up\"}}"}"#;
    for (body, code) in [(auth, "provider_auth"), (quota, "provider_quota")] {
        let first = [body.to_owned(), say("Never asked.")];
        let (before, at_ms) = ends(&first, &[TWO], Watcher::default()).await;
        assert_eq!((before, at_ms), (format!("FAILED_PREFLIGHT ({code})"), 0));
        let second = [
            call("read_file", r#"{"path":"LICENSE"}"#),
            body.to_owned(),
            say("Never asked."),
        ];
        let (after, _) = ends(&second, &[TWO], Watcher::default()).await;
        assert_eq!(after, format!("FAILED_BUDGET_EXHAUSTED ({code})"));
    }
}

/// 001/1.stop.1
#[tokio::test]
async fn an_abort_and_a_second_stop_end_the_run_from_every_state() {
    for (asked, code) in [
        (&[Control::Abort] as &'static [Control], "abort"),
        (&[Control::Stop, Control::Stop], "abort"),
    ] {
        for state in [
            State::Precheck,
            State::Infer,
            State::ValidateCalls,
            State::Execute,
            State::Observe,
            State::Commit,
        ] {
            let script = [call("read_file", r#"{"path":"LICENSE"}"#), HANGS.to_owned()];
            let (end, _) = ends(&script, &[], Watcher::asking(state, asked)).await;
            assert_eq!(end, format!("INTERRUPTED ({code})"), "{state}");
        }
    }
}

/// 001/1.stop.1, 001/1.stop.2
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

/// A run that was asked to suspend begins nothing more, and is left where something is due.
#[tokio::test(start_paused = true)]
async fn a_suspended_run_is_left_from_every_state_and_issues_nothing() {
    for (state, rests) in [
        (State::Precheck, State::Infer),
        (State::Infer, State::Execute),
        (State::ValidateCalls, State::Infer),
        (State::Execute, State::Infer),
        (State::Observe, State::Infer),
        (State::Commit, State::Infer),
    ] {
        let script = [call("read_file", r#"{"path":"LICENSE"}"#), HANGS.to_owned()];
        let asked = Watcher::asking(state, &[Control::Suspend]);
        let folder = tempfile::tempdir().expect("a folder");
        let finished = run(folder.path(), &script, &[], asked).await;
        assert!(finished.run.is_suspended(), "{state}");
        assert_eq!(
            (finished.run.outcome(), finished.run.state()),
            (None, rests),
            "{state}"
        );
    }
    let script = [
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    let asked = Watcher::asking(State::Terminate, &[Control::Suspend]);
    let (end, _) = ends(&script, &[], asked).await;
    assert_eq!(end, "COMPLETED_WITH_TOOLS (final_message)", "it has ended");
}

/// Two calls of a tool that never answers, in one message; the second must wait for the first.
fn two_calls_that_never_end() -> String {
    let one = |id: &str| {
        serde_json::json!({"id": id, "type": "function",
            "function": {"name": "s__never", "arguments": "{}"}})
    };
    let calls = serde_json::json!({"role": "assistant", "content": null, "tool_calls": [one("a"), one("b")]});
    chat(&calls, "tool_calls")
}

/// 000/1.queues.2
#[tokio::test]
async fn a_call_that_waits_in_its_queue_has_its_whole_time_and_a_stop_lets_it_not_begin() {
    let Some(tools) = tool_server(", queue: one") else {
        return;
    };
    let sets = [
        tools.as_str(),
        "queues.one.concurrent=1",
        "parallel_tool_calls=true",
        "parallel_safe=[s__never]",
        "tool_policy=optional",
        "tool_timeout_ms=300",
    ];
    let said = |finished: &Finished| -> Vec<String> {
        let talk = finished.run.conversation().iter();
        let observed = talk.filter(|message| message.role == Role::Tool);
        observed.map(|message| message.content.clone()).collect()
    };
    let script = [two_calls_that_never_end(), say("Neither answered.")];
    let folder = tempfile::tempdir().expect("a folder");
    let finished = run(folder.path(), &script, &sets, Watcher::default()).await;
    assert_eq!(said(&finished), ["(tool failed: timeout)"; 2]);
    assert!(finished.elapsed_ms >= 600, "{}", finished.elapsed_ms);
    assert!(replay(folder.path(), &finished).same);

    let folder = tempfile::tempdir().expect("a folder");
    let asked = Watcher::asking(State::Execute, &[Control::Stop]);
    let finished = run(folder.path(), &script, &sets, asked).await;
    assert_eq!(
        said(&finished),
        [
            "(tool failed: timeout)",
            "(tool failed: not started: stop requested)"
        ]
    );
    assert_eq!(end(&finished), "COMPLETED_CHAT_ONLY (synthesis)");
    assert!(replay(folder.path(), &finished).same);
}
