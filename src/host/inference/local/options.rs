//! The settings of an embedded model. Plain data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::template::TemplateRenderer;
use super::trial::ModelTrial;
use crate::inference::ModelFile;

/// The settings for running an embedded model. Only the window and the mask change what the model writes.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Tokens of the context.
    pub context_window: u32,
    /// Added to the logits, one for each token of the vocabulary.
    pub logits_mask: Option<Arc<[f64]>>,
    /// The model's file.
    pub file: ModelFile,
    /// True if the common part of prompts stays in memory between requests.
    pub reuse: bool,
    /// The template that lays out prompts, where the requests leave that to the model's file.
    pub template: Option<TemplateRenderer>,
    /// Threads that compute.
    pub threads: u32,
    /// The trial of the file before this process loads it; none to skip it.
    pub trial: Option<ModelTrial>,
}

/// The cost of an embedded model so far.
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

    /// Returns the number of masks made, and their total time.
    #[must_use]
    pub fn masks(&self) -> (u64, Duration) {
        let nanoseconds = self.nanoseconds.load(Ordering::Relaxed);
        let masks = self.masks.load(Ordering::Relaxed);
        (masks, Duration::from_nanos(nanoseconds))
    }

    /// Returns the number of prompt tokens evaluated, without those still in memory.
    #[must_use]
    pub fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }
}
