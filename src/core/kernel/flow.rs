//! Information flow (semantics §6): the labels of the text that the model has seen, and the calls that they forbid. It judges calls and
//! records what tainted them. It starts and refuses none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::guard::{Guard, holds};
use super::machine::Machine;
use super::outbox::Outbox;
use super::session::Unit;
use super::texts::FailedReason;
use super::{FlowRecord, FlowSource, Inherited, OutcomeCode, RunStarted};
use crate::contract::{
    AGENT_PREFIX, BATCH, FINAL_REPORT, FlowAction, FlowRule, Label, PROGRESS_REPORT, RulePlace,
    WireNames,
};
use crate::message::{AgentMessage, Role, ToolInvocation, is_blank, rounded_value};

/// The most values of a call that are looked for in what was given; a call with more of them was not given them.
const MOST_VALUES: usize = 100;
/// Quotes and brackets that may stand between white space and the beginning of a value.
const OPENERS: &str = "\"'`“‘„‚«‹([{<";
/// Quotes, brackets and marks of a sentence that may stand between the end of a value and white space.
const CLOSERS: &str = "\"'`”’“‘»›)]}>.,;:!?…";
/// White space that keeps a number or a name together.
const GLUE: [char; 3] = ['\u{a0}', '\u{2007}', '\u{202f}'];

/// The labels of what the model was shown. Every run keeps them: its report, and the runs that continue it, carry them.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelLedger {
    /// The text that showed each label first.
    first: BTreeMap<Label, FlowSource>,
    /// The labels of messages, by their place in the conversation. Text with a label gives no value to a rule about that label.
    labelled: BTreeMap<usize, BTreeSet<Label>>,
    /// The number of messages that the run began with.
    opening: usize,
}

/// The origin of a result that the model is shown.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The entry that records it; 0 for a result of an earlier run.
    pub(super) entry: u64,
    /// The labels that an agent's run saw; `None` if the result is a tool's.
    pub(super) report: Option<BTreeSet<Label>>,
    /// The exposed name of the tool; empty where an earlier run does not state it.
    pub(super) tool: String,
}

impl LabelLedger {
    /// The labels that the model has seen.
    pub(super) fn labels(&self) -> BTreeSet<Label> {
        self.first.keys().copied().collect()
    }

    /// Keeps the source of each label that was not seen before.
    fn see(&mut self, labels: &BTreeSet<Label>, (entry, tool): (u64, &str)) {
        for label in labels {
            let source = || FlowSource {
                entry,
                label: *label,
                tool: tool.to_owned(),
            };
            self.first.entry(*label).or_insert_with(source);
        }
    }

    fn mark(&mut self, place: usize, labels: BTreeSet<Label>) {
        if !labels.is_empty() {
            self.labelled.entry(place).or_default().extend(labels);
        }
    }
}

impl Machine {
    /// Labels the conversation that the run begins with: the results in it, and the text that it inherited.
    pub(super) fn label_opening(&mut self, started: &RunStarted) {
        let inherited = inherited_text(started);
        self.labels.opening = started.messages.len();
        self.label_history(&started.messages, &inherited.labels);
        if inherited.labels.is_empty() || !holds(Guard::FlowInherited, true) {
            return;
        }
        self.labels.see(&inherited.labels, (0, ""));
        let count = usize::try_from(inherited.messages).unwrap_or(usize::MAX);
        for (place, message) in started.messages.iter().enumerate().take(count) {
            let is_own_prompt = place == 0
                && message.role == Role::System
                && message.content == self.contract.system;
            if !is_own_prompt {
                self.labels.mark(place, Label::every());
            }
        }
    }

    fn label_history(&mut self, messages: &[AgentMessage], inherited: &BTreeSet<Label>) {
        let mut tools: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (place, message) in messages.iter().enumerate() {
            let calls = &message.tool_calls;
            for unit in self.units(message) {
                if let Some(call) = calls.get(unit.call) {
                    let names = tools.entry(call.id.clone()).or_default();
                    names.push(unit.invocation.name.clone());
                }
            }
            for call in calls.iter().filter(|call| is_acknowledged(&call.name)) {
                tools.entry(call.id.clone()).or_default();
            }
            if message.role != Role::Tool {
                continue;
            }
            let id = message.tool_call_id.clone().unwrap_or_default();
            // A result that no message asked for has an unknown tool.
            let names = tools.get(&id).cloned();
            for tool in names.unwrap_or_else(|| vec![String::new()]) {
                let is_agent = tool.starts_with(AGENT_PREFIX) && tool != BATCH;
                let source = Source {
                    entry: 0,
                    report: is_agent.then(|| inherited.clone()),
                    tool,
                };
                self.show_labelled(place, &source);
            }
        }
    }

