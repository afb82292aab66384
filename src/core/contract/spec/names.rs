//! What names of variables and of headers look like.

/// The same as [`is_env_name`], as a pattern.
pub(super) const ENV_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// The same as [`is_header_name`], as a pattern.
pub(super) const HEADER_NAME: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

/// Names that a tool server can have, as a pattern.
pub(super) const SERVER_NAME: &str = "^(?!builtin$|agent_?$|agent__|rest__)[A-Za-z0-9_-]{1,32}$";

pub(super) fn is_env_name(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(word)
}

/// RFC 9110 §5.6.2: a token.
pub(super) fn is_header_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}
