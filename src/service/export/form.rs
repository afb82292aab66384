//! The forms of an export, and the request for one.

use std::path::Path;

use crate::error::ServiceError;
use crate::error::system::SystemFault;
use monolith_core::transcript::TranscriptKind;

/// A form that a transcript can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// The transcript itself, one JSON document a line.
    Jsonl,
    /// A page that shows the run and verifies it in the browser.
    Html,
    /// A trajectory of the Agent Trajectory Interchange Format 1.8.
    Atif,
    /// The narrated run with its timings, as an asciicast.
    Cast,
}

/// A transcript to export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// True to export a transcript that does not verify.
    pub force_unverified: bool,
    /// Form to write.
    pub form: ExportForm,
    /// Name of a run, its beginning, `last`, or a file.
    pub run: String,
    /// True to include the texts that the token gate held back.
    pub withheld: bool,
}

impl ExportForm {
    /// Returns the name of the form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Html => "html",
            Self::Atif => "atif",
            Self::Cast => "cast",
        }
    }

    /// Returns the ending of a file of the form.
    pub(super) const fn ending(self) -> &'static str {
        match self {
            Self::Atif => "json",
            form => form.name(),
        }
    }

    /// True if transcripts of that machine can be written in the form.
    pub(super) const fn is_of(self, kind: TranscriptKind) -> bool {
        match kind {
            TranscriptKind::Run => true,
            TranscriptKind::Workflow | TranscriptKind::Work => {
                matches!(self, Self::Jsonl | Self::Html)
            }
        }
    }

    /// Returns the form that the ending of a file stands for.
    fn of_ending(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "jsonl" => Self::Jsonl,
            "html" | "htm" => Self::Html,
            "json" => Self::Atif,
            "cast" => Self::Cast,
            _ => return None,
        })
    }

    /// Chooses the form by its name, by the ending of the file, else the transcript itself.
    ///
    /// # Errors
    ///
    /// Name and ending contradict each other, the ending stands for no form and none is named, or the form never holds withheld texts.
    pub fn choose(
        named: Option<Self>,
        output: Option<&Path>,
        withheld: bool,
    ) -> Result<Self, ServiceError> {
        let of_ending = output.and_then(Self::of_ending);
        if let (Some(asked), Some(of_ending), Some(path)) = (named, of_ending, output)
            && asked != of_ending
        {
            return Err(SystemFault::FormatAndEnding {
                ending: of_ending.name(),
                format: asked.name(),
                path: path.to_owned(),
            }
            .into());
        }
        if let (None, None, Some(path)) = (named, of_ending, output)
            && let Some(ending) = path.extension()
        {
            return Err(SystemFault::UnknownEnding {
                ending: ending.to_string_lossy().into_owned(),
                path: path.to_owned(),
            }
            .into());
        }
        let form = named.or(of_ending).unwrap_or(Self::Jsonl);
        if withheld && matches!(form, Self::Atif | Self::Cast) {
            return Err(SystemFault::NeverHoldsWithheld {
                format: form.name(),
            }
            .into());
        }
        Ok(form)
    }
}
