//! The questions to a person (semantics §6): approvals and servers' questions; and the calls inside a container.

use super::*;

impl Oracle {
    pub(super) fn approval(&mut self, approval: &Approval, given: bool) -> Reaction {
        if !counts(&self.terms, approval) {
            return Reaction::Ignored;
        }
        if let Some(reaction) = self.answer_question(Some(approval)) {
            return reaction;
        }
        let asked = Slot::Asked(approval.call.0);
        let hash = approval.arguments_hash;
        let exactly = |c: &Call| c.slot == asked && c.arguments == hash;
        if !self.facts.batch.iter().any(exactly) {
            return Reaction::Ignored;
        }
        if !given {
            let reason = approval.reason.as_ref();
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            self.answer_asked(&format!("denied: approval{reason}"));
            return self.rest();
        }
        if self.overdrawn().is_some() {
            self.answer_asked("not started: step cut short");
            return self.rest();
        }
        self.unpark();
        let suspended = self.facts.suspended;
        let agents = Arc::clone(&self.terms);
        let is_agent = |call: &Call| agents.agents.contains_key(&call.name);
        for call in &mut self.facts.batch {
            if call.slot == asked && is_agent(call) && !suspended {
                // What its run may use is judged as for any other.
                call.slot = Slot::Ready(approval.call.0);
                return self.rest();
            } else if call.slot == asked && suspended {
                call.slot = Slot::Ready(approval.call.0);
                return Reaction::Noted;
            } else if call.slot == asked {
                call.slot = Slot::Running(approval.call.0);
            }
        }
        Reaction::Starts(vec![approval.call.0])
    }

    /// Handles a person's answer or refusal to a server's question, or its timeout: the call continues. `None` if no such
    /// question is open.
    pub(super) fn answer_question(&mut self, approval: Option<&Approval>) -> Option<Reaction> {
        let overdrawn = self.overdrawn().is_some();
        let suspended = self.facts.suspended;
        let asked = self.facts.batch.iter_mut().find_map(|c| match c.slot {
            Slot::Question { call, hash, live } => Some((c, call, hash, live)),
            _ => None,
        });
        let (call, n, hash, live) = asked?;
        if approval.is_some_and(|a| (a.call.0, a.arguments_hash) != (n, hash)) {
            return None;
        }
        if overdrawn {
            call.slot = Slot::Answered(failed("interrupted, effect unknown"));
            self.unpark();
            return Some(self.rest());
        }
        // A call that waits with its question keeps waiting, and is lost with its process.
        call.answered |= !(suspended && live);
        call.slot = if suspended && !live {
            Slot::Ready(n)
        } else {
            Slot::Running(n)
        };
        self.unpark();
        Some(if suspended {
            Reaction::Noted
        } else {
            Reaction::Starts(vec![n])
        })
    }

    pub(super) fn answer_asked(&mut self, reason: &str) {
        self.unpark();
        for call in &mut self.facts.batch {
            if matches!(call.slot, Slot::Asked(_)) {
                call.slot = Slot::Answered(failed(reason));
            }
        }
    }
}

impl Call {
    /// True if a result of that call is awaited.
    pub(super) fn is_under_way(&self, n: u64) -> bool {
        match self.slot {
            Slot::Running(call) => call == n,
            Slot::Question { call, live, .. } | Slot::Sampled { call, live, .. } => {
                call == n && live
            }
            _ => false,
        }
    }
}

/// The calls inside a container.
pub(super) fn parts(container: &ToolInvocation) -> Vec<ToolInvocation> {
    let given = container.arguments.to_value();
    let given = given["calls"].as_array().cloned().unwrap_or_default();
    (1..)
        .zip(given)
        .map(|(n, part)| ToolInvocation {
            arguments: ObjectText::parse(part["arguments"].to_string()).unwrap(),
            id: format!("{}/{n}", container.id),
            name: part["tool"].as_str().unwrap_or_default().to_owned(),
            ..container.clone()
        })
        .collect()
}

impl Oracle {
    /// The three offered names that are nearest (§6). In these contracts all names are short, so a plain recursion will do.
    pub(super) fn near(&self, name: &str) -> String {
        let mut offered: Vec<(usize, &str)> = self
            .terms
            .offered_tools(false)
            .map(|t| t.name.as_str())
            .filter(|one| !self.facts.changed.contains(*one))
            .map(|one| (edits(name.as_bytes(), one.as_bytes()), one))
            .collect();
        offered.sort_unstable();
        let named: Vec<&str> = offered.iter().take(3).map(|(_, one)| *one).collect();
        if named.is_empty() {
            return String::new();
        }
        format!(" (nearest: {})", named.join(", "))
    }
}

/// The edit distance, by its definition.
fn edits(a: &[u8], b: &[u8]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a @ ..], [y, b @ ..]) if x == y => edits(a, b),
        ([_, short_a @ ..], [_, short_b @ ..]) => {
            1 + edits(short_a, b)
                .min(edits(a, short_b))
                .min(edits(short_a, short_b))
        }
    }
}
