//! The tool `glob`. Does not see outside of the workspace.

use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{ErrorKind, GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree::{MOST_ENTRIES, Selection, Skipped, Tree, Walked, named};
use super::workspace::{Refusal, Workspace};

/// Most paths that one call returns.
const PATHS: usize = 1_000;
/// The longest pattern.
const PATTERN_BYTES: usize = 1_024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    #[serde(default)]
    everything: bool,
    #[serde(default = "here")]
    path: String,
    pattern: String,
}

pub(super) fn here() -> String {
    ".".to_owned()
}

pub(super) fn description() -> String {
    format!(
        "Finds files of the workspace by a pattern, one path a line, sorted. * and ? match within a name, ** over folders, {{a,b}} either, [ab] one of \
         them, or these brackets themselves; a pattern without a slash matches names in every folder. Links, hidden files and what .gitignore names \
         are left out. At most {PATHS} paths; last lines in brackets say when there are more, and what could not be searched."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "pattern": {"type": "string", "description": "The pattern, for example \"src/**/*.rs\" or \"*.md\"."},
        "path": {"type": "string", "description": "The folder to search, relative to the workspace. Default: the workspace."},
        "everything": {"type": "boolean", "description": "Also hidden and ignored files. Default false."},
    })
}

/// A pattern of paths, as the tools take it.
pub(super) struct PathPattern {
    /// True if the pattern was absolute: it is about paths from the workspace, not from the searched folder.
    from_workspace: bool,
    /// The pattern as a glob, and with literal brackets: files have names like `[id].tsx`.
    globs: Vec<GlobMatcher>,
}

impl PathPattern {
    pub(super) fn parse(pattern: &str, workspace: &Workspace) -> Result<Self, Refusal> {
        let refused = |reason: &dyn std::fmt::Display| Refusal {
            code: "INVALID_PATTERN",
            message: format!("{pattern:?} is not a pattern: {reason}"),
        };
        if pattern.len() > PATTERN_BYTES {
            return Err(Refusal {
                code: "INVALID_PATTERN",
                message: format!("a pattern has at most {PATTERN_BYTES} bytes"),
            });
        }
        let from_workspace = Path::new(pattern).is_absolute();
        let inside = workspace.inside(pattern);
        if Path::new(&inside).is_absolute() {
            return Err(refused(&"it is outside the workspace"));
        }
        let plain = if from_workspace || pattern.contains('/') {
            inside.strip_prefix("./").unwrap_or(&inside).to_owned()
        } else {
            format!("**/{inside}")
        };
        let compiled = |pattern: &str| {
            let mut glob = GlobBuilder::new(pattern);
            let glob = glob.literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
        };
        let mut globs = Vec::new();
        match compiled(&plain) {
            Ok(glob) => globs.push(glob),
            // `[user-id]` is no range, and a name.
            Err(fault) if matches!(fault.kind(), ErrorKind::InvalidRange(..)) => {}
            Err(fault) => return Err(refused(fault.kind())),
        }
        if plain.contains('[') {
            let literal = compiled(&with_literal_brackets(&plain));
            globs.push(literal.map_err(|fault| refused(fault.kind()))?);
        }
        Ok(Self {
            from_workspace,
            globs,
        })
    }

    /// True if a file matches that was found at `path` below `start`.
    pub(super) fn matches(&self, start: &Path, path: &Path) -> bool {
        let from_workspace;
        let path = if self.from_workspace {
            let whole = start.join(path);
            let names = whole.components().filter(|part| *part != Component::CurDir);
            from_workspace = names.collect::<PathBuf>();
            &from_workspace
        } else {
            path
        };
        self.globs.iter().any(|glob| glob.is_match(path))
    }
}

/// The pattern with its brackets escaped.
fn with_literal_brackets(pattern: &str) -> String {
    let mut literal = String::with_capacity(pattern.len() + 8);
    let mut is_escaped = false;
    for c in pattern.chars() {
        match c {
            '[' if !is_escaped => literal.push_str("[[]"),
            ']' if !is_escaped => literal.push_str("[]]"),
            c => literal.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    literal
}

pub(super) async fn perform(workspace: &Workspace, request: Glob) -> Result<String, Refusal> {
    let pattern = PathPattern::parse(&request.pattern, workspace)?;
    // A thread cannot be cancelled as this call can: it looks whether the call is still there.
    let call = Arc::new(());
    let awaited = Arc::downgrade(&call);
    let selection = Selection::of(request.everything);
    let found = workspace.look(&request.path, move |beneath, start| {
        let tree = Tree {
            awaited,
            beneath,
            selection,
        };
        let (mut lines, mut total) = (Vec::new(), 0_u64);
        let mut skipped = Skipped::default();
        let walked = tree.walk(start, &mut skipped, &mut |path: &Path| {
            if pattern.matches(start, path) {
                total += 1;
                if lines.len() < PATHS {
                    lines.push(named(&start.join(path)));
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((lines, total, skipped, walked))
    });
    let (mut lines, total, skipped, walked) = found.await?;
    if total > PATHS as u64 {
        lines.push(format!("[the first {PATHS} of {total} paths]"));
    }
    if lines.is_empty() {
        lines.push("[no file matches]".to_owned());
    }
    lines.extend(too_many(walked));
    lines.extend(skipped.lines());
    Ok(lines.join("\n"))
}

/// The line of a search that did not look at everything.
pub(super) fn too_many(walked: Walked) -> Option<String> {
    (walked == Walked::TooMany).then(|| {
        format!("[not searched to the end: more than {MOST_ENTRIES} entries; give a path]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::withheld::Withheld;

    #[test]
    fn a_pattern_with_brackets_is_a_class_and_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = Workspace::open(root.clone(), Withheld::default()).unwrap();
        let check = |pattern: &str, start: &str, path: &str, expect: bool| {
            let pattern = PathPattern::parse(pattern, &workspace).unwrap();
            let matches = pattern.matches(Path::new(start), Path::new(path));
            assert_eq!(matches, expect, "{path}");
        };
        check("[id].tsx", ".", "app/[id].tsx", true);
        check("[id].tsx", ".", "app/i.tsx", true);
        check("[id].tsx", ".", "app/id.tsx", false);
        check("./app/[id].tsx", ".", "app/[id].tsx", true);
        check(
            "app/**/[[...slug]]/*.{ts,tsx}",
            ".",
            "app/a/[[...slug]]/page.tsx",
            true,
        );
        check("[user-id].tsx", ".", "[user-id].tsx", true);
        check("\\[id\\].tsx", ".", "[id].tsx", true);
        check("\\[id\\].tsx", ".", "i.tsx", false);
        // An absolute pattern is about paths of the workspace, wherever the search starts.
        let absolute = |rest: &str| format!("{}/{rest}", root.display());
        check(&absolute("src/*.rs"), "./src", "lib.rs", true);
        check(&absolute("*.rs"), "src", "lib.rs", false);
        check(&absolute("*.rs"), ".", "lib.rs", true);
        for pattern in ["[a", "/etc/*"] {
            let fault = PathPattern::parse(pattern, &workspace).err().unwrap();
            assert_eq!(fault.code, "INVALID_PATTERN");
        }
    }
}
