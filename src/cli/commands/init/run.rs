use std::fmt::Write as _;
use std::path::Path;

use super::args::InitArgs;
use crate::cli::commands::contract::code_of;
use crate::cli::commands::contract::judge;
use crate::cli::context::app::App;
use crate::cli::context::ask::answer;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, ModelFault, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::found::{
    Calling, Choice, Looked, NoWay, choices, endpoint, other_profile, running,
};
use crate::cli::context::runtime::runtime;
use crate::cli::ui::command::shell_word;
use crate::cli::ui::escape::line;
use crate::contract::{ContractSpec, ModelProfile, ProviderType, TextProfile};
use crate::inference::ModelStore;

/// Tokens of an answer where the window is large enough.
const ANSWER: u64 = 4096;
/// The window that a model is given where nobody knows its own: small enough for every model of today.
const CAUTIOUS_WINDOW: u64 = 8192;
/// The largest window that is written for a model of this machine: more costs memory that was never asked for.
const LOCAL_WINDOW: u64 = 32_768;
/// The profile of a model of which nothing is known.
const ANY_MODEL: &str = "unknown";
/// How many ways are shown to choose from.
const MOST_SHOWN: usize = 20;

/// `monolith init`.
pub(in crate::cli) fn init(app: &App, args: &InitArgs) -> Result<Exit, CliError> {
    let path = app.cwd.join(&args.file);
    if path.exists() && !args.force {
        return Err(SystemFault::FileExists {
            path: args.file.clone(),
        }
        .into());
    }
    if let Some(address) = &args.base_url {
        let way = endpoint_way(app, args, address)?;
        return finish(app, args, &path, &way);
    }
    let servers = runtime()?.block_on(running(&args.places, &app.environment));
    if let Some((kind, address)) = args.places.unanswered(&servers).next() {
        let (address, name) = (address.to_owned(), kind.name());
        return Err(ModelFault::NoWay(NoWay::Unanswered { address, name }).into());
    }
    let store = ModelStore::new(app.models_folder()?);
    let stored = store.list()?;
    let mut ways = choices(&servers, &stored, &app.environment);
    let empty: Vec<&str> = servers
        .iter()
        .filter(|server| server.models.is_empty())
        .map(|server| server.kind.name())
        .collect();
    if !empty.is_empty() {
        let names = empty.join(", ");
        app.screen
            .write_err(&format!("note: {names} runs here, but holds no model\n"));
    }
    if let Some(word) = &args.way {
        let looked = Looked {
            environment: &app.environment,
            places: &args.places,
            servers: &servers,
            stored: &stored,
        };
        if let Some(none) = NoWay::of_way(word, &looked) {
            return Err(ModelFault::NoWay(none).into());
        }
        ways.retain(|way| way.word == word);
    }
    if let Some(model) = &args.model {
        let there = ways.clone();
        take_model(&mut ways, model);
        if ways.is_empty() {
            let none = NoWay::of_model(model, args.way.as_deref(), &there);
            return Err(ModelFault::NoWay(none).into());
        }
    }
    let mut way = choose(app, args, ways)?;
    if way.provider == ProviderType::Local {
        let own = stored.iter().find(|model| model.name == way.model);
        way.profile = own.and_then(|model| other_profile(&store, model));
    }
    finish(app, args, &path, &way)
}

/// The model to take of a server that the caller names by its address.
fn endpoint_way(app: &App, args: &InitArgs, address: &str) -> Result<Choice, CliError> {
    let key_env = args.key_env.as_deref();
    let mut ways = runtime()?.block_on(endpoint(address, key_env));
    match &args.model {
        Some(model) => {
            ways.retain(|way| way.model == *model);
            let named = || Choice::of_endpoint(address, key_env, model);
            Ok(ways.pop().unwrap_or_else(named))
        }
        None if ways.is_empty() => Err(ModelFault::NoList {
            address: line(address),
        }
        .into()),
        None => choose(app, args, ways),
    }
}

/// Writes the contract for that way, where it holds.
fn finish(app: &App, args: &InitArgs, path: &Path, way: &Choice) -> Result<Exit, CliError> {
    let text = contract_text(way, args.task.as_deref());
    // What is written is what was judged: a contract that does not hold is never left behind.
    let name = args.file.display().to_string();
    let spec = ContractSpec::parse(&name, &text, &[])?;
    let file = ContractFile::given(app, args.file.clone(), Vec::new());
    let judged = judge(app, &file, spec)?;
    if let Some((check, why)) = judged.into_iter().next() {
        return Err(ModelFault::ContractOfInit {
            exit: code_of(check),
            way: line(&way.what),
            why,
        }
        .into());
    }
    write(path, &text, args.force)?;
    app.screen.out(&format!(
        "{}: written for {}; it passes monolith contract check\n\nNext:\n  {}\n",
        line(&name),
        line(&way.what),
        app.hint(&format!("run {}", shell_word(&line(&name))))
    ))?;
    if way.provider == ProviderType::Local || way.address.is_some() {
        app.screen.note(
            "A small model may need a plainer task. monolith show last says what happened, whatever it did.",
        );
    }
    Ok(Exit::OK)
}