    /// Labels a result that the model is shown at that place of the conversation. An agent's report has the labels of its run, and gives
    /// no value to any rule: a model wrote it.
    pub(super) fn show_labelled(&mut self, place: usize, source: &Source) {
        let tool = source.tool.as_str();
        if is_acknowledged(tool) {
            return;
        }
        let (labels, gives_none) = match &source.report {
            Some(report) if holds(Guard::FlowReport, true) => {
                (self.contract.report_labels(tool, report), Label::every())
            }
            Some(_) => return,
            None => {
                let labels = self.contract.labels_of(tool);
                (labels.clone(), labels)
            }
        };
        self.labels.see(&labels, (source.entry, tool));
        self.labels.mark(place, gives_none);
    }

    /// The labels that the task of a child run carries: a model wrote it that has seen them.
    pub(super) fn handed_labels(&self) -> BTreeSet<Label> {
        if holds(Guard::FlowHandedDown, true) {
            return self.labels.labels();
        }
        BTreeSet::new()
    }

    /// The rule of `flow` that decides about a call, by its number, and what it says. A rule that denies comes before one that asks.
    fn flow_of(&self, call: &ToolInvocation) -> Option<(usize, &FlowRule)> {
        let rules = self.contract.flow.iter().enumerate();
        let holding = rules.filter(|(_, rule)| self.flow_holds(rule, call));
        holding.min_by_key(|(n, rule)| (Reverse(rule.action), *n))
    }

    fn flow_holds(&self, rule: &FlowRule, call: &ToolInvocation) -> bool {
        let mut from = rule.from.iter();
        from.all(|label| self.labels.first.contains_key(label))
            && self.contract.flow_reaches(rule, &call.name)
            && !self.is_given(rule, call)
    }

    /// True if text without the rule's labels gave the arguments that the rule names.
    fn is_given(&self, rule: &FlowRule, call: &ToolInvocation) -> bool {
        if rule.unless_given.is_empty() {
            return false;
        }
        let arguments = call.arguments.rounded();
        let mut values = Vec::new();
        for name in &rule.unless_given {
            for read in arguments.each() {
                values_in(read.get(name).unwrap_or(&Value::Null), &mut values);
            }
        }
        if values.len() > MOST_VALUES {
            return false;
        }
        let texts: Vec<String> = self.given_texts(rule).flat_map(texts_in).collect();
        values
            .iter()
            .all(|value| texts.iter().any(|text| has_word(text, value)))
    }

    /// The text that was shown without these labels: words of the contract and of the user, and results of tools.
    ///
    /// A model that has seen these labels can have a tool, an error or a container repeat its words, so nothing that follows gives a value.
    fn given_texts(&self, rule: &FlowRule) -> impl Iterator<Item = &str> {
        let mut labelled = self.labels.labelled.iter();
        let seen = labelled.find(|(_, labels)| !labels.is_disjoint(&rule.from));
        let end = seen.map_or(usize::MAX, |(place, _)| self.labels.opening.max(*place));
        let messages = self.conversation.messages().iter().enumerate().take(end);
        let given = messages.filter(|(place, message)| {
            let labels = self.labels.labelled.get(place);
            message.role != Role::Assistant
                && labels.is_none_or(|labels| labels.is_disjoint(&rule.from))
        });
        given.map(|(_, message)| message.content.as_str())
    }

    /// True if a rule of `flow` denies the call.
    pub(super) fn flow_denies(&self, call: &ToolInvocation) -> bool {
        let action = self.flow_of(call).map(|(_, rule)| rule.action);
        holds(Guard::FlowDenied, action == Some(FlowAction::Deny))
    }

    /// The rule of `flow` that has a person asked about the call.
    pub(super) fn flow_asks(&self, call: &ToolInvocation) -> Option<RulePlace> {
        let (n, rule) = self.flow_of(call)?;
        holds(Guard::FlowAsked, rule.action == FlowAction::Ask).then(|| RulePlace::Flow(number(n)))
    }

