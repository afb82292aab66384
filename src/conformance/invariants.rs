//! The invariants of every run, whatever its case expects.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::played::Played;
use super::result;
use monolith_core::contract::{FINAL_REPORT, ToolPolicy};
use monolith_core::kernel::{
    AgentOutcome, ClosingReason, Effect, EffectRecord, EntryDraft, EntryKind, Event, EventKind,
    Fold, State,
};
use monolith_core::message::{Role, ToolInvocation};
use monolith_core::transcript::Chain;

/// Everything that is wrong; empty is good.
pub(super) fn broken(played: &Played) -> Vec<String> {
    let mut broken = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            broken.push(what.to_owned());
        }
    };
    let counters = played.run.counters();
    let class = played.class();
    must(
        (class == Some(AgentOutcome::CompletedWithTools))
            == (class.is_some_and(AgentOutcome::is_success) && counters.executed > 0),
        "COMPLETED_WITH_TOOLS holds exactly where a call was executed (§2)",
    );
    must(
        played.contract.tool_policy != ToolPolicy::Forbidden || counters.executed == 0,
        "nothing is executed under forbidden (§2)",
    );
    must(
        !(played.contract.tool_policy == ToolPolicy::Required
            && class == Some(AgentOutcome::CompletedChatOnly)),
        "required never ends in a success without a call (§2)",
    );
    must(
        every_call_is_answered(played),
        "every call of a kept message is answered once (§12)",
    );
    must(
        accounts_add_up(&played.drafts),
        "expected = ctx + pending + schema on every request (§5)",
    );
    must(
        blocks_are_named(&played.drafts),
        "what did not fit the context is named with its reason (§5)",
    );
    must(
        one_event_per_step(&played.drafts),
        "the first entry of a step carries the event, the others none (§1)",
    );
    must(
        sealed_last(&played.drafts),
        "the seal is the last entry and states the length (§9)",
    );
    must(
        fold_is_equal(played),
        "the recorded events, folded again, give the same entries (§10)",
    );
    must(
        after_the_end(played),
        "after TERMINATE a step yields nothing (§1)",
    );
    for what in result::broken(&played.run, played.view(), played.started.messages.len()) {
        must(false, what);
    }
    broken
}

fn every_call_is_answered(played: &Played) -> bool {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut last: &[ToolInvocation] = &[];
    for message in played.run.conversation() {
        match message.role {
            Role::Tool => {
                let id = message.tool_call_id.as_deref();
                if !id.is_some_and(|id| open.remove(id)) {
                    return false;
                }
            }
            Role::System | Role::User | Role::Assistant if !open.is_empty() => return false,
            Role::System | Role::User | Role::Assistant => {
                last = &message.tool_calls;
                open = last.iter().map(|c| c.id.as_str()).collect();
            }
        }
    }
    // An accepted final report answers itself (§12).
    let reported = played.run.final_report().is_some();
    let reports = last.iter().filter(|call| call.name == FINAL_REPORT);
    let reports: BTreeSet<&str> = reports.map(|call| call.id.as_str()).collect();
    open.is_empty() || (reported && open == reports)
}

fn accounts_add_up(drafts: &[EntryDraft]) -> bool {
    let asks = |draft: &&EntryDraft| {
        let mut effects = draft.action.effects.iter();
        effects.any(|e| matches!(e, EffectRecord::Infer { .. }))
    };
    drafts.iter().filter(asks).all(|draft| {
        draft.action.context.as_ref().is_some_and(|account| {
            let first = draft.action.counters.inferences == 1;
            (!first || account.ctx == 0)
                && account.projected == account.expected
                && account.expected == account.ctx + account.pending + account.schema
                && account.remaining == account.limit.saturating_sub(account.projected)
        })
    })
}

/// The entry that begins a closing turn for the context says what did not fit, and so does one that drops a result.
fn blocks_are_named(drafts: &[EntryDraft]) -> bool {
    let began = drafts
        .iter()
        .position(|draft| draft.action.closing.is_some());
    let began = began.and_then(|at| drafts.get(at));
    let names = |draft: &EntryDraft| !draft.action.blocked.is_empty();
    let for_context = |draft: &&EntryDraft| draft.action.closing == Some(ClosingReason::Context);
    let over = |draft: &EntryDraft| {
        let mut blocks = draft.action.blocked.iter();
        blocks.all(|block| block.projected > block.limit && block.remaining == 0)
    };
    began.filter(for_context).is_none_or(names) && drafts.iter().all(over)
}

/// Entries without an event go on where the entry before them came to; entries with one begin in a resting state.
fn one_event_per_step(drafts: &[EntryDraft]) -> bool {
    let rests = |draft: &EntryDraft| draft.action.from.is_resting();
    drafts.iter().all(|draft| match draft.event {
        Some(_) => rests(draft),
        None => draft.action.kind == EntryKind::Seal || !rests(draft),
    })
}

fn sealed_last(drafts: &[EntryDraft]) -> bool {
    let seals = drafts.iter().filter(|d| d.action.kind == EntryKind::Seal);
    let length = u64::try_from(drafts.len()).ok();
    let last = drafts.last().map(|d| (d.action.kind, d.action.length));
    seals.count() == 1 && last == Some((EntryKind::Seal, length))
}

fn fold_is_equal(played: &Played) -> bool {
    let contract = Arc::clone(&played.contract);
    let mut chain = Chain::genesis(contract.contract_hash(), played.run_id());
    let mut fold = Fold::new(contract);
    let mut entries = Vec::new();
    for event in played.drafts.iter().filter_map(|d| d.event.clone()) {
        if let Some(Effect::Append(drafts)) = fold.take(event).first() {
            entries.extend(drafts.iter().map(|draft| chain.seal(draft)));
        }
    }
    entries == played.entries
}

fn after_the_end(played: &Played) -> bool {
    let mut run = played.run.clone();
    let late = Event {
        at_ms: u64::MAX,
        event: EventKind::TimerFired,
    };
    run.state() == State::Terminate && run.step(late).is_empty() && run.next_deadline().is_none()
}
