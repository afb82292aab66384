//! Status and headers of a response. Plain data.

/// What comes before the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Names in lower case and values; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The HTTP status.
    pub status: u16,
}
