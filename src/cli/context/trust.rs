//! Whether a contract that was found and not named may start commands: a person is asked once, and sees what it reaches. Does not read files
//! of contracts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
use crate::session::RedactionKey;

/// Built-in tools that start commands.
const STARTING: [&str; 1] = ["shell"];

/// A contract as it was read.
pub(in crate::cli) struct ReadContract<'c> {
    /// Its folder.
    pub(in crate::cli) folder: &'c Path,
    /// As messages call it.
    pub(in crate::cli) name: &'c Path,
    pub(in crate::cli) path: &'c Path,
    pub(in crate::cli) spec: &'c ContractSpec,
    pub(in crate::cli) text: &'c str,
}

impl ReadContract<'_> {
    /// Refuses a contract that starts commands or hands variables on, unless it is trusted as it is. A person at the terminal is shown what it
    /// reaches, and asked.
    pub(in crate::cli) fn judge(&self, app: &App) -> Result<(), CliError> {
        if !needs_trust(self.spec) {
            return Ok(());
        }
        let trusted = Trusted::of(app)?;
        if trusted.has(self.path, self.text) {
            return Ok(());
        }
        let name = line(&self.name.display().to_string());
        let reach = listed(&self.reach(app)?);
        app.screen.write_err(&format!(
            "{name} was found here and not named, and it is not trusted as it is now. A run of it {reach}"
        ));
        let question = format!("Trust {name} as it is now? [y/N] ");
        let said = answer(app, &question)?;
        if !matches!(said.as_deref(), Some("y" | "Y" | "yes")) {
            let path = PathBuf::from(self.name);
            return Err(ContractFault::Untrusted { path }.into());
        }
        trusted.add(app, self.path, self.text)
    }

    /// What a run of it reaches; nothing is started to see.
    pub(in crate::cli) fn reach(&self, app: &App) -> Result<Reach, CliError> {
        let request = RunRequest {
            spec: self.spec.clone(),
            contract_dir: self.folder.to_owned(),
            environment: app.environment.clone(),
            redaction_key: RedactionKey::new([0; 32]),
            invocation: None,
            run_id: None,
        };
        let cancel = CancellationToken::new();
        let preview = driver::preview(&request, ServersToStart::Builtin, &cancel);
        Ok(runtime()?.block_on(preview)?.reach)
    }
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
