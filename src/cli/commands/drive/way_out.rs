//! What may help where a run failed: by what is recorded of it, else by its code. Changes nothing.

use super::typed_at::TypedAt;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::source::Recorded;
use crate::cli::ui::command::shell_word;
use crate::cli::ui::escape::line;
use crate::contract::{ExecutionContract, Grounds, ProviderType, ToolPolicy, ToolProof};
use crate::kernel::{AgentOutcome, EventKind, OutcomeCode};
use crate::message::RunId;
use crate::telemetry::{keyless, misled, played_out, remedy, silent};
use crate::view::RunView;

/// What the machine calls a tool that the contract does not offer.
const NOT_FOUND: &str = "TOOL_NOT_FOUND: ";

/// What may help after a run that failed.
pub(in crate::cli) struct WayOut {
    /// Whether the contract file is changed by it: a run then goes on under the file only where it is named.
    pub(super) changes_file: bool,
    pub(in crate::cli) text: String,
}

/// What may help after that run: what is recorded of it says more than its code alone. None where it did not fail.
pub(in crate::cli) fn way_out(
    app: &App,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
) -> Option<WayOut> {
    let outcome = view.outcome()?;
    if let Some(text) = exact(app, view, run_id) {
        let rule = missing_proof(app, view, run_id, typed_at);
        let rule = rule.map(|rule| format!("{rule}; or: "));
        let text = format!("{}{text}", rule.unwrap_or_default());
        let changes_file = true;
        return Some(WayOut { changes_file, text });
    }
    if outcome.class == AgentOutcome::Interrupted {
        return None;
    }
    let text = missing_proof(app, view, run_id, typed_at)
        .or_else(|| Some(filled(app, view, run_id, typed_at, remedy(outcome.code)?)))?;
    Some(WayOut {
        changes_file: false,
        text,
    })
}

/// A general remedy for that run: its file, its name and its limits, and commands as they are typed here.
fn filled(
    app: &App,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
    remedy: &str,
) -> String {
    let file = contract_file(app, run_id).unwrap_or_else(|| "FILE".to_owned());
    let continued = |words: &str| match typed_at {
        TypedAt::Shell => words.to_owned(),
        TypedAt::Chat(again) => words
            .replace("continue RUN \"…\" --contract FILE", again)
            .replace("continue RUN \"…\"", again),
    };
    let pieces = remedy.split('`').enumerate().map(|(at, piece)| {
        match (at % 2, piece.strip_prefix("monolith ")) {
            (0, _) => piece.to_owned(),
            (_, None) => format!("`{piece}`"),
            (_, Some(words)) => {
                let words = continued(words)
                    .replace("FILE", &file)
                    .replace("RUN", &app.brief_name(run_id.as_str()));
                let more = more(view).map_or_else(|| "…".to_owned(), |more| more.to_string());
                app.hint(&words.replace("MORE", &more))
            }
        }
    });
    pieces.collect()
}

/// Twice the limit that ended the run.
fn more(view: &RunView) -> Option<u64> {
    let contract = view.contract();
    let limit = match view.outcome()?.code {
        OutcomeCode::MaxTurnsExhausted | OutcomeCode::SynthesisWithoutTools => {
            contract.max_turns.into()
        }
        OutcomeCode::MaxInferences => contract.max_inferences,
        OutcomeCode::MaxTokens => contract.max_tokens_consumed.0,
        OutcomeCode::MaxCost => contract.max_cost_micro_usd.as_ref()?.0,
        OutcomeCode::StepTimeout => contract.step_timeout_ms,
        OutcomeCode::TotalTimeout => contract.total_timeout_ms,
        _ => return None,
    };
    Some(limit.saturating_mul(2))
}

