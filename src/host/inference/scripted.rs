//! The backend that plays a script. Does not know which run it serves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::http::ResponseHead;
use super::timeouts::{Timeouts, wait};
use super::{Probe, TransportFault, TransportFaultKind};
use monolith_core::adapter::{Script, ScriptFault, ScriptRecord};

/// A file of canned responses, played in order: one record per request.
#[derive(Debug)]
pub struct ScriptedBackend {
    next: AtomicUsize,
    script: Script,
}

/// A canned body that is arriving.
#[derive(Debug)]
pub(super) struct ScriptedReply {
    chunks: VecDeque<Vec<u8>>,
    end: Option<ScriptFault>,
}

impl ScriptedBackend {
    /// Plays `script` from its record `played` on: 0 for a new run, the inferences already recorded for a resumed one.
    #[must_use]
    pub const fn new(script: Script, played: usize) -> Self {
        Self {
            next: AtomicUsize::new(played),
            script,
        }
    }

    pub(super) fn probe(&self) -> Probe {
        Probe {
            detail: format!("script of {} responses", self.script.records.len()),
            responsive: true,
            ..Probe::default()
        }
    }

    pub(super) async fn send(
        &self,
        timeouts: &Timeouts,
    ) -> Result<(ResponseHead, ScriptedReply), TransportFault> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(record) = self.script.records.get(at) else {
            return Err(TransportFault::new(
                TransportFaultKind::ScriptExhausted,
                "script_exhausted",
            ));
        };
        wait(timeouts, answer(record)).await
    }
}

async fn answer(record: &ScriptRecord) -> Result<(ResponseHead, ScriptedReply), TransportFault> {
    if record.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(record.delay_ms)).await;
    }
    if record.after_bytes.is_none()
        && let Some(fault) = record.fault
    {
        return Err(happen(fault).await);
    }
    let head = ResponseHead {
        headers: record.headers.clone(),
        status: record.status,
    };
    Ok((head, ScriptedReply::of(record)))
}

/// Produces a scripted fault as the caller sees it.
async fn happen(fault: ScriptFault) -> TransportFault {
    match fault {
        ScriptFault::Refused => {
            TransportFault::new(TransportFaultKind::Refused, "connection refused (scripted)")
        }
        ScriptFault::Reset => {
            TransportFault::new(TransportFaultKind::Reset, "connection reset (scripted)")
        }
        ScriptFault::Hang => std::future::pending().await,
    }
}

impl ScriptedReply {
    fn of(record: &ScriptRecord) -> Self {
        let whole = record.response.as_bytes();
        let end = record
            .after_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .map_or(whole.len(), |bytes| bytes.min(whole.len()));
        let body = whole.get(..end).unwrap_or(whole);
        let chunks = if record.stream {
            events(body)
        } else {
            VecDeque::from([body.to_vec()])
        };
        Self {
            chunks: chunks.into_iter().filter(|c| !c.is_empty()).collect(),
            end: record.fault,
        }
    }

    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, TransportFault> {
        match (self.chunks.pop_front(), self.end) {
            (Some(chunk), _) => Ok(Some(chunk)),
            (None, Some(fault)) => Err(happen(fault).await),
            (None, None) => Ok(None),
        }
    }
}

/// Splits a stream after each line feed that follows a line feed, so that every event is a separate chunk.
fn events(body: &[u8]) -> VecDeque<Vec<u8>> {
    let mut chunks = VecDeque::new();
    let mut current = Vec::new();
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        current.extend_from_slice(line);
        if matches!(line, b"\n" | b"\r\n") {
            chunks.push_back(std::mem::take(&mut current));
        }
    }
    chunks.push_back(current);
    chunks
}
