//! The reaction to each awaited event, and the calls of a message while they run (semantics §4, §6, §9).

use super::*;
use crate::kernel::ChildEnd;

impl Oracle {
    pub(super) fn stop_requested(&mut self) -> Reaction {
        if self.facts.stop {
            return self.leave(Class::Interrupted, Code::Abort);
        }
        self.facts.stop = true;
        match self.facts.place {
            Place::Waiting | Place::Due => self.commit(Found {
                again: true,
                ..Found::default()
            }),
            // Nothing runs, so nothing will end that the stop could wait for.
            Place::Tools if self.facts.suspended && !self.busy() => {
                self.unpark();
                self.rest()
            }
            Place::Tools
                if self
                    .facts
                    .batch
                    .iter()
                    .any(|c| matches!(c.slot, Slot::Asked(_) | Slot::Question { .. })) =>
            {
                self.unpark();
                self.rest()
            }
            Place::Tools | Place::Precheck | Place::Inference(_) | Place::Over => Reaction::Noted,
        }
    }

    pub(super) fn resumed(&mut self, resumed: &Resumed) -> Reaction {
        let suspended = std::mem::take(&mut self.facts.suspended);
        if self.facts.ending.is_some() {
            return self.starts(self.gone_on_with());
        }
        self.facts.resumes += u32::from(!suspended);
        self.facts
            .changed
            .extend(resumed.tools_changed.iter().cloned());
        for (_, until) in self.clock.holds.values_mut() {
            *until = until.saturating_sub(resumed.elapsed_ms);
        }
        self.clock.until = self.clock.until.saturating_sub(resumed.elapsed_ms);
        if resumed.contract_hash != self.contract_hash {
            if self.facts.place == Place::Precheck {
                let late = self.out_of_time();
                return late.unwrap_or_else(|| {
                    self.end(Class::FailedPreflight, Code::ContractHashMismatch)
                });
            }
            self.unpark();
            if self.waits_to_end(Ending::Mutated) {
                return self.starts(self.gone_on_with());
            }
            return self.commit(Found {
                violation: Some(Code::ContractMutated),
                ..Found::default()
            });
        }
        if self.facts.resumes > self.terms.max_resumes {
            return match self.leave(Class::Interrupted, Code::Shutdown) {
                Reaction::Noted => self.starts(self.gone_on_with()),
                ends => ends,
            };
        }
        let asked = |c: &Call| matches!(c.slot, Slot::Asked(_) | Slot::Question { .. });
        let due = self.facts.batch.iter().find_map(|c| match c.slot {
            Slot::Question { call, live, .. } if !live => Some(call),
            _ => None,
        });
        if let (true, Place::Tools, None, Some(call)) =
            (suspended, self.facts.place, self.clock.parked_since, due)
        {
            if self.nothing_starts().is_some() {
                return self.go_on_tools();
            }
            self.clock.parked_since = Some(self.clock.at);
            return Reaction::AwaitsApproval(call);
        }
        let again = self.gone_on_with();
        let reaction = match self.facts.place {
            Place::Due if self.clock.until > self.clock.at && self.late().is_none() => self.wait(),
            Place::Due => self.commit(Found {
                again: true,
                ..Found::default()
            }),
            Place::Tools if suspended && !self.facts.batch.iter().any(asked) => self.go_on_tools(),
            _ => Reaction::Noted,
        };
        match reaction {
            Reaction::Noted if self.facts.place == Place::Tools => self.starts(again),
            other => other,
        }
    }

    /// Handles the calls that are due after a suspension: first the summaries, then the next calls.
    fn go_on_tools(&mut self) -> Reaction {
        let mut last = None;
        for at in 0..self.facts.batch.len() {
            if let Some(reaction) = self.sample_due(at) {
                return reaction;
            }
            let Slot::Untold((tool, whole, cut)) = self.facts.batch[at].slot.clone() else {
                continue;
            };
            self.facts.batch[at].slot = Slot::Result(cut);
            last = self.summary_of(at, &tool, whole, cut).or(last);
        }
        match last {
            Some(inference) => Reaction::Summarises(inference),
            None => self.rest(),
        }
    }

    fn busy(&self) -> bool {
        let busy = |c: &Call| {
            matches!(
                c.slot,
                Slot::Running(_) | Slot::Told { .. } | Slot::Sampled { .. }
            )
        };
        self.facts.batch.iter().any(busy) || !self.facts.unwanted.is_empty()
    }

