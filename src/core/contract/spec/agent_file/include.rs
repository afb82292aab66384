//! Puts included files in their places (001 §3). Opens none itself.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::message::without_bom;

/// Maximum depth of includes.
const MAX_DEPTH: usize = 8;
/// The most includes of one agent: with files that include twice, depth alone is no bound.
const MAX_INCLUDES: usize = 1000;
/// The most broken includes that are named.
const MAX_FAULTS: usize = 50;
/// The longest text with everything included, in bytes: that of a contract file.
const MAX_BYTES: usize = 1 << 20;
/// Delimiters of an include.
const FORMS: [(&str, &str); 2] = [("${include:", "}"), ("{{include:", "}}")];

/// The files beside an agent's.
pub trait AgentFiles {
    /// The text of a file, and its path without links.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn text(&self, path: &Path) -> Result<(PathBuf, String), String>;

    /// The schema of the file that `schemaRef` names: JSON, or else YAML.
    ///
    /// # Errors
    /// Why there is none.
    fn schema(&self, path: &str) -> Result<Value, String>;
}

/// An include that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {rule}", file.display())]
pub struct IncludeFault {
    /// The file with the include.
    pub file: PathBuf,
    /// The bytes of the include.
    len: usize,
    /// Its line, from 1.
    pub line: usize,
    /// The byte at which it stands in the text with everything else included.
    offset: usize,
    pub rule: String,
}

/// An agent's file some of whose includes cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.listed())]
pub struct BrokenIncludes {
    /// At least one.
    pub faults: Vec<IncludeFault>,
    /// With everything else included; the includes that are broken stand there as they are written.
    pub whole: IncludedText,
}

impl BrokenIncludes {
    fn listed(&self) -> String {
        let all: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        all.join("; ")
    }

    /// Each with the range that it has in the text, and its rule.
    pub(in crate::contract::spec) fn places(&self) -> impl Iterator<Item = (usize, usize, &str)> {
        let faults = self.faults.iter();
        faults.map(|fault| (fault.offset, fault.len, fault.rule.as_str()))
    }
}

/// An agent's file with everything that it includes, and which part of it is from where.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IncludedText {
    /// The parts in their order; each ends where the next one begins.
    pub parts: Vec<IncludedPart>,
    /// The text with every include expanded.
    pub text: String,
}

impl IncludedText {
    /// A text that includes nothing.
    pub fn bare(text: &str) -> Self {
        let text = without_bom(text).to_owned();
        let part = IncludedPart {
            column: 1,
            file: None,
            line: 1,
            offset: 0,
        };
        let parts = vec![part];
        Self { parts, text }
    }
}

/// A part of that text, as it stands in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedPart {
    /// Column of its first character there, in characters, from 1.
    pub column: usize,
    /// The included file; none for the agent's own.
    pub file: Option<PathBuf>,
    /// The line of its first character there, from 1.
    pub line: usize,
    /// The byte at which it begins in the text.
    pub offset: usize,
}

/// The file, the line and the column where a byte of the text stands; none without parts.
pub(in crate::contract::spec) fn place_in<'p>(
    parts: &'p [IncludedPart],
    text: &str,
    offset: usize,
) -> Option<(Option<&'p Path>, usize, usize)> {
    let part = parts.iter().rev().find(|part| part.offset <= offset)?;
    let before = text.get(part.offset..offset)?;
    let (line, column) = match before.rsplit_once('\n') {
        Some((above, last)) => {
            let line = part.line + above.matches('\n').count() + 1;
            (line, last.chars().count() + 1)
        }
        None => (part.line, part.column + before.chars().count()),
    };
    Some((part.file.as_deref(), line, column))
}

/// The text of an agent's file with everything that it includes.
///
/// # Errors
/// [`BrokenIncludes`]: files that are hidden, missing, too large or that include themselves; more than 8 levels.
pub fn with_includes(
    file: &Path,
    text: &str,
    files: &dyn AgentFiles,
) -> Result<IncludedText, BrokenIncludes> {
    included(file, text, files, false)
}

