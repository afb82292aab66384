use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::merged::Merged;
use super::translate;
use super::{ConfigFault, env_file};
use crate::contract::{Definition, Definitions, Wanted};
use crate::driver::Environment;
use crate::message::{ObjectFault, exact_value};

/// The most bytes of one file.
const MAX_BYTES: u64 = 1 << 20;
/// The file of a folder where people work.
const HERE: &str = ".ai-agent.json";
/// The file of a folder that is for configuration.
const SHARED: &str = "ai-agent.json";

/// The section that says what stands where a contract says nothing.
const DEFAULTS: &str = "defaults";

/// Where layers are looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The file that the caller names: it stands in the place of the next two.
    pub(crate) config: Option<PathBuf>,
    /// Where the caller stands.
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

/// One file of configuration with its variables.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) path: PathBuf,
    pub(super) value: Value,
    pub(super) variables: Arc<BTreeMap<String, String>>,
}

/// The layers that there are. They are read when a contract first asks for something: one that defines everything itself
/// depends on no file beside it.
pub(crate) struct Layers {
    pub(super) environment: Environment,
    places: Places,
    read: OnceCell<Result<Vec<Layer>, ConfigFault>>,
}

impl Layers {
    /// The layers at those places. A file that is not there is no layer, but for the one that the caller names.
    ///
    /// # Errors
    /// [`ConfigFault`] where the caller names a file that cannot be used.
    pub(crate) fn at(places: Places, environment: Environment) -> Result<Self, ConfigFault> {
        let layers = Self {
            environment,
            places,
            read: OnceCell::new(),
        };
        if layers.places.config.is_some() {
            layers.all()?;
        }
        Ok(layers)
    }

    /// The layers, the highest first.
    pub(super) fn all(&self) -> Result<&[Layer], ConfigFault> {
        let read = self.read.get_or_init(|| Self::read(&self.places));
        read.as_deref().map_err(Clone::clone)
    }

    fn read(places: &Places) -> Result<Vec<Layer>, ConfigFault> {
        let mut layers = Vec::new();
        if let Some(path) = &places.config {
            let layer = layer(path)?.ok_or_else(|| ConfigFault {
                path: path.clone(),
                rule: "there is no such file".to_owned(),
            })?;
            layers.push(layer);
        }
        let own = [&places.cwd, &places.contract_dir];
        let own = own.into_iter().filter(|_| places.config.is_none());
        let own = own.chain(&places.binary_dir).map(|dir| dir.join(HERE));
        let home = places.home.iter().map(|dir| dir.join(".ai-agent"));
        let system = places.system.iter().map(|dir| dir.join("ai-agent"));
        let shared = home.chain(system).map(|dir| dir.join(SHARED));
        let mut seen: Vec<PathBuf> = Vec::new();
        for path in own.chain(shared) {
            let known = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if seen.contains(&known) {
                continue;
            }
            seen.push(known);
            layers.extend(layer(&path)?);
        }
        Ok(layers)
    }

    /// What the layers together say of that name in that section; none where none of them says anything.
    fn merged(&self, section: &str, name: &str) -> Result<Option<Merged>, ConfigFault> {
        let mut found: Option<Merged> = None;
        for (index, layer) in self.all()?.iter().enumerate() {
            let Some(value) = layer.value.get(section).and_then(|all| all.get(name)) else {
                continue;
            };
            let lower = Merged::of(index, value);
            match &mut found {
                Some(higher) => higher.over(lower, translate::term),
                None => found = Some(lower),
            }
        }
        Ok(found)
    }

    /// What the layers together say where a contract says nothing.
    fn merged_defaults(&self) -> Result<Option<Merged>, ConfigFault> {
        let mut found: Option<Merged> = None;
        for (index, layer) in self.all()?.iter().enumerate() {
            if let Some(value) = layer.value.get(DEFAULTS) {
                let lower = Merged::of(index, value);
                match &mut found {
                    Some(higher) => higher.over(lower, translate::default_term),
                    None => found = Some(lower),
                }
            }
        }
        Ok(found)
    }

    /// A layer that is read.
    pub(super) fn layer(&self, index: usize) -> Option<&Layer> {
        self.all().ok()?.get(index)
    }