    /// True if that summary is awaited.
    pub(super) fn awaits_summary(&self, n: u64) -> bool {
        let of_summary =
            |c: &Call| matches!(c.slot, Slot::Told { inference, .. } if inference == n);
        self.facts.place == Place::Tools && self.facts.batch.iter().any(of_summary)
    }

    pub(super) fn timer(&mut self) -> Reaction {
        if self.facts.ending.is_some() {
            return self.too_late_for_ends();
        }
        if let Some(since) = self.clock.parked_since {
            if self.clock.at - since <= self.terms.approval_timeout_ms {
                return Reaction::Ignored;
            }
            if let Some(reaction) = self.answer_question(None) {
                return reaction;
            }
            self.answer_asked("denied: approval");
            return self.rest();
        }
        if let Some(code) = self.late() {
            return self.leave(Class::FailedTimeout, code);
        }
        if self.facts.place == Place::Waiting && self.clock.at >= self.clock.until {
            return self.commit(Found {
                again: true,
                ..Found::default()
            });
        }
        Reaction::Ignored
    }

    pub(super) fn lost(&mut self, lost: &LostEffect) -> Reaction {
        match (lost, self.facts.place) {
            (LostEffect::Probe, Place::Precheck) if self.facts.suspended => Reaction::Noted,
            (LostEffect::Probe, Place::Precheck) => Reaction::Probes,
            (LostEffect::Wait, Place::Waiting) => self.wait(),
            (LostEffect::Inference(n), Place::Inference(awaited)) if n.0 == awaited => {
                self.commit(Found {
                    again: true,
                    ..Found::default()
                })
            }
            (LostEffect::Inference(n), Place::Tools) => self
                .sample_ended(n.0)
                .unwrap_or_else(|| self.summary_ended(n.0, None)),
            (LostEffect::Call(call), Place::Tools) => {
                if self.gone_on_with().contains(&call.0) {
                    return Reaction::Ignored;
                }
                let nothing_starts = self.nothing_starts().is_some();
                self.leave_sampling(call.0);
                let Some(lost) = self.facts.batch.iter_mut().find(|c| c.is_under_way(call.0))
                else {
                    return Reaction::Ignored;
                };
                self.clock.unpark();
                if self.terms.idempotent.contains(&lost.name) && !nothing_starts {
                    if self.facts.suspended {
                        lost.slot = Slot::Ready(call.0);
                        return Reaction::Noted;
                    }
                    lost.slot = Slot::Running(call.0);
                    return Reaction::Starts(vec![call.0]);
                }
                lost.slot = Slot::Answered(failed("interrupted, effect unknown"));
                self.rest()
            }
            _ => Reaction::Ignored,
        }
    }

    // ---- §6: calls ----

    pub(super) fn unpark(&mut self) {
        self.clock.unpark();
    }

