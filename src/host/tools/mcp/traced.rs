//! Diagnostics of a connection (`--trace-mcp`): requests, responses and introductions, without secrets.

use rmcp::RoleClient;
use rmcp::model::ClientRequest;
use rmcp::service::RunningService;

use super::listener::Listener;
use super::pending::{PendingResponse, Received};
use super::refusal::Refusal;
use super::response::{NoResponse, Response};
use super::stderr_tail::StderrTail;
use crate::tools::trace;

/// Traces the introduction of the other side.
pub(super) fn introduced(
    place: &str,
    tail: &StderrTail,
    service: &RunningService<RoleClient, Listener>,
) {
    if trace::is_on()
        && let Some(info) = service.peer_info()
        && let Ok(text) = serde_json::to_string(&*info)
    {
        trace::received(place, &format!("introduced {}", tail.scrubbed(&text)));
    }
}

/// Traces a request that is about to be sent, arguments byte for byte.
pub(super) fn sent(
    (place, tail): (&str, &StderrTail),
    request: &ClientRequest,
    pending: &PendingResponse,
) {
    let mut frame = serde_json::to_value(request).unwrap_or_default();
    let arguments = pending.arguments.as_deref();
    let params = frame.get_mut("params");
    if let (Some(_), Some(params)) = (arguments, params.and_then(|params| params.as_object_mut())) {
        params.remove("arguments");
    }
    let text = match arguments {
        Some(arguments) => format!("{frame}, arguments {arguments}"),
        None => frame.to_string(),
    };
    trace::sent(place, &tail.scrubbed(&text));
}

/// Traces a response.
pub(super) fn received(
    (place, tail): (&str, &StderrTail),
    response: &Result<Response, NoResponse>,
) {
    let text = match response {
        Ok(Response::Bytes(Received::Frame(frame))) => {
            String::from_utf8_lossy(frame).trim_end().to_owned()
        }
        Ok(Response::Bytes(Received::TooLarge { length })) => {
            format!("{length} bytes, too many to keep")
        }
        Ok(Response::Decoded(result)) => serde_json::to_string(result).unwrap_or_default(),
        Ok(Response::Refused(Refusal { code, message })) => format!("error {code}: {message}"),
        Err(NoResponse::Cancelled) => "no response: cancelled".to_owned(),
        Err(NoResponse::Lost(reason)) => format!("no response: {reason}"),
        Err(NoResponse::SessionExpired(_)) => "no response: the session has expired".to_owned(),
        Err(NoResponse::TimedOut) => "no response in time".to_owned(),
        Err(NoResponse::Unauthorized) => "not authorized".to_owned(),
    };
    trace::received(place, &tail.scrubbed(&text));
}
