//! One file of configuration and its file of variables.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::contract::{DefinitionKind, KNOBS, parameter_term, placeholders};
use monolith_core::message::{Digest, ObjectFault, exact_value, without_bom};
use serde_json::Value;

use super::fault::ConfigFault;
use super::trust_hash::TrustHash;
use crate::driver::MCP_ROOT;
use crate::store::{Foreign, open_regular};

/// The most bytes of one file.
const MAX_BYTES: u64 = 1 << 20;
/// Advice about a configuration file that belongs to another user.
const TO_TRUST_IT: &str = "to trust it, name it with --config";
/// Advice about such a file of variables.
const TO_TRUST_VARIABLES: &str =
    "to trust it, put it and the configuration into a folder of your own";

/// One file of configuration with its variables.
pub(super) struct Layer {
    /// The file of its variables, where there is one.
    beside: Option<PathBuf>,
    pub(super) path: Arc<Path>,
    /// The file as it was read.
    text: Digest,
    pub(super) value: Value,
    pub(super) variables: Arc<BTreeMap<String, String>>,
}

impl Layer {
    /// Reads a file and its adjacent variables; none if there is no such file. A file found without being named must belong to
    /// this user or root: it says what is started, and where requests go.
    pub(super) fn read(path: &Path, is_named: bool) -> Result<Option<Self>, ConfigFault> {
        let Some(file) = open(path)? else {
            return Ok(None);
        };
        if !is_named {
            own(path, Foreign::found(path, &file), TO_TRUST_IT)?;
        }
        let text = text_of(path, &file)?;
        let digest = Digest::of(text.as_bytes());
        let refuse = |path: &Path, rule: String| ConfigFault {
            path: path.to_owned(),
            rule,
        };
        let text = without_bom(&text);
        // The fault's own words would show its content; line and column are enough.
        let value = exact_value(text).map_err(|fault| match fault {
            ObjectFault::InvalidJson { line, column } => refuse(
                path,
                format!("it is not JSON at line {line}, column {column}"),
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
        let (mut variables, mut variables_file) = (BTreeMap::new(), None);
        for beside in variables_of(path) {
            if let Some(found) = open(&beside)? {
                let foreign = if is_named {
                    Foreign::beside(&beside, &found, &file)
                } else {
                    Foreign::found(&beside, &found)
                };
                own(&beside, foreign, TO_TRUST_VARIABLES)?;
                let text = text_of(&beside, &found)?;
                variables = read(&text).map_err(|rule| refuse(&beside, rule))?;
                variables_file = Some(beside);
                break;
            }
        }
        Ok(Some(Self {
            beside: variables_file,
            path: path.into(),
            text: digest,
            value,
            variables: Arc::new(variables),
        }))
    }

    /// The variables of this layer whose values stand in a command line: they are a part of the command.
    fn variables_in_commands(&self) -> BTreeMap<&str, &str> {
        let servers = self.value.get("mcpServers").and_then(Value::as_object);
        let servers = servers.into_iter().flat_map(|servers| servers.values());
        let lines = servers.flat_map(|server| COMMAND_LINE.map(|key| server.get(key)));
        let mut found = BTreeMap::new();
        for value in lines.flatten() {
            texts_of(value, &mut |text| {
                let named = placeholders(text);
                found.extend(named.filter_map(|name| self.variables.get_key_value(name)));
            });
        }
        let found = found.into_iter();
        found
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    /// The trust hash of the layer for contracts of `folder` whose tools stand in `workspace`: its text, the names of its variables,
    /// and every file that its commands name. `expand` replaces the placeholders of a word.
    pub(super) fn trust_hash(
        &self,
        folder: &Path,
        workspace: &Path,
        expand: &dyn Fn(&Self, &str) -> String,
    ) -> Digest {
        let own = self.path.parent().unwrap_or(folder);
        let hash = TrustHash::of(&self.path).in_folder(own);
        let mut hash = hash.in_folder(folder).in_folder(workspace);
        hash.add("layer", self.text.to_string().as_bytes());
        if let Some(beside) = &self.beside {
            hash.add_path("variables", &super::trust_hash::target(beside));
        }
        for name in self.variables.keys() {
            hash.add("variable", name.as_bytes());
        }
        let mut words = BTreeSet::new();
        for (section, keys) in STARTING {
            let entries = self.value.get(section).and_then(Value::as_object);
            for entry in entries.into_iter().flat_map(|entries| entries.values()) {
                for value in keys.iter().filter_map(|key| entry.get(key)) {
                    texts_of(value, &mut |text| {
                        words.insert(expand(self, text));
                    });
                }
            }
        }
        hash.add_files_of(&words);
        for (name, value) in self.variables_in_commands() {
            hash.add("value", name.as_bytes());
            hash.add(
                "digest",
                Digest::of(value.as_bytes()).to_string().as_bytes(),
            );
        }
        hash.finish()
    }
}

/// Keys of a server that make its command line.
const COMMAND_LINE: [&str; 2] = ["command", "args"];
/// Keys of definitions that name files which are run or read.
const STARTING: [(&str, &[&str]); 2] = [
    ("mcpServers", &["command", "args", "env"]),
    ("openapiSpecs", &["spec"]),
];

/// The files that may hold the variables of a layer, the first one that is there counts.
pub(super) fn variables_of(path: &Path) -> [PathBuf; 2] {
    [
        path.with_extension("env"),
        path.with_file_name(".ai-agent.env"),
    ]
}

/// Hands on every text of a value.
fn texts_of(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, take)),
        Value::Object(members) => members.values().for_each(|item| texts_of(item, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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

/// The section of a layer with defaults for contracts.
pub(super) const DEFAULTS_SECTION: &str = "defaults";
/// The section of queues.
pub(super) const QUEUES: &str = "queues";
/// The sections of a layer that are read.
pub(super) const SECTIONS: [&str; 7] = [
    "providers",
    "mcpServers",
    "restTools",
    "openapiSpecs",
    QUEUES,
    "pricing",
    DEFAULTS_SECTION,
];

/// The section of definitions of a kind, and what messages call one of them.
pub(super) const fn section_of(kind: DefinitionKind) -> (&'static str, &'static str) {
    match kind {
        DefinitionKind::Provider => ("providers", "provider"),
        DefinitionKind::Openapi => ("openapiSpecs", "openapiSpec"),
        DefinitionKind::RestTool => ("restTools", "restTool"),
        DefinitionKind::Server => ("mcpServers", "mcp"),
        DefinitionKind::Price => ("pricing", "pricing"),
        DefinitionKind::Queue => (QUEUES, "queue"),
    }
}

/// The section of what is kept of runs.
pub(super) const PERSISTENCE: &str = "persistence";
/// Keys that ai-agent has and that mean nothing here: the mapping that has them, as a path and in words, and their names.
pub(super) const UNUSED: [(&str, &str, &[&str]); 6] = [
    (
        "mcpServers.*",
        "a tool server",
        &["cache", "requestTimeoutMs", "toolsCache"],
    ),
    (
        "providers.*",
        "a provider",
        &[
            "mergeStrategy",
            "reasoningAutoStreamLevel",
            "stringSchemaFormatsAllowed",
            "stringSchemaFormatsDenied",
            "toolChoice",
        ],
    ),
    (
        "providers.*.custom",
        "`custom` of a provider",
        &["includeUsage", "stream"],
    ),
    (
        "providers.*.models.*",
        "a model",
        &["interleaved", "toolChoice"],
    ),
    ("restTools.*", "a REST tool", &["cache"]),
    (
        "restTools.*.streaming",
        "`streaming` of a REST tool",
        &["maxBytes", "timeoutMs"],
    ),
];
/// The sections of other programs, of which nothing but [`PERSISTENCE`] counts here.
pub(super) const OF_OTHERS: [&str; 4] = ["api", PERSISTENCE, "slack", "telemetry"];

/// True if a key of the mapping at that path of [`UNUSED`] means nothing.
pub(super) fn is_unused(path: &str, key: &str) -> bool {
    let mut mappings = UNUSED.iter();
    mappings.any(|(known, _, keys)| *known == path && keys.contains(&key))
}

/// The one name of a key of `defaults`.
pub(super) fn default_term(key: &str) -> &str {
    let mut known = KNOBS.iter();
    known
        .find(|(written, _)| *written == key)
        .map_or(key, |(_, path)| path)
}

/// Parameters by the names that a contract file has for them.
pub(super) fn snake(value: Value) -> Value {
    let Value::Object(members) = value else {
        return value;
    };
    let renamed = members
        .into_iter()
        .map(|(key, value)| (parameter_term(&key).to_owned(), value));
    Value::Object(renamed.collect())
}

/// Reads a file of variables (001 §7): `NAME=value` lines, with or without `export`; quotes around a value go; `#` begins a
/// comment at the beginning of a line or of a value without quotes, and behind white space after one.
///
/// # Errors
/// The first line that is none, by its number; never its content.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let text = without_bom(text);
    let mut variables = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let exported = line.strip_prefix("export");
        let exported = exported.filter(|rest| rest.starts_with([' ', '\t']));
        let line = exported.map_or(line, str::trim_start);
        let number = place + 1;
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {number} is not NAME=value"))?;
        let name = name.trim();
        if !is_name(name) {
            return Err(format!(
                "line {number}: the text before `=` is no name of a variable"
            ));
        }
        let value = value_of(value).map_err(|rule| format!("line {number}: {rule}"))?;
        // A blank root is none: that of the process counts, which is never blank (001 §6).
        if name != MCP_ROOT || !value.trim().is_empty() {
            variables.insert(name.to_owned(), value);
        }
    }
    Ok(variables)
}

/// The value of the text behind `=`. Of one between quotes those go, and all between them stays as it is, other quotes too.
///
/// # Errors
/// Why the quotes are no pair around it.
fn value_of(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let comments = [" #", "\t#"].iter().filter_map(|mark| text.find(mark));
        let comment = comments.min().or(text.starts_with('#').then_some(0));
        let value = comment.and_then(|at| text.get(..at)).unwrap_or(text);
        return Ok(value.trim_end().to_owned());
    };
    let text = text.strip_prefix(quote).unwrap_or(text);
    let each = || {
        let ends = text.match_indices(quote);
        ends.filter_map(|(at, quote)| Some((text.get(..at)?, text.get(at + quote.len()..)?)))
    };
    let ends = |(_, rest): &(&str, &str)| {
        let comment = rest.trim_start_matches([' ', '\t']);
        rest.is_empty() || comment.len() < rest.len() && comment.starts_with('#')
    };
    let found = each().find(ends);
    // Without a blank before it, what begins so may be a part of the value.
    let found = found.or_else(|| each().find(|(_, rest)| rest.starts_with('#')));
    match found {
        Some((value, _)) => Ok(value.to_owned()),
        None if each().next().is_some() => Err("text stands behind the quotes of the value"),
        None => Err("the quote of the value is not closed"),
    }
}

/// Returns true for a valid variable name.
pub(super) fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::read;

    /// 001/7.env.1
    #[test]
    fn variables_are_read_as_documented() {
        let check = |text: &str, expect: Result<&[(&str, &str)], &str>| {
            let found = read(text);
            let found = found.as_ref().map(|all| {
                let all = all.iter();
                all.map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect::<Vec<_>>()
            });
            let expect = expect.map(<[_]>::to_vec).map_err(str::to_owned);
            assert_eq!(found.map_err(Clone::clone), expect, "{text:?}");
        };
        check("", Ok(&[]));
        check(
            "\n# no\n  A=1\r\nexport B = two words \n",
            Ok(&[("A", "1"), ("B", "two words")]),
        );
        check(
            "A=\"x # y\" # z\nB='q\"'\nC=a#b # c\nD=",
            Ok(&[("A", "x # y"), ("B", "q\""), ("C", "a#b"), ("D", "")]),
        );
        check("A=1\nA=2", Ok(&[("A", "2")]));
        check(
            "A= # yours\nB=#none\nexport\tC=a\t# b # c\nexporter=1",
            Ok(&[("A", ""), ("B", ""), ("C", "a"), ("exporter", "1")]),
        );
        check("A=1\nsecret", Err("line 2 is not NAME=value"));
        check(
            "a-b=1",
            Err("line 1: the text before `=` is no name of a variable"),
        );
        // The text between the first quote and the last stays as it is.
        check(
            r##"A="{\"type\":\"x\"}"
B='it's me' # mine
C="say "hi" now"
D="a"# b
E="say "#hi" now""##,
            Ok(&[
                ("A", r#"{\"type\":\"x\"}"#),
                ("B", "it's me"),
                ("C", "say \"hi\" now"),
                ("D", "a"),
                ("E", "say \"#hi\" now"),
            ]),
        );
        check(
            "A=\"a\" b",
            Err("line 1: text stands behind the quotes of the value"),
        );
        check("A=\"", Err("line 1: the quote of the value is not closed"));
        check(
            "A=\"secret",
            Err("line 1: the quote of the value is not closed"),
        );
    }
}
