//! The trait that counts tokens, and the estimate without an encoder. Knows no vocabulary.

use std::fmt::Debug;
use std::sync::Arc;

use super::estimate_tokens;

/// Counts the tokens of texts, as one encoder cuts them.
///
/// What it does for a text grows no faster than the text, whatever stands in it. What looks like a control token is text like any
/// other.
///
/// ```
/// use monolith_core::message::TokenCounter;
///
/// #[derive(Debug)]
/// struct Words;
///
/// impl TokenCounter for Words {
///     fn count(&self, text: &str) -> u64 {
///         text.split_whitespace().count() as u64
///     }
/// }
/// assert_eq!(Words.count("two words"), 2);
/// ```
pub trait TokenCounter: Debug + Send + Sync {
    /// The tokens of a text by itself.
    fn count(&self, text: &str) -> u64;
}

/// The tokenizers that there are here.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_core::message::{BytesPerToken, TokenCounter, TokenCounters};
///
/// struct Mine;
///
/// impl TokenCounters for Mine {
///     fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String> {
///         match tokenizer {
///             "mine" => Ok(BytesPerToken::counter()),
///             other => Err(format!("nothing counts as {other} here")),
///         }
///     }
/// }
/// assert!(Mine.counter("mine").is_ok());
/// ```
pub trait TokenCounters {
    /// Returns the counter of the tokenizer with that name in contracts.
    ///
    /// # Errors
    /// Where nothing here counts so: one line that says why, and how to get what does.
    fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String>;
}

impl dyn TokenCounters + '_ {
    /// Returns the counter under a contract: its tokenizer, or bytes / 4 if it names none.
    ///
    /// # Errors
    /// As [`TokenCounters::counter`].
    pub fn of(&self, tokenizer: Option<&str>) -> Result<Arc<dyn TokenCounter>, String> {
        tokenizer.map_or_else(|| Ok(BytesPerToken::counter()), |name| self.counter(name))
    }
}

/// The counter without a tokenizer: bytes divided by 4, rounded up.
///
/// ```
/// use monolith_core::message::BytesPerToken;
///
/// assert_eq!(BytesPerToken::counter().count("nine byte"), 3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BytesPerToken;

impl BytesPerToken {
    /// The same, shared.
    #[must_use]
    pub fn counter() -> Arc<dyn TokenCounter> {
        Arc::new(Self)
    }
}

impl TokenCounter for BytesPerToken {
    fn count(&self, text: &str) -> u64 {
        estimate_tokens(text)
    }
}

/// No tokenizer at all: where nothing is begun, or where what is recorded is taken as it stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTokenizers;

impl TokenCounters for NoTokenizers {
    fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String> {
        Err(format!("nothing counts as tokenizer {tokenizer} here"))
    }
}
