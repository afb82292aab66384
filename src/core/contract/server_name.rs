//! The rule for names of tool servers. Does not know which servers exist.

use super::REST_PREFIX;

/// The longest name of a tool server in bytes: exposed names have 64 for it, `__` and the tool's own name.
const MAX_BYTES: usize = 32;

/// Judges the name that an author gives to a tool server, the one rule for file and bring-up.
///
/// # Errors
/// The rule that it breaks.
pub fn check_server_name(name: &str) -> Result<(), &'static str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !(1..=MAX_BYTES).contains(&name.len()) || !name.bytes().all(word) {
        return Err("a server's name is 1 to 32 characters of A–Z a–z 0–9 _ -");
    }
    if name == "builtin" {
        return Err("`builtin` names the tools inside monolith; call the server otherwise");
    }
    if name.starts_with(REST_PREFIX) {
        return Err(
            "names that begin with rest__ are those of web services; call the server otherwise",
        );
    }
    if format!("{name}__").starts_with("agent__") {
        return Err("tools that begin with agent__ are monolith's own; call the server otherwise");
    }
    Ok(())
}
