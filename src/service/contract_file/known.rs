//! The names that a contract file may use without defining them: from the layers of configuration, files of agents, and the
//! built-in providers. Reads none.

use crate::found::built_in::built_in;
use monolith_core::contract::{AgentDefinition, Definition, DefinitionKind, Definitions};
use monolith_host::config::Layers;
use monolith_host::driver::Environment;

/// The purpose of reading a contract file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A command runs it, or looks at it.
    Command,
    /// An agent delegates to it: it may leave the models to that one.
    Delegate,
    /// Like the last one, to read its definition only: the files of its agents stay closed.
    Definition,
}

/// Reads the definition in an agent's file.
type ReadDefinition<'k> = dyn Fn(&str) -> Result<Option<AgentDefinition>, Vec<String>> + 'k;

/// The names that a contract file may use without defining them.
pub(super) struct Known<'k> {
    pub(super) agents: &'k ReadDefinition<'k>,
    /// The environment for built-in providers; `None` if a file must define its providers.
    pub(super) built_in: Option<&'k Environment>,
    pub(super) layers: &'k Layers,
    pub(super) reading: Reading,
}

impl Definitions for Known<'_> {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let found = self.layers.find(wanted, name)?;
        let built_in = |environment| built_in(wanted, name, environment);
        Ok(found.or_else(|| self.built_in.and_then(built_in)))
    }

    fn defaults(&self, uses_layers: bool) -> Result<Option<Definition>, String> {
        self.layers.defaults(uses_layers)
    }

    fn unbound_queues(
        &self,
        queues: &[&str],
        is_named: &dyn Fn(DefinitionKind, &str) -> bool,
    ) -> Vec<String> {
        match self.reading {
            Reading::Command => self.layers.unbound_queues(queues, is_named),
            // They are judged once, with the queues of the file that the command reads: those count for every agent below it.
            Reading::Delegate | Reading::Definition => Vec::new(),
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.reading {
            Reading::Command => self.layers.notes(),
            Reading::Delegate | Reading::Definition => Vec::new(),
        }
    }

    fn report_format(&self) -> Result<Option<String>, String> {
        match self.reading {
            Reading::Command => self.layers.report_format(),
            // What a terminal is to show is nothing to an agent.
            Reading::Delegate | Reading::Definition => Ok(None),
        }
    }

    fn models_elsewhere(&self) -> bool {
        self.reading != Reading::Command
    }

    fn agent(&self, file: &str) -> Result<Option<AgentDefinition>, Vec<String>> {
        (self.agents)(file)
    }
}
