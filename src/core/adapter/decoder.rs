//! Decodes one response body in any framing, within size limits. Does not know any wire shape; a fold does.

use super::documents::{Documents, LinesBody};
use super::error_report::ErrorReport;
use super::fold::{Failure, Fold, Folded, Form, Framing, Rules, is_document, is_lines, take_piece};
use super::frames::{Frame, Frames};
use super::parameter_types::ParameterTypes;
use super::push_decoder::PushDecoder;
use super::retry_after::retry_after_ms;
use super::sse::{LineTooLong, MAX_LINE_BYTES, SseEvent, SseSplitter};
use super::surrogates::without_lonely_halves;
use super::thinking::{after_reasoning, arriving_reasoning, without_reasoning};
use super::{Decoded, ResponseMeta};
use crate::contract::recorded_url;
use crate::message::{
    AdapterStatus, AgentMessage, BOM, DigestBuilder, FailureCode, ProtocolAdapterResult,
    ProviderFault, ProviderFaultClass, ServedBy, StopReason, ToolInvocation,
};

/// The most bytes of one response.
pub(super) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// The most bytes of an error body that are read; the rest only counts in its hash.
const MAX_ERROR_BYTES: usize = 1024 * 1024;
/// Maximum bytes of a body that is no answer in the fault's message.
const OPENING_BYTES: usize = 512;
const NOT_AN_OBJECT: &str = "the body is no JSON object";
/// A gateway's or another program's page, where a model's server was to answer.
const WEB_PAGE: &str = "the body is a web page (text/html), no JSON object: base_url leads to something else than the model's API";
/// Bytes kept from the end of a response.
const TAIL_BYTES: usize = 512;

/// The limits of a body; tests have smaller ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub body_bytes: usize,
    pub line_bytes: usize,
}

/// Judges one response, whatever its protocol: frames the bytes, and hands the documents to the protocol's fold.
#[derive(Debug)]
pub(super) struct Decoder<F> {
    body: Body,
    fold: F,
    hashed: DigestBuilder,
    limits: Limits,
    meta: ResponseMeta,
    model: String,
    /// The first bytes, for a fault's message.
    opening: Vec<u8>,
    received: usize,
    /// The last bytes, for what a failure at the end shows.
    tail: Vec<u8>,
    too_large: bool,
    version: &'static str,
}

#[derive(Debug)]
enum Body {
    /// Only white space so far.
    Undecided(Vec<u8>),
    /// One JSON document, or something that is none.
    Document(Vec<u8>),
    /// One JSON document after another.
    Lines(LinesBody),
    /// Events.
    Stream(SseSplitter),
    /// The body of a response with an error status.
    Error(Vec<u8>),
}

impl<F: Fold + Send> Decoder<F> {
    pub(super) fn new(version: &'static str, meta: ResponseMeta, model: &str) -> Self {
        let limits = Limits {
            body_bytes: MAX_BODY_BYTES,
            line_bytes: MAX_LINE_BYTES,
        };
        Self::within(limits, version, meta, model)
    }

    pub(super) fn within(
        limits: Limits,
        version: &'static str,
        meta: ResponseMeta,
        model: &str,
    ) -> Self {
        let body = if (200..300).contains(&meta.status) {
            Body::Undecided(Vec::new())
        } else {
            Body::Error(Vec::new())
        };
        let fold = F::default();
        Self {
            body,
            fold,
            hashed: DigestBuilder::new(),
            limits,
            meta,
            model: model.to_owned(),
            opening: Vec::new(),
            received: 0,
            tail: Vec::new(),
            too_large: false,
            version,
        }
    }

    pub(super) fn holding(mut self, rules: Rules) -> Self {
        self.fold.progress().rules = rules;
        self
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.is_settled() {
            return;
        }
        match &mut self.body {
            Body::Undecided(kept) => {
                kept.extend_from_slice(bytes);
                if let Some(is_document) = is_document(kept, F::FRAMING) {
                    let kept = std::mem::take(kept);
                    if is_document && is_lines(&kept, F::FRAMING) {
                        let kept = kept.strip_prefix(BOM).unwrap_or(&kept);
                        let mut lines = LinesBody::default();
                        lines.push(kept, &mut self.fold);
                        self.body = Body::Lines(lines);
                    } else if is_document {
                        self.body = Body::Document(kept);
                    } else {
                        self.body = Body::Stream(SseSplitter::new(self.limits.line_bytes));
                        self.stream(&kept);
                    }
                }
            }
            Body::Document(kept) | Body::Error(kept) => kept.extend_from_slice(bytes),
            Body::Lines(lines) => lines.push(bytes, &mut self.fold),
            Body::Stream(_) => self.stream(bytes),
        }
    }

