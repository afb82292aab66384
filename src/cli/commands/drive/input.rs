//! The contract and the task that the arguments of `run` and `chat` name. Reads the task but not the contract.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use crate::context::app::App;
use monolith_core::message::without_bom;
use monolith_host::store::{is_handed_in, open_given};
use monolith_service::contract_file::look_for_agent_file;
use monolith_service::contract_file::prompt::Prompt;
use monolith_service::error::ServiceError;
use monolith_service::error::input::{InputFault, TextSource};

/// The extensions of contract files.
const CONTRACT_ENDINGS: [&str; 4] = ["yaml", "yml", "json", "ai"];
/// The most bytes of a task that is read from a file or a pipe.
const MAX_TASK_BYTES: u64 = 2 << 20;

/// Under which contract a run is begun, and what it is to do.
#[derive(Debug)]
pub(crate) struct RunInput {
    pub(crate) named: NamedContract,
    /// `None` if the file or a pipe gives it.
    pub(crate) task: Option<String>,
}

/// The contract's source.
#[derive(Debug)]
pub(crate) enum NamedContract {
    /// In a file; `None` if it is the folder's own.
    File(Option<PathBuf>),
    /// It is what follows from a system prompt.
    Prompt(Prompt),
}

impl NamedContract {
    /// The file that is named.
    pub(crate) fn file(self) -> Option<PathBuf> {
        match self {
            Self::File(path) => path,
            Self::Prompt(_) => None,
        }
    }
}

/// A named contract or task.
enum Named {
    Contract(PathBuf),
    Task(String),
}

impl RunInput {
    /// Resolves the arguments. A contract is an existing .yaml, .yml, .json or .ai file. Any other text is the task, and the
    /// folder's default contract applies. Two texts are a system prompt and the task. An obvious typo in a file name is
    /// refused, because it would be the task of another agent.
    pub(crate) fn of(
        app: &App,
        given: Vec<OsString>,
        contract: Option<PathBuf>,
        task: Option<String>,
    ) -> Result<Self, ServiceError> {
        let mut given = given.into_iter();
        let first = given.next().map(|first| named(app, first)).transpose()?;
        let second = given.next().map(utf8).transpose()?;
        if let (None, Some(Named::Task(word))) = (&contract, &first)
            && let Some(path) = contract_called(&app.cwd, word)
        {
            let (word, task) = (word.clone(), second);
            return Err(InputFault::WordForFile { path, task, word }.into());
        }
        let both = (&contract, &first, &second);
        if let (None, Some(Named::Task(system)), Some(user)) = both
            && task.is_none()
            && !is_file_behind(&app.cwd, user)
        {
            return Self::direct(app, system.clone(), user.clone());
        }
        let (file, positional) = match (contract, first, second) {
            (Some(_), Some(Named::Contract(path)), _) => {
                return Err(InputFault::TwoContracts { path }.into());
            }
            (Some(_), Some(Named::Task(_)), Some(_)) => return Err(InputFault::TwoTasks.into()),
            (None, Some(Named::Task(task)), Some(second)) => {
                if is_file_behind(&app.cwd, &second) {
                    let path = PathBuf::from(second);
                    return Err(InputFault::FileFirst { path, task }.into());
                }
                return Err(InputFault::TwoTasks.into());
            }
            (Some(contract), Some(Named::Task(task)), None) => (Some(contract), Some(task)),
            (None, Some(Named::Task(task)), None) => (None, Some(task)),
            (None, Some(Named::Contract(path)), second) => (Some(path), second),
            (contract, None, _) => (contract, None),
        };
        if file.is_none() {
            look_for_agent_file(app, positional.as_deref(), "run FILE \"task\"")?;
        }
        let task = match (positional, task) {
            (Some(_), Some(_)) => return Err(InputFault::TwoTasks.into()),
            (Some(text), None) => Some(argument(app, text)?),
            (None, task) => task.map(|task| task_of(app, task)).transpose()?,
        };
        let named = NamedContract::File(file);
        Ok(Self { named, task })
    }

