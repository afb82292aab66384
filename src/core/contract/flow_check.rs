//! The errors in the rules of `labels` and `flow`: rules that name no tool, contradict themselves or can never hold. Changes
//! nothing.

use std::collections::BTreeSet;

use super::information_flow::{FlowRule, Label};
use super::offered_tools::meant_tool;
use super::terms::TermFault;
use super::tool_pattern::{is_pattern, pattern_covers, pattern_takes};
use super::{AGENT_PREFIX, Terms, ToolTerms};

/// The rules of `labels` and `flow` that cannot be meant: FAILED_PREFLIGHT(contract_invalid). Of tools only while none of the servers is
/// missing: its tools are unknown then.
#[must_use]
pub(super) fn flow_faults(terms: &Terms) -> Vec<TermFault> {
    let mut faults = contradictions(terms);
    if terms.servers.values().all(|server| server.available) {
        faults.extend(rules_about_nothing(terms));
    }
    faults
}

/// Rules that no tools make sense of.
fn contradictions(terms: &Terms) -> Vec<TermFault> {
    let mut faults = Vec::new();
    for (n, rule) in terms.labels.iter().enumerate() {
        let place = format!("labels.{n}.labels");
        if rule.labels.is_empty() {
            let text = format!("{place} is empty: say `trusted` for results that are neither");
            faults.push(TermFault::at(&*place, text));
        }
        if rule.labels.len() > 1 && rule.labels.contains(&Label::Trusted) {
            let text = format!("{place} names trusted beside another label, and it means neither");
            faults.push(TermFault::at(&*place, text));
        }
        let mut earlier = terms.labels.iter().take(n).enumerate();
        let before = earlier.find(|(_, before)| pattern_covers(&before.tool, &rule.tool));
        if let Some((before, _)) = before {
            let text = format!(
                "labels.{n} can never decide: labels.{before} takes every name that `{}` takes",
                rule.tool
            );
            faults.push(TermFault::at(format!("labels.{n}.tool"), text));
        }
    }
    for (n, rule) in terms.flow.iter().enumerate() {
        let place = format!("flow.{n}.from");
        if rule.from.is_empty() {
            let text = format!("{place} names no label");
            faults.push(TermFault::at(&*place, text));
        }
        if rule.from.contains(&Label::Trusted) {
            let text = format!("{place} names trusted, and what is trusted may flow anywhere");
            faults.push(TermFault::at(&*place, text));
        }
    }
    faults
}

/// Rules that are about no tool, or about arguments that no tool has.
fn rules_about_nothing(terms: &Terms) -> Vec<TermFault> {
    let mut faults = Vec::new();
    let mut allowed = terms.allowed_tools.iter().flatten();
    let calls_agent = allowed.any(|name| name.starts_with(AGENT_PREFIX));
    for (n, rule) in terms.labels.iter().enumerate() {
        // The contract of a step has the tools of one server, and a pattern may be about another's.
        if !terms.asks_model() && (is_pattern(&rule.tool) || calls_agent) {
            continue;
        }
        let place = format!("labels.{n}.tool");
        faults.extend(takes_nothing(terms, &place, &rule.tool));
    }
    let delegation = terms.delegation.as_ref();
    let is_delegated = delegation.is_some_and(|delegation| delegation.depth() > 0);
    for (n, rule) in terms.flow.iter().enumerate() {
        let unknown = rule
            .to
            .as_ref()
            .and_then(|to| takes_nothing(terms, &format!("flow.{n}.to"), to));
        let reached: Vec<&ToolTerms> = reached(terms, rule).collect();
        let is_wide = rule.to.as_deref().is_none_or(is_pattern);
        let is_of_step = !terms.asks_model() && (is_wide || calls_agent);
        // A rule of the parent, or of the workflow, may be about a tool that this run does not have.
        if reached.is_empty() && (is_delegated || is_of_step) {
            continue;
        }
        if unknown.is_some() {
            faults.extend(unknown);
            continue;
        }
        let place = format!("flow.{n}.unless_given");
        for argument in &rule.unless_given {
            if !reached.iter().any(|tool| has_argument(tool, argument)) {
                let text =
                    format!("{place} names `{argument}`, an argument of no tool of the rule");
                faults.push(TermFault::at(&*place, text));
            }
        }
        for tool in reached.iter().filter(|_| !rule.unless_given.is_empty()) {
            let mut named = rule.unless_given.iter();
            if !named.any(|argument| has_argument(tool, argument)) {
                let text = format!(
                    "flow.{n} can never hold for `{}`, which has no argument of {place}",
                    tool.name
                );
                faults.push(TermFault::at(&*place, text));
            }
        }
    }
    faults
}

/// The tools that a rule is about.
fn reached<'t>(terms: &'t Terms, rule: &FlowRule) -> impl Iterator<Item = &'t ToolTerms> {
    let tools = terms.tools.iter();
    tools.filter(|tool| terms.flow_reaches(rule, &tool.name))
}

/// True if the schema of a tool names an argument, or lets every name be one.
fn has_argument(tool: &ToolTerms, argument: &str) -> bool {
    match tool.input_schema.get("properties") {
        Some(properties) => properties.get(argument).is_some(),
        // It says nothing of names at this place; they may be said behind a reference.
        None => true,
    }
}

