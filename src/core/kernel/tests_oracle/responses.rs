//! The meaning of a response (semantics §2, §6).

use super::questions::parts;
use super::*;
use crate::contract::{StepsLeft, signature};

impl Oracle {
    pub(super) fn accept(&mut self, usage: &Usage) {
        self.facts.succeeded = true;
        self.facts.current = usage.input + usage.output + usage.cache_read;
        self.facts.pending = 0;
    }

    /// Accepts the message and answers each of its calls with the same words.
    pub(super) fn accept_unstarted(
        &mut self,
        r: &InferenceReturned,
        message: &AgentMessage,
        reason: &str,
    ) {
        self.accept(&r.usage);
        self.facts.pending += message.tool_calls.len() as u64 * estimate(&failed(reason));
    }

    pub(super) fn reject(&mut self, code: &str, pointer: &str, stood: Option<&str>) -> Reaction {
        let stood = stood.filter(|_| !self.gate_closed());
        let stood = stood.map(|stood| format!(": {stood}")).unwrap_or_default();
        self.facts.notices = estimate(&format!(
            "System notice: your last response was rejected: {code} at {pointer}{stood}. Answer again."
        ));
        self.commit_failed(Why::Structure)
    }

    pub(super) fn answered(&mut self, r: &InferenceReturned) -> Reaction {
        let plain = std::mem::take(&mut self.facts.plain);
        let asks = |m: &AgentMessage| !self.user_calls(m).is_empty();
        let asks = r.result.canonical_message.as_ref().is_some_and(asks);
        if r.gate_breached && self.gate_closed() && !asks {
            return self.commit(Found {
                violation: Some(Code::TokenGate),
                ..Found::default()
            });
        }
        let repaired = r.result.status == AdapterStatus::Recovered && self.terms.strict_mode;
        let message = match &r.result.canonical_message {
            Some(message) if r.result.status != AdapterStatus::Rejected && !repaired => message,
            _ => {
                let code = r
                    .result
                    .failure_code
                    .map_or("RECOVERED_IN_STRICT", |c| c.as_str());
                return self.reject(
                    code,
                    r.result.pointer.as_deref().unwrap_or("/"),
                    r.result.excerpt.as_deref(),
                );
            }
        };
        let calls = self.user_calls(message);
        let outside = self.terms.strict_mode
            && self.facts.closing.is_none()
            && calls
                .iter()
                .map(|(c, _)| c)
                .any(|c| self.terms.tool(&c.name).is_some() && !self.terms.allows(&c.name));
        let violation = if !calls.is_empty() && self.terms.tool_policy == ToolPolicy::Forbidden {
            Some(Code::ForbiddenCall)
        } else {
            outside.then_some(Code::ToolNotAllowed)
        };
        match (r.result.stop, violation) {
            (StopReason::Refusal, None) => return self.commit_failed(Why::Refused(Code::Refusal)),
            (StopReason::ContentFilter, None) => {
                return self.commit_failed(Why::Refused(Code::ContentFilter));
            }
            _ => {}
        }
        let text = !message.is_blank() || r.result.withheld.is_some_and(|w| !w.blank);
        let cut = text && r.result.stop == StopReason::Length;
        let unnamed = r.result.stop == StopReason::Unknown;
        if violation == Some(Code::ForbiddenCall) {
            self.accept(&r.usage);
            return self.commit(Found {
                violation,
                ..Found::default()
            });
        }
        if cut_report(message) && r.result.stop == StopReason::Length && self.reports() {
            self.facts.notices = texts::cut_notice().tokens;
            return self.commit_failed(Why::Other);
        }
        let stands = !message.tool_calls.is_empty() && (self.facts.closing.is_none() || !text);
        if unnamed && !stands && !(self.reports() && cut_report(message)) {
            return self.commit_failed(Why::Provider);
        }
        if !message.tool_calls.is_empty() && self.facts.closing.is_some() && self.reports() && !cut
        {
            return self.closing_calls(r, message, text);
        }
        if !message.tool_calls.is_empty() && self.facts.closing.is_some() {
            self.accept_unstarted(r, message, "tools are withheld");
            return match (text, cut) {
                (true, false) => self.commit(Found {
                    terminal: true,
                    ..Found::default()
                }),
                _ => self.commit_failed(Why::Other),
            };
        }
        if !message.tool_calls.is_empty() {
            return self.called(r, message, violation);
        }
        if cut {
            self.facts.notices = texts::cut_notice().tokens;
            return self.commit_failed(Why::Other);
        }
        if text && self.reports() {
            if self.facts.closing.is_some() {
                self.accept(&r.usage);
                return self.commit(Found {
                    terminal: true,
                    by: Some(Code::TextFallback),
                    ..Found::default()
                });
            }
            self.facts.plain = if self.unproven() { 0 } else { plain + 1 };
            self.facts.notices = estimate(if self.unproven() { UNPROVEN } else { PROSE });
            return self.commit_failed(Why::Other);
        }
        if text || message.has_reasoning() {
            self.accept(&r.usage);
            return self.commit(Found {
                terminal: text,
                ..Found::default()
            });
        }
        self.facts.notices = estimate(if self.reports() {
            PROSE
        } else {
            "System notice: the response was empty. Call a tool or answer."
        });
        self.commit_failed(Why::Other)
    }

