//! The expectations of a case, compared with the played run. `invariants.rs` holds the invariants of every run.

use std::fmt::Debug;

use serde::Deserialize;
use serde_json::Value;

use super::asked::AskText;
use super::part_of::part_of;
use super::played::Played;
use monolith_core::contract::FinalReport;
use monolith_core::kernel::{
    ClosingReason, EffectRecord, EntryDraft, Outcome, PredicateName, State,
};
use monolith_core::message::{AgentMessage, Role, genesis};
use monolith_core::transcript::{VerifyOptions, verify_lines};
use monolith_host::telemetry::{
    AccountingLine, AccountingStatus, AgentResult, CallSource, CostSource, ExitTag, Purpose,
};

/// The expectations of a case. Omitted ones are not compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    /// `CLASS (code)`.
    pub(super) outcome: Option<String>,
    /// Part of the reason why no contract is made; then there is no run.
    pub(super) refused: Option<String>,
    exit: Option<u8>,
    /// The accounting, a line for each entry.
    accounting: Option<Vec<String>>,
    /// The expected bodies of the first requests, in order.
    asks: Vec<AskText>,
    calls: Option<u64>,
    cancels: Option<u64>,
    closing: Option<ClosingReason>,
    /// The messages that the run added to the conversation, one line each.
    conversation: Option<Vec<String>>,
    elapsed_ms: Option<u64>,
    /// Texts that must stand in an entry.
    entries_contain: Vec<String>,
    /// Texts that must stand in a blob that the transcript names.
    evidence: Vec<String>,
    executed: Option<u64>,
    cost_micro_usd: Option<u64>,
    /// The tag that the run ends with.
    exit_tag: Option<String>,
    format_retries: Option<u32>,
    inferences: Option<u64>,
    /// The accounting as other programs read it, a part of each entry.
    ledger: Option<Value>,
    /// Texts that may stand in no entry and in no message.
    never: Vec<String>,
    /// The notices of all requests, in order.
    notices: Option<Vec<String>>,
    /// The states that the run passed, the first one included.
    path: Option<Vec<State>>,
    /// `<item> <name>` of the predicate that ended the run.
    predicate: Option<PredicateText>,
    /// The text of the final report; one that ends in `…` is a beginning.
    report: Option<String>,
    /// Part of the result document, as other programs read it.
    result: Option<Value>,
    /// The accounts of the first requests, in order.
    context: Vec<ContextText>,
    /// The targets that were asked, in order.
    targets: Option<Vec<usize>>,
    tokens: Option<u64>,
    turns: Option<u32>,
    /// True if the transcript must verify and replay; true if omitted.
    verifies: Option<bool>,
    /// The ends of the waits, in milliseconds since the run began.
    waits: Option<Vec<u64>>,
}

/// `{item: 6, name: terminal_response}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PredicateText {
    item: u8,
    name: PredicateName,
}

/// The account of one request; what is left out is not compared.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ContextText {
    ctx: Option<u64>,
    expected: Option<u64>,
    limit: Option<u64>,
    pending: Option<u64>,
    schema: Option<u64>,
}

impl Expect {
    /// Returns the error in the expectation itself.
    pub(super) fn fault(&self) -> Option<String> {
        (self.outcome.is_some() == self.refused.is_some())
            .then(|| "`expect` says either `outcome` or `refused`".to_owned())
    }

    /// Leaves out what says the same in other words where another protocol carries the messages: pointers into a body, and
    /// the bodies of requests.
    pub(super) fn forget_wording(&mut self) {
        self.notices = None;
        self.asks.clear();
    }

    /// As many malformed answers as there are format retries, and one.
    pub(super) fn take_format_retries(&mut self, retries: u32) {
        self.format_retries = Some(retries);
        self.inferences = Some(u64::from(retries) + 1);
        self.turns = None;
    }

