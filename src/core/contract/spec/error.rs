//! Faults of a contract file with line, column and range of bytes. Does not find them, and draws nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use crate::message::escaped_line;

/// A help that is longer is not written out twice.
const LONG_HELP: usize = 200;

/// Everything wrong with a contract file and its overrides, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecErrors {
    /// The file's name as the caller gave it.
    pub file: String,
    /// The file's text; values of headers and of environment variables are asterisks.
    pub text: String,
    /// At least one.
    pub errors: Vec<SpecError>,
}

/// One broken rule and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset of what the rule is about.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
    /// Dotted path of the value, such as `targets.0.provider`; empty for the document as a whole.
    pub path: String,
    /// The rule that is broken.
    pub rule: String,
    /// Suggested fix, if known.
    pub help: Option<String>,
    /// Position in the included or the agent's own file, if no line of the text gives it: an agent's file is read with its
    /// includes.
    pub included: Option<IncludedPlace>,
    /// The override with the fault, `key=value`; the position is then in this text, not in the file.
    pub set: Option<String>,
}

/// The source of a part of an agent's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedPlace {
    /// The included file; none for the agent's own.
    pub file: Option<String>,
    /// Line there, from 1.
    pub line: usize,
    /// Column there in characters, from 1.
    pub column: usize,
}

impl SpecErrors {
    /// The file, the line and the column of an error, for people.
    pub fn place_of<'e>(&'e self, error: &'e SpecError) -> (&'e str, usize, usize) {
        match &error.included {
            Some(place) => {
                let file = place.file.as_deref().unwrap_or(&self.file);
                (file, place.line, place.column)
            }
            None => (&self.file, error.line, error.column),
        }
    }

    /// Each error with its help. A long one is written out once.
    pub fn with_helps(&self) -> impl Iterator<Item = (&SpecError, Option<&str>)> {
        let mut shown = BTreeSet::new();
        self.errors.iter().map(move |error| {
            let help = error.help.as_deref();
            let again = help.is_some_and(|help| help.len() > LONG_HELP && !shown.insert(help));
            (error, if again { Some("as above") } else { help })
        })
    }

    /// Returns the dedicated option of a change: `--llm-timeout` for `--llm-timeout 10s`; `None` for `--set` and `--override`.
    pub fn option_of(typed: &str) -> Option<&str> {
        let option = typed.split(' ').next()?;
        (!["--set", "--override"].contains(&option)).then_some(option)
    }

    /// True for the path of a key in a tool's definition, `tools.rest.NAME.queue`: one option may name several.
    pub fn is_of_definition(path: &str) -> bool {
        let below = path.strip_prefix("tools.");
        below.is_some_and(|below| below.split('.').count() > 2)
    }
}

impl fmt::Display for SpecErrors {
    /// Writes a line for each error: its place, its path, the rule and the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (error, help)) in self.with_helps().enumerate() {
            if n > 0 {
                f.write_char('\n')?;
            }
            if let Some(set) = &error.set {
                write!(f, "--set {set}: ")?;
            } else {
                let (file, line, column) = self.place_of(error);
                write!(f, "{}:{line}:{column}: ", escaped_line(file))?;
            }
            if !error.path.is_empty() {
                write!(f, "{}: ", error.path)?;
            }
            f.write_str(&error.rule)?;
            if let Some(help) = help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

/// The text that a range is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The file.
    File,
    /// The override of that index, whose value begins at that byte of it.
    Set { index: usize, base: usize },
}

/// A range of bytes in the file or in an override.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceRange {
    /// Index of the override; `None` for the file.
    set: Option<usize>,
    pub(super) offset: usize,
    pub(super) len: usize,
}

impl Origin {
    pub(super) fn place(self, offset: usize, len: usize) -> SourceRange {
        let (set, base) = match self {
            Self::File => (None, 0),
            Self::Set { index, base } => (Some(index), base),
        };
        SourceRange {
            set,
            offset: base + offset,
            len,
        }
    }
}

impl SourceRange {
    /// True if it lies in a command-line override.
    pub(super) const fn is_override(&self) -> bool {
        self.set.is_some()
    }

    /// The text it lies in: the file, or one of the overrides.
    pub(super) fn text_of<'t>(
        &self,
        text: &'t mut String,
        sets: &'t mut [String],
    ) -> Option<&'t mut String> {
        match self.set {
            None => Some(text),
            Some(index) => sets.get_mut(index),
        }
    }
}

