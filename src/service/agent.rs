//! An agent's file (`.ai`) as a command names it, its neighbouring files, and the values of its prompt's placeholders.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::io::{IsTerminal as _, Read as _, stdout};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use rustix::system::uname;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::service::Service;
use monolith_core::contract::{
    AgentFiles, AgentForm, AgentSource, FORMAT, IncludedText, PROMPT_SET, ReportFormat, YamlFault,
    prompt_names, unread_rule, yaml_value,
};
use monolith_core::message::without_bom;
use monolith_host::store::open_given;

/// The fault of a schema that is deeper or longer than any that is read.
const TOO_LARGE: &str = "it is too deep or too long: at most 32 levels, and few aliases";
/// The nesting depth at which a JSON text is too deep to read.
const JSON_LEVELS: usize = 128;
/// Maximum bytes read of a contract file; its reader refuses more.
pub(super) const MAX_FILE_BYTES: u64 = 2 << 20;
/// The suffixes of agent files.
const ENDINGS: [(&str, AgentForm); 4] = [
    (".ai", AgentForm::FrontMatter),
    (".agent.json", AgentForm::Profile),
    (".agent.yaml", AgentForm::Profile),
    (".agent.yml", AgentForm::Profile),
];

/// The form of the agent at that path; `None` if there is none.
pub(crate) fn agent_form(path: &Path) -> Option<AgentForm> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let mut endings = ENDINGS.into_iter();
    let found = endings.find(|(ending, _)| name.len() > ending.len() && name.ends_with(ending));
    found.map(|(_, form)| form)
}

/// The values of prompt placeholders in this command. A run keeps those that it used, so a resume gives the same.
#[derive(Clone, Debug)]
pub struct Placeholders {
    format: ReportFormat,
    values: BTreeMap<String, String>,
}

impl Placeholders {
    /// The time and the place of now, and the form for where results are shown.
    pub fn now() -> Self {
        let now = Zoned::now();
        let zone = now.time_zone().iana_name().unwrap_or("UTC");
        let values = [
            ("DATETIME", now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()),
            ("DAY", now.strftime("%A").to_string()),
            ("TIMEZONE", zone.to_owned()),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let format = if stdout().is_terminal() {
            ReportFormat::Tty
        } else {
            ReportFormat::Markdown
        };
        Self {
            format,
            values: values.into(),
        }
    }

    /// Takes the time of another command.
    pub(crate) fn say_as(&mut self, then: &Self) {
        self.values.extend(then.values.clone());
    }

    /// The same where the result goes to the agent that asked for it (001 §11).
    pub(crate) fn for_agent(self) -> Self {
        Self {
            format: ReportFormat::SubAgent,
            ..self
        }
    }

    /// The same, and the machine and the user (001 §3): what a prompt of the command line may name.
    pub(crate) fn with_place(mut self, service: &Service) -> Self {
        let uname = uname();
        let word = |text: &CStr| text.to_string_lossy().into_owned();
        let kernel = format!("{} {}", word(uname.sysname()), word(uname.release()));
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let name = name.map(|name| name.trim_matches('"').to_owned());
        let user = ["USER", "LOGNAME", "USERNAME"];
        let user = user
            .into_iter()
            .find_map(|name| service.environment.raw(name));
        let user = user_name().or(user);
        let values = [
            ("ARCH", Some(architecture().to_owned())),
            ("CD", Some(service.cwd.display().to_string())),
            ("HOSTNAME", Some(word(uname.nodename()))),
            ("OS", Some(name.unwrap_or_else(|| kernel.clone()))),
            ("KERNEL", Some(kernel)),
            ("USER", user),
        ];
        let values = values.into_iter();
        let values = values.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        self.values.extend(values);
        self
    }

    /// The agent's file with everything included, to be read.
    pub(crate) fn source<'a>(
        &'a self,
        (file, form): (&'a str, AgentForm),
        text: &'a IncludedText,
        beside: &'a dyn AgentFiles,
    ) -> AgentSource<'a> {
        AgentSource {
            beside,
            file,
            form,
            format: self.format,
            parts: &text.parts,
            text: &text.text,
            variables: &self.values,
        }
    }

