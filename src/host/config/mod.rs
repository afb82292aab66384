//! Configuration in layers: what a contract may name without defining it, and which file says so (000 §7).
//!
//! Knows where the layers are, their files of variables, how they are laid over each other, and how their keys are called in a
//! contract file. Of a definition it knows where each value is from, and which variables it sees. It gives only what was
//! requested, and that becomes part of the contract. It does not know what a provider or a tool server is.
//!
//! ```text
//! .ai-agent.json + .ai-agent.env, layer by layer ─▶ merged (each value with its layer) ─▶ Definition ─▶ the contract's file
//! ```

mod builder;
mod definition;
mod fault;
mod layer;
mod layer_files;
mod layers;
mod merged;
mod provider;
mod sections;
mod shown;
#[cfg(test)]
mod tests;
mod trust_hash;

pub use fault::ConfigFault;
pub use layer_files::LayerFiles;
pub use layers::{HERE, Layers, Locations, SHARED};
pub use shown::ShownValue;
pub use trust_hash::{TrustHash, place};
