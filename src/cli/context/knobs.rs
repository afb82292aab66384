//! The knobs of a run as separate options: `--max-tool-turns 3` for `--set max_turns=3`, named as in front matter (001 §8,
//! §11). Reads no file.

use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use monolith_core::contract::KNOBS;
use monolith_service::as_typed::remember;

/// Knobs that are on or off: without a value they are on.
const SWITCHES: [&str; 2] = ["parallelToolCalls", "stream"];
/// Knobs in milliseconds, whose unit may stand in the name.
const IN_MS: [&str; 2] = ["llmTimeout", "toolTimeout"];

/// An option, and what it changes.
struct Knob {
    /// As front matter calls it.
    key: &'static str,
    long: String,
    /// The option that switches off a switch.
    off: Option<String>,
    /// The same with its unit.
    with_unit: Option<String>,
    /// Its key in a contract file.
    path: &'static str,
}

static ALL: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    let all = KNOBS.iter().map(|(key, path)| {
        let long = dashed(key);
        Knob {
            key,
            off: SWITCHES.contains(key).then(|| format!("no-{long}")),
            with_unit: IN_MS.contains(key).then(|| format!("{long}-ms")),
            long,
            path,
        }
    });
    all.collect()
});

/// The knobs that were given: each as a change of the contract, and as it was typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnobArgs(Vec<(String, String)>);

impl KnobArgs {
    /// As `--set` would have them.
    pub(crate) fn into_sets(self) -> Vec<String> {
        let each = self.0.into_iter().map(|(set, typed)| {
            remember(&set, typed);
            set
        });
        each.collect()
    }
}

impl FromArgMatches for KnobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut sets = Vec::new();
        for knob in ALL.iter() {
            let value = matches.get_one::<String>(knob.key).cloned();
            let off = knob.off.as_deref().filter(|off| matches.get_flag(off));
            let typed = match (off, value) {
                (Some(off), _) => Some(("false".to_owned(), format!("--{off}"))),
                (None, Some(value)) => {
                    let typed = format!("--{} {value}", knob.long);
                    Some((value, typed))
                }
                (None, None) => None,
            };
            if let Some((value, typed)) = typed {
                sets.push((format!("{}={value}", knob.path), typed));
            }
        }
        Ok(Self(sets))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for KnobArgs {
    fn augment_args(mut command: Command) -> Command {
        for knob in ALL.iter() {
            let mut arg = Arg::new(knob.key)
                .long(knob.long.as_str())
                .value_name("VALUE")
                .help(knob.path)
                .hide(true)
                .allow_negative_numbers(true);
            if let Some(off) = &knob.off {
                arg = arg
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true");
                let off = Arg::new(off.as_str())
                    .long(off.as_str())
                    .action(ArgAction::SetTrue)
                    .hide(true)
                    .conflicts_with(knob.key);
                command = command.arg(off);
            }
            if let Some(with_unit) = &knob.with_unit {
                arg = arg.alias(with_unit.as_str());
            }
            // Another name of the same key.
            let same = ALL.iter().filter(|other| other.path == knob.path);
            let same = same.filter(|other| other.key != knob.key);
            arg = arg.conflicts_with_all(same.map(|other| other.key));
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Every knob as an option, for the long page of help.
pub(crate) fn listed_knobs() -> String {
    let options = ALL.iter().map(|knob| match knob.off {
        Some(_) => format!("--[no-]{}", knob.long),
        None => format!("--{} VALUE", knob.long),
    });
    let options: Vec<String> = options.collect();
    format!(
        "Options for single values, like --set: {}",
        options.join(", ")
    )
}

/// `maxToolTurns` as `max-tool-turns`.
fn dashed(key: &str) -> String {
    let mut long = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            long.push('-');
        }
        long.push(c.to_ascii_lowercase());
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_service::as_typed::as_typed;

    /// 001/8.overrides.1
    #[test]
    fn each_knob_is_an_option_of_its_own() {
        let check = |line: &[&str], expect: &[&str]| {
            let command = KnobArgs::augment_args(Command::new("run").no_binary_name(true));
            let matches = command
                .try_get_matches_from(line)
                .map_err(|f| f.to_string());
            let sets = KnobArgs::from_arg_matches(&matches.unwrap()).unwrap();
            let sets = sets.into_sets();
            assert_eq!(sets, expect, "{line:?}");
            let typed: Vec<String> = sets.iter().map(|set| as_typed(set)).collect();
            assert!(
                typed
                    .iter()
                    .all(|typed| typed.starts_with("--") && !typed.starts_with("--set ")),
                "{typed:?}"
            );
        };
        check(&[], &[]);
        check(&["--max-tool-turns", "3"], &["max_turns=3"]);
        check(&["--temperature=-1"], &["sampling.temperature=-1"]);
        check(&["--temperature", "-1"], &["sampling.temperature=-1"]);
        check(&["--llm-timeout-ms", "5"], &["llm_timeout_ms=5"]);
        check(&["--stream"], &["sampling.stream=true"]);
        check(&["--no-stream"], &["sampling.stream=false"]);
        check(
            &["--parallel-tool-calls=false"],
            &["parallel_tool_calls=false"],
        );
        let command = KnobArgs::augment_args(Command::new("run").no_binary_name(true));
        let both = command.try_get_matches_from(["--max-tool-turns", "2", "--max-turns", "3"]);
        assert!(both.is_err(), "one and the same key");
        for knob in ALL.iter() {
            let word = format!("--{}=1", knob.long);
            check(&[&word], &[&format!("{}=1", knob.path)]);
        }
    }
}
