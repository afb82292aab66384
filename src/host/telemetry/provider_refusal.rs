//! The provider settings that explain why a server refused a request. Reads a view; asks no server.

use monolith_core::contract::{ProviderTerms, ProviderType};
use monolith_core::kernel::OutcomeCode;
use monolith_core::message::{Parameter, ProviderFaultClass, StopReason};
use monolith_core::view::{LastRequest, Request, RequestEnd, RunView, has_web_page};

/// The provider that refused the last request although no key was sent to it; `None` if one may have been. A header may
/// hold a key, and where the address is in a variable the usual key may have been sent.
pub fn keyless(view: &RunView) -> Option<&str> {
    let (name, terms) = refusing(view)?;
    let sends_none =
        terms.api_key_env.is_none() && terms.base_url.is_some() && terms.header_names.is_empty();
    sends_none.then_some(name)
}

/// The variable that the last request's provider usually takes its key from, where the request was refused and nothing says that
/// the variable was set.
pub(crate) fn unsure_key(view: &RunView) -> Option<&str> {
    let (_, terms) = refusing(view)?;
    let variable = terms.api_key_env.as_deref()?;
    (terms.provider_type.usual_key_env() == Some(variable)).then_some(variable)
}

/// The variable that holds the key which the last request's provider refused; `None` if nothing names one.
pub fn refused_key_of(view: &RunView) -> Option<&str> {
    let (_, terms) = refusing(view)?;
    terms.api_key_env.as_deref()
}

/// The provider whose server has nothing at the address of the last request.
pub fn misled(view: &RunView) -> Option<&str> {
    let request = last_attempt(view)?;
    provider(view, request)
        .filter(|_| is_not_found(request))
        .map(|(name, _)| name)
}

/// The provider to whose server the last request came to no connection.
pub fn silent(view: &RunView) -> Option<&str> {
    let request = last_attempt(view)?;
    let is_silent = matches!(
        request.end,
        Some(RequestEnd::Failed {
            class: ProviderFaultClass::Network,
            ..
        })
    );
    provider(view, request)
        .filter(|_| is_silent)
        .map(|(name, _)| name)
}

/// The same, where it had answered a request of the run before: it went away.
pub fn went_away(view: &RunView) -> Option<&str> {
    let name = silent(view)?;
    let of_it = |request: &&Request| {
        provider(view, request).is_some_and(|(asked, _)| asked == name)
            && matches!(request.end, Some(RequestEnd::Returned { .. }))
    };
    let mut answered = view.requests().values().filter(of_it);
    answered.next().map(|_| name)
}

/// The parameters that the provider refused in the last request, if the run ended for the request itself; empty if the provider
/// named none. `None` for every other end.
pub fn refused_request(view: &RunView) -> Option<Vec<Parameter>> {
    let code = view.outcome()?.code;
    match last_attempt(view)?.end.as_ref()? {
        RequestEnd::Failed {
            parameters,
            permanent,
            status: Some(status),
            unknown_model: false,
            ..
        } => {
            let is_of_request = match code {
                OutcomeCode::ModelUnavailable => true,
                OutcomeCode::AttemptsExhausted => *permanent,
                _ => false,
            };
            let refuses = is_of_request && (400..500).contains(status);
            (refuses || !parameters.is_empty()).then(|| parameters.clone())
        }
        _ => None,
    }
}

/// Returns the recorded fact about the last request of a run that ended because of it, if it says more than the code.
pub fn last_request(view: &RunView) -> Option<LastRequest> {
    let code = view.outcome()?.code;
    if code == OutcomeCode::ModelUnavailable {
        let is_unknown = matches!(
            last_attempt(view).and_then(|request| request.end.as_ref()),
            Some(RequestEnd::Failed {
                unknown_model: true,
                ..
            })
        );
        return (is_unknown && wants_key(view)).then_some(LastRequest::UnknownModel);
    }
    match (code, last_attempt(view)?.end.as_ref()?) {
        // A status is an answer: of a gateway, whose server was too slow for it.
        (
            OutcomeCode::AttemptsExhausted,
            RequestEnd::Failed {
                class: ProviderFaultClass::Timeout,
                status: None,
                ..
            },
        ) => Some(LastRequest::Slow),
        (
            OutcomeCode::AttemptsExhausted,
            RequestEnd::Failed {
                class: ProviderFaultClass::RateLimit,
                ..
            },
        ) => Some(LastRequest::RateLimited),
        (
            OutcomeCode::Context | OutcomeCode::SynthesisWithoutTools,
            RequestEnd::Failed {
                class: ProviderFaultClass::ContextOverflow,
                ..
            },
        ) => Some(LastRequest::TooLarge),
        (
            OutcomeCode::FormatRetriesExhausted
            | OutcomeCode::MaxTurnsExhausted
            | OutcomeCode::NoCallResponse
            | OutcomeCode::FinalReportSchema,
            RequestEnd::Returned {
                blank: true, stop, ..
            },
        ) if *stop != StopReason::Length
            && (code != OutcomeCode::NoCallResponse || view.requested_calls() == 0) =>
        {
            Some(LastRequest::Blank)
        }
        (OutcomeCode::FinalReportSchema, _) => {
            let wants_report = view.contract().final_report.is_some();
            (wants_report && !view.has_reports()).then_some(LastRequest::NoReport)
        }
        (
            OutcomeCode::FormatRetriesExhausted | OutcomeCode::MaxTurnsExhausted,
            RequestEnd::Returned {
                stop: StopReason::Length,
                ..
            },
        ) => Some(cut(view)),
        (
            OutcomeCode::AttemptsExhausted,
            RequestEnd::Failed {
                class: ProviderFaultClass::InvalidResponse,
                not_found: false,
                status: Some(200..=299),
                ..
            },
        ) => Some(LastRequest::CutShort),
        _ => None,
    }
}

