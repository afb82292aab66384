//! The providers that need no definition where a text is run and no file: those that `init` knows, under the names that it gives them. Asks none.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::found::choice::{EMBEDDED, HOSTED};
use crate::found::server_kind::ServerKind;
use crate::found::servers::Places;
use monolith_core::contract::{Definition, DefinitionKind, ProviderType, ValueOrigin};
use monolith_host::driver::Environment;

/// The window that a model is given where its own is not known: small enough for every model of today.
pub const CAUTIOUS_WINDOW: u64 = 8192;

/// The definition of that name, where it is one that needs none.
pub(crate) fn built_in(
    wanted: DefinitionKind,
    name: &str,
    environment: &Environment,
) -> Option<Definition> {
    if wanted != DefinitionKind::Provider {
        return None;
    }
    let hosted = HOSTED.iter().find(|(_, word, _)| *word == name);
    let mut server = ServerKind::ALL.iter().filter(|kind| kind.word() == name);
    let (provider, address) = match (hosted, server.next()) {
        (Some((provider, ..)), _) => (*provider, None),
        (None, Some(kind)) => {
            let address = Places::default().of(*kind, environment)?;
            (kind.provider(), Some(kind.base_url(&address)))
        }
        (None, None) if name == EMBEDDED => (ProviderType::Local, None),
        (None, None) => return None,
    };
    let key = provider.usual_key_env().filter(|_| hosted.is_some());
    // A server near by gives its models the window that it was started with, which is known to it alone.
    let window = address.is_some().then_some(CAUTIOUS_WINDOW);
    let terms = [
        ("type", Some(Value::from(provider.as_str()))),
        ("base_url", address.map(Value::from)),
        ("api_key_env", key.map(Value::from)),
        ("context_window", window.map(Value::from)),
    ];
    let mut members = Map::new();
    let mut origins = BTreeMap::new();
    for (key, value) in terms {
        if let Some(value) = value {
            members.insert(key.to_owned(), value);
            origins.insert(key.to_owned(), ValueOrigin::BuiltIn);
        }
    }
    Some(Definition {
        files: Vec::new(),
        members,
        origins,
    })
}

/// The names of all of them.
pub(crate) fn built_in_names() -> impl Iterator<Item = &'static str> {
    let hosted = HOSTED.iter().map(|(_, word, _)| *word);
    let servers = ServerKind::ALL.iter().map(|kind| kind.word());
    hosted.chain(servers).chain([EMBEDDED])
}
