//! The secret values that a contract file names, and their origin. Does not search texts for them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::shared::Shared;
use super::shown_credential::credential_in;
use super::{DriverError, Environment, MCP_ROOT};
use crate::inference::{Proxies, Secret};
use monolith_core::contract::{
    ContractSpec, LayerValue, McpTransport, ProviderSpec, RedactionTerms, SHORTEST_RANDOM, Terms,
    looks_random, names_a_secret, placeholders, random_argument, url_secrets, without_parameters,
};
use monolith_core::message::Scrubber;
use monolith_core::session::{KnownSecrets, KnownValues, Redactor, SCHEMES, can_be_matched};

/// Variables that hold paths, and are no secret if a contract file names them: taking their values out would
/// take out every path. `redact.env` makes a secret of any variable.
const OPEN_VARIABLES: [&str; 15] = [
    "HOME", "HOSTNAME", "LANG", "LC_ALL", "LOGNAME", MCP_ROOT, "PATH", "PWD", "SHELL", "TEMP",
    "TERM", "TMP", "TMPDIR", "TZ", "USER",
];
/// The fewest digits of a number that may be a secret.
const FEWEST_SECRET_DIGITS: usize = 6;
/// The most bytes of values that are looked for at once: fewer than those of as many lines as a search knows.
const MOST_AT_ONCE: usize = 16 * 1024;

/// The values that must not be recorded, and where each comes from.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<KnownSecret>);

#[derive(Clone, Debug)]
struct KnownSecret {
    /// The source, as a dotted path of the file.
    place: String,
    /// True if it is certainly secret. A literal value under an unsuspicious name may be anything.
    sure: bool,
    value: Secret,
}

/// A value that is too short or too plain to be distinguished from ordinary text: it is not taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The source, as a dotted path of the file.
    pub place: String,
}

impl Secrets {
    /// The secrets that a file names, as far as the environment has them.
    #[must_use]
    pub fn of(spec: &ContractSpec, environment: &Environment) -> Self {
        let whole = spec.part_of.as_ref();
        let mut found = whole.map_or_else(Self::default, |whole| Self::of(whole, environment));
        let environment = &environment.over(spec);
        for (file, text) in environment.own_secrets() {
            found.take(&file, true, &text);
        }
        for (name, provider) in &spec.providers {
            found.take_provider(name, provider, environment);
        }
        for variable in Proxies::VARIABLES {
            let proxy = environment.raw(variable).unwrap_or_default();
            let scheme = if proxy.contains("://") { "" } else { "http://" };
            found.take_url(&format!("{scheme}{proxy}"), variable);
        }
        found.take_values(&spec.tools.env, "tools.env", environment);
        for (name, server) in &spec.tools.servers {
            let place = server.place(name);
            match &server.transport {
                McpTransport::Openapi { headers, terms } => {
                    found.take_values(headers, &format!("{place}.headers"), environment);
                    for (key, url) in [
                        ("base_url", &terms.base_url),
                        ("spec", &Some(terms.spec.clone())),
                    ] {
                        if let Some(url) = url.as_ref().filter(|url| url.contains("://")) {
                            found.take_url(url, &format!("{place}.{key}"));
                        }
                    }
                }
                McpTransport::Rest { headers, tool, .. } => {
                    found.take_values(headers, &format!("{place}.headers"), environment);
                    found.take_url(&without_parameters(&tool.url), &format!("{place}.url"));
                }
                McpTransport::Stdio {
                    arg_variables,
                    args,
                    env,
                    ..
                } => {
                    found.take_values(env, &format!("{place}.env"), environment);
                    let place = format!("{place}.args");
                    for (at, arg) in args.iter().enumerate() {
                        if let Some(value) = random_argument(arg) {
                            found.take(&format!("{place}.{at}"), false, value);
                        }
                    }
                    for variable in arg_variables.iter().map(String::as_str) {
                        if !is_open(variable, &[], environment, &place) {
                            found.take_variable(variable, &place, environment);
                        }
                    }
                }
                McpTransport::Remote {
                    headers,
                    oauth,
                    url,
                    ..
                } => {
                    found.take_values(headers, &format!("{place}.headers"), environment);
                    for (key, variable) in oauth.iter().flat_map(|oauth| oauth.variables()) {
                        found.take_variable(variable, &format!("{place}.oauth.{key}"), environment);
                    }
                    found.take_url(url, &format!("{place}.url"));
                }
            }
        }
        // What a layer's placeholders were replaced by stands in the file as it is.
        for (place, origin) in &spec.origins {
            for (variable, value) in origin.part_of_it() {
                if names_a_secret(variable) && !OPEN_VARIABLES.contains(&variable) {
                    found.take(place, true, value);
                }
            }
        }
        found.take_layers(spec, environment);
        for name in &spec.redact.env {
            found.take_variable(name, &format!("redact.env.{name}"), environment);
        }
        found
    }

