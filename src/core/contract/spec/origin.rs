//! The origin of a contract value that comes from outside the contract's own file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::Digest;

/// The origin of a value that is neither in the contract's file nor in an override: a layer of configuration, and how
/// its placeholders are treated. A fault of the file itself has its line in `SpecError`.
#[derive(Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// monolith knows it of itself: no file defines it.
    BuiltIn,
    /// The file of a layer has it as it is.
    Layer {
        /// The file.
        file: Arc<Path>,
    },
    /// It is in the file of a layer, and the value of a variable is part of it: it may be a secret, and is never shown.
    Expanded {
        /// The file.
        file: Arc<Path>,
        /// The variables whose values are part of it.
        variables: Arc<BTreeMap<String, String>>,
    },
    /// It is in the file of a layer, and its placeholders are replaced where it is used.
    Deferred {
        /// The file.
        file: Arc<Path>,
        /// The variables beside the layer, which come before those of the process.
        variables: Arc<BTreeMap<String, String>>,
    },
}

impl ValueOrigin {
    /// True if a variable's value is part of it.
    pub const fn is_expanded(&self) -> bool {
        matches!(self, Self::Expanded { .. })
    }

    /// The variable of that name beside the value; none if there is none, and for a value whose placeholders are replaced.
    pub fn variable(&self, name: &str) -> Option<&str> {
        match self {
            Self::Deferred { variables, .. } => variables.get(name).map(String::as_str),
            Self::BuiltIn | Self::Layer { .. } | Self::Expanded { .. } => None,
        }
    }

    /// The variables whose values are part of it.
    pub fn part_of_it(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = match self {
            Self::Expanded { variables, .. } => Some(variables),
            Self::BuiltIn | Self::Layer { .. } | Self::Deferred { .. } => None,
        };
        let variables = variables.into_iter().flat_map(|variables| variables.iter());
        variables.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A file that decides what a run starts, with its trust hash. It is a contract, an agent or a layer of configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTrust {
    /// BLAKE3 over its place, its content, and every file that its commands name.
    pub blake3: Digest,
    /// The folder of the contract that takes something from a layer, where the layer lies in another one: its commands begin there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Its place, which may be a link; the folder is resolved.
    pub path: PathBuf,
}

/// A value that a layer of configuration states, for a server or a provider that a contract need not name. It may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct LayerValue {
    /// The file of the layer.
    pub file: Arc<Path>,
    /// The name of the variable, of the header or of the key.
    pub name: String,
    /// Dotted path of the mapping that has it.
    pub place: String,
    /// As it is written, with placeholders.
    pub text: String,
    /// The variables beside the layer.
    pub variables: Arc<BTreeMap<String, String>>,
}

impl fmt::Debug for LayerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LayerValue({}.{})", self.place, self.name)
    }
}

/// As messages name it: by its file, if it has one.
impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("what is built into monolith"),
            Self::Layer { file } | Self::Expanded { file, .. } | Self::Deferred { file, .. } => {
                file.display().fmt(f)
            }
        }
    }
}

/// Prints the names of its variables and never their values.
impl fmt::Debug for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("BuiltIn"),
            Self::Layer { file } => f.debug_tuple("Layer").field(file).finish(),
            Self::Expanded { file, variables } => f
                .debug_tuple("Expanded")
                .field(file)
                .field(&variables.keys())
                .finish(),
            Self::Deferred { file, variables } => f
                .debug_tuple("Deferred")
                .field(file)
                .field(&variables.keys())
                .finish(),
        }
    }
}
