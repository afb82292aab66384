//! The question that a person is asked once about files that were found and not named: the person sees what they reach. Reads no contract.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::ask::answer;
use super::error::{CliError, ContractFault};
use super::reach::listed;
use super::runtime::runtime;
use super::trusted::Trusted;
use crate::ui::escape::line;
use monolith_core::contract::{ContractSpec, FileTrust, McpTransport};
use monolith_core::message::Digest;
use monolith_core::session::RedactionKey;
use monolith_host::config::{TrustHash, place};
use monolith_host::driver::{self, Reach, RunRequest, ServersToStart};

/// A contract, or a workflow, as it was read.
pub(crate) struct ReadContract<'c> {
    /// The agents that it may delegate to, and theirs.
    pub(crate) below: &'c [AgentBelow],
    /// The files that must be trusted.
    pub(crate) files: &'c [FileTrust],
    /// Its folder.
    pub(crate) folder: &'c Path,
    /// As messages call it.
    pub(crate) name: &'c Path,
    pub(crate) path: &'c Path,
    /// A file that changed since a run in which a confined program could replace it.
    pub(crate) replaced: Option<PathBuf>,
    /// The contract itself; `None` for a workflow without one.
    pub(crate) spec: Option<&'c ContractSpec>,
}

/// The file of an agent that a contract may delegate to, or one of its agents.
pub(crate) struct AgentBelow {
    /// BLAKE3 over its text, everything included.
    pub(crate) digest: Digest,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// As messages call it.
    pub(crate) name: PathBuf,
    pub(crate) path: PathBuf,
    /// Its file and every file that it includes.
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) spec: ContractSpec,
}

impl AgentBelow {
    /// The file with its trust hash.
    pub(crate) fn trust(&self) -> FileTrust {
        file_trust((&self.path, &self.folder), self.digest, &self.spec)
    }
}

/// A contract's file with its trust hash: its text, the schemas and the descriptions that it names, and every file that its commands name.
/// `digest` is that of the text, everything included.
pub(crate) fn file_trust(
    (path, folder): (&Path, &Path),
    digest: Digest,
    spec: &ContractSpec,
) -> FileTrust {
    let workspace = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
    let hash = TrustHash::of(path).in_folder(folder);
    let mut hash = hash.in_folder(&workspace);
    hash.add("text", digest.to_string().as_bytes());
    let input = spec.input.as_ref().and_then(|input| input.schema.as_ref());
    let report = spec.final_report.schema.as_ref();
    for schema in [input, report].into_iter().flatten() {
        hash.add("schema", schema.to_string().as_bytes());
    }
    let mut words: BTreeSet<String> = spec.tools.env.values().cloned().collect();
    for server in spec.tools.servers.values() {
        match &server.transport {
            McpTransport::Stdio {
                args, command, env, ..
            } => {
                words.extend(args.iter().chain(env.values()).cloned());
                // A bare name is looked up in PATH.
                words.extend(Some(command.clone()).filter(|command| command.contains('/')));
            }
            McpTransport::Openapi { terms, .. } => {
                words.extend(Some(terms.spec.clone()).filter(|spec| !spec.contains("://")));
            }
            McpTransport::Remote { .. } | McpTransport::Rest { .. } => {}
        }
    }
    hash.add_files_of(&words);
    FileTrust {
        blake3: hash.finish(),
        folder: None,
        path: place(path),
    }
}

