//! The contract's terms for data flow from and to a tool: the labels of its results, its ability to send or change something,
//! and the rules about it. Knows no run.

use std::collections::BTreeSet;

use super::Terms;
use super::information_flow::{FlowRule, Label};
use super::server_terms::BUILTIN;
use super::tool_pattern::pattern_takes;

/// Tools inside monolith whose results come from nowhere but the call and the clock.
const TRUSTED_BUILTINS: [&str; 2] = ["clock", "echo"];
/// Tools inside monolith whose results come from the workspace.
const WORKSPACE_BUILTINS: [&str; 7] = [
    "apply_patch",
    "edit_file",
    "glob",
    "grep",
    "list_directory",
    "read_file",
    "write_file",
];
/// Tools inside monolith whose results come from the network.
const NETWORK_BUILTINS: [&str; 1] = ["http_get"];
/// The tool inside monolith that runs commands.
const SHELL: &str = "shell";

impl Terms {
    /// The labels of a tool's results, `trusted` left out: by the first rule of `labels` that takes its name, else by its kind.
    ///
    /// A tool that is not pinned is one of an earlier run: nothing is known of it, so its results have every label.
    #[must_use]
    pub fn labels_of(&self, tool: &str) -> BTreeSet<Label> {
        let stated = self.labels.iter().find(|r| pattern_takes(&r.tool, tool));
        let mut labels = match stated {
            Some(rule) => rule.labels.clone(),
            None => self.labels_by_kind(tool),
        };
        labels.remove(&Label::Trusted);
        labels
    }

    /// The labels of an agent's report: those that its run saw. A rule of `labels` for the agent adds to them and removes none.
    #[must_use]
    pub(crate) fn report_labels(&self, tool: &str, seen: &BTreeSet<Label>) -> BTreeSet<Label> {
        let stated = self.labels.iter().find(|r| pattern_takes(&r.tool, tool));
        let added = stated.into_iter().flat_map(|rule| &rule.labels);
        let labels = seen.iter().chain(added).copied();
        labels.filter(|label| *label != Label::Trusted).collect()
    }

    /// The labels that results of the tool can have. An agent's report can have any.
    #[must_use]
    pub(crate) fn possible_labels(&self, tool: &str) -> BTreeSet<Label> {
        if self.agents.contains_key(tool) {
            return Label::every();
        }
        self.labels_of(tool)
    }

    fn labels_by_kind(&self, tool: &str) -> BTreeSet<Label> {
        let builtin = self.tool(tool).is_some_and(|t| t.origin == BUILTIN);
        if builtin && TRUSTED_BUILTINS.contains(&tool) {
            BTreeSet::new()
        } else if builtin && WORKSPACE_BUILTINS.contains(&tool) {
            BTreeSet::from([Label::Private])
        } else if builtin && NETWORK_BUILTINS.contains(&tool) {
            BTreeSet::from([Label::Untrusted])
        } else {
            BTreeSet::from([Label::Private, Label::Untrusted])
        }
    }

    /// True if a call of the tool may send data out: its pinned annotations lack `openWorldHint: false`. For the built-in shell
    /// the sandbox decides: the contract sets its reach, and no pin covers that.
    #[must_use]
    pub(crate) fn may_send(&self, tool: &str) -> bool {
        let pinned = self.tool(tool);
        if tool == SHELL && pinned.is_some_and(|tool| tool.origin == BUILTIN) {
            let server = self.servers.get(BUILTIN);
            let sandbox = server.and_then(|server| server.sandbox.as_ref());
            // A daemon behind a socket may send what it receives.
            return sandbox.is_none_or(|sandbox| {
                !sandbox.confined || sandbox.network || !sandbox.sockets.is_empty()
            });
        }
        let hint = pinned.and_then(|tool| tool.annotations.get("openWorldHint"));
        hint.and_then(serde_json::Value::as_bool) != Some(false)
    }

    /// True if it is a server's tool whose pinned annotations lack `readOnlyHint: true`. Its changes are not recorded.
    #[must_use]
    pub(crate) fn may_change(&self, tool: &str) -> bool {
        self.tool(tool).is_some_and(|tool| {
            let reads = tool.annotations.get("readOnlyHint");
            tool.origin != BUILTIN && reads.and_then(serde_json::Value::as_bool) != Some(true)
        })
    }

