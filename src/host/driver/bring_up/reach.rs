//! The reach of a contract file's run beyond itself: commands, hosts, variables and folders. A contract is a program; these are
//! the things it can touch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use url::Url;

use super::backends::address_of;
use super::sources::used_providers;
use crate::driver::Environment;
use monolith_core::contract::{
    ContractSpec, DelegateTerms, ExecutionContract, McpTransport, OAuthTerms, PrivateNetwork,
    RedactionTerms, SandboxSpec, SandboxTerms, WebLimits, masked_words, placeholders,
    recorded_template, recorded_url, server_sandbox, shell_sandbox,
};
use monolith_core::message::Scrubber;
use monolith_core::session::{KnownSecrets, Redactor};

/// The name for a host that may be on this machine.
const THIS_MACHINE: &str = "this machine";

/// The place where a contract file names the built-in shell.
pub const SHELL_PLACE: &str = "tools.builtin";

/// The place where a layer names the folder for snapshots of runs.
pub const SESSIONS_PLACE: &str = "persistence.sessionsDir";

/// The reach of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Programs that are started, each with what confines it.
    pub commands: Vec<ReachedCommand>,
    /// Servers that requests are sent to.
    pub hosts: Vec<ReachedHost>,
    /// Variables that are read, and where the value of each goes.
    pub variables: Vec<ReachedVariable>,
    /// Folders and files that monolith itself reads, and the one that it writes snapshots into.
    pub folders: Vec<ReachedFolder>,
    /// Agents that may be called; each reaches what its own file says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<ReachedAgent>,
}

/// An agent that may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedAgent {
    /// The dotted path of the file that names it.
    pub place: String,
    /// Its name for the model.
    pub tool: String,
    /// Its terms.
    pub terms: DelegateTerms,
}

/// A program that is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedCommand {
    /// The dotted path of the file that names it.
    pub place: String,
    /// The program and its arguments, with secrets masked.
    pub command: Vec<String>,
    /// The author's word on whether it is confined.
    pub confined: StatedConfinement,
    /// Its confinement.
    pub confinement: String,
    /// True if its memory is limited.
    #[serde(skip)]
    pub limits_memory: bool,
}

/// The author's word on whether a program is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StatedConfinement {
    /// The program is confined or not started.
    Always,
    /// The program is not confined.
    Never,
    /// The author says nothing: the program is confined where the machine can.
    WherePossible,
}

/// A server that requests are sent to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedHost {
    /// The dotted path of the file that names it.
    pub place: String,
    /// Its address, of a query the names alone; none if it is in a variable that is not set.
    pub address: Option<String>,
    /// The non-public places where it may be: this machine, and private networks; empty if the contract cannot state them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_public: Vec<String>,
}

/// A variable that is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedVariable {
    /// Its name.
    pub variable: String,
    /// The dotted path of the file that reads it.
    pub place: String,
    /// The host that it is sent to, or the command that is started with it; none if it goes nowhere.
    pub goes_to: Option<String>,
    /// True if it is set now.
    pub is_set: bool,
    /// True if a run begins without it: it is read if set, and the file does not name it.
    #[serde(skip)]
    pub is_optional: bool,
}

/// A folder or file that is read, or the folder of snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedFolder {
    /// The dotted path of the file that names it.
    pub place: String,
    /// Its location.
    pub path: PathBuf,
}

impl Reach {
    /// Adds the reach of another run. Nothing is listed twice.
    pub fn add(&mut self, other: Self) {
        fn each<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        each(&mut self.commands, other.commands);
        each(&mut self.hosts, other.hosts);
        each(&mut self.variables, other.variables);
        each(&mut self.folders, other.folders);
        each(&mut self.agents, other.agents);
    }

