//! Advice for a failed run: by its record, else by its code. Changes nothing.

use super::commands::Commands;
use super::limit::Limit;
use super::remedy::Remedy;
use super::server::ServerRemedy;
use super::unproven::{
    accept_calls, is_unproven, missing_proof, not_executed, of_tool_step, unread_calls,
};
use crate::drive::typed_at::TypedAt;
use crate::service::Service;
use monolith_core::contract::ParameterOrigin;
use monolith_core::kernel::{AgentOutcome, BringUpCause, OutcomeCode};
use monolith_core::message::{Parameter, RunId};
use monolith_core::view::{LastRequest, Refusal, RunView};
use monolith_host::telemetry::{
    keyless, last_request, last_target, misled, played_out, refused_key_of, refused_request,
    silent, went_away,
};

/// The advice after a failed run.
#[derive(Clone, Debug)]
pub struct RunRemedy<'s> {
    /// True if the advice changes the contract file: then a run continues under the file only if it is named.
    pub changes_file: bool,
    /// The commands of the run.
    commands: Commands<'s>,
    /// Another one, where the first does not help.
    pub otherwise: Option<Remedy>,
    /// The remedy.
    pub remedy: Remedy,
}

impl RunRemedy<'_> {
    /// Returns the text, with the commands to type.
    #[must_use]
    pub fn words(&self) -> String {
        let words = self.remedy.words(&self.commands);
        match &self.otherwise {
            Some(other) => format!("{words}. Otherwise: {}", other.words(&self.commands)),
            None => words,
        }
    }
}

/// Returns advice after that run: its record says more than its code alone. `None` if it did not fail.
pub fn remedy_of<'s>(
    service: &'s Service,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'s>,
) -> Option<RunRemedy<'s>> {
    let outcome = view.outcome()?;
    let request = last_request(view);
    // Neither a call nor more turns would have made the request fit, or the model answer.
    let first = request.filter(|request| {
        matches!(
            request,
            LastRequest::TooLarge | LastRequest::Blank | LastRequest::NoReport
        )
    });
    let step = of_tool_step(view, outcome.code);
    let certain = step.or_else(|| first.map(Remedy::of_request));
    let (changes_file, remedy, otherwise) = if let Some(remedy) = certain {
        (true, remedy, None)
    } else if let Some(remedy) = exact(service, view, run_id) {
        (true, remedy, missing_proof(view))
    } else if outcome.class == AgentOutcome::Interrupted {
        return None;
    } else {
        let remedy = missing_proof(view).or_else(|| general(view, outcome.code, request))?;
        (is_of_contract(outcome.code), remedy, None)
    };
    Some(RunRemedy {
        changes_file,
        commands: Commands::of_run(service, run_id, typed_at),
        otherwise,
        remedy: with_values(remedy, service, view, run_id),
    })
}

/// Returns the remedy by the key that was refused, the last request, the calls, or the code.
fn general(view: &RunView, code: OutcomeCode, request: Option<LastRequest>) -> Option<Remedy> {
    let key = refused_key_of(view).map(|variable| Remedy::AcceptedKeyIn {
        variable: variable.to_owned(),
    });
    let refused = || refused_request(view).map(|parameters| of_refused(view, &parameters));
    key.or_else(refused)
        .or_else(|| request.map(Remedy::of_request))
        .or_else(|| not_executed(view, code))
        .or_else(|| more_calls(view, code))
        .or_else(|| Remedy::of_code(code))
}

/// Returns the remedy for a refused request, by the origin of the parameters that the provider named.
fn of_refused(view: &RunView, named: &[Parameter]) -> Remedy {
    let target = last_target(view);
    let of_origin = |origin: ParameterOrigin| {
        let contract = view.contract();
        let is_of = |one: &&Parameter| contract.parameter_origin(target, **one) == Some(origin);
        named.iter().filter(is_of).copied().collect::<Vec<_>>()
    };
    let stated = of_origin(ParameterOrigin::Stated);
    let defaults = of_origin(ParameterOrigin::Default);
    if stated.is_empty() && !defaults.is_empty() {
        Remedy::RefusedDefaults {
            parameters: defaults,
        }
    } else {
        Remedy::RefusedRequest { parameters: stated }
    }
}

