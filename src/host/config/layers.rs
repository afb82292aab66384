//! Reads the layers of a caller and gives a contract the definitions that it names. Does not know what a definition means.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builder::Builder;
use super::definition::{defaults, definition, report_format};
use super::fault::{ConfigFault, DefinitionFault, made, rendered};
use super::layer::{DEFAULTS_SECTION, Layer, SECTIONS, default_term, section_of, variables_of};
use super::layer_files::LayerFiles;
use super::merged::Merged;
use super::shown::{ShownValue, values};
use super::trust_hash::place;
use crate::driver::Environment;
use monolith_core::contract::{
    Definition, DefinitionKind, Definitions, FileTrust, layer_term, placeholders,
};

/// The file of a folder where people work.
pub const HERE: &str = ".ai-agent.json";
/// The file of a folder that is for configuration.
pub const SHARED: &str = "ai-agent.json";

/// The places to read layers from.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    /// The file that the caller names: it replaces the next two.
    pub config: Option<PathBuf>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The contract's folder.
    pub contract_dir: PathBuf,
    /// The folder of the program.
    pub binary_dir: Option<PathBuf>,
    /// The caller's home.
    pub home: Option<PathBuf>,
    /// The folder of the whole system: `/etc`.
    pub system: Option<PathBuf>,
    /// The only layers that may be found in the first two folders, where a run recorded which ones it was begun with.
    pub recorded: Option<Vec<PathBuf>>,
}

/// The layers of a contract, each read once in a process.
///
/// A layer found in the working folder or in the contract's folder may be written by someone else. The user is therefore asked
/// about a contract that takes something from it. The file that the caller names, and those of the program, the home and the
/// system are the user's.
pub struct Layers {
    environment: Environment,
    locations: Locations,
    read: Result<Vec<Arc<Layer>>, ConfigFault>,
    /// The layers that something was taken from.
    used: RefCell<BTreeSet<usize>>,
}

impl Layers {
    /// Reads the layers at those places. A missing file is no layer, unless the caller names it.
    ///
    /// A fault of a file that was found is one of the contract that takes something from the layers.
    ///
    /// # Errors
    /// [`ConfigFault`] where the caller names a file that cannot be used.
    pub fn at(
        locations: Locations,
        environment: Environment,
        files: &LayerFiles,
    ) -> Result<Self, ConfigFault> {
        let read = Self::read(&locations, files);
        let layers = Self {
            environment,
            locations,
            read,
            used: RefCell::default(),
        };
        if layers.locations.config.is_some() {
            layers.all()?;
        }
        layers.guard();
        Ok(layers)
    }

    /// The layers, the highest first.
    pub(super) fn all(&self) -> Result<&[Arc<Layer>], ConfigFault> {
        self.read.as_deref().map_err(Clone::clone)
    }

