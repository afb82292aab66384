use std::sync::Arc;

use crate::message::{TokenCounter, TokenCounters};

/// The encoders that this build holds: those of the feature `tokenizers`, with their vocabularies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuiltInTokenizers;

impl BuiltInTokenizers {
    /// What contracts call them; none in a build without the feature.
    pub(crate) const IDS: &[&str] = encoders::IDS;
}

impl TokenCounters for BuiltInTokenizers {
    fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String> {
        encoders::counter(tokenizer).ok_or_else(|| {
            let way = if cfg!(feature = "tokenizers") {
                ""
            } else {
                "; `cargo build --release --features tokenizers` makes one that has the encoders of OpenAI"
            };
            format!("tokenizer {tokenizer}: this build cannot count with it{way}")
        })
    }
}

#[cfg(feature = "tokenizers")]
mod encoders {
    use std::fmt;
    use std::sync::Arc;

    use crate::message::TokenCounter;

    pub(super) const IDS: &[&str] = &["cl100k_base/1", "o200k_base/1"];

    pub(super) fn counter(id: &str) -> Option<Arc<dyn TokenCounter>> {
        let (id, encoder) = match id {
            "cl100k_base/1" => ("cl100k_base/1", bpe_openai::cl100k_base()),
            "o200k_base/1" => ("o200k_base/1", bpe_openai::o200k_base()),
            _ => return None,
        };
        Some(Arc::new(Encoder { encoder, id }))
    }

    struct Encoder {
        encoder: &'static bpe_openai::Tokenizer,
        id: &'static str,
    }

    impl fmt::Debug for Encoder {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_tuple("Encoder").field(&self.id).finish()
        }
    }

    impl TokenCounter for Encoder {
        fn count(&self, text: &str) -> u64 {
            u64::try_from(self.encoder.count(text)).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(not(feature = "tokenizers"))]
mod encoders {
    use std::sync::Arc;

    use crate::message::TokenCounter;

    pub(super) const IDS: &[&str] = &[];

    pub(super) fn counter(_: &str) -> Option<Arc<dyn TokenCounter>> {
        None
    }
}