/// The remedy with the values of a run.
fn with_values(remedy: Remedy, service: &Service, view: &RunView, run_id: &RunId) -> Remedy {
    let target = last_target(view);
    let window = || {
        let target = view.contract().targets.get(target);
        target.map(|target| target.context_window)
    };
    match remedy {
        Remedy::Raise { limit, .. } => {
            let limit = match limit {
                Limit::OutputTokens { .. } => Limit::OutputTokens { target },
                other => other,
            };
            let to = limit.raised(service, view, run_id);
            if to.is_none() && matches!(limit, Limit::OutputTokens { .. }) {
                return Remedy::CutAtWindow { window: window() };
            }
            Remedy::Raise { limit, to }
        }
        Remedy::TooLarge { .. } => Remedy::TooLarge { window: window() },
        other => other,
    }
}

/// Returns the remedy if limits of calls apply to single tools, too: the one that was reached, where that is known.
fn more_calls(view: &RunView, code: OutcomeCode) -> Option<Remedy> {
    let limits = &view.contract().max_calls;
    if code != OutcomeCode::MaxCalls || limits.per_tool.is_empty() {
        return None;
    }
    let mut tools = limits.per_tool.keys();
    let limit = match (limits.run, tools.next(), tools.next()) {
        (Some(run), ..) if view.counters().calls.saturating_add(view.last_requested()) > run => {
            Limit::CallsOfRun
        }
        (None, Some(tool), None) => Limit::CallsOfTool(tool.clone()),
        _ => return Some(Remedy::MoreCalls),
    };
    Some(Remedy::Raise { limit, to: None })
}

/// True if a run with this code continues once the contract file is corrected.
const fn is_of_contract(code: OutcomeCode) -> bool {
    matches!(
        code,
        OutcomeCode::ContextInfeasible
            | OutcomeCode::ContractInvalid
            | OutcomeCode::ModelUnavailable
            | OutcomeCode::ProfileIncompatible
            | OutcomeCode::ProvenanceMissing
    )
}

/// Returns the contract change that avoids this failure in the next run; `None` if no record shows it.
fn exact(service: &Service, view: &RunView, run_id: &RunId) -> Option<Remedy> {
    let reach = |provider: &str, went_away| reach_server(service, view, provider, went_away);
    match view.outcome()?.code {
        OutcomeCode::ProviderAuth => Some(Remedy::NameKey {
            provider: keyless(view)?.to_owned(),
        }),
        OutcomeCode::AttemptsExhausted | OutcomeCode::ModelUnavailable => {
            match (misled(view), silent(view)) {
                (Some(provider), _) => Some(Remedy::CorrectAddress {
                    provider: provider.to_owned(),
                }),
                (None, Some(provider)) => Some(reach(provider, went_away(view).is_some())),
                (None, None) => played_out(view).map(|provider| Remedy::NameModel {
                    provider: provider.to_owned(),
                }),
            }
        }
        OutcomeCode::BackendUnavailable => {
            let targets = view.contract().targets.iter();
            let mut targets = targets.zip(&view.preflight().probed);
            let silent = targets.find(|(_, probed)| !probed.responsive);
            silent.map(|(target, _)| reach(&target.provider, false))
        }
        OutcomeCode::ToolUnavailable => {
            let faults = view.preflight().bring_up.iter();
            let faults = faults.filter(|fault| fault.cause != Some(BringUpCause::LeftOut));
            let servers = faults.map(|fault| ServerRemedy::of_fault(view.contract(), fault));
            let servers: Vec<ServerRemedy> = servers.collect();
            (!servers.is_empty()).then_some(Remedy::Servers(servers))
        }
        OutcomeCode::ToolChanged => Some(Remedy::PinTools),
        OutcomeCode::ProofNotSucceeded => Some(accept_calls(view)),
        OutcomeCode::SynthesisWithoutTools if view.counters().executed > 0 => {
            Some(accept_calls(view))
        }
        code if (code == OutcomeCode::Arguments || is_unproven(code))
            && view.refusal() == Some(Refusal::UnknownTool) =>
        {
            Some(Remedy::OfferTool)
        }
        code if is_unproven(code) => {
            let profiles = unread_calls(service, view, run_id).ok()??;
            Some(Remedy::ReadCalls { profiles })
        }
        _ => None,
    }
}

/// Returns advice for a provider whose address does not answer.
fn reach_server(service: &Service, view: &RunView, provider: &str, went_away: bool) -> Remedy {
    let terms = view.contract().providers.get(provider);
    let address = terms.and_then(|terms| Some((terms.provider_type, terms.base_url.clone()?)));
    let key = address
        .as_ref()
        .and_then(|(kind, address)| kind.key_env_at(address));
    Remedy::ReachServer {
        has_key: key.is_some_and(|variable| service.environment.get(variable).is_some()),
        address,
        provider: provider.to_owned(),
        went_away,
    }
}