    pub(super) fn called(
        &mut self,
        r: &InferenceReturned,
        message: &AgentMessage,
        violation: Option<Code>,
    ) -> Reaction {
        let calls = self.user_calls(message);
        if violation.is_some() {
            self.accept_unstarted(r, message, "not started: step cut short");
            return self.commit(Found {
                violation,
                ..Found::default()
            });
        }
        let mut answers: Vec<Option<String>> = Vec::new();
        let mut invalid = false;
        let mut room = self.terms.max_tool_calls_per_turn;
        let mut left = StepsLeft::WHOLE;
        for (call, _) in &calls {
            let name = &call.name;
            let answer = if self.terms.tool(name).is_none() {
                invalid = true;
                Some(format!("TOOL_NOT_FOUND: {name}{}", self.near(name)))
            } else if !self.terms.allows(name) {
                Some(format!("TOOL_NOT_ALLOWED: {name}"))
            } else if self.facts.changed.contains(name) {
                Some("tool changed since the contract was made".to_owned())
            } else if call.fault.is_some() {
                Some("arguments are not valid JSON".to_owned())
            } else if let Err(fault) =
                self.validators
                    .validate_within(name, &call.arguments, &mut left)
            {
                invalid = true;
                let place = match fault.pointer.as_str() {
                    "" => "the arguments",
                    pointer => pointer,
                };
                let what = if self.is_agent(name) {
                    "invalid_parameters"
                } else {
                    "TOOL_VALIDATION_ERROR"
                };
                let takes = self
                    .terms
                    .tool(name)
                    .map(|tool| signature(&tool.input_schema));
                let takes = takes.unwrap_or_default();
                Some(format!(
                    "{what}: {place}: {}. Arguments: {takes}",
                    fault.rule
                ))
            } else if let Some(reason) = self.may_not_delegate(name) {
                Some(reason)
            } else if let Some((FlowAction::Deny, from)) =
                self.flow(name).filter(|_| !self.terms.strict_mode)
            {
                Some(format!(
                    "denied: flow: no call of {name} after {from} results"
                ))
            } else if let RuleResult::Denies(reason) =
                rule_result(&self.terms, name, call.arguments.as_str())
            {
                Some(reason)
            } else if room == 0 {
                let limit = self.terms.max_tool_calls_per_turn;
                Some(format!("too many tool calls in this turn (limit {limit})"))
            } else {
                room -= 1;
                None
            };
            answers.push(answer);
        }
        if self.terms.strict_mode && invalid {
            return self.refused(r, message, answers);
        }
        let runnable: Vec<&ToolInvocation> = calls
            .iter()
            .zip(&answers)
            .filter(|(_, a)| a.is_none())
            .map(|((c, _), _)| c)
            .collect();
        // What the run would be if these calls were authorised.
        let mut after = self.facts.clone();
        let mut cycle = false;
        for call in &runnable {
            cycle |= after.authorise(&self.terms, call);
        }
        let over = self.over_calls(&after, &runnable);
        let denied =
            |call: &&ToolInvocation| matches!(self.flow(&call.name), Some((FlowAction::Deny, _)));
        let denied = self.terms.strict_mode && runnable.iter().any(denied);
        let violation = cycle.then_some(Code::CycleForbidden);
        let violation = violation.or(denied.then_some(Code::FlowForbidden));
        if over.is_some() || violation.is_some() {
            self.accept_unstarted(r, message, "not started: step cut short");
            return self.commit(Found {
                over,
                violation,
                ..Found::default()
            });
        }
        if self.late().is_some() || self.overdrawn().is_some() {
            return self.commit(Found::default());
        }
        if calls.is_empty() && cut_report(message) && self.unproven() && self.reports() {
            self.facts.notices = estimate(UNPROVEN);
            return self.commit_failed(Why::Other);
        }
        if self.facts.stop {
            let answers = vec![Some("not started: stop requested".to_owned()); calls.len()];
            self.fill(message, &calls, answers);
            self.accept(&r.usage);
            return self.rest();
        }
        let numbered = self.facts.calls;
        let invalid_turn = invalid && runnable.is_empty();
        let authorises = !runnable.is_empty();
        self.facts = after;
        self.facts.invalid += u32::from(invalid_turn);
        if authorises {
            self.facts.invalid = 0;
        }
        self.facts.gate_open |= authorises;
        let room = self.facts.calls;
        self.facts.calls = numbered;
        self.fill(message, &calls, answers);
        self.facts.calls = room;
        self.accept(&r.usage);
        self.begin_calls()
    }