    /// The task alone, where the arguments name no contract.
    pub(crate) fn task_alone(
        app: &App,
        given: Vec<OsString>,
        task: Option<String>,
    ) -> Result<Option<String>, ServiceError> {
        let mut given = given.into_iter();
        match (given.next(), given.next(), task) {
            (Some(text), None, None) => Ok(Some(argument(app, utf8(text)?)?)),
            (None, None, Some(task)) => Ok(Some(task_of(app, task)?)),
            (None, None, None) => piped_task(),
            _ => Err(InputFault::TwoTasks.into()),
        }
    }

    /// A system prompt and a task, each a text, `@FILE`, or one of them `-` (001 §11).
    fn direct(app: &App, system: String, user: String) -> Result<Self, ServiceError> {
        if is_piped_task(&system) && is_piped_task(&user) {
            return Err(InputFault::OneInputTwice.into());
        }
        let file = system.strip_prefix('@').map(|path| app.cwd.join(path));
        let is_piped = is_piped_task(&system);
        let text = task_of(app, system).map_err(|fault| match fault {
            ServiceError::Input(InputFault::Task { from, reason }) => {
                InputFault::Prompt { from, reason }.into()
            }
            fault => fault,
        })?;
        let named = NamedContract::Prompt(match file {
            _ if is_piped => Prompt::text(text),
            Some(file) => Prompt::of_file(file, text),
            None => Prompt::argument(text),
        });
        let task = task_of(app, user)?;
        if task.trim().is_empty() {
            return Err(InputFault::NoTaskBeside.into());
        }
        let task = Some(task);
        Ok(Self { named, task })
    }
}

/// True if a word names an existing contract file.
fn is_file_behind(cwd: &Path, word: &str) -> bool {
    let path = Path::new(word);
    has_ending(path, &CONTRACT_ENDINGS) && cwd.join(path).is_file()
}

/// A task as an argument: the text, `@FILE` for the text of a file, or `-` for standard input. Several words that begin with an `@` are a text,
/// unless a file is called so.
pub(crate) fn argument(app: &App, text: String) -> Result<String, ServiceError> {
    let file = text.strip_prefix('@');
    let is_text = file.is_some_and(|file| !is_word(file) && !app.cwd.join(file).is_file());
    if is_text {
        Ok(text)
    } else {
        task_of(app, text)
    }
}

/// A task as `--task` names it: the text, `@FILE`, or `-` for standard input.
pub(crate) fn task_of(app: &App, given: String) -> Result<String, ServiceError> {
    if given == "-" {
        return piped();
    }
    let Some(path) = given.strip_prefix('@') else {
        return Ok(given);
    };
    let from = || TextSource::File(path.into());
    let file = open_given(&app.cwd.join(path)).map_err(|fault| unreadable(from(), &fault))?;
    text_of(file, from())
}

/// True if [`task_of`] reads standard input for this text.
pub(crate) fn is_piped_task(given: &str) -> bool {
    let path = given.strip_prefix('@').map(Path::new);
    given == "-" || path.is_some_and(is_handed_in)
}

/// The text of a piped standard input; `None` if it is a terminal, or empty.
pub(crate) fn piped_task() -> Result<Option<String>, ServiceError> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    Ok(Some(piped()?).filter(|text| !text.trim().is_empty()))
}

/// True if a piped standard input holds bytes that will not be read. It does not wait, so it misses later input.
pub(crate) fn leaves_piped_input() -> bool {
    #[cfg(unix)]
    {
        let stdin = io::stdin();
        !stdin.is_terminal() && rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0)
    }
    #[cfg(not(unix))]
    false
}

fn piped() -> Result<String, ServiceError> {
    text_of(io::stdin().lock(), TextSource::Stdin)
}

fn text_of(input: impl Read, from: TextSource) -> Result<String, ServiceError> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_TASK_BYTES + 1).read_to_end(&mut bytes);
    let read = read.map_err(|fault| unreadable(from.clone(), &fault))?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_TASK_BYTES) {
        let reason = "it is longer than 2 MiB".to_owned();
        return Err(InputFault::Task { from, reason }.into());
    }
    let text = String::from_utf8(bytes).map_err(|fault| InputFault::Task {
        from,
        reason: fault.utf8_error().to_string(),
    })?;
    let text = without_bom(&text).trim_end_matches(['\r', '\n']);
    Ok(text.to_owned())
}

