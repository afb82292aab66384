//! Reads the files of agents that a run delegates to, as a command reads its contract file.

use std::fmt;
use std::sync::Arc;

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::contract::task_of;
use monolith_host::driver::{AgentReader, ParentFile, ReadAgent};
use monolith_host::store::Invocation;

type OnNote = dyn Fn(&str, &str) + Send + Sync;

/// Reads files of agents for runs.
pub struct AgentFilesReader {
    /// Called with the name of a file and a note about what of it was cut or left out.
    note: Box<OnNote>,
    service: Service,
}

impl fmt::Debug for AgentFilesReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentFilesReader").finish_non_exhaustive()
    }
}

impl AgentFilesReader {
    /// A reader that calls `note` with the name of a file and what of it was cut or left out.
    pub fn new(service: Service, note: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self {
            note: Box::new(note),
            service,
        }
    }

    /// The agent of the file. The arguments of a call choose its abilities; those of a run that was begun are known.
    fn agent_of(
        &self,
        mut file: ContractFile,
        arguments: Option<&str>,
    ) -> Result<ReadAgent, String> {
        let read = |file: &mut ContractFile| -> Result<_, ServiceError> {
            let mut spec = file.read(&self.service)?;
            if let Some(arguments) = arguments {
                spec.task = Some(task_of(arguments, spec.input.as_ref()));
                spec = file.with_abilities(&self.service, spec)?;
                let name = file.name().display().to_string();
                for note in &spec.clamped {
                    (self.note)(&name, note);
                }
            }
            let below = file.digests_below(&self.service, &spec)?;
            Ok((spec, below))
        };
        let (spec, below) = read(&mut file).map_err(|fault| fault.summary())?;
        let own = spec.own.as_ref();
        let digest = own.ok_or_else(|| "it has no text".to_owned())?.digest;
        Ok(ReadAgent {
            below,
            digest,
            folder: file.folder().to_owned(),
            invocation: Some(file.invocation(spec.files.clone())),
            spec,
        })
    }
}

impl AgentReader for AgentFilesReader {
    fn read(&self, file: &str, parent: &ParentFile, arguments: &str) -> Result<ReadAgent, String> {
        let file = ContractFile::delegate_of(&self.service, parent, file);
        self.agent_of(file, Some(arguments))
    }

    fn read_again(&self, begun: &Invocation) -> Result<ReadAgent, String> {
        let file = ContractFile::of_delegated_run(&self.service, begun.clone());
        let file = file.ok_or_else(|| "no file is recorded with it".to_owned())?;
        self.agent_of(file, None)
    }
}

impl Service {
    /// Gives runs the models, keys and state folder of these settings, and the files of agents. `note` is called with the name of an agent's
    /// file and what of it was cut or left out.
    #[must_use]
    pub fn ready(mut self, note: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        // Without a state folder nothing is stored, and a function that needs a model reports that.
        if let Ok(folder) = self.models_folder() {
            self.environment = self.environment.clone().with_models(folder);
        }
        if let (Ok(keys), Ok(state), Ok(withheld)) =
            (self.keys(), self.state_folder(), self.withheld())
        {
            self.environment = self.environment.clone().with_state(keys, state, withheld);
        }
        let agents = Arc::new(AgentFilesReader::new(self.during_a_run(), note));
        self.environment = self.environment.clone().with_agents(agents);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use monolith_core::contract::ContractSpec;
    use monolith_host::driver::Environment;

    /// A reader for a service in a folder, in which `lead/lead.yaml` has agents.
    fn reader(folder: &Path) -> AgentFilesReader {
        let service = Service {
            unsigned: true,
            ..Service::new(folder.to_owned(), Environment::new(|_| None))
        };
        AgentFilesReader::new(service, |_, _| {})
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
                files: None,
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
            .read("team/scout.ai", &parent(folder, &sets), "{}")
            .unwrap();
        assert_eq!(read.folder, folder.join("lead/team"));
        assert_eq!(
            read.digest,
            monolith_core::message::Digest::of(text.as_bytes())
        );
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

    /// 003/INV-AGT-ABL-001, 003/INV-AGT-ABL-002: the task of a call chooses abilities as that of a run does, behind the core ones; a resume
    /// has the same.
    #[test]
    fn the_abilities_of_a_called_profile_are_chosen_by_the_task_of_the_call() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let profile = "{id: scout, version: '1', coreAbilities: [style], abilities: [sql, http], system: You scout.}";
        write(folder, "lead/scout.agent.yaml", profile);
        for (name, text) in [
            ("style", "Be brief."),
            ("sql", "---\nkeywords: [database]\n---\nBind values."),
            ("http", "Ask once."),
        ] {
            write(folder, &format!("lead/abilities/{name}.md"), text);
        }
        let reader = reader(folder);
        let check = |arguments: &str, expect: &[&str]| {
            let read = reader.read("scout.agent.yaml", &parent(folder, &[]), arguments);
            let read = read.unwrap();
            let names = |spec: &ContractSpec| {
                let given = spec.agent.as_ref().unwrap().abilities.iter();
                let names = given.map(|ability| ability.name.to_string());
                names.collect::<Vec<_>>()
            };
            assert_eq!(names(&read.spec), expect, "{arguments}");
            let system = read.spec.system.as_deref().unwrap();
            assert!(
                system.starts_with("# Ability: style\n\nBe brief."),
                "{system}"
            );
            assert!(system.ends_with("\n\nYou scout."), "{system}");
            let again = reader.read_again(read.invocation.as_ref().unwrap());
            let again = again.unwrap();
            assert_eq!(again.spec.system, read.spec.system);
            assert_eq!(names(&again.spec), expect, "again: {arguments}");
        };
        check(
            r#"{"prompt": "Look into the database."}"#,
            &["style", "sql"],
        );
        check(
            r#"{"prompt": "HTTP, then the database"}"#,
            &["style", "http", "sql"],
        );
        check(r#"{"prompt": "Rest."}"#, &["style"]);
    }

    #[test]
    fn why_an_agent_cannot_be_read_is_said_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write(folder, "lead/bad.ai", "---\nmaxTurns: many\n---\nx");
        let reader = reader(folder);
        let check = |file: &str, part: &str| {
            let why = reader.read(file, &parent(folder, &[]), "{}").unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        check("gone.ai", "gone.ai: No such file");
        check("bad.ai", "bad.ai:2:11: maxTurns: expected a whole number");
    }
}
