//! Faults of providers (semantics §4): holds, waits, drops and refused parameters.

use super::testing::*;
use super::tests_rules::{optional, resumed};
use super::{Effect, EventKind, InferenceFailed, LostEffect, Resumed};
use crate::contract::Terms;
use crate::message::{Parameter, ProviderFault, ProviderFaultClass};

fn failed_with(h: &mut Harness, change: impl FnOnce(&mut ProviderFault)) {
    let mut fault = ProviderFault::new(ProviderFaultClass::Model, "no");
    change(&mut fault);
    let failed = InferenceFailed {
        fault,
        gated: false,
        inference: h.inference(),
        redacted: false,
        request_hash: None,
        usage: None,
    };
    h.push(EventKind::InferenceFailed(failed));
}

#[test]
fn a_wait_beyond_a_deadline_ends_the_run_at_once() {
    let mut h = Harness::inferring(Terms {
        step_timeout_ms: 60_000,
        ..optional()
    });
    failed_with(&mut h, |fault| fault.retry_after_ms = Some(60_001));
    assert_eq!(h.end(), "FAILED_TIMEOUT (step_timeout)");
    let mut h = Harness::inferring(Terms {
        total_timeout_ms: 60_000,
        ..optional()
    });
    let mut other = h.clone();
    failed_with(&mut h, |fault| fault.retry_after_ms = Some(60_001));
    assert_eq!(h.end(), "FAILED_TIMEOUT (total_timeout)");
    failed_with(&mut other, |fault| fault.retry_after_ms = Some(60_000));
    assert_eq!(other.effects, [Effect::Wait { until_ms: 60_000 }]);
}

#[test]
fn a_wait_that_a_provider_asks_for_counts_on_every_fault() {
    for status in [409, 423, 425] {
        let mut h = Harness::inferring(optional());
        failed_with(&mut h, |fault| {
            fault.retry_after_ms = Some(2_000);
            fault.status = Some(status);
        });
        assert_eq!(h.effects, [Effect::Wait { until_ms: 2_000 }], "{status}");
    }
}

#[test]
fn one_model_of_one_provider_has_one_hold() {
    let twice = Terms {
        targets: vec![target("script"), target("script")],
        ..optional()
    };
    let mut h = Harness::inferring(twice);
    failed_with(&mut h, |fault| {
        fault.class = ProviderFaultClass::RateLimit;
        fault.retry_after_ms = Some(2_000);
    });
    assert_eq!(h.effects, [Effect::Wait { until_ms: 2_000 }]);
}

#[test]
fn a_hold_shrinks_by_the_time_without_a_process() {
    let mut h = Harness::inferring(optional());
    failed_with(&mut h, |fault| fault.retry_after_ms = Some(60_000));
    let EventKind::Resumed(resumed) = resumed(&h) else {
        panic!("it is one");
    };
    h.push(EventKind::Resumed(Resumed {
        elapsed_ms: 45_000,
        ..resumed
    }));
    h.push(EventKind::EffectLost(LostEffect::Wait));
    assert_eq!(h.effects, [Effect::Wait { until_ms: 15_000 }]);
}

#[test]
fn a_refused_default_is_left_out_of_a_request_that_is_no_attempt() {
    let mut h = Harness::inferring(optional());
    for parameter in [
        Parameter::StreamOptions,
        Parameter::Store,
        Parameter::Include,
    ] {
        failed_with(&mut h, |fault| {
            fault.permanent = true;
            fault.parameters = vec![parameter];
        });
        let request = h.request().expect("it is repeated");
        assert_eq!(request.attempt, 1);
        assert!(request.left_out.contains(&parameter));
    }
    failed_with(&mut h, |fault| {
        fault.permanent = true;
        fault.parameters = vec![Parameter::ToolChoice];
    });
    assert_eq!(h.end(), "FAILED_PREFLIGHT (model_unavailable)");
}

#[test]
fn the_last_repeated_request_leaves_out_every_default_that_it_can_do_without() {
    let mut terms = optional();
    for target in &mut terms.targets {
        target.sampling.temperature = Some(0.7);
        target.sampling.top_p = Some(1.0);
        target.sampling.repeat_penalty = Some(1.1);
        target.sampling.defaulted = ["repeat_penalty", "temperature", "top_p"]
            .map(str::to_owned)
            .to_vec();
    }
    let mut h = Harness::inferring(terms);
    let mut left_out = Vec::new();
    for parameter in [
        Parameter::StreamOptions,
        Parameter::TopP,
        Parameter::ParallelToolCalls,
    ] {
        failed_with(&mut h, |fault| {
            fault.permanent = true;
            fault.parameters = vec![parameter];
        });
        let request = h.request().expect("it is repeated");
        assert_eq!(request.attempt, 1);
        left_out.push(request.left_out.clone());
    }
    assert_eq!(
        left_out[1],
        [Parameter::StreamOptions, Parameter::TopP].into()
    );
    for parameter in [
        Parameter::ParallelToolCalls,
        Parameter::RepeatPenalty,
        Parameter::Temperature,
        Parameter::ToolChoice,
    ] {
        assert!(left_out[2].contains(&parameter), "{parameter:?}");
    }
    // What a request is protected by, and what its provider gave, is left out by name alone.
    for parameter in [
        Parameter::Include,
        Parameter::ProviderState,
        Parameter::Store,
    ] {
        assert!(!left_out[2].contains(&parameter), "{parameter:?}");
    }
}

#[test]
fn a_refused_member_of_the_authors_options_is_stated_and_the_form_of_a_level_is_not() {
    let mut terms = optional();
    for target in &mut terms.targets {
        target.sampling.reasoning = Some("high".to_owned());
    }
    let mut h = Harness::inferring(terms);
    let mut other = h.clone();
    failed_with(&mut h, |fault| {
        fault.permanent = true;
        fault.parameters = vec![Parameter::ReasoningForm];
    });
    let request = h.request().expect("it is repeated in the other form");
    assert_eq!(request.left_out, [Parameter::ReasoningForm].into());
    failed_with(&mut other, |fault| {
        fault.permanent = true;
        fault.parameters = vec![Parameter::ProviderOptions];
    });
    assert_eq!(other.end(), "FAILED_PREFLIGHT (profile_incompatible)");
}

#[test]
fn a_stated_parameter_that_is_refused_drops_its_target_for_the_run() {
    let stating = || {
        let mut terms = Terms {
            targets: vec![target("script"), target("other")],
            ..optional()
        };
        for target in &mut terms.targets {
            target.sampling.temperature = Some(0.3);
        }
        terms
    };
    let refuse = |h: &mut Harness| {
        failed_with(h, |fault| {
            fault.permanent = true;
            fault.parameters = vec![Parameter::Temperature];
        });
    };
    let mut h = Harness::inferring(stating());
    refuse(&mut h);
    let request = h.request().expect("the next target");
    assert_eq!((request.attempt, request.target), (2, 1));
    let mut later = h.clone();
    refuse(&mut h);
    assert_eq!(h.end(), "FAILED_PREFLIGHT (profile_incompatible)");
    later.answer(calls(&["read"]));
    later.run_tools();
    refuse(&mut later);
    assert_eq!(later.end(), "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
}
