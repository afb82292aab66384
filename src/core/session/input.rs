//! The inputs of a host to a session, with their time. Plain data.

use serde::{Deserialize, Serialize};

use super::base64;
use crate::adapter::ResponseMeta;
use crate::kernel::{
    Approval, BringUpFault, ChildEnd, EventKind, LostEffect, Probed, ProviderAddress, RunStarted,
};
use crate::message::{
    CallSeq, Digest, InferenceSeq, InputExchange, ProviderFault, ServerConfinement, ToolOutcome,
    ToolServerStatement,
};

/// An input of a [`Session`](super::Session). A host hands it in with the moment at which it became known.
///
/// As JSON, for a host in another process:
///
/// ```
/// use monolith_core::session::{Control, Input};
///
/// let input: Input = serde_json::from_str(r#"{"kind": "control", "value": {"kind": "stop"}}"#)?;
/// assert_eq!(input, Input::Control(Control::Stop));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Input {
    /// Begins the run. Comes first, once.
    Start(Box<RunStarted>),
    /// Results of probing the targets, in the contract's order.
    Probed(Probed),
    /// The head of a response arrived. Its bytes follow in pieces.
    ResponseBegan {
        /// The request that it answers.
        inference: InferenceSeq,
        /// Status and headers.
        meta: ResponseMeta,
    },
    /// The next bytes of a response whose head arrived.
    ResponseBytes {
        /// The request that it answers.
        inference: InferenceSeq,
        /// The bytes, as received.
        #[serde(with = "base64")]
        bytes: Vec<u8>,
    },
    /// A response arrived to its end.
    ResponseEnded {
        /// The request that it answers.
        inference: InferenceSeq,
    },
    /// A whole response at once.
    Response {
        /// The request that it answers.
        inference: InferenceSeq,
        /// Status and headers.
        meta: ResponseMeta,
        /// The body, as received.
        #[serde(with = "base64")]
        bytes: Vec<u8>,
    },
    /// A request brought no complete response, for a reason of the transport. What had arrived is kept.
    Fault {
        /// The request.
        inference: InferenceSeq,
        /// Cause. The session makes its `raw_hash`.
        fault: ProviderFault,
    },
    /// A started call ended. The envelope's text is cut to the contract's budget and scrubbed, the blobs that it names are kept by the
    /// host and become durable no later than the next entries; the session counts its tokens.
    ToolResult {
        /// The call.
        call: CallSeq,
        /// Its server's requests for input meanwhile, and the answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exchanges: Vec<InputExchange>,
        /// Its outcome.
        outcome: ToolOutcome,
    },
    /// The run of an agent's call has ended, or none was begun. The envelope is ok exactly where it completed; as for `ToolResult` its text is
    /// cut and scrubbed. A run that was suspended has not ended: nothing is handed in, and [`Output::Delegate`](super::Output::Delegate) comes
    /// again once this run is resumed.
    ChildEnded {
        /// The call.
        call: CallSeq,
        /// End of its run; `None` if no run was started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<Box<ChildEnd>>,
        /// The result for the model.
        outcome: ToolOutcome,
    },
    /// The bytes of the blob that [`Output::Summarise`](super::Output::Summarise) or [`Output::Sample`](super::Output::Sample) names.
    Blob {
        /// Its name.
        hash: Digest,
        /// The bytes.
        #[serde(with = "base64")]
        bytes: Vec<u8>,
    },
    /// The moment of the last [`Output::Arm`](super::Output::Arm) has come.
    Timer,
    /// A control from outside the run.
    Control(Control),
    /// Another process drives the run from now on. What the last one had begun is lost; the session knows what that was.
    Resumed {
        /// Addresses of the providers for which the contract names a variable.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<ProviderAddress>,
        /// Differences between each tool server's offer and the contract, for people; sorted by server.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bring_up: Vec<BringUpFault>,
        /// The confinement of each program that this process starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        confinement: Vec<ServerConfinement>,
        /// Self-descriptions of the tool servers that came up again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_servers: Vec<ToolServerStatement>,
        /// Exposed names of tools whose pin no longer holds.
        tools_changed: Vec<String>,
        /// Wall-clock time, in milliseconds since 1970-01-01 UTC; 0 if the time that passed is not known.
        #[serde(default)]
        unix_ms: u64,
    },
    /// A task of the host itself failed: its effect has no result and gets none.
    Lost(LostEffect),
    /// A recorded event. It is taken unchanged.
    Recorded(Box<EventKind>),
    /// All entries up to this number are durable.
    Durable(u64),
}

/// A control from outside the run: what it asks for.
///
/// ```
/// use monolith_core::session::{Control, Input};
///
/// let stop = serde_json::to_string(&Input::Control(Control::Abort))?;
/// assert_eq!(stop, r#"{"kind":"control","value":{"kind":"abort"}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Control {
    /// Come to an end; a second one is an abort.
    Stop,
    /// End now.
    Abort,
    /// The process is about to leave the run, which another one resumes: nothing is begun any more. What ends meanwhile is still taken;
    /// once the host leaves, what is in flight is lost.
    Suspend,
    /// End now: the run that delegated ends.
    Parent,
    /// A person allows the call that waits for it, or enters what its server asks for.
    Approve(Approval),
    /// A person refuses it.
    Deny(Approval),
}