    /// Takes a body that is no event stream; none if it is nothing that the protocol knows.
    fn document(&mut self, body: &[u8]) -> Option<Form> {
        let first = body.trim_ascii_start().first().copied();
        match (F::FRAMING, first) {
            (Framing::Frames, Some(0 | b'A')) => {
                self.frames(body);
                Some(Form::Piece)
            }
            (Framing::Array, Some(b'[')) => Some(self.array(body)),
            (_, Some(b'{')) => {
                let taken = std::str::from_utf8(body)
                    .map_err(|_| Failure::new(FailureCode::BodyInvalidJson, ""))
                    .and_then(|text| {
                        let taken = self.fold.take(text, Form::Whole);
                        taken.map_err(|failure| failure.in_document(text))
                    });
                if let Err(failure) = taken {
                    self.fold.progress().fail(failure);
                }
                Some(Form::Whole)
            }
            _ => None,
        }
    }

    /// Takes the documents of a body that is an array of them.
    fn array(&mut self, body: &[u8]) -> Form {
        let Ok(text) = std::str::from_utf8(body) else {
            let failure = Failure::new(FailureCode::BodyInvalidJson, "");
            self.fold.progress().fail(failure);
            return Form::Piece;
        };
        for document in Documents::array(text) {
            let taken = document.and_then(|text| take_piece(&mut self.fold, text));
            if let Err(failure) = taken {
                self.fold.progress().fail(failure);
                break;
            }
            if self.fold.is_done() {
                break;
            }
        }
        Form::Piece
    }

    /// Takes the frames of a binary stream.
    fn frames(&mut self, body: &[u8]) {
        for frame in Frames::of(body) {
            let taken = frame.and_then(|frame| match frame {
                Frame::Event { kind, payload } => {
                    let text = std::str::from_utf8(&payload)
                        .map_err(|_| Failure::new(FailureCode::BodyInvalidJson, ""))?;
                    let text = self.fold.progress().halves.join(text);
                    self.fold.take_named(&kind, &text)
                }
                Frame::Exception { kind, payload } => {
                    let text = String::from_utf8_lossy(&payload);
                    let report = ErrorReport::of_body(&text).named(&kind);
                    self.fold.progress().report(report);
                    Ok(())
                }
            });
            if let Err(failure) = taken {
                self.fold.progress().fail(failure);
                return;
            }
        }
    }

    fn overflow(&mut self) {
        self.too_large = true;
        self.body = Body::Undecided(Vec::new());
        self.fold
            .progress()
            .fail(Failure::new(FailureCode::TooLarge, ""));
    }

    /// Takes what of `bytes` belongs to the message: up to `[DONE]`, or up to a line that is too long.
    fn stream(&mut self, mut bytes: &[u8]) {
        while !self.is_settled()
            && let Body::Stream(splitter) = &mut self.body
        {
            match splitter.next(&mut bytes) {
                Ok(Some(event)) => {
                    if let Err(failure) = self.event(&event) {
                        self.fold.progress().fail(failure);
                    }
                }
                Ok(None) => return,
                Err(LineTooLong) => self.overflow(),
            }
        }
    }

    fn event(&mut self, event: &SseEvent) -> Result<(), Failure> {
        let text = std::str::from_utf8(&event.data)
            .map_err(|_| Failure::new(FailureCode::BodyInvalidJson, ""))?;
        if event.is_error {
            self.fold.progress().report(ErrorReport::of_body(text));
            return Ok(());
        }
        match self.data(text) {
            // Servers that leave out the blank line between events give several chunks in one.
            Err(_)
                if text.contains('\n')
                    && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() =>
            {
                text.lines().try_for_each(|line| self.data(line))
            }
            taken => taken,
        }
    }

    fn data(&mut self, text: &str) -> Result<(), Failure> {
        match text.trim() {
            // Some servers send fillers as data.
            "" | "null" => Ok(()),
            text if text.starts_with(':') => Ok(()),
            "[DONE]" => {
                let progress = self.fold.progress();
                progress.done = true;
                progress.ended |= F::DONE_ENDS;
                Ok(())
            }
            text => take_piece(&mut self.fold, text),
        }
    }

