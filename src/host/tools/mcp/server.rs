//! One connected MCP server: lists and calls its tools. Does not know the contract.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetExtensions as _, InputResponses,
    RequestMetaObject,
};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::authorized::unauthorized;
use super::beside::BesideTool;
use super::call_result::CallResult;
use super::connection::Connection;
use super::elicitation::{INPUT_NOT_GRANTED, Round};
use super::opening::{Endpoint, LIST_MS, Timeouts, deadline, person_until};
use super::pending::PendingResponse;
use super::response::{NoResponse, Response};
use super::tool_list::{self, ListFault};
use super::{call_result, opening};
use crate::tools::envelope::ToolResponse;
use crate::tools::oauth::{Authorization, Need};
use crate::tools::offer::{self, Offer, changed};
use crate::tools::process::{Process, Program};
use crate::tools::{CallTerms, ToolServerError};
use monolith_core::contract::{McpTerms, ToolPin};
use monolith_core::kernel::CallOrder;
use monolith_core::message::Scrubber;
use monolith_core::message::{ToolOutcome, ToolServerStatement, char_prefix};

/// Maximum size of a recorded detail.
const DETAIL_BYTES: usize = 2_048;
/// The step that an error names if the tools could not be listed.
const LIST: &str = "list its tools";
/// Maximum number of times that a server may ask for input in one call.
const ROUNDS: usize = 10;
/// The code of a call that the server refused for want of authorization.
const AUTHORIZATION_REQUIRED: &str = "AUTHORIZATION_REQUIRED";
/// The reason of a request that met an expired session, and so was not begun.
const SESSION_EXPIRED: &str = "the session has expired (HTTP 404)";
/// Key of the idempotency key in a call's `_meta`.
const IDEMPOTENCY_KEY: &str = "monolith/idempotency_key";

/// A connected MCP server.
#[derive(Debug)]
pub(in crate::tools) struct McpServer {
    /// Source of tokens, if the server may want any.
    authorization: Option<Arc<Authorization>>,
    // Declared before the process: the connection goes first, then the process group is killed.
    connection: Connection,
    offered: Mutex<Offered>,
    origin: String,
    timeouts: Timeouts,
    prefix: String,
    process: Option<Process>,
    scrub: Arc<dyn Scrubber>,
    terms: McpTerms,
}

/// The server's last offer.
#[derive(Debug, Default)]
struct Offered {
    /// Our tools for its resources and prompts, by name.
    beside: BTreeMap<String, BesideTool>,
    /// Number of changes that it had announced before it was asked.
    changes: u64,
    offer: Arc<Offer>,
    pins: BTreeMap<String, ToolPin>,
}

