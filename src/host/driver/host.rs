//! The loop of a run: outputs of the session become tasks, and their results become inputs. Decides nothing of the run but when its clock
//! stands still.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::clock::sleep_until;
use super::delegate::delegate;
use super::delegating::{ChildChannels, Children, Delegating};
use super::observer::Observer;
use super::perform::{self, Done, OpenQuestions, RequestSlots, Tools};
use super::recorder::Recorder;
use super::tasks::{Performed, Tasks};
use super::waiting::{WaitingReport, WaitsFor};
use super::{DriverError, trace};
use crate::inference::Backend;
use crate::tools::Clock as _;
use monolith_core::kernel::{EffectRecord, EventKind, LostEffect, Run};
use monolith_core::message::{CallSeq, Digest, InferenceSeq};
use monolith_core::session::{Append, Call, Control, Delegation, Input, Output, Request, Session};

/// Maximum number of pending requests to end a child run.
const CONTROLS: usize = 8;
/// Pieces of responses that wait to be taken.
const PIECES: usize = 64;

/// The world outside a session: models, tools, a clock, a store.
pub(super) struct Host<'s> {
    /// True if the run was asked to end at once. It then waits for child runs only as long as it takes to end them.
    at_once: bool,
    backends: Vec<Arc<Backend>>,
    cancel: CancellationToken,
    children: Children,
    /// When the session wants to be woken.
    due_ms: Option<u64>,
    /// The reason why a child run cannot be resumed: this one is left with it.
    fault: Option<DriverError>,
    grace: Duration,
    /// The last entry that is durable in this process.
    head: Digest,
    /// When a suspended run is left, whatever is still in flight.
    leaves_at: Option<Instant>,
    pieces: mpsc::Receiver<Done>,
    questions: OpenQuestions,
    /// The last call that an earlier process had authorised or discarded.
    recorded: CallSeq,
    /// Ends the reading of one response.
    reading: BTreeMap<InferenceSeq, CancellationToken>,
    pub(super) recorder: Recorder<'s>,
    sender: mpsc::Sender<Done>,
    session: Session,
    slots: RequestSlots,
    tasks: Tasks,
    tools: Tools,
    /// The report to the parent run when this one waits for a person.
    waiting: Option<WaitingReport>,
}