    /// The verdict; `whole` is the body where it is one document.
    fn verdict(mut self, form: Form, whole: Option<&str>) -> Decoded {
        let tail = std::mem::take(&mut self.tail);
        let raw_hash = self.hashed.digest();
        let stop = self.fold.stop();
        let is_cut = self.fold.is_cut();
        let progress = self.fold.progress();
        progress.judge_end(form, F::STOP);
        progress.rules = progress.rules.stopped(stop, is_cut);
        let usage = progress.usage;
        let stop_word = progress.unknown_word(stop);
        let lost_call = progress.lost_call(stop);
        let tolerated = progress.tolerated();
        let (named, fingerprint) = (progress.model.as_deref(), progress.fingerprint.as_deref());
        let served_by = ServedBy::of(&self.model, named, fingerprint);
        let result = |status| ProtocolAdapterResult {
            adapter_version: self.version.to_owned(),
            canonical_message: None,
            excerpt: None,
            failure_code: None,
            pointer: None,
            raw_hash,
            repair: None,
            status,
            stop,
            stop_word: stop_word.clone(),
            served_by: served_by.clone(),
            tag_warnings: Vec::new(),
            usage,
            withheld: None,
        };
        let of_message = |message: AgentMessage, status, repair| {
            let message = without_lonely_halves(without_reasoning(message, F::THINKS));
            let is_text = message.tool_calls.is_empty() && !message.is_blank();
            let lost_call = lost_call.clone().filter(|_| is_text);
            let base = result(status);
            Decoded::Message(Box::new(ProtocolAdapterResult {
                canonical_message: Some(message),
                repair,
                stop: lost_call.as_ref().map_or(stop, |_| StopReason::Unknown),
                stop_word: lost_call.or(base.stop_word),
                ..base
            }))
        };
        match self.fold.finish(form, &self.model).tolerating(tolerated) {
            Folded::Message(message) => of_message(message, AdapterStatus::Native, None),
            Folded::Recovered(message, repair) => {
                of_message(message, AdapterStatus::Recovered, Some(repair))
            }
            Folded::Rejected(failure) if failure.code.is_of_server() => Decoded::Fault {
                fault: failure.of_server(raw_hash, self.meta.status),
                usage,
            },
            Folded::Rejected(failure) => Decoded::Message(Box::new(ProtocolAdapterResult {
                excerpt: Some(failure.shown(whole, &tail)),
                failure_code: Some(failure.code),
                pointer: Some(failure.pointer),
                ..result(AdapterStatus::Rejected)
            })),
            Folded::Fault(report) => Decoded::Fault {
                fault: ProviderFault {
                    raw_hash: Some(raw_hash),
                    ..report.fault_of(&self.meta)
                },
                usage,
            },
        }
    }

    /// The verdict over a response whose status is not 2xx.
    fn error_status(self, body: &[u8]) -> Decoded {
        if self.meta.status < 400 {
            return self.redirect();
        }
        let text = String::from_utf8_lossy(body.strip_prefix(BOM).unwrap_or(body));
        // Some servers answer a streaming request with the error as an event.
        let event = || {
            let mut rest = body;
            let mut splitter = SseSplitter::new(self.limits.line_bytes);
            let first = splitter.next(&mut rest).ok()?;
            String::from_utf8(first.or_else(|| splitter.tail().ok()?)?.data).ok()
        };
        let report = if text.trim_start().starts_with(['{', '[', '<']) {
            F::error_body(&text)
        } else {
            F::error_body(event().as_deref().unwrap_or(&text))
        };
        Decoded::Fault {
            fault: ProviderFault {
                raw_hash: Some(self.hashed.digest()),
                ..report.fault_of(&self.meta)
            },
            usage: None,
        }
    }

    /// The verdict over a redirect, which is not followed: it would take the key along. The same request is
    /// redirected again. The page that comes with it is not quoted: it may name the place with what an
    /// address does not show.
    fn redirect(mut self) -> Decoded {
        let why = match self.meta.values("location").next() {
            Some(to) => {
                self.opening.clear();
                let to = recorded_url(to);
                format!("the server redirects to {to}; set base_url to where its API is")
            }
            None => "the status is neither success nor error".to_owned(),
        };
        let mut decoded = self.no_answer(&why);
        if let Decoded::Fault { fault, .. } = &mut decoded {
            fault.permanent = true;
        }
        decoded
    }

