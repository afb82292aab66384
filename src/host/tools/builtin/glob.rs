//! The tool `glob`. Does not see outside of the workspace.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree::{MOST_ENTRIES, Selection, Tree, Walked, named};
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
         them; a pattern without a slash matches names in every folder. Links, hidden files and what .gitignore names are left out. At most {PATHS} \
         paths; a last line in brackets says when there are more."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "pattern": {"type": "string", "description": "The pattern, for example \"src/**/*.rs\" or \"*.md\"."},
        "path": {"type": "string", "description": "The folder to search, relative to the workspace. Default: the workspace."},
        "everything": {"type": "boolean", "description": "Also hidden and ignored files. Default false."},
    })
}

/// A pattern as the tools take it.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, Refusal> {
    let refused = |reason: &dyn std::fmt::Display| Refusal {
        code: "INVALID_PATTERN",
        message: format!("{pattern:?} is no pattern: {reason}"),
    };
    if pattern.len() > PATTERN_BYTES {
        return Err(Refusal {
            code: "INVALID_PATTERN",
            message: format!("a pattern has at most {PATTERN_BYTES} bytes"),
        });
    }
    let anywhere;
    let pattern = if pattern.contains('/') {
        pattern.strip_prefix("./").unwrap_or(pattern)
    } else {
        anywhere = format!("**/{pattern}");
        &anywhere
    };
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|fault| refused(fault.kind()))?;
    Ok(glob.compile_matcher())
}

pub(super) async fn perform(workspace: &Workspace, request: Glob) -> Result<String, Refusal> {
    let matcher = matcher(&request.pattern)?;
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
        let walked = tree.walk(start, &mut |path: &Path| {
            if matcher.is_match(path) {
                total += 1;
                if lines.len() < PATHS {
                    lines.push(named(&start.join(path)));
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((lines, total, walked))
    });
    let (mut lines, total, walked) = found.await?;
    if total > PATHS as u64 {
        lines.push(format!("[the first {PATHS} of {total} paths]"));
    }
    lines.extend(too_many(walked));
    if lines.is_empty() {
        lines.push("[no file matches]".to_owned());
    }
    Ok(lines.join("\n"))
}

/// The last line of a search that did not look at everything.
pub(super) fn too_many(walked: Walked) -> Option<String> {
    (walked == Walked::TooMany).then(|| {
        format!("[not searched to the end: more than {MOST_ENTRIES} entries; give a path]")
    })
}
