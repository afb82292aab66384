//! Items 1 to 7 of semantics §2, with stop, waits, time, budgets and the context account.

use super::*;

impl Oracle {
    pub(super) fn commit(&mut self, found: Found) -> Reaction {
        // 1
        if let Some(end) = self.out_of_time() {
            return end;
        }
        // 2
        if let Some(code) = self.overdrawn().or(found.over) {
            return self.end(Class::FailedBudgetExhausted, code);
        }
        // 3
        if let Some(code) = found.violation {
            return self.end(Class::FailedContractViolation, code);
        }
        if found.terminal && self.unproven() {
            return self.no_tools();
        }
        // 4
        if found.malformed {
            return self.end(Class::FailedValidation, Code::ToolEnvelope);
        }
        if let Some(end) = found.why.and_then(|why| self.faulted(why)) {
            return end;
        }
        if self.facts.invalid >= self.terms.max_invalid_turns {
            return self.end(Class::FailedValidation, Code::Arguments);
        }
        let none_left = if found.why.is_some() {
            self.left().next().is_none()
        } else {
            self.left_next().next().is_none()
        };
        if none_left {
            return self.none_left(Code::ModelUnavailable);
        }
        // 6; 5 speaks only where the run would otherwise continue
        if found.terminal {
            let class = if self.facts.executed > 0 {
                Class::CompletedWithTools
            } else {
                Class::CompletedChatOnly
            };
            let code = if let Some(code) = found.by {
                code
            } else if self.facts.closing.is_some() {
                Code::Synthesis
            } else {
                Code::FinalMessage
            };
            return self.end(class, code);
        }
        // 5, 7
        if found.why == Some(Why::Structure) {
            self.facts.retries_used += 1;
        }
        let wish = match found.why {
            _ if found.again => Wish::Again,
            Some(Why::Overflow) => Wish::Elsewhere,
            Some(_) if self.facts.attempt < self.terms.max_attempts_per_turn => Wish::Retry,
            _ => Wish::Turn,
        };
        self.go_on_after(wish, found.report_failed)
    }

    pub(super) fn commit_failed(&mut self, why: Why) -> Reaction {
        self.commit(Found {
            why: Some(why),
            ..Found::default()
        })
    }

    /// Item 4 and the turn whose attempts are used up (§4).
    pub(super) fn faulted(&mut self, why: Why) -> Option<Reaction> {
        let target = self.facts.asked;
        if why == Why::Overflow {
            return self.overflowed(target);
        }
        self.facts.failed.push((target, why));
        let left: BTreeSet<usize> = self.left().collect();
        let f = &self.facts;
        let used_up = f.attempt >= self.terms.max_attempts_per_turn;
        let refused = |entry: &&(usize, Why)| matches!(entry.1, Why::Refused(_));
        let refusers: BTreeSet<usize> = f.failed.iter().filter(refused).map(|e| e.0).collect();
        let fitting: BTreeSet<usize> = self.fitting(Wish::Retry).into_iter().collect();
        let all_refused = refusers.is_superset(&fitting);
        let only_refusals = f.failed.iter().all(|e| refused(&e));
        let only_provider = f.failed.iter().all(|e| {
            matches!(
                e.1,
                Why::Provider | Why::Fatal(_) | Why::Unknown | Why::Stated
            )
        });
        let no_retry = f.retries_used >= self.terms.max_format_retries;
        Some(match why {
            Why::Fatal(code) if f.succeeded => self.end(Class::FailedBudgetExhausted, code),
            Why::Fatal(code) => self.end(Class::FailedPreflight, code),
            Why::Structure if no_retry => {
                self.end(Class::FailedProtocolMalformed, Code::FormatRetriesExhausted)
            }
            Why::Unknown if left.is_empty() => self.none_left(Code::ModelUnavailable),
            Why::Stated if left.is_empty() => self.none_left(Code::ProfileIncompatible),
            Why::Refused(code) if all_refused || (used_up && only_refusals) => {
                self.end(Class::FailedValidation, code)
            }
            Why::Report if used_up => self.end(Class::FailedValidation, Code::FinalReportSchema),
            _ if used_up && only_provider => {
                self.end(Class::FailedBudgetExhausted, Code::AttemptsExhausted)
            }
            // A format retry that is left is spent in the next turn.
            Why::Structure => return None,
            _ if used_up && self.unproven() => self.no_tools(),
            _ => return None,
        })
    }

