//! A run as the tree of a session (001 §12): its turns, in each the requests and calls of it, and in these the sessions of agents that
//! were called; before and after them the operations of the session itself. Reads views; writes no file.

use std::fmt::Write as _;

use serde::Serialize;

use super::accounting::{AccountingLine, AccountingStatus, usd};
use super::reason::why;
use super::session_log::LogEntry;
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_core::view::{Activity, RunView};

/// The version of the form.
const VERSION: u32 = 1;
/// The digits of each group of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The UUID of the line that begins with a run: the same wherever and whenever it is asked for. It is version 8 (RFC 9562 §5.8) of the
/// run's name; a name that is a UUID is its own.
#[must_use]
pub fn origin_uuid(run: &RunId) -> String {
    let groups = run.as_str().split('-');
    let is_hex = |group: &str| group.bytes().all(|b| b.is_ascii_hexdigit());
    if groups.clone().all(is_hex) && groups.map(str::len).eq(UUID_GROUPS) {
        return run.as_str().to_owned();
    }
    let hash = Digest::of(run.as_str().as_bytes()).to_string();
    let mut digits = hash.chars().enumerate().map(|(at, digit)| match at {
        // The version and the variant.
        12 | 16 => '8',
        _ => digit,
    });
    let groups = UUID_GROUPS.map(|length| digits.by_ref().take(length).collect::<String>());
    groups.join("-")
}

/// A run, and the runs of the agents that it called.
#[derive(Debug)]
pub struct Session {
    /// The child runs.
    pub below: Vec<Session>,
    /// The view of the run.
    pub view: RunView,
}

/// The reason for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// The session has ended.
    Final,
    /// An agent that was called in it has ended.
    SubagentFinish,
}

/// The snapshot of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot<'r> {
    version: u32,
    /// The reason for it.
    reason: SnapshotReason,
    op_tree: SessionTree<'r>,
}

/// A session as a tree of what was done.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionTree<'r> {
    id: &'r RunId,
    /// The UUID of the line.
    trace_id: String,
    agent_id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_path: Option<String>,
    started_at: u64,
    /// Absent for a session in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<u64>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    attributes: Attributes<'r>,
    turns: Vec<Turn<'r>>,
    /// The log of the session; each operation has a separate one.
    logs: Vec<LogEntry>,
    /// With those of the sessions below it.
    totals: Totals,
}

/// The record that the tree is of.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attributes<'r> {
    contract_hash: Digest,
    /// The first run of the line.
    origin: &'r RunId,
    /// The hash of the last entry: with it the transcript proves what the tree says.
    head: Option<Digest>,
    outcome: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Turn<'r> {
    id: String,
    index: u32,
    /// True for the turns before the first and after the last one, which have operations of the session itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    system: bool,
    started_at: u64,
    ended_at: u64,
    ops: Vec<Op<'r>>,
}

/// A request, a call, or an operation of the session itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Op<'r> {
    #[serde(rename = "opId")]
    id: String,
    kind: &'static str,
    started_at: u64,
    ended_at: u64,
    status: AccountingStatus,
    attributes: OpAttributes,
    logs: Vec<LogEntry>,
    /// Empty for an operation of the session itself.
    accounting: Vec<AccountingLine>,
    /// The session of the agent that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    child_session: Option<Box<SessionTree<'r>>>,
}

/// Who was asked for what.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum OpAttributes {
    Llm { provider: String, model: String },
    System { label: &'static str },
    Tool { provider: String, name: String },
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    tokens_in: u64,
    tokens_out: u64,
    tokens_cache_read: u64,
    tokens_cache_write: u64,
    /// Left out where no cost of the session is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip)]
    cost_micro_usd: u64,
    #[serde(skip)]
    is_cost_known: bool,
    tools_run: u64,
    /// Calls of agents that had runs; `toolsRun` has the other executed calls.
    agents_run: u64,
}

impl<'r> SessionSnapshot<'r> {
    /// Of a session, whose end is needed where that is the reason; none of one that was never begun.
    pub fn of(session: &'r Session, reason: SnapshotReason) -> Option<Self> {
        let ended = session.view.outcome().is_some();
        if reason == SnapshotReason::Final && !ended {
            return None;
        }
        Some(Self {
            version: VERSION,
            reason,
            op_tree: SessionTree::of(session)?,
        })
    }

    /// The tree for people, a line for each of its nodes.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.op_tree.lines("", "", &mut lines);
        lines
    }
}

