//! Begins connections: negotiates the protocol, on a second connection if the first one does not survive that. Does not list tools.
//!
//! Protocol 2026-07-28 begins with `server/discover`, every older protocol with `initialize`. A server answers the wrong one with an
//! error, not at all, or by ending. A child gets both questions on one connection, so that most children start once. An HTTP address
//! gets each question on another connection: an older server may refuse a request without a session in any way.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::connection::Connection;
use super::handshake::{Handshake, INITIALISE_MS, Introduction, NotIntroduced, reach};
use super::line_transport::LineTransport;
use super::listener::Changes;
use super::pending::FRAME_BYTES;
use super::refusal::without_secrets;
use super::sse_transport::SseTransport;
use super::stderr_tail::StderrTail;
use super::websocket::WebSocketTransport;
use crate::inference::Proxies;
use crate::tools::ToolServerError;
use crate::tools::oauth::Authorization;
use crate::tools::process::{InputWatch, Process, Program};
#[cfg(target_os = "linux")]
use crate::tools::sandbox::missing_grants;
use crate::tools::sandbox::{CANNOT_SET_UP, NOT_STARTED};
use monolith_core::contract::{McpTerms, Remote};
use monolith_core::message::Scrubber;

/// Maximum wait for a response.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Maximum time to list the tools, whatever the contract allows.
pub(super) const LIST_MS: u64 = 30_000;

/// Time to wait for the exit status of a child whose output ended.
const STATUS_GRACE: Duration = Duration::from_millis(200);
/// Time for a child to answer `server/discover` before `initialize` follows: some servers ignore unknown requests.
const CHILD_PROBE: Duration = Duration::from_secs(2);
/// The same for an address.
const ADDRESS_PROBE: Duration = Duration::from_secs(5);

/// Starts a child and begins a connection to it, within `initialise_ms`. Starts it again if it ended on the first question, unless it
/// never read the question.
pub(super) async fn child(
    (name, terms): (&str, &McpTerms),
    program: &Program<'_>,
    (initialise_ms, scrub): (u64, &Arc<dyn Scrubber>),
    cancel: &CancellationToken,
) -> Result<(Connection, Process), ToolServerError> {
    let mut introduction = introduction(Handshake::Either, terms, initialise_ms);
    let mut first = None;
    loop {
        let begun = Box::pin(begin_child(name, program, introduction, scrub, cancel)).await?;
        let NotIntroduced { error, next } = match begun {
            Ok(begun) => return Ok(begun),
            Err(failed) => failed,
        };
        match (next, first) {
            (Some(next), None) => {
                introduction.handshake = next;
                first = Some(error);
            }
            // It refused `initialize`, and the other question failed, too.
            (_, Some(first)) if introduction.handshake == Handshake::Discover => return Err(first),
            _ => return Err(error),
        }
    }
}

async fn begin_child(
    name: &str,
    program: &Program<'_>,
    introduction: Introduction<'_>,
    scrub: &Arc<dyn Scrubber>,
    cancel: &CancellationToken,
) -> Result<Result<(Connection, Process), NotIntroduced>, ToolServerError> {
    let (mut process, streams) = Process::start(program)?;
    let (stdin, input) = InputWatch::of(streams.stdin);
    let tail = Arc::new(StderrTail::new(Arc::clone(scrub)));
    let changes = Changes::default();
    let probe = (introduction.handshake == Handshake::Either).then_some(CHILD_PROBE);
    let transport = LineTransport::new(
        (streams.stdout, stdin, streams.stderr),
        Arc::clone(&tail),
        changes.clone(),
        FRAME_BYTES,
        probe,
    );
    let to = (transport, name);
    let introduced = Connection::introduce(to, tail, changes, introduction, cancel);
    let mut failed = match Box::pin(introduced).await {
        Ok(connection) => return Ok(Ok((connection, process))),
        Err(failed) => failed,
    };
    if let ToolServerError::Exited { status, output, .. } = &mut failed.error {
        let ended = process.ended(STATUS_GRACE).await;
        if let Some(reason) = not_confined(program, ended, output) {
            let reason = reason.to_owned();
            return Err(ToolServerError::NotConfined { reason });
        }
        if let Some(ended) = ended {
            *status = ended.to_string();
        }
        // A server that never read the question did not end on it, and would end again.
        failed.next = failed.next.filter(|_| !input.is_unread());
    }
    #[cfg(target_os = "linux")]
    if let ToolServerError::Exited { grants, output, .. }
    | ToolServerError::TimedOut { grants, output, .. } = &mut failed.error
        && let Some(profile) = program.sandbox
    {
        // The paths that the server named and could not use, each with the line of the contract that grants it.
        let missing = missing_grants(profile, program.args, output);
        *grants = scrub.text(&missing).into_owned();
    }
    Ok(Err(failed))
}

/// Returns the error of a sandbox that started nothing, from the exit code and the line of its process.
fn not_confined<'o>(
    program: &Program<'_>,
    ended: Option<ExitStatus>,
    output: &'o str,
) -> Option<&'o str> {
    let is_of_sandbox = ended.and_then(|ended| ended.code()) == Some(i32::from(NOT_STARTED));
    let (_, reason) = output.split_once(CANNOT_SET_UP)?;
    (program.sandbox.is_some() && is_of_sandbox).then_some(reason)
}

/// The address of a server, its protocol and the headers to send.
#[derive(Clone, Copy, Debug)]
pub(in crate::tools) struct Endpoint<'a> {
    /// Source of tokens, if the server may want any.
    pub(in crate::tools) authorization: Option<&'a Arc<Authorization>>,
    pub(in crate::tools) headers: &'a BTreeMap<String, String>,
    pub(in crate::tools) proxies: &'a Proxies,
    pub(in crate::tools) remote: Remote,
    pub(in crate::tools) url: &'a str,
}

