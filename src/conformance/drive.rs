//! The driver of a case: does what the machine says, with a script in place of the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::CaseError;
use super::bring_up::BroughtUp;
use super::case::{Case, file_of};
use super::played::Played;
use super::script::{StepText, What, When};
use crate::adapter::{RequestEncoder, RequestShape};
use crate::contract::Validators;
use crate::kernel::{
    CallOrder, Effect, Event, EventKind, InferRequest, Probed, ProbedTarget, Run, State,
    SummaryRequest,
};
use crate::message::Digest;
use crate::transcript::Chain;

/// How many timers may fire for one step; more means that the machine waits in circles.
const MAX_TIMERS: usize = 64;

/// Plays the script of a case to the end of its run.
pub(super) fn play(id: &str, case: &Case, brought_up: BroughtUp) -> Result<Played, CaseError> {
    let file = file_of(id);
    let at = |line, rule| CaseError::new(&file, line, rule);
    let mut drive = Drive::start(brought_up, case).map_err(|rule| at(None, rule))?;
    for step in &case.script {
        let line = Some(step.referenced.line());
        drive.step(&step.value).map_err(|rule| at(line, rule))?;
    }
    drive.run_out().map_err(|rule| at(None, rule))?;
    Ok(drive.played)
}

pub(super) struct Drive {
    adapter_encoders: BTreeMap<usize, RequestEncoder>,
    chain: Chain,
    pub(super) flight: Flight,
    pub(super) now_ms: u64,
    pub(super) played: Played,
    probe_held: bool,
    /// Whether the messages are carried by another protocol than the case was written for.
    pub(super) recast: bool,
    responsive: Vec<bool>,
}

/// What the machine has set going and not yet heard of.
#[derive(Default)]
pub(super) struct Flight {
    pub(super) awaiting: Option<CallOrder>,
    pub(super) calls: Vec<Running>,
    pub(super) inference: Option<Asked>,
    pub(super) probe: bool,
    pub(super) wait: bool,
}

pub(super) struct Asked {
    pub(super) request: InferRequest,
    pub(super) request_hash: Digest,
}

pub(super) struct Running {
    pub(super) order: CallOrder,
    pub(super) started_at_ms: u64,
}

impl Drive {
    fn start(brought_up: BroughtUp, case: &Case) -> Result<Self, String> {
        let BroughtUp { contract, started } = brought_up;
        let contract = Arc::new(contract);
        let validators = Arc::new(Validators::compile(&contract));
        let chain = Chain::genesis(contract.contract_hash(), &started.run_id);
        let (run, effects) = Run::start(contract.clone(), validators, started.clone());
        let mut drive = Self {
            adapter_encoders: BTreeMap::new(),
            chain,
            flight: Flight::default(),
            now_ms: 0,
            played: Played {
                blobs: BTreeMap::new(),
                bodies: Vec::new(),
                cancels: 0,
                contract,
                drafts: Vec::new(),
                entries: Vec::new(),
                replayable: true,
                requests: Vec::new(),
                run,
                started,
                waits: Vec::new(),
            },
            probe_held: case.probe.held,
            recast: case.casting.is_some(),
            responsive: case.probe.responsive.clone(),
        };
        drive.take(effects)?;
        Ok(drive)
    }

    /// Brings the run to where the step can happen, moves the clock to its moment, and lets it happen.
    fn step(&mut self, step: &StepText) -> Result<(), String> {
        if self.flight.probe && !self.probe_held {
            self.probed()?;
        }
        if matches!(step.what, What::Answer(_) | What::Fault(_)) {
            self.wait_out()?;
        }
        let moment = match step.when {
            When::After(ms) => self.now_ms.saturating_add(ms),
            When::At(ms) if ms < self.now_ms => {
                return Err(format!(
                    "at_ms {ms} is past: the clock is at {}",
                    self.now_ms
                ));
            }
            When::At(ms) => ms,
        };
        // A timer that is due first fires first; what comes at the same moment comes before it.
        for _ in 0..MAX_TIMERS {
            match self.played.run.next_deadline() {
                Some(due) if due < moment => self.fire(due)?,
                _ => break,
            }
        }
        if self.played.run.state() == State::Terminate {
            return Err(format!(
                "the run ended {} before this step",
                self.played.end()
            ));
        }
        self.now_ms = moment;
        match &step.what {
            What::Answer(answer) => self.answer(answer),
            What::Fault(fault) => self.fail(fault),
            What::Tool { call, result } => self.tool(*call, result),
            What::Word(word) => self.word(*word),
            What::Resumed(resumed) => self.resumed(resumed),
        }
    }

    /// The script is over: waits end by themselves, nothing else does.
    fn run_out(&mut self) -> Result<(), String> {
        if self.flight.probe && !self.probe_held {
            self.probed()?;
        }
        self.wait_out()?;
        if self.played.run.state() == State::Terminate {
            return Ok(());
        }
        Err(format!(
            "the script is over, but the run goes on: {} waits for {}",
            self.played.run.state(),
            self.flight.describe()
        ))
    }

