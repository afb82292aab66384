//! The process that tries a model file within limits. Does not keep the result.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::cache::EngineFault;
use super::engine::{Engine, Listener};
use super::llama::{LogOutput, begin, load};
use super::options::LocalOptions;
use super::template::{available_memory, bind};
use super::trial::{TrialReply, seconds};
use crate::inference::ModelFile;
use monolith_core::adapter::{GatePhase, LocalRequest, LocalSampling, Segment};

/// Memory that a trial may take in addition to twice the file, if the system does not say what it has.
const USUAL_MEMORY: u64 = 8 << 30;

/// `monolith __try-model FILE TOKENS`: loads a model and uses it, then says that it could.
///
/// # Errors
/// The system could not write.
pub fn trial_process(path: &Path, context_window: u32, output: &mut dyn Write) -> io::Result<()> {
    let tried = tried(path, context_window);
    let reply = tried.map_or_else(TrialReply::Fault, |()| TrialReply::Passed);
    output.write_all(&serde_json::to_vec(&reply)?)?;
    output.flush()
}

fn tried(path: &Path, context_window: u32) -> Result<(), String> {
    let file = ModelFile::open(path).map_err(|fault| fault.to_string())?;
    let memory = available_memory().unwrap_or(USUAL_MEMORY);
    // The file is mapped, and the weights that llama.cpp rearranges take more memory.
    let most = file.size().saturating_mul(2).saturating_add(memory);
    bind(most, seconds(file.size()))?;
    begin(LogOutput::Shown)?;
    let model = load(path, Arc::default())?;
    let options = LocalOptions {
        context_window,
        file,
        logits_mask: None,
        reuse: true,
        template: None,
        threads: 1,
        trial: None,
    };
    let mut engine = Engine::new(&model, &options, Arc::default())?;
    match engine.infer(&first_words(), &mut NoListener) {
        Ok(_) | Err(EngineFault::Cancelled | EngineFault::Overflow(_)) => Ok(()),
        Err(EngineFault::Failed(reason)) => Err(reason),
    }
}

/// A prompt of some tokens, and an answer of two: many at once and one alone.
fn first_words() -> LocalRequest {
    LocalRequest {
        chat: None,
        closing_tokens: 0,
        gate: GatePhase::Open,
        grammar: None,
        max_tokens: 2,
        sampling: LocalSampling {
            repeat_penalty: None,
            seed: 0,
            temperature: Some(0.0),
            top_p: None,
        },
        segments: vec![Segment::Text("Is anybody there? Naïve 123 {}\n".to_owned())],
    }
}

/// Discards the text and never stops the generation.
struct NoListener;

impl Listener for NoListener {
    fn waits(&self) -> bool {
        true
    }

    fn text(&mut self, _: &str) {}
}