    fn read(locations: &Locations, files: &LayerFiles) -> Result<Vec<Arc<Layer>>, ConfigFault> {
        let mut layers = Vec::new();
        let mut seen: Vec<PathBuf> = Vec::new();
        let known = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(path) = &locations.config {
            let layer = files.layer(path, true)?.ok_or_else(|| ConfigFault {
                path: path.clone(),
                rule: "there is no such file".to_owned(),
            })?;
            layers.push(layer);
            // It is named, wherever it would be found.
            seen.push(known(path));
        }
        let mut fault = None;
        for path in locations.found().chain(locations.own()) {
            let known = known(&path);
            if seen.contains(&known) {
                continue;
            }
            seen.push(known);
            // Every file is read before the first run, whatever is wrong with one.
            match files.layer(&path, false) {
                Ok(layer) => layers.extend(layer),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        fault.map_or(Ok(layers), Err)
    }

    /// Keeps built-in tools and confined processes from changing the layers that there are, and from making one of the user's own.
    fn guard(&self) {
        let existing = self.locations.found().filter(|path| path.exists());
        for path in existing {
            for path in variables_of(&path).into_iter().chain([path]) {
                // Another link is asked about. What it leads to is kept as it is.
                let kept = path.canonicalize().unwrap_or(path);
                self.environment.guard([kept]);
            }
        }
        let named = self.locations.config.clone();
        for path in named.into_iter().chain(self.locations.own()) {
            for path in variables_of(&path).into_iter().chain([path]) {
                self.environment.guard(path.canonicalize());
                self.environment.guard([path]);
            }
        }
    }

    /// The found layers that something was taken from, each with its trust hash for contracts of this folder; `workspace` is the folder
    /// that their tools see.
    pub fn used_found(&self, workspace: &Path) -> Vec<FileTrust> {
        let used = self.used.borrow();
        let layers = self.all().unwrap_or_default().iter().enumerate();
        let used = layers.filter(|(index, _)| used.contains(index));
        let used = used.map(|(_, layer)| layer);
        let used = used.filter(|layer| self.is_found(layer));
        used.map(|layer| self.trust_of(layer, workspace)).collect()
    }

    /// Every found layer, whether or not something was taken from it.
    pub fn all_found(&self, workspace: &Path) -> Result<Vec<FileTrust>, ConfigFault> {
        let layers = self.all()?.iter();
        let found = layers.filter(|layer| self.is_found(layer));
        Ok(found.map(|layer| self.trust_of(layer, workspace)).collect())
    }

    fn is_found(&self, layer: &Layer) -> bool {
        let own = place(&layer.path);
        // A confined program of an earlier run may have written a file of the user's own folders, too.
        let is_named = self.locations.config.as_deref().map(place) == Some(own.clone());
        let could_be_written = || self.environment.granted_before().contain(&own);
        let could_be_replaced = || {
            let files = variables_of(&layer.path).into_iter();
            let files: Vec<PathBuf> = files.chain([layer.path.to_path_buf()]).collect();
            self.environment.replaced(&files).is_some()
        };
        let is_found = self.locations.found().any(|found| place(&found) == own);
        is_found || is_named && could_be_replaced() || !is_named && could_be_written()
    }

    fn trust_of(&self, layer: &Layer, workspace: &Path) -> FileTrust {
        let folder = &self.locations.contract_dir;
        let expand = |layer: &Layer, word: &str| self.expanded_word(layer, word);
        let known =
            |path: &Path| fs::canonicalize(path.join(".")).unwrap_or_else(|_| path.to_owned());
        let folder_of_contract = known(folder);
        let is_beside = layer.path.parent().map(known).as_ref() == Some(&folder_of_contract);
        FileTrust {
            blake3: layer.trust_hash(folder, workspace, &expand),
            folder: (!is_beside).then_some(folder_of_contract),
            path: place(&layer.path),
        }
    }

    /// A word with its placeholders replaced, where their variables are set.
    fn expanded_word(&self, layer: &Layer, word: &str) -> String {
        let mut out = word.to_owned();
        for name in placeholders(word) {
            let value = layer.variables.get(name).cloned();
            if let Some(value) = value.or_else(|| self.environment.raw(name)) {
                out = out.replace(&format!("${{{name}}}"), &value);
            }
        }
        out
    }

    /// Notes that something was taken from each layer that has a value there.
    pub(super) fn take(&self, path: &[&str]) {
        let has = |layer: &Layer| {
            let found = path
                .iter()
                .try_fold(&layer.value, |value, key| value.get(key));
            found.is_some()
        };
        let layers = self.all().unwrap_or_default().iter().enumerate();
        let taken = layers
            .filter(|(_, layer)| has(layer))
            .map(|(index, _)| index);
        self.used.borrow_mut().extend(taken);
    }

    /// The merged definition of that name in that section; none if no layer has it.
    pub(super) fn merged(&self, section: &str, name: &str) -> Result<Option<Merged>, ConfigFault> {
        let mut found: Option<Merged> = None;
        for (index, layer) in self.all()?.iter().enumerate() {
            let Some(value) = layer.value.get(section).and_then(|all| all.get(name)) else {
                continue;
            };
            let lower = Merged::of(index, value);
            match &mut found {
                Some(higher) => higher.over(lower, layer_term),
                None => found = Some(lower),
            }
        }
        Ok(found)
    }

    /// The merged defaults of the layers.
    fn merged_defaults(&self) -> Result<Option<Merged>, ConfigFault> {
        let mut found: Option<Merged> = None;
        for (index, layer) in self.all()?.iter().enumerate() {
            if let Some(value) = layer.value.get(DEFAULTS_SECTION) {
                let lower = Merged::of(index, value);
                match &mut found {
                    Some(higher) => higher.over(lower, default_term),
                    None => found = Some(lower),
                }
            }
        }
        Ok(found)
    }

    /// Returns a definition builder for these layers.
    pub(super) fn builder(&self) -> Result<Builder<'_>, String> {
        let layers = self.all().map_err(|fault| fault.to_string())?;
        Ok(Builder::new(
            layers,
            &self.environment,
            &self.locations.contract_dir,
        ))
    }

    /// Every value of the layers, and the files, the highest first. Nothing is expanded.
    ///
    /// # Errors
    /// [`ConfigFault`] where a file that is there cannot be used.
    pub fn shown(&self) -> Result<(Vec<ShownValue>, Vec<Arc<Path>>), ConfigFault> {
        let layers = self.all()?;
        let file = |layer: usize| {
            let layer = layers.get(layer);
            layer.map_or_else(|| Path::new("").into(), |layer| layer.path.clone())
        };
        let mut out = Vec::new();
        for section in sections(layers) {
            let names = names(layers, section);
            if names.is_empty() {
                let mut said = layers.iter().enumerate();
                let said = said.find_map(|(at, layer)| Some((at, layer.value.get(section)?)));
                out.extend(said.map(|(layer, value)| ShownValue::of(section, value, file(layer))));
            }
            for name in names {
                let merged = match section {
                    DEFAULTS_SECTION => self
                        .merged_defaults()?
                        .and_then(|all| all.member(name).cloned()),
                    _ => self.merged(section, name)?,
                };
                let mut path = vec![section.to_owned(), name.to_owned()];
                if let Some(merged) = merged {
                    let holder = |path: &[String]| holder(layers, path);
                    values(&mut path, &merged, (&file, &holder), &mut out);
                }
            }
        }
        let files = layers.iter().map(|layer| layer.path.clone());
        Ok((out, files.collect()))
    }

    fn fault_of_defaults(&self, fault: &DefinitionFault) -> String {
        let origin = self.file_of(fault.layer);
        fault.render("defaults", &fault.key, DEFAULTS_SECTION, &origin)
    }

    /// The file of a layer, as messages name it.
    pub(super) fn file_of(&self, layer: usize) -> String {
        let layer = self.all().ok().and_then(|layers| layers.get(layer));
        layer.map_or_else(String::new, |layer| layer.path.display().to_string())
    }
}

impl Locations {
    /// The files of folders that need not be the user's: a clone, or a folder of prompts.
    fn found(&self) -> impl Iterator<Item = PathBuf> {
        let folders = [&self.cwd, &self.contract_dir].into_iter();
        let folders = folders.filter(|_| self.config.is_none());
        let may_be = |path: &PathBuf| {
            let recorded = self.recorded.as_ref();
            recorded.is_none_or(|recorded| recorded.contains(&place(path)))
        };
        folders.map(|folder| folder.join(HERE)).filter(may_be)
    }

