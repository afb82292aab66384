use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use directories::ProjectDirs;

use super::args::{AccountingArgs, LOCAL_KEY};
use super::clock::unix_ms;
use super::error::{CliError, HomeFault, TranscriptFault, TrustFault};
use super::live::Live;
use super::recorded::Source;
use super::screen::Screen;
use crate::config::{Layers, Locations};
use crate::driver::{Environment, KeyFolder};
use crate::message::RunId;
use crate::session::RedactionKey;
use crate::store::{Durability, Store, StoreError, StoreReader, private_folder};
use crate::telemetry::BillingFile;
use crate::tools::Withheld;
use crate::transcript::{KeyRing, ParentFound, Pin, PublicKey, SecretKey, Trust};

/// How many generations of forks are looked at; a longer line is none that people make.
const MOST_GENERATIONS: usize = 1_000;
/// The most of a file of keys or pins that is read.
const MAX_TRUST_BYTES: u64 = 16 << 20;

/// What a command stands in: the folder, the environment, the streams, and where runs are kept.
#[derive(Debug)]
pub(super) struct Home {
    /// The file of configuration that the caller names.
    pub(super) config: Option<PathBuf>,
    /// What is told of a run beside its result.
    pub(super) accounting: AccountingArgs,
    pub(super) cwd: PathBuf,
    pub(super) environment: Environment,
    pub(super) screen: Screen,
    /// Whether an answer is shown while it arrives.
    pub(super) streams: bool,
    /// The store that the caller names.
    pub(super) store: Option<PathBuf>,
    /// Whether checkpoints are not to be signed.
    pub(super) unsigned: bool,
}

