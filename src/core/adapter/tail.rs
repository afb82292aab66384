//! The end of a request's body: the parameters, and the members that the author gave for every request of a provider.

use serde::Serialize;

use super::json::{members, put};
use crate::contract::{TargetTerms, Terms};
use crate::message::Members;

/// The members of `parameters` with the provider's own laid over them, and the body's closing brace, after a comma.
///
/// A member that both have is the author's, but objects are laid over each other member by member. The author's values
/// stay as they are written, digit by digit.
pub(super) fn tail(terms: &Terms, target: &TargetTerms, parameters: &impl Serialize) -> Vec<u8> {
    let provider = terms.providers.get(&target.provider);
    let Some(options) = provider.and_then(|p| p.provider_options.as_deref()) else {
        return members(parameters);
    };
    let mut own = Vec::new();
    put(&mut own, parameters);
    let own = String::from_utf8(own).unwrap_or_default();
    let mut out = overlaid(&own, options).into_bytes();
    if let Some(brace) = out.first_mut() {
        *brace = b',';
    }
    out
}

/// Two objects as one; the text of `over` where one of them is none.
fn overlaid(own: &str, over: &str) -> String {
    let both = (
        serde_json::from_str::<Members<'_>>(own),
        serde_json::from_str::<Members<'_>>(over),
    );
    let (Ok(Members(own)), Ok(Members(over))) = both else {
        return over.to_owned();
    };
    let mut merged: Vec<(String, String)> = own
        .into_iter()
        .map(|(key, value)| (key, value.get().to_owned()))
        .collect();
    for (key, value) in over {
        match merged.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => *own = overlaid(own, value.get()),
            None => merged.push((key, value.get().to_owned())),
        }
    }
    let mut out = b"{".to_vec();
    for (n, (key, value)) in merged.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        put(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::overlaid;

    #[test]
    fn the_authors_members_come_over_ours_and_keep_their_digits() {
        let check = |own: &str, over: &str, expect: &str| {
            assert_eq!(overlaid(own, over), expect, "{own} {over}");
        };
        check(r#"{"a":1,"b":2}"#, "{}", r#"{"a":1,"b":2}"#);
        check(
            r#"{"a":1}"#,
            r#"{"z":1e400,"a":1.00}"#,
            r#"{"a":1.00,"z":1e400}"#,
        );
        check(
            r#"{"o":{"x":1,"y":[1]},"s":true}"#,
            r#"{"o":{"y":[ 2 ],"w":{"k":"\u0000"}}}"#,
            r#"{"o":{"x":1,"y":[ 2 ],"w":{"k":"\u0000"}},"s":true}"#,
        );
        check(r#"{"o":{"x":1}}"#, r#"{"o":null}"#, r#"{"o":null}"#);
        check(r#"{"o":3}"#, r#"{"o":{"x":1}}"#, r#"{"o":{"x":1}}"#);
    }
}