    /// Takes the values of layers that the contract does not name. One that the contract shows all the same is no secret.
    fn take_layers(&mut self, spec: &ContractSpec, environment: &Environment) {
        for value in &spec.layer_values {
            let LayerValue {
                name, place, text, ..
            } = value;
            let beside = environment.beside(value, format!("{place}.{name}"));
            let mut stated = Self::default();
            stated.take_values(
                &BTreeMap::from([(name.clone(), text.clone())]),
                place,
                &beside,
            );
            for known in stated.0 {
                self.take(&known.place, false, known.value.reveal());
            }
        }
    }

    fn take_provider(&mut self, name: &str, provider: &ProviderSpec, environment: &Environment) {
        let place = format!("providers.{name}");
        let usual = provider.provider_type.usual_key_env();
        if let Some(variable) = provider.api_key_env.as_deref().or(usual) {
            self.take_variable(variable, &format!("{place}.api_key_env"), environment);
        }
        self.take_values(&provider.headers, &format!("{place}.headers"), environment);
        if let Some(url) = &provider.base_url {
            self.take_url(url, &format!("{place}.base_url"));
        }
        if let Some(variable) = &provider.base_url_env {
            let place = format!("{place}.base_url_env");
            let address = environment.get_at(variable, &place).unwrap_or_default();
            self.take_url(&address, &place);
        }
    }

    fn take_values(
        &mut self,
        values: &BTreeMap<String, String>,
        place: &str,
        environment: &Environment,
    ) {
        for (name, text) in values {
            let place = format!("{place}.{name}");
            let mut variables = placeholders(text).peekable();
            let written_out = variables.peek().is_none();
            let mut secret = written_out && names_a_secret(name);
            for variable in variables.filter(|one| !is_open(one, &[name], environment, &place)) {
                secret = true;
                self.take_variable(variable, &place, environment);
            }
            if !(secret || written_out && looks_random(text)) {
                continue;
            }
            // What cannot be expanded is refused where it is used.
            let Ok(value) = environment.expand(text, &place) else {
                continue;
            };
            let scheme = value.split_once(' ');
            let scheme = scheme.filter(|(w, _)| SCHEMES.contains(&w.to_ascii_lowercase().as_str()));
            if let Some((_, credential)) = scheme {
                self.take(&place, secret, credential.trim());
            }
            self.take(&place, secret, &value);
        }
    }

    fn take_variable(&mut self, name: &str, place: &str, environment: &Environment) {
        if let Some(value) = environment.get_at(name, place) {
            self.take(place, true, &value);
        }
    }

    fn take_url(&mut self, url: &str, place: &str) {
        for (name, value) in url_secrets(url) {
            let sure = name.is_none_or(names_a_secret);
            if sure || looks_random(&value) {
                self.take(place, sure, &value);
            }
        }
    }

    fn take(&mut self, place: &str, sure: bool, value: &str) {
        if value.is_empty() {
            return;
        }
        let known = self
            .0
            .iter_mut()
            .find(|known| known.value.reveal() == value);
        if let Some(known) = known {
            known.sure |= sure;
            return;
        }
        self.0.push(KnownSecret {
            place: place.to_owned(),
            sure,
            value: Secret::new(value),
        });
    }

    /// The values that are looked for.
    pub fn matched(&self) -> impl Iterator<Item = &str> {
        let values = self.0.iter().map(|known| known.value.reveal());
        values.filter(|value| can_be_matched(value))
    }

    /// The values that are not looked for, because they cannot be distinguished from ordinary text.
    pub fn unmatched(&self) -> impl Iterator<Item = Unmatched> {
        let sure = self.0.iter().filter(|known| known.sure);
        let weak = sure.filter(|known| !can_be_matched(known.value.reveal()));
        weak.map(|known| Unmatched {
            place: known.place.clone(),
        })
    }

    /// Returns the finder for these secrets and the contract's `redact` terms; shared by all who look for the same.
    pub fn known(&self, environment: &Environment, terms: &RedactionTerms) -> Arc<KnownSecrets> {
        environment.shared().secrets(self.matched(), terms)
    }

