//! The client's side of a connection: introduces us, counts changes of the tools, passes on progress, and answers requests of the
//! server as the contract grants them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::handler::client::progress::ProgressDispatcher;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ConstString, CreateMessageRequestMethod,
    CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationCapability, ElicitationCreateRequestMethod,
    ErrorCode, ErrorData, FormElicitationCapability, Implementation, ListRootsRequestMethod,
    ListRootsResult, ProgressNotificationParam, ProtocolVersion, RootsCapabilities,
    SamplingCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::elicitation::{OpenCalls, answered, elicited, question, roots};
use super::sampling::{self, sampled};
use super::stderr_tail::StderrTail;
use crate::tools::AwaitedInput;
use monolith_core::contract::{Elicitation, McpTerms};
use monolith_core::message::char_prefix;

/// The error of a request for an inference that was not made (MCP, sampling: "User rejected sampling request").
const SAMPLING_REFUSED: ErrorCode = ErrorCode(-1);

/// Maximum size of a progress report's message.
const MESSAGE_BYTES: usize = 200;

/// Number of changes of its tools that a server has reported.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<AtomicU64>);

impl Changes {
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The handler of one connection.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    /// The open calls, which may ask for input.
    pub(super) calls: OpenCalls,
    pub(super) changes: Changes,
    pub(super) reports: ProgressDispatcher,
    /// Removes secrets.
    pub(super) tail: Arc<StderrTail>,
    pub(super) terms: McpTerms,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = match self.terms.elicitation {
            Elicitation::Denied => None,
            Elicitation::Ask | Elicitation::Defaults => {
                let form = FormElicitationCapability::default();
                Some(ElicitationCapability::new().with_form(form))
            }
        };
        capabilities.sampling = self
            .terms
            .sampling
            .as_ref()
            .map(|_| SamplingCapability::default());
        capabilities.roots = (!self.terms.roots.is_empty()).then(RootsCapabilities::default);
        ClientConfig::new(
            capabilities,
            Implementation::new("monolith", env!("CARGO_PKG_VERSION")),
        )
        // The newest version that still has the `initialize` handshake we begin with.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.note();
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.reports.handle_notification(report).await;
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        if self.terms.roots.is_empty() {
            return Err(ErrorData::method_not_found::<ListRootsRequestMethod>());
        }
        decoded(json!({"roots": roots(&self.terms)}))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if self.terms.sampling.is_none() {
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        }
        // The answer is recorded with a call, so there must be one.
        let Some(call) = self.calls.first().filter(|call| !call.is_full()) else {
            let why = "a model may be asked during a call, and a hundred times there";
            return Err(ErrorData::invalid_request(why, None));
        };
        let params = serde_json::to_value(params).unwrap_or_default();
        let noted = (call.as_ref(), self.tail.scrubber());
        let asked = sampling::asked(&params, noted.1);
        let asked = asked.map_err(|why| ErrorData::invalid_params(why, None))?;
        let content = call.ask(AwaitedInput::Model(asked)).await;
        match sampled(&params, content.as_ref(), noted) {
            Some(result) => decoded(result),
            None => Err(ErrorData::new(
                SAMPLING_REFUSED,
                "no model was asked, or nothing came of it",
                None,
            )),
        }
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if self.terms.elicitation == Elicitation::Denied {
            return Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>());
        }
        // The answer is recorded with a call, so there must be one.
        let Some(call) = self.calls.first().filter(|call| !call.is_full()) else {
            let why = "input may be asked for during a call, and a hundred times there";
            return Err(ErrorData::invalid_request(why, None));
        };
        let params = serde_json::to_value(params).unwrap_or_default();
        let noted = (call.as_ref(), self.tail.scrubber());
        if self.terms.elicitation == Elicitation::Defaults {
            return decoded(elicited(&params, noted));
        }
        let content = match question(&params, noted.1) {
            Some(question) => call.ask(AwaitedInput::Person(question)).await,
            None => None,
        };
        decoded(answered(&params, content.as_ref(), noted))
    }

    /// rmcp passes unreadable requests here, too: the params of a granted request are at fault then.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let granted = match request.method.as_str() {
            CreateMessageRequestMethod::VALUE => self.terms.sampling.is_some(),
            ElicitationCreateRequestMethod::VALUE => self.terms.elicitation != Elicitation::Denied,
            _ => false,
        };
        let (code, why) = if granted {
            let why = format!("the params of {} cannot be read", request.method);
            (ErrorCode::INVALID_PARAMS, why)
        } else {
            (ErrorCode::METHOD_NOT_FOUND, request.method)
        };
        Err(ErrorData::new(code, why, None))
    }
}

/// Converts a result to rmcp's type.
fn decoded<T: DeserializeOwned>(result: Value) -> Result<T, ErrorData> {
    serde_json::from_value(result)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A report in a few words, such as `3 of 10: reading`.
pub(super) fn in_words(report: &ProgressNotificationParam) -> String {
    // Writing to a String cannot fail.
    let mut text = report.progress.to_string();
    if let Some(total) = report.total {
        let _ = write!(text, " of {total}");
    }
    if let Some(message) = report.message.as_deref().filter(|text| !text.is_empty()) {
        let _ = write!(text, ": {}", char_prefix(message, MESSAGE_BYTES));
    }
    text
}

#[cfg(test)]
mod tests {
    use rmcp::model::{NumberOrString, ProgressToken};

    use super::*;

    #[test]
    fn a_report_of_progress_is_a_few_words() {
        let check = |progress, total, message: &str, expect: &str| {
            let token = ProgressToken(NumberOrString::Number(1));
            let mut report = ProgressNotificationParam::new(token, progress);
            report.total = total;
            report.message = Some(message.to_owned());
            assert_eq!(in_words(&report), expect);
        };
        check(2.5, Some(10.0), "new", "2.5 of 10: new");
        check(3.0, None, "", "3");
    }
}