    /// The file of a layer, as messages name it.
    pub(super) fn origin(&self, layer: usize) -> String {
        let layer = self.layer(layer);
        layer.map_or_else(String::new, |layer| layer.path.display().to_string())
    }
}

impl Definitions for Layers {
    fn find(&self, wanted: Wanted, name: &str) -> Result<Option<Definition>, String> {
        let section = match wanted {
            Wanted::Provider => "providers",
            Wanted::Server => "mcpServers",
            Wanted::Queue => "queues",
        };
        let merged = self
            .merged(section, name)
            .map_err(|fault| fault.to_string())?;
        let Some(merged) = merged else {
            return Ok(None);
        };
        let told = |fault: translate::Fault| {
            let at = if fault.key.is_empty() {
                format!("{section}.{name}")
            } else {
                format!("{section}.{name}.{}", fault.key)
            };
            format!("{} in {}: {}", at, self.origin(fault.layer), fault.rule)
        };
        translate::definition(self, wanted, &merged)
            .map(Some)
            .map_err(told)
    }

    /// A contract that takes nothing from the layers is what it says, wherever it is run; whoever names a file with `--config`
    /// means its defaults, too.
    fn defaults(&self, asked: bool) -> Result<Option<Definition>, String> {
        if !asked && self.places.config.is_none() {
            return Ok(None);
        }
        let merged = self.merged_defaults().map_err(|fault| fault.to_string())?;
        let Some(merged) = merged else {
            return Ok(None);
        };
        let told = |fault: translate::Fault| {
            let origin = self.origin(fault.layer);
            format!("{DEFAULTS}.{} in {origin}: {}", fault.key, fault.rule)
        };
        translate::defaults(self, &merged).map(Some).map_err(told)
    }
}

/// A file and the variables beside it; none where there is no such file.
fn layer(path: &Path) -> Result<Option<Layer>, ConfigFault> {
    let Some(text) = text_of(path)? else {
        return Ok(None);
    };
    let refuse = |path: &Path, rule: String| ConfigFault {
        path: path.to_owned(),
        rule,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // The fault's own words would show what stands there; line and column say enough.
    let value = exact_value(text).map_err(|fault| match fault {
        ObjectFault::InvalidJson { line, column } => refuse(
            path,
            format!("it is no JSON at line {line}, column {column}"),
        ),
        rule => refuse(path, rule.to_string()),
    })?;
    if !value.is_object() {
        return Err(refuse(path, "it is no JSON object".to_owned()));
    }
    for section in ["providers", "mcpServers", "queues", DEFAULTS] {
        if value
            .get(section)
            .is_some_and(|section| !section.is_object())
        {
            return Err(refuse(path, format!("{section} is no JSON object")));
        }
    }
    let mut variables = BTreeMap::new();
    let beside = [
        path.with_extension("env"),
        path.with_file_name(".ai-agent.env"),
    ];
    for beside in beside {
        if let Some(text) = text_of(&beside)? {
            variables = env_file::read(&text).map_err(|rule| refuse(&beside, rule))?;
            break;
        }
    }
    Ok(Some(Layer {
        path: path.to_owned(),
        value,
        variables: Arc::new(variables),
    }))
}

fn text_of(path: &Path) -> Result<Option<String>, ConfigFault> {
    let refuse = |rule: String| ConfigFault {
        path: path.to_owned(),
        rule,
    };
    // Opening a pipe would wait for somebody to write into it.
    let is_file = |found: &Metadata| found.is_file();
    let opened =
        fs::metadata(path).and_then(|found| is_file(&found).then(|| File::open(path)).transpose());
    let file = match opened {
        Ok(Some(file)) => file,
        Ok(None) => return Err(refuse("it is no regular file".to_owned())),
        Err(fault) if matches!(fault.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(fault) => return Err(refuse(fault.to_string())),
    };
    if !file.metadata().is_ok_and(|found| is_file(&found)) {
        return Err(refuse("it is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|fault| refuse(fault.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(refuse(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|fault| {
        let at = fault.utf8_error().valid_up_to();
        refuse(format!("it is not UTF-8 at byte {at}"))
    })
}
