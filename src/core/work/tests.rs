//! The machine, event by event: the rows of 004's table of errors, the denials, deadlines, conflicts and resumption.

use super::testing::*;
use super::*;

/// The status, and the error or the reason of the denial.
fn verdict(end: &WorkEnd) -> (WorkStatus, String) {
    let denial = end.denial.as_ref().map(ToString::to_string);
    let text = end.error.clone().or(denial).unwrap_or_default();
    (end.status, text)
}

fn check(item: WorkItem, events: Vec<WorkEventKind>, status: WorkStatus, text: &str) {
    let shown = format!("{events:?}");
    let end = end(item, events);
    assert_eq!(verdict(&end), (status, text.to_owned()), "{shown}");
}

fn states(item: WorkItem, events: Vec<WorkEventKind>) -> Vec<&'static str> {
    let (_, drafts) = driven(item, events);
    drafts
        .iter()
        .map(|draft| draft.action.to.as_str())
        .collect()
}

/// 004/4.atomic.6
#[test]
fn an_item_with_tests_goes_through_every_state() {
    let expect = [
        "queued",
        "running",
        "running",
        "testing",
        "publishing",
        "success",
    ];
    assert_eq!(states(item(), success()), expect);
}

/// 004/4.atomic.6
#[test]
fn an_item_without_tests_is_published_once_it_is_admitted() {
    let events = vec![prepared(), run_ended(2), compared(1), published()];
    let expect = ["queued", "running", "running", "publishing", "success"];
    assert_eq!(states(untested(), events), expect);
}

/// 004/4.atomic.4, 004/9.errors.1
#[test]
fn each_broken_limit_is_a_denial_and_nothing_is_published() {
    let after = |calls, files| vec![prepared(), run_ended(calls), compared(files)];
    let denied = WorkStatus::Denied;
    check(item(), after(0, 3), denied, "Exceeded max files: 3 > 2");
    check(item(), after(4, 1), denied, "Exceeded max tool ops: 4 > 3");
    let mut wide = item();
    wide.constraints.max_files = 9;
    check(wide, after(0, 5), denied, "Exceeded max delta size: 5 > 4");
}

/// 004/4.atomic.3
#[test]
fn a_run_that_wants_one_call_too_many_is_denied_by_rule_2() {
    let mut used_up = agent_end(3);
    used_up.calls.limit = Some(RunLimit::Calls);
    used_up.failure = Some("FAILED_BUDGET_EXHAUSTED (max_calls)".to_owned());
    let ended = WorkEventKind::RunEnded(Box::new(used_up));
    let events = vec![prepared(), ended, compared(0)];
    check(
        item(),
        events,
        WorkStatus::Denied,
        "Exceeded max tool ops: 4 > 3",
    );
}

#[test]
fn an_equal_item_is_denied_before_its_run_or_is_done_already() {
    let receipt_id = "r".to_owned();
    let denial = Denial::Duplicate {
        receipt_id: receipt_id.clone(),
    };
    let refused = vec![WorkEventKind::Refused(denial)];
    check(
        item(),
        refused,
        WorkStatus::Denied,
        "Duplicate run: receipt r",
    );
    let done = end(item(), vec![WorkEventKind::AlreadyDone { receipt_id }]);
    assert_eq!(
        (done.status, done.receipt_id.as_deref()),
        (WorkStatus::Success, Some("r"))
    );
}

#[test]
fn a_call_outside_the_tree_is_a_denial() {
    let mut ended = agent_end(1);
    ended.calls.external = vec!["send_mail".to_owned()];
    let ended = WorkEventKind::RunEnded(Box::new(ended));
    let events = vec![prepared(), ended, compared(1)];
    check(
        item(),
        events,
        WorkStatus::Denied,
        "External effect: send_mail",
    );
}

/// 004/2.context.3, 004/9.errors.2
#[test]
fn a_test_command_that_does_not_end_with_0_is_a_failure() {
    let failing = |code| vec![prepared(), run_ended(1), compared(1), tested(code)];
    check(item(), failing(1), WorkStatus::Failure, "Tests failed");
    let killed = WorkEventKind::Tested(Box::new(TestEnd {
        exit_code: None,
        failed: None,
        output: String::new(),
        output_blob: None,
        output_digest: digest(""),
        passed: None,
    }));
    let events = vec![prepared(), run_ended(1), compared(1), killed];
    check(item(), events, WorkStatus::Failure, "Tests failed");
}

