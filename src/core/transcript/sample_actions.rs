//! An action with everything that one may have, for tests of its text.

use std::collections::BTreeSet;

use super::sample::{DONE, action, contract};
use crate::contract::{DelegationGrant, FlowAction, Label, ReportFormat, RulePlace};
use crate::kernel::{
    Action, BlockReason, Check, CheckName, ClosingReason, ContextAccount, ContextBlock, Counters,
    DropReason, DroppedResult, DroppedTarget, EffectRecord, EntryKind, FlowRecord, FlowSource,
    PolicyRecord, Predicate, PredicateName, ReportRecord, ReportSource, State,
};
use crate::message::{CallSeq, Digest, InferenceSeq, Parameter};

/// An action with every optional field and every effect.
pub(crate) fn full_action() -> Action {
    let digest = Digest::of(b"y");
    Action {
        blocked: vec![ContextBlock {
            dropped: Some(DroppedResult {
                original: 9,
                replacement: 8,
            }),
            limit: 1,
            projected: 2,
            reason: BlockReason::ToolPreflight,
            remaining: 0,
            target: "demo/\u{e9}".to_owned(),
        }],
        checks: vec![Check {
            detail: "ok \"é\"".to_owned(),
            name: CheckName::Structure,
            ok: true,
        }],
        closing: Some(ClosingReason::FinalReportFailed),
        context: Some(ContextAccount {
            ctx: 1,
            expected: 2,
            limit: 3,
            pending: 4,
            projected: 5,
            remaining: 6,
            schema: 7,
        }),
        discarded: vec![CallSeq(2), CallSeq(3)],
        dropped_targets: vec![
            DroppedTarget {
                limit: Some(1),
                projected: Some(2),
                reason: DropReason::FirstRequest,
                target: "demo/\u{e9}".to_owned(),
            },
            DroppedTarget {
                limit: None,
                projected: None,
                reason: DropReason::PermanentFault,
                target: "demo/\u{e9}".to_owned(),
            },
            DroppedTarget {
                limit: None,
                projected: None,
                reason: DropReason::StatedParameter,
                target: "demo/\u{e9}".to_owned(),
            },
            DroppedTarget {
                limit: None,
                projected: None,
                reason: DropReason::UnknownModel,
                target: "demo/\u{e9}".to_owned(),
            },
        ],
        flow: vec![FlowRecord {
            action: FlowAction::Ask,
            call: "c\u{e9}/1".to_owned(),
            rule: 3,
            seen: vec![FlowSource {
                entry: 4,
                label: Label::Untrusted,
                tool: "t\u{e9}".to_owned(),
            }],
            tool: "t\u{e9}".to_owned(),
        }],
        effects: vec![
            EffectRecord::Probe,
            EffectRecord::Infer {
                attempt: 1,
                inference: InferenceSeq(1),
                left_out: [Parameter::Seed].into(),
                notices: vec![digest],
                target: 0,
                tools: true,
            },
            EffectRecord::Infer {
                attempt: 2,
                inference: InferenceSeq(2),
                left_out: BTreeSet::new(),
                notices: Vec::new(),
                target: 1,
                tools: false,
            },
            EffectRecord::Execute {
                arguments_hash: digest,
                call: CallSeq(1),
                id: "call_1".to_owned(),
                name: "read_file".to_owned(),
            },
            EffectRecord::Delegate {
                arguments_hash: digest,
                call: CallSeq(2),
                grant: DelegationGrant {
                    max_cost_micro_usd: Some(7),
                    max_tokens: 8,
                    total_timeout_ms: 9,
                },
                id: "call_2".to_owned(),
                labels: Label::every(),
                name: "agent__scout".to_owned(),
            },
            EffectRecord::Delegate {
                arguments_hash: digest,
                call: CallSeq(3),
                grant: DelegationGrant {
                    max_cost_micro_usd: None,
                    max_tokens: 8,
                    total_timeout_ms: 9,
                },
                id: "call_3".to_owned(),
                labels: BTreeSet::new(),
                name: "agent__scout".to_owned(),
            },
            EffectRecord::Summarise {
                call: CallSeq(1),
                inference: InferenceSeq(2),
                target: 0,
            },
            EffectRecord::Sample {
                call: CallSeq(1),
                inference: InferenceSeq(3),
                target: 0,
            },
            EffectRecord::AwaitApproval {
                arguments_hash: digest,
                asked_by: None,
                call: CallSeq(1),
            },
            EffectRecord::AwaitApproval {
                arguments_hash: digest,
                asked_by: Some(RulePlace::Approval(2)),
                call: CallSeq(1),
            },
            EffectRecord::AwaitApproval {
                arguments_hash: digest,
                asked_by: Some(RulePlace::Flow(1)),
                call: CallSeq(1),
            },
            EffectRecord::Wait { until_ms: 9 },
            EffectRecord::Cancel,
            EffectRecord::Finish,
        ],
        length: Some(9),
        note: Some("a note\n".to_owned()),
        outcome: Some(DONE),
        policy: Some(PolicyRecord {
            decision: contract().policy_decision.clone(),
            matched: vec!["repository".to_owned()],
        }),
        counters: Counters {
            agents_ok: 1,
            below_cost_micro_usd: 2,
            below_tokens: 3,
            below_tools_ok: 4,
            ..Counters::default()
        },
        predicate: Some(Predicate {
            item: 6,
            name: PredicateName::TerminalResponse,
        }),
        report: Some(ReportRecord {
            bytes: 3,
            format: ReportFormat::MarkdownMermaid,
            hash: digest,
            source: ReportSource::Tool,
            warnings: vec!["the format \"html\" was taken as text".to_owned()],
        }),
        ..action(8, EntryKind::Seal, State::Terminate, State::Terminate)
    }
}

/// The parts of an action, each without what it may leave out.
pub(crate) fn sparse_action() -> Action {
    let full = full_action();
    Action {
        blocked: full
            .blocked
            .into_iter()
            .map(|blocked| ContextBlock {
                dropped: None,
                ..blocked
            })
            .collect(),
        context: full.context,
        report: full.report.map(|report| ReportRecord {
            warnings: Vec::new(),
            ..report
        }),
        ..action(9, EntryKind::Transition, State::Infer, State::Infer)
    }
}
