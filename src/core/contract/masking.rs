//! Masks secrets in texts for people, by the words before them: names, and addresses. Does not know which names are those of secrets.

use serde_json::Value;

use super::redaction::{address_user, recorded_url, url_secrets};
use super::secret_names::{ADDRESS_PASSWORD, names_a_secret, random_argument};

/// The text that replaces a secret where people see it.
pub const MASK: &str = "***";
/// The words before a secret in a header.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];
/// Options whose argument may be `USER:PASSWORD`.
const USERS: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// The words of a command as people may see them.
#[must_use]
pub fn masked_words(words: &[String]) -> Vec<String> {
    let words = words.iter().cloned().map(Value::String).collect();
    match masked_value("", &Value::Array(words), &mut |_, _| {}) {
        Value::Array(masked) => masked
            .into_iter()
            .map(|word| match word {
                Value::String(text) => masked_argument(&text, MASK),
                other => other.to_string(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Replaces the random-looking part of an argument with `mask`.
pub fn masked_argument(argument: &str, mask: &str) -> String {
    match random_argument(argument) {
        Some(value) => argument.replace(value, mask),
        None => argument.to_owned(),
    }
}

/// A value under that name as people may see it. `found` gets the name and the text of each secret.
pub fn masked_value(name: &str, value: &Value, found: &mut dyn FnMut(&str, &str)) -> Value {
    masked(names_a_secret(name).then_some(name), value, found)
}

/// The same where all that stands in it is secret.
pub fn masked_whole(name: &str, value: &Value) -> Value {
    masked(Some(name), value, &mut |_, _| {})
}

/// A text as people may see it. `found` gets the name and the text of each secret.
pub fn masked_text(text: &str, found: &mut dyn FnMut(&str, &str)) -> String {
    text_of(text, None, found)
}

fn masked(secret: Option<&str>, value: &Value, found: &mut dyn FnMut(&str, &str)) -> Value {
    match value {
        Value::String(text) => Value::String(text_of(text, secret, found)),
        Value::Array(items) => {
            let mut before = PrecedingWord::default();
            let items = items.iter().map(|item| match item {
                Value::String(text) => Value::String(before.word(text, secret, found)),
                other => masked(secret, other, found),
            });
            Value::Array(items.collect())
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let own = names_a_secret(key).then_some(key.as_str());
                (key.clone(), masked(secret.or(own), value, found))
            });
            Value::Object(members.collect())
        }
        Value::Number(_) if secret.is_some() => Value::from(MASK),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The role that a word gives to the next one.
#[derive(Default)]
enum PrecedingWord {
    #[default]
    Nothing,
    /// It names a secret: `--token VALUE`.
    Name(String),
    /// The next one may be `USER:PASSWORD`.
    User,
}

impl PrecedingWord {
    fn word(
        &mut self,
        word: &str,
        secret: Option<&str>,
        found: &mut dyn FnMut(&str, &str),
    ) -> String {
        let before = std::mem::take(self);
        let bare = word.trim_matches(['"', '\'', '`', '{', ',']);
        if USERS.contains(&bare) {
            *self = Self::User;
        } else if bare.starts_with('-') && !bare.contains('=') && names_a_secret(bare) {
            *self = Self::Name(bare.to_owned());
        } else if let Some(name) = bare.strip_suffix(':').filter(|name| names_a_secret(name)) {
            // `Authorization: VALUE`, `"password": "VALUE"`
            *self = Self::Name(name.trim_end_matches(['"', '\'']).to_owned());
        }
        match before {
            Self::Name(name) if !matches!(self, Self::Name(_)) => {
                if SCHEMES.contains(&bare.to_lowercase().as_str()) {
                    *self = Self::Name(name);
                    return word.to_owned();
                }
                text_of(word, Some(&name), found)
            }
            Self::User if let Some((user, password)) = user_of(word) => {
                let is_mixed = password.contains(|c: char| c.is_ascii_digit())
                    && password.contains(|c: char| c.is_ascii_alphabetic());
                let name = if is_mixed { ADDRESS_PASSWORD } else { "user" };
                let password = text_of(password, Some(name), found);
                format!("{user}:{password}")
            }
            _ => text_of(word, secret, found),
        }
    }
}

/// The parts of a connection string, `NAME=VALUE;NAME=VALUE`: names and values may have blanks, and a value in quotes any character. None of
/// another text.
fn connection_parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let (part, after) = rest.split_at_checked(part_end(rest)).unwrap_or((rest, ""));
        parts.push(part);
        match after.strip_prefix(';') {
            Some(after) => rest = after,
            None => break,
        }
    }
    let is_named = |part: &&str| {
        let name = part.split_once('=').map(|(name, _)| name.trim());
        name.is_some_and(|name| name.split(' ').all(is_name))
    };
    let mut filled = parts.iter().filter(|part| !part.trim().is_empty());
    // What has no blanks is no command, though something else may stand between its parts.
    let is_dense = text.contains('=') && !text.contains(char::is_whitespace);
    (parts.len() > 1 && (is_dense || filled.all(is_named))).then_some(parts)
}

/// Returns the end of the first part of a connection string: a `;` outside of a quoted value. A quote opens only as the first
/// character of a value, and two of them are one literal quote. An unclosed quote counts only in the value of a secret.
fn part_end(text: &str) -> usize {
    let first = text.find(';').unwrap_or(text.len());
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| name.len() < first) else {
        return first;
    };
    let bare = value.trim_start();
    let Some(quote) = bare.chars().next().filter(|first| "\"'".contains(*first)) else {
        return first;
    };
    let mut at = text.len().saturating_sub(bare.len()).saturating_add(1);
    let behind = |at: usize| text.get(at..).unwrap_or_default();
    loop {
        let Some(closed) = behind(at).find(quote) else {
            let is_secret = names_a_secret(name.trim());
            return if is_secret { text.len() } else { first };
        };
        at = at.saturating_add(closed).saturating_add(1);
        if !behind(at).starts_with(quote) {
            return behind(at)
                .find(';')
                .map_or(text.len(), |end| at.saturating_add(end));
        }
        at = at.saturating_add(1);
    }
}

fn text_of(text: &str, secret: Option<&str>, found: &mut dyn FnMut(&str, &str)) -> String {
    if let Some(name) = secret {
        let bare = without_placeholders(text).trim().to_lowercase();
        if bare.is_empty() || SCHEMES.contains(&bare.as_str()) {
            return text.to_owned();
        }
        let scheme = text.split_once(' ');
        let scheme = scheme.filter(|(w, _)| SCHEMES.contains(&w.to_lowercase().as_str()));
        found(name, scheme.map_or(text, |(_, value)| value.trim()));
        return MASK.to_owned();
    }
    if text.starts_with(['{', '['])
        && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
    {
        let shown = masked(None, &value, found);
        return if shown == value {
            text.to_owned()
        } else {
            shown.to_string()
        };
    }
    let has_blank = text.contains(char::is_whitespace);
    // An address that begins the text may have `=` in its query.
    if let Some((scheme, _)) = text.split_once("://")
        && is_name(scheme)
        && !has_blank
    {
        return address(text, found);
    }
    if let Some(pairs) = form_pairs(text) {
        return form(&pairs, found);
    }
    // `Authorization: VALUE`: an argument may be a header.
    if let Some((name, value)) = text.split_once(':')
        && is_name(name)
        && names_a_secret(name)
        && !value.contains('\n')
    {
        return format!("{name}: {}", text_of(value.trim_start(), Some(name), found));
    }
    // `Bearer VALUE`
    if let Some((scheme, value)) = text.split_once(' ')
        && SCHEMES.contains(&scheme.to_lowercase().as_str())
        && !value.contains(' ')
    {
        return format!("{scheme} {}", text_of(value, Some("authorization"), found));
    }
    if let Some((name, value)) = text.split_once('=')
        && is_name(name)
    {
        let is_option = name.starts_with('-');
        // `PASSWORD=VALUE`: the value may hold anything, and ends with the text.
        if names_a_secret(name) && (is_option || !value.starts_with(char::is_whitespace)) {
            if is_option || !has_blank {
                return format!("{name}={}", text_of(value, Some(name), found));
            }
            // A command may follow it.
            words(text, found);
            return format!("{name}={MASK}");
        }
        // `--header=Authorization: VALUE`: an option, with all that follows.
        if is_option || !has_blank && !value.contains(';') {
            return format!("{name}={}", text_of(value, None, found));
        }
    }
    // `Server=db;Pwd=VALUE`
    if let Some(parts) = connection_parts(text) {
        let parts = parts.into_iter().map(|part| match part.split_once('=') {
            Some((name, value)) if names_a_secret(name.trim()) && !value.is_empty() => {
                format!("{name}={}", text_of(value, Some(name.trim()), found))
            }
            _ => text_of(part, None, found),
        });
        return parts.collect::<Vec<_>>().join(";");
    }
    if has_blank {
        return words(text, found);
    }
    // `"password":"VALUE"`, `name: VALUE`, `'TOKEN=VALUE'`
    let bare = text.trim_start_matches(['"', '\'', '`', '{', '(']);
    if let Some((name, value)) = bare.split_once(['=', ':'])
        && is_name(name.trim_end_matches(['"', '\'']))
        && names_a_secret(name)
        && !value.is_empty()
    {
        let name = name.trim_end_matches(['"', '\'']);
        let value = value.trim_matches(['"', '\'', '`', '}', ')', ',', ';', '.']);
        if let Some(at) = text.rfind(value).filter(|_| !value.is_empty()) {
            let masked = text_of(value, Some(name), found);
            let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            let after = rest.get(value.len()..).unwrap_or_default();
            return format!("{before}{masked}{after}");
        }
    }
    if text.contains("://") {
        return address(text, found);
    }
    text.to_owned()
}

/// The pairs of a form, `NAME=VALUE&NAME=VALUE`: each name, its value, and the value with all that follows it. None of another text.
fn form_pairs(text: &str) -> Option<Vec<(&str, &str, &str)>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.[]%+".contains(c);
    let named = |text: &str| {
        let name = text.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(is_plain))
    };
    // An option ends with the text, and what has blanks or a `;` is of another kind.
    let is_other = text.starts_with('-') || without_placeholders(text).contains([' ', '\n', ';']);
    if is_other || !text.contains('&') || !named(text) {
        return None;
    }
    let mut pairs: Vec<(&str, &str, &str)> = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        // A value may hold `&` where no name follows it.
        let ends = after.match_indices('&').map(|(at, _)| at);
        let mut ends = ends.filter(|at| after.get(at.saturating_add(1)..).is_some_and(named));
        let split = ends.next().and_then(|end| after.split_at_checked(end));
        let (value, next) = split.unwrap_or((after, ""));
        pairs.push((name, value, after));
        rest = next.strip_prefix('&').unwrap_or_default();
    }
    (pairs.len() > 1).then_some(pairs)
}

