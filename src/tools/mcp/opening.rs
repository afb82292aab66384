//! Begins connections: negotiates the protocol, on a second connection where the first one does not survive that. Does not list tools.
//!
//! Protocol 2026-07-28 begins with `server/discover`, every protocol before it with `initialize`; a server answers the wrong one with an
//! error, not at all, or by ending. A child is asked for both on one connection, so that most are started once. An address is asked for
//! the newer protocol on a connection of its own: over HTTP an older server may refuse what has no session in any way it likes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::address;
use super::connection::{Connection, Handshake, Introduction, NotIntroduced};
use super::line_transport::LineTransport;
use super::listener::Changes;
use super::process::{Process, Program};
use super::response::FRAME_BYTES;
use super::stderr_tail::StderrTail;
use crate::contract::Elicitation;
use crate::message::Scrubber;
use crate::tools::ToolServerError;

/// How long the exit status of a child whose output ended is waited for.
const STATUS_GRACE: Duration = Duration::from_millis(200);
/// How long a child has to answer `server/discover` before `initialize` follows: some servers ignore what they do not know.
const CHILD_PROBE: Duration = Duration::from_secs(2);
/// The same for an address.
const ADDRESS_PROBE: Duration = Duration::from_secs(5);

/// Starts a child and begins a connection to it, within `initialise_ms`. A child that ended on the first question is started once more.
pub(super) async fn child(
    (name, elicitation): (&str, Elicitation),
    program: &Program<'_>,
    (initialise_ms, scrub): (u64, &Arc<dyn Scrubber>),
    cancel: &CancellationToken,
) -> Result<(Connection, Process), ToolServerError> {
    let mut introduction = introduction(Handshake::Either, elicitation, initialise_ms);
    let mut first = None;
    loop {
        let begun = begin_child(name, program, introduction, scrub, cancel).await?;
        let NotIntroduced { error, next } = match begun {
            Ok(begun) => return Ok(begun),
            Err(failed) => failed,
        };
        match (next, first) {
            (Some(next), None) => {
                introduction.handshake = next;
                first = Some(error);
            }
            // It refused `initialize`, and nothing came of the other question.
            (_, Some(first)) if introduction.handshake == Handshake::Discover => return Err(first),
            _ => return Err(error),
        }
    }
}

async fn begin_child(
    name: &str,
    program: &Program<'_>,
    introduction: Introduction,
    scrub: &Arc<dyn Scrubber>,
    cancel: &CancellationToken,
) -> Result<Result<(Connection, Process), NotIntroduced>, ToolServerError> {
    let (mut process, streams) = Process::start(program)?;
    let tail = Arc::new(StderrTail::new(Arc::clone(scrub)));
    let changes = Changes::default();
    let probe = (introduction.handshake == Handshake::Either).then_some(CHILD_PROBE);
    let transport = LineTransport::new(
        (streams.stdout, streams.stdin, streams.stderr),
        Arc::clone(&tail),
        changes.clone(),
        FRAME_BYTES,
        probe,
    );
    let to = (transport, name);
    Ok(
        match Connection::introduce(to, tail, changes, introduction, cancel).await {
            Ok(connection) => Ok((connection, process)),
            Err(NotIntroduced {
                error: ToolServerError::Exited { status, output },
                next,
            }) => {
                let ended = process.ended(STATUS_GRACE).await;
                let status = ended.map_or(status, |ended| ended.to_string());
                let error = ToolServerError::Exited { status, output };
                Err(NotIntroduced { error, next })
            }
            Err(failed) => Err(failed),
        },
    )
}

/// Begins a connection to an address, within `initialise_ms`.
pub(super) async fn address(
    (url, elicitation): (&str, Elicitation),
    headers: &BTreeMap<String, String>,
    (initialise_ms, scrub): (u64, &Arc<dyn Scrubber>),
    cancel: &CancellationToken,
) -> Result<Connection, ToolServerError> {
    let whole = introduction(Handshake::Initialize, elicitation, initialise_ms);
    let probe = ADDRESS_PROBE.min(Duration::from_millis(initialise_ms / 3));
    let mut introduction = Introduction {
        handshake: Handshake::Discover,
        until: Instant::now() + probe,
        ..whole
    };
    loop {
        let transport = address::connect(url, headers)?;
        let tail = Arc::new(StderrTail::new(Arc::clone(scrub)));
        let changes = Changes::default();
        let place = address::without_secrets(url);
        let to = (transport, place.as_str());
        match Connection::introduce(to, tail, changes, introduction, cancel).await {
            Ok(connection) => return Ok(connection),
            Err(NotIntroduced { next: Some(_), .. }) => introduction = whole,
            Err(NotIntroduced { error, next: None }) => return Err(error),
        }
    }
}

fn introduction(handshake: Handshake, elicitation: Elicitation, timeout_ms: u64) -> Introduction {
    Introduction {
        elicitation,
        handshake,
        timeout_ms,
        until: Instant::now() + Duration::from_millis(timeout_ms),
    }
}
