//! The session: inputs in, outputs out. Has no clock, I/O or randomness.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::deltas::Deltas;
use super::error::SessionError;
use super::input::{Control, Input};
use super::output::{Output, Outputs};
use super::requests::Requests;
use super::response::Issued;
use super::responses::ResponsePart;
use super::scrub::Scrub;
use crate::adapter::AdapterError;
use crate::contract::ExecutionContract;
use crate::kernel::{
    Approval, ChildEnd, Event, EventKind, Interrupter, LostEffect, MAX_PROPOSAL_BYTES,
    MAX_REASON_BYTES, Probed, Resumed, Run, RunStarted, ToolReturned, observation_tokens,
};
use crate::message::{
    CallSeq, Digest, InferenceSeq, InputExchange, ObjectText, RunId, Scrubber, TokenCounter,
    ToolOutcome, char_prefix,
};
use crate::transcript::Chain;

/// A whole run without I/O: inputs in, outputs out.
///
/// ```text
/// host ── Input ──▶ Session ── Output ──▶ host
///         handle                poll
/// ```
///
/// The model of this run is one canned response; `examples/host.rs` is a host with a tool.
///
/// ```
/// use std::collections::VecDeque;
/// use std::sync::Arc;
///
/// use monolith_core::adapter::ResponseMeta;
/// use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
/// use monolith_core::kernel::{AgentOutcome, Probed, ProbedTarget, RunStarted};
/// use monolith_core::message::{NoSecrets, BytesPerToken, RunId};
/// use monolith_core::session::{Input, Output, Session};
///
/// # let spec = ContractSpec::parse("c.yaml", "
/// # task: How late is it?
/// # tool_policy: forbidden
/// # targets: [{provider: demo, model: canned, context_window: 8192}]
/// # providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
/// # ", &[])?;
/// # let targets = vec![TargetCapability::default()];
/// # let manifest = CapabilityManifest { targets, ..CapabilityManifest::default() };
/// # let contract = ContractFactory.make(&spec, &manifest, None)?;
/// let contract = Arc::new(contract);
/// let run_id = RunId::try_from("example".to_owned())?;
/// let opening = RunStarted::opening(&contract.system, "How late is it?");
/// let started = RunStarted::new(&contract, run_id, opening, 0);
/// let mut session = Session::new(contract, BytesPerToken::counter(), Arc::new(NoSecrets))?;
///
/// let mut next = VecDeque::from([Input::Start(Box::new(started))]);
/// let mut outcome = None;
/// while let Some(input) = next.pop_front() {
///     session.handle(0, input)?;
///     while let Some(output) = session.poll() {
///         match output {
///             // A host writes the entries to a disk before it says so.
///             Output::Append(append) => {
///                 let last = append.entries.last().map_or(0, |entry| entry.seq);
///                 session.handle(0, Input::Durable(last))?;
///             }
///             Output::Probe { .. } => {
///                 let canned = ProbedTarget { detail: "canned".to_owned(), responsive: true, ..ProbedTarget::default() };
///                 next.push_back(Input::Probed(Probed { targets: vec![canned] }));
///             }
///             Output::Send(request) => {
///                 assert_eq!(request.path, "chat/completions");
///                 let body = r#"{"choices": [{"index": 0, "finish_reason": "stop",
///                                "message": {"role": "assistant", "content": "Noon."}}]}"#;
///                 next.push_back(Input::Response {
///                     inference: request.inference.inference,
///                     meta: ResponseMeta { status: 200, ..ResponseMeta::default() },
///                     bytes: body.into(),
///                 });
///             }
///             Output::Done(end) => outcome = Some(end),
///             _ => {}
///         }
///     }
/// }
/// assert_eq!(outcome.map(|end| end.class), Some(AgentOutcome::CompletedChatOnly));
/// let run = session.run().ok_or("the run has begun")?;
/// assert_eq!(run.conversation().last().map(|said| said.content.as_str()), Some("Noon."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    /// The moment of the last timer that the host was asked to set.
    pub(super) armed: Option<u64>,
    /// Sizes of the arguments of calls that the host was asked to make.
    pub(super) asked_bytes: BTreeMap<CallSeq, u64>,
    /// Blobs that the next entries name.
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) deltas: Deltas,
    /// True if a driver runs it: outputs wait until entries are durable, and text is released.
    pub(super) driven: bool,
    /// Ends of calls whose message is not complete, in their order.
    pub(super) early_ends: Vec<EventKind>,
    pub(super) outputs: Outputs,
    pub(super) progress: Option<Progress>,
    pub(super) requests: Requests,
    /// True if another process must first confirm the resume.
    pub(super) resuming: bool,
    pub(super) scrubber: Option<Arc<dyn Scrubber>>,
}

