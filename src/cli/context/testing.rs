//! Test values of several commands.

use monolith_core::contract::ProviderType;
use monolith_service::found::choice::Choice;
use monolith_service::found::servers::Calling;

/// A way to have a contract answered by that model.
pub(crate) fn way(provider: ProviderType, model: &str) -> Choice {
    Choice {
        address: None,
        calling: Calling::Wire,
        key_env: None,
        model: model.to_owned(),
        profile: None,
        provider,
        word: "w",
        what: "a test".to_owned(),
        window: None,
    }
}
