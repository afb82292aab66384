//! The options that say what is reported of a run beside its result.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use monolith_host::driver::LLM_TRACE;
use monolith_host::tools::MCP_TRACE;

/// What a command that drives a run tells beside its result.
#[derive(Clone, Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct AccountingArgs {
    /// Add a line for each request and each call to this file, instead of accounting.jsonl in the state folder
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = written())]
    pub(crate) billing_file: Option<PathBuf>,
    /// Write every step to stderr, also in a pipe
    ///
    /// Each request, call and transition, the exit tag and a summary.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Write only the answer, or the error
    #[arg(long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Write each request to a model and its response to stderr, without secrets
    #[arg(long, hide_short_help = true, conflicts_with = "quiet")]
    pub(crate) trace_llm: bool,
    /// The same of what is asked of tool servers and web services
    #[arg(long, hide_short_help = true, conflicts_with = "quiet")]
    pub(crate) trace_mcp: bool,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
}

impl AccountingArgs {
    /// The targets of the payloads that are to be written.
    pub(crate) fn traces(&self) -> Vec<&'static str> {
        let asked = [(self.trace_llm, LLM_TRACE), (self.trace_mcp, MCP_TRACE)];
        let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
        asked.map(|(_, target)| target).collect()
    }
}

/// What is kept of a run beside its record, once it has ended.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeptArgs {
    /// Write the conversation of a run that succeeded to this file, as a JSON array
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = written())]
    pub(crate) save: Option<PathBuf>,
    /// The same into a folder below this one that has the name of the first run of its line
    #[arg(long, hide_short_help = true, value_name = "DIR", value_parser = written())]
    pub(crate) save_all: Option<PathBuf>,
    /// Write a snapshot of the session into this folder, as RUN.json.gz of the first run of its line
    #[arg(long, hide_short_help = true, value_name = "DIR", value_parser = written())]
    pub(crate) sessions_dir: Option<PathBuf>,
    /// Print the tree of turns, requests and calls at the end, on stderr
    #[arg(long, hide_short_help = true)]
    pub(crate) show_tree: bool,
}

/// Reads the path of what is to be written.
fn written() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|path: OsString| {
        if path == "-" {
            return Err("it is no file; --json prints the result, with the conversation");
        }
        Ok(PathBuf::from(path))
    })
}
