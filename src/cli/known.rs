//! The secrets that this process knows, for everything it says to people: errors, diagnostics, the line of a panic.

use std::sync::{LazyLock, PoisonError, RwLock};

use crate::contract::{ContractSpec, RedactionTerms};
use crate::driver::{Environment, Secrets};
use crate::message::Scrubber;
use crate::session::Redactor;

/// What goes over what is said; before a contract file has been read that is the shapes of well-known credentials.
static KNOWN: LazyLock<RwLock<Redactor>> = LazyLock::new(|| {
    let terms = RedactionTerms::default();
    RwLock::new(Redactor::fixed([], &terms))
});

/// From now on nothing is said that holds a secret of this file.
pub(super) fn learn(spec: &ContractSpec, environment: &Environment) {
    let redactor = Redactor::fixed(Secrets::of(spec, environment).matched(), &spec.redact);
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = redactor;
}

/// The text as it may be said.
pub(super) fn without_secrets(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.text(text).into_owned()
}