/// A form as people may see it, up to its first secret, which may hold what looks like more pairs.
fn form(pairs: &[(&str, &str, &str)], found: &mut dyn FnMut(&str, &str)) -> String {
    let (mut shown, mut is_hidden) = (Vec::new(), false);
    for (name, value, rest) in pairs {
        let secret = names_a_secret(name).then_some(*name);
        let masked = text_of(value, secret, found);
        if !is_hidden {
            shown.push(format!("{name}={masked}"));
        }
        if let Some(name) = secret.filter(|_| masked != *value) {
            found(name, rest);
            is_hidden = true;
        }
    }
    shown.join("&")
}

/// A text with blanks, word by word.
fn words(text: &str, found: &mut dyn FnMut(&str, &str)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = PrecedingWord::default();
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if !word.is_empty() {
            out.push_str(&before.word(word, None, found));
        }
        out.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    out
}

/// The parts of `USER:PASSWORD`.
fn user_of(word: &str) -> Option<(&str, &str)> {
    word.split_once(':').filter(|_| !word.contains("://"))
}

fn address(text: &str, found: &mut dyn FnMut(&str, &str)) -> String {
    if let Some((_, password)) = address_user(text).split_once(':') {
        found(ADDRESS_PASSWORD, password);
    }
    for (name, value) in url_secrets(text) {
        if let Some(name) = name.filter(|name| names_a_secret(name)) {
            found(name, &value);
        }
    }
    with_placeholders(text, &recorded_url(text))
}

