//! A contract file as a command names it: where it lies, what is changed of its values, and where the caller stands.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::agent::{MAX_FILE_BYTES, Placeholders};
use crate::contract_values::is_kept;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::input::InputFault;
use crate::root::root_notes;
use crate::secrets;
use crate::service::Service;
use crate::text::command::typed_word;
use monolith_core::contract::{ContractSpec, FileTrust, PinnedOffers, Tokenizer};
use monolith_core::message::{Digest, TokenCounters as _};
use monolith_core::session::RedactionKey;
use monolith_host::config::{HERE, Layers};
use monolith_host::driver::RunRequest;
use monolith_host::inference::BuiltInTokenizers;
use monolith_host::store::{Foreign, Invocation, open_given, open_regular};

pub mod agent;
pub mod delegates;
pub mod faults;
pub mod known;
pub mod prompt;
pub mod trust;
pub mod workflow;

pub(crate) use crate::contract_file::prompt::Prompt;
use prompt::PROMPT_NAME;

use known::{Known, Reading};
use trust::Trust;

/// The possible names of a folder's contract; the first one that exists wins.
const AGENT_FILES: [&str; 2] = ["agent.yaml", "agent.yml"];
/// The prefix of an override that is such a prompt.
pub(crate) const PROMPT_KEPT: &str = "agent.prompt=";
/// The extension of the file of pins next to `NAME.yaml`: `NAME.pins.json`.
const PINS_EXTENSION: &str = "pins.json";
/// Maximum bytes read of it: more than tool definitions take in a contract.
const MAX_PINS_BYTES: u64 = 16 << 20;

/// The contract file of a command.
#[derive(Clone, Debug)]
pub struct ContractFile {
    /// The folder that the layers of configuration are found from.
    base_dir: PathBuf,
    /// The file of configuration that is named.
    config: Option<PathBuf>,
    /// True if it was found, not named: then it must belong to this user.
    is_found: bool,
    /// True if a run recorded it as its file, and no one has named it since.
    is_recorded: bool,
    /// As messages call it.
    name: PathBuf,
    /// The path.
    path: PathBuf,
    /// A system prompt instead of a file.
    prompt: Option<Prompt>,
    /// The values of placeholders in the prompt of an agent's file.
    placeholders: Placeholders,
    /// The purpose of reading.
    reading: Reading,
    /// The only layers that may be found, where a run recorded those that it was begun with.
    recorded: Option<Vec<PathBuf>>,
    /// The overrides of its values.
    sets: Vec<String>,
    /// Who trusts it.
    trust: Trust,
}

impl ContractFile {
    /// The file that the caller names.
    pub fn given(service: &Service, name: PathBuf, sets: Vec<String>) -> Self {
        Self {
            base_dir: service.cwd.clone(),
            config: service.named_config(),
            is_found: false,
            is_recorded: false,
            path: service.cwd.join(&name),
            placeholders: Placeholders::now(),
            prompt: None,
            reading: Reading::Command,
            recorded: None,
            name,
            sets,
            trust: Trust::Named,
        }
    }

    /// An agent that is a system prompt and no file.
    pub fn prompt(service: &Service, prompt: Prompt, sets: Vec<String>) -> Self {
        Self {
            placeholders: Placeholders::now().with_place(service),
            prompt: Some(prompt),
            ..Self::given(service, PROMPT_NAME.into(), sets)
        }
    }

    /// True if it is an agent's file, or a system prompt.
    pub fn is_agent(&self) -> bool {
        self.form().is_some()
    }

    /// The file that the caller names, else that of the folder.
    pub fn given_or_found(service: &Service, name: Option<PathBuf>, sets: Vec<String>) -> Self {
        Self {
            is_found: name.is_none(),
            trust: if name.is_none() {
                Trust::Found
            } else {
                Trust::Named
            },
            ..Self::given(
                service,
                name.unwrap_or_else(|| agent_file(service).into()),
                sets,
            )
        }
    }

