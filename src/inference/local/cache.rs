use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::context::session::LlamaStateSeqFlags;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::backend::LocalOptions;
use super::engine::{Chatter, EngineFault, MAKING, begin};
use super::pace::Pace;

/// Tokens that are decoded at once: between two batches a run can be cancelled.
pub(super) const BATCH: usize = 128;
/// The same where nobody waits for the answer, but somebody may soon wait for another.
pub(super) const SMALL_BATCH: usize = 16;
/// Tokens of a prompt that are computed beside each other. llama.cpp rearranges the weights of some quantisations when it
/// loads them, and then multiplies 16 columns in one order, the four and the single ones that are left over in others: so
/// every token that is kept has to be in sixteens that begin at a multiple of 16, as it is where nothing was kept.
pub(super) const TILE: usize = 16;
/// The policy that turns flash attention off.
const PLAIN_ATTENTION: i32 = 0;
/// The only sequence of a context.
const SEQUENCE: i32 = 0;

/// A context of a model, and which tokens its cache holds.
pub(super) struct Cache<'m> {
    context: LlamaContext<'m>,
    /// The tokens whose keys and values are in the cache, in their order.
    held: Vec<LlamaToken>,
    model: &'m LlamaModel,
    pace: Pace,
    reuse: bool,
    /// How many of `held`, from the first, were decoded in whole tiles.
    solid: usize,
    window: u32,
}

impl<'m> Cache<'m> {
    pub(super) fn new(model: &'m Arc<LlamaModel>, options: &LocalOptions) -> Result<Self, String> {
        let (window, threads) = (options.context_window, options.threads.max(1));
        Ok(Self {
            context: context(model, window, threads)?,
            held: Vec::new(),
            model,
            pace: Pace::new(threads),
            reuse: options.reuse,
            solid: 0,
            window,
        })
    }

    /// Whether anything stays between two prompts.
    pub(super) const fn keeps(&self) -> bool {
        self.reuse
    }

    /// What the model says of the token after the last one.
    pub(super) fn logits(&self) -> &[f32] {
        self.context.get_logits()
    }

    /// Tokens that there is room for.
    pub(super) fn window(&self) -> u64 {
        // llama.cpp rounds it up.
        self.context.n_ctx().min(self.window).into()
    }

    /// Drops from the cache what the prompt does not begin with; how many of the prompt's tokens stay.
    ///
    /// The last one never does: decoding it again gives the logits that the cache does not hold. Tokens that were not decoded
    /// in whole tiles do not stay either: their values differ in the last bits from those of a run that keeps nothing.
    pub(super) fn keep_common(&mut self, prompt: &[LlamaToken]) -> usize {
        let same = self.held.iter().zip(prompt).take_while(|(a, b)| a == b);
        let mut common = if self.reuse {
            let most = prompt.len().saturating_sub(2);
            whole_tiles(same.count().min(self.solid).min(most))
        } else {
            0
        };
        if common < self.held.len() {
            let from = u32::try_from(common).ok();
            let dropped = self.context.clear_kv_cache_seq(Some(0), from, None);
            if common == 0 || dropped != Ok(true) {
                self.context.clear_kv_cache();
                common = 0;
            }
        }
        self.held.truncate(common);
        self.solid = common;
        common
    }

