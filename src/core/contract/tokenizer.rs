//! The tokenizers that contracts can name. Holds no vocabulary.

use super::Terms;

/// A tokenizer that this version knows, whether or not a build has it.
///
/// Its id ends in the version of how it counts: a contract that was made with one is never counted with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// OpenAI's encoder of GPT-4 and GPT-3.5.
    Cl100kBase,
    /// The vocabulary in the file of an embedded model.
    Model,
    /// OpenAI's encoder of GPT-4o and everything since.
    O200kBase,
}

/// Model families with a published encoder (tiktoken 0.14, `model.py`), by name. A model has the family's name, or that name
/// continued with a `-`. The gpt-oss encoder differs only in control tokens, which are never counted as such.
const FAMILIES: [(Tokenizer, &[&str]); 2] = [
    (
        Tokenizer::O200kBase,
        &[
            "chatgpt-4o",
            "codex-mini",
            "gpt-4.1",
            "gpt-4.5",
            "gpt-4o",
            "gpt-5",
            "gpt-oss",
            "o1",
            "o3",
            "o4-mini",
        ],
    ),
    (
        Tokenizer::Cl100kBase,
        &["gpt-3.5", "gpt-3.5-turbo", "gpt-35-turbo", "gpt-4"],
    ),
];

impl Tokenizer {
    /// Every one, sorted by id.
    pub const ALL: [Self; 3] = [Self::Cl100kBase, Self::Model, Self::O200kBase];

    /// Returns its id in contracts.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Cl100kBase => "cl100k_base/1",
            Self::Model => "model/1",
            Self::O200kBase => "o200k_base/1",
        }
    }

    /// The one of that id.
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.id() == id)
    }

    /// The one that an author means: by its id, by its id without the version, or by the name of a model that is known to use it
    /// (001 §6).
    pub(super) fn named(name: &str) -> Option<Self> {
        let without_version = |known: &Self| known.id().strip_suffix("/1") == Some(name);
        let by_id = Self::by_id(name).or_else(|| Self::ALL.into_iter().find(without_version));
        by_id.or_else(|| Self::of_model(name))
    }

    /// The one of a model, by the name that it is sold under; `openai/` before it does not count.
    fn of_model(name: &str) -> Option<Self> {
        let name = name.strip_prefix("openai/").unwrap_or(name);
        let is_of = |family: &str| {
            let rest = name.strip_prefix(family);
            // The numbers of this family go on: gpt-5.1.
            let goes_on = ['-', '.'].get(..if family == "gpt-5" { 2 } else { 1 });
            rest.is_some_and(|rest| {
                rest.is_empty() || goes_on.is_some_and(|signs| rest.starts_with(signs))
            })
        };
        let mut found = FAMILIES
            .iter()
            .filter(|(_, families)| families.iter().any(|family| is_of(family)));
        found.next().map(|(tokenizer, _)| *tokenizer)
    }
}

/// The token counting of a contract's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    tokenizer: Option<String>,
    /// The model's file, where its vocabulary counts and the file is known.
    vocabulary: Option<String>,
}

impl Counting {
    /// True if both count the same number of tokens in any text. An unknown file does not count as different.
    pub fn is_like(&self, other: &Self) -> bool {
        let other_file = self.vocabulary.is_some()
            && other.vocabulary.is_some()
            && self.vocabulary != other.vocabulary;
        self.tokenizer == other.tokenizer && !other_file
    }
}

impl Terms {
    /// Returns the token counting of this contract's texts.
    pub fn counting(&self) -> Counting {
        let of_file = self.tokenizer.as_deref() == Some(Tokenizer::Model.id());
        let prints = self.targets.iter().map(|target| &target.model_fingerprint);
        // The file is read by the engine, whose version does not change a vocabulary.
        let mut files = prints.filter_map(|print| print.strip_prefix("gguf:")?.split(';').next());
        Counting {
            tokenizer: self.tokenizer.clone(),
            vocabulary: files.next().filter(|_| of_file).map(str::to_owned),
        }
    }
}

/// Returns why no build can count with a contract's tokenizer.
pub(super) fn tokenizer_fault(terms: &Terms, some_local: bool) -> Option<String> {
    let name = terms.tokenizer.as_deref()?;
    match Tokenizer::by_id(name) {
        Some(Tokenizer::Model) if !some_local => Some(format!(
            "tokenizer {name}: no target is an embedded model, whose vocabulary it would be"
        )),
        Some(_) => None,
        None => {
            let known: Vec<&str> = Tokenizer::ALL.iter().map(|known| known.id()).collect();
            let known = known.join(", ");
            Some(format!(
                "tokenizer {name}: this version knows {known}, and the names of models such as gpt-4o; null estimates bytes / 4"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 001/6.providers.3
    #[test]
    fn an_author_may_name_an_encoder_or_a_model_that_is_known_to_use_it() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(Tokenizer::named(name).map(Tokenizer::id), expect, "{name}");
        };
        let (o200k, cl100k) = (Some("o200k_base/1"), Some("cl100k_base/1"));
        check("o200k_base", o200k);
        check("o200k_base/1", o200k);
        check("o200k_base/2", None);
        check("cl100k_base", cl100k);
        check("model", Some("model/1"));
        check("gpt-4o", o200k);
        check("gpt-4o-mini-2024-07-18", o200k);
        check("openai/gpt-4.1", o200k);
        check("gpt-5", o200k);
        check("gpt-5.1-codex", o200k);
        check("gpt-50", None);
        check("o3-pro", o200k);
        check("o4", None);
        check("gpt-oss-20b", o200k);
        check("gpt-4", cl100k);
        check("gpt-4-0613", cl100k);
        check("gpt-4.2", None);
        check("gpt-3.5-turbo-16k", cl100k);
        check("claude-x-1", None);
        check("", None);
    }
}
