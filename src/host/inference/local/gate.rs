//! The grammar's side of the sampling loop.

use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llguidance::api::TopLevelGrammar;
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{
    InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv,
};
use llguidance::{Matcher, ParserFactory};

/// The first byte of a control token in the trie: no text has it.
const CONTROL: u8 = TokTrie::SPECIAL_TOKEN_MARKER;
/// The single-byte tokens drawn first if only the end counts. The quote comes first: within a string the others are ordinary
/// characters.
pub(super) const ENDING: &[u8] = b"\"}]";

/// A model's vocabulary as the grammar engine sees it.
struct Vocabulary {
    model: Arc<LlamaModel>,
    trie: TokTrie,
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// As the model's own tokenizer does it, so that forced text gets the tokens that the model knows it by.
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| {
            let tokens = self.model.vocab().tokenize(text.as_bytes(), false, false);
            tokens
                .into_iter()
                .map(|token| token.0.cast_unsigned())
                .collect()
        })
    }
}

/// Makes gates for one model.
pub(super) struct Gates {
    ends: Vec<i32>,
    factory: ParserFactory,
    /// Every token but those that occur in prompts only.
    spoken: Vec<i32>,
    vocabulary: Arc<Vocabulary>,
}

impl Gates {
    pub(super) fn new(model: &Arc<LlamaModel>) -> Result<Self, String> {
        let vocab = model.vocab();
        let count = vocab.n_tokens();
        let mut token_bytes = Vec::new();
        let mut ends: Vec<i32> = Vec::new();
        let mut spoken: Vec<i32> = Vec::new();
        for id in 0..count {
            let token = LlamaToken(id);
            if vocab.is_eog(token) {
                ends.push(id);
            }
            let mut word = Vec::new();
            if !vocab.is_control(token) && !vocab.is_eog(token) {
                word = vocab.token_to_piece(token, false, None);
            }
            let silent = word.is_empty() || word.starts_with(&[CONTROL]);
            if !silent || vocab.is_eog(token) {
                spoken.push(id);
            }
            if silent {
                word = vec![CONTROL];
                word.extend(vocab.token_to_piece(token, true, None));
            }
            token_bytes.push(word);
        }
        let ids: Vec<TokenId> = ends.iter().map(|id| id.cast_unsigned()).collect();
        let end = *ids
            .first()
            .ok_or("the model has no token that ends a text")?;
        let info = TokRxInfo::new(count.cast_unsigned(), end);
        let trie = TokTrie::from(&info, &token_bytes).with_eos_tokens(&ids);
        let vocabulary = Arc::new(Vocabulary {
            model: Arc::clone(model),
            trie,
        });
        let capabilities = InferenceCapabilities {
            ff_tokens: true,
            ..InferenceCapabilities::default()
        };
        let environment: TokEnv = vocabulary.clone();
        let slices = SlicedBiasComputer::general_slices();
        let mut factory = ParserFactory::new(&environment, capabilities, &slices)
            .map_err(|fault| format!("the grammar engine refuses the vocabulary: {fault}"))?;
        factory.quiet();
        Ok(Self {
            ends,
            factory,
            spoken,
            vocabulary,
        })
    }

    /// Returns true if a token ends a text.
    pub(super) fn ends(&self, token: i32) -> bool {
        self.ends.contains(&token)
    }

    /// The tokens that a model may write without a grammar: text, and what ends it. A control token that begins
    /// another message is none of them.
    pub(super) fn spoken(&self) -> &[i32] {
        &self.spoken
    }

    /// The bytes of a token's text; none of a control token.
    pub(super) fn bytes(&self, token: i32) -> &[u8] {
        let bytes = self.vocabulary.trie.token(token.cast_unsigned());
        if bytes.starts_with(&[CONTROL]) {
            &[]
        } else {
            bytes
        }
    }

    /// A gate for one answer.
    pub(super) fn open(&self, grammar: &str) -> Result<Gate, String> {
        let grammar = TopLevelGrammar::from_lark(grammar.to_owned());
        let matcher = Matcher::new(self.factory.create_parser(grammar));
        match matcher.get_error() {
            Some(fault) => Err(format!("the grammar does not compile: {fault}")),
            None => Ok(Gate { matcher }),
        }
    }

    /// Of what a mask allows, the token that ends the message soonest: its end, a closing sign, then the shortest text.
    pub(super) fn soonest_end(&self, mask: &SimpleVob) -> Option<i32> {
        let allowed = mask.iter().map(u32::cast_signed);
        allowed.min_by_key(|token| {
            if self.ends(*token) {
                return (0, 0, *token);
            }
            let bytes = self.bytes(*token);
            let rank = match bytes {
                [sign] => ENDING.iter().position(|ending| ending == sign),
                _ => None,
            };
            (rank.unwrap_or(ENDING.len()) + 1, bytes.len(), *token)
        })
    }
}

/// The constraint on the rest of one answer. Every fault of it is a fault of the inference: nothing gets past it.
pub(super) struct Gate {
    matcher: Matcher,
}

impl Gate {
    /// The tokens that may come next.
    pub(super) fn mask(&mut self) -> Result<SimpleVob, String> {
        let mask = self.matcher.compute_mask_or_eos();
        let mask = mask.map_err(|fault| format!("no mask: {fault}"))?;
        if mask.is_zero() {
            return Err("no mask: nothing is allowed".to_owned());
        }
        Ok(mask)
    }

    /// Takes a token that was drawn.
    pub(super) fn take(&mut self, token: i32) -> Result<(), String> {
        self.matcher
            .consume_token(token.cast_unsigned())
            .map_err(|fault| format!("a token that the mask allowed is refused: {fault}"))
    }

    /// The tokens that come next whatever is drawn; they are taken.
    pub(super) fn forced(&mut self) -> Result<Vec<i32>, String> {
        if self.is_over() {
            return Ok(Vec::new());
        }
        let tokens = self.matcher.consume_ff_tokens();
        match self.matcher.get_error() {
            Some(fault) => Err(format!("the forced tokens cannot be computed: {fault}")),
            None => Ok(tokens.into_iter().map(u32::cast_signed).collect()),
        }
    }

    /// Returns true if the end may follow.
    pub(super) fn may_end(&mut self) -> Result<bool, String> {
        let may = self.matcher.is_accepting();
        may.map_err(|fault| format!("whether the text may end cannot be computed: {fault}"))
    }

    /// Returns true if only the end can follow.
    pub(super) fn is_over(&self) -> bool {
        self.matcher.is_stopped()
    }
}