    pub(super) fn returned(
        &mut self,
        call: u64,
        outcome: &ToolOutcome,
        child: Option<&ChildEnd>,
    ) -> Reaction {
        if self.facts.ending.is_some() {
            return self.end_of_one(call, outcome, child);
        }
        let of_agent = self.facts.grants.contains_key(&call);
        self.child_ended(call, child);
        let child = child.filter(|_| of_agent);
        let Some(at) = self.facts.batch.iter().position(|c| c.is_under_way(call)) else {
            return Reaction::Ignored;
        };
        self.leave_sampling(call);
        self.unpark();
        let (id, name) = (
            self.facts.batch[at].id.clone(),
            self.facts.batch[at].name.clone(),
        );
        let agrees = |envelope: &ToolEnvelope| {
            let ok = envelope.status == EnvelopeStatus::Ok;
            child.is_none_or(|child| child.outcome.class.is_success() == ok)
        };
        let unknown = || Slot::Answered(failed("interrupted, effect unknown"));
        let slot = match outcome {
            ToolOutcome::Returned(envelope)
                if of_agent && child.is_none() && well_formed(envelope, &id, &name) =>
            {
                // No run was begun: nothing was executed.
                Slot::Answered(failed(&envelope.text()))
            }
            ToolOutcome::InputRequired(_) | ToolOutcome::SamplingRequired(_) if of_agent => {
                unknown()
            }
            ToolOutcome::Returned(envelope)
                if well_formed(envelope, &id, &name) && agrees(envelope) =>
            {
                self.facts.executed += 1;
                let ok = envelope.status == EnvelopeStatus::Ok;
                let below = child.is_some_and(|child| child.tools_ok > 0);
                self.facts.batch[at].proves = below;
                if let Some(child) = child {
                    let both = || [Label::Private, Label::Untrusted].into();
                    self.facts.batch[at].report_labels = child.labels.clone().unwrap_or_else(both);
                }
                self.facts.proof |= match self.terms.tool_proof {
                    ToolProof::Executed => true,
                    ToolProof::Lineage if of_agent => below,
                    ToolProof::Succeeded | ToolProof::Lineage => ok,
                };
                self.weigh(at, envelope.tokens)
            }
            ToolOutcome::Returned(_) | ToolOutcome::Malformed { .. } => {
                self.facts.malformed = true;
                Slot::Answered(failed("interrupted, effect unknown"))
            }
            ToolOutcome::InputRequired(asked) => {
                let was_asking = matches!(self.facts.batch[at].slot, Slot::Question { .. });
                let too_often =
                    self.facts.batch[at].questions == crate::kernel::execute::MOST_QUESTIONS;
                if !was_asking && !too_often && self.nothing_starts().is_none() {
                    self.facts.batch[at].questions += 1;
                    self.facts.batch[at].slot = Slot::Question {
                        call,
                        hash: asked.question.digest(),
                        live: asked.resume.is_none(),
                    };
                    if self.facts.suspended {
                        return Reaction::Noted;
                    }
                    self.clock.parked_since = Some(self.clock.at);
                    return Reaction::AwaitsApproval(call);
                }
                Slot::Answered(failed("interrupted, effect unknown"))
            }
            ToolOutcome::SamplingRequired(asked) => match self.sampling_required(at, call, asked) {
                Some(reaction) => return reaction,
                None => Slot::Answered(failed("interrupted, effect unknown")),
            },
            ToolOutcome::TimedOut => Slot::Answered(failed("timeout")),
            ToolOutcome::ConnectionLost { .. } => Slot::Answered(failed("connection lost")),
            ToolOutcome::Cancelled if self.facts.stop => {
                Slot::Answered(failed("not started: stop requested"))
            }
            ToolOutcome::Cancelled => Slot::Answered(failed("interrupted, effect unknown")),
            ToolOutcome::ToolChanged { .. } => {
                Slot::Answered(failed("tool changed since the contract was made"))
            }
            ToolOutcome::RestartInProgress => Slot::Answered(failed("mcp_restart_in_progress")),
            ToolOutcome::RestartFailed { .. } => Slot::Answered(failed("mcp_restart_failed")),
        };
        let fits = matches!(slot, Slot::Result(_)) && !self.facts.tripped;
        self.facts.batch[at].slot = slot;
        match outcome {
            ToolOutcome::Returned(envelope) if fits => self.summary(at, envelope),
            _ => self.rest(),
        }
    }

    /// Sums the tokens of the turn's results so far.
    pub(super) fn results(&self) -> u64 {
        let weigh = |c: &Call| match c.slot {
            Slot::Result(n) | Slot::Told { cut: n, .. } | Slot::Untold((_, _, n)) => n,
            _ => 0,
        };
        self.facts.batch.iter().map(weigh).sum()
    }

    /// tool_preflight: a result that does not fit is dropped.
    pub(super) fn weigh(&mut self, at: usize, tokens: u64) -> Slot {
        let largest = self
            .left_next()
            .map(|t| self.limit(t))
            .max()
            .unwrap_or(u64::MAX);
        let schema = self.schema(false);
        let results = self.results();
        let f = &mut self.facts;
        if f.current + f.pending + results + tokens + schema > largest {
            f.tripped = true;
            return Slot::Result(estimate(&failed("context window budget exceeded")));
        }
        f.batch[at].shows = true;
        Slot::Result(tokens)
    }