    /// The end of a run whose contract its profile cannot serve: before the first request, whatever the case expected.
    pub(super) fn become_incompatible(&mut self) {
        *self = Self {
            outcome: Some("FAILED_PREFLIGHT (profile_incompatible)".to_owned()),
            exit: Some(4),
            calls: Some(0),
            executed: Some(0),
            inferences: Some(0),
            ..Self::default()
        };
    }

    /// The end that is expected, for a table.
    pub(super) fn end(&self) -> String {
        match (&self.outcome, &self.refused) {
            (Some(outcome), _) => outcome.clone(),
            (None, Some(reason)) => format!("no contract: {reason}"),
            (None, None) => String::new(),
        }
    }

    /// Everything in which the run differs; empty is good.
    pub(super) fn differences(&self, played: &Played) -> Vec<String> {
        let mut found = Differences(self.compared(played));
        self.stored(played, &mut found);
        found.0
    }

    /// Returns the differences from expectations about the run, not about its transcript.
    pub(super) fn compared(&self, played: &Played) -> Vec<String> {
        let mut found = Differences::default();
        let counters = played.run.counters();
        let outcome = played.run.outcome();
        if let Some(reason) = &self.refused {
            let end = played.end();
            found.0.push(format!(
                "a contract was made, and its run ended {end}; expected no contract: {reason}"
            ));
        }
        found.compare("outcome", self.outcome.as_ref(), &played.end());
        found.compare(
            "exit",
            self.exit.as_ref(),
            &outcome.map_or(0, Outcome::exit_code),
        );
        let cost = counters.cost_micro_usd;
        found.compare("cost_micro_usd", self.cost_micro_usd.as_ref(), &cost);
        let tag = outcome.map(|outcome| ExitTag::of_run(played.view(), outcome).to_string());
        found.compare("exit_tag", self.exit_tag.as_ref(), &tag.unwrap_or_default());
        self.accounting(played, &mut found);
        self.documents(played, &mut found);
        found.compare("calls", self.calls.as_ref(), &counters.calls);
        found.compare("cancels", self.cancels.as_ref(), &played.cancels);
        found.compare("executed", self.executed.as_ref(), &counters.executed);
        found.compare(
            "format_retries",
            self.format_retries.as_ref(),
            &counters.format_retries,
        );
        found.compare("inferences", self.inferences.as_ref(), &counters.inferences);
        found.compare("tokens", self.tokens.as_ref(), &counters.tokens());
        found.compare("turns", self.turns.as_ref(), &counters.turns);
        let view = played.view();
        if let Some(departure) = view.departure() {
            found
                .0
                .push(format!("the view is not the machine's state: {departure}"));
        }
        let closing = view.closing();
        found.compare("closing", self.closing.map(Some).as_ref(), &closing);
        let predicate = view.decision().map(|decision| PredicateText {
            item: decision.predicate.item,
            name: decision.predicate.name,
        });
        found.compare("path", self.path.as_ref(), &played.path());
        found.compare("predicate", self.predicate.map(Some).as_ref(), &predicate);
        found.compare("elapsed_ms", self.elapsed_ms.as_ref(), &view.at_ms());
        found.compare("waits", self.waits.as_ref(), &played.waits);
        let targets = played.requests.iter().map(|r| r.target).collect();
        found.compare("targets", self.targets.as_ref(), &targets);
        let notices = played.requests.iter().flat_map(|r| &r.notices);
        let notices = notices.map(|notice| notice.content.clone()).collect();
        found.compare("notices", self.notices.as_ref(), &notices);
        let report = played.run.final_report().map(FinalReport::text);
        if let Some(expected) = &self.report {
            let fits = match (expected.strip_suffix('…'), report) {
                (Some(beginning), Some(report)) => report.starts_with(beginning),
                (_, report) => report == Some(expected.as_str()),
            };
            if !fits {
                found.compare("report", Some(&Some(expected.as_str())), &report);
            }
        }
        self.asked(played, &mut found);
        self.conversation(played, &mut found);
        self.texts(played, &mut found);
        found.0
    }

