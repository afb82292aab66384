//! Names that give a secret away: of options, variables, headers and members. Does not know the values of secrets, nor the shapes of
//! well-known credentials.

/// Name of a secret in front of the `@` of an address.
pub const ADDRESS_PASSWORD: &str = "user:password@";
/// Parts of a name that mark its value as secret.
const SECRET_PARTS: [&str; 9] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "pwd",
    "secret",
    "session",
    "token",
];
/// Names that have such a part and mark nothing: of numbers, of folders, and of what holds the name of a variable.
const OPEN: [&str; 9] = [
    "api_key_env",
    "contextWindowBufferTokens",
    "maxOutputTokens",
    "max_output_tokens",
    "reasoningTokens",
    "reasoning_tokens",
    "sessionsDir",
    "sessions_dir",
    "tokenizer",
];
/// Suffixes that always mark a secret.
const CERTAIN_ENDS: [&str; 7] = [
    "apikey",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "token",
];
/// The last word of a name of which the value can only be a secret.
const CERTAIN_WORDS: [&str; 6] = [
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "pass",
    "passcode",
];
/// Words before `key` that make it a secret.
const KEYS: [&str; 8] = [
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "private",
    "secret",
    "signing",
];
/// Words that are written instead of a secret, or that switch a feature.
const NO_VALUES: [&str; 8] = [
    "default", "disabled", "enabled", "keychain", "keyring", "optional", "prompt", "required",
];
/// The fewest bytes of a value that is distinguished from ordinary text.
const SHORTEST: usize = 6;
/// The fewest different characters of a value that is not there to fill a place.
const FEWEST_CHARACTERS: usize = 4;
/// The fewest characters of a piece of text that may be random.
pub const SHORTEST_RANDOM: usize = 16;
/// The most digits of what may be a count.
const LONGEST_NUMBER: usize = 9;

/// True if a header, variable, option or member with that name is secret by its name.
pub fn names_a_secret(name: &str) -> bool {
    let lower = name.to_lowercase();
    !OPEN.contains(&name) && SECRET_PARTS.iter().any(|part| lower.contains(part))
}

/// True if the value of that name can only be a secret: `--api-key`, not `--keyboard`.
pub fn is_certainly_secret(name: &str) -> bool {
    if name == ADDRESS_PASSWORD {
        return true;
    }
    if OPEN.contains(&name) {
        return false;
    }
    let words = words_of(name);
    let mut words = words.iter().rev().map(String::as_str);
    match words.next() {
        Some("key") => words.next().is_some_and(|before| KEYS.contains(&before)),
        Some(last) => {
            CERTAIN_WORDS.contains(&last) || CERTAIN_ENDS.iter().any(|end| last.ends_with(end))
        }
        None => false,
    }
}

/// True if a value is a placeholder, names a secret, or is a path or a count.
pub fn is_stand_in(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '`']);
    let mut characters: Vec<char> = value.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    let lower = value.to_lowercase();
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = ["/", "./", "../", "~", "@"]
        .iter()
        .any(|begin| value.starts_with(begin));
    let is_marked = value.starts_with(['$', '<', '{', '[', '*', '%']) || value.contains("${");
    let is_variable = value
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || b"_-".contains(&byte));
    value.len() < SHORTEST
        || characters.len() < FEWEST_CHARACTERS
        || is_number && value.len() <= LONGEST_NUMBER
        || is_path
        || is_marked
        || is_variable
        || !has_digit && is_of_a_name(value)
        || NO_VALUES.contains(&lower.as_str())
        || lower.contains("example")
        || lower.contains("xxxx")
}

/// True if a text resembles a credential: it has a long piece that mixes letters and digits.
pub fn looks_random(text: &str) -> bool {
    let mut pieces = text.split(|c: char| !c.is_ascii_alphanumeric());
    pieces.any(|piece| {
        piece.len() >= SHORTEST_RANDOM
            && piece.bytes().any(|b| b.is_ascii_digit())
            && piece.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

/// Returns an argument, or the value it gives to an option, if it looks random as a whole. A path, an address or a package
/// version does not.
pub fn random_argument(argument: &str) -> Option<&str> {
    let value = argument
        .split_once('=')
        .map_or(argument, |(_, value)| value);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_random = value.bytes().all(is_word) && looks_random(value) && !is_stand_in(value);
    is_random.then_some(value)
}

/// True if a word of the text names a secret, so that the text is hardly one: `your-token`, not `argtokenlit`.
fn is_of_a_name(text: &str) -> bool {
    let words = words_of(text);
    let mut words = words.iter().map(String::as_str);
    words.any(|word| {
        SECRET_PARTS.contains(&word)
            || CERTAIN_ENDS.contains(&word)
            || CERTAIN_WORDS.contains(&word)
    })
}

/// The words of a name, in lower case: `apiKey`, `API_KEY` and `--api-key` have two.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && was_lower || !c.is_alphanumeric();
        if begins {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_names_and_values_are_secret_for_sure() {
        for name in [
            "--api-key",
            "apiKey",
            "GITHUB_TOKEN",
            "--password",
            "clientSecret",
            "PGPASSWORD",
        ] {
            assert!(is_certainly_secret(name), "{name}");
        }
        for name in [
            "--author",
            "--keyboard",
            "tokenizer",
            "--token-file",
            "--max-tokens",
            "--auth",
        ] {
            assert!(!is_certainly_secret(name), "{name}");
        }
        for value in ["hunter3literal", "argtokenlit", "mongopw"] {
            assert!(!is_stand_in(value), "{value}");
        }
        for value in [
            "${T}",
            "<token>",
            "YOUR_API_KEY",
            "password",
            "/run/token",
            "8192",
            "xxxxxxxxxx",
        ] {
            assert!(is_stand_in(value), "{value}");
        }
    }

    #[test]
    fn an_argument_that_looks_random_is_the_whole_of_it_or_the_value_of_an_option() {
        let check = |argument: &str, expect: Option<&str>| {
            assert_eq!(random_argument(argument), expect, "{argument}");
        };
        let random = "q8Zx72Lm4Rt91Vb3";
        check(random, Some(random));
        check("--key-of=q8Zx72Lm4Rt91Vb3", Some(random));
        check("sk_live-q8Zx72Lm4Rt91Vb3", Some("sk_live-q8Zx72Lm4Rt91Vb3"));
        for plain in [
            "q8Zx72Lm4Rt91Vb",
            "@modelcontextprotocol/server-filesystem",
            "git+https://h/r@4f2a9b1c4f2a9b1c4f2a9b1c",
            "sha256:4f2a9b1c4f2a9b1c4f2a9b1c",
            "/tmp/q8Zx72Lm4Rt91Vb3",
            "0190c6a2-77b1-7c30-b1a5-5f0e1f2d3c4b",
            "${TOKEN_q8Zx72Lm4Rt91Vb3}",
            "xxxxxxxxxxxxxxxx1",
            "1234567890123456",
        ] {
            check(plain, None);
        }
    }
}
