//! The rule for addresses in a contract. Reaches nothing.

/// Whether a text is an address of the web that holds no user name and no password.
///
/// # Errors
/// The rule that it breaks.
pub fn check_address(text: &str) -> Result<(), &'static str> {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        None | Some("") => Err("expected an address that begins with https:// or http://"),
        Some(host) if host.contains('@') => {
            Err("an address in a contract holds no user name and no password")
        }
        Some(_) if text.chars().any(|c| c.is_whitespace() || c.is_control()) => {
            Err("an address holds no white space")
        }
        Some(_) => Ok(()),
    }
}
