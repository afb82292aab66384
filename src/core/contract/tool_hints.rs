//! The start of a tool's calls: beside other calls, or before their message is complete. Knows no call.

use serde_json::Value;

use super::{Terms, ToolTransport};

impl Terms {
    /// True if calls of the tool may run beside adjacent calls that may, too.
    #[must_use]
    pub(crate) fn runs_in_parallel(&self, tool: &str) -> bool {
        self.parallel_tool_calls && self.parallel_safe.iter().any(|safe| safe == tool)
    }

    /// True if a call of the tool does no harm where nobody asked for it: the author declares the tool
    /// `idempotent`, and its pinned annotations say `readOnlyHint: true`.
    #[must_use]
    pub(crate) fn reads_only(&self, tool: &str) -> bool {
        let pinned = self.tool(tool);
        let hint = pinned.and_then(|tool| tool.annotations.get("readOnlyHint"));
        let is_declared = self.idempotent.iter().any(|name| name == tool);
        is_declared && hint.and_then(Value::as_bool) == Some(true)
    }
}

/// Warns of `speculative_exec` if no call can start early.
pub(super) fn early_start_warning(terms: &Terms) -> Option<String> {
    if !terms.speculative_exec || terms.tool_transport != ToolTransport::Native {
        return None;
    }
    let reads = |name: &str| terms.allows(name) && terms.reads_only(name);
    let missing = if !terms.targets.iter().any(|target| target.sampling.stream) {
        "sampling.stream: true"
    } else if !terms.tools.iter().any(|tool| reads(&tool.name)) {
        "a tool in idempotent whose server says readOnlyHint: true"
    } else {
        return None;
    };
    Some(format!(
        "speculative_exec starts no call early: it needs {missing}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::early_start_warning;
    use crate::contract::Terms;
    use crate::contract::tests::make;

    #[test]
    fn a_contract_under_which_no_call_can_start_early_warns() {
        let warning = |sets: &[&str]| {
            let mut terms = Terms::clone(&make(&[&["speculative_exec=true"][..], sets].concat()));
            for tool in &mut terms.tools {
                tool.annotations = json!({"readOnlyHint": true});
            }
            early_start_warning(&terms)
        };
        let needs = |what: &str| {
            Some(format!(
                "speculative_exec starts no call early: it needs {what}"
            ))
        };
        let streams = "sampling.stream=true";
        assert_eq!(warning(&[]), needs("sampling.stream: true"));
        let tool = "a tool in idempotent whose server says readOnlyHint: true";
        assert_eq!(warning(&[streams]), needs(tool));
        assert_eq!(warning(&[streams, "idempotent=[read_file]"]), None);
        assert_eq!(warning(&["speculative_exec=false"]), None);
    }

    #[test]
    fn a_tool_only_reads_if_its_author_and_its_server_both_say_so() {
        let reads = |sets: &[&str], hint: Value| {
            let mut terms = Terms::clone(&make(sets));
            for tool in &mut terms.tools {
                tool.annotations = json!({"readOnlyHint": hint});
            }
            terms.reads_only("read_file")
        };
        assert!(reads(&["idempotent=[read_file]"], json!(true)));
        assert!(!reads(&[], json!(true)), "its author does not say so");
        for hint in [json!(false), json!("true"), Value::Null] {
            assert!(!reads(&["idempotent=[read_file]"], hint));
        }
        let terms = make(&["idempotent=[read_file]"]);
        assert!(!terms.reads_only("unknown"));
    }
}
