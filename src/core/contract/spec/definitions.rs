//! Names that a file may use without defining them, and the source that resolves them. Does not know where definitions come
//! from.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::contract_spec::AgentDefinition;
use super::form::{Form, FromLayer};
use super::keys::{MODEL, OPENAPI, PRICE, PROVIDER, QUEUE, REST_TOOL, SAMPLING, SERVER, STREAMING};
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
    /// Price of a model, by `provider/model`.
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
    /// Origin of each value, by its dotted path in the definition.
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
    /// The place and the rule that make the defaults unusable.
    fn defaults(&self, uses_layers: bool) -> Result<Option<Definition>, String>;

    /// The form of an agent's report where the agent asks for none.
    ///
    /// # Errors
    /// The place and the rule that make the format unusable.
    fn report_format(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Returns a rule for each tool bound to an undefined queue, except for tools that the file itself names. `queues` are the
    /// file's; `is_named` tests the names in the file.
    fn unbound_queues(
        &self,
        _queues: &[&str],
        _is_named: &dyn Fn(DefinitionKind, &str) -> bool,
    ) -> Vec<String> {
        Vec::new()
    }

    /// Describes settings that are hardly meant as written.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if a file without models takes them from elsewhere: a called agent uses those of its caller.
    fn models_elsewhere(&self) -> bool {
        false
    }

    /// Returns the definition of the agent in that file, named as under `agents`; `None` if agent files are not read.
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

/// A key that layers of configuration have.
#[derive(Clone, Copy, Debug)]
pub struct LayerKey {
    /// Its name in a contract file.
    pub name: &'static str,
    /// The way in which its value is taken.
    pub taken: FromLayer,
}

/// A mapping of a layer.
#[derive(Clone, Copy, Debug)]
pub enum LayerMapping {
    /// A definition.
    Definition(DefinitionKind),
    /// One of the models of a provider.
    Model,
    /// The stream of a tool that is a request to a web service.
    Streaming,
}

impl LayerMapping {
    /// The key that a layer writes so; `None` if layers have no such key there.
    #[must_use]
    pub fn key(self, written: &str) -> Option<LayerKey> {
        let form: &dyn Form = match self {
            Self::Definition(DefinitionKind::Provider) => &PROVIDER,
            Self::Definition(DefinitionKind::Openapi) => &OPENAPI,
            Self::Definition(DefinitionKind::RestTool) => &REST_TOOL,
            Self::Definition(DefinitionKind::Server) => &SERVER,
            Self::Definition(DefinitionKind::Price) => &PRICE,
            Self::Definition(DefinitionKind::Queue) => &QUEUE,
            Self::Model => &MODEL,
            Self::Streaming => &STREAMING,
        };
        let rows = form.rows();
        let mut rows = rows.iter();
        let row = rows.find(|row| row.name == written || row.layer_name == Some(written))?;
        Some(LayerKey {
            name: row.name,
            taken: row.layers?,
        })
    }
}

/// The name in a contract file of any key of a definition that may be written in two ways; the same name for every other key.
#[must_use]
pub fn layer_term(written: &str) -> &str {
    let forms: [&dyn Form; 5] = [&PROVIDER, &SERVER, &REST_TOOL, &OPENAPI, &STREAMING];
    let mut rows = forms.into_iter().flat_map(Form::rows);
    let found = rows.find(|row| row.layer_name == Some(written));
    found.map_or_else(|| parameter_term(written), |row| row.name)
}

/// The same for a parameter of requests.
#[must_use]
pub fn parameter_term(written: &str) -> &str {
    let mut rows = SAMPLING.rows().into_iter().chain(MODEL.rows());
    let found = rows.find(|row| row.front.contains(&written) || row.layer_name == Some(written));
    found.map_or(written, |row| row.name)
}