/// Leaves the ways of that model; where there is none of that name, hosted ones are asked for it nevertheless: what they
/// have is not known here.
fn take_model(ways: &mut Vec<Choice>, model: &str) {
    if ways.iter().any(|way| way.model == model) {
        ways.retain(|way| way.model == model);
        return;
    }
    ways.retain(|way| way.address.is_none() && way.provider != ProviderType::Local);
    for way in ways {
        way.what = format!("{}: {model}", way.word);
        model.clone_into(&mut way.model);
    }
}

/// The way to take: the only one, the first under `--yes`, else whoever sits there says which.
fn choose(app: &App, args: &InitArgs, mut ways: Vec<Choice>) -> Result<Choice, CliError> {
    if ways.is_empty() {
        let asked = args.places.description(&app.environment);
        return Err(ModelFault::NothingToUse { asked }.into());
    }
    if ways.len() == 1 || args.yes {
        return Ok(ways.swap_remove(0));
    }
    ways.truncate(MOST_SHOWN);
    let mut list = String::from("What is to answer?\n");
    for (at, way) in ways.iter().enumerate() {
        let _ = writeln!(list, "  {}  {}", at + 1, line(&way.what));
    }
    app.screen.write_err(&list);
    let Some(said) = answer(app, "Number [1]: ")? else {
        return Err(ModelFault::NobodyChose.into());
    };
    let number = match said.as_str() {
        "" => Some(1),
        said => said.parse::<usize>().ok(),
    };
    let at = number.and_then(|number| number.checked_sub(1));
    match at.filter(|at| *at < ways.len()) {
        Some(at) => Ok(ways.swap_remove(at)),
        None => Err(ModelFault::NobodyChose.into()),
    }
}

/// A string as YAML reads it everywhere: JSON is YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn contract_text(way: &Choice, task: Option<&str>) -> String {
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
    let known = profile.and_then(|profile| profile.context_window);
    let near = way.address.is_some();
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
        "# Written by monolith init for {}.\n\
         # Every key: docs/contract-file.md. What it comes to: monolith contract show FILE\n",
        line(&way.what)
    );
    let task = task.unwrap_or(
        "Which licence does this folder have? Read its licence file and say it in one sentence.",
    );
    let _ = writeln!(out, "system: You answer from the files of this folder.");
    let _ = writeln!(
        out,
        "task: {}   # or: monolith run FILE --task \"…\"",
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
    let _ = writeln!(
        out,
        "targets:                         # asked in this order; each failure goes on to the next\n  - {{provider: {word}, model: {}{profile_key}{text_key}{target_window}}}",
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
    let _ = writeln!(
        out,
        "sampling: {{temperature: 0.2, seed: 7, max_output_tokens: {longest}, stream: true}}\nmax_turns: 6"
    );
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

fn write(path: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let mut options = std::fs::OpenOptions::new();
    // A contract is a program, whatever the umask lets others do.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    // Between the first look and now somebody may have made it.
    let options = if force {
        options.write(true).create(true).truncate(true)
    } else {
        options.write(true).create_new(true)
    };
    let written = options
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    Ok(written.map_err(|fault| match fault.kind() {
        std::io::ErrorKind::AlreadyExists => SystemFault::FileExists {
            path: path.to_owned(),
        },
        _ => SystemFault::CannotWrite {
            path: path.to_owned(),
            reason: fault.to_string(),
        },
    })?)
}

#[cfg(test)]
mod tests {
    use Calling::{GatedText, Text, Wire};
    use ProviderType::{Ollama, Openai};

    use super::*;
    use crate::contract::Setting;

    fn way(provider: ProviderType, model: &str) -> Choice {
        Choice {
            address: None,
            calling: Wire,
            key_env: None,
            model: model.to_owned(),
            profile: None,
            provider,
            word: "w",
            what: "a test".to_owned(),
            window: None,
        }
    }

    #[test]
    fn what_is_written_is_a_contract_whatever_the_names() {
        let check = |way: &Choice, expect: &str| {
            let text = contract_text(way, Some("say \"a: b\" # and\nc"));
            let spec = ContractSpec::parse("agent.yaml", &text, &[]).unwrap();
            assert_eq!(spec.targets[0].model, way.model);
            assert_eq!(spec.task.as_deref(), Some("say \"a: b\" # and\nc"));
            assert!(text.contains(expect), "{text}");
        };
        let mut near = way(Openai, "a: b #c\"d");
        near.address = Some("http://127.0.0.1:8080/v1".to_owned());
        check(&near, "context_window: 8192");
        near.window = Some(2048);
        check(&near, "max_output_tokens: 512");
        near.window = Some(1 << 20);
        check(&near, "context_window: 32768");
        check(
            &way(ProviderType::Anthropic, "claude-x"),
            "api_key_env: ANTHROPIC_API_KEY",
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

    #[test]
    fn a_model_that_is_named_is_taken_where_it_is_and_else_asked_of_the_hosted() {
        let mut near = way(Openai, "a");
        near.address = Some("http://127.0.0.1:8080/v1".to_owned());
        let hosted = way(ProviderType::Anthropic, "c");
        let mut ways = vec![near.clone(), hosted.clone()];
        take_model(&mut ways, "a");
        assert_eq!(ways, [near.clone()]);
        let mut ways = vec![near, hosted];
        take_model(&mut ways, "d");
        assert_eq!(ways.len(), 1);
        assert_eq!(ways[0].model, "d");
    }
}
