//! Reads the text of a patch. Sees no file.

/// The most files of one patch.
const MOST_FILES: usize = 256;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// A change that a patch asks for in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Add {
        path: String,
        text: String,
    },
    Delete {
        path: String,
    },
    Update {
        hunks: Vec<Hunk>,
        moved_to: Option<String>,
        path: String,
    },
}

impl Wanted {
    /// The paths that the change is about.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut String> {
        let (path, moved_to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { moved_to, path, .. } => (path, moved_to.as_mut()),
        };
        std::iter::once(path).chain(moved_to)
    }
}

/// Lines that follow each other in a file, and what becomes of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines of the file that stand somewhere before it, each behind the last one.
    pub(super) anchors: Vec<String>,
    /// True if its lines must be the last ones of the file.
    pub(super) at_end: bool,
    pub(super) lines: Vec<HunkLine>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Added(String),
    Kept(String),
    Removed(String),
}

/// The line of a patch that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchFault {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) rule: String,
}

/// Reads a patch: one part for each file, in their order.
pub(super) fn read(text: &str) -> Result<Vec<Wanted>, PatchFault> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut lines = lines
        .skip_while(|(_, line)| line.trim().is_empty())
        .peekable();
    let refuse = |line: usize, rule: &str| {
        let rule = rule.to_owned();
        Err(PatchFault { line, rule })
    };
    match lines.next() {
        Some((_, line)) if line.trim() == BEGIN => {}
        first => {
            let at = first.map_or(1, |(at, _)| at);
            return refuse(at, "a patch begins with the line `*** Begin Patch`");
        }
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut last = 1;
    loop {
        let Some((at, line)) = lines.next() else {
            return refuse(last, "a patch ends with the line `*** End Patch`");
        };
        last = at;
        if line.trim() == END {
            break;
        }
        if wanted.len() == MOST_FILES {
            return refuse(at, &format!("a patch changes at most {MOST_FILES} files"));
        }
        let path = |path: &str| path.trim().to_owned();
        if let Some(name) = line.strip_prefix(ADD) {
            let mut text = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with('+')) {
                text.push_str(line.get(1..).unwrap_or_default());
                text.push('\n');
            }
            let path = path(name);
            wanted.push(Wanted::Add { path, text });
        } else if let Some(name) = line.strip_prefix(DELETE) {
            wanted.push(Wanted::Delete { path: path(name) });
        } else if let Some(name) = line.strip_prefix(UPDATE) {
            let moved_to = lines.next_if(|(_, line)| line.starts_with(MOVE));
            let moved_to = moved_to
                .and_then(|(_, line)| line.strip_prefix(MOVE))
                .map(path);
            let mut hunks: Vec<Hunk> = Vec::new();
            while let Some((at, line)) = lines.next_if(|(_, line)| is_of_hunk(line)) {
                last = at;
                take(&mut hunks, line);
            }
            if hunks.iter().any(|hunk| hunk.lines.is_empty()) {
                return refuse(
                    last,
                    "a `@@` is followed by lines that begin with ` `, `-` or `+`",
                );
            }
            if hunks.is_empty() && moved_to.is_none() {
                return refuse(at, "an update has lines that begin with ` `, `-` or `+`");
            }
            let path = path(name);
            wanted.push(Wanted::Update {
                hunks,
                moved_to,
                path,
            });
        } else if !line.trim().is_empty() {
            return refuse(
                at,
                "expected `*** Add File: `, `*** Delete File: `, `*** Update File: ` or `*** End Patch`; lines of a file begin with ` `, `-` or `+`",
            );
        }
    }
    if let Some((at, _)) = lines.find(|(_, line)| !line.trim().is_empty()) {
        return refuse(at, "nothing follows `*** End Patch`");
    }
    if wanted.is_empty() {
        return refuse(last, "the patch changes no file");
    }
    Ok(wanted)
}

fn is_of_hunk(line: &str) -> bool {
    line.is_empty() || line.starts_with(['+', '-', ' ', '@']) || line.trim_end() == END_OF_FILE
}

/// Adds a line of an update to its hunks.
fn take(hunks: &mut Vec<Hunk>, line: &str) {
    if let Some(anchor) = line.strip_prefix("@@") {
        let anchor = anchor.trim();
        let begins = hunks.last().is_none_or(|hunk| !hunk.lines.is_empty());
        if begins {
            hunks.push(Hunk::default());
        }
        if let Some(hunk) = hunks.last_mut().filter(|_| !anchor.is_empty()) {
            hunk.anchors.push(anchor.to_owned());
        }
        return;
    }
    if hunks.last().is_none_or(|hunk| hunk.at_end) {
        hunks.push(Hunk::default());
    }
    let Some(hunk) = hunks.last_mut() else {
        return;
    };
    if line.trim_end() == END_OF_FILE {
        hunk.at_end = true;
        return;
    }
    let rest = line.get(1..).unwrap_or_default().to_owned();
    hunk.lines.push(match line.as_bytes().first() {
        Some(b'+') => HunkLine::Added(rest),
        Some(b'-') => HunkLine::Removed(rest),
        // An empty line of the file, whose leading blank was lost.
        _ => HunkLine::Kept(rest),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_file_by_file() {
        let text = "\n*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n*** Update File: src/x.rs\n*** Move to: y.rs\n@@ fn a()\n@@ let b\n kept\n-old\n+new\n\n@@\n+end\n*** End of File\n*** Delete File: gone\n*** End Patch\n\n";
        let kept = |text: &str| HunkLine::Kept(text.to_owned());
        let wanted = read(text).unwrap();
        assert_eq!(
            wanted,
            [
                Wanted::Add {
                    path: "a b.txt".to_owned(),
                    text: "one\n\n".to_owned(),
                },
                Wanted::Update {
                    hunks: vec![
                        Hunk {
                            anchors: vec!["fn a()".to_owned(), "let b".to_owned()],
                            at_end: false,
                            lines: vec![
                                kept("kept"),
                                HunkLine::Removed("old".to_owned()),
                                HunkLine::Added("new".to_owned()),
                                kept(""),
                            ],
                        },
                        Hunk {
                            anchors: Vec::new(),
                            at_end: true,
                            lines: vec![HunkLine::Added("end".to_owned())],
                        },
                    ],
                    moved_to: Some("y.rs".to_owned()),
                    path: "src/x.rs".to_owned(),
                },
                Wanted::Delete {
                    path: "gone".to_owned(),
                },
            ]
        );
    }

    #[test]
    fn a_patch_is_refused_with_its_line() {
        let check = |text: &str, line: usize, expect: &str| {
            let fault = read(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}: {}", fault.rule);
            assert!(fault.rule.contains(expect), "{text}: {}", fault.rule);
        };
        check("", 1, "begins with");
        check("--- a/x\n+++ b/x\n", 1, "begins with");
        check("*** Begin Patch\n*** Delete File: x\n", 2, "ends with");
        check("*** Begin Patch\n*** End Patch\n", 2, "no file");
        check("*** Begin Patch\nx\n*** End Patch", 2, "expected `*** Add");
        check(
            "*** Begin Patch\n*** Add File: x\nno plus\n*** End Patch",
            3,
            "expected `*** Add",
        );
        check(
            "*** Begin Patch\n*** Update File: x\n*** End Patch",
            2,
            "an update has lines",
        );
        check(
            "*** Begin Patch\n*** Update File: x\n@@ f\n*** End Patch",
            3,
            "followed by lines",
        );
        check(
            "*** Begin Patch\n*** Delete File: x\n*** End Patch\nmore",
            4,
            "nothing follows",
        );
    }
}
