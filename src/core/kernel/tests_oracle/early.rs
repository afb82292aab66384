//! Calls that start before their message is complete (semantics §7).

use serde_json::Value;

use super::*;
use crate::kernel::CallStreamed;

/// The early calls of the request in flight, and those before it that came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Early {
    discarded: u64,
    inference: u64,
    /// Id, name and argument text of each.
    running: Vec<[String; 3]>,
}

fn key(call: &ToolInvocation) -> [String; 3] {
    let arguments = call.arguments.as_str().to_owned();
    [call.id.clone(), call.name.clone(), arguments]
}

impl Oracle {
    /// A call of an arriving message is whole.
    pub(super) fn streamed(&mut self, streamed: &CallStreamed) -> Reaction {
        let inference = streamed.inference.0;
        if self.facts.place != Place::Inference(inference) || !self.terms.speculative_exec {
            return Reaction::Ignored;
        }
        let early = &self.facts.early;
        let before = match early.inference {
            of if of == inference => early.running.clone(),
            _ => Vec::new(),
        };
        let call = &streamed.invocation;
        let stopped = self.facts.stop || self.facts.suspended || self.facts.closing.is_some();
        let over = self.late().is_some() || self.overdrawn().is_some();
        let terms = Arc::clone(&self.terms);
        let beside = |name: &str| {
            terms.parallel_tool_calls && terms.parallel_safe.iter().any(|safe| safe == name)
        };
        let alone = before.is_empty()
            || (beside(&call.name) && before.iter().all(|[_, name, _]| beside(name)));
        let in_order = streamed.index == before.len() as u64;
        let may = in_order && alone && !stopped && !over && !self.gate_closed();
        if !may || !self.only_reads(&call.name) || !self.would_run(&before, call) {
            return Reaction::Ignored;
        }
        if before.is_empty() {
            self.drop_early();
            self.facts.early.inference = inference;
        }
        self.facts.early.running.push(key(call));
        let early = &self.facts.early;
        let number = self.facts.calls + early.discarded + early.running.len() as u64;
        Reaction::Starts(vec![number])
    }

    fn only_reads(&self, name: &str) -> bool {
        let tool = self.terms.tool(name);
        let hint = tool.and_then(|tool| tool.annotations.get("readOnlyHint"));
        hint == Some(&Value::Bool(true)) && self.terms.idempotent.iter().any(|one| one == name)
    }

    /// True if a message of all of them would start each without asking anyone.
    fn would_run(&self, before: &[[String; 3]], call: &ToolInvocation) -> bool {
        let terms = &self.terms;
        let name = call.name.as_str();
        let ruled = rule_result(terms, name, call.arguments.as_str());
        let runs = terms.allows(name)
            && !self.facts.changed.contains(name)
            && call.fault.is_none()
            && self.validators.validate(name, &call.arguments).is_ok()
            && ruled == RuleResult::Runs
            && self.flow(name).is_none()
            && (before.len() as u64) < terms.max_tool_calls_per_turn;
        if !runs {
            return false;
        }
        let of_key = |[id, name, arguments]: &[String; 3]| ToolInvocation {
            arguments: ObjectText::parse(arguments.clone()).expect("it was an object"),
            id: id.clone(),
            name: name.clone(),
            ..call.clone()
        };
        let calls: Vec<ToolInvocation> = before.iter().map(of_key).chain([call.clone()]).collect();
        let mut after = self.facts.clone();
        let mut cycle = false;
        for one in &calls {
            cycle |= after.authorise(terms, one);
        }
        let calls: Vec<&ToolInvocation> = calls.iter().collect();
        !cycle && self.over_calls(&after, &calls).is_none()
    }

    fn drop_early(&mut self) {
        let early = &mut self.facts.early;
        early.discarded += early.running.len() as u64;
        early.running.clear();
    }

    /// Takes the early calls, if the message begins with them and lets them run. Returns the last number that was given before
    /// the message, and that of the last early call.
    pub(super) fn take_early(
        &mut self,
        message: &AgentMessage,
        answers: &[Option<String>],
    ) -> (u64, u64) {
        let early = &self.facts.early;
        let here = self.facts.place == Place::Inference(early.inference);
        let same = early.running.iter().enumerate().all(|(at, one)| {
            let call = message.tool_calls.get(at);
            let call = call.filter(|call| call.fault.is_none() && call.raw_payload.is_none());
            answers.get(at) == Some(&None) && call.is_some_and(|call| key(call) == *one)
        });
        if !(here && same) {
            self.drop_early();
        }
        let running = std::mem::take(&mut self.facts.early.running);
        let before = self.facts.calls + self.facts.early.discarded;
        (before, before + running.len() as u64)
    }

    /// A message was taken. Its calls that run do not keep those from starting that may run beside them.
    pub(super) fn begin_calls(&mut self) -> Reaction {
        let runs = |call: &Call| matches!(call.slot, Slot::Running(_));
        if self.facts.batch.iter().any(runs) {
            return self.start();
        }
        self.rest()
    }
}
