//! A run as people are told it: one row for each entry, the calls, and what it all adds up to.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::narrator::{Narrator, outcome};
use crate::cli::numbers::{grouped, seconds};
use crate::cli::recorded::{Recorded, Source};
use crate::cli::screen::{Screen, Style};
use crate::cli::standing::Standing;
use crate::contract::{BATCH, ExecutionContract};
use crate::kernel::{
    Action, EffectRecord, EntryKind, Event, EventKind, LostEffect, RunStarted, State,
};
use crate::message::{CallSeq, Digest, ObjectText, RunId, ToolInvocation};
use crate::store::Lineage;
use crate::telemetry::{Approvals, Ledger};
use crate::transcript::SealedEntry;

/// What happened in one entry, as one line.
pub(super) struct Row {
    pub(super) action: Action,
    pub(super) at_ms: u64,
    pub(super) detail: String,
    hash: Digest,
    /// Tokens and milliseconds since the entry before.
    tokens: u64,
    took_ms: u64,
}

/// A call that was started, or waits for a person, or did.
pub(super) struct Call {
    pub(super) arguments: String,
    pub(super) ended: Option<String>,
    pub(super) name: String,
    pub(super) started: bool,
}

/// A whole run, without the texts of its entries.
pub(super) struct Story {
    pub(super) calls: BTreeMap<CallSeq, Call>,
    pub(super) contract: ExecutionContract,
    pub(super) ledger: Ledger,
    /// The run that it was forked from, where the store has both.
    pub(super) lineage: Option<Lineage>,
    pub(super) rows: Vec<Row>,
    pub(super) run_id: Option<RunId>,
    /// How it stands, where it is in the store and has no end.
    pub(super) standing: Option<Standing>,
    /// The inputs of the run, where its first entry has them.
    pub(super) started: Option<RunStarted>,
}

/// Takes entries in order and tells each.
#[derive(Default)]
pub(super) struct Teller {
    approvals: Approvals,
    arguments: BTreeMap<String, String>,
    /// The calls of the last message that may have to wait for a person, in its order.
    asked: VecDeque<Asked>,
    calls: BTreeMap<CallSeq, Call>,
    ledger: Ledger,
    narrator: Narrator,
    started: Option<RunStarted>,
    tokens: u64,
    at_ms: u64,
}

impl Story {
    /// Reads a run, one page of entries at a time.
    pub(super) fn read(mut source: Source) -> Result<Self, CliError> {
        let lineage = source.lineage()?;
        let standing = source.standing()?;
        let mut teller = Teller::default();
        let mut rows = Vec::new();
        let contract = source.each_entry(|contract, _, entry| {
            rows.push(teller.take(contract, entry)?);
            Ok(())
        })?;
        Ok(Self {
            calls: teller.calls,
            contract,
            run_id: teller.ledger.run_id().cloned(),
            ledger: teller.ledger,
            lineage,
            rows,
            standing,
            started: teller.started,
        })
    }
}

impl Teller {
    /// What the next entry says.
    pub(super) fn take(
        &mut self,
        contract: &ExecutionContract,
        entry: &SealedEntry,
    ) -> Result<Row, CliError> {
        let (action, event) = Recorded::decode(entry)?;
        self.ledger
            .take(contract, &action, event.as_ref(), entry.hash);
        let told = self.narrator.take(contract, &action, event.as_ref());
        self.wait(contract, &action, event.as_ref());
        self.follow(&action, event);
        let (at_ms, tokens) = (self.narrator.at_ms(), action.counters.tokens());
        let row = Row {
            at_ms,
            detail: told.map_or_else(|| beside(&action), |told| told.detail),
            hash: entry.hash,
            tokens: tokens.saturating_sub(self.tokens),
            took_ms: at_ms.saturating_sub(self.at_ms),
            action,
        };
        (self.at_ms, self.tokens) = (at_ms, tokens);
        Ok(row)
    }

    /// What the entries add up to so far.
    pub(super) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Follows the calls that wait for a person: what is recorded of one is its number and the hash of its arguments.
    fn wait(&mut self, contract: &ExecutionContract, action: &Action, event: Option<&Event>) {
        let message = match event.map(|event| &event.event) {
            Some(EventKind::InferenceReturned(returned)) if action.from != State::Execute => {
                returned.result.canonical_message.as_ref()
            }
            _ => None,
        };
        if let Some(message) = message {
            let asked = message.tool_calls.iter().flat_map(asked_of);
            self.asked = asked
                .filter(|asked| contract.require_approval.contains(&asked.name))
                .collect();
        }
        if let Some((call, answered)) = self.approvals.take(action, event)
            && let Some(told) = self.calls.get_mut(&call)
        {
            told.ended = answered.words().map(str::to_owned);
        }
        let Some((call, hash)) = self.approvals.awaited() else {
            return;
        };
        if self.calls.contains_key(&call) {
            return;
        }
        let at = self.asked.iter().position(|asked| asked.hash == hash);
        let asked = at.and_then(|at| self.asked.remove(at));
        let (name, arguments) = asked.map_or_else(
            || ("a call".to_owned(), String::new()),
            |asked| (asked.name, asked.arguments),
        );
        let waiting = Call {
            arguments,
            ended: None,
            name,
            started: false,
        };
        self.calls.insert(call, waiting);
    }

