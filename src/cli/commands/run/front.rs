//! The command line's changes to an agent: a `.ai` file, or a system prompt (001 §8, §11). `run` and `continue` share them.

use clap::Args;

use crate::commands::values::list_item;
use monolith_core::contract::AGENT_SET;
use monolith_service::as_typed::remember;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::input::InputFault;

/// The changes to an agent.
#[derive(Debug, Args)]
pub(crate) struct FrontArgs {
    /// Models to try in order, for an agent or a system prompt
    #[arg(
        long,
        value_name = "PROVIDER/MODEL,…",
        value_delimiter = ',',
        value_parser = list_item,
        hide_short_help = true
    )]
    models: Vec<String>,
    /// Tool servers or tools (SERVER__TOOL), for an agent or a system prompt
    #[arg(
        long,
        value_name = "SERVER,…",
        value_delimiter = ',',
        value_parser = list_item,
        hide_short_help = true
    )]
    tools: Vec<String>,
    /// Change front matter, such as temperature=0.2, of an agent or prompt
    #[arg(long = "override", value_name = "KEY=VALUE", hide_short_help = true)]
    overrides: Vec<String>,
    /// Format of the final report, such as json
    #[arg(long, value_name = "FORMAT", hide_short_help = true)]
    format: Option<String>,
}

impl FrontArgs {
    /// The same as overrides of the file.
    pub(crate) fn sets(&self) -> Vec<String> {
        let list = |key: &str, words: &[String]| {
            let list = serde_json::to_string(words).unwrap_or_default();
            (!words.is_empty()).then(|| format!("{AGENT_SET}{key}={list}"))
        };
        let overrides = self.overrides.iter();
        let overrides = overrides.map(|set| format!("{AGENT_SET}{set}"));
        let format = self.format.iter();
        let format = format.map(|format| {
            let set = format!("final_report.format={format}");
            remember(&set, format!("--format {format}"));
            set
        });
        let lists = [list("models", &self.models), list("tools", &self.tools)];
        let lists = lists.into_iter().flatten();
        overrides.chain(lists).chain(format).collect()
    }

    /// # Errors
    /// An option that changes front matter, of a file that has none.
    pub(crate) fn are_for(&self, file: &ContractFile) -> Result<(), InputFault> {
        let given = [
            ("--models", !self.models.is_empty()),
            ("--tools", !self.tools.is_empty()),
            ("--override", !self.overrides.is_empty()),
        ];
        let mut given = given.into_iter().filter(|(_, given)| *given);
        match given.next().filter(|_| !file.is_agent()) {
            Some((option, _)) => Err(InputFault::OnlyAgents {
                option,
                path: file.name().to_owned(),
            }),
            None => Ok(()),
        }
    }
}