fn unreadable(from: TextSource, fault: &io::Error) -> ServiceError {
    let reason = fault.to_string();
    InputFault::Task { from, reason }.into()
}

/// A contract where it is a file with the ending of one, else a task.
fn named(app: &App, given: OsString) -> Result<Named, ServiceError> {
    let path = PathBuf::from(&given);
    let is_file = app.cwd.join(&path).is_file();
    if is_file && has_ending(&path, &CONTRACT_ENDINGS) {
        return Ok(Named::Contract(path));
    }
    let task = utf8(given)?;
    if task.starts_with('@') {
        return Ok(Named::Task(task));
    }
    let found = app.cwd.join(&path);
    let why = if found.is_dir() {
        "it is a folder"
    } else if is_file {
        "it is not a .yaml, .yml, .json or .ai file"
    } else {
        "there is no such file"
    };
    if is_path(&app.cwd, &task) || found.is_dir() && is_word(&task) {
        let nearest = nearest_contract(&app.cwd, &path);
        return Err(InputFault::NotAContract { nearest, path, why }.into());
    }
    Ok(Named::Task(task))
}

/// Returns the contract file that a word names without its extension. As a task, the word would go to another agent.
fn contract_called(cwd: &Path, word: &str) -> Option<PathBuf> {
    let files = CONTRACT_ENDINGS.map(|ending| PathBuf::from(format!("{word}.{ending}")));
    let mut there = files.into_iter().filter(|file| cwd.join(file).is_file());
    there.next().filter(|_| is_word(word))
}

/// Returns the contract file in the same folder whose name is most similar to that of the path.
fn nearest_contract(cwd: &Path, path: &Path) -> Option<PathBuf> {
    let asked = path.file_name()?.to_str()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let there = std::fs::read_dir(cwd.join(folder)).ok()?;
    let names = there.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let files = names.filter(|name| has_ending(Path::new(name), &CONTRACT_ENDINGS));
    let ranked = files.map(|name| (strsim::osa_distance(asked, &name), name));
    let (distance, nearest) = ranked.min()?;
    (distance <= asked.chars().count() / 3).then(|| folder.join(nearest))
}

/// True if a text can hardly be a task: one word with a contract file extension, or a path from the root, from the current
/// folder, or into an existing folder. `TCP/IP` and an address are tasks.
fn is_path(cwd: &Path, task: &str) -> bool {
    let path = Path::new(task);
    let begins = path.is_absolute() || path.starts_with(".") || path.starts_with("..");
    let mut folders = path.ancestors().skip(1);
    let folder = folders.next().filter(|folder| *folder != Path::new(""));
    let leads = folder.is_some_and(|folder| cwd.join(folder).is_dir());
    is_word(task) && (begins || leads || has_ending(path, &CONTRACT_ENDINGS))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

fn utf8(given: OsString) -> Result<String, ServiceError> {
    given.into_string().map_err(|given| {
        let from = TextSource::Argument(given.to_string_lossy().into_owned());
        let reason = "the argument is not UTF-8".to_owned();
        InputFault::Task { from, reason }.into()
    })
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| {
        endings
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_word_with_an_ending_or_of_a_path_is_a_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("here")).unwrap();
        let check = |task: &str, expect: bool| {
            assert_eq!(is_path(folder.path(), task), expect, "{task}");
        };
        check("agnet.yaml", true);
        check("a/b.JSON", true);
        check("c.yml", true);
        check("here/nosuch", true);
        check("here/nosuch is what?", false);
        check("./nosuch", true);
        check("../nosuch", true);
        check("bad/nosuch", false);
        check("TCP/IP", false);
        check("and/or?", false);
        check("https://example.org/a/b", false);
        check("/etc/hosts", true);
        check("Explain agent.yaml", false);
        check("Is this and/or that?", false);
        check("Why?", false);
        check("main.rs", false);
        check("", false);
    }
}