    fn follow(&mut self, action: &Action, event: Option<Event>) {
        match event.map(|event| event.event) {
            Some(EventKind::RunStarted(started)) => self.started = Some(*started),
            // That of a summary calls nothing.
            Some(EventKind::InferenceReturned(returned)) if action.from != State::Execute => {
                let message = returned.result.canonical_message.into_iter();
                let asked = message.flat_map(|message| message.tool_calls);
                let asked = asked.flat_map(|call| asked_of(&call));
                self.arguments = asked.map(|asked| (asked.id, asked.arguments)).collect();
            }
            Some(EventKind::ToolReturned(returned)) => {
                if let Some(call) = self.calls.get_mut(&returned.call) {
                    call.ended = Some(outcome(&returned.outcome));
                }
            }
            Some(EventKind::EffectLost(LostEffect::Call(lost))) => {
                if let Some(call) = self.calls.get_mut(&lost) {
                    call.ended = Some("lost with its process".to_owned());
                }
            }
            _ => {}
        }
        for effect in &action.effects {
            if let EffectRecord::Execute { call, id, name, .. } = effect {
                let call_told = Call {
                    arguments: self.arguments.get(id).cloned().unwrap_or_default(),
                    ended: None,
                    name: name.clone(),
                    started: true,
                };
                self.calls.insert(*call, call_told);
            }
        }
    }
}

/// A call of a message, be it in a container.
struct Asked {
    arguments: String,
    hash: Digest,
    id: String,
    name: String,
}

/// What a container of calls holds.
#[derive(Deserialize)]
struct Container {
    calls: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    arguments: Box<RawValue>,
    tool: String,
}

/// A call, or those that a container holds. What cannot be read was never going to wait.
fn asked_of(call: &ToolInvocation) -> Vec<Asked> {
    let one = |id: String, name: String, arguments: &ObjectText| Asked {
        arguments: arguments.to_string(),
        hash: Digest::of(arguments.as_str().as_bytes()),
        id,
        name,
    };
    let id = &call.id;
    if call.name != BATCH {
        return vec![one(id.clone(), call.name.clone(), &call.arguments)];
    }
    let container: Result<Container, _> = serde_json::from_str(call.arguments.as_str());
    let parts = container.map_or_else(|_| Vec::new(), |container| container.calls);
    let parts = parts
        .into_iter()
        .zip(1_usize..)
        .filter_map(|(part, number)| {
            let arguments = ObjectText::parse(part.arguments.get()).ok()?;
            Some(one(format!("{id}/{number}"), part.tool, &arguments))
        });
    parts.collect()
}

/// What there is to say of an entry that is no transition.
fn beside(action: &Action) -> String {
    let note = action.note.as_deref().map(line).unwrap_or_default();
    match action.kind {
        EntryKind::Start => "the run begins".to_owned(),
        EntryKind::Seal => "sealed".to_owned(),
        EntryKind::Ignored => "an event that came too late".to_owned(),
        EntryKind::Noted | EntryKind::Transition => note,
    }
}

impl Row {
    /// The row for people.
    pub(super) fn line(&self, screen: Screen) -> String {
        let used = match (self.tokens, self.took_ms) {
            (0, 0) => String::new(),
            (0, ms) => format!("+{ms} ms"),
            (tokens, ms) => format!("+{} tokens, +{ms} ms", grouped(tokens)),
        };
        let hash = screen.paint_out(Style::Dim, &self.hash.short(8));
        format!(
            "{:>4}  {:>9}  {:<24}  {hash}  {used:<22}  {}\n",
            self.action.seq,
            seconds(self.at_ms),
            self.states(),
            self.detail
        )
        .trim_end()
        .to_owned()
            + "\n"
    }

    /// Where the machine went, and why, without when.
    pub(super) fn decision(&self) -> String {
        format!(
            "{:>4}  {:<24}  {}",
            self.action.seq,
            self.states(),
            self.detail
        )
    }

    fn states(&self) -> String {
        let action = &self.action;
        if action.kind == EntryKind::Transition {
            format!("{} → {}", action.from, action.to)
        } else {
            action.to.to_string()
        }
    }
}