    /// A file of monolith's own, in a folder that stands for the caller's.
    pub fn below(service: &Service, folder: PathBuf, name: &str) -> Self {
        Self {
            config: service.named_config(),
            is_found: false,
            is_recorded: false,
            name: name.into(),
            path: folder.join(name),
            placeholders: Placeholders::now(),
            prompt: None,
            reading: Reading::Command,
            recorded: None,
            base_dir: folder,
            sets: Vec::new(),
            trust: Trust::Named,
        }
    }

    /// The file that the caller names for a run that was begun with `begun`, else the one that it was begun with; `None` if there
    /// is neither. Layers are looked for where they were then, and a file of configuration that is named now comes before the one
    /// of then. The contract file of then is judged as one that was found: its path may be another user's by now. What was
    /// changed of the file's values then is changed now too, before `sets`.
    ///
    /// If neither is named now, uses the layers that the run recorded; every file must be unchanged since then.
    pub fn of_run(
        service: &Service,
        begun: Option<Invocation>,
        named: Option<PathBuf>,
        sets: Vec<String>,
    ) -> Option<Self> {
        let Some(begun) = begun else {
            return Some(Self::given(service, named?, sets));
        };
        let is_found = named.is_none();
        let kept = begun.sets.iter();
        let mut kept = kept.filter_map(|set| set.strip_prefix(PROMPT_KEPT));
        let prompt = kept.next().filter(|_| is_found);
        let prompt = prompt.map(|text| Prompt::text(text.to_owned()));
        let files = begun.files.filter(|_| is_found && service.config.is_none());
        let recorded = files.as_ref().map(|files| paths_of(files));
        let name = named.unwrap_or(begun.contract_file);
        let begun_sets = begun.sets.iter();
        let begun_sets = begun_sets.filter(|set| !set.starts_with(PROMPT_KEPT));
        Some(Self {
            prompt,
            base_dir: begun.base_dir.clone(),
            config: service.named_config().or(begun.config),
            is_found,
            is_recorded: is_found,
            path: service.cwd.join(&name),
            placeholders: Placeholders::now(),
            reading: Reading::Command,
            recorded,
            name,
            sets: begun_sets.cloned().chain(sets).collect(),
            // A run of an older build recorded no files: its layers are asked about.
            trust: files.map_or(Trust::Named, Trust::Recorded),
        })
    }