    /// A target said that it does not hold the request: no attempt. In the closing turn the run ends if none holds it.
    fn overflowed(&mut self, target: usize) -> Option<Reaction> {
        let projected = self.projected(Wish::Elsewhere) - self.facts.notices;
        let known = self.facts.overflowed.entry(target).or_insert(projected);
        *known = projected.min(*known);
        if self.left().next().is_none() {
            return Some(self.none_left(Code::ModelUnavailable));
        }
        let spent = self.facts.closing.is_some() && self.holding(Wish::Elsewhere).is_empty();
        spent.then(|| self.end(Class::FailedBudgetExhausted, Code::Context))
    }

    /// Item 4: no target is left that could be asked.
    fn none_left(&mut self, before: Code) -> Reaction {
        if self.facts.succeeded {
            self.end(Class::FailedBudgetExhausted, Code::AttemptsExhausted)
        } else {
            self.end(Class::FailedPreflight, before)
        }
    }

    /// Items 5 and 7, with stop (§4) before them.
    pub(super) fn go_on(&mut self, wish: Wish) -> Reaction {
        self.go_on_after(wish, false)
    }

    fn go_on_after(&mut self, wish: Wish, report_failed: bool) -> Reaction {
        let f = &self.facts;
        let last_turn = f.turn + 1 >= self.terms.max_turns;
        if f.stop && f.closing != Some(ClosingReason::Stop) {
            let possible = f.closing.is_none() && f.turn > 0 && !self.unproven();
            let closing = Wish::Closing(ClosingReason::Stop);
            if !possible || self.refused_by_budget(closing).is_some() {
                return self.end(Class::Interrupted, Code::Stop);
            }
            return self.ask(closing);
        }
        if f.closing.is_none() {
            let projected = self.projected(wish);
            let most = self.terms.context_budget.context_window;
            let window = |t: usize| self.terms.targets[t].context_window.min(most);
            let window = u128::from(
                self.left_for(wish)
                    .into_iter()
                    .map(window)
                    .max()
                    .unwrap_or(0),
            );
            let threshold = u128::from(self.terms.context_budget.ratio_ppm()) * window / 1_000_000;
            let above = u128::from(projected) > threshold;
            if f.tripped || above || self.holding(wish).is_empty() {
                return self.close(ClosingReason::Context);
            }
            if f.plain >= 2 {
                return self.close(ClosingReason::PlainText);
            }
        }
        if wish != Wish::Turn {
            return self.ask(wish);
        }
        match f.closing {
            Some(ClosingReason::MaxTurns) => {
                self.end(Class::FailedBudgetExhausted, Code::MaxTurnsExhausted)
            }
            Some(ClosingReason::Context) => self.end(Class::FailedBudgetExhausted, Code::Context),
            Some(ClosingReason::Stop) => self.end(Class::Interrupted, Code::Stop),
            Some(ClosingReason::FinalReportFailed | ClosingReason::PlainText) => {
                self.end(Class::FailedValidation, Code::FinalReportSchema)
            }
            None if report_failed => self.close(ClosingReason::FinalReportFailed),
            None if last_turn => self.close(ClosingReason::MaxTurns),
            None => self.ask(Wish::Turn),
        }
    }

    pub(super) fn close(&mut self, reason: ClosingReason) -> Reaction {
        if self.unproven() {
            return self.end(Class::FailedProtocolNoTools, Code::SynthesisWithoutTools);
        }
        self.ask(Wish::Closing(reason))
    }

    pub(super) fn refused_by_budget(&self, wish: Wish) -> Option<Code> {
        let f = &self.facts;
        if f.inferences + 1 > self.terms.max_inferences {
            return Some(Code::MaxInferences);
        }
        let prompt = self.projected(wish);
        let is_granted = self.terms.delegation.as_ref();
        let is_granted = is_granted.is_some_and(|stands| stands.chain.len() > 1);
        let answer = if is_granted { 1_000 } else { 0 };
        if self.used() + prompt + answer > self.terms.max_tokens_consumed.0 {
            return Some(Code::MaxTokens);
        }
        let price = self.terms.price(0)?;
        // The cheapest way to send a prompt: all of it from the cache. The dearest: all of it written into the cache.
        let of_prompt = if is_granted {
            price.cache_write_pico_usd.0
        } else {
            price.cache_read_pico_usd.0
        };
        let least = (prompt * of_prompt + answer * price.output_pico_usd.0).div_ceil(1_000_000);
        let max = self.terms.max_cost_micro_usd?;
        (self.spent() + least > max.0).then_some(Code::MaxCost)
    }

