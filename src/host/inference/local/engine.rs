//! One loaded model: prompt, generation, mask. Does not know threads or queues.

use std::sync::Arc;
use std::time::Instant;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::cache::{BATCH, Cache, EngineFault, SMALL_BATCH};
use super::draw::Draw;
use super::gate::{Gate, Gates};
use super::options::{EngineCost, LocalOptions};
use super::prompt::Prompts;
#[cfg(test)]
use monolith_core::adapter::Segment;
use monolith_core::adapter::{GatePhase, LocalRequest, LocalUsage};
use monolith_core::contract::CALL_OPEN;
use monolith_core::message::StopReason;

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) stop: StopReason,
    pub(super) usage: LocalUsage,
}

/// Receives the text, and decides if the answer continues.
pub(super) trait Listener {
    /// Returns true to continue.
    fn waits(&self) -> bool;
    /// The next piece of text.
    fn text(&mut self, text: &str);
}

/// A model that answers.
pub(super) struct Engine<'m> {
    cache: Cache<'m>,
    cost: Arc<EngineCost>,
    gates: Gates,
    mask: Option<Arc<[f64]>>,
    prompts: Prompts<'m>,
}

impl<'m> Engine<'m> {
    pub(super) fn new(
        model: &'m Arc<LlamaModel>,
        options: &LocalOptions,
        cost: Arc<EngineCost>,
    ) -> Result<Self, String> {
        let vocabulary = model.vocab().n_tokens();
        if let Some(mask) = &options.logits_mask
            && i32::try_from(mask.len()) != Ok(vocabulary)
        {
            let given = mask.len();
            return Err(format!(
                "logits_mask has {given} values, the model's vocabulary {vocabulary} tokens"
            ));
        }
        Ok(Self {
            cache: Cache::new(model, options)?,
            cost,
            gates: Gates::new(model)?,
            mask: options.logits_mask.clone(),
            prompts: Prompts::new(model, options.template.clone()),
        })
    }

    /// Checks that prompts can be laid out for this model; else returns the reason.
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
        let window = self.cache.window();
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
        let mut generation = Generation {
            draw: Draw::new(&request.sampling, &ids),
            limit,
            listener,
            output: 0,
            recent: ids,
            undecoded: Vec::new(),
        };
        let common = self.cache.keep_common(&prompt);
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
                    if generation.output >= limit {
                        whole = false;
                        break;
                    }
                    self.write(token, &mut generation);
                    next.push(LlamaToken(token));
                }
                if !whole {
                    break StopReason::Length;
                }
                if gate.is_over() {
                    break StopReason::End;
                }
            }
            generation.flush(false);
            if generation.output >= limit {
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
            self.cache
                .decode(&next, BATCH, &|| generation.listener.waits())?;
            let token = self.draw(&mut gate, &mut generation, request)?;
            if self.gates.ends(token) {
                break StopReason::End;
            }
            if let Some(gate) = &mut gate {
                gate.take(token).map_err(EngineFault::Failed)?;
            }
            self.write(token, &mut generation);
            next = vec![LlamaToken(token)];
        };
        generation.flush(true);
        Ok(Ended {
            stop,
            usage: LocalUsage {
                input: length,
                output: generation.output,
            },
        })
    }

    fn write(&self, token: i32, generation: &mut Generation<'_>) {
        generation.output += 1;
        generation.recent.push(token);
        generation
            .undecoded
            .extend_from_slice(self.gates.bytes(token));
    }

    fn draw(
        &self,
        gate: &mut Option<Gate>,
        generation: &mut Generation<'_>,
        request: &LocalRequest,
    ) -> Result<i32, EngineFault> {
        let nothing = || EngineFault::Failed("no token can be drawn".to_owned());
        let biased: Vec<f32>;
        let mut logits = self.cache.logits();
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
            return generation
                .draw
                .token(logits, spoken, &generation.recent)
                .ok_or_else(nothing);
        };
        let started = Instant::now();
        let mask = gate.mask().map_err(EngineFault::Failed)?;
        self.cost.mask(started.elapsed());
        let left = generation.limit - generation.output;
        if request.gate == GatePhase::Closed && left <= request.closing_tokens {
            return self.gates.soonest_end(&mask).ok_or_else(nothing);
        }
        let allowed = mask.iter().map(u32::cast_signed);
        generation
            .draw
            .token(logits, allowed, &generation.recent)
            .ok_or_else(nothing)
    }

    /// Reads what was just written once more, as the next prompt will have it, for as long as nothing else is to be done: then
    /// that prompt waits for what is new in it alone. An answer was decoded token by token, and in other tokens than its text
    /// has when it is read, so nothing of it could be kept. Only an answer with a call is followed by another prompt.
    pub(super) fn look_ahead(
        &mut self,
        request: &LocalRequest,
        generated: &str,
        idle: &dyn Fn() -> bool,
    ) {
        if !self.cache.keeps() || !generated.contains(CALL_OPEN) {
            return;
        }
        let Ok(tokens) = self.prompts.of(request, Some(generated)) else {
            return;
        };
        if tokens.len() as u64 >= self.cache.window() {
            return;
        }
        let common = self.cache.keep_common(&tokens);
        // On success or failure, the cache holds what `held` says.
        let _ = self
            .cache
            .decode(tokens.get(common..).unwrap_or_default(), SMALL_BATCH, idle);
    }
}

/// One answer while it is generated.
struct Generation<'a> {
    draw: Draw,
    limit: u64,
    listener: &'a mut dyn Listener,
    output: u64,
    /// Prompt and answer.
    recent: Vec<i32>,
    /// Bytes that are not handed on yet.
    undecoded: Vec<u8>,
}

impl Generation<'_> {
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
