//! One input of many runs: a line that begins a run, or a run of the store. Does not read files.

use std::path::PathBuf;

use serde::Deserialize;

use crate::text::escape::line;
use monolith_core::message::RunId;
use monolith_host::store::DamagedRow;

/// One input of many runs.
#[derive(Debug)]
pub struct Input {
    /// Number of its line, from 1; 0 for one that is no line of a list.
    pub number: u64,
    /// Name in results: the line, the file or the run.
    pub place: String,
    /// The run that it asks for.
    pub wanted: Wanted,
}

/// The run that an input asks for.
#[derive(Debug)]
pub enum Wanted {
    /// A new run, or the rule that its line breaks.
    New(Result<RunLine, String>),
    /// A run of the store to resume, or a row of it that cannot be read.
    Recorded(Result<RunId, DamagedRow>),
}

impl Input {
    /// Its place: in words, and as `--from` names it.
    pub(super) fn at(&self) -> (String, String) {
        let place = line(&self.place);
        match self.number {
            0 => (place.clone(), place),
            number => (place, number.to_string()),
        }
    }
}

/// A run as a line of a list asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLine {
    /// The contract file.
    pub contract: PathBuf,
    /// The run's name; a random one where it is left out.
    #[serde(default)]
    pub run_id: Option<RunId>,
    /// Changes of the file's values, such as `max_turns=3`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Task of the run, instead of the file's.
    #[serde(default)]
    pub task: Option<String>,
}

impl RunLine {
    /// A run under a file, and no more.
    pub const fn under(contract: PathBuf) -> Self {
        Self {
            contract,
            run_id: None,
            set: Vec::new(),
            task: None,
        }
    }

    /// Changes of the file's values: those of all lines, then its own.
    pub(super) fn sets_under(&self, of_all: &[String]) -> Vec<String> {
        of_all.iter().chain(&self.set).cloned().collect()
    }

    /// Reads a line.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        // Behind its end a second line would begin, which the list does not have.
        serde_json::from_slice(line.trim_ascii_end()).map_err(|fault| {
            let text = fault.to_string();
            // The line is named already, and each has one line only.
            let text = text.replace("at line 1 column", "at column");
            let text = match meant(&text) {
                Some(key) => text.replace(EXPECTED, &format!("; did you mean `{key}`?")),
                None => text,
            };
            format!("{text}; a run is {{\"contract\": FILE, \"task\"?, \"run_id\"?, \"set\"?: [KEY=VALUE]}}")
        })
    }
}

/// The allowed keys of a line.
const KEYS: [&str; 4] = ["contract", "run_id", "set", "task"];
/// The parser's suffix for an unknown key.
const EXPECTED: &str = ", expected one of `contract`, `run_id`, `set`, `task`";

/// The key that a fault of the parser is about, where it is one with a slip in it.
fn meant(fault: &str) -> Option<&'static str> {
    let typed = fault.strip_prefix("unknown field `")?.split('`').next()?;
    let distance = |key: &&str| strsim::osa_distance(typed, key);
    let nearest = KEYS.into_iter().min_by_key(distance)?;
    (distance(&nearest) <= (typed.chars().count() / 3).max(1)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_strictly() {
        let whole =
            br#"{"contract": "c.yaml", "task": "hi", "run_id": "r1", "set": ["max_turns=2"]}"#;
        let expect = RunLine {
            run_id: RunId::try_from("r1".to_owned()).ok(),
            set: vec!["max_turns=2".to_owned()],
            task: Some("hi".to_owned()),
            ..RunLine::under("c.yaml".into())
        };
        assert_eq!(RunLine::parse(whole), Ok(expect));
        let alone = RunLine::parse(br#"{"contract": "c.yaml"}"#);
        assert_eq!(alone, Ok(RunLine::under("c.yaml".into())));
        let check = |line: &str, rule: &str| {
            let refused = RunLine::parse(line.as_bytes()).unwrap_err();
            assert!(refused.starts_with(rule), "{line}: {refused}");
        };
        check("{}", "missing field `contract` at column 2");
        check("c.yaml", "expected value at column 1");
        check(
            r#"{"contract": "c", "tusk": ""}"#,
            "unknown field `tusk`; did you mean `task`? at column 24; a run is",
        );
        check(
            r#"{"contract": "c", "colour": ""}"#,
            "unknown field `colour`, expected one of `contract`, ",
        );
        // One line number is enough, and it is not the parser's.
        check(
            "{\"contract\": \"c\"\n",
            "EOF while parsing an object at column 16; ",
        );
        check(r#"{"contract": "c", "run_id": "A B"}"#, "");
        check(r#"{"contract": "c"} {}"#, "trailing characters at column");
        check(
            r#"{"contract": "c", "contract": "d"}"#,
            "duplicate field `contract`",
        );
    }
}