    /// Compares the requests' contents, and their expected weights.
    fn asked(&self, played: &Played, found: &mut Differences) {
        let genesis = genesis(played.contract.contract_hash(), played.run_id());
        for (n, ask) in self.asks.iter().enumerate() {
            let body = played.bodies.get(n).and_then(|hash| played.blobs.get(hash));
            let Some(body) = body else {
                found.0.push(format!("there is no request {}", n + 1));
                continue;
            };
            found.0.extend(ask.differences(n + 1, body, &genesis));
        }
        let asks = |draft: &&EntryDraft| {
            let mut effects = draft.action.effects.iter();
            effects.any(|e| matches!(e, EffectRecord::Infer { .. }))
        };
        let accounts = played.drafts.iter().filter(asks);
        let mut accounts = accounts.filter_map(|draft| draft.action.context.as_ref());
        for (n, expected) in self.context.iter().enumerate() {
            let Some(got) = accounts.next() else {
                found.0.push(format!("request {} has no account", n + 1));
                return;
            };
            for (what, expected, got) in [
                ("ctx", expected.ctx, got.ctx),
                ("expected", expected.expected, got.expected),
                ("limit", expected.limit, got.limit),
                ("pending", expected.pending, got.pending),
                ("schema", expected.schema, got.schema),
            ] {
                let what = format!("request {}: {what}", n + 1);
                found.compare(&what, expected.as_ref(), &got);
            }
        }
    }

    fn accounting(&self, played: &Played, found: &mut Differences) {
        let Some(expected) = &self.accounting else {
            return;
        };
        let lines = AccountingLine::of_run(played.view());
        let lines: Vec<String> = lines.iter().map(account_of).collect();
        let same = lines.len() == expected.len()
            && lines.iter().zip(expected).all(|(line, expected)| {
                expected
                    .strip_suffix('…')
                    .map_or(line == expected, |beginning| line.starts_with(beginning))
            });
        if !same {
            found.compare("accounting", Some(expected), &lines);
        }
    }

    /// The result document, and the accounting in it, as other programs read them.
    fn documents(&self, played: &Played, found: &mut Differences) {
        if self.result.is_none() && self.ledger.is_none() {
            return;
        }
        let result = AgentResult::of_run(&played.run, played.view());
        let result = match serde_json::to_value(&result) {
            Ok(result) => result,
            Err(fault) => return found.0.push(format!("the result is no document: {fault}")),
        };
        let accounting = result.get("accounting").unwrap_or(&Value::Null);
        for (expected, got, at) in [
            (&self.result, &result, "result: "),
            (&self.ledger, accounting, "ledger: "),
        ] {
            let expected = expected.iter();
            found
                .0
                .extend(expected.flat_map(|expected| part_of(expected, got, at)));
        }
    }

    /// The transcript must verify and replay, unless the case says that it cannot.
    fn stored(&self, played: &Played, found: &mut Differences) {
        let file = played.transcript();
        let lines = file.split_inclusive('\n').map(str::as_bytes);
        let bad = verify_lines(lines, VerifyOptions::default()).first_bad;
        match (bad, self.verifies.unwrap_or(true)) {
            (Some(bad), true) => found
                .0
                .push(format!("the transcript does not verify: {bad:?}")),
            (None, false) => found.0.push("the transcript verifies".to_owned()),
            (None, true) if played.replayable => {
                if let Some(difference) = played.replay().first_difference {
                    found
                        .0
                        .push(format!("the transcript does not replay: {difference:?}"));
                }
            }
            (Some(_), false) | (None, true) => {}
        }
    }

