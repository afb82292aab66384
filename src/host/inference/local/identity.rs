//! The identity of the embedded engine. Constants of the build.

use super::llama::TILE;
use crate::inference::{engine_features, lacking_features};

/// The binding and through it the llama.cpp it was made from; pinned in Cargo.toml.
const BACKEND: &str = "llama-cpp-2 0.1.160";
/// How prompts are laid out where the model's own template does not; the template is part of the model's file.
const PROMPT: &str = "prompt chatml/1";
/// What runs a model's own template; pinned in Cargo.toml.
const TEMPLATES: &str = "minijinja 3.0.5";
/// What compiles grammars and makes masks; pinned in Cargo.toml.
const GATE: &str = "llguidance 1.9.1";

/// Whether llama.cpp rearranges the weights of some quantisations when it loads them: a switch of its build, on unless the
/// build sets it otherwise.
const REPACK: &str = match option_env!("GGML_CPU_REPACK") {
    Some(declared) => declared,
    None => "ON",
};

/// Everything but the model's file that the text of an embedded model depends on: backend, processor features that it is
/// built for, attention, the cache's type, whether weights are rearranged when they are loaded, how many tokens of a prompt
/// are computed beside each other, prompt layout and the gate's engine.
#[must_use]
pub(crate) fn engine_identity() -> String {
    let processor = std::env::consts::ARCH;
    let features = engine_features().join("+");
    format!(
        "{BACKEND}; {processor} {features}; attention plain; cache f16; repack {REPACK}, tiles of {TILE}; {PROMPT}, {TEMPLATES}; {GATE}"
    )
}

/// Why this processor cannot run the backend; None if it can.
pub(super) fn processor_fault() -> Option<String> {
    let missing = lacking_features();
    (!missing.is_empty()).then(|| {
        format!(
            "this processor lacks {}, which the embedded engine is built for",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_names_what_is_locked() {
        let lock = include_str!("../../../../Cargo.lock");
        for named in [BACKEND, GATE, TEMPLATES] {
            let (name, version) = named.split_once(' ').unwrap();
            let locked = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(lock.contains(&locked), "{named} is not what Cargo.lock has");
        }
    }
}