    /// Holds the secrets against a contract, which is recorded as it is: what it shows and may be anything is no secret.
    ///
    /// # Errors
    /// [`DriverError::SecretInContract`] where it shows one that is secret for sure, or what can only be a credential.
    pub(super) fn held_against(
        self,
        contract: &Terms,
        shared: &Shared,
    ) -> Result<Self, DriverError> {
        let document = serde_json::to_value(contract).unwrap_or_default();
        self.held_against_text(&document, shared)
    }

    /// Holds them against the arguments of a file's servers: a contract shows none that looks random, and one that is a credential for sure is
    /// refused all the same.
    ///
    /// # Errors
    /// As of [`Self::held_against`].
    pub(super) fn held_against_arguments(
        &self,
        spec: &ContractSpec,
        shared: &Shared,
    ) -> Result<(), DriverError> {
        let servers = spec.tools.servers.iter();
        let servers = servers.filter_map(|(name, server)| match &server.transport {
            McpTransport::Stdio { args, .. } => Some((name.clone(), json!({"args": args}))),
            McpTransport::Openapi { .. }
            | McpTransport::Remote { .. }
            | McpTransport::Rest { .. } => None,
        });
        let servers: Map<String, Value> = servers.collect();
        let document = json!({"servers": servers});
        self.clone().held_against_text(&document, shared).map(drop)
    }

    fn held_against_text(self, document: &Value, shared: &Shared) -> Result<Self, DriverError> {
        let kept = if self.shows_none(document, shared) {
            self
        } else {
            self.not_shown_by(document)?
        };
        match credential_in(document) {
            Some((pointer, place)) => Err(DriverError::SecretInContract { pointer, place }),
            None => Ok(kept),
        }
    }

    /// Returns the secrets that a document does not show, each looked for separately.
    fn not_shown_by(self, document: &Value) -> Result<Self, DriverError> {
        let mut kept = Vec::new();
        for known in self.0 {
            let alone = Self(vec![known.clone()]);
            if alone.matched().next().is_none() {
                kept.push(known);
                continue;
            }
            let finder = values_only(Arc::new(KnownValues::new(alone.matched())));
            match shown_at(&finder, document, "") {
                None => kept.push(known),
                Some(pointer) if known.sure => {
                    return Err(DriverError::SecretInContract {
                        pointer,
                        place: known.place,
                    });
                }
                Some(_) => {}
            }
        }
        Ok(Self(kept))
    }

    /// Returns true if a document holds no value at all, which one search for all values usually shows. Returns false also if
    /// the values are so long that such a search might have skipped lines of them.
    fn shows_none(&self, document: &Value, shared: &Shared) -> bool {
        let bytes: usize = self.0.iter().map(|known| known.value.reveal().len()).sum();
        let shown = || shown_at(&values_only(shared.values(self.matched())), document, "");
        bytes < MOST_AT_ONCE && shown().is_none()
    }
}

/// Returns a finder of values and nothing else.
fn values_only(values: Arc<KnownValues>) -> Redactor {
    Redactor::fixed(Arc::new(KnownSecrets::values_only(values)))
}

/// Returns true if a variable's value, at that place of a file, is no secret. The variable is known to hold paths, or none of
/// its names means a secret. In the second case the value is a path of this machine, a plain address or an ordinary word.
fn is_open(variable: &str, names: &[&str], environment: &Environment, place: &str) -> bool {
    let value = || environment.get_at(variable, place).unwrap_or_default();
    let mut names = names.iter().chain([&variable]);
    OPEN_VARIABLES.contains(&variable)
        || (!names.any(|name| names_a_secret(name))
            && (is_there(&value()) || is_plain_address(&value()) || is_ordinary(&value())))
}

/// Returns true if a text consists of a few ordinary words and small numbers, such as `production`, `us-east-1` and `README`.
fn is_ordinary(text: &str) -> bool {
    let is_word = |piece: &str| {
        let rest = piece.get(1..).unwrap_or_default();
        let is_letters = piece.bytes().all(|b| b.is_ascii_alphabetic());
        let is_lower = rest.bytes().all(|b| b.is_ascii_lowercase());
        let is_upper = piece.bytes().all(|b| b.is_ascii_uppercase());
        let is_number =
            piece.len() < FEWEST_SECRET_DIGITS && piece.bytes().all(|b| b.is_ascii_digit());
        is_letters && (is_lower || is_upper) || is_number
    };
    text.len() < SHORTEST_RANDOM
        && text.contains(|c: char| c.is_ascii_alphabetic())
        && text.split(['-', '_', '.', ':', ',', ' ']).all(is_word)
}

