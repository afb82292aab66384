//! Finds the tags of one text, whole or in pieces. Knows the turn's slots; does not know which tools exist.

use std::collections::BTreeSet;

use super::reading::{XmlCall, XmlFinalReport, XmlIgnored, XmlReading};
use super::slot::{
    Extent, FINAL, MAX_TAG_BYTES, Opening, PROGRESS, XmlTerms, extent, numbered, placeholder,
};
use crate::contract::{FINAL_REPORT, PROGRESS_REPORT};
use crate::message::{StopReason, TagFlaw};

/// The most opening tags of one text that are read.
const MAX_TAGS: usize = 128;
/// The least of a closing tag that is no text at the end of a report. Less may be a tag of HTML.
const LEAST_FRAGMENT: &str = "</ai-";
/// The part of a tag before the nonce.
const BEFORE_NONCE: &str = "ai-agent-";

/// Reads the tags of a text that is whole; `stop` is why the model ended it.
#[must_use]
pub(crate) fn read_tags(terms: &XmlTerms, text: &str, stop: StopReason) -> XmlReading {
    let mut scanner = XmlScanner::new(terms.clone());
    scanner.push(text);
    scanner.finish(stop).1
}

/// Takes a model's text as it arrives, passes on text outside of tags, and keeps the payloads inside.
///
/// What is let through and what is read depend on the whole text only, never on where it was cut.
#[derive(Debug)]
pub(crate) struct XmlScanner {
    /// `</ai-agent-NONCE-`
    closing: String,
    /// The tag that was opened last and is not closed.
    inside: Option<Inside>,
    /// True if an unclosed tag was given up: text outside of tags after it is dropped.
    muted: bool,
    /// `<ai-agent-NONCE-`
    opening: String,
    /// The received, undecided text.
    pending: String,
    reading: XmlReading,
    /// Number of opening tags read.
    tags: usize,
    terms: XmlTerms,
    used: BTreeSet<u32>,
}

/// An open tag, before its payload.
#[derive(Debug)]
struct Inside {
    /// `</ai-agent-NONCE-SLOT>`
    close: String,
    /// Length of the pending payload without a closing tag.
    searched: usize,
    slot: String,
    what: Result<Purpose, TagFlaw>,
}

/// The purpose of a valid tag.
#[derive(Debug)]
enum Purpose {
    Call { slot: u32, tool: String },
    FinalReport { format: Option<String> },
    Progress,
}

/// The scanner's finding where one of its tags may begin.
enum Scan {
    /// Text without any of our tags, up to this byte.
    TextTo(usize),
    /// An opening tag, to this byte.
    Opening(usize),
    /// A closing tag that closes nothing, to this byte.
    Closing(usize),
    /// More must arrive to tell.
    Undecided,
}

impl XmlScanner {
    /// A scanner for one message under `terms`.
    #[must_use]
    pub(crate) fn new(terms: XmlTerms) -> Self {
        Self {
            closing: format!("</ai-agent-{}-", terms.nonce),
            inside: None,
            muted: false,
            opening: format!("<ai-agent-{}-", terms.nonce),
            pending: String::new(),
            reading: XmlReading::default(),
            tags: 0,
            terms,
            used: BTreeSet::new(),
        }
    }