    /// The files of the user, of the program and of the system.
    fn own(&self) -> impl Iterator<Item = PathBuf> {
        let program = self.binary_dir.iter().map(|folder| folder.join(HERE));
        let home = self.home.iter().map(|folder| folder.join(".ai-agent"));
        let system = self.system.iter().map(|folder| folder.join("ai-agent"));
        program.chain(home.chain(system).map(|folder| folder.join(SHARED)))
    }
}

impl Definitions for Layers {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let (section, scope) = section_of(wanted);
        // Of prices, a provider's are one table.
        let (entry, model) = match (wanted, name.split_once('/')) {
            (DefinitionKind::Price, Some((provider, model))) => (provider, Some(model)),
            _ => (name, None),
        };
        let merged = self
            .merged(section, entry)
            .map_err(|fault| fault.to_string())?;
        let merged = match model {
            Some(model) => merged.and_then(|prices| prices.member(model).cloned()),
            None => merged,
        };
        let Some(merged) = merged else {
            return Ok(None);
        };
        let at = format!("{section}.{name}");
        let located = |fault: &DefinitionFault| {
            let file = self.file_of(fault.layer);
            fault.render(scope, name, &at, &file)
        };
        let builder = self.builder()?;
        let found = made(&merged, |merged| {
            definition(builder.clone(), wanted, merged)
        });
        let found = found.map_err(|faults| rendered(&faults, located))?;
        self.take(&[section, entry]);
        let files = self.all().map_err(|fault| fault.to_string())?.iter();
        let files = files.filter(|layer| {
            let all = layer.value.get(section);
            all.is_some_and(|all| all.get(entry).is_some())
        });
        let files = files.map(|layer| layer.path.display().to_string());
        let files = files.collect();
        Ok(Some(Definition { files, ..found }))
    }