    /// The verdict over something that is no answer of this protocol, and not the model's doing.
    fn no_answer(self, why: &str) -> Decoded {
        let opening = String::from_utf8_lossy(&self.opening);
        let message = match opening.trim() {
            "" => why.to_owned(),
            opening => format!("{why}: {opening}"),
        };
        Decoded::Fault {
            fault: ProviderFault {
                raw_hash: Some(self.hashed.digest()),
                retry_after_ms: retry_after_ms(&self.meta),
                status: Some(self.meta.status),
                ..ProviderFault::new(ProviderFaultClass::InvalidResponse, message)
            },
            usage: None,
        }
    }
}

impl<F: Fold + Send> PushDecoder for Decoder<F> {
    /// Takes the next bytes. Those within the bound are validated before those beyond it count, so that the verdict does
    /// not depend on which of them arrived together.
    fn push(&mut self, bytes: &[u8]) {
        self.hashed.update(bytes);
        let room = OPENING_BYTES.saturating_sub(self.opening.len());
        self.opening.extend(bytes.iter().take(room));
        let last = bytes.len().saturating_sub(TAIL_BYTES);
        self.tail.extend(bytes.get(last..).unwrap_or_default());
        let beyond = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..beyond);
        if let Body::Error(kept) = &mut self.body {
            let room = MAX_ERROR_BYTES.saturating_sub(kept.len());
            kept.extend(bytes.iter().take(room));
            return;
        }
        let room = self.limits.body_bytes.saturating_sub(self.received);
        let (within, beyond) = bytes.split_at(room.min(bytes.len()));
        self.received += within.len();
        self.take(within);
        if !beyond.is_empty() && !self.is_settled() {
            self.overflow();
        }
    }

    fn know(&mut self, types: ParameterTypes) {
        self.fold.progress().types = types;
    }

    fn is_settled(&self) -> bool {
        self.too_large || self.fold.is_done()
    }

    fn text(&self) -> Option<&str> {
        match self.fold.text()? {
            text if F::THINKS => Some(after_reasoning(text)),
            text => Some(text),
        }
    }

    fn reasoning(&self) -> Option<&str> {
        let own = self.fold.reasoning().filter(|text| !text.is_empty());
        own.or_else(|| arriving_reasoning(self.fold.text().filter(|_| F::THINKS)?))
    }

    fn call(&mut self, at: usize) -> Option<ToolInvocation> {
        let progress = self.fold.progress();
        if progress.has_failed() || progress.fault.is_some() {
            return None;
        }
        let model = progress.model.clone();
        let model = model.as_deref().unwrap_or(&self.model);
        self.fold.call(at)?.whole(model)
    }

    fn finish(mut self: Box<Self>) -> Decoded {
        let mut whole = None;
        let form = match std::mem::replace(&mut self.body, Body::Undecided(Vec::new())) {
            _ if self.too_large => Form::Piece,
            Body::Error(body) => return self.error_status(&body),
            Body::Undecided(_) => return self.no_answer("the body is empty"),
            Body::Document(body) => {
                let body = body.strip_prefix(BOM).unwrap_or(&body);
                match self.document(body) {
                    Some(Form::Whole) => {
                        whole = Some(String::from_utf8_lossy(body).into_owned());
                        Form::Whole
                    }
                    Some(Form::Piece) => Form::Piece,
                    None if body.trim_ascii_start().starts_with(b"<") => {
                        return self.no_answer(WEB_PAGE);
                    }
                    None => return self.no_answer(NOT_AN_OBJECT),
                }
            }
            Body::Lines(lines) => {
                lines.finish(&mut self.fold);
                Form::Piece
            }
            Body::Stream(splitter) => {
                let known = splitter.saw_field();
                match splitter.tail() {
                    Ok(None) if !known => return self.no_answer("the body is no event stream"),
                    Ok(Some(event)) if !self.fold.is_done() => {
                        if let Err(failure) = self.event(&event) {
                            self.fold.progress().fail(failure.at_the_end());
                        }
                    }
                    Ok(_) => {}
                    Err(LineTooLong) => self.overflow(),
                }
                Form::Piece
            }
        };
        self.verdict(form, whole.as_deref())
    }
}
