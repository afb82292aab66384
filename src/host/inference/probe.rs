//! The result of a probe. Plain data.

/// What a probe found; never an inference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// What was seen, for people; holds no key, and of the address neither user nor query.
    pub detail: String,
    /// The headers of the answer, names in lower case; empty if there is no HTTP.
    pub headers: Vec<(String, String)>,
    /// The body of a llama-server's `/props`, where it gave one.
    pub properties: Vec<u8>,
    /// Whether anything answered; any HTTP answer counts.
    pub responsive: bool,
}
