//! Reads the files of agents that a run delegates to, as a command reads its contract file.

use super::app::App;
use super::contract_file::ContractFile;
use super::error::CliError;
use crate::contract::ContractSpec;
use crate::driver::{AgentReader, ParentFile, ReadAgent};
use crate::store::Invocation;

/// Reads files of agents where a command stands.
#[derive(Debug)]
pub(in crate::cli) struct AgentFilesReader(App);

impl AgentFilesReader {
    /// A reader for runs of that command.
    pub(in crate::cli) const fn new(app: App) -> Self {
        Self(app)
    }

    fn agent_of(&self, file: &ContractFile) -> Result<ReadAgent, String> {
        let read = || -> Result<ContractSpec, CliError> { file.read(&self.0) };
        let spec = read().map_err(|fault| fault.summary())?;
        let own = spec.own.as_ref();
        let digest = own.ok_or_else(|| "it has no text".to_owned())?.digest;
        Ok(ReadAgent {
            digest,
            folder: file.folder().to_owned(),
            invocation: Some(file.invocation()),
            spec,
        })
    }
}

impl AgentReader for AgentFilesReader {
    fn read(&self, file: &str, parent: &ParentFile) -> Result<ReadAgent, String> {
        self.agent_of(&ContractFile::delegate_of(&self.0, parent, file))
    }

    fn read_again(&self, begun: &Invocation) -> Result<ReadAgent, String> {
        let file = ContractFile::of_delegated_run(&self.0, begun.clone());
        self.agent_of(&file.ok_or_else(|| "no file is recorded with it".to_owned())?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::cli::context::accounting::AccountingArgs;
    use crate::cli::ui::screen::Screen;
    use crate::driver::Environment;

    /// A reader of a command that stands in a folder, in which `lead/lead.yaml` has agents.
    fn reader(folder: &Path) -> AgentFilesReader {
        let environment = Environment::new(|_| None);
        AgentFilesReader::new(App {
            accounting: AccountingArgs::default(),
            config: None,
            cwd: folder.to_owned(),
            screen: Screen::of_process(&environment),
            environment,
            store: None,
            streams: false,
            unsigned: true,
        })
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn parent(folder: &Path, sets: &[&str]) -> ParentFile {
        ParentFile {
            folder: folder.join("lead"),
            invocation: Some(Invocation {
                base_dir: folder.to_owned(),
                config: None,
                contract_file: folder.join("lead/lead.yaml"),
                sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            }),
        }
    }

    #[test]
    fn an_agent_is_read_for_a_run_and_again_for_its_resume() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let text =
            "---\ntoolName: seek\nagents: [own.ai]\nmaxTurns: 3\n---\nIt is ${DAY}, in ${FORMAT}.";
        write(folder, "lead/team/scout.ai", text);
        write(folder, "lead/team/own.ai", "---\n---\nx");
        let sets = [
            "agent.temperature=0.5",
            "agent.description=theirs",
            "prompt.DAY=Someday",
            "prompt.FORMAT=json",
            "max_turns=9",
        ];
        let reader = reader(folder);
        let read = reader
            .read("team/scout.ai", &parent(folder, &sets))
            .unwrap();
        assert_eq!(read.folder, folder.join("lead/team"));
        assert_eq!(read.digest, crate::message::Digest::of(text.as_bytes()));
        let spec = &read.spec;
        let system = "It is Someday, in the form that the agent which asked for it expects.";
        assert_eq!(spec.system.as_deref(), Some(system));
        // What is for every agent is for this one, and nothing else of its caller.
        let written = ["temperature"];
        assert_eq!(spec.sampling.written(), written);
        assert_eq!(spec.max_turns, Some(3));
        assert_eq!(spec.profile.as_ref().unwrap().description, None);
        // It has no model yet, and its own agents are known.
        assert_eq!(spec.targets, []);
        assert_eq!(spec.agents[0].tool().as_deref(), Some("agent__own"));

        let again = reader
            .read_again(read.invocation.as_ref().unwrap())
            .unwrap();
        assert_eq!(again.spec.system, spec.system);
        assert_eq!(again.spec.sampling, spec.sampling);
        assert_eq!((again.digest, &again.folder), (read.digest, &read.folder));
    }

    #[test]
    fn why_an_agent_cannot_be_read_is_said_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write(folder, "lead/bad.ai", "---\nmaxTurns: many\n---\nx");
        let reader = reader(folder);
        let check = |file: &str, part: &str| {
            let why = reader.read(file, &parent(folder, &[])).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        check("gone.ai", "gone.ai: No such file");
        check("bad.ai", "bad.ai:2:11: maxTurns: expected a whole number");
    }
}