/// Returns true for an address without a user and without a query.
fn is_plain_address(text: &str) -> bool {
    let split = text.split_once("://");
    let rest = split.filter(|(scheme, _)| {
        scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'+')
    });
    rest.is_some_and(|(_, rest)| !rest.contains(['@', '?', '#']) && !looks_random(rest))
}

/// Returns true if the path exists on this machine.
fn is_there(path: &str) -> bool {
    let path = Path::new(path);
    path.is_absolute() && path.exists()
}

/// Returns the RFC 6901 pointer of the first place where a document shows what the finder finds.
fn shown_at(finder: &Redactor, value: &Value, pointer: &str) -> Option<String> {
    let shows = |text: &str| {
        (finder as &dyn Scrubber)
            .knows(text.as_bytes())
            .then(|| pointer.to_owned())
    };
    match value {
        Value::String(text) => shows(text),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            let pointer = format!("{pointer}/{at}");
            shown_at(finder, item, &pointer)
        }),
        Value::Object(members) => members.iter().find_map(|(name, item)| {
            let step = name.replace('~', "~0").replace('/', "~1");
            shows(name).or_else(|| shown_at(finder, item, &format!("{pointer}/{step}")))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that are looked for under a file with that server, where the variables have these values.
    fn matched(server: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let text = format!(
            "task: t\ntargets: [{{provider: d, model: m}}]\nproviders: {{d: {{type: ollama}}}}\ntools: {{mcp: {{s: {server}}}}}\n"
        );
        let spec = ContractSpec::parse("c.yaml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let environment = Environment::new(move |name| variables.get(name).cloned());
        let found = Secrets::of(&spec, &environment);
        found.matched().map(str::to_owned).collect()
    }

    /// 001 §6: what a server is given that is no secret is neither redacted nor refused.
    #[test]
    fn words_paths_and_plain_addresses_are_no_secrets_unless_their_names_say_so() {
        let check = |server: &str, variables: &[(&str, &str)], expect: &[&str]| {
            assert_eq!(matched(server, variables), expect, "{server}");
        };
        let here = tempfile::tempdir().unwrap();
        let here = here.path().display().to_string();
        let command = |env: &str| format!("{{command: x, args: [], env: {{{env}}}}}");
        check(&command("MODE: production, PATH: /usr/bin:/bin"), &[], &[]);
        check(&command("PASSWORD: production"), &[], &["production"]);
        check(&command("ID: a1b2c3d4e5f6a7b8"), &[], &["a1b2c3d4e5f6a7b8"]);
        check(&command("ROOT: '${REPO}'"), &[("REPO", &here)], &[]);
        check(&command("SECRET: '${REPO}'"), &[("REPO", &here)], &[&here]);
        for word in ["production", "us-east-1", "redis://localhost:6379"] {
            check(&command("MODE: '${W}'"), &[("W", word)], &[]);
            check(&command("TOKEN: '${W}'"), &[("W", word)], &[word]);
            check(&command("MODE: '${KEY_W}'"), &[("KEY_W", word)], &[word]);
        }
        for random in ["s3cret-value", "aBcDeFgHiJ", "ab12cd34", "271828182"] {
            check(&command("MODE: '${W}'"), &[("W", random)], &[random]);
        }
        let gone = "/no/such/place/x";
        check(&command("ROOT: '${REPO}'"), &[("REPO", gone)], &[gone]);
        let home = "https://example.org/docs";
        check(&command("SITE: '${SITE}'"), &[("SITE", home)], &[]);
        let user = "https://me:pw@example.org/docs";
        check(&command("SITE: '${SITE}'"), &[("SITE", user)], &[user]);
        check(
            &command("T: '${T}'"),
            &[("T", "s3cret-value")],
            &["s3cret-value"],
        );
        let args = "{command: x, args: ['--t=${T}', '${U}'], arg_variables: [T]}";
        check(
            args,
            &[("T", "s3cret-value"), ("U", "another")],
            &["s3cret-value"],
        );
        check(
            "{url: 'http://h/?units=metric&key=metric7'}",
            &[],
            &["metric7"],
        );
        let headers = "{url: 'http://h/', headers: {Accept: application/json, X-Api-Key: abcdefg}}";
        check(headers, &[], &["abcdefg"]);
    }
}
