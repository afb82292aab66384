//! Final reports in tags.

use super::Golden;
use crate::kernel::{EntryKind, Event, EventKind, State};
use crate::message::{AgentMessage, Digest, Role, Withheld};
use crate::transcript::sample;
use crate::view::{Entry, ReportFault};

#[test]
fn a_report_in_a_tag_counts_where_the_run_ends_with_it() {
    let view = Golden::of("session.xml_final").whole();
    let [report] = view.reports() else {
        panic!("one report, got {:?}", view.reports());
    };
    assert_eq!((report.counted, &report.fault), (Some(true), &None));
    assert!(report.bytes > 0);
}

#[test]
fn a_report_that_the_gate_holds_back_has_a_size_and_a_fault() {
    let golden = Golden::of("session.xml_final");
    let mut view = golden.view(1);
    let mut returned = golden.entries.iter().find_map(|entry| {
        let EventKind::InferenceReturned(returned) = &entry.entry().event?.event else {
            return None;
        };
        Some(returned.clone())
    });
    let returned = returned.as_mut().unwrap();
    let message = AgentMessage::text(Role::Assistant, "", 1);
    returned.result.canonical_message = Some(message);
    returned.result.withheld = Some(Withheld {
        blank: false,
        bytes: 9,
        hash: Digest::ZERO,
        report_bytes: Some(7),
    });
    let event = Event {
        at_ms: 5,
        event: EventKind::InferenceReturned(returned.clone()),
    };
    let mut take = |from, to, event: Option<&Event>| {
        let action = sample::action(1, EntryKind::Transition, from, to);
        let hash = Digest::ZERO;
        view.take(Entry {
            action: &action,
            event,
            hash,
        });
        let [report] = view.reports() else {
            panic!("one report, got {:?}", view.reports());
        };
        report.clone()
    };
    let report = take(State::Infer, State::ValidateCalls, Some(&event));
    assert_eq!((report.bytes, report.counted), (7, None));
    assert_eq!(report.fault, Some(ReportFault::HeldBack));
    let report = take(State::Commit, State::Infer, None);
    assert_eq!(report.counted, Some(false));
}

#[test]
fn calls_in_the_providers_own_form_give_no_report_in_a_tag() {
    for name in ["session.report_markdown", "session.json_schema"] {
        assert_eq!(Golden::of(name).whole().reports(), [], "{name}");
    }
}
