//! What a file may name without defining it, and who is asked for it. Does not know where definitions come from.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::agent_spec::AgentDefinition;
use super::origin::ValueOrigin;

/// A kind of thing that a file may name without defining it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// A provider of models.
    Provider,
    /// The operations of a web service.
    Openapi,
    /// A tool that is a request to a web service.
    RestTool,
    /// A tool server.
    Server,
    /// What a model costs, by `provider/model`.
    Price,
    /// A queue of calls.
    Queue,
}

/// A definition from outside the file, in the file's own form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// The files that have a part of it.
    pub files: Vec<String>,
    /// The definition: keys of the file's form.
    pub members: Map<String, Value>,
    /// Where each value is from, by its dotted path in the definition.
    pub origins: BTreeMap<String, ValueOrigin>,
}

/// A source of definitions. Pure: everything in it was read before.
pub trait Definitions {
    /// The definition of that name, if there is one.
    ///
    /// # Errors
    /// Why the definition that there is cannot be used: where, and which rule.
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String>;

    /// Defaults for what the file leaves out: keys of the file's own form. `uses_layers` is whether the file took a definition from
    /// here; none if nothing is to be filled in.
    ///
    /// # Errors
    /// Why what there is cannot be used: where, and which rule.
    fn defaults(&self, uses_layers: bool) -> Result<Option<Definition>, String>;

    /// The form of an agent's report where the agent asks for none.
    ///
    /// # Errors
    /// Why what there is cannot be used: where, and which rule.
    fn report_format(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// What binds a tool to a queue that is nowhere, of all that the file does not name itself: a rule each. `queues` are those of the file,
    /// `is_named` what it names.
    fn unbound_queues(
        &self,
        _queues: &[&str],
        _is_named: &dyn Fn(DefinitionKind, &str) -> bool,
    ) -> Vec<String> {
        Vec::new()
    }

    /// What is hardly meant as it is written there, in words.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether models come from elsewhere where the file names none: an agent that is called has those of the caller.
    fn models_elsewhere(&self) -> bool {
        false
    }

    /// What the agent of that file says of itself, as the file under `agents` names it; `None` if files of agents are not read.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place in that file.
    fn agent(&self, _file: &str) -> Result<Option<AgentDefinition>, Vec<String>> {
        Ok(None)
    }
}

/// No definitions: the file must define everything itself.
pub(super) struct NoDefinitions;

impl Definitions for NoDefinitions {
    fn find(&self, _: DefinitionKind, _: &str) -> Result<Option<Definition>, String> {
        Ok(None)
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        Ok(None)
    }
}
