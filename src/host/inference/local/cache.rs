//! The key-value cache of one context. Does not know prompts.

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, TryLockError};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::context::session::LlamaStateSeqFlags;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::llama::{INIT_LOCK, LogOutput, TILE, begin};
use super::options::LocalOptions;
use super::pace::Pace;

/// Tokens that are decoded at once: between two batches a run can be cancelled.
pub(super) const BATCH: usize = 128;
/// The same in idle time: no caller waits for this answer, but one may soon wait for another.
pub(super) const SMALL_BATCH: usize = 16;
/// The policy that turns flash attention off.
const PLAIN_ATTENTION: i32 = 0;
/// The only sequence of a context.
const SEQUENCE: i32 = 0;

/// Makes a context, of a window and so many threads; the caller holds [`INIT_LOCK`].
type Make<'m> = fn(&'m LlamaModel, u32, u32) -> Result<LlamaContext<'m>, String>;

/// A context of a model, and which tokens its cache holds.
pub(super) struct Cache<'m> {
    /// The context; none if llama.cpp failed to make one.
    context: Option<LlamaContext<'m>>,
    /// The tokens whose keys and values are in the cache, in their order.
    held: Vec<LlamaToken>,
    make: Make<'m>,
    model: &'m LlamaModel,
    pace: Pace,
    reuse: bool,
    /// Number of tokens of `held`, from the first, that were decoded in whole tiles.
    solid: usize,
    window: u32,
}

impl<'m> Cache<'m> {
    pub(super) fn new(model: &'m Arc<LlamaModel>, options: &LocalOptions) -> Result<Self, String> {
        let (window, threads) = (options.context_window, options.threads.max(1));
        let _lock = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let made = context(model, window, threads)?;
        Ok(Self {
            held: Vec::new(),
            make: context,
            model,
            pace: Pace::new(threads),
            reuse: options.reuse,
            solid: 0,
            // llama.cpp rounds it up.
            window: made.n_ctx().min(window),
            context: Some(made),
        })
    }

    /// Returns true if anything stays between two prompts.
    pub(super) const fn keeps(&self) -> bool {
        self.reuse
    }

    /// The model's logits of the token after the last one.
    pub(super) fn logits(&self) -> &[f32] {
        self.context.as_ref().map_or(&[], LlamaContext::get_logits)
    }

    /// Tokens that there is room for.
    pub(super) fn window(&self) -> u64 {
        self.window.into()
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
        if common < self.held.len()
            && let Some(context) = &mut self.context
        {
            let from = u32::try_from(common).ok();
            let dropped = context.clear_kv_cache_seq(Some(0), from, None);
            if common == 0 || dropped != Ok(true) {
                context.clear_kv_cache();
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
            if let Err(fault) = self.compute(&mut batch, piece.len()) {
                self.forget();
                return Err(EngineFault::Failed(fault));
            }
            if self.solid == self.held.len() {
                self.solid += whole_tiles(piece.len());
            }
            self.held.extend_from_slice(piece);
        }
        Ok(())
    }

    fn compute(&mut self, batch: &mut LlamaBatch<'_>, tokens: usize) -> Result<(), String> {
        if self.context.is_none() {
            let _lock = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            self.context = Some((self.make)(self.model, self.window, self.pace.threads())?);
        }
        let Self { context, pace, .. } = self;
        let decoded = context
            .as_mut()
            .map(|context| pace.timed(tokens, || context.decode(batch)));
        match decoded {
            Some(Err(fault)) => Err(format!("llama.cpp failed: {fault}")),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Empties the cache: the context's contents are unknown, or it is missing.
    fn forget(&mut self) {
        if let Some(context) = &mut self.context {
            context.clear_kv_cache();
        }
        self.held.clear();
        self.solid = 0;
    }

    /// Continues with fewer threads if the present ones had to wait for processors. Each thread waits for the others after
    /// every operation, without ever sleeping, so one that is not running holds up all. The cache contents move along.
    fn be_fewer(&mut self) -> Result<(), EngineFault> {
        let Some(threads) = self.pace.fewer() else {
            return Ok(());
        };
        // Loading a model may hold the lock for minutes. This answer continues and tries again a second later.
        let _lock = match INIT_LOCK.try_lock() {
            Ok(making) => making,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        self.go_on_with(threads)
    }

    /// A new context of so many threads, with what the cache holds; where that cannot be had, one of as many as before, which
    /// it then stays with. The old one ends first: for both at once there may be no memory.
    fn go_on_with(&mut self, fewer: u32) -> Result<(), EngineFault> {
        let Some(context) = &self.context else {
            return Ok(());
        };
        let before = self.pace.threads();
        let held = if self.held.is_empty() {
            None
        } else {
            match context.state_seq_get(SEQUENCE, LlamaStateSeqFlags::empty()) {
                Ok(state) => Some(state),
                Err(fault) => {
                    self.stay(&fault.to_string());
                    return Ok(());
                }
            }
        };
        self.context = None;
        let (make, model, window) = (self.make, self.model, self.window);
        let anew = |threads| -> Result<LlamaContext<'m>, String> {
            let mut context = make(model, window, threads)?;
            if let Some(state) = &held {
                let taken = context.state_seq_set(state, SEQUENCE);
                taken.map_err(|fault| fault.to_string())?;
            }
            Ok(context)
        };
        match anew(fewer) {
            Ok(context) => {
                self.context = Some(context);
                self.pace = Pace::new(fewer);
                tracing::info!(
                    threads = before,
                    fewer,
                    "the processors are busy: the embedded model continues with fewer threads"
                );
            }
            Err(fault) => {
                self.stay(&fault);
                match anew(before) {
                    Ok(context) => self.context = Some(context),
                    Err(fault) => {
                        self.forget();
                        return Err(EngineFault::Failed(format!(
                            "the cache could not be moved to {fewer} threads, nor back to {before}: {fault}"
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    fn stay(&mut self, fault: &str) {
        self.pace.settle();
        tracing::warn!(
            threads = self.pace.threads(),
            fault,
            "the processors are busy, but the embedded model stays with its threads"
        );
    }
}

fn context(model: &LlamaModel, window: u32, threads: u32) -> Result<LlamaContext<'_>, String> {
    let llama = begin(LogOutput::Silent)?;
    let threads = i32::try_from(threads).unwrap_or(i32::MAX);
    let batch = u32::try_from(BATCH).unwrap_or(u32::MAX);
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(window))
        .with_n_batch(batch)
        .with_n_ubatch(batch)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_flash_attention_policy(PLAIN_ATTENTION);
    let context = model.new_context(llama, params);
    context.map_err(|fault| format!("llama.cpp makes no context: {fault}"))
}

const fn whole_tiles(tokens: usize) -> usize {
    tokens / TILE * TILE
}

/// Returns how many of the remaining tokens to decode at once; `most` is a number of whole tiles. All pieces except the last
/// are whole tiles. The last piece is never one token alone, because llama.cpp multiplies one column in another order than
/// several.
const fn piece(left: usize, most: usize) -> usize {
    if left <= most {
        left
    } else if left == most + 1 {
        if most > TILE { most - TILE } else { left }
    } else {
        most
    }
}

/// The reason why an answer failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EngineFault {
    /// The caller is gone.
    Cancelled,
    /// The prompt does not fit.
    Overflow(String),
    /// The engine or the gate failed.
    Failed(String),
}
