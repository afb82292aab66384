//! Command lines of ai-agent that are a `run` here (001 §5, §11). Runs nothing.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;

/// Options of monolith that take a value and may precede a command.
const BEFORE_COMMAND: [&str; 2] = ["--config", "--store"];

/// Returns the command line with `run` as its command, if ai-agent would have run it: it names an agent with `--agent`, an
/// agent's file (`.ai`, there or not), or a system prompt and a task (001 §5, §11). So is a contract file that is missing. `None` for
/// every other line.
pub(super) fn as_run(
    fault: &clap::Error,
    given: &[OsString],
    program: &clap::Command,
) -> Option<Vec<OsString>> {
    let kinds = [ErrorKind::InvalidSubcommand, ErrorKind::UnknownArgument];
    if !kinds.contains(&fault.kind()) {
        return None;
    }
    let at = first_own(given);
    let first = given.get(at)?.to_str();
    if first.is_some_and(|word| program.find_subcommand(word).is_some()) {
        return None;
    }
    let mut again = given.to_vec();
    again.insert(at, "run".into());
    names_agent(&again, program).then_some(again)
}

/// The place of the first word that is neither the program nor one of its options before a command.
fn first_own(given: &[OsString]) -> usize {
    let mut at = 1;
    while let Some(word) = given.get(at).and_then(|word| word.to_str()) {
        let (name, has_value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        if !BEFORE_COMMAND.contains(&name) {
            break;
        }
        at += if has_value { 1 } else { 2 };
    }
    at
}

/// True if a `run` names an agent in the ways of ai-agent. A single text names none, and a first word that may be a misspelt command
/// is a system prompt only where models are named, too.
fn names_agent(line: &[OsString], program: &clap::Command) -> bool {
    let understood = program.clone().ignore_errors(true);
    let matches = understood.try_get_matches_from(line).ok();
    let run = matches
        .as_ref()
        .and_then(|matches| matches.subcommand_matches("run"));
    let Some(run) = run else {
        return false;
    };
    if run.contains_id("agent") {
        return true;
    }
    let texts = run.get_many::<OsString>("given").into_iter().flatten();
    let texts: Vec<&OsString> = texts.collect();
    let Some(first) = texts.first().and_then(|text| text.to_str()) else {
        return false;
    };
    let path = Path::new(first);
    // A run says of a file that is not there which one may be meant.
    let is_yaml = has_ending(path, "yaml") || has_ending(path, "yml");
    let is_file = has_ending(path, "ai") || is_yaml && !path.exists();
    let is_text = first == "-" || first.starts_with('@') || first.contains(char::is_whitespace);
    let names_models = run.contains_id("models") || run.contains_id("overrides");
    is_file || texts.len() > 1 && (is_text || names_models)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// 001/11.direct.16
    #[test]
    fn a_command_line_of_ai_agent_is_a_run() {
        let check = |line: &[&str], expect: Option<usize>| {
            let given: Vec<OsString> = line.iter().map(OsString::from).collect();
            let program = Cli::command();
            let fault = program.clone().try_get_matches_from(&given).unwrap_err();
            let again = as_run(&fault, &given, &program);
            let expect = expect.map(|at| {
                let mut expect = given.clone();
                expect.insert(at, "run".into());
                expect
            });
            assert_eq!(again, expect, "{line:?}");
        };
        check(&["monolith", "You are terse.", "Say hello"], Some(1));
        check(&["monolith", "@system.txt", "@task.txt"], Some(1));
        check(&["monolith", "-", "Say hello"], Some(1));
        check(&["monolith", "--agent", "leaf.ai", "Say hello"], Some(1));
        check(
            &["monolith", "--agent=leaf.ai", "--verbose", "You", "Say"],
            Some(1),
        );
        check(
            &["monolith", "--agent", "leaf.ai", "--api", "8080"],
            Some(1),
        );
        let config = ["monolith", "--config", "c.json", "--agent", "leaf.ai", "Go"];
        check(&config, Some(3));
        let models = ["monolith", "--models", "openai/gpt-5", "Terse", "Hello"];
        check(&models, Some(1));
        let overrides = ["monolith", "--override", "models=a/b", "Terse", "Hello"];
        check(&overrides, Some(1));
        // One text is no agent, and a word may be a command that is misspelt.
        check(&["monolith", "list the files"], None);
        check(&["monolith", "shwo", "last"], None);
        check(&["monolith", "gone.ai", "task"], Some(1));
        check(&["monolith", "gone.yaml"], Some(1));
        check(&["monolith", "Cargo.toml"], None);
        check(&["monolith", "--json"], None);
        check(&["monolith", "show", "last", "--agent", "a.ai"], None);
    }
}
