//! The contract file that `init` writes, as text with comments for its reader. Does not choose the model.

use std::fmt::Write as _;

use monolith_core::contract::{ModelProfile, ProviderType, TextProfile, known_window};
use monolith_service::found::built_in::CAUTIOUS_WINDOW;
use monolith_service::found::choice::Choice;
use monolith_service::found::servers::Calling;
use monolith_service::text::escape::line;

/// Tokens of an answer where the window is large enough.
const ANSWER: u64 = 4096;
/// The largest window that is written for a model of this machine: more costs memory that was never asked for.
const LOCAL_WINDOW: u64 = 32_768;
/// The profile of a model of which nothing is known.
const ANY_MODEL: &str = "unknown";
/// The schema that the contract names for editors, from the contract's folder.
pub(super) const SCHEMA: &str = ".monolith/contract-file.schema.json";

pub(super) fn contract_text(way: &Choice, task: Option<&str>) -> String {
    let mut profile = ModelProfile::describing(way.provider, &way.model);
    let mut profile_key = String::new();
    if let Some(id) = way.profile {
        profile = ModelProfile::by_id(id);
        profile_key = format!(", model_profile_id: {id}");
    }
    // A family of which no calls in the text are known may be asked in the usual form all the same.
    if way.calling != Calling::Wire && profile.is_some_and(|own| own.text_profiles.is_empty()) {
        profile = ModelProfile::by_id(ANY_MODEL);
        profile_key = format!(", model_profile_id: {ANY_MODEL}");
    }
    let near = way.address.is_some();
    let of_catalogue = known_window(way.provider, way.address.as_deref(), &way.model);
    let of_profile = profile.and_then(|profile| profile.context_window);
    let known = of_catalogue.filter(|_| !near).or(of_profile);
    // A file's own header says its window; so does a profile. A server's window is what it was started with.
    let window = match (way.window, known) {
        (Some(window), _) => Some(window.min(LOCAL_WINDOW)),
        (None, Some(window)) if near => Some(window.min(CAUTIOUS_WINDOW)),
        (None, None) if way.provider != ProviderType::Local => Some(CAUTIOUS_WINDOW),
        _ => None,
    };
    let room = window.or(known).unwrap_or(CAUTIOUS_WINDOW);
    let longest = ANSWER.min(room / 4);
    let provider = way.provider.as_str();
    let word = way.word;
    let mut out = format!(
        "# yaml-language-server: $schema={SCHEMA}\n\
         # Written by monolith init for {}.\n\
         # Every key: monolith contract schema. What it comes to: monolith contract show FILE\n",
        line(&way.what)
    );
    let task = task.unwrap_or(
        "Which licence does this folder have? Read its licence file and say it in one sentence.",
    );
    let _ = writeln!(out, "system: You answer from the files of this folder.");
    let _ = writeln!(
        out,
        "task: {}   # or: monolith run FILE \"…\"",
        quoted(task)
    );
    out.push_str("tool_policy: required            # no success without a tool call that was really made; optional lets it be\n");
    out.push_str(
        "tool_proof: succeeded            # a call that reported an error proves nothing\n",
    );
    let text = text_profile(way, profile);
    let text_key = text.map_or(String::new(), |text| {
        format!(", text_profile: {}", text.as_str())
    });
    let target_window = window.map_or(String::new(), |window| {
        format!(", context_window: {window}")
    });
    // What the server was started with is known to it alone.
    let guess = if way.window.is_none() && window.is_some() {
        "   # context_window is a guess: write the tokens that the server gives the model"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "targets:                         # tried in this order; if one fails, the next is tried\n  - {{provider: {word}, model: {}{profile_key}{text_key}{target_window}}}{guess}",
        quoted(&way.model)
    );
    if way.calling == Calling::GatedText && text.is_some_and(TextProfile::is_tagged) {
        out.push_str("grammar_profile: gbnf/1          # the server's template knows no tools: calls stand in the text, and it samples them under a grammar\n");
    }
    out.push_str("providers:\n");
    match (&way.address, way.provider.usual_key_env()) {
        (Some(address), _) => {
            let key = way.key_env.as_ref();
            let key = key.map_or(String::new(), |name| {
                format!(", api_key_env: {}", quoted(name))
            });
            let _ = writeln!(
                out,
                "  {word}: {{type: {provider}, base_url: {}{key}}}",
                quoted(address)
            );
        }
        (None, Some(variable)) => {
            let _ = writeln!(
                out,
                "  {word}: {{type: {provider}, api_key_env: {variable}}}   # the variable's name; its value is never recorded"
            );
        }
        (None, None) => {
            let _ = writeln!(
                out,
                "  {word}: {{type: {provider}}}       # the file is the stored model of that name: monolith model list"
            );
        }
    }
    out.push_str(
        "tools:\n  builtin: [list_directory, read_file]   # both only read\n  workspace: .                           # and only here\n  \
         # mcp:\n  #   fs: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", \".\"]}\n",
    );
    // A hosted model has its maker's parameters, and some makers refuse any other.
    let parameters = if near || way.provider == ProviderType::Local {
        format!("temperature: 0.2, seed: 7, max_output_tokens: {longest}, ")
    } else {
        String::new()
    };
    let _ = writeln!(out, "sampling: {{{parameters}stream: true}}\nmax_turns: 6");
    out
}

