//! The arguments of `monolith export`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "jsonl is the transcript, which anyone can verify; html a page that shows and verifies it; \
atif a trajectory for other programs; cast a recording for asciinema players. Text is \
held back that a model writes before the call that its contract requires."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct ExportArgs {
    /// A run's name or its beginning, `last`, or a file
    ///
    /// A file is an exported transcript; of one, no jsonl is made.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// jsonl, html, atif or cast
    ///
    /// jsonl: the transcript itself, one JSON document a line. html: one page that shows the run and verifies it in the
    /// browser, without network. atif: a trajectory of the Agent Trajectory Interchange Format 1.8. cast: the narrated run with
    /// its timings, for players of terminal sessions.
    ///
    /// Where it is not given the ending of FILE says it, else it is jsonl.
    #[arg(long, hide_possible_values = true, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// The file, with --tree the folder; stdout by default
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file that is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Also every run below it, each a file in a folder
    ///
    /// Those of agents and of steps. -o names the folder, and each file has the name of its run; pages have links to each other. `monolith import` takes the files of
    /// a tree in any order.
    #[arg(long, requires = "output")]
    pub(crate) tree: bool,
    /// Include the text that was held back
    ///
    /// What a model wrote while the token gate let it write nothing but calls. Only in jsonl and html.
    #[arg(long)]
    pub(crate) withheld: bool,
    /// Also of a transcript that does not verify
    ///
    /// jsonl is written as it stands in any case.
    #[arg(long)]
    pub(crate) force_unverified: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON document per line: the transcript itself
    Jsonl,
    /// One page that shows the run and verifies it in the browser, without network
    Html,
    /// A trajectory of the Agent Trajectory Interchange Format 1.8
    Atif,
    /// The narrated run with its timings, for players of terminal sessions
    Cast,
}

impl ExportFormat {
    /// The form that an ending of a file stands for, where it stands for one.
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

    /// What the name of such a file ends with.
    pub(super) const fn ending(self) -> &'static str {
        match self {
            Self::Atif => "json",
            form => form.name(),
        }
    }

    /// Whether it is made of a workflow, too.
    pub(super) const fn is_of_workflows(self) -> bool {
        matches!(self, Self::Jsonl | Self::Html)
    }

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Html => "html",
            Self::Atif => "atif",
            Self::Cast => "cast",
        }
    }
}

impl ExportArgs {
    /// The form that is asked for: by its name, by the ending of the file, else the transcript itself.
    ///
    /// # Errors
    ///
    /// The two contradict each other, the ending stands for no form and none is named, or the form never holds the text that is asked for.
    pub(crate) fn form(&self) -> Result<ExportFormat, ServiceError> {
        // The files of a tree are named after their runs.
        let output = self.output.as_deref().filter(|_| !self.tree);
        let of_ending = output.and_then(ExportFormat::of_ending);
        if let (Some(asked), Some(of_ending), Some(path)) = (self.format, of_ending, &self.output)
            && asked != of_ending
        {
            return Err(SystemFault::FormatAndEnding {
                ending: of_ending.name(),
                format: asked.name(),
                path: path.clone(),
            }
            .into());
        }
        let ending = output.and_then(Path::extension);
        if let (None, None, Some(ending), Some(path)) =
            (self.format, of_ending, ending, &self.output)
        {
            return Err(SystemFault::UnknownEnding {
                ending: ending.to_string_lossy().into_owned(),
                path: path.clone(),
            }
            .into());
        }
        let form = self.format.or(of_ending).unwrap_or(ExportFormat::Jsonl);
        if self.withheld && matches!(form, ExportFormat::Atif | ExportFormat::Cast) {
            return Err(SystemFault::NeverHoldsWithheld {
                format: form.name(),
            }
            .into());
        }
        Ok(form)
    }
}