    /// Strict, and a call is invalid: nothing of the message runs, and nothing of it is taken.
    fn refused(
        &mut self,
        r: &InferenceReturned,
        message: &AgentMessage,
        answers: Vec<Option<String>>,
    ) -> Reaction {
        let other = "not started: another call of this message is invalid";
        if self.late().is_some() || self.overdrawn().is_some() {
            return self.commit(Found::default());
        }
        let stop = "not started: stop requested";
        let answers = answers.into_iter().map(|answer| match answer {
            _ if self.facts.stop => Some(stop.to_owned()),
            answer => Some(answer.unwrap_or_else(|| other.to_owned())),
        });
        let answers = answers.collect();
        let calls = self.user_calls(message);
        self.fill(message, &calls, answers);
        self.facts.report = None;
        if self.reports() {
            let own = |c: &&ToolInvocation| [FINAL_REPORT, PROGRESS_REPORT].contains(&&*c.name);
            let noted = |c: &&ToolInvocation| c.name == PROGRESS_REPORT;
            let calls = &message.tool_calls;
            let own = calls.iter().filter(own).count() as u64;
            let noted = calls.iter().filter(noted).count() as u64;
            self.facts.frames += own * estimate(&failed(other));
            self.facts.frames -= noted * estimate("noted");
        }
        self.facts.invalid += u32::from(!self.facts.stop);
        self.accept(&r.usage);
        self.rest()
    }

    /// The calls that may run: those of the message without the session's own, and those inside containers; each with the place
    /// that it stands at.
    fn user_calls(&self, message: &AgentMessage) -> Vec<(ToolInvocation, String)> {
        let mut calls = Vec::new();
        for (i, call) in message.tool_calls.iter().enumerate() {
            if !self.reports() {
                calls.push((call.clone(), format!("/tool_calls/{i}")));
                continue;
            }
            match call.name.as_str() {
                FINAL_REPORT | PROGRESS_REPORT => {}
                BATCH => {
                    for (n, part) in parts(call).iter().enumerate() {
                        let at = format!("/tool_calls/{i}/arguments/calls/{n}");
                        calls.push((part.clone(), at));
                    }
                }
                _ => calls.push((call.clone(), format!("/tool_calls/{i}"))),
            }
        }
        calls
    }

