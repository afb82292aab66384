//! The token counters, ready before a run begins.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::engine::TrialEnd;
use super::sources::Sources;
use crate::driver::{DriverError, Environment};
use crate::inference::BuiltInTokenizers;
use monolith_core::contract::{ContractDraft, Tokenizer};
use monolith_core::message::{TokenCounter, TokenCounters};

/// The one tokenizer that a run counts with: looked for before anything is begun, and kept for as long as it lasts.
#[derive(Clone, Debug, Default)]
pub struct Tokenizers(Option<(String, CounterResult)>);

/// Keeps the trial of a model running; dropping it ends the trial.
#[derive(Default)]
struct Waiting(TrialEnd);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.end();
    }
}

type CounterResult = Result<Arc<dyn TokenCounter>, String>;

impl Tokenizers {
    /// Gets the tokenizer of that name ready; nothing is to get ready without one. An embedded model's own is read as the draft
    /// says that the model is run.
    ///
    /// # Errors
    /// [`DriverError::Cancelled`]; what tries the model's file is ended then.
    pub(super) async fn ready(
        tokenizer: Option<String>,
        sources: &Sources,
        draft: Option<&ContractDraft>,
        environment: &Environment,
        cancel: &CancellationToken,
    ) -> Result<Self, DriverError> {
        let Some(name) = tokenizer else {
            return Ok(Self::default());
        };
        let requested = name.clone();
        let waiting = Waiting::default();
        // A vocabulary is built when it is first asked for, and that takes a while.
        let found = if name == Tokenizer::Model.id() {
            let read = draft.and_then(|draft| {
                let end = waiting.0.clone();
                sources.vocabulary(draft, environment, end)
            });
            let Some(read) = read else {
                let fault = format!("tokenizer {name}: no target is an embedded model");
                return Ok(Self(Some((name, Err(fault)))));
            };
            let named = move |fault| format!("tokenizer {requested}: {fault}");
            tokio::task::spawn_blocking(move || read().map_err(named))
        } else {
            tokio::task::spawn_blocking(move || BuiltInTokenizers.counter(&requested))
        };
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(DriverError::Cancelled),
            found = found => found.unwrap_or_else(|fault| Err(fault.to_string())),
        };
        drop(waiting);
        Ok(Self(Some((name, found))))
    }

    /// Returns the counter for a contract that was made with these.
    ///
    /// # Errors
    /// One line with the reason why no encoder here counts so.
    pub(in crate::driver) fn counter_of(&self, tokenizer: Option<&str>) -> CounterResult {
        (self as &dyn TokenCounters).of(tokenizer)
    }
}

impl TokenCounters for Tokenizers {
    fn counter(&self, tokenizer: &str) -> CounterResult {
        match &self.0 {
            Some((name, found)) if name == tokenizer => found.clone(),
            _ => Err(format!("tokenizer {tokenizer} was not asked for")),
        }
    }
}
