//! Variables, folders and the program of the process. Does not know which of them a run needs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::KeyFolder;
use super::agent_reader::AgentReader;
use super::bring_up::granted_before;
use super::decided_files::DecidedFiles;
use super::error::DriverError;
use super::file_place::FilePlace;
use super::shared::Shared;
use super::turn::Turn;
use crate::inference::Proxies;
use crate::tools::{
    CallWatch, GrantedFolders, HostTool, HostTools, ProbeReport, SandboxKind, SandboxProbe,
    ServerKeeper, ServerWatch, TokenKeeper, Withheld,
};
use monolith_core::contract::{ContractSpec, LayerValue, ValueOrigin};

/// The variable for the folder that tool servers are to see (001 §6).
pub const MCP_ROOT: &str = "MCP_ROOT";

/// The source of variables, the place of stored models, and the path of this program. The command line passes in the process
/// environment; tests pass a map. Each variable is looked up once, so that exactly the value sent is removed from a transcript.
/// Runs with copies of one environment share tool servers, queues and connections.
///
/// ```
/// use monolith_host::driver::Environment;
///
/// let environment = Environment::new(|name| (name == "API_KEY").then(|| "secret".to_owned()));
/// assert_eq!(environment.get("API_KEY").as_deref(), Some("secret"));
/// assert_eq!(environment.get("HOME"), None);
/// ```
#[derive(Clone)]
pub struct Environment {
    /// Reads the files of agents that runs delegate to.
    agents: Option<Arc<dyn AgentReader>>,
    /// Receives what calls report while they run.
    call_watch: Option<Arc<CallWatch>>,
    /// Receives the progress of reading a large file.
    file_watch: Option<Arc<FileWatch>>,
    /// The files that decide what is started.
    files: Arc<Mutex<DecidedFiles>>,
    /// The host's own keys: what they look like is secret in every run.
    keys: Option<KeyFolder>,
    /// The tools of the program that embeds monolith.
    host_tools: HostTools,
    /// True if it is for a child run, whose parent run continues meanwhile.
    is_below: bool,
    lookup: Arc<Lookup>,
    models: Option<PathBuf>,
    program: Option<PathBuf>,
    /// Receives lines for people about tool servers that have ended.
    notes: Option<Arc<ServerWatch<'static>>>,
    /// Receives the names of tool servers that need not be waited for any longer.
    server_watch: Option<Arc<ServerWatch<'static>>>,
    /// The origins of some values of a file, by their places: these values see the variables there before those of the process.
    origins: Arc<BTreeMap<String, ValueOrigin>>,
    /// The resources shared by the runs with this environment.
    shared: Shared,
    /// The host's state folder.
    state: Option<PathBuf>,
    /// The turn of the run to be brought up.
    turn: Turn,
    /// The answers to what this machine can confine.
    sandbox: Arc<SandboxProbe>,
    /// The variables looked up.
    seen: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    /// The host's own files, which no built-in tool reads.
    withheld: Arc<Withheld>,
}

