//! The names that keys have in a layer of configuration. Does not know where layers are.

use super::definitions::DefinitionKind;
use super::form::{Form, FromLayer};
use super::keys::{MODEL, OPENAPI, PRICE, PROVIDER, QUEUE, REST_TOOL, SAMPLING, SERVER, STREAMING};

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
