/// The binding and through it the llama.cpp it was made from; pinned in Cargo.toml.
const BACKEND: &str = "llama-cpp-2 0.1.160";
/// How prompts are laid out where the model's own template does not; the template is part of the model's file.
const PROMPT: &str = "prompt chatml/1";
/// What runs a model's own template; pinned in Cargo.toml.
const TEMPLATES: &str = "minijinja 3.0.5";
/// What compiles grammars and makes masks; pinned in Cargo.toml.
const GATE: &str = "llguidance 1.9.1";

/// Everything but the model's file that the text of an embedded model depends on: backend, processor features that it is
/// built for, attention, the cache's type, prompt layout and the gate's engine.
#[must_use]
pub(crate) fn engine_identity() -> String {
    let processor = std::env::consts::ARCH;
    let features = REQUIRED.map(|(name, _)| name).join("+");
    format!(
        "{BACKEND}; {processor} {features}; attention plain; cache f16; {PROMPT}, {TEMPLATES}; {GATE}"
    )
}

/// Why this processor cannot run the backend; None where it can.
pub(super) fn processor_fault() -> Option<String> {
    let missing: Vec<&str> = REQUIRED
        .iter()
        .filter(|(_, there)| !there())
        .map(|(name, _)| *name)
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "this processor lacks {}, which the embedded engine is built for",
            missing.join(", ")
        )
    })
}

type Feature = (&'static str, fn() -> bool);

/// What ggml's default build uses without asking.
#[cfg(target_arch = "x86_64")]
const REQUIRED: [Feature; 5] = [
    ("avx", || std::arch::is_x86_feature_detected!("avx")),
    ("avx2", || std::arch::is_x86_feature_detected!("avx2")),
    ("bmi2", || std::arch::is_x86_feature_detected!("bmi2")),
    ("f16c", || std::arch::is_x86_feature_detected!("f16c")),
    ("fma", || std::arch::is_x86_feature_detected!("fma")),
];
#[cfg(not(target_arch = "x86_64"))]
const REQUIRED: [Feature; 0] = [];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_names_what_is_locked() {
        let lock = include_str!("../../../Cargo.lock");
        for named in [BACKEND, GATE, TEMPLATES] {
            let (name, version) = named.split_once(' ').unwrap();
            let locked = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(lock.contains(&locked), "{named} is not what Cargo.lock has");
        }
    }
}