    fn conversation(&self, played: &Played, found: &mut Differences) {
        let Some(expected) = &self.conversation else {
            return;
        };
        let opening = played.started.messages.len();
        let added = played.run.conversation().iter().skip(opening);
        let got: Vec<String> = added.map(|message| line_of(message)).collect();
        let fits = |(line, got): (&String, &String)| match line.strip_suffix('…') {
            Some(beginning) => got.starts_with(beginning),
            None => line == got,
        };
        if expected.len() != got.len() || !expected.iter().zip(&got).all(fits) {
            found.compare("conversation", Some(expected), &got);
        }
    }

    fn texts(&self, played: &Played, found: &mut Differences) {
        let stands = |text: &String| {
            let mut entries = played.entries.iter();
            entries.any(|e| e.event.contains(text) || e.action.contains(text))
        };
        for text in self.entries_contain.iter().filter(|text| !stands(text)) {
            found.0.push(format!("no entry contains {text:?}"));
        }
        let kept = |text: &String| {
            let mut blobs = played.evidence();
            blobs.any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(text.as_str()))
        };
        for text in self.evidence.iter().filter(|text| !kept(text)) {
            found.0.push(format!("no evidence contains {text:?}"));
        }
        let said = |text: &&String| {
            let mut messages = played.run.conversation().iter();
            stands(text) || messages.any(|m| m.content.contains(text.as_str()))
        };
        for text in self.never.iter().filter(said) {
            found
                .0
                .push(format!("an entry or a message contains {text:?}"));
        }
    }
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<T: PartialEq + Debug>(&mut self, what: &str, expected: Option<&T>, got: &T) {
        if let Some(expected) = expected.filter(|expected| *expected != got) {
            self.0
                .push(format!("{what}: expected {expected:?}, got {got:?}"));
        }
    }
}

/// `role: text`, then `-> tool` for each call.
fn line_of(message: &AgentMessage) -> String {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut line = format!("{role}:");
    if !message.content.is_empty() {
        line.push(' ');
        line.push_str(&message.content);
    }
    for call in &message.tool_calls {
        line.push_str(" -> ");
        line.push_str(&call.name);
    }
    line
}

/// An entry of the accounting as cases write it.
fn account_of(line: &AccountingLine) -> String {
    let (mut text, status, error) = match line {
        AccountingLine::Llm(line) => {
            let tokens = &line.tokens;
            let used = if tokens.total_tokens > 0 && !tokens.estimated {
                let parts = (
                    tokens.input_tokens,
                    tokens.cached_tokens,
                    tokens.output_tokens,
                );
                format!(" {}+{}>{}", parts.0, parts.1, parts.2)
            } else {
                String::new()
            };
            let cost = match (line.cost_micro_usd, line.cost_source) {
                (Some(cost), Some(CostSource::Prices)) => format!(" {cost}"),
                (Some(cost), _) => format!(" {cost} said"),
                (None, _) => String::new(),
            };
            let purpose = match line.purpose {
                None => "",
                Some(Purpose::Summary) => " summary",
                Some(Purpose::Sampling) => " sampling",
            };
            let text = format!(
                "llm {}/{} {}.{}{used}{cost}{purpose}",
                line.provider, line.model, line.turn, line.attempt
            );
            (text, line.status, &line.error)
        }
        AccountingLine::Tool(line) => {
            let text = format!(
                "tool {}:{} {}.{} {}>{}",
                line.mcp_server,
                line.command,
                line.turn,
                line.attempt,
                line.characters_in,
                line.characters_out
            );
            let source = line.source.map_or("", |CallSource::Xml| " xml");
            let dropped = line.dropped.map_or_else(String::new, |dropped| {
                let (was, is) = (dropped.original_tokens, dropped.replacement_tokens);
                format!(" dropped {was}>{is}")
            });
            let text = format!("{text}{source}{dropped}");
            (text, line.status, &line.error)
        }
    };
    text.push_str(match status {
        AccountingStatus::Ok => " ok",
        AccountingStatus::Failed => " failed",
    });
    if let Some(error) = error {
        text.push_str(": ");
        text.push_str(error);
    }
    text
}
