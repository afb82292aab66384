//! The secrets that this process knows, for everything it says to people: errors, diagnostics, the line of a panic.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::{Captures, Regex};

use crate::contract::{ContractSpec, RedactionTerms, recorded_url};
use crate::driver::{Environment, Secrets};
use crate::message::Scrubber;
use crate::session::{KnownSecrets, Redactor};

/// What goes over what is said.
static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

/// What the files that were read so far keep secret; before the first, the shapes of well-known credentials.
struct Known {
    /// The values and the terms of each redactor.
    learned: HashSet<(Vec<String>, RedactionTerms)>,
    redactors: Vec<Redactor>,
}

impl Default for Known {
    fn default() -> Self {
        let shapes = KnownSecrets::of([], &RedactionTerms::default());
        Self {
            learned: HashSet::from([(Vec::new(), RedactionTerms::default())]),
            redactors: vec![Redactor::fixed(Arc::new(shapes))],
        }
    }
}

/// From now on nothing is said that holds a secret of this file.
pub(in crate::cli) fn learn(spec: &ContractSpec, environment: &Environment) {
    let secrets = Secrets::of(spec, environment);
    let values: Vec<String> = secrets.matched().map(str::to_owned).collect();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.learned.insert((values, spec.redact.clone())) {
        let secrets = secrets.known(environment, &spec.redact);
        known.redactors.push(Redactor::fixed(secrets));
    }
}

/// The text as it may be shown: without known secrets, and without the values of any address's query, known or not.
pub(in crate::cli) fn without_secrets(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let text = known.redactors.iter().fold(text.to_owned(), |text, one| {
        <dyn Scrubber>::owned_text(one, text)
    });
    without_query_values(&text).into_owned()
}

/// What may be an address in a text, however it is written: behind a scheme, behind two slashes, or a word with a query.
static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const REST: &str = r#"[^\s"'<>`]+"#;
    let scheme = r"(?:\b[a-z][a-z0-9+.-]*:)?";
    let pattern =
        format!(r"(?i){scheme}[/\\]{{2}}{REST}|\bhttps?:{REST}|\b[\w.:/-]+\?[\w.-]+={REST}");
    Regex::new(&pattern).ok()
});

/// Of each address in a text that has a query or a user, what a contract would record of it.
fn without_query_values(text: &str) -> Cow<'_, str> {
    let Some(address) = ADDRESS.as_ref() else {
        return Cow::Borrowed(text);
    };
    address.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).map_or("", |found| found.as_str());
        if whole.contains(['?', '@']) {
            recorded_url(whole)
        } else {
            whole.to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_query_are_hidden_in_every_address() {
        let check = |text: &str, expect: &str| assert_eq!(without_secrets(text), expect);
        check(
            "connect to http://h:1/v1?token=abc&v=2: refused",
            "connect to http://h:1/v1?token=[SECRET]&v=[SECRET] refused",
        );
        check("\"HTTPS://u:p@h/x?k=a\"", "\"HTTPS://h/x?k=[SECRET]\"");
        check("at //u:p@h/x: no", "at //h/x: no");
        check(
            "\"HTTP:/\\\\u:p@h:x/?k=a\"",
            "\"HTTP:/\\\\h:x/?k=[SECRET]\"",
        );
        check("h:80/x?token=abc", "h:80/x?token=[SECRET]");
        check("ftp://u:p@h/?k=a", "ftp://h/?k=[SECRET]");
        check("is it? a=b, or /a/b@c", "is it? a=b, or /a/b@c");
        check(
            "see https://h/x#part, or ask?",
            "see https://h/x#part, or ask?",
        );
    }
}
