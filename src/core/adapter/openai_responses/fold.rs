//! Folds a response object, or its events, into one message. Does not know requests or transport.

use super::items::{FIELDS, Items, OUTPUT, WireDetails, WireEvent, WireUsage};
use crate::adapter::blocks::UsageReport;
use crate::adapter::draft::ResponseOrigin;
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Progress, document};
use crate::adapter::json::{object, string};
use crate::message::{FailureCode, StopReason};

/// A response, folded from its object or from the events of a stream.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    /// The reason, if it is incomplete.
    incomplete: Option<String>,
    items: Items,
    progress: Progress,
    status: Option<String>,
    /// True if the stream reported how the response ended.
    terminal: bool,
}

impl fold::Fold for Fold {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.terminal || self.progress.done
    }

    fn text(&self) -> Option<&str> {
        self.items.only_text()
    }

    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure> {
        let event: WireEvent<'_> = document(text)?;
        let kind = string(event.kind).unwrap_or_default();
        if kind == "error" {
            let own = event.error.and_then(ErrorReport::of_value);
            self.progress
                .report(own.unwrap_or_else(|| ErrorReport::of_body(text)));
            return Ok(());
        }
        if form == Form::Whole {
            return self.response(&event);
        }
        match kind.as_str() {
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let raw = event
                    .response
                    .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/response"))?;
                let response: WireEvent<'_> = object(raw.get())
                    .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/response"))?;
                self.terminal = true;
                if self.status.is_none() {
                    self.status = kind.strip_prefix("response.").map(str::to_owned);
                }
                self.response(&response)
            }
            "response.created" | "response.in_progress" => {
                let named = event.response.and_then(|raw| {
                    let response: WireEvent<'_> = object(raw.get())?;
                    string(response.model)
                });
                self.progress.name_model(named);
                Ok(())
            }
            _ => {
                if let Some(report) = event.error.and_then(ErrorReport::of_value) {
                    self.progress.report(report);
                }
                self.items.take_event(&kind, &event)
            }
        }
    }

    fn stop(&self) -> StopReason {
        if self.items.hold_refusal() {
            return StopReason::Refusal;
        }
        match (self.status.as_deref(), self.incomplete.as_deref()) {
            (_, Some("max_output_tokens" | "max_tokens")) => StopReason::Length,
            (_, Some("content_filter")) => StopReason::ContentFilter,
            (Some("completed" | "complete"), None) => StopReason::End,
            _ => StopReason::Unknown,
        }
    }

    /// Whatever kept the response from its end.
    fn is_cut(&self) -> bool {
        self.stop() == StopReason::Length || self.status.as_deref() == Some("incomplete")
    }

    fn finish(mut self, form: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if form == Form::Piece && !self.terminal {
            return fail(FailureCode::StreamIncomplete, "/status");
        }
        match self.status.as_deref() {
            // The response runs in the background: the part so far is no message yet.
            Some("queued" | "in_progress") => {
                return fail(FailureCode::StreamIncomplete, "/status");
            }
            Some(status @ ("failed" | "cancelled")) => {
                let report = ErrorReport::of_text(&format!("the response is {status}"));
                return Folded::Fault(report);
            }
            _ => {}
        }
        if !self.items.is_known() {
            return fail(FailureCode::BodyShape, OUTPUT);
        }
        let origin = ResponseOrigin {
            requested: model,
            answered: self.progress.model.as_deref(),
            rules: self.progress.rules,
        };
        match self.items.draft() {
            Ok(draft) => draft.finish(&FIELDS, &origin),
            Err(failure) => Folded::Rejected(failure),
        }
    }
}

impl Fold {
    /// Takes a response object: a blocking body, or the end of a stream.
    fn response(&mut self, response: &WireEvent<'_>) -> Result<(), Failure> {
        if let Some(report) = response.error.and_then(ErrorReport::of_value) {
            self.progress.report(report);
        }
        self.progress.name_model(string(response.model));
        if let Some(status) = string(response.status).filter(|status| !status.is_empty()) {
            self.status = Some(status);
        }
        let details: WireDetails<'_> = response
            .incomplete_details
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        self.incomplete = string(details.reason);
        self.meter(response);
        match response.output {
            Some(raw) => self.items.take_list(raw),
            None => Ok(()),
        }
    }

    fn meter(&mut self, response: &WireEvent<'_>) {
        let wire: Option<WireUsage<'_>> = response.usage.and_then(|raw| object(raw.get()));
        let Some(wire) = wire else {
            return;
        };
        let details: WireDetails<'_> = wire
            .input_tokens_details
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        let mut report = UsageReport {
            input_holds_cache: true,
            ..UsageReport::default()
        };
        UsageReport::note(&mut report.cache_read, details.cached_tokens);
        UsageReport::note(&mut report.input, wire.input_tokens);
        UsageReport::note(&mut report.output, wire.output_tokens);
        self.progress.usage = report.usage();
    }
}