/// The form in which a model calls that its server lays out no tools for: one in tags where its profile has one, for a grammar
/// can demand that.
fn text_profile(way: &Choice, profile: Option<&ModelProfile>) -> Option<TextProfile> {
    let own = &profile
        .filter(|_| way.calling != Calling::Wire)?
        .text_profiles;
    let tagged = own.iter().copied().find(|text| text.is_tagged());
    tagged.or_else(|| own.first().copied())
}

/// A string as YAML reads it everywhere: JSON is YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use Calling::{GatedText, Text, Wire};
    use ProviderType::{Ollama, Openai};

    use super::*;
    use crate::context::testing::way;
    use monolith_core::contract::{ContractSpec, Setting};

    #[test]
    fn what_is_written_is_a_contract_whatever_the_names() {
        let check = |way: &Choice, expect: &str| {
            let text = contract_text(way, Some("say \"a: b\" # and\nc"));
            let spec = ContractSpec::parse("agent.yaml", &text, &[]).unwrap();
            assert_eq!(spec.targets[0].model, way.model);
            assert_eq!(spec.task.as_deref(), Some("say \"a: b\" # and\nc"));
            assert!(text.contains(expect), "{text}");
            assert!(text.starts_with("# yaml-language-server: $schema=.monolith/"));
            assert!(
                !text.contains("docs/"),
                "it is read where there is no repository"
            );
        };
        let mut near = way(Openai, "a: b #c\"d");
        near.address = Some("http://127.0.0.1:8080/v1".to_owned());
        check(
            &near,
            "context_window: 8192}   # context_window is a guess:",
        );
        near.window = Some(2048);
        check(&near, "max_output_tokens: 512");
        near.window = Some(1 << 20);
        check(&near, "context_window: 32768");
        check(
            &way(ProviderType::Anthropic, "claude-x"),
            "api_key_env: ANTHROPIC_API_KEY",
        );
        check(
            &way(ProviderType::Anthropic, "claude-x"),
            "\nsampling: {stream: true}\n",
        );
        check(&way(ProviderType::Local, "smollm2-135m"), "type: local");
        let mut own = way(ProviderType::Local, "mine");
        own.profile = Some("smollm2-135m");
        check(&own, "model_profile_id: smollm2-135m");
    }

    #[test]
    fn a_model_that_its_server_gives_no_tools_calls_in_its_text() {
        let check = |provider, model: &str, calling, text, gated: bool| {
            let mut near = way(provider, model);
            near.address = Some("http://127.0.0.1:8080/v1".to_owned());
            near.calling = calling;
            let written = contract_text(&near, None);
            let spec = ContractSpec::parse("agent.yaml", &written, &[]).unwrap();
            assert_eq!(spec.targets[0].text_profile, text, "{written}");
            assert_eq!(spec.grammar_profile.is_some(), gated, "{written}");
        };
        let text = Setting::Value;
        check(Openai, "a-model", Wire, Setting::Unset, false);
        check(
            Openai,
            "a-model",
            GatedText,
            text(TextProfile::Hermes),
            true,
        );
        check(
            Openai,
            "qwen2.5-7b",
            GatedText,
            text(TextProfile::Qwen),
            true,
        );
        // A call of Llama 3 is the whole message: no grammar begins it.
        check(
            Openai,
            "llama-3.2-1b",
            GatedText,
            text(TextProfile::Llama3),
            false,
        );
        check(Ollama, "gemma", Text, text(TextProfile::Hermes), false);
        check(
            Openai,
            "mistral-7b",
            GatedText,
            text(TextProfile::Hermes),
            true,
        );
    }
}
