//! The terms of one call beside its order. Plain data.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use monolith_core::message::{
    Digest, InputExchange, InputQuestion, ObjectText, SamplingRequest, Scrubber, ToolOutcome,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::RunFiles;

/// The context of a call, without its arguments.
#[derive(Clone, Copy)]
pub(crate) struct CallTerms<'a> {
    /// Takes what does not go into the envelope.
    pub blobs: &'a dyn BlobSink,
    /// Ends the call as `Cancelled`.
    pub cancel: &'a CancellationToken,
    /// Stamps the envelope.
    pub clock: &'a dyn Clock,
    /// Takes what the server asks for meanwhile, and what it gets.
    pub exchanges: &'a Arc<ExchangeLog>,
    /// `<run_id>:<call seq>`; sent to MCP servers in `_meta`.
    pub idempotency_key: &'a str,
    /// The run's record of its workspace files, and the keeper of their content before the call changed them; `None` if nothing
    /// is kept.
    pub files: Option<&'a Arc<RunFiles>>,
    /// Bytes of text that the envelope may hold; the rest goes to `blobs`.
    pub output_limit_bytes: u64,
    /// Receives what the tool reports while it runs, where someone wants to know.
    pub reports: Option<&'a CallWatch>,
    /// Scrubs the tool's output before any of it is cut.
    pub scrub: &'a dyn Scrubber,
    /// After so long the call ends as `TimedOut`.
    pub timeout_ms: u64,
}

/// Receives the exposed name of a tool that runs, and what it reports of that, such as `3 of 10`.
pub(crate) type CallWatch = dyn Fn(&str, &str) + Send + Sync;

impl CallTerms<'_> {
    /// Hands over what a tool reports, without secrets.
    pub(super) fn report(&self, tool: &str, report: &str) {
        if let Some(watch) = self.reports {
            watch(tool, &self.scrub.cut_text(report));
        }
    }
}

/// The most exchanges of one call.
const MOST: usize = 100;

/// The input that a call waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedInput {
    /// A question to a person.
    Person(ObjectText),
    /// A prompt from its server for a model.
    Model(ModelPrompt),
}

/// A prompt from a server for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelPrompt {
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// The bytes of the prompt, as they are kept.
    pub prompt: Vec<u8>,
}

impl AwaitedInput {
    /// Returns the outcome of a call that waits for this input and resumes from `resume`.
    pub(crate) fn outcome(self, resume: Option<String>, blobs: &dyn BlobSink) -> ToolOutcome {
        match self {
            Self::Person(question) => {
                ToolOutcome::InputRequired(InputQuestion { question, resume })
            }
            Self::Model(ModelPrompt { max_tokens, prompt }) => {
                ToolOutcome::SamplingRequired(SamplingRequest {
                    bytes: u64::try_from(prompt.len()).unwrap_or(u64::MAX),
                    max_tokens,
                    prompt: blobs.put(prompt),
                    resume,
                })
            }
        }
    }
}

/// The input that a call waits for, and the sender for the answer: the input or the words, or `None` after a refusal.
pub(crate) type WaitingCall = (AwaitedInput, oneshot::Sender<Option<ObjectText>>);

/// The questions of a server during one call, and their answers.
#[derive(Debug, Default)]
pub(crate) struct ExchangeLog {
    exchanges: Mutex<Vec<InputExchange>>,
    /// The channel for questions; `None` if nobody can answer.
    questions: Option<mpsc::Sender<WaitingCall>>,
    /// Held while a person is asked: one question at a time.
    turn: tokio::sync::Mutex<()>,
    /// Until when a person may answer.
    until: Mutex<Option<Instant>>,
}

impl ExchangeLog {
    /// One whose questions go there.
    pub(crate) fn asking(questions: mpsc::Sender<WaitingCall>) -> Self {
        Self {
            questions: Some(questions),
            ..Self::default()
        }
    }

    /// Adds an exchange, scrubbed before it is cut.
    pub(super) fn add(&self, mut exchange: InputExchange, scrub: &dyn Scrubber) {
        exchange.change_texts(|text| scrub.owned_text(text.to_owned()));
        self.exchanges().push(exchange.bounded());
    }

    /// True if the call has used up its questions.
    pub(super) fn is_full(&self) -> bool {
        self.exchanges().len() >= MOST
    }

    /// All of them, in their order; none is left.
    pub(crate) fn take(&self) -> Vec<InputExchange> {
        std::mem::take(&mut *self.exchanges())
    }

    /// No one is waited for longer than until then.
    pub(super) fn wait_until(&self, moment: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(moment);
    }

    /// Asks a person or a model while the call waits. Returns `None` if the answer is refused or does not come in time.
    pub(super) async fn ask(&self, question: AwaitedInput) -> Option<ObjectText> {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = async {
            let _turn = self.turn.lock().await;
            let (sender, answer) = oneshot::channel();
            let sent = self.questions.as_ref()?.send((question, sender));
            sent.await.ok()?;
            answer.await.ok()?
        };
        tokio::time::timeout_at(until?, asked).await.ok()?
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<InputExchange>> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sink for bytes kept by hash: whole results, images, answers that do not decode.
pub(crate) trait BlobSink: Send + Sync {
    /// Takes `bytes` into keeping and returns their BLAKE3 digest.
    ///
    /// It does not fail: a sink that cannot store keeps that to itself and fails where it is flushed, before
    /// the entry that names the digest becomes durable.
    fn put(&self, bytes: Vec<u8>) -> Digest;
}

/// The driver's clock, lent to a call.
pub(crate) trait Clock: Send + Sync {
    /// Milliseconds since the run began, as events count them.
    fn run_ms(&self) -> u64;

    /// Wall-clock time in milliseconds since 1970-01-01 UTC: what the tool `clock` answers.
    fn unix_ms(&self) -> u64;
}