    /// Returns the reach of a file's run; `files` are those behind providers.
    pub(super) fn of(
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
        workspace: &Path,
        files: Vec<(&str, &Path)>,
    ) -> Self {
        let mut reach = Self::default();
        for (name, provider) in used_providers(spec) {
            let stated = contract.providers.get(name);
            let stated = stated.and_then(|terms| terms.base_url.as_deref());
            let place = format!("providers.{name}");
            let moved = address_of(name, provider, environment);
            let given = moved.as_deref().or(provider.base_url.as_deref());
            let address = given.or(stated);
            if let Some(variable) = &provider.base_url_env {
                reach.variable(environment, variable, format!("{place}.base_url_env"), None);
            }
            if address.is_none() && provider.base_url_env.is_none() {
                continue;
            }
            let unknown = || {
                format!(
                    "the address in {}",
                    provider.base_url_env.as_deref().unwrap_or("?")
                )
            };
            let host = address.map_or_else(unknown, host_of);
            reach.host(place.clone(), address.map(recorded_url));
            let usual = address.and_then(|address| provider.provider_type.key_env_at(address));
            if let Some(variable) = provider.api_key_env.as_deref().or(usual) {
                let place = format!("{place}.api_key_env");
                reach.variable(environment, variable, place, Some(host.clone()));
                if let Some(read) = reach.variables.last_mut() {
                    read.is_optional = provider.api_key_env.is_none();
                }
            }
            reach.placeholders(
                environment,
                &provider.headers,
                &format!("{place}.headers"),
                &host,
            );
        }
        for (name, server) in &spec.tools.servers {
            let place = server.place(name);
            match &server.transport {
                McpTransport::Openapi { headers, terms } => {
                    let service = terms.base_url.as_deref();
                    let host = service.map_or_else(String::new, host_of);
                    reach.placeholders(environment, headers, &format!("{place}.headers"), &host);
                    let unknown = "what the description says".to_owned();
                    let service = service.map_or(unknown, recorded_url);
                    reach.service(place.clone(), service, &terms.limits);
                    if terms.is_at_address() {
                        let place = format!("{place}.spec");
                        reach.service(place, terms.recorded_spec(), &terms.limits);
                    }
                }
                McpTransport::Rest {
                    headers,
                    limits,
                    tool,
                } => {
                    let host = host_of(&tool.url);
                    reach.placeholders(environment, headers, &format!("{place}.headers"), &host);
                    reach.service(place, recorded_template(&tool.url), limits);
                }
                McpTransport::Stdio {
                    arg_variables,
                    args,
                    command,
                    env,
                } => {
                    for variable in arg_variables {
                        let place = format!("{place}.args");
                        reach.variable(environment, variable, place, Some(command.clone()));
                    }
                    reach.placeholders(environment, env, &format!("{place}.env"), command);
                    let words: Vec<_> = [command].into_iter().chain(args).cloned().collect();
                    let command = shown_words(&words);
                    let stated = server.sandbox.as_ref();
                    let terms = server_sandbox(stated.unwrap_or(&SandboxSpec::default()));
                    let confined = match stated {
                        None => StatedConfinement::WherePossible,
                        Some(_) => confined(&terms),
                    };
                    reach.commands.push(ReachedCommand {
                        place,
                        command,
                        confined,
                        confinement: terms.to_string(),
                        limits_memory: terms.memory_mb.is_some(),
                    });
                }
                McpTransport::Remote {
                    headers,
                    oauth,
                    url,
                    ..
                } => {
                    let host = host_of(url);
                    reach.placeholders(environment, headers, &format!("{place}.headers"), &host);
                    if let Some(oauth) = oauth {
                        reach.oauth(environment, oauth, &format!("{place}.oauth"));
                    }
                    reach.host(place, Some(recorded_url(url)));
                }
            }
        }
        if spec.tools.has_shell() {
            let terms = shell_sandbox(spec.tools.sandbox.as_ref());
            reach.commands.push(ReachedCommand {
                place: SHELL_PLACE.to_owned(),
                command: vec!["whatever the model runs with shell".to_owned()],
                confined: confined(&terms),
                confinement: terms.to_string(),
                limits_memory: terms.memory_mb.is_some(),
            });
        }
        reach.placeholders(
            environment,
            &spec.tools.env,
            "tools.env",
            "commands of shell",
        );
        for host in spec.tools.http_get.iter().flat_map(|terms| &terms.hosts) {
            let place = "tools.http_get.hosts".to_owned();
            reach.host(place, Some(host.as_str().to_owned()));
            let loopback = spec.tools.http_get.as_ref().is_some_and(|t| t.loopback);
            if let Some(host) = reach.hosts.last_mut().filter(|_| loopback) {
                host.not_public.push(THIS_MACHINE.to_owned());
            }
        }
        for name in &spec.redact.env {
            reach.variable(environment, name, format!("redact.env.{name}"), None);
        }
        for (n, agent) in spec.agents.iter().enumerate() {
            let found = agent
                .tool()
                .and_then(|tool| contract.agents.get_key_value(&tool));
            if let Some((tool, terms)) = found {
                reach.agents.push(ReachedAgent {
                    place: format!("agents.{n}"),
                    tool: tool.clone(),
                    terms: terms.clone(),
                });
            }
        }
        let folder = |place: String, path: &Path| ReachedFolder {
            place,
            path: path.to_owned(),
        };
        reach
            .folders
            .push(folder("tools.workspace".to_owned(), workspace));
        let sessions = spec.sessions_dir.as_deref();
        let sessions = sessions.map(|path| folder(SESSIONS_PLACE.to_owned(), path));
        reach.folders.extend(sessions);
        let files = files.into_iter();
        let files =
            files.map(|(provider, path)| folder(format!("providers.{provider}.file"), path));
        reach.folders.extend(files);
        reach
    }