/// An address as it is recorded, with the values of its query that are placeholders and nothing else.
fn with_placeholders(written: &str, recorded: &str) -> String {
    let (Some((place, names)), Some((_, values))) =
        (recorded.split_once('?'), written.split_once('?'))
    else {
        return recorded.to_owned();
    };
    let is_placeholder = |written: &str| {
        let value = written.split_once('=').map_or("", |(_, value)| value);
        !value.is_empty() && without_placeholders(value).is_empty()
    };
    let pairs = names.split('&').zip(values.split('&'));
    let pairs = pairs.map(|(recorded, written)| {
        if is_placeholder(written) {
            written
        } else {
            recorded
        }
    });
    let pairs: Vec<&str> = pairs.collect();
    format!("{place}?{}", pairs.join("&"))
}

/// True if it may be the name of a header or an option, or the scheme of an address.
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    !name.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "-_+.".contains(c))
}

/// Returns a text without its `${NAME}` parts.
fn without_placeholders(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((_, tail)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            break;
        };
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_masked_wherever_a_secret_may_stand() {
        let check = |words: &[&str], expect: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(masked_words(&words), expect);
        };
        check(&["--token", "abc", "x"], &["--token", "***", "x"]);
        check(&["--pwd", "p1"], &["--pwd", "***"]);
        check(
            &["stdio", "LEAKq8Zx72Lm4Rt91Vb3", "--of=q8Zx72Lm4Rt91Vb3"],
            &["stdio", "***", "--of=***"],
        );
        check(&["-u", "bob:bobpw12345"], &["-u", "bob:***"]);
        check(
            &["--conn", "Server=db;Uid=u;Pwd=v1"],
            &["--conn", "Server=db;Uid=u;Pwd=***"],
        );
        check(
            &[
                "Server=db;Pwd=a b TAILx;User ID=q",
                "Server=db;Pwd='a;bSECq';x=1",
                "Initial Catalog=c; Password = p q;",
                "Server=db;Pwd=\"open;x",
                "Uid=d'arcy;Pwd=hunter3",
                "Uid='arcy;Pwd=hunter3",
                "Uid=a;Pwd=it's;App=it's mine",
                "Server=s;Pwd='it''s;a';Uid=\"x;y\" ;Password= 'p;q'",
            ],
            &[
                "Server=db;Pwd=***;User ID=q",
                "Server=db;Pwd=***;x=1",
                "Initial Catalog=c; Password =***;",
                "Server=db;Pwd=***",
                "Uid=d'arcy;Pwd=***",
                "Uid='arcy;Pwd=***",
                "Uid=a;Pwd=***;App=it's mine",
                "Server=s;Pwd=***;Uid=\"x;y\" ;Password=***",
            ],
        );
        check(&["run --token abcsecret99 --x"], &["run --token *** --x"]);
        check(
            &["-c", "TOKEN=abc exec x", "{\"password\":\"j1\"}"],
            &["-c", "TOKEN=***", "{\"password\":\"***\"}"],
        );
        // What it is called decides, whatever stands in it.
        for word in [
            "--password=abc1;def9SECRET",
            "COOKIE=a=1; sid=SECRET98",
            "DB_PASSWORD=p@ss;w0rdTAIL",
            "PASSWORD=correct horseTAIL",
        ] {
            let name = word.split_once('=').unwrap().0;
            check(&[word], &[&format!("{name}=***")]);
        }
        check(
            &[
                "--header=X-Auth: t1; u2SECRET",
                "--conn=Server=db;Pwd=v1",
                "A= b",
            ],
            &["--header=X-Auth: ***", "--conn=Server=db;Pwd=***", "A= b"],
        );
        let mut secret = String::new();
        masked_text("--password=abc1;def9S", &mut |_, text| {
            text.clone_into(&mut secret);
        });
        assert_eq!(secret, "abc1;def9S");
        check(&["postgres://u:pw@h/db"], &["postgres://h/db"]);
        check(
            &["./mcp.py", "--author", "me you", "a=b c"],
            &["./mcp.py", "--author", "***", "a=b c"],
        );
        check(&["--token=${T}", "${U}"], &["--token=${T}", "${U}"]);
        check(
            &["g=password&u=me&password=Ab1&q=x", "key=${K}&n=1&page=2"],
            &["g=password&u=me&password=***", "key=${K}&n=1&page=2"],
        );
    }

    #[test]
    fn each_secret_of_a_form_is_found() {
        let check = |text: &str, expect: &[&str]| {
            let mut secrets = Vec::new();
            masked_text(text, &mut |_, text| secrets.push(text.to_owned()));
            assert_eq!(secrets, expect, "{text}");
        };
        check("a=b&password=W1&q=${p.a}", &["W1", "W1&q=${p.a}"]);
        check("password=W1&q=${p.a}", &["W1", "W1&q=${p.a}"]);
        check(
            "u[pwd]=W&1&t=${T}&token=x",
            &["W&1", "W&1&t=${T}&token=x", "x", "x"],
        );
        check("a=b&c", &[]);
    }
}
