//! Reads the layers of a caller and gives a contract the definitions that it names. Does not know what a definition means.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builder::Builder;
use super::defaults::{defaults, report_format};
use super::definition::definition;
use super::fault::{ConfigFault, DefinitionFault, made, rendered};
use super::layer::Layer;
use super::merged::Merged;
use super::names::{DEFAULTS_SECTION, SECTIONS, default_term, term};
use super::shown::{ShownValue, values};
use crate::contract::{Definition, DefinitionKind, Definitions};
use crate::driver::Environment;

/// The file of a folder where people work.
const HERE: &str = ".ai-agent.json";
/// The file of a folder that is for configuration.
const SHARED: &str = "ai-agent.json";

/// Where layers are read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locations {
    /// The file that the caller names: it replaces the next two.
    pub(crate) config: Option<PathBuf>,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The contract's folder.
    pub(crate) contract_dir: PathBuf,
    /// The folder of the program.
    pub(crate) binary_dir: Option<PathBuf>,
    /// The caller's home.
    pub(crate) home: Option<PathBuf>,
    /// The folder of the whole system: `/etc`.
    pub(crate) system: Option<PathBuf>,
}

/// The layers that there are. They are read when a contract first asks for something: one that defines everything itself
/// depends on no file beside it.
pub(crate) struct Layers {
    environment: Environment,
    locations: Locations,
    read: OnceCell<Result<Vec<Layer>, ConfigFault>>,
}

impl Layers {
    /// The layers at those places. A file that is not there is no layer, but for the one that the caller names.
    ///
    /// # Errors
    /// [`ConfigFault`] where the caller names a file that cannot be used.
    pub(crate) fn at(locations: Locations, environment: Environment) -> Result<Self, ConfigFault> {
        let layers = Self {
            environment,
            locations,
            read: OnceCell::new(),
        };
        if layers.locations.config.is_some() {
            layers.all()?;
        }
        Ok(layers)
    }

    /// The layers, the highest first.
    pub(super) fn all(&self) -> Result<&[Layer], ConfigFault> {
        let read = self.read.get_or_init(|| Self::read(&self.locations));
        read.as_deref().map_err(Clone::clone)
    }

    fn read(locations: &Locations) -> Result<Vec<Layer>, ConfigFault> {
        let mut layers = Vec::new();
        let mut seen: Vec<PathBuf> = Vec::new();
        let known = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(path) = &locations.config {
            let layer = Layer::read(path, true)?.ok_or_else(|| ConfigFault {
                path: path.clone(),
                rule: "there is no such file".to_owned(),
            })?;
            layers.push(layer);
            // It is named, wherever it would be found.
            seen.push(known(path));
        }
        let own = [&locations.cwd, &locations.contract_dir];
        let own = own.into_iter().filter(|_| locations.config.is_none());
        let own = own.chain(&locations.binary_dir).map(|dir| dir.join(HERE));
        let home = locations.home.iter().map(|dir| dir.join(".ai-agent"));
        let system = locations.system.iter().map(|dir| dir.join("ai-agent"));
        let shared = home.chain(system).map(|dir| dir.join(SHARED));
        for path in own.chain(shared) {
            let known = known(&path);
            if seen.contains(&known) {
                continue;
            }
            seen.push(known);
            layers.extend(Layer::read(&path, false)?);
        }
        Ok(layers)
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
                Some(higher) => higher.over(lower, term),
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

    /// What makes a definition of these layers.
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
    pub(crate) fn shown(&self) -> Result<(Vec<ShownValue>, Vec<Arc<Path>>), ConfigFault> {
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

impl Definitions for Layers {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let section = match wanted {
            DefinitionKind::Provider => "providers",
            DefinitionKind::Openapi => "openapiSpecs",
            DefinitionKind::RestTool => "restTools",
            DefinitionKind::Server => "mcpServers",
            DefinitionKind::Price => "pricing",
            DefinitionKind::Queue => "queues",
        };
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
        let scope = match wanted {
            DefinitionKind::Provider => "provider",
            DefinitionKind::Openapi => "openapiSpec",
            DefinitionKind::RestTool => "restTool",
            DefinitionKind::Server => "mcp",
            DefinitionKind::Price => "pricing",
            DefinitionKind::Queue => "queue",
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
        self.unknown_sections().unwrap_or_default()
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
        let found = found.map(Some);
        found.map_err(|faults| rendered(&faults, |fault| self.fault_of_defaults(fault)))
    }

    fn report_format(&self) -> Result<Option<String>, String> {
        let merged = self.merged_defaults().map_err(|fault| fault.to_string())?;
        let Some(merged) = merged else {
            return Ok(None);
        };
        let format = report_format(&self.builder()?, &merged);
        format.map_err(|fault| self.fault_of_defaults(&fault))
    }
}

/// The sections of all layers, each once: those that are read first.
fn sections(layers: &[Layer]) -> Vec<&str> {
    let all = layers.iter().filter_map(|layer| layer.value.as_object());
    let all = all.flatten().map(|(name, _)| name.as_str());
    once(SECTIONS.into_iter().chain(all))
}

/// The first layer that has something there.
fn holder(layers: &[Layer], path: &[String]) -> usize {
    let has = |layer: &Layer| {
        let found = path
            .iter()
            .try_fold(&layer.value, |value, key| value.get(key));
        found.is_some()
    };
    layers.iter().position(has).unwrap_or_default()
}

/// The names in that section of all layers, each once.
pub(super) fn names<'l>(layers: &'l [Layer], section: &str) -> Vec<&'l str> {
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
