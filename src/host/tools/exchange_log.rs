//! What a tool server asks for during a call: noted until the call has ended, and put to a person. Does not know protocols, nor who
//! that person is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::BlobSink;
use monolith_core::message::{
    InputExchange, InputQuestion, ObjectText, SamplingRequest, Scrubber, ToolOutcome,
};

/// The most exchanges of one call.
const MOST: usize = 100;

/// What a call waits with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedInput {
    /// A question to a person.
    Person(ObjectText),
    /// What its server wants a model to be asked.
    Model(ModelPrompt),
}

/// What a server wants a model to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelPrompt {
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// The bytes of the prompt, as they are kept.
    pub prompt: Vec<u8>,
}

impl AwaitedInput {
    /// How a call that waits with it stands, to be gone on with from `resume`.
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

/// What a call waits with, and where the answer goes: what was entered or said, or nothing where it was refused.
pub(crate) type WaitingCall = (AwaitedInput, oneshot::Sender<Option<ObjectText>>);

/// What a server asks for during one call, and what it gets.
#[derive(Debug, Default)]
pub(crate) struct ExchangeLog {
    exchanges: Mutex<Vec<InputExchange>>,
    /// Where questions go; `None` if there is no one to ask.
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

    /// Whether a call has asked as often as it may.
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

    /// What a person enters, or a model writes, while the call waits; `None` if that is refused, or does not come in time.
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
