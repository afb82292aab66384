//! The trust that files need which were found and not named. Reads no contract.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use tokio_util::sync::CancellationToken;

use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::system::SystemFault;
use crate::service::Service;
use crate::trusted::Trusted;
use crate::untrusted::{ChangedFile, ReachedBelow, Untrusted, UntrustedCause};
use monolith_core::contract::{ContractSpec, FileTrust, McpTransport};
use monolith_core::message::Digest;
use monolith_core::session::RedactionKey;
use monolith_host::config::{TrustHash, place};
use monolith_host::driver::{self, Reach, RunRequest, ServersToStart};

/// A contract, or a workflow, as it was read.
pub struct ReadContract<'c> {
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
    /// Its text.
    pub(crate) text: &'c str,
}

/// The file of an agent that a contract may delegate to, or one of its agents.
pub struct AgentBelow {
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
    /// Its text, without included files.
    pub(crate) text: String,
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

impl Untrusted {
    /// Trusts the files as they were read.
    pub fn trust(&self, service: &Service) -> Result<(), ServiceError> {
        Trusted::of(service)?.add(service, self.files.iter().cloned(), &self.texts)
    }
}

impl ReadContract<'_> {
    /// Refuses a contract where one of its files is not trusted as it is.
    pub(crate) fn judge(&self, service: &Service) -> Result<(), ServiceError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let trusted = Trusted::of(service)?;
        let unknown = self.files.iter().filter(|file| !trusted.has(file));
        let mut unknown: Vec<&Path> = unknown.map(|file| file.path.as_path()).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let own = place(self.path);
        let agents: BTreeSet<PathBuf> = self.below.iter().map(|agent| place(&agent.path)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let texts = self.texts();
        let changed = unknown.iter().filter_map(|path| {
            let (now, before) = (texts.get(*path)?, trusted.text_of(path)?);
            (*now != before).then(|| ChangedFile {
                before,
                now: now.clone(),
                path: (*path).to_owned(),
            })
        });
        let changed: Vec<ChangedFile> = changed.collect();
        let is_edited = changed.len() == unknown.len();
        let layers = unknown.into_iter();
        let layers = layers.filter(|path| *path != own && !agents.contains(*path));
        let cause = match &self.replaced {
            Some(replaced) => UntrustedCause::Replaced(replaced.clone()),
            None if self.files.iter().any(|file| file.path == own) => UntrustedCause::Contract,
            None => UntrustedCause::Layers {
                is_file: self.path.is_file(),
            },
        };
        let (reach, below) = self.reached(service)?;
        Err(ContractFault::Untrusted(Box::new(Untrusted {
            below,
            cause,
            changed,
            files: self.files.to_vec(),
            is_edited,
            layers: layers.map(Path::to_owned).collect(),
            name: self.name.to_owned(),
            reach,
            texts,
        }))
        .into())
    }

    /// The texts of the contract and its agents, by their places.
    pub(crate) fn texts(&self) -> BTreeMap<PathBuf, String> {
        let agents = self.below.iter();
        let agents = agents.map(|agent| (place(&agent.path), agent.text.clone()));
        let own = (place(self.path), self.text.to_owned());
        agents.chain([own]).collect()
    }

    /// The same, because of a file that changed since a run in which a confined program could replace it.
    pub(crate) fn with_replaced(self, replaced: PathBuf) -> Self {
        Self {
            replaced: Some(replaced),
            ..self
        }
    }

    /// Returns what a run of it reaches, and each of its agents; nothing is started to see.
    pub fn reached(&self, service: &Service) -> Result<(Reach, Vec<ReachedBelow>), ServiceError> {
        let own = self.spec.map(|spec| reach_of(service, spec, self.folder));
        Ok((
            own.transpose()?.unwrap_or_default(),
            reached_below(service, self.below)?,
        ))
    }
}

/// Returns what each agent below a contract reaches. Starts nothing.
pub fn reached_below(
    service: &Service,
    below: &[AgentBelow],
) -> Result<Vec<ReachedBelow>, ServiceError> {
    let each = below.iter().map(|agent| {
        Ok(ReachedBelow {
            file: agent.name.display().to_string(),
            reaches: reach_of(service, &agent.spec, &agent.folder)?,
        })
    });
    each.collect()
}

fn reach_of(service: &Service, spec: &ContractSpec, folder: &Path) -> Result<Reach, ServiceError> {
    let key = RedactionKey::new([0; 32]);
    let request = RunRequest::new(spec.clone(), folder, service.environment.clone(), key);
    let reach = || -> Result<Reach, ServiceError> {
        let cancel = CancellationToken::new();
        let preview = driver::preview(&request, ServersToStart::Builtin, &cancel);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime
            .enable_all()
            .build()
            .map_err(|fault| SystemFault::Runtime {
                reason: fault.to_string(),
            })?;
        Ok(runtime.block_on(preview)?.reach)
    };
    // The caller may stand on a thread of a runtime, which cannot wait for another one.
    let done = thread::scope(|scope| scope.spawn(reach).join());
    done.unwrap_or_else(|payload| resume_unwind(payload))
}
