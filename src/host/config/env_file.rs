//! Parses a file of variables. Does not know which variables are read.

use std::collections::BTreeMap;

use crate::driver::MCP_ROOT;

/// Reads a file of variables (001 §7): `NAME=value` lines, with or without `export`; quotes around a value go; `#` begins a
/// comment at the beginning of a line or of a value without quotes, and behind white space after one.
///
/// # Errors
/// The first line that is none, by its number; never its content.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let exported = line.strip_prefix("export");
        let exported = exported.filter(|rest| rest.starts_with([' ', '\t']));
        let line = exported.map_or(line, str::trim_start);
        let number = place + 1;
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {number} is not NAME=value"))?;
        let name = name.trim();
        if !is_name(name) {
            return Err(format!(
                "line {number}: the text before `=` is no name of a variable"
            ));
        }
        let value = value_of(value).map_err(|rule| format!("line {number}: {rule}"))?;
        // A blank root is none: that of the process counts, which is never blank (001 §6).
        if name != MCP_ROOT || !value.trim().is_empty() {
            variables.insert(name.to_owned(), value);
        }
    }
    Ok(variables)
}

/// The value of the text behind `=`. Of one between quotes those go, and all between them stays as it is, other quotes too.
///
/// # Errors
/// Why the quotes are no pair around it.
fn value_of(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let comments = [" #", "\t#"].iter().filter_map(|mark| text.find(mark));
        let comment = comments.min().or(text.starts_with('#').then_some(0));
        let value = comment.and_then(|at| text.get(..at)).unwrap_or(text);
        return Ok(value.trim_end().to_owned());
    };
    let text = text.strip_prefix(quote).unwrap_or(text);
    let each = || {
        let ends = text.match_indices(quote);
        ends.filter_map(|(at, quote)| Some((text.get(..at)?, text.get(at + quote.len()..)?)))
    };
    let ends = |(_, rest): &(&str, &str)| {
        let comment = rest.trim_start_matches([' ', '\t']);
        rest.is_empty() || comment.len() < rest.len() && comment.starts_with('#')
    };
    let found = each().find(ends);
    // Without a blank before it, what begins so may be a part of the value.
    let found = found.or_else(|| each().find(|(_, rest)| rest.starts_with('#')));
    match found {
        Some((value, _)) => Ok(value.to_owned()),
        None if each().next().is_some() => Err("text stands behind the quotes of the value"),
        None => Err("the quote of the value is not closed"),
    }
}

/// Whether that can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::read;

    /// 001/7.env.1
    #[test]
    fn variables_are_read_as_documented() {
        let check = |text: &str, expect: Result<&[(&str, &str)], &str>| {
            let found = read(text);
            let found = found.as_ref().map(|all| {
                let all = all.iter();
                all.map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect::<Vec<_>>()
            });
            let expect = expect.map(<[_]>::to_vec).map_err(str::to_owned);
            assert_eq!(found.map_err(Clone::clone), expect, "{text:?}");
        };
        check("", Ok(&[]));
        check(
            "\n# no\n  A=1\r\nexport B = two words \n",
            Ok(&[("A", "1"), ("B", "two words")]),
        );
        check(
            "A=\"x # y\" # z\nB='q\"'\nC=a#b # c\nD=",
            Ok(&[("A", "x # y"), ("B", "q\""), ("C", "a#b"), ("D", "")]),
        );
        check("A=1\nA=2", Ok(&[("A", "2")]));
        check(
            "A= # yours\nB=#none\nexport\tC=a\t# b # c\nexporter=1",
            Ok(&[("A", ""), ("B", ""), ("C", "a"), ("exporter", "1")]),
        );
        check("A=1\nsecret", Err("line 2 is not NAME=value"));
        check(
            "a-b=1",
            Err("line 1: the text before `=` is no name of a variable"),
        );
        // The text between the first quote and the last stays as it is.
        check(
            r##"A="{\"type\":\"x\"}"
B='it's me' # mine
C="say "hi" now"
D="a"# b
E="say "#hi" now""##,
            Ok(&[
                ("A", r#"{\"type\":\"x\"}"#),
                ("B", "it's me"),
                ("C", "say \"hi\" now"),
                ("D", "a"),
                ("E", "say \"#hi\" now"),
            ]),
        );
        check(
            "A=\"a\" b",
            Err("line 1: text stands behind the quotes of the value"),
        );
        check("A=\"", Err("line 1: the quote of the value is not closed"));
        check(
            "A=\"secret",
            Err("line 1: the quote of the value is not closed"),
        );
    }
}