    /// True if a rule of `flow` applies to calls of the tool.
    #[must_use]
    pub(crate) fn flow_reaches(&self, rule: &FlowRule, tool: &str) -> bool {
        match &rule.to {
            Some(pattern) => pattern_takes(pattern, tool),
            None => self.may_send(tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::SandboxTerms;
    use crate::contract::tests::make;

    fn labels(sets: &[&str], tool: &str) -> Vec<Label> {
        make(sets).labels_of(tool).into_iter().collect()
    }

    #[test]
    fn the_first_rule_that_takes_a_tool_labels_its_results_and_else_its_kind_does() {
        let rules =
            "labels=[{tool: read_file, labels: trusted}, {tool: 'read*', labels: [untrusted]}]";
        assert_eq!(labels(&[rules], "read_file"), []);
        assert_eq!(labels(&[rules], "list_directory"), [Label::Private]);
        assert_eq!(labels(&[], "read_file"), [Label::Private]);
        let both = [Label::Private, Label::Untrusted];
        assert_eq!(labels(&[], "of_an_earlier_run"), both);
        assert_eq!(
            labels(&[rules], "read_of_an_earlier_run"),
            [Label::Untrusted]
        );
    }

    #[test]
    fn a_rule_adds_to_the_labels_of_an_agents_report_and_removes_none() {
        let check = |rule: &str, seen: &[Label], expect: &[Label]| {
            let contract = make(&[&format!("labels=[{{tool: 'agent__*', labels: {rule}}}]")]);
            let seen = seen.iter().copied().collect();
            let labels = contract.report_labels("agent__scout", &seen);
            assert_eq!(labels.into_iter().collect::<Vec<_>>(), expect, "{rule}");
        };
        check("trusted", &[Label::Untrusted], &[Label::Untrusted]);
        check("trusted", &[], &[]);
        check("private", &[], &[Label::Private]);
        check(
            "private",
            &[Label::Untrusted],
            &[Label::Private, Label::Untrusted],
        );
    }

    #[test]
    fn the_shell_may_send_unless_it_is_confined_without_a_network() {
        let mut contract = (*make(&[])).clone();
        let mut shell = contract.tools[0].clone();
        "shell".clone_into(&mut shell.name);
        "builtin".clone_into(&mut shell.origin);
        shell.annotations = serde_json::json!({"openWorldHint": false});
        contract.tools.push(shell);
        assert!(contract.may_send("shell"));
        for (confined, network, sockets, expect) in [
            (true, false, &[][..], false),
            (true, false, &["/run/docker.sock"], true),
            (true, true, &[], true),
            (false, false, &[], true),
        ] {
            let sandbox = SandboxTerms {
                confined,
                cpu_s: None,
                file_mb: None,
                memory_mb: None,
                network,
                open_files: None,
                processes: None,
                read: Vec::new(),
                sockets: sockets.iter().map(|path| (*path).to_owned()).collect(),
                write: Vec::new(),
            };
            let builtin = contract.servers.get_mut(BUILTIN).unwrap();
            builtin.sandbox = Some(sandbox);
            assert_eq!(
                contract.may_send("shell"),
                expect,
                "{confined} {network} {sockets:?}"
            );
        }
    }

    #[test]
    fn a_tool_may_send_unless_its_annotations_say_that_it_reaches_nothing() {
        let mut contract = (*make(&[])).clone();
        assert!(contract.tool("read_file").is_some());
        for (hint, expect) in [
            (serde_json::json!({"openWorldHint": false}), false),
            (serde_json::json!({"openWorldHint": true}), true),
            (serde_json::json!({"openWorldHint": "false"}), true),
            (serde_json::json!({}), true),
            (serde_json::Value::Null, true),
        ] {
            for tool in &mut contract.tools {
                tool.annotations = hint.clone();
            }
            assert_eq!(contract.may_send("read_file"), expect, "{hint}");
        }
    }
}
