//! Checks of single entries against the header, the chain and their neighbours. Stateless.

use std::collections::BTreeMap;

use super::parent::{Finding, Verdict};
use crate::kernel::{EntryKind, EventKind, Outcome, State};
use crate::message::{Digest, RunId, amount};
use crate::transcript::{
    Chain, EntryRecord, Flaw, FlawKind, IndexClaims, Link, Location, Presence, SealedOutcome,
    TranscriptKind,
};

/// The finding of a line before the header.
pub(super) fn no_header() -> Box<Finding> {
    let flaw = Flaw::tampered("contract", "a header first", "another line");
    Finding::new("header", flaw)
}

/// Recomputes the hash of an entry from its stored bytes.
pub(super) fn check_hash(header: &mut Header, entry: &EntryRecord<'_>) -> Verdict {
    let action = &entry.decoded_action;
    let link = Link {
        action: entry.action,
        adapter_version: &action.adapter_version,
        event: entry.event,
        model_fingerprint: &action.model_fingerprint,
        model_profile_id: &action.model_profile_id,
        state: entry.state.unwrap_or(action.to.as_str()),
    };
    let mut chain = header.chain.clone();
    let computed = chain.extend(&link);
    if computed == entry.hash {
        header.chain = chain;
        return Ok(());
    }
    // Entry 0 repeats the name of the run: where the chain holds under that name, the header is what was changed.
    if entry.seq == 0
        && let Some(EventKind::RunStarted(started)) =
            entry.decoded_event.as_ref().map(|event| &event.event)
        && Chain::genesis(header.contract_hash, &started.run_id).extend(&link) == entry.hash
    {
        let flaw = Flaw::tampered("run_id", &started.run_id, &header.run_id);
        return Err(Finding::new("header", flaw).at(header.location));
    }
    Err(Finding::new("chain", Flaw::tampered("hash", computed, entry.hash)).seq(entry.seq))
}

/// Checks an action against its neighbours.
pub(super) fn check_action(book: &EntryBook, entry: &EntryRecord<'_>) -> Result<(), Flaw> {
    let action = &entry.decoded_action;
    if action.seq != entry.seq {
        return Err(Flaw::tampered("action.seq", entry.seq, action.seq));
    }
    if (action.kind == EntryKind::Start) != (entry.seq == 0) {
        let expected = "kind start on entry 0 and on no other";
        return Err(Flaw::tampered(
            "action.kind",
            expected,
            format_args!("{:?}", action.kind),
        ));
    }
    let last = book.last_state.unwrap_or(State::Precheck);
    if last != action.from {
        return Err(Flaw::tampered("action.from", last, action.from));
    }
    // What ends a run is written together with its seal: nothing comes between, and nothing else is sealed.
    if (last == State::Terminate) != (action.kind == EntryKind::Seal) {
        return Err(Flaw::tampered(
            "action.kind",
            "the seal after TERMINATE and nowhere else",
            format_args!("{:?}", action.kind),
        ));
    }
    if action.step_id < book.last_step {
        let expected = format!("{} or more", book.last_step);
        return Err(Flaw::tampered("action.step_id", expected, action.step_id));
    }
    if action.length.is_some() != (action.kind == EntryKind::Seal) {
        return Err(Flaw::tampered(
            "action.length",
            "a length on the seal and on no other entry",
            format_args!("{:?}", action.length),
        ));
    }
    Ok(())
}

/// No run leaves PRECHECK for its first request under a contract that breaks a rule of its structure.
pub(super) fn check_precheck(header: &Header, entry: &EntryRecord<'_>) -> Result<(), Flaw> {
    let action = &entry.decoded_action;
    match &header.faulty {
        Some(fault) if action.from == State::Precheck && action.to == State::Infer => Err(
            Flaw::tampered("contract", "a contract that passes PRECHECK", fault),
        ),
        _ => Ok(()),
    }
}

/// Checks that entry 0 binds the run to its header; returns when the run began, as the entry states.
pub(super) fn check_start(header: &Header, entry: &EntryRecord<'_>) -> Result<u64, Flaw> {
    let event = entry.decoded_event.as_ref().map(|event| &event.event);
    let Some(EventKind::RunStarted(started)) = event else {
        return Err(Flaw::tampered("event", "run_started", entry.event));
    };
    if started.run_id != header.run_id {
        return Err(Flaw::tampered(
            "event.run_id",
            &header.run_id,
            &started.run_id,
        ));
    }
    if started.contract_hash != header.contract_hash {
        return Err(Flaw::tampered(
            "event.contract_hash",
            header.contract_hash,
            started.contract_hash,
        ));
    }
    Ok(started.started_unix_ms)
}

