use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;

use super::backend::{EngineCost, LocalOptions};
use super::draw::Draw;
use super::gate::{Gate, Gates};
use super::prompt::Prompts;
#[cfg(test)]
use crate::adapter::Segment;
use crate::adapter::{GatePhase, LocalRequest, LocalUsage};
use crate::contract::CALL_OPEN;
use crate::message::StopReason;

/// Tokens that are decoded at once: between two batches a run can be cancelled.
const BATCH: usize = 128;
/// The same where nobody waits for the answer, but somebody may soon wait for another.
const SMALL_BATCH: usize = 16;
/// The policy that turns flash attention off.
const PLAIN_ATTENTION: i32 = 0;
/// The only sequence of a context.
const SEQUENCE: i32 = 0;

/// llama.cpp, begun once in a process.
static LLAMA: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
/// Models and contexts are made one after another: making them at once is unsound.
static MAKING: Mutex<()> = Mutex::new(());

/// What llama.cpp says of itself on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chatter {
    /// Nothing.
    Silent,
    /// Everything: for a process whose words somebody reads.
    Told,
}

/// Why an answer did not come about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EngineFault {
    /// Nobody waits for it any more.
    Cancelled,
    /// The prompt does not fit.
    Overflow(String),
    /// The engine or the gate failed.
    Failed(String),
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) stop: StopReason,
    pub(super) usage: LocalUsage,
}

/// Who takes the text, and says whether it is still wanted.
pub(super) trait Listener {
    /// Whether to go on.
    fn waits(&self) -> bool;
    /// The next piece of text.
    fn text(&mut self, text: &str);
}

/// Begins llama.cpp, where that has not happened; who comes first says what is heard of it.
pub(super) fn begin(chatter: Chatter) -> Result<&'static LlamaBackend, String> {
    let begun = LLAMA.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|fault| fault.to_string())?;
        if chatter == Chatter::Silent {
            backend.void_logs();
        }
        Ok(backend)
    });
    begun.as_ref().map_err(Clone::clone)
}

/// Loads a model; ends without one once `stop` is set.
pub(super) fn load(path: &Path, stop: Arc<AtomicBool>) -> Result<Arc<LlamaModel>, String> {
    let llama = begin(Chatter::Silent)?;
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let params =
        LlamaModelParams::default().with_progress_callback(move |_| !stop.load(Ordering::Relaxed));
    let model = LlamaModel::load_from_file(llama, path, &params);
    model
        .map(Arc::new)
        .map_err(|fault| format!("llama.cpp does not load it: {fault}"))
}

/// Loads the vocabulary of a model, and nothing of its weights.
pub(super) fn load_vocabulary(path: &Path) -> Result<Arc<LlamaModel>, String> {
    let llama = begin(Chatter::Silent)?;
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let params = LlamaModelParams::default().with_vocab_only(true);
    let model = LlamaModel::load_from_file(llama, path, &params);
    model
        .map(Arc::new)
        .map_err(|fault| format!("llama.cpp does not load its vocabulary: {fault}"))
}

/// A model with a context, and what the context holds.
pub(super) struct Engine<'m> {
    context: LlamaContext<'m>,
    cost: Arc<EngineCost>,
    gates: Gates,
    /// The tokens whose keys and values are in the cache, in their order.
    held: Vec<LlamaToken>,
    mask: Option<Arc<[f64]>>,
    prompts: Prompts<'m>,
    reuse: bool,
    /// How many of `held`, from the first, were decoded beside others.
    solid: usize,
}

impl<'m> Engine<'m> {
    pub(super) fn new(
        model: &'m Arc<LlamaModel>,
        options: &LocalOptions,
        cost: Arc<EngineCost>,
    ) -> Result<Self, String> {
        let llama = begin(Chatter::Silent)?;
        let vocabulary = model.vocab().n_tokens();
        if let Some(mask) = &options.logits_mask
            && i32::try_from(mask.len()) != Ok(vocabulary)
        {
            let given = mask.len();
            return Err(format!(
                "logits_mask has {given} values, the model's vocabulary {vocabulary} tokens"
            ));
        }
        let threads = i32::try_from(options.threads.max(1)).unwrap_or(1);
        let batch = u32::try_from(BATCH).unwrap_or(u32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(options.context_window))
            .with_n_batch(batch)
            .with_n_ubatch(batch)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_flash_attention_policy(PLAIN_ATTENTION);
        let context = {
            let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
            model.new_context(llama, params)
        };
        Ok(Self {
            cost,
            context: context.map_err(|fault| format!("llama.cpp makes no context: {fault}"))?,
            gates: Gates::new(model)?,
            held: Vec::new(),
            mask: options.logits_mask.clone(),
            prompts: Prompts::new(model, options.template.clone()),
            reuse: options.reuse,
            solid: 0,
        })
    }

