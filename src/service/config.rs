//! The folders of monolith's own state, and the layers of configuration.

use std::io;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::error::ServiceError;
use crate::error::state::StateFault;
use crate::service::Service;
use monolith_host::config::{Layers, Locations};
use monolith_host::store::{
    Durability, Exposure, judge_folder, judge_new_folder, led_by_own_links, own_folder,
    private_folder,
};
use monolith_host::telemetry::{BillingFault, BillingFile};

impl Service {
    /// The file of configuration that the caller names, absolute.
    pub fn named_config(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|path| self.cwd.join(path))
    }

    /// Returns the layers whose names a contract in that folder may use, for a caller in `base` who named that configuration
    /// file (000 §7). `recorded` are the only layers that may be found, if a run recorded those that it was begun with.
    pub fn layers(
        &self,
        (base, config): (&Path, Option<PathBuf>),
        contract_dir: &Path,
        recorded: Option<&[PathBuf]>,
    ) -> Result<Layers, ServiceError> {
        let folder = |name: &str| self.environment.get(name).map(PathBuf::from);
        let program = std::env::current_exe().ok();
        let places = Locations {
            config,
            cwd: base.to_owned(),
            contract_dir: contract_dir.to_owned(),
            binary_dir: program.and_then(|program| program.parent().map(Path::to_owned)),
            home: folder("HOME"),
            system: cfg!(unix).then(|| PathBuf::from("/etc")),
            recorded: recorded.map(<[_]>::to_vec),
        };
        let layers = Layers::at(places, self.environment.clone(), &self.layer_files);
        Ok(layers?)
    }

    /// `MONOLITH_HOME`, else the platform's state folder.
    pub fn state_folder(&self) -> Result<PathBuf, ServiceError> {
        if let Some(folder) = self.environment.get("MONOLITH_HOME") {
            return Ok(self.cwd.join(folder));
        }
        let folders = ProjectDirs::from("", "", "monolith").ok_or(StateFault::NoStateFolder)?;
        let state = folders
            .state_dir()
            .unwrap_or_else(|| folders.data_local_dir());
        Ok(state.to_owned())
    }

    /// The state folder, refused where others can write it: its content may be theirs, and what is made there goes where they
    /// lead it. It need not be there yet.
    pub fn own_state(&self) -> Result<PathBuf, ServiceError> {
        let folder = self.state_folder()?;
        Self::own(folder, |folder| {
            led_by_own_links(folder).and_then(|()| own_folder(folder))
        })
    }

    /// [`Self::own_state`], made where it is not there: whatever writes to the state begins here.
    pub fn ready_state(&self) -> Result<PathBuf, ServiceError> {
        let folder = self.state_folder()?;
        Self::own(folder, |folder| {
            led_by_own_links(folder)
                .and_then(|()| private_folder(folder))
                .and_then(|()| own_folder(folder))
                .and_then(|()| judge_folder(folder))
        })
    }

    /// The fault of a file of the state folder; that of the folder itself where this user may write nothing there.
    pub(crate) fn or_unwritable(&self, fault: impl Into<ServiceError>) -> ServiceError {
        let judged = self
            .state_folder()
            .map(|path| (judge_new_folder(&path), path));
        match judged {
            Ok((Err(reason), path)) => StateFault::StateFolder {
                is_open: false,
                path,
                reason: reason.to_string(),
            }
            .into(),
            Ok((Ok(()), _)) | Err(_) => fault.into(),
        }
    }

    fn own(
        folder: PathBuf,
        judge: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, ServiceError> {
        match judge(&folder) {
            Ok(()) => Ok(folder),
            Err(fault) => Err(StateFault::StateFolder {
                is_open: matches!(Exposure::to_write(&folder), Some(Exposure::Mode(_))),
                path: folder,
                reason: fault.to_string(),
            }
            .into()),
        }
    }

    /// Returns the folder for models: in the state folder, wherever the store of runs is.
    pub fn models_folder(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.state_folder()?.join("models"))
    }

    /// The folder of models, in a state folder that is there. The store of models makes it.
    pub fn ready_models(&self) -> Result<PathBuf, ServiceError> {
        self.ready_state()?;
        self.models_folder()
    }

    /// The folder that the tools of live conformance cases see.
    pub fn live_folder(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.state_folder()?.join("live"))
    }

    /// The folder that the demo runs in where this repository is not at hand.
    pub fn demo_folder(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.state_folder()?.join("demo"))
    }

    /// The file that requests and calls are accounted for in: the caller's, else the one of the state folder.
    pub fn billing_path(&self) -> Result<PathBuf, ServiceError> {
        match &self.billing_file {
            Some(path) => Ok(self.cwd.join(path)),
            None => Ok(self.state_folder()?.join("accounting.jsonl")),
        }
    }

    /// Opens the file that requests and calls are accounted for in.
    pub fn billing(&self, durability: Durability) -> Result<BillingFile, ServiceError> {
        let path = self.billing_path()?;
        if self.billing_file.is_none() {
            self.ready_state()?;
        }
        let opened = BillingFile::open(&path, durability == Durability::Full);
        opened.map_err(|fault| self.billing_error(fault))
    }

    /// Returns the error, known before a run, of an accounting file that cannot be written. A state folder that does not exist is made
    /// with the file.
    pub fn billing_refusal(&self) -> Option<ServiceError> {
        let path = self.billing_path().ok()?;
        let is_made = self.billing_file.is_none() && !path.parent().is_some_and(Path::is_dir);
        let refusal = BillingFile::refusal(&path).err().filter(|_| !is_made);
        refusal.map(|fault| self.billing_error(fault))
    }

    fn billing_error(&self, fault: BillingFault) -> ServiceError {
        match &self.billing_file {
            Some(_) => fault.into(),
            None => self.or_unwritable(fault),
        }
    }
}
