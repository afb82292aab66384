//! Reads what confines commands and servers. Confines nothing.

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::keys::SANDBOX;
use super::reporter::Reporter;
use super::section::{Keyed, Section};
use super::tree::{Kind, Node};
use crate::contract::SandboxSpec;

/// The word in the place of the mapping where nothing is confined.
const OFF: &str = "off";
/// The most that a limit may be: what is counted in bytes still fits.
const MOST: u64 = 1 << 32;

impl Read for SandboxSpec {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if let Kind::Scalar { text, .. } = &node.kind {
            if text == OFF {
                return Some(Self {
                    off: true,
                    ..Self::default()
                });
            }
            reporter.expected(node, "`off` or a mapping");
            return None;
        }
        Section::read(node, reporter, &SANDBOX, |section| {
            let read = Self::from_section(section)?;
            let limits = [
                (SANDBOX.cpu_s.name, read.cpu_s),
                (SANDBOX.file_mb.name, read.file_mb),
                (SANDBOX.memory_mb.name, read.memory_mb),
                (SANDBOX.open_files.name, read.open_files),
                (SANDBOX.processes.name, read.processes),
            ];
            for (key, limit) in limits {
                if limit.is_some_and(|limit| !(1..=MOST).contains(&limit)) {
                    let rule = format!("`{key}` is between 1 and {MOST}");
                    section.refuse_key(key, rule, None);
                }
            }
            Some(read)
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [{"const": OFF}, definitions.form(&SANDBOX)]})
    }
}