/// 004/2.constraints.5, 004/9.errors.3
#[test]
fn the_deadline_covers_agent_and_tests() {
    let (mut work, _) = Work::start(started(item(), &[]));
    let mut step = |at_ms, event| work.step(WorkEvent { at_ms, event });
    step(500, prepared());
    step(900, run_ended(1));
    step(1_000, compared(1));
    let early = step(1_499, WorkEventKind::TimerFired).expect("an entry");
    assert_eq!(early.action.kind, WorkEntryKind::Ignored);
    let stopped = step(1_500, WorkEventKind::TimerFired).expect("an entry");
    assert_eq!(stopped.action.effect, Some(WorkEffect::Stop));
    // Even if the tests passed.
    let seal = step(1_501, tested(0)).expect("an entry");
    let end = seal.action.end.expect("an end");
    assert_eq!(
        verdict(&end),
        (WorkStatus::Timeout, "the deadline passed".to_owned())
    );
}

#[test]
fn a_run_that_its_contract_stops_at_the_deadline_is_a_timeout() {
    let mut late = agent_end(1);
    late.calls.limit = Some(RunLimit::Time);
    late.failure = Some("FAILED_BUDGET_EXHAUSTED (total_timeout)".to_owned());
    let events = vec![
        prepared(),
        WorkEventKind::RunEnded(Box::new(late)),
        compared(0),
    ];
    check(item(), events, WorkStatus::Timeout, "the deadline passed");
}

#[test]
fn publishing_that_has_begun_is_not_interrupted() {
    let (mut work, _) = driven(
        item(),
        vec![prepared(), run_ended(1), compared(1), tested(0)],
    );
    assert_eq!(work.next_deadline(), None);
    let mut step = |event| {
        work.step(WorkEvent {
            at_ms: 9_999,
            event,
        })
    };
    let timer = step(WorkEventKind::TimerFired).expect("an entry");
    assert_eq!(timer.action.kind, WorkEntryKind::Ignored);
    let stopped = step(WorkEventKind::StopRequested).expect("an entry");
    assert_eq!(stopped.action.effect, None);
    let seal = step(published()).expect("an entry");
    assert_eq!(seal.action.to, WorkState::Success);
}

/// 004/9.errors.4
#[test]
fn a_failed_call_fails_the_item_if_it_says_so() {
    let ended = || {
        let mut ended = agent_end(1);
        ended.calls.failed = Some("shell".to_owned());
        WorkEventKind::RunEnded(Box::new(ended))
    };
    let mut strict = item();
    strict.tool_errors = ToolErrors::Fail;
    let events = vec![prepared(), ended(), compared(1)];
    check(strict, events, WorkStatus::Failure, "tool failed: shell");
    let events = vec![prepared(), ended(), compared(1), tested(0), published()];
    check(item(), events, WorkStatus::Success, "");
}

#[test]
fn a_run_without_success_is_a_failure_with_its_outcome_and_code() {
    let mut failed = agent_end(1);
    failed.failure = Some("FAILED_PROVIDER (unreachable)".to_owned());
    let ended = |end: &AgentEnd| WorkEventKind::RunEnded(Box::new(end.clone()));
    let events = vec![prepared(), ended(&failed), compared(9)];
    check(
        item(),
        events,
        WorkStatus::Failure,
        "FAILED_PROVIDER (unreachable)",
    );
    failed.head = None;
    failed.failure = Some("no such model".to_owned());
    let events = vec![prepared(), ended(&failed)];
    check(item(), events, WorkStatus::Failure, "no such model");
}

/// 004/2.context.1, 004/2.context.2
#[test]
fn a_missing_input_ends_it_before_the_run_and_a_missing_output_before_publishing() {
    let missing = WorkEventKind::Prepared {
        before: digest("before"),
        missing_inputs: vec![path("a.md")],
    };
    check(
        item(),
        vec![missing],
        WorkStatus::Failure,
        "input file missing: a.md",
    );
    let mut capsule = changes(1);
    capsule.missing_outputs = vec![path("b.md")];
    let compared = WorkEventKind::Compared(Box::new(capsule));
    let events = vec![prepared(), run_ended(1), compared];
    check(
        item(),
        events,
        WorkStatus::Failure,
        "output file missing: b.md",
    );
}

/// The event of a dependency that ended, with its receipt unless it succeeded.
fn dependency_ended(id: &str, status: WorkStatus) -> WorkEvent {
    let event = WorkEventKind::DependencyEnded {
        id: id.to_owned(),
        receipt_id: (status != WorkStatus::Success).then(|| format!("receipt of {id}")),
        status,
    };
    WorkEvent { at_ms: 1, event }
}