impl Home {
    /// The file that keeps runs: the caller's, else `runs.db` in `MONOLITH_HOME`, else in the platform's state folder.
    pub(super) fn store_path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.store {
            return Ok(self.cwd.join(path));
        }
        Ok(self.state_folder()?.join("runs.db"))
    }

    /// The file of configuration that the caller names, absolute.
    pub(super) fn named_config(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|path| self.cwd.join(path))
    }

    /// What a contract in that folder may name without defining it, for a caller who stands in `base` and named that file of
    /// configuration (000 §7).
    pub(super) fn layers(
        &self,
        (base, config): (&Path, Option<PathBuf>),
        contract_dir: &Path,
    ) -> Result<Layers, CliError> {
        let folder = |name: &str| self.environment.get(name).map(PathBuf::from);
        let program = std::env::current_exe().ok();
        let places = Locations {
            config,
            cwd: base.to_owned(),
            contract_dir: contract_dir.to_owned(),
            binary_dir: program.and_then(|program| program.parent().map(Path::to_owned)),
            home: folder("HOME"),
            system: cfg!(unix).then(|| PathBuf::from("/etc")),
        };
        Ok(Layers::at(places, self.environment.clone())?)
    }

    /// `MONOLITH_HOME`, else the platform's state folder.
    fn state_folder(&self) -> Result<PathBuf, CliError> {
        if let Some(folder) = self.environment.get("MONOLITH_HOME") {
            return Ok(self.cwd.join(folder));
        }
        let folders = ProjectDirs::from("", "", "monolith").ok_or(HomeFault::NoStateFolder)?;
        let state = folders
            .state_dir()
            .unwrap_or_else(|| folders.data_local_dir());
        Ok(state.to_owned())
    }

    /// Where models are stored: in the state folder, wherever the store of runs is.
    pub(super) fn models_folder(&self) -> Result<PathBuf, CliError> {
        Ok(self.state_folder()?.join("models"))
    }

    /// The folder of models, made: it may be the first of the state folder.
    pub(super) fn ready_models(&self) -> Result<PathBuf, CliError> {
        let folder = self.models_folder()?;
        private_folder(&folder).map_err(|fault| HomeFault::StateFolder {
            path: folder.clone(),
            reason: fault.to_string(),
        })?;
        Ok(folder)
    }

    /// The folder that the tools of live conformance cases see.
    pub(super) fn live_folder(&self) -> Result<PathBuf, CliError> {
        Ok(self.state_folder()?.join("live"))
    }

    /// The folder that the demo runs in where this repository is not at hand.
    pub(super) fn demo_folder(&self) -> Result<PathBuf, CliError> {
        Ok(self.state_folder()?.join("demo"))
    }

    /// This machine's keys: in the state folder, wherever the store is.
    pub(super) fn keys(&self) -> Result<KeyFolder, CliError> {
        Ok(KeyFolder::new(self.state_folder()?.join("keys")))
    }

    /// What no built-in tool reads: the state folder and the files of the store, wherever they are.
    pub(super) fn withheld(&self) -> Result<Withheld, CliError> {
        let store = self.store_path()?;
        let beside = ["-wal", "-shm", "-journal", ".locks", ".answers"].map(|ending| {
            let mut name = store.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        });
        let mut paths = vec![self.state_folder()?, self.keys()?.path().to_owned(), store];
        paths.extend(beside);
        let open = vec![self.demo_folder()?, self.live_folder()?];
        Ok(Withheld { paths, open })
    }

    /// The key that signs here; it is made at its first use.
    pub(super) fn signer(&self) -> Result<SecretKey, CliError> {
        Ok(self.keys()?.load_or_make(LOCAL_KEY)?)
    }

    /// What the salts of runs are made from; it is made at its first use.
    pub(super) fn redaction_key(&self) -> Result<RedactionKey, CliError> {
        Ok(self.keys()?.redaction_key()?)
    }

    /// What a transcript is held against. Keys that are named must have signed; without one, this machine's own count.
    pub(super) fn trust(
        &self,
        keys: &[String],
        pins: &[PathBuf],
        witnesses: &[String],
    ) -> Result<Arc<Trust>, CliError> {
        let ring = if keys.is_empty() {
            self.keys()?.ring()?.trusted()
        } else {
            self.named_keys(keys)?
        };
        Ok(Arc::new(Trust {
            keys: ring,
            signature_required: !keys.is_empty(),
            pins: self.pins(pins)?,
            witnesses: self.named_keys(witnesses)?,
            now_unix_ms: Some(unix_ms()),
        }))
    }

    /// The heads in these files.
    pub(super) fn pins(&self, files: &[PathBuf]) -> Result<Vec<Pin>, CliError> {
        let mut pins = Vec::new();
        for file in files {
            let text = self.read_trusted(file)?;
            let broken = |fault| TrustFault::Broken {
                path: file.clone(),
                fault,
            };
            pins.extend(Pin::read_all(&text).map_err(broken)?);
        }
        Ok(pins)
    }

    /// Keys that are given as such, and those in files.
    fn named_keys(&self, given: &[String]) -> Result<Vec<PublicKey>, CliError> {
        let mut ring = KeyRing::default();
        for asked in given {
            let file = Path::new(asked);
            let text = if self.cwd.join(file).is_file() || !asked.contains('+') {
                self.read_trusted(file)?
            } else {
                asked.clone()
            };
            ring.read(&text).map_err(|fault| TrustFault::Broken {
                path: file.to_owned(),
                fault,
            })?;
        }
        Ok(ring.trusted())
    }

    pub(super) fn read_trusted(&self, file: &Path) -> Result<String, CliError> {
        let mut text = String::new();
        let refuse = |reason: String| TrustFault::Unreadable {
            path: file.to_owned(),
            reason,
        };
        let open = File::open(self.cwd.join(file)).map_err(|fault| refuse(fault.to_string()))?;
        let read = open.take(MAX_TRUST_BYTES + 1).read_to_string(&mut text);
        let read = read.map_err(|fault| refuse(fault.to_string()))?;
        // A part of it would be taken for the whole.
        if u64::try_from(read).is_ok_and(|read| read > MAX_TRUST_BYTES) {
            return Err(refuse("it is longer than 16 MiB".to_owned()).into());
        }
        Ok(text)
    }

    /// The file that keeps runs, ready to be made: the state folder is there, but not a folder that the caller names.
    pub(super) fn ready_store(&self) -> Result<PathBuf, CliError> {
        let path = self.store_path()?;
        if let (None, Some(folder)) = (&self.store, path.parent()) {
            private_folder(folder).map_err(|fault| HomeFault::StateFolder {
                path: folder.to_owned(),
                reason: fault.to_string(),
            })?;
        }
        Ok(path)
    }

    /// Opens the store for writing.
    pub(super) fn open_store(&self, durability: Durability) -> Result<Store, CliError> {
        let store = Store::open(&self.ready_store()?, durability)?;
        if self.unsigned {
            return Ok(store);
        }
        Ok(store.signed_by(self.signer()?))
    }

    /// Follows a run that is about to be driven, and accounts for it.
    pub(super) fn live(&self, durability: Durability) -> Result<Live, CliError> {
        let path = match &self.accounting.billing_file {
            Some(path) => self.cwd.join(path),
            None => self.state_folder()?.join("accounting.jsonl"),
        };
        if let (None, Some(folder)) = (&self.accounting.billing_file, path.parent()) {
            private_folder(folder).map_err(|fault| HomeFault::StateFolder {
                path: folder.to_owned(),
                reason: fault.to_string(),
            })?;
        }
        let billing = BillingFile::open(&path, durability == Durability::Full)?;
        let live = Live::accounting(self.screen, self.accounting.verbose, billing);
        Ok(if self.streams { live.streaming() } else { live })
    }

    /// Opens the store for reading; none where nothing was ever kept.
    pub(super) fn reader(&self) -> Result<Option<StoreReader>, CliError> {
        let path = self.store_path()?;
        if !path.exists() {
            return match self.store {
                Some(_) => Err(HomeFault::NoSuchStore { path }.into()),
                None => Ok(None),
            };
        }
        Ok(Some(StoreReader::open(&path)?))
    }

    /// What `RUN|FILE` names. A text with a folder or the ending `.jsonl` is a file; else a run comes first.
    pub(super) fn source(&self, asked: &str) -> Result<Source, CliError> {
        let path = self.cwd.join(asked);
        if asked.contains(['/', '\\']) || has_ending(asked) {
            return Ok(Source::File(path));
        }
        match self.run(asked) {
            Err(CliError::Store(StoreError::NoSuchRun { .. })) if path.is_file() => {
                Ok(Source::File(path))
            }
            found => found,
        }
    }

    /// What is asked for by its full name: a command that looks twice must not find another run the second time.
    pub(super) fn settled(&self, asked: &str) -> Result<String, CliError> {
        Ok(match self.source(asked)? {
            Source::File(_) => asked.to_owned(),
            Source::Run(run_id, _) => run_id.to_string(),
        })
    }

    /// The run of that name, or of that unique prefix.
    pub(super) fn run(&self, asked: &str) -> Result<Source, CliError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        let reader = self.reader()?.ok_or_else(none)?;
        let found = reader.resolve(asked);
        if let Err(StoreError::NoSuchRun { .. }) = &found
            && let Some((by, reason)) = reader.deleted(asked, &self.trust(&[], &[], &[])?.keys)?
        {
            let run_id = asked.to_owned();
            return Err(TranscriptFault::Deleted { run_id, by, reason }.into());
        }
        Ok(Source::Run(found?, reader))
    }

    /// The first run of the line that this one was forked along, itself where it was not forked; none where a run of the line
    /// is not in the store.
    pub(super) fn first_of(&self, run_id: &RunId) -> Result<Option<RunId>, CliError> {
        let Some(reader) = self.reader()? else {
            return Ok(None);
        };
        let mut first = run_id.clone();
        if reader.resolve(first.as_str()).is_err() {
            return Ok(None);
        }
        for _ in 0..MOST_GENERATIONS {
            match reader.lineage(&first)? {
                None => return Ok(Some(first)),
                Some(lineage) if lineage.found == ParentFound::NotHere => return Ok(None),
                Some(lineage) => first = lineage.parent.run_id,
            }
        }
        Ok(None)
    }

    /// A command to type next; it names the store where this one did.
    pub(super) fn hint(&self, command: &str) -> String {
        match &self.store {
            Some(path) => format!("monolith {command} --store {}", path.display()),
            None => format!("monolith {command}"),
        }
    }

    /// What to type for that run: the shortest beginning of its name, four characters or more, that names only it.
    pub(super) fn brief_name(&self, run_id: &str) -> String {
        let Ok(Some(reader)) = self.reader() else {
            return run_id.to_owned();
        };
        let least = run_id.rfind('-').map_or(0, |dash| dash + 1) + 4;
        // Names of runs are ASCII, so every length is a boundary.
        (least..run_id.len())
            .filter_map(|length| run_id.get(..length))
            .find(|prefix| reader.resolve(prefix).is_ok_and(|id| id.as_str() == run_id))
            .unwrap_or(run_id)
            .to_owned()
    }
}

fn has_ending(asked: &str) -> bool {
    Path::new(asked)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"))
}
