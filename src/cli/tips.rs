//! Tips for arguments that clap does not know: a key of a contract file as an option, a subcommand without its command, a task
//! without quotes. Does not print.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use monolith_core::contract::contract_file_schema;
use monolith_service::list::outcome_names::is_outcome;
use monolith_service::text::command::shell_word;

/// No headends are there yet.
const NO_SERVERS: &str =
    "monolith answers no requests yet: each run is a command, 'monolith run AGENT.ai \"task\"'";
/// Prefixes of ai-agent options that monolith lacks, with the alternatives.
const OF_OTHERS: [(&str, &str); 10] = [
    ("--anthropic-completions", NO_SERVERS),
    ("--api", NO_SERVERS),
    (
        "--list-tools",
        "'monolith tools FILE' lists the tools of a contract",
    ),
    ("--mcp", NO_SERVERS),
    ("--openai-completions", NO_SERVERS),
    ("--slack", NO_SERVERS),
    (
        "--telemetry",
        "a run is recorded, not sent: 'monolith show RUN', 'monolith export RUN'",
    ),
    (
        "--trace-sdk",
        "there is no SDK below monolith: '--trace-llm' writes what is sent to models",
    ),
    ("--trace-slack", NO_SERVERS),
    (
        "--trace-tools",
        "'--trace-mcp' writes what is asked of tool servers",
    ),
];
/// Maximum number of characters of a task in a tip.
const MOST_OF_A_TASK: usize = 40;

/// Commands that take a text of several words as one argument.
const WITH_TEXT: [&str; 2] = ["run", "continue"];

/// The error with a tip that fits contracts better than clap's own, where there is one.
pub(super) fn with_tip(
    mut fault: clap::Error,
    given: &[OsString],
    program: &clap::Command,
) -> clap::Error {
    if let Some(ContextValue::Strings(near)) = fault.remove(ContextKind::SuggestedSubcommand)
        && let Some(word) = typed(&fault, ContextKind::InvalidSubcommand)
    {
        let near = near.into_iter().filter(|name| is_slip(&word, name));
        let near: Vec<String> = near.collect();
        if !near.is_empty() {
            fault.insert(
                ContextKind::SuggestedSubcommand,
                ContextValue::Strings(near),
            );
        }
    }
    let typed = |kind| typed(&fault, kind);
    let tip = match fault.kind() {
        ErrorKind::UnknownArgument => {
            let command = called(given, program);
            typed(ContextKind::InvalidArg).and_then(|option| {
                let elsewhere = of_other_programs(&option).map(str::to_owned);
                elsewhere
                    .or_else(|| {
                        let is_word = !option.starts_with('-');
                        is_word.then(|| one_text(given, program)).flatten()
                    })
                    .or_else(|| value_instead(&option, command))
                    .or_else(|| {
                        let key = takes_sets(command).then(|| set_instead(&option, command, given));
                        key.flatten()
                    })
            })
        }
        ErrorKind::InvalidSubcommand if fault.get(ContextKind::SuggestedSubcommand).is_none() => {
            let word = typed(ContextKind::InvalidSubcommand);
            word.and_then(|word| {
                task_instead(&word)
                    .or_else(|| file_instead(&word))
                    .or_else(|| nearest_command(&word, program))
                    .or_else(|| below_another(&word, program))
            })
        }
        ErrorKind::TooManyValues => one_text(given, program),
        ErrorKind::MissingRequiredArgument => run_to_name(&fault, given, program),
        _ => None,
    };
    if fault.kind() == ErrorKind::UnknownArgument {
        // That it could stand behind `--` is no help: no option is meant as a text.
        fault.remove(ContextKind::Suggested);
    }
    if let Some(tip) = tip {
        let tips = vec![StyledStr::from(tip)];
        fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        // A key that is spelt like it is nearer than any option.
        if fault.remove(ContextKind::SuggestedArg).is_some() {
            // The usage shows that option, too.
            let usage = ContextValue::StyledStr(usage(given, program));
            fault.insert(ContextKind::Usage, usage);
        }
    }
    fault
}

