//! The fit of the first request (semantics §1): targets that cannot hold it are never asked.

use super::context::target_name;
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::{DropReason, DroppedTarget};
use crate::contract::ToolPolicy;
use crate::message::{AgentMessage, Role, exact_sum};

impl Machine {
    /// Drops the targets that cannot hold the first request. It is the one with tools where any target holds that; else, but under
    /// `required`, that of a closing turn.
    ///
    /// # Errors
    /// What it needs, what fits, and its largest part, where no target is left.
    pub(super) fn judge_first_request(&mut self, messages: &[AgentMessage]) -> Result<(), String> {
        let targets = self.contract.attempt_targets();
        if !self.contract.asks_model() {
            return Ok(());
        }
        let closing = self.begins_closing();
        let needs = |target: usize| self.first_request(target, closing);
        let too_small = |target: &usize| self.limit(*target) < needs(*target);
        let dropped = (0..targets).filter(too_small).collect();
        let room = |target: &usize| i128::from(self.limit(*target)) - i128::from(needs(*target));
        let largest = (0..targets).max_by_key(room);
        let fits = largest.map_or(0, |target| self.limit(target));
        let largest = largest.unwrap_or(0);
        let needs = needs(largest);
        if holds(Guard::FirstRequestFits, needs > fits) {
            let (part, tokens) = self.largest_part(messages, largest, closing);
            let target = target_name(&self.contract, largest);
            return Err(format!(
                "the first request needs {needs} tokens, and {target} holds {fits}; the largest part is {part}: {tokens} tokens"
            ));
        }
        self.dropped = dropped;
        Ok(())
    }

    /// Lists, for an entry, the targets that the first request does not fit.
    pub(super) fn dropped_by_size(&self) -> Vec<DroppedTarget> {
        let closing = self.begins_closing();
        let dropped = self.dropped.iter().map(|target| DroppedTarget {
            limit: Some(self.limit(*target)),
            projected: Some(self.first_request(*target, closing)),
            reason: DropReason::FirstRequest,
            target: target_name(&self.contract, *target),
        });
        dropped.collect()
    }

    /// True if the first request is that of a closing turn: no target holds the request with tools.
    fn begins_closing(&self) -> bool {
        let required = self.contract.tool_policy == ToolPolicy::Required;
        let mut targets = 0..self.contract.attempt_targets();
        let holds = |target| self.limit(target) >= self.first_request(target, false);
        !required && !targets.any(holds)
    }

    /// Prompt tokens of the first request to a target.
    fn first_request(&self, target: usize, closing: bool) -> u64 {
        let schema = self.schema_tokens(target, closing, 1);
        let projected = self.context.projected(schema);
        if closing {
            return exact_sum(projected, self.instruction_tokens());
        }
        projected
    }

    /// The part of the first request that weighs most, and its tokens.
    fn largest_part(
        &self,
        messages: &[AgentMessage],
        target: usize,
        closing: bool,
    ) -> (&'static str, u64) {
        let last = messages.len().saturating_sub(1);
        let part = |(nth, message): (usize, &AgentMessage)| match message.role {
            Role::System => {
                let reserved = self.contract.context_budget.reserved_system;
                ("the system prompt", message.tokens.max(reserved))
            }
            Role::User if nth == last => ("the task", message.tokens),
            Role::User | Role::Assistant | Role::Tool => {
                ("a message of the conversation so far", message.tokens)
            }
        };
        let tools = (
            "the definitions of the tools",
            self.schema_tokens(target, closing, 1),
        );
        let instruction = closing.then(|| ("the final instruction", self.instruction_tokens()));
        let parts = messages.iter().enumerate().map(part).chain([tools]);
        let parts: Vec<(&'static str, u64)> = parts.chain(instruction).collect();
        // Of those that weigh the same, the first.
        let largest = parts.into_iter().rev().max_by_key(|(_, tokens)| *tokens);
        largest.unwrap_or(tools)
    }
}