    pub(super) fn nothing_starts(&self) -> Option<&'static str> {
        if self.facts.malformed || self.late().is_some() || self.overdrawn().is_some() {
            Some("not started: step cut short")
        } else if self.facts.stop {
            Some("not started: stop requested")
        } else if self.facts.tripped {
            Some("not started: context")
        } else {
            None
        }
    }

    /// After a call ended: wait for the others, start the next, or observe.
    pub(super) fn rest(&mut self) -> Reaction {
        if self.busy() {
            let Some(code) = self.overdrawn().filter(|_| self.only_agents_run()) else {
                return Reaction::Noted;
            };
            return self.leave(Class::FailedBudgetExhausted, code);
        }
        if let Some(reason) = self.nothing_starts() {
            for call in &mut self.facts.batch {
                match call.slot {
                    Slot::Question { .. } | Slot::Unsampled { .. } => {
                        call.slot = Slot::Answered(failed("interrupted, effect unknown"));
                    }
                    Slot::Ready(_) if call.answered => {
                        call.slot = Slot::Answered(failed("interrupted, effect unknown"));
                    }
                    Slot::Pending(_) | Slot::ToAsk(_) | Slot::Asked(_) | Slot::Ready(_) => {
                        call.slot = Slot::Answered(failed(reason));
                    }
                    Slot::Untold((_, _, cut)) => call.slot = Slot::Result(cut),
                    _ => {}
                }
            }
        }
        let is_due = |c: &Call| {
            matches!(
                c.slot,
                Slot::Pending(_)
                    | Slot::ToAsk(_)
                    | Slot::Ready(_)
                    | Slot::Untold(_)
                    | Slot::Unsampled { .. }
            )
        };
        if self.facts.batch.iter().any(is_due) {
            return self.start();
        }
        let settled = self.settle(true);
        self.commit(settled)
    }

    /// Observes the calls: what each is answered with weighs, and the report comes to what it comes to.
    pub(super) fn settle(&mut self, counts: bool) -> Found {
        let head = self.late().is_some()
            || self.overdrawn().is_some()
            || self.left_next().next().is_none()
            || self.facts.invalid >= self.terms.max_invalid_turns;
        let shown = self.facts.batch.iter().filter(|call| call.shows);
        let shown: Vec<Label> = shown.flat_map(|call| self.labels(call)).collect();
        let f = &mut self.facts;
        f.seen.extend(shown);
        for call in std::mem::take(&mut f.batch) {
            f.pending += match call.slot {
                Slot::Answered(text) => estimate(&text),
                Slot::Result(tokens) => tokens,
                _ => 0,
            };
        }
        f.pending += std::mem::take(&mut f.frames);
        let malformed = std::mem::take(&mut f.malformed);
        let report = f.report.take();
        let mut found = Found {
            malformed,
            ..Found::default()
        };
        let unproven = self.unproven();
        let answer = match report {
            None => None,
            Some(_) if malformed || head => Some("not started: step cut short"),
            Some(Ok(())) if unproven => Some("no tool call counts yet"),
            Some(Ok(())) => {
                found.terminal = true;
                found.by = Some(Code::FinalReport);
                None
            }
            Some(Err(reason)) => {
                found.report_failed = counts;
                Some(reason)
            }
        };
        if let Some(reason) = answer {
            self.facts.pending += estimate(&failed(reason));
        }
        found
    }

    pub(super) fn start(&mut self) -> Reaction {
        let terms = Arc::clone(&self.terms);
        let beside =
            |name: &String| terms.parallel_tool_calls && terms.parallel_safe.contains(name);
        self.facts.place = Place::Tools;
        if self.facts.suspended {
            return Reaction::Noted;
        }
        let mut started = Vec::new();
        let runs = |call: &&Call| matches!(call.slot, Slot::Running(_));
        let early = self.facts.batch.iter().rfind(runs);
        let early = early.map(|call| beside(&call.name));
        let mut group = early == Some(true);
        for at in 0..self.facts.batch.len() {
            let call = &self.facts.batch[at];
            let (Slot::Pending(n) | Slot::ToAsk(n) | Slot::Ready(n)) = call.slot else {
                continue;
            };
            let granted = terms
                .agents
                .contains_key(&call.name)
                .then(|| self.grant(&call.name, call.arguments_tokens));
            let call = &mut self.facts.batch[at];
            let by_flow = call.slot == Slot::Pending(n) && call.asks;
            let asks = call.slot == Slot::ToAsk(n) || by_flow;
            let first = started.is_empty() && early.is_none();
            let joins = first || (group && beside(&call.name) && !asks);
            if !joins {
                break;
            }
            if asks {
                call.slot = Slot::Asked(n);
                self.clock.parked_since = Some(self.clock.at);
                return Reaction::AwaitsApproval(n);
            }
            match granted {
                Some(Err(reason)) => {
                    call.slot = Slot::Answered(failed(&reason));
                    continue;
                }
                Some(Ok(grant)) => drop(self.facts.grants.insert(n, grant)),
                None => {}
            }
            let call = &mut self.facts.batch[at];
            group = beside(&call.name);
            call.slot = Slot::Running(n);
            started.push(n);
        }
        if started.is_empty() && early.is_some() {
            return Reaction::Noted;
        }
        if started.is_empty() {
            // Every one was refused.
            let settled = self.settle(true);
            return self.commit(settled);
        }
        self.starts(started)
    }
}

pub(super) fn well_formed(envelope: &ToolEnvelope, id: &str, name: &str) -> bool {
    envelope.tool_call_id == id
        && envelope.tool == name
        && (envelope.status == EnvelopeStatus::Error) == envelope.error.is_some()
}