/// The usage of the command that is called.
fn usage(given: &[OsString], program: &clap::Command) -> StyledStr {
    let mut built = program.clone();
    built.build();
    called(given, &built).clone().render_usage()
}

/// Returns the text typed for that kind.
fn typed(fault: &clap::Error, kind: ContextKind) -> Option<String> {
    match fault.get(kind) {
        Some(ContextValue::String(typed)) => Some(typed.clone()),
        _ => None,
    }
}

/// The command that is called.
fn called<'c>(given: &[OsString], program: &'c clap::Command) -> &'c clap::Command {
    let mut command = program;
    for word in given.iter().skip(1).filter_map(|word| word.to_str()) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
}

fn takes_sets(command: &clap::Command) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|argument| argument.get_long() == Some("set"))
}

/// The option of the command that takes the name of this one as its value.
fn value_instead(option: &str, command: &clap::Command) -> Option<String> {
    let name = option.trim_start_matches('-');
    let takes = |argument: &&clap::Arg| {
        let values = argument.get_possible_values();
        values.iter().any(|value| value.matches(name, true))
            || argument.get_long() == Some("outcome") && is_outcome(name)
    };
    let long = command.get_arguments().find(takes)?.get_long()?;
    Some(format!("it is a value: '--{long} {name}'"))
}

