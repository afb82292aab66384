//! The file of an embedded model: named by the contract's file, or stored under the model's name.

use std::path::{Path, PathBuf};

use super::engine::NO_ENGINE;
use crate::driver::Environment;
use crate::inference::{KNOWN_MODELS, ModelStore, ModelStoreError, StoredModel};

/// How many stored models are named where another is asked for.
const MOST_NAMED: usize = 8;

/// The file of a local provider: its own, else the stored one of the model's name.
pub(super) fn file_of(
    folder: &Path,
    file: Option<&str>,
    model: &str,
    environment: &Environment,
) -> Result<PathBuf, String> {
    if let Some(file) = file {
        return Ok(folder.join(file));
    }
    let stored = |models: &Path| ModelStore::new(models.to_owned()).list();
    let stored = environment.models().map(stored).and_then(Result::ok);
    let missing = || not_stored(model, stored.as_deref().unwrap_or_default());
    let models = environment.models().ok_or_else(missing)?;
    match ModelStore::new(models.to_owned()).find(model) {
        Ok(path) => Ok(path),
        Err(ModelStoreError::Unknown(_)) => Err(missing()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// What to do about a model that is not stored: a pull is advised only for known models, and of what is stored first what
/// is called most alike.
fn not_stored(model: &str, stored: &[StoredModel]) -> String {
    let is_known = KNOWN_MODELS.iter().any(|known| known.name == model);
    if !cfg!(feature = "local") {
        return if is_known {
            format!("{NO_ENGINE}; `monolith model pull {model}` then fetches the model")
        } else {
            NO_ENGINE.to_owned()
        };
    }
    let mut ways = Vec::new();
    if is_known {
        ways.push(format!("`monolith model pull {model}` fetches it"));
    }
    if !stored.is_empty() {
        let mut names: Vec<&str> = stored.iter().map(|stored| stored.name.as_str()).collect();
        names.sort_by_cached_key(|name| strsim::osa_distance(model, name));
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        ways.push(format!("there are {}{more}", names.join(", ")));
    }
    ways.push("`monolith model add` stores a file, `file:` names one".to_owned());
    format!("no model `{model}` is stored here: {}", ways.join("; "))
}