/// Receives a file, how many of its bytes have been read, and how many it has.
pub(crate) type FileWatch = dyn Fn(&Path, u64, u64) + Send + Sync;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// An environment that asks `lookup`.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            agents: None,
            call_watch: None,
            file_watch: None,
            files: Arc::default(),
            host_tools: HostTools::default(),
            keys: None,
            is_below: false,
            lookup: Arc::new(lookup),
            models: None,
            notes: None,
            origins: Arc::default(),
            program: None,
            sandbox: Arc::default(),
            server_watch: None,
            seen: Arc::default(),
            shared: Shared::default(),
            state: None,
            turn: Turn::default(),
            withheld: Arc::default(),
        }
    }

    /// Sets the host's folder of keys, its state folder, and all of its places.
    #[must_use]
    pub fn with_state(self, keys: KeyFolder, state: PathBuf, withheld: Withheld) -> Self {
        Self {
            keys: Some(keys),
            state: Some(state),
            withheld: Arc::new(withheld),
            ..self
        }
    }

    /// Registers a tool of this program, which a contract takes by its name in `tools.host`.
    #[must_use]
    pub fn with_tool(mut self, tool: HostTool) -> Self {
        self.host_tools.insert(tool);
        self
    }

    /// The tools of this program.
    pub(super) const fn host_tools(&self) -> &HostTools {
        &self.host_tools
    }

    /// The same on a host that can read the files of agents.
    #[must_use]
    pub fn with_agents(self, agents: Arc<dyn AgentReader>) -> Self {
        Self {
            agents: Some(agents),
            ..self
        }
    }

    /// Returns the reader of agent files.
    pub(super) fn agents(&self) -> Option<&Arc<dyn AgentReader>> {
        self.agents.as_ref()
    }

    /// The same for runs that share that.
    #[must_use]
    pub fn sharing(self, shared: Shared) -> Self {
        Self { shared, ..self }
    }

    /// The same for a run that is brought up in that turn.
    #[must_use]
    pub fn in_turn(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    /// The same for the runs below a run, which takes no turn for them.
    pub(super) fn for_runs_below(self) -> Self {
        Self {
            is_below: true,
            turn: Turn::default(),
            ..self
        }
    }

    /// Returns true if it is for a child run.
    pub(super) const fn is_below(&self) -> bool {
        self.is_below
    }

    /// The turn in which a run is brought up.
    pub(super) const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Returns the resources shared by runs with this environment, or a copy of it.
    pub(super) const fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The tool servers that runs share stay up between runs as long as somebody has what this returns. All of those runs must be driven on
    /// one runtime, on which the servers are spoken with.
    pub fn keep_servers(&self) -> ServerKeeper {
        self.shared.keep_servers()
    }

    /// Every text that gives one of the host's own keys away, and the file of each.
    pub(super) fn own_secrets(&self) -> Vec<(String, String)> {
        let keys = self.keys.as_ref();
        keys.map(KeyFolder::secret_texts).unwrap_or_default()
    }

    /// Returns the store for login tokens of tool servers, if it has a place.
    pub(super) fn token_keeper(&self) -> Option<TokenKeeper> {
        self.keys.clone().map(TokenKeeper::new)
    }

    /// The host's state folder, which may be missing.
    pub(super) fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// The folders that confined programs of earlier runs could write.
    pub(crate) fn granted_before(&self) -> GrantedFolders {
        granted_before(self.state())
    }

    /// The host's own files, which no built-in tool reads.
    pub fn withheld(&self) -> &Withheld {
        &self.withheld
    }

    /// The same, with a report of how far the reading of large files has come.
    #[must_use]
    pub fn with_file_watch(self, watch: impl Fn(&Path, u64, u64) + Send + Sync + 'static) -> Self {
        Self {
            file_watch: Some(Arc::new(watch)),
            ..self
        }
    }

    /// The receiver of the progress of reading large files.
    pub(super) fn file_watch(&self) -> Option<Arc<FileWatch>> {
        self.file_watch.clone()
    }

    /// The same; `watch` receives the exposed name of a tool that runs, and what it reports of that.
    #[must_use]
    pub fn with_call_watch(self, watch: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self {
            call_watch: Some(Arc::new(watch)),
            ..self
        }
    }

    /// Returns the receiver of call reports.
    pub(super) fn call_watch(&self) -> Option<Arc<CallWatch>> {
        self.call_watch.clone()
    }

    /// Sets the receiver of lines for people about tool servers that have ended.
    #[must_use]
    pub fn with_notes(self, note: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            notes: Some(Arc::new(note)),
            ..self
        }
    }

    /// The receiver of lines about tool servers that have ended.
    pub(super) fn notes(&self) -> Option<Arc<ServerWatch<'static>>> {
        self.notes.clone()
    }

    /// The same, with a report of each tool server that has come up or failed.
    #[must_use]
    pub fn with_server_watch(self, watch: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            server_watch: Some(Arc::new(watch)),
            ..self
        }
    }

    /// Reports that a tool server has come up or failed.
    pub(super) fn server_ready(&self, name: &str) {
        if let Some(watch) = &self.server_watch {
            watch(name);
        }
    }

    /// The same, with models in that folder.
    #[must_use]
    pub fn with_models(self, folder: PathBuf) -> Self {
        Self {
            models: Some(folder),
            ..self
        }
    }

    /// The same in a process of that monolith, which can be started again for what runs on its own: templates of models.
    #[must_use]
    pub fn with_program(self, program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..self
        }
    }

    /// Returns what this machine can confine. The first call of a process tries it; copies of an environment share the answer.
    pub fn sandbox(&self, kind: SandboxKind) -> Arc<ProbeReport> {
        self.sandbox.report(self.program(), kind)
    }

    /// The monolith of this process, where it is one.
    pub(super) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// The folder of models, where there is one.
    pub(super) fn models(&self) -> Option<&Path> {
        self.models.as_deref()
    }

    /// The same for the values of a file, some of which are from elsewhere and see the variables there first.
    pub(super) fn over(&self, spec: &ContractSpec) -> Self {
        Self {
            origins: Arc::new(spec.origins.clone()),
            ..self.clone()
        }
    }

    /// The same for a value of a layer at that place, which sees the variables there before those of the process.
    pub(super) fn beside(&self, value: &LayerValue, place: String) -> Self {
        let origin = ValueOrigin::Deferred {
            file: value.file.clone(),
            variables: value.variables.clone(),
        };
        Self {
            origins: Arc::new(BTreeMap::from([(place, origin)])),
            ..self.clone()
        }
    }

    /// The proxies that the variables name.
    #[must_use]
    pub fn proxies(&self) -> Proxies {
        Proxies::of(|name| self.raw(name))
    }

    /// The value of a variable, empty or not; none if it is not set.
    pub fn raw(&self, name: &str) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.get(name) {
            return known.clone();
        }
        let value = (self.lookup)(name);
        seen.insert(name.to_owned(), value.clone());
        value
    }

    /// The value of a variable as it is at that place of a file, empty or not; none if it is not set.
    fn raw_at(&self, name: &str, place: &str) -> Option<String> {
        let beside = self
            .origins
            .get(place)
            .and_then(|origin| origin.variable(name));
        beside.map(str::to_owned).or_else(|| self.raw(name))
    }

    /// The value of a variable as it is at that place of a file; none if it is not set or empty.
    pub(super) fn get_at(&self, name: &str, place: &str) -> Option<String> {
        self.raw_at(name, place).filter(|value| !value.is_empty())
    }

    /// A place as messages name it: with the file, where that is not the contract's own.
    pub(super) fn named(&self, place: &str) -> FilePlace {
        FilePlace {
            origin: self.origins.get(place).map(ToString::to_string),
            path: place.to_owned(),
        }
    }

    /// Returns the error for a variable that is named at that place of a file, and is not set or empty.
    pub(super) fn missing(&self, name: &str, place: &str) -> DriverError {
        let (name, place) = (name.to_owned(), place.to_owned());
        let Some((origin, (scope, id))) = self.origins.get(&place).zip(definition_of(&place))
        else {
            let state = match self.raw_at(&name, &place) {
                Some(_) => "empty",
                None => "not set",
            };
            let place = self.named(&place);
            return DriverError::MissingVariable { name, place, state };
        };
        DriverError::UnresolvedVariable {
            id: id.into(),
            name,
            origin: origin.to_string().into(),
            scope,
            place,
        }
    }

    /// The value of a variable; none if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// Replaces every `${NAME}` in `text`. An empty variable counts as one that is not set. `place` is the position of the text, for
    /// the error.
    pub(super) fn expand(&self, text: &str, place: &str) -> Result<String, DriverError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let (name, tail) = after
                .split_once('}')
                .filter(|(name, _)| is_name(name))
                .ok_or_else(|| DriverError::Placeholder {
                    place: self.named(place),
                })?;
            let value = self.get_at(name, place);
            let value = value.ok_or_else(|| self.missing(name, place))?;
            out.push_str(&value);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Replaces `${NAME}` in texts with the values of those variables. Every other `${…}` stays.
    pub(super) fn put_in(
        &self,
        variables: &[String],
        texts: &[String],
        place: &str,
    ) -> Result<Vec<String>, DriverError> {
        let mut values = BTreeMap::new();
        for name in variables {
            let value = self.get_at(name, place);
            let value = value.ok_or_else(|| self.missing(name, place))?;
            values.insert(name.as_str(), value);
        }
        let put_in = |text: &String| {
            let mut out = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once("${") {
                out.push_str(before);
                let known = after
                    .split_once('}')
                    .and_then(|(name, tail)| Some((values.get(name)?, tail)));
                rest = if let Some((value, tail)) = known {
                    out.push_str(value);
                    tail
                } else {
                    out.push_str("${");
                    after
                };
            }
            out.push_str(rest);
            out
        };
        Ok(texts.iter().map(put_in).collect())
    }

    /// Expands every value of a map of headers or variables.
    pub(super) fn expand_all(
        &self,
        values: &BTreeMap<String, String>,
        place: &str,
    ) -> Result<BTreeMap<String, String>, DriverError> {
        values
            .iter()
            .map(|(name, text)| {
                let value = self.expand(text, &format!("{place}.{name}"))?;
                Ok((name.clone(), value))
            })
            .collect()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// Returns the kind and name of a layer's definition at that place of a contract file.
fn definition_of(place: &str) -> Option<(&'static str, &str)> {
    let kinds = [
        ("providers.", "provider"),
        ("tools.mcp.", "mcp"),
        ("tools.openapi.", "openapiSpec"),
        ("tools.rest.", "restTool"),
    ];
    kinds.iter().find_map(|(begin, scope)| {
        let below = place.strip_prefix(begin)?;
        Some((*scope, below.split('.').next()?))
    })
}

fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

mod files;
#[cfg(test)]
mod tests;