/// Returns the alternative to an option that ai-agent has and monolith lacks (001 §8, §9, §11).
fn of_other_programs(option: &str) -> Option<&'static str> {
    let option = option.split_once('=').map_or(option, |(name, _)| name);
    let known = OF_OTHERS.iter();
    let found = known.filter(|(begin, _)| {
        option
            .strip_prefix(begin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    found.map(|(_, instead)| *instead).next()
}

/// `--set key=value` for an option that is spelt nearly like a key.
fn set_instead(option: &str, command: &clap::Command, given: &[OsString]) -> Option<String> {
    let name = option.trim_start_matches('-');
    let key = nearest(&plain(name), settings())?;
    // A misspelt option may mean another existing one, which clap suggests.
    let own = key.replace('_', "-");
    let mut arguments = command.get_arguments();
    let has_own = arguments.any(|argument| argument.get_long() == Some(own.as_str()));
    if has_own && plain(name) != plain(&key) {
        return None;
    }
    let mut rest = given.iter().filter_map(|word| word.to_str());
    let joined = |word: &str| {
        word.strip_prefix(option)?
            .strip_prefix('=')
            .map(str::to_owned)
    };
    let value = rest.find_map(|word| {
        if word == option {
            Some(None)
        } else {
            joined(word).map(Some)
        }
    })?;
    let value = value.or_else(|| {
        let next = rest.next().filter(|next| !next.starts_with('-'));
        next.map(str::to_owned)
    });
    let value = value.unwrap_or_else(|| "VALUE".to_owned());
    Some(format!(
        "to change a key of the contract, use '--set {key}={value}'"
    ))
}

/// `run` for a text that no command can be called by.
fn task_instead(word: &str) -> Option<String> {
    let is_text = word.trim().contains(char::is_whitespace);
    is_text.then(|| {
        format!(
            "to give an agent a task, use: monolith run {}",
            shell_word(&shortened(word))
        )
    })
}

/// `run` for the name of a contract file.
fn file_instead(word: &str) -> Option<String> {
    let ending = Path::new(word).extension()?.to_str()?;
    let is_contract = ["ai", "yaml", "yml", "json"].contains(&ending.to_ascii_lowercase().as_str());
    is_contract.then(|| format!("to run a contract, use: monolith run {}", shell_word(word)))
}

/// The command of about that name, where the parser's own measure finds none.
fn nearest_command(word: &str, program: &clap::Command) -> Option<String> {
    let commands = program.get_subcommands().filter(|one| !one.is_hide_set());
    let names = commands.map(clap::Command::get_name);
    let best = names.min_by_key(|name| distance(word, name))?;
    let is_near = word.chars().count() > 2 && is_slip(word, best);
    is_near.then(|| format!("a similar subcommand exists: '{best}'"))
}

/// The quotes that a text of several words needs.
fn one_text(given: &[OsString], program: &clap::Command) -> Option<String> {
    let name = called(given, program).get_name().to_owned();
    if !WITH_TEXT.contains(&name.as_str()) {
        return None;
    }
    let words = given.iter().map(|word| word.to_string_lossy().into_owned());
    let words = words.skip_while(|word| *word != name).skip(1);
    let words: Vec<String> = words.take_while(|word| !word.starts_with('-')).collect();
    // Before the text stands what is run, or continued.
    let before = match words.first() {
        Some(_) if name != "run" => 1,
        Some(first) => usize::from(file_instead(first).is_some()),
        None => 0,
    };
    let text = match words.split_at_checked(before) {
        Some((named, text)) if text.len() > 1 => {
            let named = named.iter().map(|word| format!("{} ", shell_word(word)));
            let named: String = named.collect();
            let text = shell_word(&shortened(&text.join(" ")));
            format!(": monolith {name} {named}{text}")
        }
        _ => String::new(),
    };
    Some(format!("one task is one argument, in quotes{text}"))
}

/// Explains how to name a run, if a command lacks one.
fn run_to_name(fault: &clap::Error, given: &[OsString], program: &clap::Command) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = fault.get(ContextKind::InvalidArg) else {
        return None;
    };
    let lacks_run = missing
        .iter()
        .any(|name| matches!(name.as_str(), "<RUN>" | "<RUN|FILE>"));
    let name = called(given, program).get_name();
    lacks_run.then(|| {
        format!("'last' is the newest run: monolith {name} last; monolith list has the others")
    })
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_OF_A_TASK).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The command that has a subcommand of about that name.
fn below_another(word: &str, program: &clap::Command) -> Option<String> {
    let commands = program.get_subcommands().filter(|one| !one.is_hide_set());
    let all = commands.flat_map(|parent| {
        let children = parent.get_subcommands();
        children.map(move |child| format!("{} {}", parent.get_name(), child.get_name()))
    });
    let last = |typed: &String| typed.rsplit(' ').next().unwrap_or_default().to_owned();
    let all: Vec<String> = all.collect();
    let best = all
        .iter()
        .min_by_key(|typed| distance(word, &last(typed)))?;
    is_near(word, &last(best)).then(|| format!("a similar subcommand exists: 'monolith {best}'"))
}

/// Every key that holds one value: those of the file, and those of `sampling`.
fn settings() -> Vec<String> {
    let schema = contract_file_schema();
    let keys = |pointer: &str| -> Vec<String> {
        let properties = schema
            .pointer(pointer)
            .and_then(serde_json::Value::as_object);
        let properties = properties.map(|properties| properties.keys().cloned().collect());
        properties.unwrap_or_default()
    };
    let sampling = keys("/$defs/sampling/properties").into_iter();
    let sampling = sampling.map(|key| format!("sampling.{key}"));
    keys("/properties").into_iter().chain(sampling).collect()
}

/// The key that is nearest to a name, by its last part.
fn nearest(name: &str, keys: Vec<String>) -> Option<String> {
    let last = |key: &String| plain(key.rsplit('.').next().unwrap_or_default());
    let best = keys
        .into_iter()
        .min_by_key(|key| distance(name, &last(key)))?;
    is_near(name, &last(&best)).then_some(best)
}

/// A name without what separates its words.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_'));
    kept.collect::<String>().to_lowercase()
}

fn distance(left: &str, right: &str) -> usize {
    let short = |text: &str| text.chars().take(64).collect::<String>();
    strsim::osa_distance(&short(left), &short(right))
}

/// True if a word may be a misspelling of that name. The parser's own measure takes `undo` for `run`.
fn is_slip(typed: &str, known: &str) -> bool {
    distance(typed, known) <= (typed.chars().count() / 3).max(1)
}

