//! Folds the lines of Ollama's chat protocol into one message. Does not know requests or transport.

use serde_json::value::RawValue;

use super::wire::{WireCall, WireFunction, WireLine, WireMessage};
use crate::adapter::calls::{CallFields, GatheredCall, MAX_CALLS};
use crate::adapter::draft::{Draft, ResponseOrigin};
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Framing, Progress, document};
use crate::adapter::json::{elements, is_null, object, string};
use crate::adapter::usage::UsageReport;
use crate::message::{FailureCode, StopReason};

const CALLS: &str = "/message/tool_calls";
const FIELDS: CallFields = CallFields {
    arguments: "/function/arguments",
    id: "/id",
    name: "/function/name",
};

/// A message, folded from the lines of a body; a blocking body is one line.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    calls: usize,
    done_reason: Option<String>,
    draft: Draft,
    progress: Progress,
    saw_message: bool,
    usage: UsageReport,
}

impl fold::Fold for Fold {
    const CALLS: &'static str = CALLS;
    const FRAMING: Framing = Framing::Lines;
    const TEXT: &'static str = "/message/content";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn text(&self) -> Option<&str> {
        Some(self.draft.content())
    }

    fn take(&mut self, text: &str, _: Form) -> Result<(), Failure> {
        let line: WireLine<'_> = document(text)?;
        if let Some(report) = line.error.and_then(ErrorReport::of_value) {
            self.progress.report(report);
            return Ok(());
        }
        self.progress.name_model(string(line.model));
        if let Some(reason) = string(line.done_reason).filter(|reason| !reason.is_empty()) {
            self.done_reason = Some(reason);
        }
        UsageReport::note(&mut self.usage.input, line.prompt_eval_count);
        UsageReport::note(&mut self.usage.output, line.eval_count);
        self.progress.usage = self.usage.usage();
        self.progress.done |= line.done.is_some_and(|raw| raw.get() == "true");
        let Some(raw) = line.message else {
            return Ok(());
        };
        let message: WireMessage<'_> =
            object(raw.get()).ok_or_else(|| Failure::new(FailureCode::BodyShape, "/message"))?;
        self.saw_message = true;
        if let Some(raw) = message.content {
            let text = string(Some(raw))
                .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/message/content"))?;
            self.draft.text(&text, None);
        }
        self.draft
            .reasoning(&string(message.thinking).unwrap_or_default());
        let Some(raw) = message.tool_calls else {
            return Ok(());
        };
        let (calls, _) = elements(raw, MAX_CALLS + 1)
            .ok_or_else(|| Failure::new(FailureCode::CallShape, CALLS))?;
        calls.into_iter().try_for_each(|call| self.call(call))
    }

    fn stop(&self) -> StopReason {
        match self.done_reason.as_deref() {
            Some("stop") => StopReason::End,
            Some("length") => StopReason::Length,
            _ => StopReason::Unknown,
        }
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if !self.saw_message {
            return fail(FailureCode::BodyShape, "/message");
        }
        if !self.progress.done {
            return fail(FailureCode::StreamIncomplete, "/done");
        }
        let origin = ResponseOrigin {
            requested: model,
            answered: self.progress.model.as_deref(),
            rules: self.progress.rules,
            version: self.progress.version,
        };
        self.draft.finish(&FIELDS, &origin)
    }
}

impl Fold {
    /// Calls come whole; a line may hold several.
    fn call(&mut self, raw: &RawValue) -> Result<(), Failure> {
        let pointer = format!("{CALLS}/{}", self.calls);
        let shape = |below: &str| Failure::new(FailureCode::CallShape, format!("{pointer}{below}"));
        let call: WireCall<'_> = object(raw.get()).ok_or_else(|| shape(""))?;
        let function: WireFunction<'_> = call
            .function
            .and_then(|raw| object(raw.get()))
            .ok_or_else(|| shape("/function"))?;
        self.calls = self.calls.saturating_add(1);
        // An object, whose text as it stood is validated; servers of the same tongue write its text as a string.
        let arguments = function.arguments.map(|raw| match string(Some(raw)) {
            Some(text) => text,
            None => raw.get().to_owned(),
        });
        self.draft.call(
            GatheredCall {
                arguments: arguments.unwrap_or_default(),
                flaw: is_null(function.arguments)
                    .then_some((FailureCode::ArgsNotObject, FIELDS.arguments)),
                id: string(call.id).unwrap_or_default(),
                name: string(function.name).unwrap_or_default(),
                pointer,
            },
            None,
        );
        Ok(())
    }
}
