//! The secrets that this process knows, for everything it says to people: errors, diagnostics, the line of a panic.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::{Captures, Regex};

use monolith_core::contract::{ContractSpec, RedactionTerms, recorded_url};
use monolith_core::message::Scrubber;
use monolith_core::session::{KnownSecrets, Redactor};
use monolith_host::driver::{Environment, Secrets};

/// The redaction of all output.
static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

/// The secrets of the files that were read so far; before the first, the shapes of well-known credentials.
struct Known(Vec<Learned>);

/// The secrets of files that name the same values under the same terms.
struct Learned {
    key: Key,
    redactor: Redactor,
    /// The number of such files.
    users: usize,
}

/// The values and the terms of a redactor.
type Key = (Vec<String>, RedactionTerms);

tokio::task_local! {
    /// The secrets learned within [`scoped`].
    static SCOPE: RefCell<Scope>;
}

/// The secrets that are known until this is dropped.
#[derive(Default)]
struct Scope(Vec<Key>);

impl Default for Known {
    fn default() -> Self {
        let mut known = Self(Vec::new());
        let terms = RedactionTerms::default();
        let shapes = || Arc::new(KnownSecrets::of([], &terms));
        known.add((Vec::new(), terms.clone()), shapes);
        known
    }
}

impl Known {
    fn add(&mut self, key: Key, secrets: impl FnOnce() -> Arc<KnownSecrets>) {
        if let Some(learned) = self.0.iter_mut().find(|learned| learned.key == key) {
            learned.users = learned.users.saturating_add(1);
            return;
        }
        self.0.push(Learned {
            key,
            redactor: Redactor::fixed(secrets()),
            users: 1,
        });
    }

    fn remove(&mut self, key: &Key) {
        let Some(at) = self.0.iter().position(|learned| learned.key == *key) else {
            return;
        };
        if let Some(learned) = self.0.get_mut(at) {
            learned.users = learned.users.saturating_sub(1);
            if learned.users == 0 {
                self.0.remove(at);
            }
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        for key in &self.0 {
            known.remove(key);
        }
    }
}

/// From now on nothing is said that holds a secret of this file: within [`scoped`] until that ends, else for good.
pub fn learn(spec: &ContractSpec, environment: &Environment) {
    let secrets = Secrets::of(spec, environment);
    let key: Key = (
        secrets.matched().map(str::to_owned).collect(),
        spec.redact.clone(),
    );
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.add(key.clone(), || secrets.known(environment, &spec.redact));
    drop(known);
    // Outside of a scope there is none.
    let _ = SCOPE.try_with(|scope| scope.borrow_mut().0.push(key));
}

/// Does what a run among many does: what its files keep secret is forgotten with it, so that what is known does not grow with the list.
pub async fn scoped<T>(body: impl Future<Output = T>) -> T {
    SCOPE.scope(RefCell::default(), body).await
}

/// The text as it may be shown: without known secrets, and without the values of any address's query, known or not.
pub fn without_secrets(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let text = known.0.iter().fold(text.to_owned(), |text, one| {
        <dyn Scrubber>::owned_text(&one.redactor, text)
    });
    without_query_values(&text).into_owned()
}

/// True if a text holds a known secret or the shape of a credential.
pub(crate) fn holds_secret(text: &str) -> bool {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let masked = |one: &Learned| <dyn Scrubber>::owned_text(&one.redactor, text.to_owned());
    known.0.iter().any(|one| masked(one) != text)
}

/// Matches of a possible address in a text, in any form: behind a scheme, behind two slashes, or a word with a query.
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

    fn known() -> usize {
        KNOWN.read().unwrap().0.len()
    }

    #[tokio::test]
    async fn what_the_file_of_a_run_among_many_keeps_secret_is_forgotten_with_the_run() {
        let environment = Environment::new(|name| Some(format!("value-of-{name}")));
        let spec = |name: &str| {
            let text = format!(
                "task: t\ntargets: [{{provider: p, model: m}}]\n\
                 providers: {{p: {{type: openai, api_key_env: {name}}}}}\n"
            );
            ContractSpec::parse("c.yaml", &text, &[]).unwrap()
        };
        without_secrets("");
        let before = known();
        for _ in 0..3 {
            scoped(async {
                learn(&spec("FIRST_KEY"), &environment);
                learn(&spec("SECOND_KEY"), &environment);
                scoped(async { learn(&spec("FIRST_KEY"), &environment) }).await;
                assert_eq!(known(), before + 2);
                assert_eq!(without_secrets("value-of-FIRST_KEY"), "[SECRET]");
            })
            .await;
            assert_eq!(known(), before);
        }
    }

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
