//! What a person may change where a run failed, by what is recorded of it. Changes nothing.

use super::typed_at::TypedAt;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::source::Recorded;
use crate::cli::ui::command::shell_word;
use crate::cli::ui::escape::line;
use crate::contract::{ExecutionContract, Grounds, ToolPolicy, ToolProof};
use crate::kernel::{EventKind, OutcomeCode};
use crate::message::RunId;
use crate::telemetry::{keyless, misled, played_out, silent};
use crate::view::RunView;

/// What the machine calls a tool that the contract does not offer.
const NOT_FOUND: &str = "TOOL_NOT_FOUND: ";

/// What the author may change in the contract so that the next run does not fail so; none where nothing recorded says it.
pub(in crate::cli) fn way_out(app: &App, view: &RunView, run_id: &RunId) -> Option<String> {
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
                (None, Some(provider)) => Some(asks(start_or_mend(provider))),
                (None, None) => played_out(view).map(|provider| name_a_model(app, provider)),
            }
        }
        OutcomeCode::BackendUnavailable => {
            let targets = view.contract().targets.iter();
            let mut targets = targets.zip(&view.preflight().probed);
            let silent = targets.find(|(_, probed)| !probed.responsive);
            silent.map(|(target, _)| asks(start_or_mend(&target.provider)))
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
        OutcomeCode::ProofNotSucceeded => Some(accept_failed_calls(app, &file(), run_id)),
        OutcomeCode::SynthesisWithoutTools if view.counters().executed > 0 => {
            Some(accept_failed_calls(app, &file(), run_id))
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
fn start_or_mend(provider: &str) -> String {
    let provider = line(provider);
    format!("start the server of providers.{provider}, or mend its `base_url`")
}

/// What helps where a script has no line left, as that of the demo after its one task.
fn name_a_model(app: &App, provider: &str) -> String {
    let (provider, init) = (line(provider), app.hint("init"));
    format!(
        "the script of providers.{provider} has a line for each answer, and none is left; {init} writes a contract with a model"
    )
}

/// What helps where every call failed and the contract counts only those that succeed.
fn accept_failed_calls(app: &App, file: &str, run_id: &RunId) -> String {
    let name = app.brief_name(run_id.as_str());
    let accepts = format!("continue {name} \"…\" --contract {file} --set tool_proof=executed");
    format!(
        "mend what the calls failed with, or count a call that failed: {}",
        app.hint(&accepts)
    )
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
pub(super) fn missing_proof(
    app: &App,
    view: &RunView,
    run_id: &RunId,
    name: &str,
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
            let file = file();
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
