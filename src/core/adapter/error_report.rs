//! Classifies an error that a provider reports, in whatever shape. Does not decide whether to retry.

use serde_json::Value;
use serde_json::value::RawValue;

use super::ResponseMeta;
use super::json::{Raw, elements, object, string, whole, wire};
use super::members::others;
use super::overflow::{is_overflow, is_rate};
use super::refused_parameters::refused_parameters;
use super::refused_state::refuses_state;
use super::retry_after::{retry_after_in, retry_after_ms};
use crate::message::{Digest, NamedText, Parameter, ProviderFault, ProviderFaultClass};

/// The most details of an error that are looked at.
const MAX_DETAILS: usize = 32;

/// An error as a provider reports it, in whatever shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorReport {
    /// Its class, if the protocol itself states one.
    class: Option<ProviderFaultClass>,
    /// `code` and `type`, and those of the inner error, in lower case.
    codes: Vec<String>,
    /// Its message, for people.
    message: String,
    /// The HTTP status that it states for itself, inside a response whose own status is no error.
    status: Option<u16>,
    /// True if it names the moderation rules that the request broke.
    moderated: bool,
    /// The place in the request that it names.
    param: Option<String>,
    /// The waits that it asks for in its members, as headers state them.
    waits: Vec<(String, String)>,
}

wire! {
    struct WireError {
        code, detail, details, error, innererror, message, metadata, param, retry_after, status,
        status_code, kind = "type",
    }

    /// One of the details that a Google error carries.
    struct WireDetail {
        reason, retry_delay = "retryDelay",
    }

    struct WireMetadata {
        headers, raw, reasons,
    }
}

/// Codes and types that decide the class, whatever the status. The first row with one of them decides.
const BY_CODE: &[(ProviderFaultClass, &[&str])] = &[
    (
        ProviderFaultClass::Quota,
        &[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "insufficient_balance",
            "insufficient_credits",
            "payment_required",
        ],
    ),
    (
        ProviderFaultClass::ContextOverflow,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "exceed_context_size_error",
            "input_too_long",
            "model_context_window_exceeded",
            "model_max_prompt_tokens_exceeded",
            "prompt_too_long",
            "request_too_large",
            "tokens_limit_reached",
            "too_many_prompt_tokens",
            // Zhipu.
            "1261",
        ],
    ),
    (
        ProviderFaultClass::ContentFilter,
        &[
            "content_filter",
            "data_inspection_failed",
            "responsibleaipolicyviolation",
        ],
    ),
    (
        ProviderFaultClass::Refusal,
        &[
            "content_policy_violation",
            "invalid_prompt",
            "moderation_blocked",
        ],
    ),
    (
        ProviderFaultClass::RateLimit,
        &[
            "rate_limit",
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "ratelimitreached",
            "resource_exhausted",
            "throttlingexception",
            "too_many_requests",
        ],
    ),
    (
        ProviderFaultClass::Auth,
        &[
            "account_deactivated",
            "api_key_invalid",
            "authentication_error",
            "invalid_api_key",
            "invalid_authentication",
            "no_api_key",
            "unauthenticated",
            "unauthorized",
        ],
    ),
    (
        ProviderFaultClass::Timeout,
        &[
            "deadline_exceeded",
            "modeltimeoutexception",
            "request_timeout",
            "timeout",
            "timeout_error",
        ],
    ),
    (
        ProviderFaultClass::Model,
        &[
            "deploymentnotfound",
            "engine_overloaded",
            "model_not_found",
            "overloaded",
            "overloaded_error",
            "tool_use_failed",
        ],
    ),
];

/// Phrases of servers without error codes; in lower case.
const QUOTA_WORDS: &[&str] = &[
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credits",
];
const AUTH_WORDS: &[&str] = &[
    "api key not valid",
    "incorrect api key",
    "invalid api key",
    "no auth credentials",
];

