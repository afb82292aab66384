//! The challenge in the `WWW-Authenticate` header of a refused request (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1). Sends
//! nothing.

/// The most bytes of a header that are read, and the most scopes.
const MOST_BYTES: usize = 8_192;
const MOST_SCOPES: usize = 64;

/// The challenge of a server that refused a request; empty where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tools) struct Challenge {
    /// True if it says that the token's scopes do not suffice.
    pub(in crate::tools) insufficient_scope: bool,
    /// The address of the resource metadata.
    pub(super) metadata: Option<String>,
    /// The scopes that are needed.
    pub(super) scopes: Vec<String>,
}

impl Challenge {
    /// The first challenge of the scheme `Bearer` in a header's value, which may have several.
    pub(in crate::tools) fn of(header: &str) -> Self {
        let mut rest = header.get(..MOST_BYTES).unwrap_or(header);
        let (mut found, mut is_bearer) = (Self::default(), false);
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            if word.is_empty() {
                // Nothing is left, or what no header begins with.
                return found;
            }
            let spaces_off = behind.trim_start_matches([' ', '\t']);
            let value = spaces_off
                .strip_prefix('=')
                .filter(|value| !value.is_empty());
            let Some(value) = value else {
                if is_bearer {
                    return found;
                }
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = spaces_off.trim_start_matches('=');
                continue;
            };
            let (value, behind) = value_of(value.trim_start_matches([' ', '\t']));
            rest = behind;
            if is_bearer {
                found.take(word, value);
            }
        }
    }

    fn take(&mut self, name: &str, value: String) {
        if name.eq_ignore_ascii_case("error") {
            self.insufficient_scope = value == "insufficient_scope";
        } else if name.eq_ignore_ascii_case("resource_metadata") {
            self.metadata.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("scope") && self.scopes.is_empty() {
            self.scopes = scopes_of(&value);
        }
    }
}

/// A value and what is behind it: a quoted string without its quotes and escapes, or a token.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, behind) = text.split_at(end);
        return (value.to_owned(), behind);
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => {
                let behind = quoted.get(at + 1..).unwrap_or_default();
                return (value, behind);
            }
            _ => value.push(c),
        }
    }
    (value, "")
}

/// The scopes of a text, each once (RFC 6749 §3.3). What cannot be one is left out.
pub(super) fn scopes_of(text: &str) -> Vec<String> {
    let is_scope = |c: u8| matches!(c, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace().take(MOST_SCOPES) {
        if scope.bytes().all(is_scope) && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// Scopes, and those of others that are not among them.
pub(super) fn union(scopes: &[String], others: &[String]) -> Vec<String> {
    let mut all = scopes.to_vec();
    for scope in others {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_found_among_others_and_its_strings_are_unquoted() {
        let check = |header: &str, metadata: Option<&str>, scopes: &[&str], insufficient: bool| {
            let found = Challenge::of(header);
            assert_eq!(found.metadata.as_deref(), metadata, "{header}");
            assert_eq!(found.scopes, scopes, "{header}");
            assert_eq!(found.insufficient_scope, insufficient, "{header}");
        };
        check("", None, &[], false);
        check("Bearer", None, &[], false);
        check(
            r#"Bearer resource_metadata="https://h/m", scope="a b""#,
            Some("https://h/m"),
            &["a", "b"],
            false,
        );
        check(
            r#"bearer error="insufficient_scope",scope=write , resource_metadata = "https://h/m""#,
            Some("https://h/m"),
            &["write"],
            true,
        );
        check(
            r#"Basic realm="x, Bearer scope=\"no\"", Bearer scope="yes""#,
            None,
            &["yes"],
            false,
        );
        check(
            r#"Bearer scope="a", DPoP scope="b", error="insufficient_scope""#,
            None,
            &["a"],
            false,
        );
        check("Negotiate YWJj==, Bearer scope=a", None, &["a"], false);
        check(r#"Bearer scope="a a \"q\" b"#, None, &["a", "b"], false);
        check("Bearer ==, =", None, &[], false);
    }

    #[test]
    fn no_header_is_read_without_an_end() {
        let long = format!("Bearer scope=\"{}\"", "a ".repeat(100_000));
        assert_eq!(Challenge::of(&long).scopes, ["a"]);
        for cut in 0..60 {
            let text = r#"Bearer error="insufficient_scope", scope="a \"b", x=y, ="#;
            let _ = Challenge::of(text.get(..cut).unwrap_or(text));
        }
    }
}