    /// As messages call it.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.base_dir)
    }

    /// The same, with a prompt that says the time as it was said then.
    #[must_use]
    pub fn saying_as(mut self, then: &Placeholders) -> Self {
        self.placeholders.say_as(then);
        self
    }

    /// The invocation that a resume and a continuation need, with the files that were trusted. Changes that may hold secrets are left
    /// out: they are given again.
    pub fn invocation(&self, files: Vec<FileTrust>) -> Invocation {
        let kept = self.sets.iter().filter(|set| is_kept(set));
        let mut sets: Vec<String> = kept.cloned().collect();
        // A prompt that names the time names the same one in a resume.
        if self.is_agent()
            && let Ok(whole) = self.text().and_then(|text| self.whole(&text))
        {
            sets.extend(self.placeholders.kept(&whole.text, &self.sets));
            // What it included then is a part of it from now on.
            if self.prompt.is_some() {
                sets.push(format!("{PROMPT_KEPT}{}", whole.text));
            }
        }
        Invocation {
            base_dir: self.base_dir.clone(),
            config: self.config.clone(),
            contract_file: self.path.clone(),
            files: Some(files),
            sets,
        }
    }

    /// The layers of configuration that it may take from.
    fn layers(&self, service: &Service) -> Result<Layers, ServiceError> {
        let place = (self.base_dir.as_path(), self.config.clone());
        service.layers(place, self.folder(), self.recorded.as_deref())
    }

    /// Reads the file. What it names and does not define is taken from the layers of configuration. From now on nothing is said
    /// that holds one of its secrets.
    ///
    /// Asks about each file that was found, not named, and is not trusted: the contract, or a layer that it uses. Refuses it if nobody
    /// says yes.
    pub fn read(&self, service: &Service) -> Result<ContractSpec, ServiceError> {
        let text = self.text()?;
        let mut spec = self.parse(service, &text)?;
        self.judge_trust(service, &text, &mut spec)?;
        Ok(spec)
    }

    /// The same where nothing of it is started and nothing sent.
    pub fn read_to_look(&self, service: &Service) -> Result<ContractSpec, ServiceError> {
        self.parse(service, &self.text()?)
    }

    /// BLAKE3 over a text that the file may hold, everything included: what trust and delegation know it by.
    pub(crate) fn digest_of(&self, text: &str) -> Result<Digest, ServiceError> {
        Ok(match self.form() {
            Some(_) => Digest::of(self.whole(text)?.text.as_bytes()),
            None => Digest::of(text.as_bytes()),
        })
    }

    /// The same of a text that the file may hold.
    pub fn parse(&self, service: &Service, text: &str) -> Result<ContractSpec, ServiceError> {
        let layers = self.layers(service)?;
        for file in self.sources(text) {
            service.environment.guard_file(&file);
        }
        let known = Known {
            agents: &|file| self.definition(service, file),
            built_in: self.prompt.as_ref().map(|_| &service.environment),
            layers: &layers,
            reading: self.reading,
        };
        let name = self.name.display().to_string();
        let mut spec = if let Some(form) = self.form() {
            let beside = self.beside();
            let text = self.includes(text).map_err(|broken| {
                let named = (&*name, form);
                let source = self.placeholders.source(named, &broken.whole, &beside);
                let errors = ContractSpec::broken_agent(&source, &broken, &self.sets, &known);
                self.as_two_texts(errors)
            })?;
            let source = self.placeholders.source((&name, form), &text, &beside);
            let mut spec = ContractSpec::parse_agent(&source, &self.sets, &known)
                .map_err(|errors| self.as_two_texts(errors))?;
            for schema in beside.schemas.take() {
                service.environment.guard_file(&schema);
            }
            self.give_agent(&mut spec)?;
            spec
        } else {
            let parsed = ContractSpec::parse_with(&name, text, &self.sets, &known);
            parsed.map_err(|errors| self.not_read(text, errors))?
        };
        spec.layer_values = layers.stated_values();
        secrets::learn(&spec, &service.environment);
        let estimated = estimated(&mut spec);
        spec.clamped.extend(estimated);
        spec.clamped
            .extend(root_notes(service, &spec, self.folder()));
        if self.reading == Reading::Command {
            spec.clamped.extend(service.network_note());
        }
        // What the caller names comes before it.
        if self.reading == Reading::Command && service.sessions_dir.is_none() {
            spec.sessions_dir = self.sessions_dir(&layers, &spec)?;
        }
        if spec
            .tools
            .servers
            .values()
            .any(|server| server.pin.is_some())
        {
            spec.pinned = self.pinned();
        }
        spec.files = self.used_layers(&layers, &spec);
        Ok(spec)
    }

    /// The folder of snapshots that the layers name, where the file takes anything from them.
    fn sessions_dir(
        &self,
        layers: &Layers,
        spec: &ContractSpec,
    ) -> Result<Option<PathBuf>, ServiceError> {
        let counts = self.config.is_some() || !spec.origins.is_empty();
        let named = counts.then(|| layers.sessions_dir()).transpose()?;
        Ok(named.flatten())
    }

    /// The file beside this one that holds what its servers offered when their pins were taken.
    pub fn pins_path(&self) -> PathBuf {
        self.path.with_extension(PINS_EXTENSION)
    }

    /// Reads that file. It explains and decides nothing, so a file that cannot be read is no error.
    fn pinned(&self) -> PinnedOffers {
        let read = || -> io::Result<Option<String>> {
            let path = self.pins_path();
            if !path.try_exists()? {
                return Ok(None);
            }
            let mut text = String::new();
            open_regular(&path)?
                .take(MAX_PINS_BYTES)
                .read_to_string(&mut text)?;
            Ok(Some(text))
        };
        match read() {
            Ok(None) => PinnedOffers::default(),
            Ok(Some(text)) => PinnedOffers::parse(&text),
            Err(fault) => PinnedOffers::unreadable(fault.to_string()),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Builds the request for a driver; the salt of a run comes from `key`.
    pub fn request(&self, service: &Service, spec: ContractSpec, key: RedactionKey) -> RunRequest {
        RunRequest::new(spec, self.folder(), service.environment.clone(), key)
    }

    /// A contract is a program. One that was found and not named is judged as it was opened.
    fn open(
        &self,
        refuse: impl Fn(io::Error) -> ContractFault + Copy,
    ) -> Result<File, ContractFault> {
        if !self.is_found {
            return open_given(&self.path).map_err(refuse);
        }
        let file = open_regular(&self.path).map_err(refuse)?;
        match Foreign::found(&self.path, &file).map_err(refuse)? {
            None => Ok(file),
            Some(foreign) => Err(ContractFault::Foreign {
                path: self.name.clone(),
                foreign,
            }),
        }
    }

    /// As the caller types it.
    pub fn word(&self, service: &Service) -> String {
        let name = self.name.strip_prefix(&service.cwd).unwrap_or(&self.name);
        typed_word(&name.display().to_string())
    }

    /// Returns the text of the file.
    pub fn text(&self) -> Result<String, ContractFault> {
        if let Some(prompt) = &self.prompt {
            return Ok(prompt.text.clone());
        }
        let refuse = |reason: String| {
            let path = self.name.clone();
            if self.is_recorded {
                ContractFault::Departed { path, reason }
            } else {
                ContractFault::Unreadable { path, reason }
            }
        };
        let system = |fault: io::Error| refuse(fault.to_string());
        let mut bytes = Vec::new();
        self.open(system)?
            .take(MAX_FILE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(system)?;
        String::from_utf8(bytes).map_err(|fault| {
            let at = fault.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(fault.as_bytes().get(..at).unwrap_or_default());
            let line = before.matches('\n').count() + 1;
            let column = before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1;
            refuse(format!(
                "it is not UTF-8 at line {line}, column {column} (byte {at})"
            ))
        })
    }
}

/// Lets tokens be estimated where this build cannot count as a layer asks for (001 §6). Returns the note about it.
fn estimated(spec: &mut ContractSpec) -> Option<String> {
    let can_count = |id: &str| id == Tokenizer::Model.id() || BuiltInTokenizers::IDS.contains(&id);
    let (id, origin) = spec.estimate_instead(&can_count)?;
    let missing = if origin.is_expanded() {
        "this build cannot count with the tokenizer that a variable names".to_owned()
    } else {
        BuiltInTokenizers.counter(&id).err()?
    };
    Some(format!(
        "{origin}: {missing}; tokens are estimated as bytes / 4"
    ))
}

/// The layers among files that were trusted.
fn paths_of(files: &[FileTrust]) -> Vec<PathBuf> {
    let paths = files.iter().map(|file| file.path.clone());
    let is_layer = |path: &PathBuf| path.file_name().is_some_and(|name| name == HERE);
    paths.filter(is_layer).collect()
}

/// Returns the name, actual or future, of the contract in the caller's folder.
fn agent_file(service: &Service) -> &'static str {
    let [first, ..] = AGENT_FILES;
    let found = AGENT_FILES
        .into_iter()
        .find(|name| service.cwd.join(name).is_file());
    found.unwrap_or(first)
}

/// Looks for the contract of the folder that the caller stands in. Without one the fault says what to type instead: `with_file`; `task` is
/// what was taken as the task.
pub fn look_for_agent_file(
    service: &Service,
    task: Option<&str>,
    with_file: &'static str,
) -> Result<(), InputFault> {
    if service.cwd.join(agent_file(service)).is_file() {
        return Ok(());
    }
    let task = task.map(|task| task.chars().take(80).collect());
    Err(InputFault::NoAgentFile { task, with_file })
}