/// The words of a 403 that is about the key. Another 403 is about the model, the region or the content.
const KEY_WORDS: &[&str] = &[
    "access token",
    "api key",
    "api-key",
    "apikey",
    "api_key",
    "authentication",
    "credential",
    "security token",
    "unauthenticated",
    "unregistered callers",
];

/// Statuses of a request that would fail again: refused as it is, or sent where nothing takes it.
const PERMANENT_STATUSES: [u16; 9] = [400, 403, 404, 405, 410, 415, 422, 451, 501];
/// Statuses of a request that may hold a parameter which the provider does not take.
const PARAMETER_STATUSES: [u16; 2] = [400, 422];
/// Statuses of a request that may hold state which the provider does not take, or which it stored no longer.
const STATE_STATUSES: [u16; 3] = [400, 404, 422];
/// Codes of such statuses that are about state alone.
const STATE_CODES: &[&str] = &["invalid_encrypted_content"];
/// Codes of such statuses that are about what the model wrote, which it writes otherwise the next time.
const OF_A_SAMPLE: &[&str] = &[
    "json_validate_failed",
    "output_parse_failed",
    "tool_use_failed",
];
/// Codes of a missing model.
const UNKNOWN_MODEL_CODES: &[&str] = &["deploymentnotfound", "model_not_found"];
/// The words of a 404 that is about the model. Another 404 is a wrong path.
const MODEL_WORDS: &[&str] = &["deployment", "endpoints found", "model"];
/// The words of a 400 that is about the model.
const NO_MODEL_WORDS: &[&str] = &["is not a valid model", "model not found"];

impl ErrorReport {
    /// The report in an `error` field; none if the field is empty.
    pub(super) fn of_value(raw: &RawValue) -> Option<Self> {
        if let Some(text) = string(Some(raw)) {
            return (!text.trim().is_empty()).then(|| Self::of_text(&text));
        }
        let error: WireError<'_> = object(raw.get())?;
        let report = Self::of_error(&error);
        (report != Self::default()).then_some(report)
    }