impl<'r> SessionTree<'r> {
    fn of(session: &'r Session) -> Option<Self> {
        let view = &session.view;
        let (id, outcome) = (view.run_id()?, view.outcome());
        let mut turns: Vec<Turn<'r>> = Vec::new();
        let mut totals = Totals {
            cost_micro_usd: view.counters().cost_micro_usd,
            ..Totals::default()
        };
        for line in lines_of(view) {
            let below = call_of(view, &line).and_then(|call| session.of_call(call));
            totals.count(&line, below.is_some());
            let below = below.and_then(Self::of);
            if let Some(below) = &below {
                totals.add(&below.totals);
            }
            let (number, op) = (turn_of(&line), Op::of(id, line, below));
            // A result that is summarised late belongs to a turn that has passed.
            match turns.iter_mut().find(|turn| turn.index == number) {
                Some(turn) => turn.take(op),
                None => turns.push(Turn::beginning_with(id, number, op)),
            }
        }
        turns.sort_by_key(|turn| turn.index);
        let after = turns.last().map_or(1, |turn| turn.index.saturating_add(1));
        let (start, end) = (LogEntry::of_start(view), LogEntry::of_end(view, after));
        turns.insert(
            0,
            Turn::of_session((id, 0), view.started_unix_ms(), ("init", start)),
        );
        let ended_at = view.unix_ms(view.at_ms());
        turns.extend(end.map(|end| Turn::of_session((id, after), ended_at, ("fin", end))));
        totals.cost_usd = totals.is_cost_known.then(|| usd(totals.cost_micro_usd));
        let contract = view.contract();
        let failed = outcome.filter(|outcome| !outcome.class.is_success());
        let origin = view.origin().unwrap_or(id);
        let logs = [LogEntry::of_start(view)].into_iter();
        Some(Self {
            id,
            trace_id: origin_uuid(origin),
            agent_id: view.agent_id().unwrap_or_else(|| contract.contract_id()),
            call_path: view.call_path(),
            started_at: view.started_unix_ms(),
            ended_at: outcome.map(|_| ended_at),
            success: outcome.is_some_and(|outcome| outcome.class.is_success()),
            error: failed.map(|outcome| {
                let why = why(view).unwrap_or_default();
                format!("{outcome}: {why}")
            }),
            attributes: Attributes {
                contract_hash: contract.contract_hash(),
                origin,
                head: view.head(),
                outcome: outcome.map(|outcome| outcome.to_string()),
            },
            turns,
            logs: logs.chain(LogEntry::of_end(view, after)).collect(),
            totals,
        })
    }

    /// A line for each node; `first` and `further` stand before its own and before those below it.
    fn lines(&self, first: &str, further: &str, lines: &mut Vec<String>) {
        let outcome = self.attributes.outcome.as_deref().unwrap_or_default();
        lines.push(format!("{first}session {}  {outcome}", self.id));
        let turns: Vec<_> = self.turns.iter().filter(|turn| !turn.system).collect();
        for (at, turn) in turns.iter().enumerate() {
            let (branch, trunk) = branch(at + 1 == turns.len());
            lines.push(format!("{further}{branch}turn {}", turn.index));
            let trunk = format!("{further}{trunk}");
            for (at, op) in turn.ops.iter().enumerate() {
                let (branch, below) = self::branch(at + 1 == turn.ops.len());
                lines.push(format!("{trunk}{branch}{}", op.line()));
                if let Some(session) = &op.child_session {
                    let below = format!("{trunk}{below}");
                    session.lines(&format!("{below}└─ "), &format!("{below}   "), lines);
                }
            }
        }
    }
}

impl Session {
    /// The session that was called by that call.
    fn of_call(&self, call: CallSeq) -> Option<&Self> {
        let mut below = self.below.iter();
        below.find(|one| {
            let parent = one.view.start().and_then(|start| start.parent.as_ref());
            parent.is_some_and(|parent| parent.call == Some(call))
        })
    }
}

/// Returns the requests and calls of a session in their order; of one in progress, those that have ended.
fn lines_of(view: &RunView) -> Vec<AccountingLine> {
    if view.outcome().is_some() {
        return AccountingLine::of_run(view);
    }
    let mut lines = AccountingLine::of_ended(view, 0);
    lines.sort_by_key(AccountingLine::index);
    lines
}

/// The call whose execution a line accounts for.
fn call_of(view: &RunView, line: &AccountingLine) -> Option<CallSeq> {
    let number = usize::try_from(line.index()).ok()?;
    match view.activities().get(number)? {
        Activity::Execution(call, _) => Some(*call),
        Activity::Request(_) | Activity::Report(_) => None,
    }
}

/// The text before a node, and before the nodes below it.
const fn branch(is_last: bool) -> (&'static str, &'static str) {
    if is_last {
        ("└─ ", "   ")
    } else {
        ("├─ ", "│  ")
    }
}

const fn turn_of(line: &AccountingLine) -> u32 {
    match line {
        AccountingLine::Llm(line) => line.turn,
        AccountingLine::Tool(line) => line.turn,
    }
}

impl<'r> Turn<'r> {
    fn beginning_with(run: &RunId, index: u32, op: Op<'r>) -> Self {
        Self {
            id: format!("{run}-turn-{index}"),
            index,
            system: false,
            started_at: op.started_at,
            ended_at: op.ended_at,
            ops: vec![op],
        }
    }

