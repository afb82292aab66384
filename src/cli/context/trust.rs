//! Whether a contract that was found and not named may start commands: a person is asked once, and sees what it reaches. Does not read files
//! of contracts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::ask::answer;
use super::error::{CliError, ContractFault};
use super::reach::listed;
use super::runtime::runtime;
use super::trusted::Trusted;
use crate::cli::ui::escape::line;
use crate::contract::{ContractSpec, McpTransport, placeholders};
use crate::driver::{self, Reach, RunRequest, ServersToStart};
use crate::message::Digest;
use crate::session::RedactionKey;

/// Built-in tools that start commands.
const STARTING: [&str; 1] = ["shell"];

/// A contract as it was read.
pub(in crate::cli) struct ReadContract<'c> {
    /// The files of agents that it may delegate to, and of theirs.
    pub(in crate::cli) below: &'c [AgentBelow],
    /// BLAKE3 over its text, everything included.
    pub(in crate::cli) digest: Digest,
    /// Its folder.
    pub(in crate::cli) folder: &'c Path,
    /// As messages call it.
    pub(in crate::cli) name: &'c Path,
    pub(in crate::cli) path: &'c Path,
    pub(in crate::cli) spec: &'c ContractSpec,
}

/// The file of an agent that a contract may delegate to, or one of its agents.
pub(in crate::cli) struct AgentBelow {
    /// BLAKE3 over its text, everything included.
    pub(in crate::cli) digest: Digest,
    /// Its folder.
    pub(in crate::cli) folder: PathBuf,
    /// As messages call it.
    pub(in crate::cli) name: PathBuf,
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) spec: ContractSpec,
}

impl ReadContract<'_> {
    /// Refuses a contract that starts commands or hands variables on, itself or by an agent that it may call, unless each file that does is
    /// trusted as it is. A person at the terminal is shown what it reaches, and asked.
    pub(in crate::cli) fn judge(&self, app: &App) -> Result<(), CliError> {
        let mut to_judge = self.to_judge().peekable();
        if to_judge.peek().is_none() {
            return Ok(());
        }
        let trusted = Trusted::of(app)?;
        if to_judge.all(|(path, digest)| trusted.has(path, digest)) {
            return Ok(());
        }
        let name = line(&self.name.display().to_string());
        let reach = self.listed(app)?;
        app.screen.write_err(&format!(
            "{name} was found here and not named, and it is not trusted as it is now. A run of it {reach}"
        ));
        let question = format!("Trust {name} as it is now? [y/N] ");
        let said = answer(app, &question)?;
        if !matches!(said.as_deref(), Some("y" | "Y" | "yes")) {
            let path = PathBuf::from(self.name);
            return Err(ContractFault::Untrusted { path }.into());
        }
        self.trust(app, trusted)
    }

    /// Trusts it as it is, and the agents that it may call.
    pub(in crate::cli) fn trust(&self, app: &App, trusted: Trusted) -> Result<(), CliError> {
        let own = [(self.path, self.digest)].into_iter();
        let all = own.chain(self.to_judge().filter(|(path, _)| *path != self.path));
        trusted.add(app, all)
    }

    /// The files that must be trusted: those that start commands or hand variables on, and the contract by which they do.
    fn to_judge(&self) -> impl Iterator<Item = (&Path, Digest)> {
        let below = self.below.iter().filter(|agent| needs_trust(&agent.spec));
        let below: Vec<_> = below
            .map(|agent| (agent.path.as_path(), agent.digest))
            .collect();
        let is_concerned = needs_trust(self.spec) || !below.is_empty();
        let own = is_concerned.then_some((self.path, self.digest));
        own.into_iter().chain(below)
    }

    /// What a run of it reaches, and what its agents do, for people.
    pub(in crate::cli) fn listed(&self, app: &App) -> Result<String, CliError> {
        let (own, below) = (self.reach(app)?, reached_below(app, self.below)?);
        Ok(listed_whole(app, &own, &below))
    }

    /// What a run of it reaches; nothing is started to see.
    pub(in crate::cli) fn reach(&self, app: &App) -> Result<Reach, CliError> {
        reach_of(app, self.spec, self.folder)
    }
}

/// What an agent below a contract reaches.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct ReachedBelow {
    /// Its file, as messages call it.
    file: String,
    reaches: Reach,
}

/// What each agent below a contract reaches; nothing is started to see.
pub(in crate::cli) fn reached_below(
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
pub(in crate::cli) fn listed_whole(app: &App, own: &Reach, below: &[ReachedBelow]) -> String {
    let machine = &app.environment;
    let mut out = listed(own, machine);
    for agent in below {
        let (name, reach) = (line(&agent.file), listed(&agent.reaches, machine));
        // Writing to a String cannot fail.
        let _ = write!(out, "the agent {name} {reach}");
    }
    out
}

fn reach_of(app: &App, spec: &ContractSpec, folder: &Path) -> Result<Reach, CliError> {
    let request = RunRequest {
        spec: spec.clone(),
        contract_dir: folder.to_owned(),
        environment: app.environment.clone(),
        redaction_key: RedactionKey::new([0; 32]),
        invocation: None,
        run_id: None,
    };
    let cancel = CancellationToken::new();
    let preview = driver::preview(&request, ServersToStart::Builtin, &cancel);
    Ok(runtime()?.block_on(preview)?.reach)
}

/// Whether a contract starts commands, or names variables whose values it hands on.
pub(in crate::cli) fn needs_trust(spec: &ContractSpec) -> bool {
    let hands_on = |values: &BTreeMap<String, String>| {
        values
            .values()
            .any(|text| placeholders(text).next().is_some())
    };
    let mut servers = spec.tools.servers.values();
    let mut providers = spec.providers.values();
    let mut builtin = spec.tools.builtin.iter();
    builtin.any(|name| STARTING.contains(&name.as_str()))
        || servers.any(|server| match &server.transport {
            McpTransport::Stdio { .. } => true,
            McpTransport::Openapi { headers, .. } | McpTransport::Rest { headers, .. } => {
                hands_on(headers)
            }
            McpTransport::Remote { headers, oauth, .. } => {
                let oauth = oauth.as_ref();
                hands_on(headers) || oauth.is_some_and(|oauth| oauth.variables().next().is_some())
            }
        })
        || providers.any(|provider| provider.api_key_env.is_some() || hands_on(&provider.headers))
}
