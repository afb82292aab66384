//! A system prompt that is typed, piped or in a file, instead of an agent's file (001 §11). It is a prompt and nothing else: it
//! has no front matter, and its includes must be below its folder.

use std::fs;
use std::path::{Path, PathBuf};

use monolith_core::contract::{AgentFiles, BrokenIncludes, IncludedText, with_includes_below};

/// The name in messages for a system prompt that replaces a file.
pub(super) const PROMPT_NAME: &str = "<system prompt>";

/// A system prompt, and from where it is.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub(super) text: String,
    origin: PromptOrigin,
}

/// From where a prompt is, which decides what it may include.
#[derive(Clone, Debug)]
enum PromptOrigin {
    /// The command line: files of the current folder and below.
    Argument,
    /// A file: files of its folder and below.
    File(PathBuf),
    /// Standard input, monolith, or a run that was begun with it: nothing. Its writer need not be the one who runs it.
    Text,
}

impl Prompt {
    /// An argument.
    pub const fn argument(text: String) -> Self {
        let origin = PromptOrigin::Argument;
        Self { text, origin }
    }

    /// Creates a prompt from a file.
    pub const fn of_file(path: PathBuf, text: String) -> Self {
        let origin = PromptOrigin::File(path);
        Self { text, origin }
    }

    /// A text, as it is.
    pub const fn text(text: String) -> Self {
        let origin = PromptOrigin::Text;
        Self { text, origin }
    }

    /// With all that it includes; `name` is what messages call a prompt that is in no file.
    pub(super) fn whole(
        &self,
        cwd: &Path,
        name: &str,
        files: &dyn AgentFiles,
    ) -> Result<IncludedText, BrokenIncludes> {
        match &self.origin {
            PromptOrigin::Argument => {
                let folder = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
                with_includes_below(&folder.join(name), &self.text, files)
            }
            PromptOrigin::File(path) => with_includes_below(path, &self.text, files),
            PromptOrigin::Text => Ok(IncludedText::bare(&self.text)),
        }
    }
}