    /// Whether prompts can be laid out for this model, else why not.
    pub(super) fn can_be_asked(&self) -> Result<(), String> {
        self.prompts.can_be_laid_out()
    }

    /// The tokens of segments.
    #[cfg(test)]
    pub(super) fn tokens(&self, segments: &[Segment]) -> Result<Vec<LlamaToken>, String> {
        self.prompts.tokens(segments)
    }

    /// One answer.
    pub(super) fn infer(
        &mut self,
        request: &LocalRequest,
        listener: &mut dyn Listener,
    ) -> Result<Ended, EngineFault> {
        let prompt = self
            .prompts
            .of(request, None)
            .map_err(EngineFault::Failed)?;
        let window = u64::from(self.context.n_ctx());
        let length = prompt.len() as u64;
        if length + 1 >= window {
            return Err(EngineFault::Overflow(format!(
                "the prompt has {length} tokens, the context {window}"
            )));
        }
        let limit = request.max_tokens.min(window - length - 1);
        let mut gate = match (&request.grammar, request.gate) {
            (Some(grammar), _) => Some(self.gates.open(grammar).map_err(EngineFault::Failed)?),
            (None, GatePhase::Open) => None,
            (None, GatePhase::Closed | GatePhase::Prose) => {
                let fault = "a phase that needs a grammar has none";
                return Err(EngineFault::Failed(fault.to_owned()));
            }
        };
        let ids: Vec<i32> = prompt.iter().map(|token| token.0).collect();
        let mut answer = Answer {
            draw: Draw::new(&request.sampling, &ids),
            limit,
            listener,
            output: 0,
            recent: ids,
            undecoded: Vec::new(),
        };
        let common = self.keep_common(&prompt);
        let mut next: Vec<LlamaToken> = prompt.get(common..).unwrap_or_default().to_vec();
        self.cost.prompt(next.len());
        let stop = loop {
            if let Some(gate) = &mut gate {
                let forced = gate.forced().map_err(EngineFault::Failed)?;
                let mut whole = true;
                for token in forced {
                    if self.gates.ends(token) {
                        break;
                    }
                    if answer.output >= limit {
                        whole = false;
                        break;
                    }
                    self.write(token, &mut answer);
                    next.push(LlamaToken(token));
                }
                if !whole {
                    break StopReason::Length;
                }
                if gate.is_over() {
                    break StopReason::End;
                }
            }
            answer.flush(false);
            if answer.output >= limit {
                break match &mut gate {
                    // Whole calls are no cut answer.
                    Some(gate) if request.gate == GatePhase::Closed => {
                        let whole = gate.may_end().map_err(EngineFault::Failed)?;
                        if whole {
                            StopReason::End
                        } else {
                            StopReason::Length
                        }
                    }
                    _ => StopReason::Length,
                };
            }
            self.decode(&next, BATCH, &|| answer.listener.waits())?;
            let token = self.draw(&mut gate, &mut answer, request)?;
            if self.gates.ends(token) {
                break StopReason::End;
            }
            if let Some(gate) = &mut gate {
                gate.take(token).map_err(EngineFault::Failed)?;
            }
            self.write(token, &mut answer);
            next = vec![LlamaToken(token)];
        };
        answer.flush(true);
        Ok(Ended {
            stop,
            usage: LocalUsage {
                input: length,
                output: answer.output,
            },
        })
    }

    fn write(&self, token: i32, answer: &mut Answer<'_>) {
        answer.output += 1;
        answer.recent.push(token);
        answer.undecoded.extend_from_slice(self.gates.bytes(token));
    }

