//! The layers that a process has read. It reads each file once, and none during a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::fault::ConfigFault;
use super::layer::Layer;
use super::trust_hash::place;

/// The files of layers that a process has read. Clones are the same registry.
#[derive(Clone, Default)]
pub struct LayerFiles {
    is_closed: bool,
    read: Arc<Mutex<BTreeMap<Key, Found>>>,
}

/// The place of a file, and true if the caller named it: a named file may belong to anybody.
type Key = (PathBuf, bool);
type Found = Result<Option<Arc<Layer>>, ConfigFault>;

impl LayerFiles {
    /// The same registry for agents and steps of a run: a file that was not read before the run is absent.
    #[must_use]
    pub fn closed(&self) -> Self {
        Self {
            is_closed: true,
            read: Arc::clone(&self.read),
        }
    }

    /// The layer of that file, as this process read it first.
    pub(super) fn layer(&self, path: &Path, is_named: bool) -> Found {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (place(path), is_named);
        if let Some(known) = read.get(&key) {
            return known.clone();
        }
        if self.is_closed {
            return Ok(None);
        }
        let found = Layer::read(path, is_named).map(|layer| layer.map(Arc::new));
        read.insert(key, found.clone());
        found
    }
}

/// Their variables may be secrets.
impl fmt::Debug for LayerFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LayerFiles")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_layer_is_read_once_and_never_during_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = LayerFiles::default();
        let has = |files: &LayerFiles, name: &str| {
            let layer = files.layer(&at(name), false).unwrap()?;
            Some(layer.value["v"].clone())
        };
        fs::write(at("a"), r#"{"v": 1}"#).unwrap();
        assert_eq!(has(&files, "a"), Some(1.into()));
        assert_eq!(has(&files, "b"), None);
        // What changes, or comes to be, afterwards has no effect.
        fs::write(at("a"), r#"{"v": 2}"#).unwrap();
        for name in ["b", "c"] {
            fs::write(at(name), r#"{"v": 3}"#).unwrap();
        }
        let during = files.closed();
        for files in [&during, &files] {
            assert_eq!(has(files, "a"), Some(1.into()));
            assert_eq!(has(files, "b"), None);
        }
        assert_eq!(has(&during, "c"), None);
        assert_eq!(has(&files, "c"), Some(3.into()));
    }
}