/// What the author may change in the contract so that the next run does not fail so; none where nothing recorded says it.
fn exact(app: &App, view: &RunView, run_id: &RunId) -> Option<String> {
    let file = || contract_file(app, run_id).unwrap_or_else(|| "FILE".to_owned());
    let asks = |what: String| {
        let file = file();
        let doctor = app.hint(&format!("doctor --contract {file}"));
        format!("{what}; {doctor} asks the server")
    };
    match view.outcome()?.code {
        OutcomeCode::ProviderAuth => {
            let provider = line(keyless(view)?);
            Some(asks(format!(
                "if it wants a key, name the variable that holds it: `api_key_env` of providers.{provider}"
            )))
        }
        OutcomeCode::AttemptsExhausted | OutcomeCode::ModelUnavailable => {
            match (misled(view), silent(view)) {
                (Some(provider), _) => {
                    let provider = line(provider);
                    Some(asks(format!("mend `base_url` of providers.{provider}")))
                }
                (None, Some(provider)) => Some(asks(reach_it(app, view, provider))),
                (None, None) => played_out(view).map(|provider| name_a_model(app, provider)),
            }
        }
        OutcomeCode::BackendUnavailable => {
            let targets = view.contract().targets.iter();
            let mut targets = targets.zip(&view.preflight().probed);
            let silent = targets.find(|(_, probed)| !probed.responsive);
            silent.map(|(target, _)| asks(reach_it(app, view, &target.provider)))
        }
        OutcomeCode::ToolUnavailable => {
            let faults = &view.preflight().bring_up;
            let servers = faults.iter().map(|fault| {
                let server = line(&fault.server);
                format!("install what `command` of tools.mcp.{server} names, or mend its address")
            });
            let servers = servers.collect::<Vec<_>>().join("; ");
            (!servers.is_empty()).then(|| asks(servers))
        }
        OutcomeCode::ToolChanged => Some(format!(
            "read what has changed; where it is meant: {}",
            app.hint(&format!("contract pin {}", file()))
        )),
        OutcomeCode::ProofNotSucceeded => Some(accept_calls(app, view, &file(), run_id)),
        OutcomeCode::SynthesisWithoutTools if view.counters().executed > 0 => {
            Some(accept_calls(app, view, &file(), run_id))
        }
        OutcomeCode::Arguments
        | OutcomeCode::NoCallResponse
        | OutcomeCode::SynthesisWithoutTools
            if view
                .last_refusal()
                .is_some_and(|why| why.contains(NOT_FOUND)) =>
        {
            let tools = app.hint(&format!("tools {}", file()));
            Some(format!(
                "{tools} lists what the model may call: offer it the tool that it asked for, or ask for what those can do"
            ))
        }
        OutcomeCode::NoCallResponse | OutcomeCode::SynthesisWithoutTools => {
            let profiles = unread_calls(app, view, run_id).ok()??;
            Some(format!(
                "the text that was held back has the form of a call: `text_profile: {profiles}` at the target reads it"
            ))
        }
        _ => None,
    }
}

/// What helps where no server answers at the address of a provider.
fn reach_it(app: &App, view: &RunView, provider: &str) -> String {
    let terms = view.contract().providers.get(provider);
    let at = terms.and_then(|terms| Some((terms.provider_type, terms.base_url.as_deref()?)));
    unreached(provider, at, |variable| {
        app.environment.get(variable).is_some()
    })
}

/// The same of a provider of that type at that address. The server of a company cannot be started here.
fn unreached(
    provider: &str,
    at: Option<(ProviderType, &str)>,
    is_set: impl Fn(&str) -> bool,
) -> String {
    let company = at.and_then(|(kind, address)| Some((address, kind.key_env_at(address)?)));
    let Some((address, variable)) = company else {
        let provider = line(provider);
        return format!("start the server of providers.{provider}, or mend its `base_url`");
    };
    let key = if is_set(variable) {
        String::new()
    } else {
        format!(", and set {variable}, which holds its key")
    };
    format!("look whether this machine reaches {}{key}", line(address))
}

/// What helps where a script has no line left, as that of the demo after its one task.
fn name_a_model(app: &App, provider: &str) -> String {
    let (provider, init) = (line(provider), app.hint("init"));
    format!(
        "the script of providers.{provider} has a line for each answer, and none is left; {init} writes a contract with a model"
    )
}

/// What helps where calls were executed and the contract counts none of them.
fn accept_calls(app: &App, view: &RunView, file: &str, run_id: &RunId) -> String {
    let name = app.brief_name(run_id.as_str());
    let used = view.counters();
    // Under `lineage` an agent that completed may be all there was.
    let (proof, mend) = if used.executed_ok > 0 {
        (
            "succeeded",
            "have the agents call their tools, or count an agent that completed",
        )
    } else {
        (
            "executed",
            "mend what the calls failed with, or count a call that failed",
        )
    };
    let accepts = format!("continue {name} \"…\" --contract {file} --set tool_proof={proof}");
    format!("{mend}: {}", app.hint(&accepts))
}

/// The text profiles that read the first text of a run which was held back and has the form of a call. A target that has a text profile
/// reads calls from text already.
fn unread_calls(
    app: &App,
    view: &RunView,
    run_id: &RunId,
) -> Result<Option<&'static str>, CliError> {
    let has_profile = |version: &str| version.contains('+');
    let mut targets = view.contract().targets.iter();
    if view.held_back_bytes() == 0 || targets.any(|target| has_profile(&target.adapter_version)) {
        return Ok(None);
    }
    app.source(run_id.as_str())?.each_entry_with_blobs(
        |_, _| None,
        |found, entry, blobs| {
            let Ok(decoded) = Recorded::decode(entry) else {
                return;
            };
            let event = decoded.into_event();
            let Some(EventKind::InferenceReturned(returned)) = event.map(|event| event.event)
            else {
                return;
            };
            let text = returned
                .result
                .withheld
                .and_then(|held| blobs.blob(held.hash));
            let text = text.unwrap_or_default();
            *found = found.or_else(|| profiles_for(&String::from_utf8_lossy(&text)));
        },
    )
}

