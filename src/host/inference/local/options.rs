//! How an embedded model is run. Plain data.

use std::sync::Arc;

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
