//! The rules for starting effects.

use super::*;

impl Ledger {
    pub(super) fn effect(&mut self, run: &Run, effect: &Effect) -> Verdict {
        let terms = run.contract();
        match effect {
            Effect::Append(_) => return Err("two batches of entries".to_owned()),
            Effect::Probe | Effect::Cancel => {}
            Effect::Wait { until_ms } => {
                self.inflight = None;
                self.waiting_until = Some(*until_ms);
            }
            Effect::Summarise(SummaryRequest { request: r, .. })
            | Effect::Sample(SampleRequest { request: r, .. }) => {
                self.may_ask(terms, r)?;
                self.inferences += 1;
                self.summaries.push(r.inference);
                hold(
                    r.inference.0 == self.inferences && self.inferences <= terms.max_inferences,
                    || "too many inferences".to_owned(),
                )?;
                let tokens = self.tokens + self.agents.tokens + r.expected_tokens;
                hold(tokens <= terms.max_tokens_consumed.0, || {
                    format!("a summary for {tokens} tokens")
                })?;
                hold(!self.late(terms) && !self.stopped, || {
                    "a summary after a deadline or a stop".to_owned()
                })?;
                hold(
                    r.tools == ToolExposure::Withheld && r.notices.is_empty(),
                    || "a summary is asked for with more than the result".to_owned(),
                )?;
            }
            Effect::Infer(r) => {
                hold(self.summaries.is_empty(), || {
                    "a request while a summary is waited for".to_owned()
                })?;
                self.waiting_until = None;
                self.flows.asked();
                self.may_ask(terms, r)?;
                self.inferences += 1;
                self.inflight = Some(r.inference);
                hold(r.turn == self.turn, || {
                    format!("a request of turn {}", r.turn)
                })?;
                hold(
                    r.inference.0 == self.inferences && self.inferences <= terms.max_inferences,
                    || "too many inferences".to_owned(),
                )?;
                hold(r.turn <= terms.max_turns, || format!("turn {}", r.turn))?;
                hold(r.attempt <= terms.max_attempts_per_turn, || {
                    format!("attempt {}", r.attempt)
                })?;
                hold(self.rejections <= terms.max_format_retries, || {
                    "too many format retries".to_owned()
                })?;
                let (answer, cost) = self.reserved(terms, r);
                let tokens = self.tokens + self.agents.tokens + r.expected_tokens + answer;
                hold(tokens <= terms.max_tokens_consumed.0, || {
                    format!("a request for {tokens} tokens")
                })?;
                hold(
                    terms.max_cost_micro_usd.is_none_or(|max| cost <= max.0),
                    || format!("a request that may cost {cost}"),
                )?;
                hold(!self.late(terms), || {
                    "a request after a deadline".to_owned()
                })?;
                let withheld = r.closing.is_some()
                    || self.stopped
                    || terms.tool_policy == ToolPolicy::Forbidden;
                let message = terms.completion == Completion::Message;
                hold(
                    !(withheld && message) || r.tools == ToolExposure::Withheld,
                    || "tools are exposed".to_owned(),
                )?;
                if let Some(closing) = self.closing_turn {
                    hold(r.closing.is_some() && r.turn == closing, || {
                        "a turn after the closing turn".to_owned()
                    })?;
                }
                if r.closing.is_some() {
                    self.closing_turn = Some(r.turn);
                }
                Self::answered_once(run)?;
            }
            Effect::Execute(order) if self.place == State::Infer => {
                return self.starts_early(terms, order);
            }
            Effect::Execute(order) | Effect::AwaitApproval(order) => {
                self.inflight = None;
                let open = OpenCall {
                    call: order.call,
                    id: order.invocation.id.clone(),
                    name: order.invocation.name.clone(),
                    arguments: order.arguments_hash,
                };
                hold(terms.tool_policy != ToolPolicy::Forbidden, || {
                    "a call under forbidden".to_owned()
                })?;
                hold(!self.stopped, || "a call after a stop".to_owned())?;
                hold(self.closing_turn.is_none(), || {
                    "a call in the closing turn".to_owned()
                })?;
                hold(!self.late(terms), || "a call after a deadline".to_owned())?;
                let used = self.tokens + self.agents.tokens;
                hold(used <= terms.max_tokens_consumed.0, || {
                    "a call beyond the token limit".to_owned()
                })?;
                hold(
                    terms.allows(&open.name) && terms.tool(&open.name).is_some(),
                    || "a call of a tool that is not allowed".to_owned(),
                )?;
                let again = self
                    .running
                    .iter()
                    .chain(&self.awaiting)
                    .any(|c| c.call == open.call)
                    || self.lost == Some(open.call)
                    || self.due.contains(&open.call);
                if !again {
                    self.limits(terms, &open)?;
                }
                self.flows.may_call(terms, &open.name)?;
                if matches!(effect, Effect::AwaitApproval(_)) {
                    self.parked_ms += self.parked_since.map_or(0, |since| self.at_ms - since);
                    self.parked_since = Some(self.at_ms);
                    self.awaiting = Some(open);
                } else {
                    let ruled = rule_result(terms, &open.name, order.invocation.arguments.as_str());
                    hold(!matches!(ruled, RuleResult::Denies(_)), || {
                        "a call that a rule denies".to_owned()
                    })?;
                    let by_flow = self.flows.asks(terms, &open.name);
                    hold(
                        !(by_flow || ruled == RuleResult::Asks)
                            || self.awaiting.as_ref() == Some(&open)
                            || again,
                        || "a call without its approval".to_owned(),
                    )?;
                    let running = self.running.iter().any(|c| c.call == open.call);
                    hold(!(running && self.resumes), || {
                        "a call is started once more that another process may have made".to_owned()
                    })?;
                    self.awaiting = None;
                    self.running.retain(|c| c.call != open.call);
                    self.running.push(open);
                }
            }
            Effect::Delegate(asked) => {
                self.flows.are_handed(&asked.labels)?;
                if self.may_delegate(terms, asked)? {
                    return Ok(());
                }
                return self.effect(run, &Effect::Execute(asked.order.clone()));
            }
            Effect::Finish(outcome) => self.ended = Some(*outcome),
        }
        Ok(())
    }
}
