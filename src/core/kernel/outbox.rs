//! The output of one step: its entries, then its effects. Handlers collect the parts of the current entry, and the transition
//! hook seals them.

use super::{
    CallOrder, Check, ContextAccount, ContextBlock, DelegateOrder, DroppedTarget, Effect,
    EffectRecord, EntryDraft, Event, FlowRecord, InferRequest, Outcome, PolicyRecord, Predicate,
    ReportRecord, SampleRequest, SummaryRequest, ToolExposure,
};
use crate::message::{CallSeq, Digest};

/// The output of one step while it is being made.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) entries: Vec<EntryDraft>,
    effects: Vec<Effect>,
    pub(super) records: Vec<EffectRecord>,
    pub(super) checks: Vec<Check>,
    pub(super) policy: Option<PolicyRecord>,
    pub(super) predicate: Option<Predicate>,
    pub(super) blocked: Vec<ContextBlock>,
    pub(super) context: Option<ContextAccount>,
    pub(super) discarded: Vec<CallSeq>,
    pub(super) dropped: Vec<DroppedTarget>,
    pub(super) flow: Vec<FlowRecord>,
    pub(super) note: Option<String>,
    pub(super) report: Option<ReportRecord>,
}

impl Outbox {
    /// The step's effects: the entries first, as one batch. The first entry carries the event.
    pub(super) fn into_effects(mut self, event: Event) -> Vec<Effect> {
        if let Some(first) = self.entries.first_mut() {
            first.event = Some(event);
        }
        let mut effects = Vec::with_capacity(self.effects.len() + 1);
        effects.push(Effect::Append(self.entries));
        effects.extend(self.effects);
        effects
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn probe(&mut self) {
        self.issue(EffectRecord::Probe, Effect::Probe);
    }

    pub(super) fn infer(&mut self, request: InferRequest) {
        let record = EffectRecord::Infer {
            attempt: request.attempt,
            inference: request.inference,
            left_out: request.left_out.clone(),
            notices: request
                .notices
                .iter()
                .map(|notice| Digest::of(notice.content.as_bytes()))
                .collect(),
            target: u32::try_from(request.target).unwrap_or(u32::MAX),
            tools: request.tools != ToolExposure::Withheld,
        };
        self.issue(record, Effect::Infer(request));
    }

    pub(super) fn execute(&mut self, order: CallOrder) {
        let record = EffectRecord::Execute {
            arguments_hash: order.arguments_hash,
            call: order.call,
            id: order.invocation.id.clone(),
            name: order.invocation.name.clone(),
        };
        self.issue(record, Effect::Execute(order));
    }

    pub(super) fn delegate(&mut self, asked: DelegateOrder) {
        let order = &asked.order;
        let record = EffectRecord::Delegate {
            arguments_hash: order.arguments_hash,
            call: order.call,
            grant: asked.grant,
            id: order.invocation.id.clone(),
            labels: asked.labels.clone(),
            name: order.invocation.name.clone(),
        };
        self.issue(record, Effect::Delegate(asked));
    }

    pub(super) fn summarise(&mut self, asked: SummaryRequest) {
        let record = EffectRecord::Summarise {
            call: asked.call,
            inference: asked.request.inference,
            target: u32::try_from(asked.request.target).unwrap_or(u32::MAX),
        };
        self.issue(record, Effect::Summarise(asked));
    }

    pub(super) fn sample(&mut self, asked: SampleRequest) {
        let record = EffectRecord::Sample {
            call: asked.call,
            inference: asked.request.inference,
            target: u32::try_from(asked.request.target).unwrap_or(u32::MAX),
        };
        self.issue(record, Effect::Sample(asked));
    }

    pub(super) fn await_approval(&mut self, order: CallOrder) {
        let record = EffectRecord::AwaitApproval {
            arguments_hash: order.arguments_hash,
            asked_by: order.asked_by,
            call: order.call,
        };
        self.issue(record, Effect::AwaitApproval(order));
    }

    pub(super) fn wait(&mut self, until_ms: u64) {
        self.issue(EffectRecord::Wait { until_ms }, Effect::Wait { until_ms });
    }

    pub(super) fn cancel(&mut self) {
        self.issue(EffectRecord::Cancel, Effect::Cancel);
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.issue(EffectRecord::Finish, Effect::Finish(outcome));
    }

    fn issue(&mut self, record: EffectRecord, effect: Effect) {
        self.records.push(record);
        self.effects.push(effect);
    }
}
