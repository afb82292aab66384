//! The script of a case: what happens to the run, step by step.

use std::collections::BTreeMap;
use std::fmt;

use monolith_core::kernel::{Approval, EventKind, Resumed, State};
use monolith_core::message::{Digest, FailureCode, ProviderFaultClass};
use monolith_core::session::{Control, Input};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::drive::Drive;

/// One step of a script: a word, or a mapping of [`StepText`]'s keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StepMap {
    after_ms: Option<u64>,
    asks: Option<String>,
    at_ms: Option<u64>,
    call: Option<u64>,
    #[serde(rename = "do")]
    word: Option<Word>,
    error: Option<String>,
    fault: Option<ProviderFaultClass>,
    headers: BTreeMap<String, String>,
    malformed: Option<String>,
    message: Option<MessageText>,
    ok: Option<String>,
    ok_bytes: Option<usize>,
    pointer: Option<String>,
    raw: Option<String>,
    recovered: Option<MessageText>,
    rejected: Option<FailureCode>,
    resumed: Option<ResumedText>,
    retry_after_ms: Option<u64>,
    samples: Option<String>,
    status: Option<u16>,
    usage: Option<UsageText>,
}

/// One step: when, and what happens.
#[derive(Clone, Debug)]
pub(super) struct StepText {
    pub(super) when: When,
    pub(super) what: What,
}

/// When a step happens, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// So many milliseconds after what came before.
    After(u64),
    /// At this moment.
    At(u64),
}

/// An event of a step.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The inference in flight brings a response.
    Answer(Answer),
    /// The inference in flight brings none.
    Fault(FaultText),
    /// A call ends: the oldest that runs, or the one of that number.
    Tool {
        call: Option<u64>,
        result: ToolResult,
    },
    /// Something else.
    Word(Word),
    /// A new process takes over, and everything in flight is lost.
    Resumed(ResumedText),
}

/// The failure of an inference.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultText {
    pub(super) class: ProviderFaultClass,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) status: Option<u16>,
    pub(super) usage: Option<UsageText>,
}

/// A response, and what the adapter must make of it.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) body: Body,
    pub(super) headers: BTreeMap<String, String>,
    /// The code with which the adapter must reject it; `None` if it must not.
    pub(super) rejected: Option<FailureCode>,
    /// The pointer that the rejection must name, where the case says one.
    pub(super) pointer: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) usage: Option<UsageText>,
}

/// The body of a response.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Written out in the wire protocol of the target.
    Message(MessageText),
    /// As it stands.
    Raw(String),
    /// Written out, then taken for one that had to be repaired.
    Recovered(MessageText),
}

/// The end of a call.
#[derive(Clone, Debug)]
pub(super) enum ToolResult {
    Ok(String),
    OkBytes(usize),
    Error(String),
    Malformed(String),
    /// Its server asks a person this.
    Asks(String),
    /// Its server wants a model to be asked this.
    Samples(String),
    Word(Word),
}

/// Events without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// A call takes longer than it may.
    Timeout,
    /// The transport of a call closes.
    Lost,
    /// A call is cancelled.
    Cancelled,
    /// The server no longer offers what is pinned.
    Changed,
    /// A call's envelope answers another call.
    WrongId,
    Stop,
    Abort,
    /// The process is about to leave the run.
    Suspend,
    Parent,
    Approve,
    /// An approval of other arguments than those that wait.
    ApproveOther,
    Deny,
    /// The moment that the machine asked to be woken at.
    Timer,
    /// The answer to a probe that the case holds back.
    Probed,
}

/// A message of the model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MessageText {
    pub(super) content: String,
    pub(super) calls: Vec<CallText>,
    pub(super) reasoning: Option<String>,
    pub(super) stop: StopText,
}

/// A call in a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallText {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: ArgumentsText,
}

/// Arguments: a mapping, or text that goes out as it stands.
#[derive(Clone, Debug)]
pub(super) struct ArgumentsText(pub(super) String);

/// The provider's reason why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopText {
    #[default]
    End,
    Length,
    Refusal,
    ContentFilter,
}

/// The usage that the provider reports.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct UsageText {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cost_micro_usd: Option<u64>,
}

/// The takeover of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ResumedText {
    /// True if the contract's hash came out different.
    pub(super) contract_changed: bool,
    /// Milliseconds in which no process drove the run.
    pub(super) elapsed_ms: u64,
    /// Tools whose pins no longer hold.
    pub(super) tools_changed: Vec<String>,
}

impl Default for ArgumentsText {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl<'de> Deserialize<'de> for ArgumentsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMap;
        impl<'de> Visitor<'de> for TextOrMap {
            type Value = ArgumentsText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping, or the text of the arguments")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ArgumentsText, E> {
                Ok(ArgumentsText(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ArgumentsText, A::Error> {
                let map: Map<String, Value> = Map::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ArgumentsText(Value::Object(map).to_string()))
            }
        }
        deserializer.deserialize_any(TextOrMap)
    }
}