    fn draw(
        &self,
        gate: &mut Option<Gate>,
        answer: &mut Answer<'_>,
        request: &LocalRequest,
    ) -> Result<i32, EngineFault> {
        let nothing = || EngineFault::Failed("no token can be drawn".to_owned());
        let biased: Vec<f32>;
        let mut logits = self.context.get_logits();
        if let Some(mask) = &self.mask {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "logits are single precision"
            )]
            let add = |(logit, bias): (&f32, &f64)| (f64::from(*logit) + bias) as f32;
            biased = logits.iter().zip(mask.iter()).map(add).collect();
            logits = &biased;
        }
        let Some(gate) = gate else {
            let spoken = self.gates.spoken().iter().copied();
            return answer
                .draw
                .token(logits, spoken, &answer.recent)
                .ok_or_else(nothing);
        };
        let asked = Instant::now();
        let mask = gate.mask().map_err(EngineFault::Failed)?;
        self.cost.mask(asked.elapsed());
        let left = answer.limit - answer.output;
        if request.gate == GatePhase::Closed && left <= request.closing_tokens {
            return self.gates.soonest_end(&mask).ok_or_else(nothing);
        }
        let allowed = mask.iter().map(u32::cast_signed);
        answer
            .draw
            .token(logits, allowed, &answer.recent)
            .ok_or_else(nothing)
    }

    /// Drops from the cache what the prompt does not begin with; how many of the prompt's tokens stay.
    ///
    /// The last one never does: decoding it again gives the logits that the cache does not hold. Tokens that were decoded one
    /// by one do not stay either: llama.cpp multiplies single columns in another order than several, so their values differ
    /// in the last bits from those of a run that keeps nothing.
    fn keep_common(&mut self, prompt: &[LlamaToken]) -> usize {
        let same = self.held.iter().zip(prompt).take_while(|(a, b)| a == b);
        let mut common = if self.reuse {
            same.count()
                .min(self.solid)
                .min(prompt.len().saturating_sub(2))
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

    /// Reads what was just written once more, as the next prompt will have it, for as long as nothing else is to be done: then
    /// that prompt waits for what is new in it alone. An answer was decoded token by token, and in other tokens than its text
    /// has when it is read, so nothing of it could be kept. Only an answer with a call is followed by another prompt.
    pub(super) fn look_ahead(
        &mut self,
        request: &LocalRequest,
        said: &str,
        idle: &dyn Fn() -> bool,
    ) {
        if !self.reuse || !said.contains(CALL_OPEN) {
            return;
        }
        let Ok(tokens) = self.prompts.of(request, Some(said)) else {
            return;
        };
        if tokens.len() as u64 >= u64::from(self.context.n_ctx()) {
            return;
        }
        let common = self.keep_common(&tokens);
        // Whatever comes of it, the cache holds what `held` says.
        let _ = self.decode(tokens.get(common..).unwrap_or_default(), SMALL_BATCH, idle);
    }

    /// Decodes tokens behind those that are held, at most so many at once; the logits are then those of the last one.
    fn decode(
        &mut self,
        mut tokens: &[LlamaToken],
        most: usize,
        waits: &dyn Fn() -> bool,
    ) -> Result<(), EngineFault> {
        let mut batch = LlamaBatch::new(most, 1);
        while !tokens.is_empty() {
            if !waits() {
                return Err(EngineFault::Cancelled);
            }
            // None is left to be decoded alone.
            let alone = tokens.len() == most + 1;
            let (piece, rest) = tokens.split_at(tokens.len().min(most - usize::from(alone)));
            tokens = rest;
            batch.clear();
            for (at, token) in piece.iter().enumerate() {
                let position = i32::try_from(self.held.len() + at).unwrap_or(i32::MAX);
                let wanted = rest.is_empty() && at + 1 == piece.len();
                batch
                    .add(*token, position, &[SEQUENCE], wanted)
                    .map_err(|fault| EngineFault::Failed(fault.to_string()))?;
            }
            if let Err(fault) = self.context.decode(&mut batch) {
                // What the cache holds now is unknown.
                self.context.clear_kv_cache();
                self.held.clear();
                self.solid = 0;
                return Err(EngineFault::Failed(format!("llama.cpp failed: {fault}")));
            }
            if piece.len() > 1 && self.solid == self.held.len() {
                self.solid += piece.len();
            }
            self.held.extend_from_slice(piece);
        }
        Ok(())
    }
}

/// What is written of one answer.
struct Answer<'a> {
    draw: Draw,
    limit: u64,
    listener: &'a mut dyn Listener,
    output: u64,
    /// Prompt and answer.
    recent: Vec<i32>,
    /// Bytes that are not handed on yet.
    undecoded: Vec<u8>,
}

impl Answer<'_> {
    /// Hands on whole characters; at the end also what is none, as the sign for it.
    fn flush(&mut self, all: bool) {
        let whole = match std::str::from_utf8(&self.undecoded) {
            Ok(text) => text.len(),
            Err(_) if all => self.undecoded.len(),
            // An error without a length is a character that is not whole yet.
            Err(fault) => match fault.error_len() {
                None => fault.valid_up_to(),
                Some(length) => fault.valid_up_to() + length,
            },
        };
        if whole > 0 {
            let bytes: Vec<u8> = self.undecoded.drain(..whole).collect();
            self.listener.text(&String::from_utf8_lossy(&bytes));
        }
    }
}