/// 004/2.item.4, 004/9.errors.5
#[test]
fn an_item_is_blocked_until_every_dependency_has_succeeded() {
    let (mut work, first) = Work::start(started(item(), &["a", "b"]));
    assert_eq!(
        (first.action.to, first.action.effect),
        (WorkState::Blocked, None)
    );
    for (id, status, state) in [
        ("stranger", WorkStatus::Failure, WorkState::Blocked),
        ("b", WorkStatus::Success, WorkState::Blocked),
        ("a", WorkStatus::Success, WorkState::Queued),
    ] {
        let draft = work.step(dependency_ended(id, status)).expect("an entry");
        assert_eq!(draft.action.to, state, "{id}");
    }
    assert_eq!(work.under_way(), Some(&WorkEffect::Prepare { attempt: 1 }));
}

#[test]
fn a_dependency_without_success_fails_the_item() {
    for status in [WorkStatus::Failure, WorkStatus::Denied, WorkStatus::Timeout] {
        let (mut work, _) = Work::start(started(item(), &["a"]));
        work.step(dependency_ended("a", status));
        let end = work.end().expect("an end");
        assert_eq!(
            verdict(end),
            (WorkStatus::Failure, "dependency_failed: a".to_owned())
        );
    }
}

#[test]
fn an_item_that_reconciles_begins_once_every_dependency_has_ended() {
    let mut reconciler = item();
    reconciler.reconciles = true;
    let (mut work, _) = Work::start(started(reconciler, &["a", "b", "c"]));
    for (id, status, state) in [
        ("b", WorkStatus::Failure, WorkState::Blocked),
        ("b", WorkStatus::Failure, WorkState::Blocked),
        ("c", WorkStatus::Success, WorkState::Blocked),
        ("a", WorkStatus::Denied, WorkState::Queued),
    ] {
        let draft = work.step(dependency_ended(id, status)).expect("an entry");
        assert_eq!(draft.action.to, state, "{id}");
    }
    assert_eq!(work.reconciled(), ["receipt of b", "receipt of a"]);
}

#[test]
fn a_conflict_fails_the_item_or_runs_it_again_on_the_new_tree() {
    let conflict = || WorkEventKind::Conflict {
        paths: vec![path("f0")],
    };
    let attempt = || vec![prepared(), run_ended(1), compared(1), tested(0), conflict()];
    let failed = end(item(), attempt());
    assert_eq!(
        verdict(&failed),
        (WorkStatus::Failure, "conflict".to_owned())
    );
    assert_eq!(failed.conflicts, [path("f0")]);
    // It is found as soon as the tests are to run on the new tree.
    let before_tests = vec![prepared(), run_ended(1), compared(1), conflict()];
    check(item(), before_tests, WorkStatus::Failure, "conflict");
    let mut again = item();
    again.on_conflict = OnConflict::Serialize;
    let (work, _) = driven(again.clone(), attempt());
    assert_eq!(work.under_way(), Some(&WorkEffect::Prepare { attempt: 2 }));
    assert_eq!(
        (work.before(), work.capsule(), work.tests()),
        (None, None, None)
    );
    let attempts = (0..MAX_ATTEMPTS).flat_map(|_| attempt()).collect();
    check(again, attempts, WorkStatus::Failure, "conflict");
}

#[test]
fn tests_run_again_on_the_merged_tree_a_bounded_number_of_times() {
    let mut events = vec![prepared(), run_ended(1), compared(1), tested(0)];
    events.push(WorkEventKind::Moved);
    let (work, _) = driven(item(), events.clone());
    let effect = work.under_way().expect("an effect");
    assert!(
        matches!(
            effect,
            WorkEffect::Test {
                is_merged: true,
                ..
            }
        ),
        "{effect:?}"
    );
    for _ in 0..MAX_MOVES {
        events.extend([tested(0), WorkEventKind::Moved]);
    }
    let text = "the work tree changed more than 8 times while the item ran";
    check(item(), events, WorkStatus::Failure, text);
}

#[test]
fn without_tests_a_moved_tree_is_published_to_again() {
    let events = vec![prepared(), run_ended(1), compared(1), WorkEventKind::Moved];
    let (work, _) = driven(untested(), events);
    assert_eq!(work.under_way(), Some(&WorkEffect::Publish));
}