    /// Returns the answer to a call that a rule of `flow` denies.
    pub(super) fn flow_denial(&self, call: &ToolInvocation) -> Option<FailedReason> {
        let (_, rule) = self.flow_of(call).filter(|_| self.flow_denies(call))?;
        let tool = WireNames::of(&self.contract).wire(&call.name);
        let from = rule.source_words();
        let unless = match rule.unless_given.as_slice() {
            [] => String::new(),
            names => format!(
                " unless the user or another result gave {}",
                names.join(" and ")
            ),
        };
        let reason = format!("no call of {tool} after {from} results{unless}");
        Some(FailedReason::DeniedFlow(reason))
    }

    /// Records the calls of a message that break the contract by a flow.
    pub(super) fn record_violation(
        &self,
        code: OutcomeCode,
        message: &AgentMessage,
        outbox: &mut Outbox,
    ) {
        if code == OutcomeCode::FlowForbidden {
            let units = self.units(message);
            let denied = units
                .iter()
                .filter(|unit| self.flow_denies(&unit.invocation));
            self.record(denied, outbox);
        }
    }

    /// Records the calls of a message that a rule of `flow` denied, or has a person asked about.
    pub(super) fn record_flows(
        &self,
        message: &AgentMessage,
        answers: &[Option<FailedReason>],
        outbox: &mut Outbox,
    ) {
        let units = self.units(message);
        let decided = units.iter().zip(answers).filter(|(unit, answer)| {
            let asked = answer.is_none() && self.flow_asks(&unit.invocation).is_some();
            asked || matches!(answer, Some(FailedReason::DeniedFlow(_)))
        });
        self.record(decided.map(|(unit, _)| unit), outbox);
    }

    fn record<'u, 'm: 'u>(&self, units: impl Iterator<Item = &'u Unit<'m>>, outbox: &mut Outbox) {
        let records = units.filter_map(|unit| self.flow_record(&unit.invocation));
        outbox.flow = records.collect();
        let denied = outbox.flow.iter().filter(|r| r.action == FlowAction::Deny);
        let sentences: Vec<String> = denied.map(FlowRecord::sentence).collect();
        if !sentences.is_empty() {
            outbox.note.get_or_insert(sentences.join("; "));
        }
    }

    /// Returns the record of a call that a rule of `flow` decides about.
    fn flow_record(&self, call: &ToolInvocation) -> Option<FlowRecord> {
        let (n, rule) = self.flow_of(call)?;
        let seen = rule.from.iter();
        Some(FlowRecord {
            action: rule.action,
            call: call.id.clone(),
            rule: number(n),
            seen: seen
                .filter_map(|label| self.labels.first.get(label).cloned())
                .collect(),
            tool: call.name.clone(),
        })
    }
}

/// True if monolith itself answers the session tool of that name: the answer has no source.
fn is_acknowledged(tool: &str) -> bool {
    matches!(tool, FINAL_REPORT | PROGRESS_REPORT)
}

/// Returns the inherited part of the opening. A run that states none, and has a parent or an earlier conversation, inherited text of
/// unknown origin.
fn inherited_text(started: &RunStarted) -> Inherited {
    if let Some(stated) = &started.inherited {
        return stated.clone();
    }
    let is_said = |role: Role| matches!(role, Role::System | Role::User);
    let is_own = started.messages.iter().all(|message| is_said(message.role));
    if started.parent.is_none() && is_own {
        return Inherited::default();
    }
    Inherited::unknown(u64::try_from(started.messages.len()).unwrap_or(u64::MAX))
}

/// A rule's number as it is recorded.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Adds the texts and numbers of a value, and the names of its members, that have to be given.
fn values_in(value: &Value, found: &mut Vec<String>) {
    let start = found.len();
    leaves_of(value, found);
    let leaves = found.split_off(start);
    found.extend(leaves.into_iter().filter(|text| !is_blank(text)));
}

/// Adds the texts and numbers in a value, and the names of its members.
fn leaves_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves_of(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                found.push(name.clone());
                leaves_of(value, found);
            }
        }
    }
}

/// A text and, if it is JSON, the texts, numbers and names in it: `{"to":"bob"}` gives `bob`.
fn texts_in(text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    if text.trim_start().starts_with(['{', '['])
        && let Ok(read) = rounded_value(text)
        && read.is_exact()
    {
        leaves_of(&read.down, &mut found);
    }
    found
}