/// The text profiles in whose form a text writes a call; none where it writes none.
fn profiles_for(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let begins = |tag: &str| text.lines().any(|line| line.trim_start().starts_with(tag));
    let is_object = || {
        let value = serde_json::from_str::<serde_json::Value>(text).ok();
        value.is_some_and(|value| value.get("name").is_some() && value.get("parameters").is_some())
    };
    if begins("<function=") {
        Some("qwen")
    } else if begins("<tool_call>") {
        Some("hermes` or `qwen")
    } else if text.starts_with("<|python_tag|>") || is_object() {
        Some("llama3")
    } else {
        None
    }
}

/// The rule that a run broke which answered without a call, and the way out. It holds in each run of a conversation anew.
fn missing_proof(
    app: &App,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
) -> Option<String> {
    let code = view.outcome()?.code;
    let answered = matches!(
        code,
        OutcomeCode::NoCallResponse | OutcomeCode::SynthesisWithoutTools
    );
    if !answered || view.requested_calls() > 0 {
        return None;
    }
    let rule = proof_rule(view.contract())?;
    let file = || contract_file(app, run_id).unwrap_or_else(|| "FILE".to_owned());
    let change = match view.contract().policy_decision.grounds {
        Grounds::CodeIntent | Grounds::CodeConceptual | Grounds::ChatPage => "page=null",
        Grounds::Given | Grounds::Default => "tool_policy=optional",
    };
    let allowed = match typed_at {
        TypedAt::Shell => {
            let (file, name) = (file(), app.brief_name(run_id.as_str()));
            format!("continue {name} \"…\" --contract {file} --set {change}")
        }
        TypedAt::Chat(again) => format!("{again} --set {change}"),
    };
    Some(format!(
        "{rule}. Ask for something that needs a tool, or allow an answer without one: {}",
        app.hint(&allowed)
    ))
}

/// What a contract demands of each run, if it demands a call.
pub(in crate::cli) fn proof_rule(contract: &ExecutionContract) -> Option<String> {
    if contract.tool_policy != ToolPolicy::Required {
        return None;
    }
    let (key, what) = match contract.tool_proof {
        ToolProof::Executed => ("tool_policy: required", "a tool call of its own"),
        ToolProof::Succeeded => (
            "tool_policy: required, tool_proof: succeeded",
            "a tool call of its own that succeeds",
        ),
        ToolProof::Lineage => (
            "tool_policy: required, tool_proof: lineage",
            "a tool call that succeeds, of its own or of an agent that it calls",
        ),
    };
    Some(format!(
        "{key}: each run needs {what}, also one that continues another"
    ))
}

/// The contract file that the run was begun with, as the caller would name it.
pub(super) fn contract_file(app: &App, run_id: &RunId) -> Option<String> {
    let begun = app.reader().ok()??.invocation(run_id).ok()??;
    let file = begun.contract_file;
    let file = file.strip_prefix(&app.cwd).unwrap_or(&file);
    Some(shell_word(&line(&file.display().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_a_company_is_not_to_be_started() {
        let check = |address: Option<&str>, is_set: bool, expect: &str| {
            let at = address.map(|address| (ProviderType::Openai, address));
            assert_eq!(unreached("far", at, |_| is_set), expect);
        };
        let own = "start the server of providers.far, or mend its `base_url`";
        check(None, false, own);
        check(Some("http://127.0.0.1:9/v1"), false, own);
        let far = "look whether this machine reaches https://api.openai.com/v1";
        check(Some("https://api.openai.com/v1"), true, far);
        let unset = format!("{far}, and set OPENAI_API_KEY, which holds its key");
        check(Some("https://api.openai.com/v1"), false, &unset);
    }

    #[test]
    fn a_call_in_a_text_is_known_by_the_form_of_each_profile() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(profiles_for(text), expect, "{text}");
        };
        check("<tool_call>\n{}\n</tool_call>", Some("hermes` or `qwen"));
        check("I read it.\n <tool_call>{}", Some("hermes` or `qwen"));
        check("<tool_call>\n<function=read_file>", Some("qwen"));
        check("<|python_tag|>{}", Some("llama3"));
        check(r#"{"name": "a", "parameters": {}}"#, Some("llama3"));
        check(r#"{"name": "a"}"#, None);
        check("Tags such as <tool_call> begin a call.", None);
        check("", None);
    }
}
