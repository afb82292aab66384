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
    /// True if the response says that it is not whole.
    is_incomplete: bool,
    items: Items,
    progress: Progress,
}

impl fold::Fold for Fold {
    const STOP: &'static str = "/status";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn text(&self) -> Option<&str> {
        self.items.only_text()
    }

    fn reasoning(&self) -> Option<&str> {
        self.items.only_reasoning()
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
            // The protocol lets a whole response leave its status out.
            self.progress.ended = true;
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
                self.progress.done = true;
                self.is_incomplete = kind == "response.incomplete";
                self.progress
                    .stopped(kind.strip_prefix("response.").map(str::to_owned));
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

    fn refuses(&self) -> bool {
        self.items.hold_refusal()
    }

    /// A message that is not whole by its own word is cut, whatever the response says.
    fn stop(&mut self) -> StopReason {
        match self.progress.stop() {
            _ if self.refuses() => StopReason::Refusal,
            StopReason::End if self.is_incomplete || self.items.hold_cut_message() => {
                StopReason::Length
            }
            stop => stop,
        }
    }

    fn is_cut(&self) -> bool {
        self.is_incomplete
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
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
        self.progress.stopped(string(response.status));
        self.is_incomplete |= self.progress.stop_word.as_deref() == Some("incomplete");
        let details: WireDetails<'_> = response
            .incomplete_details
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        let reason = string(details.reason);
        self.is_incomplete |= reason.is_some();
        self.progress.stopped(reason);
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