impl<'s> Host<'s> {
    pub(super) fn new(
        backends: Vec<Arc<Backend>>,
        grace: Duration,
        tools: Tools,
        slots: RequestSlots,
        recorder: Recorder<'s>,
        session: Session,
        (children, waiting): (Children, Option<WaitingReport>),
    ) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES);
        Self {
            at_once: false,
            backends,
            cancel: CancellationToken::new(),
            children,
            due_ms: None,
            fault: None,
            grace,
            head: session.head().unwrap_or(Digest::ZERO),
            leaves_at: None,
            pieces,
            questions: OpenQuestions::default(),
            recorded: session.run().map_or(CallSeq(0), Run::last_call),
            reading: BTreeMap::new(),
            recorder,
            sender,
            session,
            slots,
            tasks: Tasks::default(),
            tools,
            waiting,
        }
    }

    /// Drives the run until it is over, or left.
    ///
    /// # Errors
    /// Why it could not be driven on; also where it was left with a run below it that could not.
    pub(super) async fn until_done(
        &mut self,
        first: (Input, bool),
        control: &mut mpsc::Receiver<Control>,
        observer: &mut dyn Observer,
    ) -> Result<(), DriverError> {
        self.until_over_or_left(first, control, observer).await?;
        let has_ended = |run: &Run| run.outcome().is_some();
        let fault = self.fault.take();
        let fault = fault.filter(|_| !self.session.run().is_some_and(has_ended));
        fault.map_or(Ok(()), Err)
    }

    /// The loop: hand in what happened, do what the session asks for, wait for what happens next.
    async fn until_over_or_left(
        &mut self,
        (first, orphan): (Input, bool),
        control: &mut mpsc::Receiver<Control>,
        observer: &mut dyn Observer,
    ) -> Result<(), DriverError> {
        let mut control_open = true;
        let mut next = Done::from(first);
        if orphan {
            // The run above no longer waits for its result.
            self.hand_in(next)?;
            if self.done(observer).await? {
                return Ok(());
            }
            next = Input::Control(Control::Parent).into();
        }
        loop {
            // What a task ends with comes after the pieces that it has sent before.
            while next.ends_a_task()
                && let Ok(piece) = self.pieces.try_recv()
            {
                self.hand_in(piece)?;
                if self.done(observer).await? {
                    return Ok(());
                }
            }
            // Until all is written down and begun that follows, the run does not wait.
            self.report(None);
            self.hand_in(next)?;
            let left = self.leaves_at.is_some() && self.tasks.is_empty();
            if self.done(observer).await? || left {
                return Ok(());
            }
            next = loop {
                self.keep_time();
                tokio::select! {
                    biased;
                    wanted = control.recv(), if control_open => match wanted {
                        // Asked twice, the run is left at once.
                        Some(Control::Suspend) if self.leaves_at.is_some() => return Ok(()),
                        // It ends already, and only waits for the ends below it.
                        Some(Control::Abort) if self.is_ending() => self.end_at_once(),
                        Some(wanted) => {
                            match wanted {
                                Control::Abort => self.at_once = true,
                                Control::Stop => {
                                    self.tools.queues.stop();
                                    self.children.broadcast(&Control::Stop);
                                }
                                Control::Suspend => self.begin_to_leave(),
                                _ => {}
                            }
                            break Input::Control(wanted).into();
                        }
                        None => control_open = false,
                    },
                    () = sleep_until(self.leaves_at) => return Ok(()),
                    // Before the pieces: a response that arrives faster than it is taken lets the time pass all the same.
                    () = sleep_until(self.due_ms.and_then(|at_ms| self.tools.clock.instant_of(at_ms))) => break Input::Timer.into(),
                    // The start of this loop sets the clock again.
                    () = self.children.waiting.changed() => {}
                    Some(piece) = self.pieces.recv() => break piece,
                    Some(done) = self.tasks.next() => break done,
                }
            };
            if let Some(fault) = next.fault.take() {
                next = self.leave_with(fault);
            }
        }
    }

    /// Lets work in flight end within the grace time, and begins nothing else.
    fn begin_to_leave(&mut self) {
        self.slots.suspended.cancel();
        self.children.broadcast(&Control::Suspend);
        self.leaves_at = Instant::now().checked_add(self.grace);
    }

    /// Leaves this run because a child run cannot be resumed, as if the process were asked to leave it.
    fn leave_with(&mut self, fault: DriverError) -> Done {
        self.fault.get_or_insert(fault);
        if self.leaves_at.is_some() {
            return Done::nothing();
        }
        self.begin_to_leave();
        Input::Control(Control::Suspend).into()
    }

    /// Stops the clock while everything that the run waits for waits for a person. The run's own question has a time-out, which
    /// keeps running.
    fn keep_time(&mut self) {
        let run = self.session.run();
        let asks = run.is_some_and(|run| run.awaited().is_some());
        // One that ends has a time-out for the ends below it.
        let ends = self.is_ending();
        let tasks = self.tasks.count();
        let all_wait_for = self.children.waiting.of_all(tasks);
        self.tools
            .clock
            .stand_still(!asks && !ends && all_wait_for.is_some());
        let for_a_person = asks && (tasks == 0 || all_wait_for.is_some());
        let waits = if for_a_person {
            Some(WaitsFor::Person)
        } else {
            all_wait_for.filter(|_| !asks)
        };
        self.report(waits.filter(|_| !ends));
    }

    /// Reports to the run above what this one waits for.
    fn report(&self, waits: Option<WaitsFor>) {
        if let Some(waiting) = &self.waiting {
            waiting.set(waits);
        }
    }

    /// Hands in what happened, and keeps the bytes that it names.
    fn hand_in(&mut self, done: Done) -> Result<(), DriverError> {
        let Done {
            blobs,
            fault,
            input,
        } = done;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let Some(input) = input else {
            return Ok(());
        };
        if let Input::ChildEnded { call, .. } = &input {
            self.children.ended(*call);
        }
        if let Some(inference) = ended(&input) {
            self.reading.remove(&inference);
        }
        for blob in blobs {
            self.recorder.keep(blob);
        }
        let at_ms = self.tools.clock.run_ms();
        Ok(self.session.handle(at_ms, input)?)
    }

    /// Does what the session asks for, in its order; true where the run is over.
    async fn done(&mut self, observer: &mut dyn Observer) -> Result<bool, DriverError> {
        while let Some(output) = self.session.poll() {
            match output {
                Output::Append(append) => self.append(append, observer).await?,
                Output::Probe { headers } => {
                    let probe = Performed::Probe(self.backends.len());
                    let cancel = self.cancel.child_token();
                    let probing =
                        perform::probe(self.backends.clone(), headers, self.slots.clone(), cancel);
                    self.tasks.spawn(probe, probing);
                }
                Output::Send(request) => self.send(request),
                Output::Call(call) => self.call(call),
                Output::Delegate(delegation) => self.delegate(delegation, observer),
                Output::Summarise { full, inference }
                | Output::Sample {
                    inference,
                    prompt: full,
                } => {
                    let input = match self.recorder.blob(full).await {
                        Some(bytes) => Input::Blob { bytes, hash: full },
                        None => Input::Lost(LostEffect::Inference(inference)),
                    };
                    self.hand_in(input.into())?;
                }
                Output::Delta { inference, text } => observer.text(inference, &text),
                Output::Thinking { inference, text } => observer.thinking(inference, &text),
                Output::Arm(due_ms) => self.due_ms = due_ms,
                Output::Close(inference) => {
                    if let Some(reading) = self.reading.remove(&inference) {
                        reading.cancel();
                    }
                }
                Output::Cancel => {
                    self.children.broadcast(&Control::Parent);
                    if self.at_once {
                        self.children.broadcast(&Control::Abort);
                    }
                    self.cancel.cancel();
                    self.cancel = CancellationToken::new();
                    self.reading.clear();
                }
                // The observer of the entries asks a person.
                Output::Ask(_) => {}
                Output::Done(_) => return Ok(true),
            }
        }
        Ok(false)
    }

    async fn append(
        &mut self,
        mut append: Append,
        observer: &mut dyn Observer,
    ) -> Result<(), DriverError> {
        let responses = trace::responses(&append);
        self.drop_stale_answer(&append);
        self.recorder.append(&mut append).await?;
        trace::show(responses);
        if let Some(last) = append.entries.last() {
            self.head = last.hash;
            let at_ms = self.tools.clock.run_ms();
            self.session.handle(at_ms, Input::Durable(last.seq))?;
        }
        if let Some(run) = self.session.run() {
            for (draft, sealed) in append.drafts.iter().zip(&append.entries) {
                observer.entry(draft, sealed, run);
            }
        }
        let events = append
            .drafts
            .iter()
            .filter_map(|draft| draft.event.as_ref());
        for event in events {
            if let EventKind::ApprovalGiven(answer) | EventKind::ApprovalDenied(answer) =
                &event.event
            {
                // It is recorded. What cannot be removed now goes before the next question.
                let Children { run_id, store, .. } = &self.children;
                drop(store.drop_answer(run_id, answer));
            }
        }
        Ok(())
    }

    /// Removes a stale answer before a question is recorded: a server may ask the same for the same call again. Keeps it if the
    /// question was asked before, or if the present answer is recorded with it.
    fn drop_stale_answer(&self, append: &Append) {
        let mut events = append
            .drafts
            .iter()
            .filter_map(|draft| draft.event.as_ref());
        let keeps = events.any(|event| {
            matches!(
                event.event,
                EventKind::Resumed(_) | EventKind::ApprovalGiven(_) | EventKind::ApprovalDenied(_)
            )
        });
        let mut effects = append.drafts.iter().flat_map(|draft| &draft.action.effects);
        let asks = effects.any(|effect| matches!(effect, EffectRecord::AwaitApproval { .. }));
        if asks && !keeps {
            let Children { run_id, store, .. } = &self.children;
            drop(store.drop_earlier_answer(run_id));
        }
    }

    fn send(&mut self, request: Request) {
        let inference = request.inference.inference;
        // The session's target is an index of the contract's targets, and there is a backend for every target.
        if let Some(backend) = self.backends.get(request.inference.target).cloned() {
            let cancel = self.cancel.child_token();
            self.reading.insert(inference, cancel.clone());
            trace::request(&request, &self.tools.contract, self.tools.scrubber.as_ref());
            let (pieces, slots) = (self.sender.clone(), self.slots.clone());
            let asking = perform::infer(backend, request, pieces, slots, cancel);
            self.tasks.spawn(Performed::Inference(inference), asking);
        }
    }

    fn call(&mut self, call: Call) {
        if self.questions.answer(&call.order) {
            return;
        }
        let performed = Performed::Call(call.order.call);
        let asked = Some((self.questions.clone(), self.sender.clone()));
        let calling = perform::call(self.tools.clone(), call, asked, self.cancel.child_token());
        self.tasks.spawn(performed, calling);
    }

    fn delegate(&mut self, delegation: Delegation, observer: &mut dyn Observer) {
        let call = delegation.order.call;
        let (control, controls) = mpsc::channel(CONTROLS);
        let observer = observer.below(&delegation.run_id, control.clone());
        if self.leaves_at.is_some() {
            drop(control.try_send(Control::Suspend));
        }
        self.children.controls.insert(call, control.clone());
        let run = self.session.run();
        let delegating = Delegating {
            below: self.children.below.clone(),
            clock: self.tools.clock.clone(),
            contract: Arc::clone(&self.tools.contract),
            drive: self.children.drive,
            ends: self.children.orphan || run.is_some_and(Run::is_ending),
            grace: self.grace,
            head: self.head,
            max_inferences: self.children.max_inferences,
            queues: Arc::clone(&self.tools.queues),
            recorded: self.recorded,
            run_id: self.children.run_id.clone(),
            scrubber: Arc::clone(&self.tools.scrubber),
            stops: run.is_some_and(Run::is_stopping),
            store: self.children.store.clone(),
        };
        let waiting = self.children.waiting.report_of(call.0);
        let channels = ChildChannels {
            cancel: self.cancel.child_token(),
            control,
            controls,
            observer,
            suspended: self.slots.suspended.clone(),
            waiting,
        };
        let delegated = delegate(delegating, delegation, channels);
        self.tasks.spawn(Performed::Delegation(call), delegated);
    }

    fn is_ending(&self) -> bool {
        self.session.run().is_some_and(Run::is_ending)
    }

    fn end_at_once(&mut self) {
        self.at_once = true;
        self.children.broadcast(&Control::Abort);
    }

    /// Ends every task that is still running. Runs below one that has ended come to their own end; those below one that is left are left, too.
    /// Returns whether the run was asked to end at once.
    pub(super) async fn shut_down(
        mut self,
        control: &mut mpsc::Receiver<Control>,
    ) -> (Session, bool) {
        let has_ended = self
            .session
            .run()
            .is_some_and(|run| run.outcome().is_some());
        if !has_ended {
            // Asked twice, a run is left at once.
            self.children.broadcast(&Control::Suspend);
            self.children.broadcast(&Control::Suspend);
        }
        self.cancel.cancel();
        // A task may wait for a place among the pieces.
        self.pieces.close();
        loop {
            tokio::select! {
                biased;
                Some(wanted) = control.recv() => if wanted == Control::Abort {
                    self.end_at_once();
                },
                () = self.tasks.all() => return (self.session, self.at_once),
            }
        }
    }
}

/// The request whose response ends with that input.
const fn ended(input: &Input) -> Option<InferenceSeq> {
    match input {
        Input::Response { inference, .. }
        | Input::ResponseEnded { inference }
        | Input::Fault { inference, .. }
        | Input::Lost(LostEffect::Inference(inference)) => Some(*inference),
        _ => None,
    }
}