    /// Takes the next piece; gives what of the text is certainly outside of tags.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.pending.push_str(piece);
        let from = self.reading.text.len();
        self.advance();
        self.reading.text.get(from..).unwrap_or_default().to_owned()
    }

    /// Ends the text: gives the rest of what is outside of tags, and what was read.
    ///
    /// A final report without its closing tag counts unless the model was cut or refused (000 §11); any other tag needs
    /// both.
    #[must_use]
    pub(crate) fn finish(mut self, stop: StopReason) -> (String, XmlReading) {
        let from = self.reading.text.len();
        while let Some(inside) = self.inside.take() {
            let ended = matches!(stop, StopReason::End | StopReason::Unknown);
            let payload = self.without_fragment(&inside.close);
            match inside.what {
                Ok(Purpose::FinalReport { format })
                    if ended && !written(payload, format.as_deref()).trim().is_empty() =>
                {
                    self.reading.final_report = Some(XmlFinalReport {
                        closed: false,
                        format,
                        payload: payload.to_owned(),
                    });
                    self.pending.clear();
                }
                _ => self.ignore(&inside.slot, TagFlaw::Unclosed),
            }
            self.muted = true;
            self.advance();
        }
        let rest = std::mem::take(&mut self.pending);
        if let Some(tag) = rest.strip_prefix(&self.opening) {
            let slot = tag.split(char::is_whitespace).next().unwrap_or_default();
            self.ignore(slot, TagFlaw::Unclosed);
        } else if rest.contains(BEFORE_NONCE) {
            // Too short to be recognised, and useless as text.
            self.ignore("", TagFlaw::Unclosed);
        } else if !self.muted {
            self.reading.text.push_str(&rest);
        }
        let text = self.reading.text.get(from..).unwrap_or_default().to_owned();
        (text, self.reading)
    }

    /// Returns the pending text without a closing tag at its end: one that was begun and cut, or one that closes nothing.
    fn without_fragment(&self, close: &str) -> &str {
        let pending = self.pending.as_str();
        let Some((payload, _)) = pending.rsplit_once(LEAST_FRAGMENT) else {
            return pending;
        };
        let fragment = pending.get(payload.len()..).unwrap_or_default();
        let fragment = fragment.trim_end();
        let tag = fragment.strip_suffix('>').unwrap_or(fragment);
        let closes_nothing = fragment.starts_with(&self.closing) && !tag.contains('>');
        if close.starts_with(fragment) || (closes_nothing && fragment.len() <= MAX_TAG_BYTES) {
            payload
        } else {
            pending
        }
    }

    /// Takes in a tag that counts for nothing. Those beyond the most tags of a text are one.
    fn ignore(&mut self, slot: &str, flaw: TagFlaw) {
        let last = self.reading.ignored.last();
        if last.is_some_and(|last| last.flaw == TagFlaw::TooMany) {
            return;
        }
        let flaw = match self.reading.ignored.len() {
            MAX_TAGS.. => TagFlaw::TooMany,
            _ => flaw,
        };
        self.reading.ignored.push(XmlIgnored {
            flaw,
            slot: slot.chars().take(32).collect(),
        });
    }

    /// Decides as much of what is pending as can be.
    fn advance(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        loop {
            let rest = pending.get(at..).unwrap_or_default();
            if let Some(inside) = &mut self.inside {
                let unsearched = rest.get(inside.searched..).unwrap_or_default();
                let Some(found) = unsearched.find(&inside.close) else {
                    let kept = (rest.len() + 1).saturating_sub(inside.close.len());
                    inside.searched = floor(rest, kept);
                    break;
                };
                let length = inside.searched + found;
                at += length + inside.close.len();
                let payload = rest.get(..length).unwrap_or_default();
                self.close(payload);
                continue;
            }
            match self.scan(rest) {
                Scan::TextTo(end) => {
                    if !self.muted {
                        let text = rest.get(..end).unwrap_or_default();
                        self.reading.text.push_str(text);
                    }
                    at += end;
                }
                Scan::Opening(end) => {
                    let inner = rest.get(self.opening.len()..end - 1).unwrap_or_default();
                    self.open(&Opening::parse(inner));
                    at += end;
                }
                Scan::Closing(end) => {
                    // What was given up before leaves its closing tags behind.
                    if !self.muted {
                        let inner = rest.get(self.closing.len()..end - 1).unwrap_or_default();
                        self.ignore(inner.trim_end(), TagFlaw::Unopened);
                    }
                    at += end;
                }
                Scan::Undecided => break,
            }
        }
        // Nothing is copied while a long payload arrives.
        pending.drain(..at);
        self.pending = pending;
    }

    fn scan(&self, rest: &str) -> Scan {
        let mut from = 0;
        while let Some(found) = rest.get(from..).and_then(|rest| rest.find('<')) {
            let at = from + found;
            let here = rest.get(at..).unwrap_or_default();
            let is_partial = self.opening.starts_with(here) || self.closing.starts_with(here);
            let (opens, closes) = (
                here.starts_with(&self.opening),
                here.starts_with(&self.closing),
            );
            if is_partial || opens || closes {
                let end = extent(here);
                if is_partial || end != Extent::None {
                    return match end {
                        _ if at > 0 => Scan::TextTo(at),
                        Extent::To(end) if opens => Scan::Opening(end),
                        Extent::To(end) => Scan::Closing(end),
                        Extent::Open | Extent::None => Scan::Undecided,
                    };
                }
            }
            from = at + 1;
        }
        if rest.is_empty() {
            Scan::Undecided
        } else {
            Scan::TextTo(rest.len())
        }
    }

    fn open(&mut self, opening: &Opening) {
        self.tags += 1;
        if self.tags > MAX_TAGS {
            self.ignore(&opening.slot, TagFlaw::TooMany);
            self.muted = true;
            return;
        }
        self.inside = Some(Inside {
            close: format!("{}{}>", self.closing, opening.slot),
            searched: 0,
            slot: opening.slot.clone(),
            what: self.purpose(opening),
        });
    }

    fn purpose(&self, opening: &Opening) -> Result<Purpose, TagFlaw> {
        let slot = opening.slot.as_str();
        let numbers = self.terms.slots.numbers();
        // A slot has one spelling: another one is no slot.
        let number = slot.parse().ok().filter(|n| numbered(*n) == slot);
        let number = number.filter(|n| numbers.contains(n));
        let known = match slot {
            FINAL => true,
            PROGRESS => self.terms.progress,
            _ => number.is_some(),
        };
        if !known {
            return Err(TagFlaw::UnknownSlot);
        }
        if opening.attributes.is_none() {
            return Err(TagFlaw::Attributes);
        }
        let tool = opening.attribute("tool").filter(|tool| !tool.is_empty());
        let tool = tool.or(match slot {
            // A reserved slot is for one tool.
            FINAL => Some(FINAL_REPORT),
            PROGRESS => Some(PROGRESS_REPORT),
            _ => None,
        });
        let tool = tool.ok_or(TagFlaw::NoTool)?;
        let reserved = tool == FINAL_REPORT || (tool == PROGRESS_REPORT && self.terms.progress);
        match (number, slot) {
            (Some(slot), _) if self.used.contains(&slot) => Err(TagFlaw::SlotUsed),
            (Some(_), _) if reserved => Err(TagFlaw::WrongTool),
            (Some(slot), _) => Ok(Purpose::Call {
                slot,
                tool: tool.to_owned(),
            }),
            (None, FINAL) if tool == FINAL_REPORT => Ok(Purpose::FinalReport {
                format: opening.attribute("format").map(str::to_owned),
            }),
            (None, PROGRESS) if tool == PROGRESS_REPORT => Ok(Purpose::Progress),
            (None, _) => Err(TagFlaw::WrongTool),
        }
    }

    /// Takes the payload of the open tag.
    fn close(&mut self, payload: &str) {
        let Some(inside) = self.inside.take() else {
            return;
        };
        let payload = payload.to_owned();
        match inside.what {
            Ok(Purpose::Call { slot, tool }) => {
                self.used.insert(slot);
                self.reading.calls.push(XmlCall {
                    payload,
                    slot,
                    tool,
                });
            }
            Ok(Purpose::FinalReport { format }) => {
                let payload = written(&payload, format.as_deref()).to_owned();
                self.reading.final_report = Some(XmlFinalReport {
                    closed: true,
                    format,
                    payload,
                });
            }
            Ok(Purpose::Progress) => self.reading.progress = Some(payload),
            Err(flaw) => self.ignore(&inside.slot, flaw),
        }
    }
}

/// Returns what the model itself wrote of a report: nothing if it repeats the notice's placeholder for it.
fn written<'p>(payload: &'p str, format: Option<&str>) -> &'p str {
    let is_repeated = format.is_some_and(|format| payload.trim() == placeholder(format));
    if is_repeated { "" } else { payload }
}

/// The last boundary between characters that is not after `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
