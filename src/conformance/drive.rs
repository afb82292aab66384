//! The host of a case: a session with a script in place of the world.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::CaseError;
use super::bring_up::BroughtUp;
use super::case::{Case, file_of};
use super::played::Played;
use super::script::{StepText, What, When};
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{
    CallOrder, EffectRecord, EntryDraft, EventKind, InferRequest, Probed, ProbedTarget, Run,
    RunStarted, State,
};
use monolith_core::message::{BytesPerToken, Digest, InferenceSeq, NoSecrets};
use monolith_core::session::{Append, Call, Delegation, Input, Output, Request, Session};
use monolith_core::transcript::SealedEntry;

/// Maximum number of timers that may fire for one step; more means that the machine waits in a loop.
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
    drive.played().map_err(|rule| at(None, rule))
}

pub(super) struct Drive {
    pub(super) blobs: BTreeMap<Digest, Vec<u8>>,
    bodies: Vec<Digest>,
    cancels: u64,
    drafts: Vec<EntryDraft>,
    entries: Vec<SealedEntry>,
    pub(super) flight: Flight,
    /// Milliseconds in which no process drove the run.
    idle_ms: u64,
    pub(super) now_ms: u64,
    probe_held: bool,
    /// True if another protocol carries the messages than the case was written for.
    pub(super) recast: bool,
    pub(super) replayable: bool,
    requests: Vec<InferRequest>,
    responsive: Vec<bool>,
    pub(super) session: Session,
    started: RunStarted,
    waits: Vec<u64>,
}

/// Operations that the machine has started and not yet heard of.
#[derive(Default)]
pub(super) struct Flight {
    pub(super) awaiting: Option<CallOrder>,
    pub(super) calls: Vec<Running>,
    pub(super) inference: Option<InferRequest>,
    pub(super) probe: bool,
    pub(super) wait: bool,
}

pub(super) struct Running {
    pub(super) order: CallOrder,
    pub(super) started_at_ms: u64,
}

impl Drive {
    fn start(brought_up: BroughtUp, case: &Case) -> Result<Self, String> {
        let BroughtUp { contract, started } = brought_up;
        let (counter, scrubber) = (BytesPerToken::counter(), Arc::new(NoSecrets));
        let session = Session::new(Arc::new(contract), counter, scrubber);
        let mut drive = Self {
            blobs: BTreeMap::new(),
            bodies: Vec::new(),
            cancels: 0,
            drafts: Vec::new(),
            entries: Vec::new(),
            flight: Flight::default(),
            idle_ms: 0,
            now_ms: 0,
            probe_held: case.probe.held,
            recast: case.casting.is_some(),
            replayable: true,
            requests: Vec::new(),
            responsive: case.probe.responsive.clone(),
            session: session.map_err(|fault| fault.to_string())?,
            started: started.clone(),
            waits: Vec::new(),
        };
        drive.hand_in(Input::Start(Box::new(started)))?;
        Ok(drive)
    }

    /// The run as it was played, and everything it left behind.
    fn played(self) -> Result<Played, String> {
        let contract = Arc::clone(self.session.contract());
        let run = self.session.into_run();
        Ok(Played {
            blobs: self.blobs,
            bodies: self.bodies,
            cancels: self.cancels,
            contract,
            drafts: self.drafts,
            entries: self.entries,
            replayable: self.replayable,
            requests: self.requests,
            run: run.ok_or("the run did not begin")?,
            started: self.started,
            view: OnceCell::new(),
            waits: self.waits,
        })
    }

    /// The wall-clock time after that long without a process.
    pub(super) fn unix_ms_after(&mut self, elapsed_ms: u64) -> u64 {
        self.idle_ms = self.idle_ms.saturating_add(elapsed_ms);
        let begun = self.started.started_unix_ms.saturating_add(self.now_ms);
        begun.saturating_add(self.idle_ms)
    }

    pub(super) fn contract(&self) -> &Arc<ExecutionContract> {
        self.session.contract()
    }

    pub(super) fn state(&self) -> State {
        self.session.run().map_or(State::Precheck, Run::state)
    }