    /// Returns the placeholder values that a prompt used, as overrides that set them again, without those already in `sets`.
    pub(crate) fn kept(&self, text: &str, sets: &[String]) -> Vec<String> {
        let format = (FORMAT, self.format.as_str());
        let used = prompt_names(text);
        let values = self.values.iter();
        let values = values.map(|(name, value)| (name.as_str(), value.as_str()));
        let values = values.filter(|(name, _)| used.contains(name));
        let all = values.chain([format]);
        let all = all.map(|(name, value)| (format!("{PROMPT_SET}{name}="), value));
        let new = all.filter(|(set, _)| !sets.iter().any(|known| known.starts_with(set.as_str())));
        new.map(|(set, value)| set + value).collect()
    }
}

/// Returns the machine's architecture, by the name that such prompts use (001 §3).
const fn architecture() -> &'static str {
    match std::env::consts::ARCH.as_bytes() {
        b"x86_64" => "x64",
        b"aarch64" => "arm64",
        b"x86" => "ia32",
        _ => std::env::consts::ARCH,
    }
}

/// The name of this process's user in the system's list; `None` if it has none.
fn user_name() -> Option<String> {
    let own = rustix::process::getuid().as_raw().to_string();
    let list = fs::read_to_string("/etc/passwd").ok()?;
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == own && !name.is_empty()).then(|| name.to_owned())
    })
}

/// The files that an agent's file refers to.
pub(crate) struct Beside<'a> {
    /// The fallback folder for a schema that is not in the agent's folder.
    pub(crate) cwd: &'a Path,
    /// The agent's folder.
    pub(crate) folder: &'a Path,
    /// The schemas that were read.
    pub(crate) schemas: RefCell<Vec<PathBuf>>,
}

impl AgentFiles for Beside<'_> {
    fn text(&self, path: &Path) -> Result<(PathBuf, String), String> {
        let text = text_of(path)?;
        let real = fs::canonicalize(path).map_err(|fault| fault.to_string())?;
        Ok((real, text))
    }

    fn schema(&self, path: &str) -> Result<Value, String> {
        let beside = self.folder.join(path);
        let (folder, found) = if beside.is_file() {
            (self.folder, beside)
        } else {
            (self.cwd, self.cwd.join(path))
        };
        let without_links = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (real, real_folder) = (without_links(&found), without_links(folder));
        if let Some(rule) = unread_rule(path, (&found, &real), (folder, &real_folder)) {
            return Err(rule);
        }
        let text = text_of(&found)?;
        let text = without_bom(&text);
        self.schemas.borrow_mut().push(found);
        let of_json = match serde_json::from_str(text) {
            Ok(schema) => return Ok(schema),
            Err(fault) => fault,
        };
        yaml_value(text).map_err(|fault| {
            // A reader that keeps nothing takes any JSON, however deep it is, and whatever its numbers and characters are.
            let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
            if is_json && !is_deep(text) {
                return format!("it holds what is not read: {of_json}");
            }
            match fault {
                _ if is_json => TOO_LARGE.to_owned(),
                YamlFault::TooLarge => TOO_LARGE.to_owned(),
                YamlFault::Syntax { column, line } => {
                    format!("it is neither JSON nor YAML (line {line}, column {column})")
                }
                YamlFault::NoValue { .. } => fault.to_string(),
            }
        })
    }
}

/// True if a JSON text is too deeply nested to read.
fn is_deep(json: &str) -> bool {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    json.chars().any(|character| {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            '[' | '{' if !in_text => depth = depth.saturating_add(1),
            ']' | '}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth >= JSON_LEVELS
    })
}

/// The text of a file that an agent names.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = open_given(path).map_err(|fault| fault.to_string())?;
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    let read = read.map_err(|fault| fault.to_string())?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_FILE_BYTES) {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|fault| fault.utf8_error().to_string())
}