    /// Lets the wait before an inference end, where there is one.
    fn wait_out(&mut self) -> Result<(), String> {
        for _ in 0..MAX_TIMERS {
            match self.played.run.next_deadline() {
                Some(due) if self.flight.wait => self.fire(due)?,
                _ => return Ok(()),
            }
        }
        Err(format!("more than {MAX_TIMERS} timers in a row"))
    }

    pub(super) fn fire(&mut self, due: u64) -> Result<(), String> {
        self.now_ms = self.now_ms.max(due);
        self.flight.wait = false;
        self.push(EventKind::TimerFired)
    }

    pub(super) fn push(&mut self, event: EventKind) -> Result<(), String> {
        let event = Event {
            at_ms: self.now_ms,
            event,
        };
        let effects = self.played.run.step(event);
        self.take(effects)
    }

    /// Seals the entries, then notes what was set going.
    fn take(&mut self, effects: Vec<Effect>) -> Result<(), String> {
        for (place, effect) in effects.into_iter().enumerate() {
            match effect {
                Effect::Append(drafts) if place == 0 && !drafts.is_empty() => {
                    for draft in drafts {
                        self.played.entries.push(self.chain.seal(&draft));
                        self.played.drafts.push(draft);
                    }
                }
                Effect::Append(_) => return Err("a step appends once, first".to_owned()),
                _ if place == 0 => return Err("an effect stands before its entries".to_owned()),
                Effect::Probe => self.flight.probe = true,
                Effect::Infer(request) => self.infer(request)?,
                Effect::Summarise(asked) => self.summarise(asked)?,
                Effect::Execute(order) => {
                    self.flight.awaiting = None;
                    self.flight.calls.push(Running {
                        order,
                        started_at_ms: self.now_ms,
                    });
                }
                Effect::AwaitApproval(order) => self.flight.awaiting = Some(order),
                Effect::Wait { until_ms } => {
                    self.flight.wait = true;
                    self.played.waits.push(until_ms);
                }
                Effect::Cancel => {
                    self.played.cancels += 1;
                    self.flight = Flight::default();
                }
                Effect::Finish(_) => self.flight = Flight::default(),
            }
        }
        Ok(())
    }

    fn infer(&mut self, request: InferRequest) -> Result<(), String> {
        let encoder = match self.adapter_encoders.remove(&request.target) {
            Some(encoder) => Ok(encoder),
            None => RequestEncoder::new(&self.played.contract, request.target),
        };
        let mut encoder = encoder.map_err(|fault| fault.to_string())?;
        let body = encoder.encode(
            self.played.run.conversation(),
            &RequestShape::from(&request),
        );
        self.adapter_encoders.insert(request.target, encoder);
        let request_hash = self.keep(body);
        self.played.bodies.push(request_hash);
        self.played.requests.push(request.clone());
        self.flight = Flight {
            inference: Some(Asked {
                request,
                request_hash,
            }),
            ..Flight::default()
        };
        Ok(())
    }

    fn summarise(&mut self, asked: SummaryRequest) -> Result<(), String> {
        if self.flight.inference.is_some() {
            return Err("two summaries are asked for at once".to_owned());
        }
        let encoder = RequestEncoder::new(&self.played.contract, asked.request.target);
        let mut encoder = encoder.map_err(|fault| fault.to_string())?;
        let whole = self.played.blobs.get(&asked.full).cloned();
        let said = asked.conversation(&String::from_utf8_lossy(&whole.unwrap_or_default()));
        let body = encoder.encode(&said, &RequestShape::from(&asked.request));
        let request_hash = self.keep(body);
        self.played.bodies.push(request_hash);
        self.played.requests.push(asked.request.clone());
        self.flight.inference = Some(Asked {
            request: asked.request,
            request_hash,
        });
        Ok(())
    }

    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> Digest {
        let hash = Digest::of(&bytes);
        self.played.blobs.insert(hash, bytes);
        hash
    }

    pub(super) fn probed(&mut self) -> Result<(), String> {
        self.flight.probe = false;
        let answers = self
            .responsive
            .iter()
            .copied()
            .chain(std::iter::repeat(true));
        let targets = self.played.contract.targets.iter().zip(answers);
        let targets = targets.map(|(_, responsive)| ProbedTarget {
            detail: if responsive { "answers" } else { "no answer" }.to_owned(),
            responsive,
        });
        let targets = targets.collect();
        self.push(EventKind::Probed(Probed { targets }))
    }
}

impl Flight {
    pub(super) fn describe(&self) -> String {
        if self.probe {
            "the probe".to_owned()
        } else if let Some(asked) = &self.inference {
            format!("inference {}", asked.request.inference)
        } else if let Some(order) = &self.awaiting {
            format!("the approval of call {}", order.call)
        } else if let Some(running) = self.calls.first() {
            let CallOrder {
                call, invocation, ..
            } = &running.order;
            format!("call {call} of {}", invocation.name)
        } else if self.wait {
            "the end of a wait".to_owned()
        } else {
            "nothing".to_owned()
        }
    }
}
