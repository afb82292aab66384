//! The token encoders of this build. Does not know which contract names one.

use std::sync::Arc;

use monolith_core::contract::Tokenizer;
use monolith_core::message::{TokenCounter, TokenCounters};

/// The encoders that this build holds: those of the feature `tokenizers`, with their vocabularies.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInTokenizers;

impl BuiltInTokenizers {
    /// The names in contracts; none in a build without the feature.
    pub const IDS: &[&str] = encoders::IDS;
}

impl TokenCounters for BuiltInTokenizers {
    fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String> {
        encoders::counter(tokenizer).ok_or_else(|| {
            let known = Tokenizer::by_id(tokenizer);
            let elsewhere = !cfg!(feature = "tokenizers") && known != Some(Tokenizer::Model) && known.is_some();
            let way = if elsewhere {
                "; `cargo build --release --features tokenizers` makes one that has the encoders of OpenAI"
            } else {
                ""
            };
            format!("tokenizer {tokenizer}: this build cannot count with it{way}")
        })
    }
}

#[cfg(feature = "tokenizers")]
mod encoders {
    use std::fmt;
    use std::sync::Arc;

    use monolith_core::message::TokenCounter;

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

    use monolith_core::message::TokenCounter;

    pub(super) const IDS: &[&str] = &[];

    pub(super) fn counter(_: &str) -> Option<Arc<dyn TokenCounter>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_what_contracts_can_name() {
        for id in BuiltInTokenizers::IDS {
            assert!(Tokenizer::by_id(id).is_some(), "{id}");
            assert!(BuiltInTokenizers.counter(id).is_ok(), "{id}");
        }
        let check = |id: &str, way: bool| {
            let missing = BuiltInTokenizers.counter(id).unwrap_err();
            let begins = format!("tokenizer {id}: this build cannot count with it");
            assert!(missing.starts_with(&begins), "{missing}");
            assert!(!missing.contains('\n'), "{missing}");
            assert_eq!(missing.contains("--features tokenizers"), way, "{missing}");
        };
        // What no build knows is not to be had by another build.
        check("x", false);
        check("model/1", false);
        if BuiltInTokenizers::IDS.is_empty() {
            check("o200k_base/1", true);
        }
    }

    /// From OpenAI's own examples (its cookbook, `How_to_count_tokens_with_tiktoken`), except the last.
    #[cfg(feature = "tokenizers")]
    #[test]
    fn texts_have_as_many_tokens_as_the_reference_encoder_counts() {
        let check = |text: &str, cl100k: u64, o200k: u64| {
            let count = |id| BuiltInTokenizers.counter(id).unwrap().count(text);
            let counts = (count("cl100k_base/1"), count("o200k_base/1"));
            assert_eq!(counts, (cl100k, o200k), "{text:?}");
        };
        check("antidisestablishmentarianism", 6, 6);
        check("2 + 2 = 4", 7, 7);
        check("お誕生日おめでとう", 9, 8);
        check("tiktoken is great!", 6, 6);
        check("", 0, 0);
        // As text: as a control token it would be one.
        check("<|endoftext|>", 7, 7);
    }

    /// A program that compares every place of a text with every other would not come to an end with these: four million bytes that
    /// no white space, or nothing else, divides. Nothing of them is left out, for they can be put together again.
    #[cfg(feature = "tokenizers")]
    #[test]
    fn hostile_texts_take_work_in_proportion_to_their_length() {
        let length = 4 << 20;
        for encoder in [bpe_openai::cl100k_base(), bpe_openai::o200k_base()] {
            for text in [
                "a", "A", "0", " ", "\n", "!", "é", "\u{200b}", "中", "\n ", "aB", "\u{301}",
            ] {
                let long = text.repeat(length / text.len());
                for long in [format!("{long}x"), long] {
                    let tokens = encoder.encode(long.as_str());
                    assert_eq!(tokens.len(), encoder.count(long.as_str()), "{text:?}");
                    assert!(
                        encoder.decode(&tokens).is_some_and(|again| again == long),
                        "{text:?}"
                    );
                }
            }
        }
    }
}