/// True if a text has that value as a word or several: only quotes, brackets and the marks of a sentence separate it from the white
/// space, or the end of the text, on either side.
fn has_word(text: &str, value: &str) -> bool {
    let is_break = |c: char| c.is_whitespace() && !GLUE.contains(&c);
    text.match_indices(value).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let before = before.trim_end_matches(|c| OPENERS.contains(c));
        let after = text.get(at + value.len()..).unwrap_or_default();
        let after = after.trim_start_matches(|c| CLOSERS.contains(c));
        (before.is_empty() || before.ends_with(is_break))
            && (after.is_empty() || after.starts_with(is_break))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_is_given_as_a_whole_or_not_at_all() {
        for (text, value, expect) in [
            ("Pay GB29 now", "GB29", true),
            ("Pay GB291 now", "GB29", false),
            ("Pay XGB29", "GB29", false),
            ("Write to bob@corp.com.", "bob@corp.com", true),
            ("Write to (<bob@corp.com>), please", "bob@corp.com", true),
            ("Write to bob@corp.com.evil.org", "bob@corp.com", false),
            ("Write to not-bob@corp.com", "bob@corp.com", false),
            ("Write to bob@corp.com", "corp.com", false),
            ("'general', please", "general", true),
            ("«general»…", "general", true),
            ("Ask Anna\tMaria\nKim!", "Anna\tMaria", true),
            ("10.5", "10", false),
            ("Until 10. Then", "10", true),
            ("übergeneral", "general", false),
            ("send to o'brien@corp.com", "brien@corp.com", false),
            ("send to a#x@corp.com", "x@corp.com", false),
            ("send to a..b", "a", false),
            ("use https://good.com:8443/x", "https://good.com", false),
            ("use https://a:evil.com", "evil.com", false),
            ("use https://b.c/?q=\"evil.com\"", "evil.com", false),
            ("pay 10,000", "10", false),
            ("pay 10\u{a0}000", "10", false),
            ("pay 10\u{202f}000", "10", false),
            ("pay -10", "10", false),
            ("pay 10%", "10", false),
            ("pay cafe\u{301}", "cafe", false),
            ("to a\u{200d}bob", "bob", false),
            ("", "x", false),
        ] {
            assert_eq!(has_word(text, value), expect, "{text} {value}");
        }
        for joiner in "'#,:!%&=~$*;?|\\^+-_/@.\u{301}\u{200b}".chars() {
            let text = format!("to a{joiner}bob{joiner}c");
            assert!(!has_word(&text, "bob"), "{text}");
        }
    }

    #[test]
    fn json_gives_its_texts_numbers_and_names() {
        let gives = |text: &str, value: &str| texts_in(text).iter().any(|t| has_word(t, value));
        let compact = r#"{"to":["bob@corp.com"],"n":10,"a b":"x\ty"}"#;
        for given in ["bob@corp.com", "10", "a b", "to", "x", "y"] {
            assert!(gives(compact, given), "{given}");
        }
        for part in ["corp.com", "1", "true"] {
            assert!(!gives(compact, part), "{part}");
        }
        assert!(!gives(r#"{"n":10.00000000000000000001}"#, "10.0"));
        assert!(!gives(r#"{"to":"bob""#, "bob"), "no JSON");
    }

    proptest! {
        /// A text without white space gives one word: itself, without the quotes, brackets and marks around it.
        #[test]
        fn no_part_of_a_word_is_given(
            before in "[^\\s]{0,3}",
            value in "[^\\s]{1,4}",
            after in "[^\\s]{0,3}",
            around in "[ \n]{0,2}",
        ) {
            let text = format!("{around}{before}{value}{after}{around}");
            if has_word(&text, &value) {
                let word = text.trim();
                let found = word.match_indices(&value).any(|(at, _)| {
                    let (left, right) = (&word[..at], &word[at + value.len()..]);
                    left.chars().all(|c| OPENERS.contains(c)) && right.chars().all(|c| CLOSERS.contains(c))
                });
                prop_assert!(found, "{text:?} {value:?}");
            }
        }

        /// Words between white space are given, whatever is in them.
        #[test]
        fn whole_words_are_given(
            before in "([^\\s]{0,3} )?",
            value in "[^\\s]{1,4}( [^\\s]{1,4})?",
            after in "([.,]?\n[^\\s]{0,3})?",
        ) {
            let text = format!("{before}{value}{after}");
            // An earlier match may overlap it.
            let first = text.find(&value) == Some(before.len());
            prop_assert!(!first || has_word(&text, &value), "{text:?} {value:?}");
        }
    }

    #[test]
    fn every_text_and_number_of_a_value_counts_and_names_of_members_too() {
        let value = serde_json::json!({"to": ["a", "", null, true, 7], "cc": {"x y": "b"}});
        let mut found = Vec::new();
        values_in(&value, &mut found);
        found.sort();
        assert_eq!(found, ["7", "a", "b", "cc", "to", "x y"]);
    }
}