    pub(super) fn ask(&mut self, wish: Wish) -> Reaction {
        if let Some(code) = self.refused_by_budget(wish) {
            return self.end(Class::FailedBudgetExhausted, code);
        }
        if let Some(code) = self.waits_too_long(wish) {
            return self.end(Class::FailedTimeout, code);
        }
        let expected = self.projected(wish);
        let wait = self.wait_before(wish);
        let attempt = self.attempt_of(wish);
        let target = self.target_of(wish);
        let now = self.run_ms();
        let instruction = self.instruction();
        let f = &mut self.facts;
        f.attempt = attempt;
        f.asked = target;
        if let Wish::Closing(reason) = wish {
            f.closing = Some(reason);
            f.tripped = false;
            f.notices = 0;
            f.pending += instruction;
        }
        if matches!(wish, Wish::Turn | Wish::Closing(_)) {
            f.turn += 1;
            f.failed.clear();
            f.dropped_in_turn.clear();
            f.invalid_before = f.invalid;
            self.clock.turn_began = now;
        }
        if let Some(until) = wait {
            self.clock.until = until;
            return self.wait();
        }
        self.clock.until = 0;
        if self.facts.suspended {
            self.facts.place = Place::Due;
            return Reaction::Noted;
        }
        self.send(expected)
    }

    /// Waits until the clock's `until`, or rests where that is due.
    pub(super) fn wait(&mut self) -> Reaction {
        if self.facts.suspended {
            self.facts.place = Place::Due;
            return Reaction::Noted;
        }
        self.facts.place = Place::Waiting;
        Reaction::Waits(self.clock.until)
    }

    fn send(&mut self, expected: u64) -> Reaction {
        let f = &mut self.facts;
        f.inferences += 1;
        f.place = Place::Inference(f.inferences);
        let (turn, closing, inference) = (f.turn, f.closing, f.inferences);
        let native = self.terms.tool_transport == ToolTransport::Native;
        let tools = if self.schema(closing.is_some()) == 0 {
            ToolExposure::Withheld
        } else if closing.is_none() && self.gate_closed() && native {
            ToolExposure::Forced
        } else {
            ToolExposure::Auto
        };
        Reaction::Asks(Ask {
            turn,
            attempt: self.facts.attempt,
            target: self.facts.asked,
            inference,
            closing,
            tools,
            expected,
        })
    }

    pub(super) fn end(&mut self, class: Class, code: Code) -> Reaction {
        self.facts.place = Place::Over;
        Reaction::Ends(Outcome { class, code })
    }

    pub(super) fn no_tools(&mut self) -> Reaction {
        let code = if self.facts.executed > 0 {
            Code::ProofNotSucceeded
        } else {
            Code::NoCallResponse
        };
        self.end(Class::FailedProtocolNoTools, code)
    }

    pub(super) fn unproven(&self) -> bool {
        self.terms.tool_policy == ToolPolicy::Required && !self.facts.proof
    }

    pub(super) fn gate_closed(&self) -> bool {
        self.terms.token_gate
            && self.terms.tool_policy == ToolPolicy::Required
            && !self.facts.gate_open
    }

    // ---- time and budgets ----

    pub(super) fn run_ms(&self) -> u64 {
        let now = self
            .clock
            .parked_since
            .map_or(0, |since| self.clock.at - since);
        self.clock.at - self.clock.parked - now
    }

    /// Counts the targets for attempts.
    pub(super) fn targets(&self) -> usize {
        let attempted = self.terms.targets.iter().filter(|t| !t.summarizer);
        attempted.count()
    }

    pub(super) fn late(&self) -> Option<Code> {
        let now = self.run_ms();
        if now > self.terms.total_timeout_ms {
            return Some(Code::TotalTimeout);
        }
        let in_step = self.facts.turn > 0;
        (in_step && now - self.clock.turn_began > self.terms.step_timeout_ms)
            .then_some(Code::StepTimeout)
    }

    pub(super) fn out_of_time(&mut self) -> Option<Reaction> {
        self.late().map(|code| self.end(Class::FailedTimeout, code))
    }

    pub(super) fn overdrawn(&self) -> Option<Code> {
        if self.used() > self.terms.max_tokens_consumed.0 {
            return Some(Code::MaxTokens);
        }
        let max = self.terms.max_cost_micro_usd.map(|max| max.0);
        max.is_some_and(|max| self.spent() > max)
            .then_some(Code::MaxCost)
    }

    pub(super) fn count(&mut self, inference: u64, usage: &Usage) {
        self.facts.tokens += usage.input + usage.output + usage.cache_read;
        // Only contracts with one target have prices here.
        let asked = (1..=self.facts.inferences).contains(&inference);
        let prices = self.terms.prices.as_ref().filter(|_| asked);
        let by_table = prices.map_or(0, |_| {
            let price = self.terms.price(0).expect("the one target is priced");
            let sum = usage.input * price.input_pico_usd.0
                + usage.cache_read * price.cache_read_pico_usd.0
                + usage.output * price.output_pico_usd.0;
            sum.div_ceil(1_000_000)
        });
        self.facts.cost += usage.cost_micro_usd.unwrap_or(by_table);
    }
}