/// [`with_includes`], where only files of that file's folder and below may be included, links followed.
///
/// # Errors
/// The same, and a file that stands elsewhere.
pub fn with_includes_below(
    file: &Path,
    text: &str,
    files: &dyn AgentFiles,
) -> Result<IncludedText, BrokenIncludes> {
    included(file, text, files, true)
}

fn included(
    file: &Path,
    text: &str,
    files: &dyn AgentFiles,
    is_confined: bool,
) -> Result<IncludedText, BrokenIncludes> {
    let text = without_bom(text);
    let own = files.text(file).map_or(file.to_owned(), |(path, _)| path);
    let folder_of = |file: &Path| file.parent().unwrap_or(Path::new("")).to_owned();
    let mut inliner = Inliner {
        faults: Vec::new(),
        files,
        folder: folder_of(&own),
        is_confined,
        left: MAX_INCLUDES,
        named_folder: folder_of(file),
        out: IncludedText::default(),
    };
    // Where it is full, that is one of the faults.
    let _ = inliner.inline(file, text, &mut vec![own]);
    let (faults, whole) = (inliner.faults, inliner.out);
    if faults.is_empty() {
        return Ok(whole);
    }
    Err(BrokenIncludes { faults, whole })
}

/// There is no more room, or no more to be said.
struct Full;

struct Inliner<'f> {
    faults: Vec<IncludeFault>,
    files: &'f dyn AgentFiles,
    /// The agent's folder without links.
    folder: PathBuf,
    /// True if includes must be in that folder or below.
    is_confined: bool,
    left: usize,
    /// The same as it is named.
    named_folder: PathBuf,
    out: IncludedText,
}

/// The rule against reading it.
const RULE: &str = "such files may hold secrets and are not read";

impl Inliner<'_> {
    /// Appends a text; `open` are the files that are being included, the outermost first.
    fn inline(&mut self, file: &Path, text: &str, open: &mut Vec<PathBuf>) -> Result<(), Full> {
        let mut rest = text;
        while let Some((at, begin, end)) = next(rest) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            let inner = after.get(begin.len()..).unwrap_or_default();
            let from = text.len() - rest.len();
            self.push((file, open), text, from, before)?;
            let close = inner.find(end);
            let name = close.and_then(|close| inner.get(..close));
            let Some(name) = name.filter(|name| !name.contains('\n')) else {
                let rule = format!("`{begin}` is not closed by `{end}`");
                self.refuse((file, open), text, (from + at, begin), rule)?;
                rest = inner;
                continue;
            };
            let length = begin.len() + name.len() + end.len();
            match self.opened(file, name.trim(), open) {
                Ok((path, text)) => {
                    open.push(path.1);
                    self.inline(&path.0, &text, open)?;
                    open.pop();
                }
                Err(rule) => {
                    let written = after.get(..length).unwrap_or_default();
                    self.refuse((file, open), text, (from + at, written), rule)?;
                }
            }
            rest = after.get(length..).unwrap_or_default();
        }
        self.push((file, open), text, text.len() - rest.len(), rest)
    }

    /// Notes a fault, and leaves what is written there as it is.
    fn refuse(
        &mut self,
        (file, open): (&Path, &[PathBuf]),
        text: &str,
        (from, written): (usize, &str),
        rule: String,
    ) -> Result<(), Full> {
        self.fault(file, text, (from, written.len()), rule);
        self.push((file, open), text, from, written)?;
        if self.faults.len() < MAX_FAULTS {
            Ok(())
        } else {
            Err(Full)
        }
    }

    fn fault(&mut self, file: &Path, text: &str, (from, len): (usize, usize), rule: String) {
        let above = text.get(..from).unwrap_or_default();
        self.faults.push(IncludeFault {
            file: file.to_owned(),
            len,
            line: above.matches('\n').count() + 1,
            offset: self.out.text.len(),
            rule,
        });
    }

    /// The file that an include of `file` names: as it is named and as it is without links, and its text.
    fn opened(
        &mut self,
        file: &Path,
        name: &str,
        open: &[PathBuf],
    ) -> Result<((PathBuf, PathBuf), String), String> {
        if name.is_empty() {
            return Err("an include names a file".to_owned());
        }
        if open.len() > MAX_DEPTH {
            return Err(format!("includes nest more than {MAX_DEPTH} levels"));
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| format!("more than {MAX_INCLUDES} includes"))?;
        let path = file.parent().unwrap_or(Path::new("")).join(name);
        let folder = (self.named_folder.as_path(), self.folder.as_path());
        if let Some(rule) = hidden_rule(name, folder) {
            return Err(rule);
        }
        let found = self.files.text(&path);
        let (real, text) =
            found.map_err(|fault| format!("`{name}` cannot be included: {fault}"))?;
        if let Some(rule) = unread_rule(name, (&path, &real), folder) {
            return Err(rule);
        }
        if self.is_confined && !real.starts_with(&self.folder) {
            return Err(format!(
                "`{name}` is not in the folder of the prompt: a prompt of the command line includes files below its own folder alone"
            ));
        }
        if open.contains(&real) {
            return Err(format!("`{name}` includes itself"));
        }
        let text = without_bom(&text).to_owned();
        Ok(((path, real), text))
    }

    /// Appends a file's text from that byte on.
    fn push(
        &mut self,
        (file, open): (&Path, &[PathBuf]),
        text: &str,
        from: usize,
        part: &str,
    ) -> Result<(), Full> {
        if self.out.text.len() + part.len() > MAX_BYTES {
            let rule = format!("with everything included it holds more than {MAX_BYTES} bytes");
            self.fault(file, text, (from, 0), rule);
            return Err(Full);
        }
        let above = text.get(..from).unwrap_or_default();
        let last = above.rsplit('\n').next().unwrap_or_default();
        self.out.parts.push(IncludedPart {
            column: last.chars().count() + 1,
            file: (open.len() > 1).then(|| file.to_owned()),
            line: above.matches('\n').count() + 1,
            offset: self.out.text.len(),
        });
        self.out.text.push_str(part);
        Ok(())
    }
}