    /// Puts the message's calls into the awaited batch, and stores its report.
    fn fill(
        &mut self,
        message: &AgentMessage,
        calls: &[(ToolInvocation, String)],
        answers: Vec<Option<String>>,
    ) {
        let (mut next, early) = self.take_early(message, &answers);
        let asks = |name: &str| matches!(self.flow(name), Some((FlowAction::Ask, _)));
        let batch = calls
            .iter()
            .zip(answers)
            .map(|((call, _), answer)| Call {
                id: call.id.clone(),
                name: call.name.clone(),
                answered: false,
                asks: asks(&call.name),
                report_labels: BTreeSet::new(),
                shows: false,
                questions: 0,
                arguments: call.arguments.digest(),
                arguments_tokens: estimate(call.arguments.as_str()),
                proves: false,
                slot: if let Some(reason) = answer {
                    Slot::Answered(failed(&reason))
                } else {
                    next += 1;
                    match rule_result(&self.terms, &call.name, call.arguments.as_str()) {
                        RuleResult::Asks => Slot::ToAsk(next),
                        _ if next <= early => Slot::Running(next),
                        _ => Slot::Pending(next),
                    }
                },
            })
            .collect();
        self.facts.batch = batch;
        self.divide();
        self.facts.unwanted.clear();
        self.facts.frames = 0;
        self.facts.report = None;
        if !self.reports() {
            return;
        }
        for call in &message.tool_calls {
            match call.name.as_str() {
                BATCH => {
                    let shown: Vec<String> = (1..)
                        .zip(parts(call))
                        .map(|(n, part)| {
                            let name = &part.name;
                            format!(r#"{{"id":"{n}","output":"","tool":"{name}"}}"#)
                        })
                        .collect();
                    self.facts.frames += estimate(&format!("[{}]", shown.join(",")));
                }
                PROGRESS_REPORT if self.facts.closing.is_some() => {
                    self.facts.frames += estimate(&failed("tools are withheld"));
                }
                PROGRESS_REPORT => self.facts.frames += estimate("noted"),
                FINAL_REPORT => {
                    self.facts.report = Some(if call.fault.is_some() {
                        Err("arguments are not valid JSON")
                    } else if call.arguments.as_str().contains("MIT") {
                        Ok(())
                    } else {
                        Err(
                            "TOOL_VALIDATION_ERROR: /report_content: minLength: the report is empty",
                        )
                    });
                }
                _ => {}
            }
        }
    }

    /// The closing turn of a run that reports.
    fn closing_calls(
        &mut self,
        r: &InferenceReturned,
        message: &AgentMessage,
        text: bool,
    ) -> Reaction {
        let calls = self.user_calls(message);
        let answers = vec![Some("tools are withheld".to_owned()); calls.len()];
        self.fill(message, &calls, answers);
        self.accept(&r.usage);
        let reported = self.facts.report;
        // As when calls have ended, but that a failure is an attempt's.
        let settled = self.settle(false);
        let late = self.late().is_some() || self.overdrawn().is_some();
        match reported {
            _ if late => self.commit(Found::default()),
            Some(Ok(())) => self.commit(settled),
            Some(Err(_)) => self.commit_failed(Why::Report),
            None if text => self.commit(Found {
                terminal: true,
                by: Some(Code::TextFallback),
                ..Found::default()
            }),
            None => self.commit_failed(Why::Other),
        }
    }

    pub(super) fn over_calls(&self, after: &Facts, calls: &[&ToolInvocation]) -> Option<Code> {
        let limits = &self.terms.max_calls;
        let of_run = !calls.is_empty() && limits.run.is_some_and(|max| after.calls > max);
        let of_tool = calls.iter().any(|c| {
            limits
                .per_tool
                .get(&c.name)
                .is_some_and(|max| after.per_tool[&c.name] > *max)
        });
        if of_run || of_tool {
            return Some(Code::MaxCalls);
        }
        let max = self.terms.max_identical_calls?;
        calls
            .iter()
            .any(|c| after.alike[&alike(c)] > max)
            .then_some(Code::IdenticalCalls)
    }
}

impl Facts {
    /// Adds a call to the run's authorised calls; whether it forms a forbidden pair that no exception covers.
    pub(super) fn authorise(&mut self, terms: &ExecutionContract, call: &ToolInvocation) -> bool {
        self.calls += 1;
        *self.per_tool.entry(call.name.clone()).or_default() += 1;
        *self.alike.entry(alike(call)).or_default() += 1;
        let Some(last) = self.last.replace(call.name.clone()) else {
            return false;
        };
        let pair = (last, call.name.clone());
        if !terms.cycle_forbid.contains(&pair) {
            return false;
        }
        let seen = self.pairs.entry(pair.clone()).or_default();
        *seen += 1;
        let exceptions = &terms.metadata.cycle_exceptions;
        !exceptions
            .iter()
            .any(|e| e.from == pair.0 && e.to == pair.1 && *seen <= e.max)
    }
}

fn alike(call: &ToolInvocation) -> (String, String) {
    (call.name.clone(), call.arguments.as_str().to_owned())
}

const PROSE: &str = "System notice: plain text responses without tool calls are ignored. \
     Use final_report to provide your answer.";
const UNPROVEN: &str = "System notice: an answer counts only after a tool call. \
     Call a tool first, then give your final report.";

fn cut_report(message: &AgentMessage) -> bool {
    message.tool_calls.iter().any(|c| c.name == FINAL_REPORT)
}
