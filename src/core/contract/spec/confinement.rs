//! Reads what confines commands and servers. Confines nothing.

use serde_json::{Value, json};

use super::form::{Key, Read, Schemas};
use super::keys::SANDBOX;
use super::reporter::Reporter;
use super::section::Section;
use super::tree::{Kind, Node};
use crate::contract::SandboxSpec;

/// The word in the place of the mapping where nothing is confined.
const OFF: &str = "off";
/// The most that a limit may be: what is counted in bytes still fits.
const MOST: u64 = 1 << 32;

impl Read for SandboxSpec {
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
            let mut limit = |key: &Key<u64, u64>| {
                let limit = section.get(key)?;
                if !(1..=MOST).contains(&limit) {
                    let rule = format!("`{}` is between 1 and {MOST}", key.name);
                    section.refuse_key(key.name, rule, None);
                }
                Some(limit)
            };
            let (cpu_s, file_mb, memory_mb) = (
                limit(&SANDBOX.cpu_s),
                limit(&SANDBOX.file_mb),
                limit(&SANDBOX.memory_mb),
            );
            let (open_files, processes) = (limit(&SANDBOX.open_files), limit(&SANDBOX.processes));
            Self {
                cpu_s,
                file_mb,
                memory_mb,
                network: section.get(&SANDBOX.network),
                off: false,
                open_files,
                processes,
                read: section.get(&SANDBOX.read).unwrap_or_default(),
                sockets: section.get(&SANDBOX.sockets).unwrap_or_default(),
                write: section.get(&SANDBOX.write).unwrap_or_default(),
            }
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [{"const": OFF}, definitions.form(&SANDBOX)]})
    }
}