pub(super) fn check_seal(book: &EntryBook, entry: &EntryRecord<'_>) -> Result<(), Flaw> {
    let action = &entry.decoded_action;
    let length = entry.seq.saturating_add(1);
    if action.length != Some(length) {
        let stated = action.length.map_or("none".to_owned(), |n| n.to_string());
        return Err(Flaw::tampered("action.length", length, stated));
    }
    if action.to != State::Terminate {
        return Err(Flaw::tampered("action.to", State::Terminate, action.to));
    }
    let stated = action.outcome.map(SealedOutcome::from);
    if stated.is_some() && stated == book.outcome {
        return Ok(());
    }
    let text = |outcome: Option<Outcome>| outcome.map_or("none".to_owned(), |o| o.to_string());
    let decided = book
        .outcome
        .map_or("an outcome".to_owned(), |o| o.to_string());
    Err(Flaw::tampered(
        "action.outcome",
        decided,
        text(action.outcome),
    ))
}

/// Holds the index beside a chain against the chain.
pub(super) fn check_claims(header: &Header, claims: &IndexClaims, book: &EntryBook) -> Verdict {
    let refuse = |flaw| Finding::new("index", flaw).at(header.location);
    if claims.length != book.next_seq {
        if claims.length > book.next_seq && !book.sealed {
            let flaw = Flaw::new(
                FlawKind::Truncated,
                "seq",
                amount(claims.length, "entry"),
                amount(book.next_seq, "entry"),
            );
            let location = book.location.unwrap_or(header.location);
            return Err(Finding::new("entries", flaw)
                .at(location)
                .seq(book.next_seq));
        }
        let flaw = Flaw::tampered(
            "head_seq",
            amount(book.next_seq, "entry"),
            amount(claims.length, "entry"),
        );
        return Err(refuse(flaw));
    }
    let head = header.chain.head();
    if claims.head_hash != head {
        return Err(refuse(Flaw::tampered("head_hash", head, claims.head_hash)));
    }
    let sealed = book.outcome.filter(|_| book.sealed);
    let sealed = sealed.map(|o| (o.class().to_owned(), o.code().to_owned()));
    if claims.outcome != sealed {
        let text = |outcome: &Option<(String, String)>| match outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "no outcome".to_owned(),
        };
        let field = match (&claims.outcome, &sealed) {
            (Some((claimed, _)), Some((class, _))) if claimed == class => "code",
            _ => "class",
        };
        let flaw = Flaw::tampered(field, text(&sealed), text(&claims.outcome));
        return Err(refuse(flaw));
    }
    Ok(())
}

/// The header, and the chain from there on.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) chain: Chain,
    pub(super) claims: Option<IndexClaims>,
    pub(super) contract_hash: Digest,
    /// The first rule of a contract's structure that this one breaks.
    pub(super) faulty: Option<String>,
    pub(super) location: Location,
    pub(super) run_id: RunId,
    /// The machine that the document is of.
    pub(super) kind: TranscriptKind,
}

/// The state kept about the entries so far.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryBook {
    pub(super) ended: bool,
    pub(super) last_state: Option<State>,
    pub(super) last_step: u32,
    pub(super) next_seq: u64,
    /// The outcome that the last entry states.
    pub(super) outcome: Option<SealedOutcome>,
    pub(super) location: Option<Location>,
    /// Number of answers with a secret removed, whose bytes were therefore not kept.
    pub(super) redacted: usize,
    pub(super) sealed: bool,
    /// When the run began, as entry 0 states.
    pub(super) started_unix_ms: Option<u64>,
}

/// The blobs named and seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BlobBook {
    pub(super) last: Option<Digest>,
    pub(super) present: u64,
    pub(super) referenced: BTreeMap<Digest, ReferencedBlob>,
}

/// A blob that was named and has not been seen yet, has been, or was erased.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferencedBlob {
    pub(super) erased: bool,
    pub(super) field: &'static str,
    pub(super) location: Location,
    pub(super) seen: bool,
    pub(super) seq: u64,
    pub(super) presence: Presence,
}