/// The answer was cut: at the limit that the contract states for the target, where it states one.
fn cut(view: &RunView) -> LastRequest {
    let target = view.contract().targets.get(last_target(view));
    let limit = target.and_then(|target| target.sampling.sent_limit());
    limit.map_or(LastRequest::CutByServer, |_| LastRequest::CutAtLimit)
}

/// The place of the target that was asked last; of the first one where none was.
pub fn last_target(view: &RunView) -> usize {
    last_attempt(view)
        .and_then(|request| usize::try_from(request.target).ok())
        .unwrap_or_default()
}

/// Returns true if the provider asked last, else the first one, is asked with a key.
fn wants_key(view: &RunView) -> bool {
    let target = last_attempt(view).map_or(0, |request| request.target);
    provider_of(view, target).is_some_and(|(_, terms)| terms.api_key_env.is_some())
}

/// The provider whose script had no line left for the last request.
pub fn played_out(view: &RunView) -> Option<&str> {
    let request = last_attempt(view)?;
    let (name, terms) = provider(view, request)?;
    let is_played_out = matches!(
        &request.end,
        Some(RequestEnd::Failed { message, .. }) if message == "script_exhausted"
    );
    (is_played_out && terms.provider_type == ProviderType::Scripted).then_some(name)
}

/// The error of a request whose address leads to something else than the model's API, with what the address lacks: `HTTP 404 from
/// http://127.0.0.1:8080, which does not end in /v1 (…)`; and of one that was answered with a web page, which is not quoted.
pub(super) fn of_address(view: &RunView, request: &Request, error: &str) -> Option<String> {
    let (_, terms) = provider(view, request)?;
    let address = terms.base_url.as_deref()?;
    let RequestEnd::Failed {
        message,
        not_found,
        status,
        ..
    } = request.end.as_ref()?
    else {
        return None;
    };
    let is_page = status.is_some() && has_web_page(message);
    if !not_found && !is_page {
        return None;
    }
    let lacking = terms.provider_type.lacking_end(address);
    let lacking = lacking.filter(|_| *not_found);
    let lacking = lacking.map(|end| format!(", which does not end in {end}"));
    let lacking = lacking.unwrap_or_default();
    let status = status.map_or_else(|| "an answer".to_owned(), |status| format!("HTTP {status}"));
    let error = if is_page { "a web page" } else { error };
    Some(format!("{status} from {address}{lacking} ({error})"))
}

fn refusing(view: &RunView) -> Option<(&str, &ProviderTerms)> {
    let request = last_attempt(view)?;
    match &request.end {
        Some(RequestEnd::Failed {
            class: ProviderFaultClass::Auth,
            ..
        }) => provider(view, request),
        _ => None,
    }
}

const fn is_not_found(request: &Request) -> bool {
    matches!(
        request.end,
        Some(RequestEnd::Failed {
            not_found: true,
            ..
        })
    )
}

fn last_attempt(view: &RunView) -> Option<&Request> {
    view.request(*view.turns().last()?.attempts.last()?)
}

fn provider<'v>(view: &'v RunView, request: &Request) -> Option<(&'v str, &'v ProviderTerms)> {
    provider_of(view, request.target)
}

fn provider_of(view: &RunView, target: u32) -> Option<(&str, &ProviderTerms)> {
    let index = usize::try_from(target).ok()?;
    let target = view.contract().targets.get(index)?;
    let (name, terms) = view.contract().providers.get_key_value(&target.provider)?;
    Some((name, terms))
}
