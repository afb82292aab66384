//! The options that say what is reported of a run beside its result.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use monolith_host::driver::LLM_TRACE;
use monolith_host::tools::MCP_TRACE;

/// Options for the output of a command that drives a run, besides its result.
#[derive(Clone, Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct AccountingArgs {
    /// Append a line per request and call to this file, instead of accounting.jsonl in the state folder
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = written())]
    pub(crate) billing_file: Option<PathBuf>,
    /// Log every step to stderr, even in a pipe
    ///
    /// Each request, call and transition, the exit tag and a summary.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print only the answer or the error
    #[arg(long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log each model request and its response to stderr, without secrets
    #[arg(long, hide_short_help = true, conflicts_with = "quiet")]
    pub(crate) trace_llm: bool,
    /// Log tool server and web service traffic to stderr, without secrets
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

/// Options for what is kept of an ended run besides its record.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeptArgs {
    /// Save the conversation of a successful run to this file, as a JSON array
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = written())]
    pub(crate) save: Option<PathBuf>,
    /// Save the conversation of each successful run, including agents, as ORIGIN/RUN.json in this folder; ORIGIN is the first
    /// run of its chain
    #[arg(long, hide_short_help = true, value_name = "DIR", value_parser = written())]
    pub(crate) save_all: Option<PathBuf>,
    /// Save a snapshot of the session as UUID.json.gz in this folder
    #[arg(long, hide_short_help = true, value_name = "DIR", value_parser = written())]
    pub(crate) sessions_dir: Option<PathBuf>,
    /// Print the tree of turns, requests and calls on stderr at the end
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