    /// The report that a body is: `{error}`, a list of them, a bare error object, or text.
    pub(super) fn of_body(text: &str) -> Self {
        let listed = serde_json::from_str::<&RawValue>(text)
            .ok()
            .and_then(|raw| elements(raw, 1))
            .and_then(|(first, _)| first.first().map(|raw| raw.get()));
        let text = listed.unwrap_or(text);
        let Some(body) = object::<WireError<'_>>(text) else {
            return Self::of_text(text);
        };
        let report = body
            .error
            .and_then(Self::of_value)
            .or_else(|| Some(Self::of_error(&body)).filter(|report| !report.message.is_empty()))
            .unwrap_or_else(|| Self::of_text(text));
        let waits = report.waits.into_iter().chain(wait(body.retry_after));
        Self {
            waits: waits.collect(),
            ..report
        }
    }

    /// A report that has only words.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            message: text.trim().chars().take(2048).collect(),
            ..Self::default()
        }
    }

    /// The report with a code that was stated beside its body.
    pub(super) fn named(mut self, code: &str) -> Self {
        if !code.is_empty() {
            self.codes.insert(0, code.to_ascii_lowercase());
        }
        self
    }

    /// The report of that class, whatever its words.
    pub(super) fn of_class(mut self, class: ProviderFaultClass) -> Self {
        self.class = Some(class);
        self
    }

    fn of_error(error: &WireError<'_>) -> Self {
        let inner: WireError<'_> = error
            .innererror
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        let metadata: WireMetadata<'_> = error
            .metadata
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        let mut message = string(error.message)
            .or_else(|| string(error.detail))
            .or_else(|| error.detail.map(|raw| raw.get().to_owned()))
            .unwrap_or_default();
        if let Some(upstream) = string(metadata.raw) {
            message.push_str(": ");
            message.push_str(&upstream);
        }
        let details: Vec<WireDetail<'_>> = error
            .details
            .and_then(|raw| elements(raw, MAX_DETAILS))
            .map_or_else(Vec::new, |(details, _)| details)
            .into_iter()
            .filter_map(|detail| object(detail.get()))
            .collect();
        let reasons = details.iter().map(|detail| detail.reason);
        let delays = details.iter().filter_map(|detail| wait(detail.retry_delay));
        let headers = metadata.headers.map(|raw| others(raw.get(), &[]));
        let headers = headers.unwrap_or_default().into_iter();
        let headers = headers.filter_map(|(name, raw)| Some((name, string(Some(raw))?)));
        let waits = delays.chain(wait(error.retry_after)).chain(headers);
        let waits = waits.collect();
        Self {
            class: None,
            codes: [error.code, error.kind, inner.code, error.status]
                .into_iter()
                .chain(reasons)
                .filter_map(string)
                .map(|code| code.to_ascii_lowercase())
                .filter(|code| !code.is_empty())
                .collect(),
            message,
            status: [error.code, error.status_code, error.status]
                .into_iter()
                .find_map(status),
            moderated: metadata.reasons.is_some(),
            param: string(error.param),
            waits,
        }
    }

    /// The class, from the report and its status.
    fn class(&self, http: u16) -> ProviderFaultClass {
        let named = BY_CODE
            .iter()
            .find(|(_, codes)| self.codes.iter().any(|code| codes.contains(&code.as_str())));
        if let Some((class, _)) = named {
            return *class;
        }
        let status = if http >= 400 {
            http
        } else {
            self.status.unwrap_or(0)
        };
        let words = self.message.to_ascii_lowercase();
        let contains_any = |list: &[&str]| list.iter().any(|phrase| words.contains(phrase));
        match status {
            402 => ProviderFaultClass::Quota,
            403 if self.moderated => ProviderFaultClass::ContentFilter,
            401 => ProviderFaultClass::Auth,
            403 if contains_any(KEY_WORDS) => ProviderFaultClass::Auth,
            408 | 504 | 522 | 524 => ProviderFaultClass::Timeout,
            429 => ProviderFaultClass::RateLimit,
            // Unknown models and overload: their words may speak of anything.
            404 | 502 | 503 | 529 => ProviderFaultClass::Model,
            _ if is_overflow(&words) => ProviderFaultClass::ContextOverflow,
            _ if contains_any(QUOTA_WORDS) => ProviderFaultClass::Quota,
            _ if contains_any(AUTH_WORDS) => ProviderFaultClass::Auth,
            413 if is_rate(&words) => ProviderFaultClass::RateLimit,
            413 => ProviderFaultClass::ContextOverflow,
            _ => ProviderFaultClass::Model,
        }
    }

    /// True if it reports a missing model: by its code, or by status 404 or 400 and a phrase for that.
    fn knows_no_such_model(&self, http: u16) -> bool {
        let named = |code: &String| UNKNOWN_MODEL_CODES.contains(&code.as_str());
        if self.codes.iter().any(named) {
            return true;
        }
        let status = if http >= 400 { Some(http) } else { self.status };
        let words = self.message.to_ascii_lowercase();
        let contains_any = |list: &[&str]| list.iter().any(|phrase| words.contains(phrase));
        status == Some(404) && contains_any(MODEL_WORDS)
            || status == Some(400) && contains_any(NO_MODEL_WORDS)
    }

    /// True if the same request would fail again, by its status, unless a code says otherwise.
    fn is_permanent(&self, http: u16) -> bool {
        let by_code = BY_CODE.iter().flat_map(|(_, codes)| codes.iter());
        let mut otherwise = by_code.chain(OF_A_SAMPLE);
        let status = if http >= 400 { Some(http) } else { self.status };
        status.is_some_and(|status| PERMANENT_STATUSES.contains(&status))
            && !otherwise.any(|code| self.codes.iter().any(|own| own == code))
    }

    /// The fault of a response, with the wait that its head asks for, else its members, else its words.
    pub(super) fn fault_of(self, meta: &ResponseMeta) -> ProviderFault {
        let members = ResponseMeta {
            headers: self.waits.clone(),
            ..*meta
        };
        let retry_after_ms = retry_after_ms(meta)
            .or_else(|| retry_after_ms(&members))
            .or_else(|| retry_after_in(&self.message, meta.received_unix_ms));
        ProviderFault {
            retry_after_ms,
            ..self.into_fault(meta.status)
        }
    }

    /// The fault, for a response of HTTP status `http`.
    pub(super) fn into_fault(self, http: u16) -> ProviderFault {
        let class = self.class.unwrap_or_else(|| self.class(http));
        let unknown_model = class == ProviderFaultClass::Model && self.knows_no_such_model(http);
        let permanent =
            class == ProviderFaultClass::Model && !unknown_model && self.is_permanent(http);
        let status = if http >= 400 { Some(http) } else { self.status };
        let status = status.filter(|_| permanent);
        let is_one_of = |statuses: &[u16]| status.is_some_and(|s| statuses.contains(&s));
        let mut codes = self.codes.iter();
        let is_of_state = codes.any(|code| STATE_CODES.contains(&code.as_str()))
            || refuses_state(self.param.as_deref(), &self.message);
        let parameters = if is_of_state && is_one_of(&STATE_STATUSES) {
            vec![Parameter::ProviderState]
        } else if is_one_of(&PARAMETER_STATUSES) {
            refused_parameters(self.param.as_deref(), &self.message)
        } else {
            Vec::new()
        };
        let mut message = self.message;
        if message.is_empty() {
            message = format!("HTTP {http} without a message");
        }
        if let Some(code) = self.codes.first().filter(|code| !message.contains(*code)) {
            message = format!("{code}: {message}");
        }
        ProviderFault {
            parameters,
            permanent,
            status: Some(http),
            unknown_model,
            ..ProviderFault::new(class, message)
        }
    }
}

