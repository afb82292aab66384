//! Processor features that the embedded engine needs. Does not load the engine.

/// Processor features that the embedded engine uses without asking and that this processor lacks; the whole list is
/// [`engine_features`].
#[must_use]
pub fn lacking_features() -> Vec<&'static str> {
    let lacking = FEATURES.iter().filter(|(_, there)| !there());
    lacking.map(|(name, _)| *name).collect()
}

/// The processor features that the embedded engine is built for here.
#[must_use]
pub fn engine_features() -> Vec<&'static str> {
    FEATURES.iter().map(|(name, _)| *name).collect()
}

type Feature = (&'static str, fn() -> bool);

#[cfg(target_arch = "x86_64")]
const FEATURES: [Feature; 5] = [
    ("avx", || std::arch::is_x86_feature_detected!("avx")),
    ("avx2", || std::arch::is_x86_feature_detected!("avx2")),
    ("bmi2", || std::arch::is_x86_feature_detected!("bmi2")),
    ("f16c", || std::arch::is_x86_feature_detected!("f16c")),
    ("fma", || std::arch::is_x86_feature_detected!("fma")),
];
#[cfg(not(target_arch = "x86_64"))]
const FEATURES: [Feature; 0] = [];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_among_what_is_needed() {
        let needed = engine_features();
        assert!(lacking_features().iter().all(|name| needed.contains(name)));
        #[cfg(feature = "local")]
        assert!(crate::inference::engine_identity().contains(&needed.join("+")));
    }
}