    fn unbound_queues(
        &self,
        queues: &[&str],
        is_named: &dyn Fn(DefinitionKind, &str) -> bool,
    ) -> Vec<String> {
        self.unbound(queues, is_named).unwrap_or_default()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.unknown_sections().unwrap_or_default();
        notes.extend(self.unused_keys().unwrap_or_default());
        notes
    }

    /// A contract that takes nothing from the layers is what it says, wherever it is run; a caller who names a file with `--config`
    /// means its defaults, too.
    fn defaults(&self, uses_layers: bool) -> Result<Option<Definition>, String> {
        if !uses_layers && self.locations.config.is_none() {
            return Ok(None);
        }
        let merged = self.merged_defaults().map_err(|fault| fault.to_string())?;
        let Some(merged) = merged else {
            return Ok(None);
        };
        let builder = self.builder()?;
        let found = made(&merged, |merged| defaults(builder.clone(), merged));
        self.take(&[DEFAULTS_SECTION]);
        let found = found.map(Some);
        found.map_err(|faults| rendered(&faults, |fault| self.fault_of_defaults(fault)))
    }

    fn report_format(&self) -> Result<Option<String>, String> {
        let merged = self.merged_defaults().map_err(|fault| fault.to_string())?;
        let Some(merged) = merged else {
            return Ok(None);
        };
        let format = report_format(&self.builder()?, &merged);
        if matches!(format, Ok(Some(_))) {
            self.take(&[DEFAULTS_SECTION]);
        }
        format.map_err(|fault| self.fault_of_defaults(&fault))
    }
}

/// The sections of all layers, each once: those that are read first.
fn sections(layers: &[Arc<Layer>]) -> Vec<&str> {
    let all = layers.iter().filter_map(|layer| layer.value.as_object());
    let all = all.flatten().map(|(name, _)| name.as_str());
    once(SECTIONS.into_iter().chain(all))
}

/// The first layer that has something there.
fn holder(layers: &[Arc<Layer>], path: &[String]) -> usize {
    let has = |layer: &Arc<Layer>| {
        let found = path
            .iter()
            .try_fold(&layer.value, |value, key| value.get(key));
        found.is_some()
    };
    layers.iter().position(has).unwrap_or_default()
}

/// The names in that section of all layers, each once.
pub(super) fn names<'l>(layers: &'l [Arc<Layer>], section: &str) -> Vec<&'l str> {
    let all = layers
        .iter()
        .filter_map(|layer| layer.value.get(section)?.as_object());
    once(all.flatten().map(|(name, _)| name.as_str()))
}

fn once<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