impl ReadContract<'_> {
    /// Refuses a contract where one of its files is not trusted as it is. A person at the terminal is shown what it reaches, and asked.
    pub(crate) fn judge(&self, app: &App) -> Result<(), CliError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let trusted = Trusted::of(app)?;
        let unknown: Vec<&FileTrust> = self
            .files
            .iter()
            .filter(|file| !trusted.has(file))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let name = line(&self.name.display().to_string());
        let agents = self.below.iter().map(|agent| place(&agent.path));
        let contracts: BTreeSet<PathBuf> = agents.chain([place(self.path)]).collect();
        let layers: BTreeSet<&Path> = unknown
            .iter()
            .map(|file| file.path.as_path())
            .filter(|path| !contracts.contains(*path))
            .collect();
        let shown = |path: &&Path| {
            let path = path.strip_prefix(&app.cwd).unwrap_or(path);
            line(&path.display().to_string())
        };
        let names: Vec<String> = layers.iter().map(shown).collect();
        let layers: Vec<PathBuf> = layers.into_iter().map(Path::to_owned).collect();
        let names = names.join(" and ");
        let of_contract = self.files.iter().any(|file| file.path == place(self.path));
        if let Some(replaced) = &self.replaced {
            return self.ask_again(app, trusted, replaced);
        }
        let (found, asked) = match (of_contract, names.is_empty()) {
            (true, true) => (format!("{name} was"), name.clone()),
            (true, false) => (
                format!("{name} and {names} were"),
                format!("{name} and {names}"),
            ),
            (false, _) => (format!("{names}, which {name} takes from, was"), names),
        };
        let reach = self.listed(app)?;
        let it = if of_contract && !layers.is_empty() {
            "they are"
        } else {
            "it is"
        };
        let run_of = if of_contract { "it" } else { &name };
        app.screen.write_err(&format!(
            "{found} found here and not named, and {it} not trusted as {it} now. A run of {run_of} {reach}"
        ));
        let said = answer(app, &format!("Trust {asked} as {it} now? [y/N] "))?;
        if matches!(said.as_deref(), Some("y" | "Y" | "yes")) {
            return trusted.add(app, self.files.iter().cloned());
        }
        let path = PathBuf::from(self.name);
        Err(if of_contract {
            ContractFault::Untrusted { path }
        } else {
            let is_file = self.path.is_file();
            ContractFault::UntrustedLayers {
                is_file,
                layers,
                path,
            }
        }
        .into())
    }

    /// Asks about a contract that was trusted or named before one of its files was replaced.
    fn ask_again(&self, app: &App, trusted: Trusted, replaced: &Path) -> Result<(), CliError> {
        let name = line(&self.name.display().to_string());
        let shown = replaced.strip_prefix(&app.cwd).unwrap_or(replaced);
        let shown = line(&shown.display().to_string());
        let reach = self.listed(app)?;
        app.screen.write_err(&format!(
            "{shown}, which {name} starts or reads, changed since a run in which a confined program could replace it. A run of {name} {reach}"
        ));
        let said = answer(app, &format!("Trust {name} as it is now? [y/N] "))?;
        if matches!(said.as_deref(), Some("y" | "Y" | "yes")) {
            return trusted.add(app, self.files.iter().cloned());
        }
        Err(ContractFault::Replaced {
            path: PathBuf::from(self.name),
            replaced: replaced.to_owned(),
        }
        .into())
    }

    /// The same, because of a file that changed since a run in which a confined program could replace it.
    pub(crate) fn with_replaced(self, replaced: PathBuf) -> Self {
        Self {
            replaced: Some(replaced),
            ..self
        }
    }

    /// What a run of it reaches, and what its agents do, for people.
    pub(crate) fn listed(&self, app: &App) -> Result<String, CliError> {
        let (own, below) = (self.reach(app)?, reached_below(app, self.below)?);
        Ok(listed_whole(app, &own, &below))
    }

    /// What a run of it reaches; nothing is started to see.
    fn reach(&self, app: &App) -> Result<Reach, CliError> {
        let reach = self.spec.map(|spec| reach_of(app, spec, self.folder));
        Ok(reach.transpose()?.unwrap_or_default())
    }
}

/// What an agent below a contract reaches.
#[derive(Debug, Serialize)]
pub(crate) struct ReachedBelow {
    /// Its file, as messages call it.
    file: String,
    reaches: Reach,
}

/// What each agent below a contract reaches; nothing is started to see.
pub(crate) fn reached_below(
    app: &App,
    below: &[AgentBelow],
) -> Result<Vec<ReachedBelow>, CliError> {
    let each = below.iter().map(|agent| {
        Ok(ReachedBelow {
            file: agent.name.display().to_string(),
            reaches: reach_of(app, &agent.spec, &agent.folder)?,
        })
    });
    each.collect()
}

/// What a contract reaches, and the agents below it, for people.
pub(crate) fn listed_whole(app: &App, own: &Reach, below: &[ReachedBelow]) -> String {
    let machine = |kind| app.environment.sandbox(kind);
    let mut out = listed(own, &machine);
    for agent in below {
        let (name, reach) = (line(&agent.file), listed(&agent.reaches, &machine));
        // Writing to a String cannot fail.
        let _ = write!(out, "the agent {name} {reach}");
    }
    out
}

fn reach_of(app: &App, spec: &ContractSpec, folder: &Path) -> Result<Reach, CliError> {
    let key = RedactionKey::new([0; 32]);
    let request = RunRequest::new(spec.clone(), folder, app.environment.clone(), key);
    let reach = || -> Result<Reach, CliError> {
        let cancel = CancellationToken::new();
        let preview = driver::preview(&request, ServersToStart::Builtin, &cancel);
        Ok(runtime()?.block_on(preview)?.reach)
    };
    // The caller may stand on a thread of a runtime, which cannot wait for another one.
    let done = thread::scope(|scope| scope.spawn(reach).join());
    done.unwrap_or_else(|payload| resume_unwind(payload))
}