/// True if a path is `known` or lies below it.
fn is_at(known: &str, path: &str) -> bool {
    let below = path.strip_prefix(known);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Prefix of a rule about a configuration file as a whole.
const CONFIGURATION: &str = "configuration ";
/// Maximum number of reported errors; a file with more gains nothing from the rest.
const MAX_ERRORS: usize = 100;

/// Place, path, rule, help.
type Finding = (SourceRange, String, String, Option<String>);

/// Collects what is wrong while the file is read.
pub(super) struct Findings<'a> {
    text: &'a str,
    sets: &'a [String],
    list: RefCell<Vec<Finding>>,
    /// Warnings about values that are not taken as written.
    clamped: RefCell<Vec<String>>,
    /// Paths of values that are not the file's own, and where they are from.
    outside: RefCell<Vec<(String, String)>>,
    /// Paths of values that may be secrets: those of variables.
    hidden: RefCell<Vec<String>>,
    /// Rules that need not be kept, each with the path of the mapping that it is about; the path of the file is empty.
    waived: RefCell<Vec<(String, String)>>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(text: &'a str, sets: &'a [String]) -> Self {
        Self {
            text,
            sets,
            list: RefCell::default(),
            clamped: RefCell::default(),
            outside: RefCell::default(),
            hidden: RefCell::default(),
            waived: RefCell::default(),
        }
    }

    pub(super) fn add(
        &self,
        place: &SourceRange,
        path: &str,
        rule: impl Into<String>,
        help: Option<String>,
    ) {
        let mut rule: String = rule.into();
        let waived = self.waived.borrow();
        if waived.iter().any(|(at, of)| at == path && *of == rule) {
            return;
        }
        let outside = self.outside.borrow();
        if let Some((_, origin)) = outside.iter().find(|(known, _)| is_at(known, path)) {
            rule = format!("{rule} (in {origin})");
        }
        let finding = (place.clone(), path.to_owned(), rule, help);
        self.list.borrow_mut().push(finding);
    }

    /// A number is taken at its limit instead.
    pub(super) fn clamp(&self, path: &str, given: f64, taken: f64) {
        let text = format!("{path} is {given}, and {taken} is taken, the nearest that is allowed");
        self.clamped.borrow_mut().push(text);
    }

    /// Something else is hardly meant as it is written.
    pub(super) fn note(&self, text: String) {
        self.clamped.borrow_mut().push(text);
    }

    /// Takes the warnings about such values.
    pub(super) fn take_clamped(&self) -> Vec<String> {
        self.clamped.take()
    }

    /// From now on, findings at that path are about a value from another file.
    pub(super) fn defined_outside(&self, path: &str, origin: &str) {
        let mut outside = self.outside.borrow_mut();
        outside.push((path.to_owned(), origin.to_owned()));
    }

    /// True if the value at that path is defined outside the file.
    pub(super) fn is_outside(&self, path: &str) -> bool {
        let outside = self.outside.borrow();
        outside.iter().any(|(known, _)| is_at(known, path))
    }

    /// From now on, the mapping at that path need not keep that rule; the path of the file is empty.
    pub(super) fn waive(&self, path: &str, rule: String) {
        self.waived.borrow_mut().push((path.to_owned(), rule));
    }

    /// From now on, values at that path or below it are not shown.
    pub(super) fn hide(&self, path: &str) {
        self.hidden.borrow_mut().push(path.to_owned());
    }

    /// True if the value at that path is never shown.
    pub(super) fn is_hidden(&self, path: &str) -> bool {
        self.hidden.borrow().iter().any(|known| is_at(known, path))
    }

    /// A place in words: `on line 3`, `in --set max_turns=6`.
    pub(super) fn locate(&self, place: &SourceRange) -> String {
        match place.set.and_then(|index| self.sets.get(index)) {
            Some(set) => format!("in --set {set}"),
            None => format!("on line {}", position(self.text, place.offset).0),
        }
    }

    /// True if a finding is about the value at that path.
    pub(super) fn has_at(&self, path: &str) -> bool {
        self.list
            .borrow()
            .iter()
            .any(|(_, known, ..)| known == path)
    }

    /// True if one more finding can be shown. Further ones may be reported briefly.
    pub(super) fn matter(&self) -> bool {
        self.list.borrow().len() < MAX_ERRORS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// The errors in the order of the file. `text` and `sets` are the file and the overrides as they may be shown.
    pub(super) fn errors(&self, file: &str, text: &str, sets: &[String]) -> SpecErrors {
        let mut list = self.list.take();
        list.sort();
        list.dedup();
        // A file of configuration that cannot be used is one fault, whatever is asked of it.
        let mut unusable = BTreeSet::new();
        list.retain(|(_, _, rule, _)| {
            !rule.starts_with(CONFIGURATION) || unusable.insert(rule.clone())
        });
        list.truncate(MAX_ERRORS);
        let errors = list
            .into_iter()
            .map(|(place, path, rule, help)| {
                let origin = place.set.and_then(|index| self.sets.get(index));
                let (line, column) =
                    position(origin.map_or(self.text, String::as_str), place.offset);
                SpecError {
                    line,
                    column,
                    offset: place.offset,
                    len: place.len,
                    path,
                    rule,
                    help,
                    included: None,
                    set: place.set.and_then(|index| sets.get(index)).cloned(),
                }
            })
            .collect();
        SpecErrors {
            file: file.to_owned(),
            text: text.to_owned(),
            errors,
        }
    }
}

/// Line and column of a byte, both from 1; a byte inside a character counts as that character.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut line = 1;
    let mut column = 1;
    for (at, c) in text.char_indices() {
        if at + c.len_utf8() > offset {
            break;
        }
        if c == '\n' {
            line += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    (line, column)
}