impl Endpoint<'_> {
    /// True if the server refused a request for want of authorization.
    fn lacks_authorization(&self) -> bool {
        self.authorization
            .is_some_and(|known| known.need().is_some())
    }
}

/// Begins a connection to an address, within `initialise_ms`.
pub(super) async fn address(
    (place, terms): (Endpoint<'_>, &McpTerms),
    (initialise_ms, scrub): (u64, &Arc<dyn Scrubber>),
    cancel: &CancellationToken,
) -> Result<Connection, ToolServerError> {
    let whole = introduction(Handshake::Initialize, terms, initialise_ms);
    let probe = ADDRESS_PROBE.min(Duration::from_millis(initialise_ms / 3));
    let mut introduction = match place.remote {
        Remote::Http => Introduction {
            handshake: Handshake::Discover,
            until: Instant::now() + probe,
            ..whole
        },
        // It belongs to protocol 2024-11-05.
        Remote::Sse => whole,
        Remote::Websocket => Introduction {
            handshake: Handshake::Either,
            ..whole
        },
    };
    let (mut tried, mut was_late) = (0, false);
    let named = |mut error| {
        if let ToolServerError::TimedOut { output, .. } = &mut error {
            let asked = format!("; it was asked at {}", without_secrets(place.url));
            output.insert_str(0, &asked);
        }
        error
    };
    loop {
        let NotIntroduced { error, next } =
            match Box::pin(begin_at(place, introduction, scrub, cancel)).await? {
                Ok(connection) => return Ok(connection),
                Err(failed) => failed,
            };
        if place.lacks_authorization() {
            // It would refuse the next question for the same reason.
            return Err(named(error));
        }
        let handshake = match (next, tried) {
            (Some(next), 0) => next,
            // It refused `initialize`, and may only have been slow before that.
            (None, 1) if was_late && matches!(error, ToolServerError::Protocol { .. }) => {
                Handshake::Discover
            }
            _ => return Err(named(error)),
        };
        was_late = matches!(error, ToolServerError::TimedOut { .. });
        tried += 1;
        introduction = Introduction { handshake, ..whole };
    }
}

async fn begin_at(
    place: Endpoint<'_>,
    introduction: Introduction<'_>,
    scrub: &Arc<dyn Scrubber>,
    cancel: &CancellationToken,
) -> Result<Result<Connection, NotIntroduced>, ToolServerError> {
    let Endpoint {
        authorization,
        headers,
        proxies,
        remote,
        url,
    } = place;
    let address = Address::new(url, headers, proxies, authorization.cloned())?;
    let tail = Arc::new(StderrTail::new(Arc::clone(scrub)));
    let changes = Changes::default();
    let name = without_secrets(url);
    let name = name.as_str();
    let ours = (Arc::clone(&tail), changes.clone());
    let begun = match remote {
        Remote::Http => {
            let to = (address.streamable(), name);
            Connection::introduce(to, tail, changes, introduction, cancel).await
        }
        Remote::Sse => {
            let connected = SseTransport::connect(address, ours);
            let connected = reach(connected, name, &introduction, cancel);
            let to = (connected.await?, name);
            Connection::introduce(to, tail, changes, introduction, cancel).await
        }
        Remote::Websocket => {
            let probe = (introduction.handshake == Handshake::Either).then_some(ADDRESS_PROBE);
            let connected = WebSocketTransport::connect(address, ours, probe);
            let connected = reach(connected, name, &introduction, cancel);
            let to = (connected.await?, name);
            Connection::introduce(to, tail, changes, introduction, cancel).await
        }
    };
    Ok(begun)
}

fn introduction(handshake: Handshake, terms: &McpTerms, timeout_ms: u64) -> Introduction<'_> {
    Introduction {
        handshake,
        terms,
        timeout_ms,
        until: Instant::now() + Duration::from_millis(timeout_ms),
    }
}

/// Time that bring-up allows a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools) struct Timeouts {
    /// For the introduction; `npx` may have to install the server first.
    pub(in crate::tools) initialise_ms: u64,
    /// For the whole list of tools.
    pub(in crate::tools) list_ms: u64,
}

impl Timeouts {
    /// The maximum timeouts that fit into the time of the whole run.
    pub(in crate::tools) fn within(total_ms: u64) -> Self {
        let list_ms = (total_ms / 3).clamp(1, LIST_MS);
        Self {
            initialise_ms: total_ms.saturating_sub(list_ms).clamp(1, INITIALISE_MS),
            list_ms,
        }
    }

    /// The sum of both.
    pub(in crate::tools) const fn whole_ms(self) -> u64 {
        self.initialise_ms.saturating_add(self.list_ms)
    }

    /// Maximum sum, whatever the contract allows.
    pub(in crate::tools) const LONGEST_MS: u64 = INITIALISE_MS + LIST_MS;

    /// True if a server that was too slow for `others` may be in time for these.
    pub(in crate::tools) const fn outlast(self, others: Self) -> bool {
        self.initialise_ms > others.initialise_ms || self.list_ms > others.list_ms
    }
}

/// The moment `timeout_ms` from now, at most a year.
pub(super) fn deadline(timeout_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(timeout_ms).min(LONGEST)
}

/// The moment until which a call waits for a person: nine tenths of its time. The server gets a refusal then, and the rest of the time
/// to end the call.
pub(super) fn person_until(timeout_ms: u64) -> Instant {
    deadline(timeout_ms - timeout_ms / 10)
}
