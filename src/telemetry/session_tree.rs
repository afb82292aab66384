//! A run as the tree of a session (001 §12): its turns, and in each the requests and calls of it. Reads a result; writes no file.

use std::fmt::Write as _;

use serde::Serialize;

use super::accounting::{AccountingLine, AccountingStatus, usd};
use super::result::AgentResult;
use crate::message::{Digest, RunId};
use crate::view::RunView;

/// The version of the form.
const VERSION: u32 = 1;

/// What is kept of a session that has ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionSnapshot<'r> {
    version: u32,
    /// Why it was taken.
    reason: &'static str,
    op_tree: SessionTree<'r>,
}

/// A session as a tree of what was done.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionTree<'r> {
    id: &'r RunId,
    /// The first run of the line.
    trace_id: &'r RunId,
    agent_id: Option<&'r str>,
    started_at: u64,
    ended_at: u64,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'r str>,
    attributes: Attributes,
    turns: Vec<Turn<'r>>,
    /// Always empty: the transcript has what happened.
    logs: [(); 0],
    totals: Totals,
}

/// Which record the tree is of.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attributes {
    contract_hash: Option<Digest>,
    /// The hash of the last entry: with it the transcript proves what the tree says.
    head: Option<Digest>,
    outcome: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Turn<'r> {
    id: String,
    index: u32,
    started_at: u64,
    ended_at: u64,
    ops: Vec<Op<'r>>,
}

/// A request or a call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Op<'r> {
    #[serde(rename = "opId")]
    id: String,
    kind: &'static str,
    started_at: u64,
    ended_at: u64,
    status: AccountingStatus,
    attributes: OpAttributes<'r>,
    /// Always empty, as those of the session.
    logs: [(); 0],
    accounting: [&'r AccountingLine; 1],
}

/// Who was asked for what.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum OpAttributes<'r> {
    Llm { provider: &'r str, model: &'r str },
    Tool { provider: &'r str, name: &'r str },
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    tokens_in: u64,
    tokens_out: u64,
    tokens_cache_read: u64,
    tokens_cache_write: u64,
    cost_usd: f64,
    tools_run: u64,
    /// Agents that the session called; none can be yet.
    agents_run: u64,
}

impl<'r> SessionSnapshot<'r> {
    /// Of a run that has ended; none of one that has not, or that was never begun.
    pub(crate) fn of(result: &'r AgentResult, view: &'r RunView) -> Option<Self> {
        let (outcome, id) = (result.outcome?, result.run_id.as_ref()?);
        let mut turns: Vec<Turn<'r>> = Vec::new();
        let mut totals = Totals {
            cost_usd: usd(result.counters.cost_micro_usd),
            ..Totals::default()
        };
        for line in &result.accounting {
            totals.count(line);
            let (number, op) = (turn_of(line), Op::of(id, line));
            // A result that is summarised late belongs to a turn that has passed.
            match turns.iter_mut().find(|turn| turn.index == number) {
                Some(turn) => turn.take(op),
                None => turns.push(Turn::beginning_with(id, number, op)),
            }
        }
        turns.sort_by_key(|turn| turn.index);
        let op_tree = SessionTree {
            id,
            trace_id: view.origin().unwrap_or(id),
            agent_id: result.contract_id.as_deref(),
            started_at: view.started_unix_ms(),
            ended_at: view.unix_ms(view.at_ms()),
            success: result.success,
            error: result.error.as_deref(),
            attributes: Attributes {
                contract_hash: result.contract_hash,
                head: result.head,
                outcome: Some(outcome.to_string()),
            },
            turns,
            logs: [],
            totals,
        };
        Some(Self {
            version: VERSION,
            reason: "final",
            op_tree,
        })
    }

    /// The tree for people, a line for each of its nodes.
    pub(crate) fn lines(&self) -> Vec<String> {
        let tree = &self.op_tree;
        let outcome = tree.attributes.outcome.as_deref().unwrap_or_default();
        let mut lines = vec![format!("session {}  {outcome}", tree.id)];
        for (at, turn) in tree.turns.iter().enumerate() {
            let (branch, trunk) = branch(at + 1 == tree.turns.len());
            lines.push(format!("{branch}turn {}", turn.index));
            for (at, op) in turn.ops.iter().enumerate() {
                let (branch, _) = self::branch(at + 1 == turn.ops.len());
                lines.push(format!("{trunk}{branch}{}", op.line()));
            }
        }
        lines
    }
}

/// What stands before a node, and before what is below it.
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
            started_at: op.started_at,
            ended_at: op.ended_at,
            ops: vec![op],
        }
    }

    fn take(&mut self, op: Op<'r>) {
        self.started_at = self.started_at.min(op.started_at);
        self.ended_at = self.ended_at.max(op.ended_at);
        self.ops.push(op);
    }
}

impl<'r> Op<'r> {
    fn of(run: &RunId, line: &'r AccountingLine) -> Self {
        let (kind, started_at, latency, status, attributes) = match line {
            AccountingLine::Llm(line) => {
                let (provider, model) = (line.provider.as_str(), line.model.as_str());
                let attributes = OpAttributes::Llm { provider, model };
                ("llm", line.timestamp, line.latency, line.status, attributes)
            }
            AccountingLine::Tool(line) => {
                let (provider, name) = (line.mcp_server.as_str(), line.command.as_str());
                let attributes = OpAttributes::Tool { provider, name };
                (
                    "tool",
                    line.timestamp,
                    line.latency,
                    line.status,
                    attributes,
                )
            }
        };
        Self {
            id: format!("{run}-op-{}", line.index()),
            kind,
            started_at,
            ended_at: started_at.saturating_add(latency),
            status,
            attributes,
            logs: [],
            accounting: [line],
        }
    }

    /// `llm demo/script  120>14 tokens  350 ms  ok`.
    fn line(&self) -> String {
        let mut out = match &self.attributes {
            OpAttributes::Llm { provider, model } => format!("llm {provider}/{model}"),
            OpAttributes::Tool { provider, name } => format!("tool {provider}:{name}"),
        };
        let [line] = self.accounting;
        let error = match line {
            AccountingLine::Llm(line) => {
                let tokens = &line.tokens;
                let (read, written) = (tokens.input_tokens, tokens.output_tokens);
                // Writing to a String cannot fail.
                let _ = write!(out, "  {read}>{written} tokens");
                line.error.as_deref()
            }
            AccountingLine::Tool(line) => {
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
    fn count(&mut self, line: &AccountingLine) {
        match line {
            AccountingLine::Llm(line) => {
                let tokens = &line.tokens;
                let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
                add(&mut self.tokens_in, tokens.input_tokens);
                add(&mut self.tokens_out, tokens.output_tokens);
                add(&mut self.tokens_cache_read, tokens.cached_tokens);
                add(&mut self.tokens_cache_write, tokens.cache_write_tokens);
            }
            AccountingLine::Tool(_) => self.tools_run = self.tools_run.saturating_add(1),
        }
    }
}