fn is_near(typed: &str, known: &str) -> bool {
    distance(typed, known) <= typed.chars().count() / 4
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// 001/11.direct.13
    #[test]
    fn a_tip_names_the_setting_or_the_command_that_is_meant() {
        let check = |line: &str, expect: Option<&str>| {
            let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let program = Cli::command();
            let fault = program.clone().try_get_matches_from(&given).unwrap_err();
            let text = with_tip(fault, &given, &program).render().to_string();
            let tip = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("tip: "));
            assert_eq!(tip, expect, "{text}");
        };
        let set = |set: &str| format!("to change a key of the contract, use '--set {set}'");
        check(
            "monolith run a.yaml --maxturns 3",
            Some(&set("max_turns=3")),
        );
        check(
            "monolith run a.yaml --total-timeout-ms=3",
            Some(&set("total_timeout_ms=3")),
        );
        check(
            "monolith contract check a.yaml --temperature 0.2",
            Some(&set("sampling.temperature=0.2")),
        );
        check(
            "monolith run a.yaml --taks x",
            Some("a similar argument exists: '--task'"),
        );
        check("monolith run --tool-polcy", Some(&set("tool_policy=VALUE")));
        check(
            "monolith show last --temperature 2",
            Some("a similar argument exists: '--tree'"),
        );
        check("monolith run a.ai --api 8080", Some(NO_SERVERS));
        check("monolith run a.ai --api-concurrency=3", Some(NO_SERVERS));
        check(
            "monolith run a.ai --trace-sdk",
            Some("there is no SDK below monolith: '--trace-llm' writes what is sent to models"),
        );
        check(
            "monolith chekc a.yaml",
            Some("a similar subcommand exists: 'monolith contract check'"),
        );
        check(
            "monolith verfy",
            Some("a similar subcommand exists: 'verify'"),
        );
        check(
            "monolith list --failed",
            Some("it is a value: '--outcome failed'"),
        );
        check("monolith lst", Some("a similar subcommand exists: 'list'"));
        check("monolith rnu", Some("a similar subcommand exists: 'run'"));
        check(
            "monolith gone.ai task",
            Some("to run a contract, use: monolith run gone.ai"),
        );
        let quotes = "one task is one argument, in quotes";
        check(
            "monolith run read the plan",
            Some(&format!("{quotes}: monolith run 'read the plan'")),
        );
        check(
            "monolith run agent.yaml read the plan --json",
            Some(&format!(
                "{quotes}: monolith run agent.yaml 'read the plan'"
            )),
        );
        check("monolith run --json read the plan", Some(quotes));
        check(
            "monolith continue last go on",
            Some(&format!("{quotes}: monolith continue last 'go on'")),
        );
        for lacking in ["show", "verify", "replay", "approve", "undo"] {
            let tip = format!(
                "'last' is the newest run: monolith {lacking} last; monolith list has the others"
            );
            check(&format!("monolith {lacking}"), Some(&tip));
        }
        for none in ["frobnicate", "status", "ls"] {
            check(&format!("monolith {none}"), None);
        }
    }

    #[test]
    fn the_usage_below_a_tip_does_not_show_another_option() {
        let given = ["monolith", "run", "a.ai", "--trace-sdk"].map(OsString::from);
        let program = Cli::command();
        let fault = program.clone().try_get_matches_from(&given).unwrap_err();
        let text = with_tip(fault, &given, &program).render().to_string();
        assert!(text.contains("Usage: monolith run [OPTIONS] "), "{text}");
        assert!(!text.contains("--trace-mcp ["), "{text}");
    }

    #[test]
    fn a_text_in_the_place_of_a_command_is_shown_as_a_task() {
        let given: Vec<OsString> = ["monolith", "list the files"].map(OsString::from).to_vec();
        let program = Cli::command();
        let fault = program.clone().try_get_matches_from(&given).unwrap_err();
        let text = with_tip(fault, &given, &program).render().to_string();
        let tip = "tip: to give an agent a task, use: monolith run 'list the files'";
        assert!(text.contains(tip), "{text}");
    }
}
