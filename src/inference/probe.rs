//! The result of a probe. Plain data.

/// What a probe found; never an inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was seen, for people; holds no key, and of the address neither user nor query.
    pub detail: String,
    /// Whether anything answered; any HTTP answer counts.
    pub responsive: bool,
}