    pub(super) fn due(&self) -> Option<u64> {
        self.session.run().and_then(Run::next_deadline)
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
            match self.due() {
                Some(due) if due < moment => self.fire(due)?,
                _ => break,
            }
        }
        if self.state() == State::Terminate {
            return Err(format!("the run ended {} before this step", self.end()));
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

    fn end(&self) -> String {
        let outcome = self.session.run().and_then(Run::outcome);
        outcome.map_or_else(|| self.state().to_string(), |outcome| outcome.to_string())
    }

    /// The script is over: waits end by themselves, nothing else does.
    fn run_out(&mut self) -> Result<(), String> {
        if self.flight.probe && !self.probe_held {
            self.probed()?;
        }
        self.wait_out()?;
        if self.state() == State::Terminate {
            return Ok(());
        }
        Err(format!(
            "the script has ended, but the run continues: {} waits for {}",
            self.state(),
            self.flight.describe()
        ))
    }

    /// Lets the wait before an inference end, where there is one.
    fn wait_out(&mut self) -> Result<(), String> {
        for _ in 0..MAX_TIMERS {
            match self.due() {
                Some(due) if self.flight.wait => self.fire(due)?,
                _ => return Ok(()),
            }
        }
        Err(format!("more than {MAX_TIMERS} timers in a row"))
    }

    pub(super) fn fire(&mut self, due: u64) -> Result<(), String> {
        self.now_ms = self.now_ms.max(due);
        self.flight.wait = false;
        self.hand_in(Input::Timer)
    }

    /// Hands in an event as the case says it, in place of what it would be made from.
    pub(super) fn push(&mut self, event: EventKind) -> Result<(), String> {
        self.hand_in(Input::Recorded(Box::new(event)))
    }

    /// Hands in what happened, and notes what the session asks for.
    pub(super) fn hand_in(&mut self, input: Input) -> Result<(), String> {
        let handled = self.session.handle(self.now_ms, input);
        handled.map_err(|fault| format!("failed to {fault}"))?;
        while let Some(output) = self.session.poll() {
            match output {
                Output::Append(append) => self.append(append)?,
                Output::Probe { .. } => self.flight.probe = true,
                Output::Send(request) => self.send(request)?,
                Output::Summarise { full, inference }
                | Output::Sample {
                    inference,
                    prompt: full,
                } => self.summarise(full, inference)?,
                Output::Call(Call { order, .. }) | Output::Delegate(Delegation { order, .. }) => {
                    self.flight.awaiting = None;
                    self.flight.calls.push(Running {
                        order,
                        started_at_ms: self.now_ms,
                    });
                }
                Output::Ask(order) => self.flight.awaiting = Some(order),
                Output::Cancel => {
                    self.cancels += 1;
                    self.flight = Flight::default();
                }
                Output::Done(_) => self.flight = Flight::default(),
                Output::Arm(_)
                | Output::Delta { .. }
                | Output::Thinking { .. }
                | Output::Close(_) => {}
            }
        }
        Ok(())
    }

    fn append(&mut self, append: Append) -> Result<(), String> {
        for bytes in append.blobs {
            self.keep(bytes);
        }
        let last = append.entries.last().map(|entry| entry.seq);
        let last = last.ok_or("a step appends at least one entry")?;
        for draft in &append.drafts {
            for effect in &draft.action.effects {
                if let EffectRecord::Wait { until_ms } = effect {
                    self.flight.wait = true;
                    self.waits.push(*until_ms);
                }
            }
        }
        self.drafts.extend(append.drafts);
        self.entries.extend(append.entries);
        let durable = self.session.handle(self.now_ms, Input::Durable(last));
        durable.map_err(|fault| format!("failed to {fault}"))
    }

    fn send(&mut self, request: Request) -> Result<(), String> {
        if self.flight.inference.is_some() {
            return Err("two requests are in flight at once".to_owned());
        }
        let body = self.keep(request.body.into());
        self.bodies.push(body);
        self.requests.push(request.inference.clone());
        let issued = self.session.issued(request.inference.inference);
        if issued.is_some_and(|issued| !issued.is_beside) {
            // A turn's own request comes after all that was in flight.
            self.flight = Flight::default();
        }
        self.flight.inference = Some(request.inference);
        Ok(())
    }

    fn summarise(&mut self, full: Digest, inference: InferenceSeq) -> Result<(), String> {
        if self.flight.inference.is_some() {
            return Err(format!("request {inference} is issued beside another"));
        }
        let bytes = self.blobs.get(&full).cloned().unwrap_or_default();
        let handled = self
            .session
            .handle(self.now_ms, Input::Blob { bytes, hash: full });
        handled.map_err(|fault| format!("failed to {fault}"))
    }

    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> Digest {
        let hash = Digest::of(&bytes);
        self.blobs.insert(hash, bytes);
        hash
    }

    pub(super) fn probed(&mut self) -> Result<(), String> {
        self.flight.probe = false;
        let answers = self
            .responsive
            .iter()
            .copied()
            .chain(std::iter::repeat(true));
        let targets = self.contract().targets.iter().zip(answers);
        let targets = targets.map(|(_, responsive)| ProbedTarget {
            detail: if responsive { "answers" } else { "no answer" }.to_owned(),
            responsive,
            ..ProbedTarget::default()
        });
        let targets = targets.collect();
        self.hand_in(Input::Probed(Probed { targets }))
    }
}

impl Flight {
    pub(super) fn describe(&self) -> String {
        if self.probe {
            "the probe".to_owned()
        } else if let Some(request) = &self.inference {
            format!("inference {}", request.inference)
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