    /// Decodes tokens behind those that are held, at most so many at once; the logits are then those of the last one.
    pub(super) fn decode(
        &mut self,
        mut tokens: &[LlamaToken],
        most: usize,
        waits: &dyn Fn() -> bool,
    ) -> Result<(), EngineFault> {
        let mut batch = LlamaBatch::new(most + 1, 1);
        while !tokens.is_empty() {
            if !waits() {
                return Err(EngineFault::Cancelled);
            }
            let (piece, rest) = tokens.split_at(piece(tokens.len(), most));
            tokens = rest;
            batch.clear();
            for (at, token) in piece.iter().enumerate() {
                let position = i32::try_from(self.held.len() + at).unwrap_or(i32::MAX);
                let wanted = rest.is_empty() && at + 1 == piece.len();
                batch
                    .add(*token, position, &[SEQUENCE], wanted)
                    .map_err(|fault| EngineFault::Failed(fault.to_string()))?;
            }
            self.be_fewer()?;
            let decoded = self.pace.timed(|| self.context.decode(&mut batch));
            if let Err(fault) = decoded {
                // What the cache holds now is unknown.
                self.context.clear_kv_cache();
                self.held.clear();
                self.solid = 0;
                return Err(EngineFault::Failed(format!("llama.cpp failed: {fault}")));
            }
            if self.solid == self.held.len() {
                self.solid += whole_tiles(piece.len());
            }
            self.held.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Goes on with fewer threads where those that there are had to wait for processors: each waits for the others after every
    /// operation, without ever sleeping, so one that is not running holds up all. What the cache holds goes along.
    fn be_fewer(&mut self) -> Result<(), EngineFault> {
        let Some(threads) = self.pace.fewer() else {
            return Ok(());
        };
        let moved = |fault: String| EngineFault::Failed(format!("to {threads} threads: {fault}"));
        let flags = LlamaStateSeqFlags::empty();
        let state = self.context.state_seq_get(SEQUENCE, flags);
        let state = state.map_err(|fault| moved(fault.to_string()))?;
        let mut fewer = context(self.model, self.window, threads).map_err(moved)?;
        if !self.held.is_empty() {
            let taken = fewer.state_seq_set(&state, SEQUENCE);
            taken.map_err(|fault| moved(fault.to_string()))?;
        }
        self.context = fewer;
        Ok(())
    }
}

fn context(model: &LlamaModel, window: u32, threads: u32) -> Result<LlamaContext<'_>, String> {
    let llama = begin(Chatter::Silent)?;
    let threads = i32::try_from(threads).unwrap_or(i32::MAX);
    let batch = u32::try_from(BATCH).unwrap_or(u32::MAX);
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(window))
        .with_n_batch(batch)
        .with_n_ubatch(batch)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_flash_attention_policy(PLAIN_ATTENTION);
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let context = model.new_context(llama, params);
    context.map_err(|fault| format!("llama.cpp makes no context: {fault}"))
}

const fn whole_tiles(tokens: usize) -> usize {
    tokens / TILE * TILE
}

/// How many of the tokens that are left are decoded at once, `most` being whole tiles: whole tiles but for the last piece, and
/// no last piece is one token alone, for llama.cpp multiplies one column in another order than several.
const fn piece(left: usize, most: usize) -> usize {
    if left <= most {
        left
    } else if left == most + 1 {
        if most > TILE { most - TILE } else { left }
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::load;
    use super::super::tests::{model_file, options};
    use super::*;

    #[test]
    fn what_was_kept_of_another_prompt_leads_to_the_same_bits() {
        let Some(path) = model_file() else { return };
        let model = load(&path, Arc::default()).unwrap();
        let tokens: Vec<LlamaToken> = (0..150).map(|n| LlamaToken(300 + n * 7 % 500)).collect();
        let bits = |cache: &mut Cache<'_>, prompt: &[LlamaToken]| {
            let common = cache.keep_common(prompt);
            cache.decode(&prompt[common..], BATCH, &|| true).unwrap();
            let logits = cache.logits().iter().map(|logit| logit.to_bits());
            (common, logits.collect::<Vec<_>>())
        };
        let cache = || Cache::new(&model, &options(&path, true)).unwrap();
        let (_, fresh) = bits(&mut cache(), &tokens);
        for (same, kept) in [(2, 0), (57, 48), (99, 96)] {
            let mut cache = cache();
            let mut other = tokens[..same].to_vec();
            other.extend([LlamaToken(90); 3]);
            bits(&mut cache, &other);
            let (common, after) = bits(&mut cache, &tokens);
            assert_eq!(common, kept);
            assert!(after == fresh, "{same} tokens in common");
        }
        // Fewer threads, with what the cache holds.
        let mut moved = cache();
        moved.pace = Pace::starved(3);
        assert!(bits(&mut moved, &tokens).1 == fresh, "other threads");
        assert_eq!(moved.pace, Pace::new(1));
    }

    #[test]
    fn whatever_was_kept_every_token_is_decoded_in_the_same_place_of_its_tile() {
        // Of each token: whether it is in a whole tile, else how far it is into what is left over, and how much that is.
        let places = |kept: usize, length: usize, most: usize| {
            let mut places = Vec::new();
            let mut left = length - kept;
            while left > 0 {
                let size = piece(left, most);
                assert!(
                    (1..=most + 1).contains(&size) && size <= BATCH,
                    "{left} {most}"
                );
                assert!(size > 1 || length == 1, "{kept} {length} {most}");
                for at in 0..size {
                    let whole = at < whole_tiles(size);
                    places.push((!whole).then_some((at % TILE, size % TILE)));
                }
                left -= size;
            }
            places
        };
        for length in 1..600 {
            let fresh = places(0, length, BATCH);
            for kept in (0..length.saturating_sub(1)).step_by(TILE) {
                for most in [SMALL_BATCH, BATCH] {
                    let anew = places(kept, length, most);
                    assert_eq!(anew, fresh[kept..], "{kept} of {length} by {most}");
                }
            }
        }
    }
}
