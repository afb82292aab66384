//! The trust of named files: contracts, agents, workflows and layers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::contract_file::{ContractFile, look_for_agent_file};
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::service::Service;
use crate::trust::ReadContract;
use crate::trusted::Trusted;
use crate::untrusted::ReachedBelow;
use monolith_core::contract::{ContractSpec, FileTrust};
use monolith_host::config::HERE;
use monolith_host::driver::Reach;

/// Files that are trusted as they are now.
#[derive(Debug)]
pub struct TrustedNow {
    /// The files.
    pub files: Vec<FileTrust>,
    /// The reach of a run and of the agents below it; `None` for a layer.
    pub reach: Option<(Reach, Vec<ReachedBelow>)>,
}

/// The state of a file since it was trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedState {
    /// The file is as it was.
    Unchanged,
    /// The file has changed.
    Changed,
    /// The file cannot be read.
    Unreadable,
    /// The file is gone.
    Missing,
}

/// Returns the file that a caller means: the named one, else the usual one of the working folder.
///
/// # Errors
///
/// No file is named, and the folder has none.
pub fn named_file(service: &Service, file: Option<PathBuf>) -> Result<ContractFile, ServiceError> {
    if file.is_none() {
        look_for_agent_file(service, None, "trust FILE")?;
    }
    Ok(ContractFile::given_or_found(service, file, Vec::new()))
}

/// Trusts a file, and every file that it uses, as they are now.
///
/// # Errors
///
/// A file cannot be read.
pub fn trust(service: &Service, file: &ContractFile) -> Result<TrustedNow, ServiceError> {
    let trusted = Trusted::of(service)?;
    let path = service.cwd.join(file.name());
    let (found, texts) = if is_layer(&path) {
        let found = TrustedNow {
            files: layer_of(service, &path)?,
            reach: None,
        };
        (found, BTreeMap::new())
    } else if file.is_workflow() {
        let workflow = file.read_workflow(service)?;
        let below = file.agents_of_workflow(service, &workflow);
        let own = workflow.contract.clone().unwrap_or_default();
        let text = file.text()?;
        let files = file.all_files(&text, &own, &below)?;
        let own = workflow.contract.map(|_| ContractSpec {
            task: Some(String::new()),
            ..own
        });
        trusted_now(service, &file.as_read(&text, own.as_ref(), &below, &files))?
    } else {
        let text = file.text()?;
        let spec = file.parse(service, &text)?;
        let below = file.agents_below(service, &spec)?;
        let files = file.all_files(&text, &spec, &below)?;
        trusted_now(service, &file.as_read(&text, Some(&spec), &below, &files))?
    };
    trusted.add(service, found.files.iter().cloned(), &texts)?;
    Ok(found)
}

/// Returns the files of a contract with its reach, and their texts.
fn trusted_now(
    service: &Service,
    read: &ReadContract<'_>,
) -> Result<(TrustedNow, BTreeMap<PathBuf, String>), ServiceError> {
    let now = TrustedNow {
        files: read.files.to_vec(),
        reach: Some(read.reached(service)?),
    };
    Ok((now, read.texts()))
}

/// Forgets the trust in a file.
///
/// # Errors
///
/// The file is not trusted.
pub fn forget(service: &Service, file: &ContractFile) -> Result<(), ServiceError> {
    if !Trusted::of(service)?.remove(&service.cwd.join(file.name()))? {
        let path = file.name().to_owned();
        return Err(ContractFault::NotTrusted { path }.into());
    }
    Ok(())
}

/// Returns each trusted file with its state.
///
/// # Errors
///
/// The list of trusted files cannot be read.
pub fn trusted_files(service: &Service) -> Result<Vec<(FileTrust, TrustedState)>, ServiceError> {
    let trusted = Trusted::of(service)?;
    let state = |file: &FileTrust| match is_unchanged(service, file) {
        Ok(true) => TrustedState::Unchanged,
        Ok(false) => TrustedState::Changed,
        Err(_) if file.path.exists() => TrustedState::Unreadable,
        Err(_) => TrustedState::Missing,
    };
    let files = trusted.all().map(|file| {
        let state = state(&file);
        (file, state)
    });
    Ok(files.collect())
}

fn is_layer(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == HERE)
}

/// Returns the layer at that path, for contracts in its folder.
fn layer_of(service: &Service, path: &Path) -> Result<Vec<FileTrust>, ServiceError> {
    let folder = path.parent().unwrap_or(&service.cwd);
    let layers = service.layers((folder, None), folder, None)?;
    let found = layers.all_found(folder)?;
    if found.is_empty() {
        let reason = "there is no such file".to_owned();
        let path = path.to_owned();
        return Err(ContractFault::Unreadable { path, reason }.into());
    }
    Ok(found)
}

/// True if the file is as it was trusted.
fn is_unchanged(service: &Service, trusted: &FileTrust) -> Result<bool, ServiceError> {
    let path = &trusted.path;
    if is_layer(path) {
        let own = path.parent().unwrap_or(path);
        let folder = trusted.folder.as_deref().unwrap_or(own);
        let layers = service.layers((own, None), folder, None)?;
        return Ok(layers.all_found(folder)?.contains(trusted));
    }
    let file = ContractFile::given(service, path.clone(), Vec::new());
    let text = file.text()?;
    let spec = if file.is_workflow() {
        file.read_workflow(service)?.contract.unwrap_or_default()
    } else {
        file.parse(service, &text)?
    };
    Ok(file.own_trust(&text, &spec)? == *trusted)
}