/// A wait in seconds or with a unit, as a header states it.
fn wait(raw: Raw<'_>) -> Option<(String, String)> {
    let stated = string(raw).or_else(|| Some(raw?.get().to_owned()))?;
    Some(("retry-after".to_owned(), stated))
}

/// An HTTP error status, as a number or as its digits.
fn status(raw: Raw<'_>) -> Option<u16> {
    let number = whole(raw).or_else(|| string(raw)?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|status| (400..600).contains(status))
}

/// The properties that say which server and which model it is. The chat template, which may be long, is named by its hash.
pub fn server_properties(body: &[u8]) -> Vec<NamedText> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Vec::new();
    };
    let text = |pointer: &str| match body.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let template = text("/chat_template").map(|text| Digest::of(text.as_bytes()).to_string());
    let found = [
        ("build_info", text("/build_info")),
        ("chat_template", template),
        ("model_alias", text("/model_alias")),
        ("model_path", text("/model_path")),
        ("n_ctx", text("/default_generation_settings/n_ctx")),
    ];
    let found = found.into_iter();
    found
        .filter_map(|(name, value)| Some(NamedText::new(name, &value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_property_of_the_expected_kind_is_left_out() {
        let check = |body: &str, expect: &[&str]| {
            let found = server_properties(body.as_bytes());
            let found: Vec<String> = found
                .iter()
                .map(|one| format!("{}={}", one.name, one.value))
                .collect();
            assert_eq!(found, expect, "{body}");
        };
        check("no JSON", &[]);
        check(r#"{"build_info":[1],"model_path":null}"#, &[]);
        let template = Digest::of(b"{{ t }}");
        check(
            r#"{"build_info":"b1-abc","chat_template":"{{ t }}","default_generation_settings":{"n_ctx":4096},"model_path":"m.gguf"}"#,
            &[
                "build_info=b1-abc",
                &format!("chat_template={template}"),
                "model_path=m.gguf",
                "n_ctx=4096",
            ],
        );
    }
}