impl<'de> Deserialize<'de> for StepText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrMap;
        impl<'de> Visitor<'de> for WordOrMap {
            type Value = StepText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word or a mapping")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<StepText, E> {
                let word = Some(Word::deserialize(text.into_deserializer())?);
                let map = StepMap {
                    word,
                    ..StepMap::default()
                };
                map.step().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StepText, A::Error> {
                let map = StepMap::deserialize(MapAccessDeserializer::new(map))?;
                map.step().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(WordOrMap)
    }
}

impl StepMap {
    fn step(self) -> Result<StepText, String> {
        let when = match (self.after_ms, self.at_ms) {
            (Some(_), Some(_)) => return Err("a step has `after_ms` or `at_ms`".to_owned()),
            (None, Some(at)) => When::At(at),
            (after, None) => When::After(after.unwrap_or(0)),
        };
        let body = [
            self.message.map(Body::Message),
            self.raw.map(Body::Raw),
            self.recovered.map(Body::Recovered),
        ];
        let result = [
            self.ok.map(ToolResult::Ok),
            self.ok_bytes.map(ToolResult::OkBytes),
            self.error.map(ToolResult::Error),
            self.malformed.map(ToolResult::Malformed),
            self.asks.map(ToolResult::Asks),
            self.samples.map(ToolResult::Samples),
        ];
        let answer = |body| {
            What::Answer(Answer {
                body,
                headers: self.headers.clone(),
                rejected: self.rejected,
                pointer: self.pointer.clone(),
                status: self.status,
                usage: self.usage,
            })
        };
        let call = self.call;
        let tool = |result| What::Tool { call, result };
        let fault = self.fault.map(|class| {
            What::Fault(FaultText {
                class,
                retry_after_ms: self.retry_after_ms,
                status: self.status,
                usage: self.usage,
            })
        });
        let word = self.word.map(|word| match word {
            Word::Timeout | Word::Lost | Word::Cancelled | Word::Changed | Word::WrongId => {
                tool(ToolResult::Word(word))
            }
            Word::Stop
            | Word::Abort
            | Word::Suspend
            | Word::Parent
            | Word::Approve
            | Word::ApproveOther
            | Word::Deny
            | Word::Timer
            | Word::Probed => What::Word(word),
        });
        let mut whats = body
            .into_iter()
            .flatten()
            .map(answer)
            .chain(result.into_iter().flatten().map(tool))
            .chain(fault)
            .chain(word)
            .chain(self.resumed.map(What::Resumed));
        match (whats.next(), whats.next()) {
            (Some(what), None) => Ok(StepText { when, what }),
            _ => Err("a step says exactly one thing that happens".to_owned()),
        }
    }
}

impl Drive {
    pub(super) fn word(&mut self, word: Word) -> Result<(), String> {
        let control = match word {
            Word::Stop => Control::Stop,
            Word::Abort => Control::Abort,
            Word::Suspend => Control::Suspend,
            Word::Parent => Control::Parent,
            Word::Approve => Control::Approve(self.approval(false)?),
            Word::ApproveOther => Control::Approve(self.approval(true)?),
            Word::Deny => Control::Deny(self.approval(false)?),
            Word::Timer => {
                let due = self.due();
                return self.fire(due.ok_or("the machine waits for no moment")?);
            }
            Word::Probed if self.flight.probe => return self.probed(),
            Word::Probed => return Err("no probe is in flight".to_owned()),
            Word::Timeout | Word::Lost | Word::Cancelled | Word::Changed | Word::WrongId => {
                return self.tool(None, &ToolResult::Word(word));
            }
        };
        self.hand_in(Input::Control(control))
    }

    fn approval(&self, of_other_arguments: bool) -> Result<Approval, String> {
        let waiting = self.flight.awaiting.as_ref();
        let order = waiting.ok_or("no call waits for an approval")?;
        let hash = if of_other_arguments {
            Digest::of(b"other arguments")
        } else {
            order.arguments_hash
        };
        Ok(Approval::to(order.call, hash))
    }

    pub(super) fn resumed(&mut self, resumed: &ResumedText) -> Result<(), String> {
        let flight = std::mem::take(&mut self.flight);
        if resumed.contract_changed {
            // No session reports this of its contract: this contract was changed under the run.
            self.push(EventKind::Resumed(Resumed {
                addresses: Vec::new(),
                bring_up: Vec::new(),
                confinement: Vec::new(),
                contract_hash: Digest::of(b"another contract"),
                elapsed_ms: resumed.elapsed_ms,
                tool_servers: Vec::new(),
                tools_changed: resumed.tools_changed.clone(),
            }))?;
        } else {
            let unix_ms = self.unix_ms_after(resumed.elapsed_ms);
            self.hand_in(Input::Resumed {
                addresses: Vec::new(),
                bring_up: Vec::new(),
                confinement: Vec::new(),
                tool_servers: Vec::new(),
                tools_changed: resumed.tools_changed.clone(),
                unix_ms,
            })?;
        }
        if self.flight.awaiting.is_none() && self.state() == State::Execute {
            self.flight.awaiting = flight.awaiting;
        }
        Ok(())
    }
}