/// A run that has begun.
pub(super) struct Progress {
    pub(super) at_ms: u64,
    pub(super) chain: Chain,
    /// The hash of the first entry, once there is one: signed answers bind it.
    pub(super) first_entry: Option<Digest>,
    pub(super) run: Run,
    pub(super) run_id: RunId,
    /// The wall-clock time at which the run's clock would have begun, had it never stood still.
    zero_unix_ms: u64,
}

impl Session {
    /// A run that is to be driven from its beginning: hand in [`Input::Start`] first. `counter` estimates tokens as the contract's
    /// tokenizer does; `scrubber` knows the host's secrets.
    ///
    /// # Errors
    /// [`AdapterError`] where this build cannot speak to a target of the contract.
    pub fn new(
        contract: Arc<ExecutionContract>,
        counter: Arc<dyn TokenCounter>,
        scrubber: Arc<dyn Scrubber>,
    ) -> Result<Self, AdapterError> {
        Self::recorded(contract, Arc::clone(&counter)).resume(counter, scrubber)
    }

    /// A run that is made again from recorded events, for replays: nothing waits for what is durable, nothing is scrubbed again. A
    /// target that this build cannot speak to gets no requests.
    #[must_use]
    pub fn recorded(contract: Arc<ExecutionContract>, counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            armed: None,
            asked_bytes: BTreeMap::new(),
            blobs: Vec::new(),
            counter,
            deltas: Deltas::default(),
            driven: false,
            early_ends: Vec::new(),
            outputs: Outputs::default(),
            progress: None,
            requests: Requests::new(Arc::clone(&contract)),
            resuming: false,
            scrubber: None,
            contract,
        }
    }

    /// The same run, driven on from where its record ends: hand in [`Input::Resumed`] next.
    ///
    /// # Errors
    /// [`AdapterError`] where this build cannot speak to a target of the contract.
    pub fn resume(
        mut self,
        counter: Arc<dyn TokenCounter>,
        scrubber: Arc<dyn Scrubber>,
    ) -> Result<Self, AdapterError> {
        if let Some((_, fault)) = self.requests.unknown().next() {
            return Err(fault.clone());
        }
        // Another host: it has received no outputs yet.
        self.armed = None;
        self.early_ends.clear();
        self.counter = counter;
        self.driven = true;
        self.resuming = self.progress.is_some();
        self.outputs = Outputs::gated();
        self.scrubber = Some(scrubber);
        Ok(self)
    }

    /// Takes one input. `at_ms` is when it became known, in milliseconds since the run began, not counting time in which no process drove
    /// the run; an earlier moment than the last one counts as the last one.
    ///
    /// # Errors
    /// [`SessionError`] where the host does what no host may do; the run stays as it was.
    pub fn handle(&mut self, at_ms: u64, input: Input) -> Result<(), SessionError> {
        if self.resuming && !matches!(input, Input::Resumed { .. }) {
            return Err(SessionError::NotResumed);
        }
        let event = match input {
            Input::Start(started) => return self.start(self.scrubbed_start(*started)),
            Input::Durable(seq) => {
                let entries = self.entries();
                return self.outputs.durable(seq, entries);
            }
            Input::Blob { hash, bytes } => {
                let request = self.requests.with_blob(hash, &bytes)?;
                self.outputs.extend(request.map(Output::Send));
                return Ok(());
            }
            Input::Resumed {
                addresses,
                bring_up,
                confinement,
                tool_servers,
                tools_changed,
                unix_ms,
            } => {
                let resumed = Resumed {
                    addresses,
                    bring_up,
                    confinement,
                    contract_hash: self.contract.rehash(),
                    elapsed_ms: self.stood_still(at_ms, unix_ms),
                    tool_servers,
                    tools_changed,
                };
                return self.resumed(at_ms, resumed);
            }
            Input::ResponseBegan { inference, meta } => {
                self.response(inference, ResponsePart::Head(meta))?
            }
            Input::ResponseBytes { inference, bytes } => {
                let event = self.response(inference, ResponsePart::Bytes(bytes))?;
                if event.is_none() {
                    self.calls_streamed(at_ms, inference)?;
                }
                event
            }
            Input::ResponseEnded { inference } => self.response(inference, ResponsePart::End)?,
            Input::Response {
                inference,
                meta,
                bytes,
            } => self.response(inference, ResponsePart::Whole(meta, bytes))?,
            Input::Fault { inference, fault } => {
                self.response(inference, ResponsePart::Fault(fault))?
            }
            Input::ToolResult {
                call,
                exchanges,
                outcome,
            } => {
                self.check_sizes(call, &outcome)?;
                Some(self.tool_returned(call, (exchanges, None), outcome))
            }
            Input::ChildEnded {
                call,
                child,
                outcome,
            } => Some(self.tool_returned(call, (Vec::new(), child), outcome)),
            Input::Probed(probed) => Some(EventKind::Probed(self.scrubbed_probe(probed))),
            Input::Timer => Some(EventKind::TimerFired),
            Input::Control(control) => Some(self.admitted_control(control).into()),
            Input::Lost(effect) => Some(EventKind::EffectLost(effect)),
            Input::Recorded(event) => return self.recorded_event(at_ms, *event),
        };
        if let Some(event) = event.and_then(|event| self.unless_early(event)) {
            self.happened(at_ms, event)?;
        }
        self.release_early(at_ms)
    }

    /// The next thing to do; none until something is handed in. After [`Output::Append`] it is none until the entries are durable.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.next()
    }

    /// The machine, once the run has begun.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        self.progress.as_ref().map(|progress| &progress.run)
    }

    /// The machine without the session; none before the run has begun.
    #[must_use]
    pub fn into_run(self) -> Option<Run> {
        self.progress.map(|progress| progress.run)
    }

    /// The contract of the run.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// The hash of the last entry; none if there is no entry.
    #[must_use]
    pub fn head(&self) -> Option<Digest> {
        self.progress.as_ref().map(|progress| progress.chain.head())
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn entries(&self) -> u64 {
        let progress = self.progress.as_ref();
        progress.map_or(0, |progress| progress.chain.length())
    }

    /// The targets that this build cannot speak to, by their index in the contract.
    pub(crate) fn unknown_targets(&self) -> impl Iterator<Item = (usize, &AdapterError)> {
        self.requests.unknown()
    }

    /// Returns the data for judging a response to that request; `None` if it is not in flight.
    pub fn issued(&self, inference: InferenceSeq) -> Option<&Issued> {
        self.requests.issued(inference)
    }

    fn start(&mut self, started: RunStarted) -> Result<(), SessionError> {
        if self.progress.is_some() {
            return Err(SessionError::Started);
        }
        let zero_unix_ms = started.started_unix_ms;
        self.requests.begun_at(zero_unix_ms);
        let run_id = started.run_id.clone();
        let chain = Chain::genesis(self.contract.contract_hash(), &run_id);
        let validators = Arc::clone(self.contract.validators());
        let (run, effects) = Run::start(Arc::clone(&self.contract), validators, started);
        self.progress = Some(Progress {
            at_ms: 0,
            chain,
            first_entry: None,
            run,
            run_id,
            zero_unix_ms,
        });
        self.take(effects);
        Ok(())
    }

    /// Scrubs servers' statements and bring-up faults; the messages are the host's to scrub.
    fn scrubbed_start(&self, mut started: RunStarted) -> RunStarted {
        if let Some(scrubber) = &self.scrubber {
            Scrub(scrubber.as_ref()).faults(&mut started.bring_up);
            Scrub(scrubber.as_ref()).statements(&mut started.tool_servers);
        }
        started
    }

    fn scrubbed_probe(&self, mut probed: Probed) -> Probed {
        if let Some(scrubber) = &self.scrubber {
            for target in &mut probed.targets {
                target.detail = scrubber.cut_text(&target.detail);
                let texts = target.properties.iter_mut();
                for text in texts.chain(&mut target.server_headers) {
                    text.value = scrubber.cut_text(&text.value);
                }
            }
        }
        probed
    }

    /// A control as it may become an event: what a person wrote is scrubbed and bounded, and a signature that does not hold over what is
    /// left of the answer is taken off it.
    fn admitted_control(&self, mut control: Control) -> Control {
        let (answer, approved) = match &mut control {
            Control::Approve(answer) => (answer, true),
            Control::Deny(answer) => (answer, false),
            Control::Stop | Control::Abort | Control::Suspend | Control::Parent => return control,
        };
        if let Some(scrubber) = &self.scrubber {
            Scrub(scrubber.as_ref()).answer(answer);
        }
        bound(answer);
        // What is allowed needs no other arguments, and what is denied is given nothing.
        if approved {
            answer.proposal = None;
        } else {
            answer.content = None;
        }
        let first = self.progress.as_ref().and_then(|p| p.first_entry);
        let holds = first.is_some_and(|first| answer.check_signature(first, approved).is_ok());
        answer.answerer.take_if(|_| !holds);
        control
    }

    /// Returns an ended call's event, tokens counted.
    fn tool_returned(
        &self,
        call: CallSeq,
        (mut exchanges, child): (Vec<InputExchange>, Option<Box<ChildEnd>>),
        mut outcome: ToolOutcome,
    ) -> EventKind {
        if let Some(scrubber) = &self.scrubber {
            Scrub(scrubber.as_ref()).exchanges(&mut exchanges);
            Scrub(scrubber.as_ref()).outcome(&mut outcome);
        }
        if let ToolOutcome::Returned(envelope) = outcome {
            let budget = &self.contract.tool_output_budget;
            let tokens = observation_tokens(&envelope, budget, self.counter.as_ref());
            outcome = ToolOutcome::Returned(envelope.counted(tokens));
        }
        EventKind::ToolReturned(Box::new(ToolReturned {
            call,
            child,
            exchanges,
            outcome,
        }))
    }

    /// Resumes in another process: effects that the last one started and did not end are lost, in the order of their start. An
    /// awaited approval is not lost: it is asked for again.
    fn resumed(&mut self, at_ms: u64, mut resumed: Resumed) -> Result<(), SessionError> {
        if let Some(scrubber) = &self.scrubber {
            let scrub = Scrub(scrubber.as_ref());
            scrub.statements(&mut resumed.tool_servers);
            scrub.faults(&mut resumed.bring_up);
        }
        let run = self.run().ok_or(SessionError::NotStarted)?;
        let lost = run.unresolved();
        self.resuming = false;
        self.happened(at_ms, EventKind::Resumed(resumed))?;
        for effect in lost {
            // What the machine does not wait for any more is not lost.
            if self
                .run()
                .is_some_and(|run| run.unresolved().contains(&effect))
            {
                self.happened(at_ms, EventKind::EffectLost(effect))?;
            }
        }
        let asked = self.run().and_then(Run::awaited);
        self.outputs.ask_again(asked);
        Ok(())
    }

    /// Milliseconds by the wall clock in which the run's own clock stood still, and which no resume has recorded yet.
    fn stood_still(&self, at_ms: u64, unix_ms: u64) -> u64 {
        let progress = self.progress.as_ref();
        let shown = progress.map_or(u64::MAX, |p| {
            p.zero_unix_ms.saturating_add(p.at_ms.max(at_ms))
        });
        unix_ms.saturating_sub(shown)
    }

    fn recorded_event(&mut self, at_ms: u64, event: EventKind) -> Result<(), SessionError> {
        match &event {
            EventKind::RunStarted(started) if self.progress.is_none() => {
                return self.start((**started).clone());
            }
            EventKind::InferenceReturned(returned) => drop(self.requests.take(returned.inference)),
            EventKind::InferenceFailed(failed) => drop(self.requests.take(failed.inference)),
            _ => {}
        }
        self.step(at_ms, event)
    }

    pub(super) fn happened(&mut self, at_ms: u64, event: EventKind) -> Result<(), SessionError> {
        let progress = self.progress.as_mut().ok_or(SessionError::NotStarted)?;
        let at_ms = at_ms.max(progress.at_ms);
        self.step(at_ms, event)
    }

    fn step(&mut self, at_ms: u64, event: EventKind) -> Result<(), SessionError> {
        let progress = self.progress.as_mut().ok_or(SessionError::NotStarted)?;
        progress.at_ms = at_ms;
        if let EventKind::Resumed(resumed) = &event {
            progress.zero_unix_ms = progress.zero_unix_ms.saturating_add(resumed.elapsed_ms);
        }
        if let EventKind::EffectLost(LostEffect::Inference(inference)) = &event {
            drop(self.requests.take(*inference));
        }
        let effects = progress.run.step(Event { at_ms, event });
        self.take(effects);
        Ok(())
    }
}

/// Cuts what a person wrote to what the model may be shown of it. Arguments that are too long are no proposal.
fn bound(answer: &mut Approval) {
    if let Some(reason) = &mut answer.reason
        && reason.len() > MAX_REASON_BYTES
    {
        *reason = char_prefix(reason, MAX_REASON_BYTES).to_owned();
    }
    let long = |proposal: &mut ObjectText| proposal.as_str().len() > MAX_PROPOSAL_BYTES;
    answer.proposal.take_if(long);
}

impl From<Control> for EventKind {
    fn from(control: Control) -> Self {
        match control {
            Control::Stop => Self::StopRequested,
            Control::Abort => Self::Interrupted(Interrupter::Abort),
            Control::Suspend => Self::Suspended,
            Control::Parent => Self::Interrupted(Interrupter::Parent),
            Control::Approve(approval) => Self::ApprovalGiven(approval),
            Control::Deny(approval) => Self::ApprovalDenied(approval),
        }
    }
}
