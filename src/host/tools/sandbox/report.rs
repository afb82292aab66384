//! The parts that were tried, as lines from one process to the next: `+name TAB detail`, `-name TAB reason` (`~` where the
//! system is full), and
//! `ready TAB version` at the end; a probe adds `strength TAB JSON`.

use std::fs::File;
use std::io::{self, Write as _};

use super::part::{Fault, Part, PartFault as _, PartFound, PartStatus};
use monolith_core::message::SandboxStrength;

const READY: &str = "ready";
const STRENGTH: &str = "strength";

/// The pipe through which a process reports the parts that it has set up.
#[derive(Debug)]
pub(super) struct Report(File);

impl Report {
    pub(super) const fn to(pipe: File) -> Self {
        Self(pipe)
    }

    /// A part is set up.
    pub(super) fn here(&mut self, part: Part, detail: &str) -> Result<(), Fault> {
        self.line(&written(part, PartStatus::Here, detail))
            .map_err(|fault| part.lacks(fault))
    }

    /// A part is not to be had.
    pub(super) fn lacking(&mut self, fault: &Fault) {
        // Who reads it sees the end of the process too.
        let _ = self.line(&written(fault.part, fault.status, &fault.reason));
    }

    /// Reports that everything is set up, under that version of landlock's rules.
    ///
    /// # Errors
    /// The process that waits for the report has ended.
    pub(super) fn ready(mut self, landlock: u32) -> io::Result<()> {
        self.line(&format!("{READY}\t{landlock}"))
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.0, "{line}")
    }
}

/// A part as a line.
pub(super) fn written(part: Part, status: PartStatus, detail: &str) -> String {
    let sign = sign_of(status);
    let detail = detail.replace(['\n', '\r', '\t'], " ");
    format!("{sign}{part}\t{detail}")
}

/// Returns the version of landlock's rules; `None` unless everything was set up.
pub(super) fn ready(lines: &[u8]) -> Option<u32> {
    value_of(lines, READY)?.parse().ok()
}

/// The last line of a probe: the strength of the sandbox that was set up.
pub(super) fn written_strength(strength: SandboxStrength) -> String {
    // Numbers and words: serialising them cannot fail.
    let strength = serde_json::to_string(&strength).unwrap_or_default();
    format!("{STRENGTH}\t{strength}\n")
}

/// Returns the strength of the sandbox that was set up; `None` unless all of it was.
pub(super) fn strength(lines: &[u8]) -> Option<SandboxStrength> {
    serde_json::from_str(&value_of(lines, STRENGTH)?).ok()
}

fn value_of(lines: &[u8], name: &str) -> Option<String> {
    let lines = String::from_utf8_lossy(lines);
    let mut named = lines.lines().filter_map(|line| line.split_once('\t'));
    let (_, value) = named.find(|(key, _)| *key == name)?;
    Some(value.to_owned())
}

const fn sign_of(status: PartStatus) -> char {
    match status {
        PartStatus::Here => '+',
        PartStatus::Lacking => '-',
        PartStatus::Busy => '~',
    }
}

/// Returns the result of each part that was tried.
pub(super) fn read(lines: &[u8]) -> Vec<PartFound> {
    let lines = String::from_utf8_lossy(lines);
    let found = |line: &str| {
        let (named, detail) = line.split_once('\t')?;
        let all = [PartStatus::Here, PartStatus::Lacking, PartStatus::Busy];
        let sign = |status: &PartStatus| named.strip_prefix(sign_of(*status));
        let status = all.into_iter().find(|status| sign(status).is_some())?;
        let name = sign(&status)?;
        let part = Part::ALL.into_iter().find(|part| part.name() == name)?;
        Some(PartFound {
            part,
            detail: detail.to_owned(),
            status,
        })
    };
    lines.lines().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::message::MemoryScope;

    #[test]
    fn what_became_of_parts_is_read_as_it_was_written() {
        for part in Part::ALL {
            for status in [PartStatus::Here, PartStatus::Lacking, PartStatus::Busy] {
                let line = written(part, status, "why\nso");
                let found = PartFound {
                    part,
                    detail: "why so".to_owned(),
                    status,
                };
                assert_eq!(read(line.as_bytes()), [found]);
                assert_eq!(ready(line.as_bytes()), None);
            }
        }
        let lines = b"+Linux\t\nready\t6\n";
        assert_eq!((ready(lines), strength(lines)), (Some(6), None));
        let found = SandboxStrength {
            landlock: 6,
            memory: Some(MemoryScope::Group),
        };
        let lines = format!("ready\t6\n{}", written_strength(found));
        assert_eq!(strength(lines.as_bytes()), Some(found));
    }
}
