//! The result document of a run. A function of its view; does not know the terminal.

use monolith_core::contract::ReportContent;
use monolith_core::kernel::{AgentOutcome, Outcome, OutcomeCode, Run};
use monolith_core::message::{
    AgentMessage, CallSeq, Digest, FailureCode, Role, RunId, ServerConfinement,
};
use monolith_core::view::{RunView, TreeUsage};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::accounting::AccountingLine;
use super::exit_tag::ExitTag;
use super::failures::LeftOutTool;
use super::reason::why;

/// The format of the result document.
pub(crate) const RESULT_FORMAT: &str = "monolith-result/1";

/// The exit code of a process that leaves a suspended run (semantics §3).
const EXIT_SUSPENDED: u8 = 8;

const UNFINISHED: &str = "The run has no end: it is in progress, or its process was cut off.";

/// The result for a caller, in every case (000 §2): the five fields of AIAgentResult and the identity of the run.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_core::replay::Replayer;
/// use monolith_core::view::{Entry, RunView};
/// use monolith_host::telemetry::AgentResult;
/// # use std::collections::BTreeMap;
/// # use monolith_core::contract::ExecutionContract;
/// # use monolith_core::transcript::{LineReader, Record, SealedEntry};
///
/// # let text = std::fs::read("../../replay/v1/core.valid_call.jsonl")?;
/// # let (mut reader, mut header, mut entries) = (LineReader::new(), None, Vec::new());
/// # let mut blobs = BTreeMap::new();
/// # for line in text.split_inclusive(|byte| *byte == b'\n') {
/// #     match reader.read(line)? {
/// #         Record::Header(found) => header = Some((ExecutionContract::decode(found.contract)?, found.run_id)),
/// #         Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
/// #         Record::Blob(blob) => drop(blobs.insert(blob.hash, blob.bytes.to_vec())),
/// #         _ => {}
/// #     }
/// # }
/// # let (contract, run_id) = header.ok_or("no header")?;
/// let mut view = RunView::new(Arc::new(contract.clone()));
/// let mut replayer = Replayer::new(contract, &run_id);
/// for entry in &entries {
///     let (action, event) = (entry.decode_action()?, entry.decode_event()?);
///     view.take(Entry { action: &action, event: event.as_ref(), hash: entry.hash });
///     replayer.take(entry, &blobs);
/// }
/// let run = replayer.run().ok_or("no entries")?;
/// let result = AgentResult::of_run(run, &view);
/// assert!(result.success);
/// println!("{}", result.report_text());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Serialize)]
pub struct AgentResult {
    /// `RESULT_FORMAT`.
    pub format: &'static str,
    /// True if the run succeeded.
    pub success: bool,
    /// The outcome; null if the run has no end, because there was no run or it was cut off.
    pub outcome: Option<Outcome>,
    /// The exit code of the process that ran it.
    pub exit_code: u8,
    /// The same end as a word of 001.
    pub exit_tag: ExitTag,
    /// The call that a suspended run waits with for a person; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<AwaitedApproval>,
    /// Null where no run was begun.
    pub run_id: Option<RunId>,
    /// Null where no contract was made.
    pub contract_id: Option<String>,
    /// Null where no contract was made.
    pub contract_hash: Option<Digest>,
    /// The hash of the last entry.
    pub head: Option<Digest>,
    /// Number of entries in the transcript.
    pub entries: u64,
    /// The usage.
    pub counters: ResultCounters,
    /// The answer, or why there is none; null of a run that is suspended.
    #[serde(rename = "finalReport")]
    pub final_report: Option<FinalReport>,
    /// The canonical conversation, without attempts that were replaced.
    pub conversation: Vec<ResultMessage>,
    /// One line for each request and each call.
    pub accounting: Vec<AccountingLine>,
    /// The confinement of each program that the run starts, as its last process has it; absent where it starts none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confinement: Vec<ServerConfinement>,
    /// The tools that requests leave out, each with its server and the reason; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutTool>,
    /// The input of a list that asked for the run; absent of a run that no list asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Listed>,
    /// Null exactly on success.
    pub error: Option<String>,
}

/// The input of a list that asked for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The line, or the file of a folder.
    pub place: String,
    /// The contract file; absent if the line does not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The task, or the input of a workflow; absent if neither the list nor the run has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// The usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResultCounters {
    /// Turns begun.
    pub turns: u32,
    /// Requests issued.
    pub inferences: u64,
    /// Calls that were authorised.
    pub tool_calls: u64,
    /// Calls that were executed.
    pub tools_executed: u64,
    /// Prompt tokens, cache reads included.
    pub tokens_in: u64,
    /// Generated tokens.
    pub tokens_out: u64,
    /// Cost as far as providers report it or the contract's prices tell it.
    pub cost_micro_usd: u64,
    /// Milliseconds from start to end.
    pub elapsed_ms: u64,
    /// The usage of its child runs; absent if it called no agent that used anything. The counters above are of this run alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<TreeUsage>,
    /// The combined usage of this run and its child runs; absent as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_below: Option<TreeUsage>,
}