/// Returns why a file that an agent names must not be read: it may hold secrets. File and starting folder are given as named
/// and with links resolved. Returns `None` if the file may be read.
pub fn unread_rule(
    name: &str,
    (named, real): (&Path, &Path),
    folder: (&Path, &Path),
) -> Option<String> {
    if holds_variables(Path::new(name)) || holds_variables(real) {
        return Some(format!("`{name}` is a file of variables: {RULE}"));
    }
    if is_hidden_behind_a_link((named, real), folder) {
        let real = real.display();
        return Some(format!("`{name}` leads to {real}, which is hidden: {RULE}"));
    }
    hidden_rule(name, folder)
}

/// The folders that the agent's own stands in may be hidden, in a path from the root, too.
fn hidden_rule(name: &str, (named_folder, folder): (&Path, &Path)) -> Option<String> {
    let path = Path::new(name);
    let of_agent = [named_folder, folder].into_iter();
    let mut of_agent = of_agent.filter(|folder| folder.is_absolute());
    let below = of_agent.find_map(|folder| path.strip_prefix(folder).ok());
    is_hidden(below.unwrap_or(path)).then(|| format!("`{name}` is hidden: {RULE}"))
}

/// True if a link leads to a hidden file or into a hidden folder. Folders above the agent's own may be hidden, and so may those
/// of a path without links.
fn is_hidden_behind_a_link(
    (named, real): (&Path, &Path),
    (named_folder, folder): (&Path, &Path),
) -> bool {
    let below = named.strip_prefix(named_folder);
    let expected = below.map_or(named.to_owned(), |below| folder.join(below));
    let seen = real.strip_prefix(folder).unwrap_or(real);
    without_dots(&expected) != real && is_hidden(seen)
}

/// Finds the next include and its form.
fn next(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let found = FORMS
        .iter()
        .filter_map(|(begin, end)| Some((text.find(begin)?, *begin, *end)));
    found.min()
}

/// True if a part of the path begins with a dot; ignores `.` and `..`.
fn is_hidden(path: &Path) -> bool {
    let mut parts = path.components();
    parts.any(
        |part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")),
    )
}

/// True if the file is named like a variable file: `ai-agent.env`, `secret.env`.
fn holds_variables(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("env"))
}

/// The path without `.` and with each `..` taken at its word.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
