//! The secrets that this process knows, for everything it says to people: errors, diagnostics, the line of a panic.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use crate::contract::ContractSpec;
use crate::driver::{Environment, Redactor, Secrets};

/// What goes over what is said; nothing is known before a contract file has been read.
static KNOWN: RwLock<Option<Redactor>> = RwLock::new(None);

/// From now on nothing is said that holds a secret of this file.
pub(super) fn learn(spec: &ContractSpec, environment: &Environment) {
    let redactor = Redactor::fixed(&Secrets::of(spec, environment), &spec.redact);
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(redactor);
}

/// The text as it may be said.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    match known.as_ref() {
        Some(redactor) => Cow::Owned(redactor.text(text).into_owned()),
        None => Cow::Borrowed(text),
    }
}