    fn host(&mut self, place: String, address: Option<String>) {
        self.hosts.push(ReachedHost {
            place,
            address,
            not_public: Vec::new(),
        });
    }

    /// A web service, which is asked behind the guard of addresses.
    fn service(&mut self, place: String, address: String, limits: &WebLimits) {
        let loopback = limits.loopback.then_some(THIS_MACHINE);
        let networks = limits.networks.iter().map(PrivateNetwork::as_str);
        let not_public = loopback.into_iter().chain(networks);
        self.hosts.push(ReachedHost {
            place,
            address: Some(address),
            not_public: not_public.map(str::to_owned).collect(),
        });
    }

    /// Adds the addresses that a client of an authorization server is sent to, and the variables that go with it.
    fn oauth(&mut self, environment: &Environment, oauth: &OAuthTerms, place: &str) {
        let addresses = [
            ("issuer", &oauth.issuer),
            ("idp_token_endpoint", &oauth.idp_token_endpoint),
        ];
        for (key, address) in addresses {
            if let Some(address) = address {
                self.host(format!("{place}.{key}"), Some(recorded_url(address)));
            }
        }
        for (key, variable) in oauth.variables() {
            let issuer = match key {
                "id_token_env" => &oauth.idp_token_endpoint,
                _ => &oauth.issuer,
            };
            let unknown = || "the authorization server that the server names".to_owned();
            let goes_to = issuer.as_deref().map_or_else(unknown, host_of);
            self.variable(
                environment,
                variable,
                format!("{place}.{key}"),
                Some(goes_to),
            );
        }
    }

    fn placeholders(
        &mut self,
        environment: &Environment,
        values: &BTreeMap<String, String>,
        place: &str,
        goes_to: &str,
    ) {
        for (name, text) in values {
            for variable in placeholders(text) {
                let place = format!("{place}.{name}");
                self.variable(environment, variable, place, Some(goes_to.to_owned()));
            }
        }
    }

    fn variable(
        &mut self,
        environment: &Environment,
        variable: &str,
        place: String,
        goes_to: Option<String>,
    ) {
        self.variables.push(ReachedVariable {
            is_optional: false,
            is_set: environment.get_at(variable, &place).is_some(),
            variable: variable.to_owned(),
            place,
            goes_to,
        });
    }
}

/// The words of a command for people: without what is given to names of secrets, without passwords of addresses, and without
/// well-known credentials.
pub fn shown_words(words: &[String]) -> Vec<String> {
    let shapes = KnownSecrets::of([], &RedactionTerms::default());
    let shapes = Redactor::fixed(Arc::new(shapes));
    let masked = masked_words(words).into_iter();
    masked
        .map(|word| (&shapes as &dyn Scrubber).owned_text(word))
        .collect()
}

/// The author's word, where the author says anything.
const fn confined(terms: &SandboxTerms) -> StatedConfinement {
    if terms.confined {
        StatedConfinement::Always
    } else {
        StatedConfinement::Never
    }
}

/// Scheme, host and port of an address, as the client reads it.
fn host_of(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => recorded_url(address),
    }
}