    /// A turn with one operation of the session itself, at a moment.
    fn of_session(
        (run, index): (&RunId, u32),
        at: u64,
        (label, log): (&'static str, LogEntry),
    ) -> Self {
        let op = Op {
            id: format!("{run}-op-{label}"),
            kind: "system",
            started_at: at,
            ended_at: at,
            status: AccountingStatus::Ok,
            attributes: OpAttributes::System { label },
            logs: vec![log],
            accounting: Vec::new(),
            child_session: None,
        };
        Self {
            system: true,
            ..Self::beginning_with(run, index, op)
        }
    }

    fn take(&mut self, op: Op<'r>) {
        self.started_at = self.started_at.min(op.started_at);
        self.ended_at = self.ended_at.max(op.ended_at);
        self.ops.push(op);
    }
}

impl<'r> Op<'r> {
    fn of(run: &RunId, line: AccountingLine, below: Option<SessionTree<'r>>) -> Self {
        let (kind, started_at, latency, status, attributes) = match &line {
            AccountingLine::Llm(line) => {
                let (provider, model) = (line.provider.clone(), line.model.clone());
                let attributes = OpAttributes::Llm { provider, model };
                ("llm", line.timestamp, line.latency, line.status, attributes)
            }
            AccountingLine::Tool(line) => {
                let (provider, name) = (line.mcp_server.clone(), line.command.clone());
                let attributes = OpAttributes::Tool { provider, name };
                let kind = if below.is_some() { "session" } else { "tool" };
                (kind, line.timestamp, line.latency, line.status, attributes)
            }
        };
        Self {
            id: format!("{run}-op-{}", line.index()),
            kind,
            started_at,
            ended_at: started_at.saturating_add(latency),
            status,
            attributes,
            logs: LogEntry::of_line(&line),
            accounting: vec![line],
            child_session: below.map(Box::new),
        }
    }

    /// `llm demo/script  120>14 tokens  350 ms  ok`.
    fn line(&self) -> String {
        let mut out = match &self.attributes {
            OpAttributes::Llm { provider, model } => format!("llm {provider}/{model}"),
            OpAttributes::System { label } => format!("system {label}"),
            OpAttributes::Tool { provider, name } => format!("tool {provider}:{name}"),
        };
        let error = match self.accounting.first() {
            None => None,
            Some(AccountingLine::Llm(line)) => {
                let tokens = &line.tokens;
                let (read, written) = (tokens.input_tokens, tokens.output_tokens);
                // Writing to a String cannot fail.
                let _ = write!(out, "  {read}>{written} tokens");
                line.error.as_deref()
            }
            Some(AccountingLine::Tool(line)) => {
                let _ = write!(
                    out,
                    "  {}>{} bytes",
                    line.characters_in, line.characters_out
                );
                line.error.as_deref()
            }
        };
        let milliseconds = self.ended_at.saturating_sub(self.started_at);
        let _ = write!(out, "  {milliseconds} ms");
        match (self.status, error) {
            (AccountingStatus::Ok, _) => out.push_str("  ok"),
            (AccountingStatus::Failed, Some(error)) => {
                let _ = write!(out, "  failed: {error}");
            }
            (AccountingStatus::Failed, None) => out.push_str("  failed"),
        }
        out
    }
}

impl Totals {
    /// Adds a request or a call of this session; `is_agent` where the call is that of an agent.
    fn count(&mut self, line: &AccountingLine, is_agent: bool) {
        match line {
            AccountingLine::Llm(line) => {
                let tokens = &line.tokens;
                self.tokens_in = self.tokens_in.saturating_add(tokens.input_tokens);
                self.tokens_out = self.tokens_out.saturating_add(tokens.output_tokens);
                let cached = tokens.cached_tokens;
                self.tokens_cache_read = self.tokens_cache_read.saturating_add(cached);
                let written = tokens.cache_write_tokens;
                self.tokens_cache_write = self.tokens_cache_write.saturating_add(written);
                self.is_cost_known |= line.cost_micro_usd.is_some();
            }
            AccountingLine::Tool(_) if is_agent => {
                self.agents_run = self.agents_run.saturating_add(1);
            }
            // A final report in a tag has a line and is no call.
            AccountingLine::Tool(line) if line.is_report() => {}
            AccountingLine::Tool(_) => self.tools_run = self.tools_run.saturating_add(1),
        }
    }

    /// Adds those of a session below.
    const fn add(&mut self, below: &Self) {
        self.tokens_in = self.tokens_in.saturating_add(below.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(below.tokens_out);
        self.tokens_cache_read = self
            .tokens_cache_read
            .saturating_add(below.tokens_cache_read);
        self.tokens_cache_write = self
            .tokens_cache_write
            .saturating_add(below.tokens_cache_write);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(below.cost_micro_usd);
        self.is_cost_known |= below.is_cost_known;
        self.tools_run = self.tools_run.saturating_add(below.tools_run);
        self.agents_run = self.agents_run.saturating_add(below.agents_run);
    }
}
