//! What is recorded of the last request of a run that ended for it. Knows no advice.

/// What is recorded of the last request, where that says more than the code of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum LastRequest {
    /// The answer had neither text nor a call.
    Blank,
    /// The server cut the answer at the limit of its length that the request states.
    CutAtLimit,
    /// The same at a limit of the server's own: the request states none.
    CutByServer,
    /// What came back breaks off, or is no document of the protocol.
    CutShort,
    /// The run wants a final report, and no answer held one.
    NoReport,
    /// The provider limits the rate of requests.
    RateLimited,
    /// No answer came in the time that the contract allows.
    Slow,
    /// The server refused it as larger than the model's context.
    TooLarge,
    /// The server, which wants a key, does not have the model.
    UnknownModel,
}