/// The final report (000 §5).
#[derive(Clone, Debug, Serialize)]
pub struct FinalReport {
    /// The source: the model, or monolith.
    pub status: ReportStatus,
    /// The form of the report: the one that the contract asks for.
    pub format: &'static str,
    /// When it was made, in milliseconds since 1970-01-01 UTC.
    pub ts: u64,
    /// The answer, or one sentence on why there is none; absent where the report is JSON or messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The report in format `json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_json: Option<Box<RawValue>>,
    /// The report in format `slack-block-kit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<RawValue>>,
    /// `reason`, the outcome's code, on failure; what the model gave beside its report on success.
    pub metadata: Box<RawValue>,
    /// Flaws that monolith overlooked in the model's report; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The source of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// The model's own answer.
    Success,
    /// Made by monolith.
    Failure,
}

/// A message of the conversation (002 §4.3) as other programs read it.
#[derive(Debug, Serialize)]
pub struct ResultMessage {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub content: String,
    /// The calls it requests.
    pub tool_calls: Vec<ResultCall>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The reasoning that the model reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// A requested call as other programs read it.
#[derive(Debug, Serialize)]
pub struct ResultCall {
    /// Its id in the message.
    pub id: String,
    /// The exposed tool name.
    pub name: String,
    /// The arguments, byte for byte as the model wrote them, without surrounding white space.
    pub arguments: Box<RawValue>,
    /// The reason why its arguments could not be read. They are then empty, and the call was never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FailureCode>,
}

impl AgentResult {
    /// The result of a run as far as its entries go.
    #[must_use]
    pub fn of_run(run: &Run, view: &RunView) -> Self {
        let contract = run.contract();
        let now = view.unix_ms(view.at_ms());
        let outcome = view.outcome();
        let success = outcome.is_some_and(|outcome| outcome.class.is_success());
        let why = why(view).unwrap_or_else(|| UNFINISHED.to_owned());
        let content = if success {
            final_answer(
                run.settled_conversation().map(AsRef::as_ref),
                contract.asks_model(),
            )
            .to_owned()
        } else {
            why.clone()
        };
        let reason = outcome.map_or("unfinished", |outcome| outcome.code.as_str());
        Self {
            format: RESULT_FORMAT,
            success,
            outcome,
            exit_code: outcome.map_or(1, Outcome::exit_code),
            exit_tag: outcome.map_or(ExitTag::UncaughtException, |outcome| {
                ExitTag::of_run(view, outcome)
            }),
            waits_for: None,
            run_id: view.run_id().cloned(),
            contract_id: Some(contract.contract_id().to_owned()),
            contract_hash: Some(contract.contract_hash()),
            head: view.head(),
            entries: view.entries(),
            counters: ResultCounters::of(view),
            final_report: Some(FinalReport::of_run(run, success, now, content, reason)),
            conversation: run
                .settled_conversation()
                .map(|m| ResultMessage::from(&**m))
                .collect(),
            accounting: AccountingLine::of_run(view),
            confinement: view.confinement(),
            left_out: LeftOutTool::of_run(view),
            listed: None,
            error: (!success).then(|| match outcome {
                Some(outcome) => format!("{outcome}: {why}"),
                None => why,
            }),
        }
    }

    /// The result of a run that is suspended: it has no end yet, and can be resumed. `run` is the machine, where it is at hand.
    #[must_use]
    pub fn suspended(run: Option<&Run>, view: &RunView) -> Self {
        let contract = view.contract();
        let conversation = run.into_iter().flat_map(Run::settled_conversation);
        let waits_for = AwaitedApproval::of(view);
        Self {
            contract_id: Some(contract.contract_id().to_owned()),
            contract_hash: Some(contract.contract_hash()),
            conversation: conversation.map(|m| ResultMessage::from(&**m)).collect(),
            exit_tag: match waits_for {
                Some(_) => ExitTag::ApprovalRequired,
                None => ExitTag::SignalReceived,
            },
            // What is in flight, or waits below, has no end yet.
            accounting: AccountingLine::of_ended(view, 0),
            final_report: None,
            waits_for,
            ..Self::cut_off(view, EXIT_SUSPENDED, "suspended", "suspended".to_owned())
        }
    }

    /// Returns true if this is a run that was suspended.
    #[must_use]
    pub const fn is_suspended(&self) -> bool {
        self.exit_code == EXIT_SUSPENDED
    }

    /// The report as text; empty where there is none.
    #[must_use]
    pub fn report_text(&self) -> &str {
        self.final_report.as_ref().map_or("", FinalReport::text)
    }

    /// The result where no run was begun. The author's faults are a contract that is invalid; others have no outcome.
    #[must_use]
    pub fn without_run(exit_code: u8, reason: &str, error: String, unix_ms: u64) -> Self {
        let invalid = Outcome::new(AgentOutcome::FailedPreflight, OutcomeCode::ContractInvalid);
        Self {
            format: RESULT_FORMAT,
            success: false,
            outcome: (exit_code == invalid.exit_code()).then_some(invalid),
            exit_code,
            exit_tag: ExitTag::without_outcome(exit_code),
            waits_for: None,
            run_id: None,
            contract_id: None,
            contract_hash: None,
            head: None,
            entries: 0,
            counters: ResultCounters::default(),
            final_report: Some(FinalReport::new(false, unix_ms, error.clone(), reason)),
            conversation: Vec::new(),
            accounting: Vec::new(),
            confinement: Vec::new(),
            left_out: Vec::new(),
            listed: None,
            error: Some(error),
        }
    }