/// 004/4.atomic.10
#[test]
fn publishing_that_fails_is_rolled_back() {
    let reason = || "no space left".to_owned();
    let failed = || WorkEventKind::PublishFailed { reason: reason() };
    let begun = || vec![prepared(), run_ended(1), compared(1), tested(0), failed()];
    let mut events = begun();
    events.push(WorkEventKind::RolledBack);
    assert_eq!(
        states(item(), events.clone())[5..],
        ["rolled_back", "failure"]
    );
    check(item(), events, WorkStatus::Failure, "no space left");
    let mut events = begun();
    events.push(WorkEventKind::RollBackFailed { reason: reason() });
    let end = end(item(), events);
    let text = "rollback_failed: no space left".to_owned();
    assert_eq!(verdict(&end), (WorkStatus::Failure, text));
    assert!(end.rollback_failed);
}

#[test]
fn a_stop_ends_the_effect_under_way_and_nothing_is_published() {
    let stop = || WorkEventKind::StopRequested;
    let failure = WorkStatus::Failure;
    check(item(), vec![stop()], failure, "stopped by a person");
    let events = vec![prepared(), stop(), run_ended(1)];
    check(item(), events, failure, "stopped by a person");
    let events = vec![prepared(), run_ended(1), compared(1), stop(), tested(0)];
    check(item(), events, failure, "stopped by a person");
    // Publishing had begun, but its result would be another attempt.
    let paths = Vec::new();
    let conflict = WorkEventKind::Conflict { paths };
    let events = vec![
        prepared(),
        run_ended(1),
        compared(1),
        tested(0),
        stop(),
        conflict,
    ];
    let mut again = item();
    again.on_conflict = OnConflict::Serialize;
    check(again, events, failure, "stopped by a person");
}

#[test]
fn a_resumed_item_begins_its_effect_again_with_the_time_that_is_left() {
    let events = vec![
        prepared(),
        WorkEventKind::RunSuspended,
        WorkEventKind::Resumed,
    ];
    let (_, drafts) = driven(item(), events);
    let effects: Vec<_> = drafts
        .iter()
        .map(|draft| draft.action.effect.clone())
        .collect();
    let run = |timeout_ms| {
        let attempt = 1;
        Some(WorkEffect::Run {
            attempt,
            timeout_ms,
        })
    };
    let prepare = Some(WorkEffect::Prepare { attempt: 1 });
    assert_eq!(effects, [prepare, run(1_000), None, run(980)]);
}

#[test]
fn a_process_that_died_while_it_stopped_a_run_ends_the_item_on_resumption() {
    let events = vec![
        prepared(),
        WorkEventKind::StopRequested,
        WorkEventKind::Resumed,
    ];
    check(item(), events, WorkStatus::Failure, "stopped by a person");
}

#[test]
fn a_host_that_cannot_perform_an_effect_ends_the_item_with_its_reason() {
    let reason = || WorkEventKind::HostFailed {
        reason: "no folder".to_owned(),
    };
    let ways = [
        vec![],
        vec![prepared()],
        vec![prepared(), run_ended(1)],
        vec![prepared(), run_ended(1), compared(1)],
    ];
    for mut events in ways {
        events.push(reason());
        check(item(), events, WorkStatus::Failure, "no folder");
    }
}

#[test]
fn a_long_reason_is_cut_at_a_character() {
    let reason = "é".repeat(MAX_WORK_REASON_BYTES);
    let end = end(item(), vec![WorkEventKind::HostFailed { reason }]);
    let text = end.error.expect("an error");
    assert_eq!(text.len(), MAX_WORK_REASON_BYTES);
}

#[test]
fn nothing_is_written_after_the_end() {
    let (mut work, drafts) = driven(item(), success());
    let seal = drafts.last().expect("an entry");
    assert_eq!(seal.action.length, Some(6));
    let event = published();
    assert_eq!(work.step(WorkEvent { at_ms: 1, event }), None);
}

#[test]
fn a_fold_finds_the_entry_that_the_machine_decides_otherwise() {
    let (work, drafts) = driven(item(), success());
    let mut fold = WorkFold::default();
    for draft in &drafts {
        fold.apply(&draft.action, &draft.event)
            .expect("the same entry");
    }
    assert_eq!(fold.into_work(), Some(work));
    let mut fold = WorkFold::default();
    let mut changed = drafts[0].action.clone();
    changed.to = WorkState::Success;
    let error = fold
        .apply(&changed, &drafts[0].event)
        .expect_err("an error");
    assert_eq!(error.seq, 0);
    let late = &drafts[1];
    let error = WorkFold::default().apply(&late.action, &late.event);
    assert_eq!(error.expect_err("an error").expected, "no entry");
}