impl McpServer {
    /// Starts a child, introduces ourselves and lists its tools.
    pub(in crate::tools) async fn start(
        named: (&str, &McpTerms),
        program: &Program<'_>,
        (timeouts, scrub): (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Self, ToolServerError> {
        let host = (timeouts.initialise_ms, scrub);
        let (connection, process) = opening::child(named, program, host, cancel).await?;
        let timeouts = (timeouts, scrub);
        Self::list_first(named, connection, Some(process), timeouts, cancel).await
    }

    /// Connects to an address, introduces ourselves and lists the tools there.
    pub(in crate::tools) async fn connect(
        named: (&str, &McpTerms),
        place: Endpoint<'_>,
        (timeouts, scrub): (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Self, ToolServerError> {
        let authorization = place.authorization.cloned();
        let own: Option<Arc<dyn Scrubber>> = authorization.as_ref().map(|authorization| {
            let own = authorization.behind(Arc::clone(scrub));
            Arc::new(own) as Arc<dyn Scrubber>
        });
        let scrub = own.as_ref().unwrap_or(scrub);
        let connected = async {
            let host = (timeouts.initialise_ms, scrub);
            let connection = opening::address((place, named.1), host, cancel).await?;
            Self::list_first(named, connection, None, (timeouts, scrub), cancel).await
        };
        match connected.await {
            Ok(server) => Ok(Self {
                authorization,
                ..server
            }),
            Err(fault) => Err(unauthorized(authorization.as_ref(), named.0).unwrap_or(fault)),
        }
    }

    async fn list_first(
        (name, terms): (&str, &McpTerms),
        connection: Connection,
        process: Option<Process>,
        (timeouts, scrub): (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Self, ToolServerError> {
        let server = Self {
            authorization: None,
            connection,
            offered: Mutex::default(),
            origin: format!("mcp:{name}"),
            timeouts,
            prefix: format!("{name}__"),
            process,
            scrub: Arc::clone(scrub),
            terms: terms.clone(),
        };
        server.list(cancel).await?;
        Ok(server)
    }

    /// The current offer: lists the tools again if the server has reported a change.
    pub(in crate::tools) async fn offer(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Arc<Offer>, ToolServerError> {
        if self.is_stale() {
            return self.list(cancel).await;
        }
        Ok(self.last_offer())
    }

    /// The last known offer.
    pub(in crate::tools) fn last_offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offered().offer)
    }

    /// True if no request can reach it any more.
    pub(in crate::tools) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// True if it is up and its last response came in time.
    pub(in crate::tools) fn is_sound(&self) -> bool {
        !self.is_closed() && !self.connection.is_overdue()
    }

    /// The token that is cancelled once it is down. Cancelling it marks it as down, whatever its connection says.
    pub(in crate::tools) const fn ended(&self) -> &CancellationToken {
        self.connection.ended()
    }

    /// True if it answers; asks it only if a response is overdue.
    pub(in crate::tools) async fn answers(&self, cancel: &CancellationToken) -> bool {
        self.connection
            .answers(self.terms.health_probe, cancel)
            .await
    }

    /// True if it has reported a change since its tools were listed.
    fn is_stale(&self) -> bool {
        self.offered().changes != self.connection.changes()
    }

    /// The pin of a tool as the server last described it.
    pub(in crate::tools) fn pin(&self, tool: &str) -> Option<ToolPin> {
        self.offered().pins.get(tool).copied()
    }

    /// The statement of the server, of that name in the contract, in the handshake.
    pub(in crate::tools) fn statement(&self, name: &str) -> Option<ToolServerStatement> {
        // The run's own redaction knows no token that was got for this connection.
        let scrub = |text: &str| match &self.authorization {
            Some(authorization) => authorization.without_tokens(text),
            None => text.to_owned(),
        };
        self.connection.statement(name, scrub)
    }

    /// Asks the server for its tools, page by page, and remembers their pins.
    async fn list(&self, cancel: &CancellationToken) -> Result<Arc<Offer>, ToolServerError> {
        let deadline = deadline(self.timeouts.list_ms);
        self.list_until(deadline, cancel)
            .await
            .map_err(|fault| match fault {
                ListFault::NoResponse(NoResponse::Cancelled) => ToolServerError::Cancelled,
                ListFault::NoResponse(NoResponse::SessionExpired(_)) => ToolServerError::Protocol {
                    reason: SESSION_EXPIRED.to_owned(),
                    output: String::new(),
                    step: LIST,
                },
                ListFault::NoResponse(NoResponse::Lost(reason)) | ListFault::Protocol(reason) => {
                    // The reason already quotes the output of the server.
                    ToolServerError::Protocol {
                        reason,
                        output: String::new(),
                        step: LIST,
                    }
                }
                ListFault::NoResponse(NoResponse::Unauthorized) => ToolServerError::Unauthorized {
                    reason: self.remedy(),
                    scopes: self.need().map(|need| need.lacking_scopes().to_vec()),
                },
                ListFault::NoResponse(NoResponse::TimedOut) => ToolServerError::TimedOut {
                    grants: String::new(),
                    longest_ms: LIST_MS,
                    output: self.connection.output(),
                    step: LIST,
                    timeout_ms: self.timeouts.list_ms,
                },
                ListFault::TooMany { limit, what } => ToolServerError::TooMany { limit, what },
            })
    }

    async fn list_until(
        &self,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Arc<Offer>, ListFault> {
        // Before the request: a change that is announced meanwhile is a change of the answer.
        let changes = self.connection.changes();
        let named = (self.prefix.as_str(), self.scrub.as_ref());
        let mut offer = tool_list::list(&self.connection, named, (deadline, cancel)).await?;
        let mut beside = BTreeMap::new();
        let capabilities = self.connection.capabilities();
        for tool in BesideTool::of(&self.terms.offers, capabilities.as_ref()) {
            if offer.tools.iter().any(|own| own.name == tool.name()) {
                offer.leave_out(tool.name(), "a tool of the server has that name");
                continue;
            }
            offer.add(&self.prefix, tool.described());
            beside.insert(tool.name().to_owned(), tool);
        }
        let offer = Arc::new(offer);
        *self.offered() = Offered {
            beside,
            changes,
            offer: Arc::clone(&offer),
            pins: offer::pins(&self.origin, &offer.tools),
        };
        Ok(offer)
    }

    /// Calls a tool, once. If the server has reported that its tools changed, its tools are first listed again, within
    /// the same time.
    ///
    /// # Errors
    /// The session had expired: the server is down from now on, and did not begin the call.
    pub(in crate::tools) async fn call(
        &self,
        tool: &str,
        expected: ToolPin,
        order: &CallOrder,
        terms: &CallTerms<'_>,
    ) -> Result<ToolOutcome, NotBegun> {
        let own = self.authorization.as_ref();
        let own = own.map(|authorization| authorization.behind(terms.scrub));
        let scrub = own.as_ref().map_or(terms.scrub, |own| own as &dyn Scrubber);
        let terms = CallTerms { scrub, ..*terms };
        let called = self.call_scrubbed(tool, expected, order, &terms).await;
        if called.is_err() {
            self.ended().cancel();
        }
        called
    }

    async fn call_scrubbed(
        &self,
        tool: &str,
        expected: ToolPin,
        order: &CallOrder,
        terms: &CallTerms<'_>,
    ) -> Result<ToolOutcome, NotBegun> {
        let deadline = deadline(terms.timeout_ms);
        let started_at_ms = terms.clock.run_ms();
        let returned = |response: ToolResponse| {
            Ok(ToolOutcome::Returned(response.into_envelope(
                order,
                terms,
                started_at_ms,
            )))
        };
        if self.is_stale()
            && let Err(fault) = self.list_until(deadline, terms.cancel).await
        {
            return match fault {
                ListFault::NoResponse(NoResponse::SessionExpired(_)) => {
                    Err(NotBegun(Box::new(lost(SESSION_EXPIRED))))
                }
                ListFault::NoResponse(fault) => Ok(fault.outcome()),
                ListFault::Protocol(detail) => Ok(lost(&terms.scrub.owned_text(detail))),
                ListFault::TooMany { .. } => Ok(changed()),
            };
        }
        if self.pin(tool) != Some(expected) {
            return Ok(changed());
        }
        let (beside, output) = {
            let offered = self.offered();
            let output = offered.offer.outputs.get(tool).cloned();
            (offered.beside.get(tool).copied(), output)
        };
        let _open = self.connection.open_call(terms.exchanges);
        terms.exchanges.wait_until(person_until(terms.timeout_ms));
        let noted = (terms.exchanges.as_ref(), terms.scrub);
        let given = order.input.as_ref();
        let mut round =
            given.and_then(|given| serde_json::from_str::<Round>(given.resume.as_deref()?).ok());
        if let Some((round, given)) = round.as_mut().zip(given)
            && let Err(refused) = round.give(given.content.as_ref(), noted)
        {
            return returned(refused.response());
        }
        loop {
            let number = round.as_ref().map_or(0, |round| round.number);
            while let Some(open) = &mut round {
                let asked = match open.fill(&self.terms, noted) {
                    Ok(None) => break,
                    Ok(Some(asked)) => asked,
                    Err(refused) => return returned(refused.response()),
                };
                if let Some(resume) = open.resume(terms.scrub) {
                    return Ok(asked.outcome(Some(resume), terms.blobs));
                }
                // The state for the server must not be recorded: the call waits for the answer.
                let content = terms.exchanges.ask(asked).await;
                if let Err(refused) = open.give(content.as_ref(), noted) {
                    return returned(refused.response());
                }
            }
            let input = round.take().map(Round::into_input);
            let asked = self.ask_to_call((tool, beside), order, terms, input, deadline);
            let response = match asked.await {
                Ok(response) => response,
                Err(NoResponse::Unauthorized) => {
                    return returned(ToolResponse::failed(AUTHORIZATION_REQUIRED, self.remedy()));
                }
                Err(NoResponse::SessionExpired(error)) => {
                    let outcome = match error {
                        Some(error) => returned(ToolResponse::failed(error.code, error.message))?,
                        None => lost(SESSION_EXPIRED),
                    };
                    if number == 0 {
                        return Err(NotBegun(Box::new(outcome)));
                    }
                    self.ended().cancel();
                    return Ok(outcome);
                }
                Err(fault) => return Ok(fault.outcome()),
            };
            let decoded = response.decode(|result| match beside {
                Some(beside) => beside.decode(result),
                None => call_result::decode(result, output.as_deref()),
            });
            return match decoded {
                Ok(Ok(CallResult::Complete(response))) => returned(response),
                Ok(Ok(CallResult::InputRequired(_))) if number == ROUNDS => {
                    let message =
                        format!("the server asked for input more than {ROUNDS} times in one call");
                    returned(ToolResponse::failed(INPUT_NOT_GRANTED, message))
                }
                Ok(Ok(CallResult::InputRequired(required))) => {
                    round = Some(Round::new(number + 1, required));
                    continue;
                }
                Ok(Err(error)) => returned(ToolResponse::failed(error.code, error.message)),
                Err(malformed) => {
                    let detail = terms.scrub.owned_text(malformed.detail);
                    Ok(ToolOutcome::Malformed {
                        detail: char_prefix(&detail, DETAIL_BYTES).to_owned(),
                        raw_hash: malformed
                            .raw
                            .map(|raw| terms.blobs.put(terms.scrub.owned_bytes(raw))),
                    })
                }
            };
        }
    }

    /// Sends a call with the input that the server asked for in the last round and the state that belongs to it.
    async fn ask_to_call(
        &self,
        (tool, beside): (&str, Option<BesideTool>),
        order: &CallOrder,
        terms: &CallTerms<'_>,
        input: Option<(InputResponses, Option<String>)>,
        deadline: Instant,
    ) -> Result<Response, NoResponse> {
        let arguments = &order.invocation.arguments;
        // The transport sends the text of the arguments; the values are for rmcp, which makes headers of some.
        let (mut request, arguments) = if let Some(beside) = beside {
            (beside.request(&arguments.to_value(), input), None)
        } else {
            let mut params = CallToolRequestParams::new(tool.to_owned());
            if let Value::Object(arguments) = arguments.to_value() {
                params = params.with_arguments(arguments);
            }
            if let Some((answers, state)) = input {
                params = params.with_input_responses(answers);
                params.request_state = state;
            }
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            (request, Some(Arc::from(arguments.as_str())))
        };
        let pending = PendingResponse::new(arguments);
        request.extensions_mut().insert(pending.clone());
        let mut meta = RequestMetaObject::new();
        meta.insert(
            IDEMPOTENCY_KEY.to_owned(),
            Value::String(terms.idempotency_key.to_owned()),
        );
        let until = (deadline, terms.cancel);
        let watch = |report: &str| terms.report(&order.invocation.name, report);
        self.connection
            .ask(request, &pending, meta, until, &watch)
            .await
    }

    /// The missing authorization and what to do about it.
    fn remedy(&self) -> String {
        let name = self.prefix.trim_end_matches('_');
        self.need().map_or_else(
            || "the server wants authorization".to_owned(),
            |need| need.remedy(name),
        )
    }

    fn need(&self) -> Option<Need> {
        self.authorization.as_ref().and_then(|known| known.need())
    }

    fn offered(&self) -> MutexGuard<'_, Offered> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection and ends the child with its process group. Returns what its sandbox threw away, in words.
    pub(in crate::tools) async fn close(self) -> Option<String> {
        let tail = self.connection.close().await;
        let discarded = self.process?.end().await?;
        Some(tail.scrubbed(&discarded))
    }
}

/// The outcome of a call that its server did not begin, for its session had expired; to be recorded unless the call is repeated.
#[derive(Debug)]
pub(in crate::tools) struct NotBegun(pub(in crate::tools) Box<ToolOutcome>);

impl NoResponse {
    fn outcome(self) -> ToolOutcome {
        match self {
            Self::Cancelled => ToolOutcome::Cancelled,
            Self::Lost(detail) => lost(&detail),
            Self::SessionExpired(_) => lost(SESSION_EXPIRED),
            Self::TimedOut => ToolOutcome::TimedOut,
            Self::Unauthorized => lost("the server wants authorization"),
        }
    }
}

fn lost(detail: &str) -> ToolOutcome {
    ToolOutcome::ConnectionLost {
        detail: char_prefix(detail, DETAIL_BYTES).to_owned(),
    }
}