    /// The result of a run that could not be brought to its end. What it did until then stands in its transcript.
    #[must_use]
    pub fn cut_off(view: &RunView, exit_code: u8, reason: &str, error: String) -> Self {
        Self {
            outcome: None,
            run_id: view.run_id().cloned(),
            head: view.head(),
            entries: view.entries(),
            counters: ResultCounters::of(view),
            accounting: AccountingLine::of_run(view),
            confinement: view.confinement(),
            left_out: LeftOutTool::of_run(view),
            ..Self::without_run(exit_code, reason, error, view.unix_ms(view.at_ms()))
        }
    }
}

impl ResultCounters {
    fn of(view: &RunView) -> Self {
        let counters = view.counters();
        Self {
            turns: counters.turns,
            inferences: counters.inferences,
            tool_calls: counters.calls,
            tools_executed: counters.executed,
            tokens_in: counters
                .tokens_in
                .saturating_add(counters.tokens_cache_read),
            tokens_out: counters.tokens_out,
            cost_micro_usd: counters.cost_micro_usd,
            elapsed_ms: view.at_ms(),
            below: view.used_below(),
            with_below: view.used_below().map(|_| view.used_with_below()),
        }
    }
}

impl FinalReport {
    /// The report as text, whatever its form.
    #[must_use]
    pub fn text(&self) -> &str {
        let raw = self.content_json.as_deref().or(self.messages.as_deref());
        self.content
            .as_deref()
            .or(raw.map(RawValue::get))
            .unwrap_or_default()
    }

    /// The report of a run: what it reported, else its last words, else why there is none.
    fn of_run(run: &Run, success: bool, ts: u64, content: String, reason: &str) -> Self {
        let terms = run.contract().final_report.as_ref();
        let plain = Self::new(success, ts, content, reason);
        let plain = Self {
            format: terms.map_or(plain.format, |terms| terms.format.as_str()),
            ..plain
        };
        let Some(report) = run.final_report().filter(|_| success) else {
            return plain;
        };
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        let (content, content_json, messages) = match &report.content {
            ReportContent::Text(text) => (Some(text.clone()), None, None),
            ReportContent::Json(text) => (None, raw(text), None),
            ReportContent::Messages(text) => (None, None, raw(text)),
        };
        let metadata = report.metadata.as_deref().and_then(raw);
        Self {
            content,
            content_json,
            messages,
            metadata: metadata.unwrap_or(plain.metadata),
            warnings: report.warnings.clone(),
            ..plain
        }
    }

    fn new(success: bool, ts: u64, content: String, reason: &str) -> Self {
        let (status, metadata) = if success {
            (ReportStatus::Success, json!({}))
        } else {
            (ReportStatus::Failure, json!({"reason": reason}))
        };
        Self {
            status,
            format: "markdown",
            ts,
            content: Some(content),
            content_json: None,
            messages: None,
            // The text of a value is a value, so null never takes its place.
            metadata: RawValue::from_string(metadata.to_string())
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            warnings: Vec::new(),
        }
    }
}

/// The answer of a successful run: the model's last words, or the result of its call where it asks no model.
fn final_answer<'m>(
    conversation: impl DoubleEndedIterator<Item = &'m AgentMessage>,
    asks_model: bool,
) -> &'m str {
    let by = if asks_model {
        Role::Assistant
    } else {
        Role::Tool
    };
    conversation
        .rev()
        .find(|message| message.role == by)
        .map_or("", |message| message.content.as_str())
}

impl From<&AgentMessage> for ResultMessage {
    fn from(message: &AgentMessage) -> Self {
        let calls = message.tool_calls.iter().map(|call| ResultCall {
            id: call.id.clone(),
            name: call.name.clone(),
            // The text of one JSON object is a JSON value, so null never takes its place.
            arguments: serde_json::from_str(call.arguments.as_str())
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            fault: call.fault,
        });
        Self {
            role: message.role,
            content: message.content.clone(),
            tool_calls: calls.collect(),
            tool_call_id: message.tool_call_id.clone(),
            reasoning: message.reasoning.clone(),
        }
    }
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AwaitedApproval {
    /// The number of the call in its run.
    pub call: CallSeq,
    /// The tool.
    pub name: String,
    /// The hash that an answer is bound to: BLAKE3 over the text of the arguments.
    pub arguments_hash: Digest,
    /// The run below that asks; `None` if the run itself does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Number of other calls that wait below the run.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AwaitedApproval {
    pub(super) fn of(view: &RunView) -> Option<Self> {
        let (call, arguments_hash) = view.approvals().awaited()?;
        let name = view.call(call).map(|call| call.name.clone());
        Some(Self {
            call,
            name: name.unwrap_or_default(),
            arguments_hash,
            run_id: None,
            more: 0,
        })
    }
}
