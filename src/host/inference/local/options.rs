//! How an embedded model is run. Plain data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::template::TemplateRenderer;
use super::trial::ModelTrial;
use crate::inference::ModelFile;

/// How an embedded model is run. None of it changes what the model writes, but the window and the mask.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Tokens of the context.
    pub context_window: u32,
    /// Added to the logits, one for each token of the vocabulary.
    pub logits_mask: Option<Arc<[f64]>>,
    /// The model's file.
    pub file: ModelFile,
    /// Whether what prompts have in common stays in memory between requests.
    pub reuse: bool,
    /// The template that lays out prompts, where the requests leave that to the model's file.
    pub template: Option<TemplateRenderer>,
    /// Threads that compute.
    pub threads: u32,
    /// Where the file is tried before this process loads it; without one it is not.
    pub trial: Option<ModelTrial>,
}

/// What an embedded model has cost so far.
#[derive(Debug, Default)]
pub struct EngineCost {
    evaluated: AtomicU64,
    masks: AtomicU64,
    nanoseconds: AtomicU64,
}

impl EngineCost {
    /// Notes one mask of the gate.
    pub(super) fn mask(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.masks.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Notes how many tokens of a prompt were not known.
    pub(super) fn prompt(&self, tokens: usize) {
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        self.evaluated.fetch_add(tokens, Ordering::Relaxed);
    }

    /// How many masks were made, and how long that took together.
    #[must_use]
    pub fn masks(&self) -> (u64, Duration) {
        let nanoseconds = self.nanoseconds.load(Ordering::Relaxed);
        let masks = self.masks.load(Ordering::Relaxed);
        (masks, Duration::from_nanos(nanoseconds))
    }

    /// How many tokens of prompts were evaluated, those left out that were still in memory.
    #[must_use]
    pub fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }
}
