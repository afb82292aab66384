//! One file of configuration with the variables beside it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::env_file;
use super::fault::ConfigFault;
use super::names::SECTIONS;
use crate::message::{ObjectFault, exact_value};
use crate::store::{Foreign, open_regular};

/// The most bytes of one file.
const MAX_BYTES: u64 = 1 << 20;
/// What to do about a file of configuration that is another's.
const TO_TRUST_IT: &str = "to trust it, name it with --config";
/// What to do about one of variables.
const TO_TRUST_VARIABLES: &str =
    "to trust it, put it and the configuration into a folder of your own";

/// One file of configuration with its variables.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) path: Arc<Path>,
    pub(super) value: Value,
    pub(super) variables: Arc<BTreeMap<String, String>>,
}

impl Layer {
    /// A file and the variables beside it; none if there is no such file. What was found and not named must be this user's or root's: it says
    /// what is started, and where requests go.
    pub(super) fn read(path: &Path, is_named: bool) -> Result<Option<Self>, ConfigFault> {
        let Some(file) = open(path)? else {
            return Ok(None);
        };
        if !is_named {
            own(path, Foreign::found(path, &file), TO_TRUST_IT)?;
        }
        let text = text_of(path, &file)?;
        let refuse = |path: &Path, rule: String| ConfigFault {
            path: path.to_owned(),
            rule,
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // The fault's own words would show its content; line and column are enough.
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
        for section in SECTIONS {
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
            if let Some(found) = open(&beside)? {
                let foreign = if is_named {
                    Foreign::beside(&beside, &found, &file)
                } else {
                    Foreign::found(&beside, &found)
                };
                own(&beside, foreign, TO_TRUST_VARIABLES)?;
                let text = text_of(&beside, &found)?;
                variables = env_file::read(&text).map_err(|rule| refuse(&beside, rule))?;
                break;
            }
        }
        Ok(Some(Self {
            path: path.into(),
            value,
            variables: Arc::new(variables),
        }))
    }
}

/// Refuses a file that was found and is another's.
fn own(
    path: &Path,
    foreign: io::Result<Option<Foreign>>,
    way_out: &str,
) -> Result<(), ConfigFault> {
    let rule = match foreign {
        Ok(None) => return Ok(()),
        Ok(Some(foreign)) => format!("it was found and not named, and {foreign}; {way_out}"),
        Err(fault) => fault.to_string(),
    };
    Err(ConfigFault {
        path: path.to_owned(),
        rule,
    })
}

fn open(path: &Path) -> Result<Option<File>, ConfigFault> {
    let refuse = |rule: String| ConfigFault {
        path: path.to_owned(),
        rule,
    };
    match open_regular(path) {
        Ok(file) => Ok(Some(file)),
        Err(fault) if matches!(fault.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(fault) => Err(refuse(fault.to_string())),
    }
}

fn text_of(path: &Path, file: &File) -> Result<String, ConfigFault> {
    let refuse = |rule: String| ConfigFault {
        path: path.to_owned(),
        rule,
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|fault| refuse(fault.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(refuse(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|fault| {
        let at = fault.utf8_error().valid_up_to();
        refuse(format!("it is not UTF-8 at byte {at}"))
    })
}
