//! What became of the parts, as lines from one process to the next: `+name TAB detail`, `-name TAB reason`, and `ready` at the end.

use std::fs::File;
use std::io::{self, Write as _};

use super::PartFound;
use super::part::{Fault, Part};

const READY: &str = "ready";

/// Where a process reports what it has set up.
#[derive(Debug)]
pub(super) struct Report(File);

impl Report {
    pub(super) const fn to(pipe: File) -> Self {
        Self(pipe)
    }

    /// A part is set up.
    pub(super) fn here(&mut self, part: Part, detail: &str) -> Result<(), Fault> {
        self.line(&written(part, true, detail))
            .map_err(|fault| part.lacks(fault))
    }

    /// A part is not to be had.
    pub(super) fn lacking(&mut self, fault: &Fault) {
        // Who reads it sees the end of the process too.
        let _ = self.line(&written(fault.part, false, &fault.reason));
    }

    /// Everything is set up. Fails where the process that waits for it is gone.
    pub(super) fn ready(mut self) -> io::Result<()> {
        self.line(READY)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.0, "{line}")
    }
}

/// A part as a line.
pub(super) fn written(part: Part, is_here: bool, detail: &str) -> String {
    let sign = if is_here { '+' } else { '-' };
    let detail = detail.replace(['\n', '\r', '\t'], " ");
    format!("{sign}{part}\t{detail}")
}

/// Whether everything was set up.
pub(super) fn is_ready(lines: &[u8]) -> bool {
    String::from_utf8_lossy(lines)
        .lines()
        .any(|line| line == READY)
}

/// What became of each part that was reached.
pub(super) fn read(lines: &[u8]) -> Vec<PartFound> {
    let lines = String::from_utf8_lossy(lines);
    let found = |line: &str| {
        let (named, detail) = line.split_once('\t')?;
        let is_here = named.starts_with('+');
        let name = named.strip_prefix(['+', '-'])?;
        let part = Part::ALL.into_iter().find(|part| part.name() == name)?;
        Some(PartFound {
            part,
            detail: detail.to_owned(),
            is_here,
        })
    };
    lines.lines().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_parts_is_read_as_it_was_written() {
        for part in Part::ALL {
            for is_here in [true, false] {
                let line = written(part, is_here, "why\nso");
                let found = PartFound {
                    part,
                    detail: "why so".to_owned(),
                    is_here,
                };
                assert_eq!(read(line.as_bytes()), [found]);
                assert!(!is_ready(line.as_bytes()));
            }
        }
        assert!(is_ready(b"+Linux\t\nready\n"));
    }
}