/// The fault of a name or a pattern that takes no tool.
fn takes_nothing(terms: &Terms, place: &str, pattern: &str) -> Option<TermFault> {
    let mut names = terms.tools.iter().map(|tool| tool.name.as_str());
    if names.any(|name| pattern_takes(pattern, name)) {
        return None;
    }
    let text = if is_pattern(pattern) {
        format!("{place} is `{pattern}`, which takes no tool that a server offers")
    } else {
        let meant = meant_tool(pattern, terms.tools.iter().map(|tool| tool.name.as_str()));
        let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
        format!("{place} names `{pattern}`, which no server offers{meant}")
    };
    Some(TermFault::at(place, text))
}

/// Rules that are allowed and hardly intended.
#[must_use]
pub(super) fn flow_warnings(terms: &Terms) -> Vec<String> {
    let mut warnings = Vec::new();
    if terms.flow.is_empty() && !terms.labels.is_empty() {
        let text = "labels says what results are, and no rule of flow asks for it";
        warnings.push(text.to_owned());
    }
    for (n, rule) in terms.labels.iter().enumerate() {
        let mut agents = terms.agents.keys();
        let agent = agents.find(|agent| pattern_takes(&rule.tool, agent));
        if let Some(agent) = agent.filter(|_| rule.labels.contains(&Label::Trusted)) {
            warnings.push(format!(
                "labels.{n} cannot make reports of `{agent}` trusted: a report has the labels that the agent's run saw, and a rule only adds to them"
            ));
        }
    }
    let exposed: Vec<&ToolTerms> = terms.exposed_tools().collect();
    if exposed.is_empty() {
        return warnings;
    }
    let shown: BTreeSet<Label> = exposed
        .iter()
        .flat_map(|tool| terms.possible_labels(&tool.name))
        .collect();
    for (n, rule) in terms.flow.iter().enumerate() {
        if !rule.from.is_subset(&shown) {
            warnings.push(format!(
                "flow.{n} holds after {} results, and no tool that may be called has such; only those of an earlier run could",
                rule.source_words()
            ));
        } else if !exposed.iter().any(|t| terms.flow_reaches(rule, &t.name)) {
            warnings.push(format!(
                "flow.{n} is about no tool that may be called: there is none that may send"
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use crate::contract::contract_warnings;
    use crate::contract::tests::{make, structure_faults};

    fn check(sets: &[&str], expect: &[&str]) {
        assert_eq!(structure_faults(&make(sets)), expect, "{sets:?}");
    }

    #[test]
    fn a_rule_that_names_no_tool_or_says_two_things_is_a_fault() {
        check(
            &["labels=[{tool: 'web__*', labels: untrusted}, {tool: reed_file, labels: private}]"],
            &[
                "labels.0.tool is `web__*`, which takes no tool that a server offers",
                "labels.1.tool names `reed_file`, which no server offers; did you mean `read_file`?",
            ],
        );
        check(
            &["labels=[{tool: read_file, labels: [trusted, private]}]"],
            &["labels.0.labels names trusted beside another label, and it means neither"],
        );
        check(
            &["flow=[{from: trusted, to: read_file, action: deny}]"],
            &["flow.0.from names trusted, and what is trusted may flow anywhere"],
        );
        check(
            &["flow=[{from: private, to: send, action: deny}]"],
            &["flow.0.to names `send`, which no server offers"],
        );
        // What the missing server would have offered is not known, so no name is blamed.
        check(
            &[
                "flow=[{from: private, to: fs__send, action: ask}]",
                "tools.mcp.fs={command: x}",
            ],
            &[],
        );
    }

    #[test]
    fn a_rule_that_can_never_hold_is_a_fault() {
        check(
            &["labels=[{tool: 'read*', labels: private}, {tool: read_file, labels: untrusted}]"],
            &["labels.1 can never decide: labels.0 takes every name that `read_file` takes"],
        );
        check(
            &["flow=[{from: private, to: read_file, unless_given: [pth], action: deny}]"],
            &[
                "flow.0.unless_given names `pth`, an argument of no tool of the rule",
                "flow.0 can never hold for `read_file`, which has no argument of flow.0.unless_given",
            ],
        );
        check(
            &["flow=[{from: private, to: read_file, unless_given: [path], action: deny}]"],
            &[],
        );
    }

    #[test]
    fn rules_that_are_hardly_meant_are_warned_of() {
        let check = |sets: &[&str], expect: &[&str]| {
            assert_eq!(contract_warnings(&make(sets)), expect, "{sets:?}");
        };
        check(
            &["flow=trifecta"],
            &[
                "flow.0 holds after private and untrusted results, and no tool that may be called has such; only those of an earlier run could",
            ],
        );
        check(
            &["labels=[{tool: read_file, labels: untrusted}]"],
            &["labels says what results are, and no rule of flow asks for it"],
        );
        check(
            &[
                "labels=[{tool: read_file, labels: [private, untrusted]}]",
                "flow=trifecta",
            ],
            &[],
        );
    }
}
