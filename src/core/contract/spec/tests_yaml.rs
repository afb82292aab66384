//! Tests of the oddities of YAML that are refused, and of bounds.

use std::fmt::Write as _;

use super::form::{Choice, RenderedDefault, Row};
use super::keys::FORMS;
use super::tests::{DEMO, parse, rules, small};
use crate::contract::ProviderType;

/// Each fault as `line:column rule`; where the file gives no tree, one is all there is.
#[test]
fn the_oddities_of_yaml_are_reported_at_their_positions() {
    let check = |text: &str, expect: &[&str]| {
        let errors = parse(text).unwrap_err().errors;
        let reported: Vec<String> = errors
            .iter()
            .map(|e| format!("{}:{} {}", e.line, e.column, e.rule))
            .collect();
        assert_eq!(reported, expect, "{text:?}");
    };
    check("task: a\n\ttools: b\n", &["2:1 a tab cannot indent"]);
    check("task: |\n\ta\n", &["2:1 a tab cannot indent"]);
    check("tools: {}\n\tmax_turns: 1\n", &["2:1 a tab cannot indent"]);
    check(
        "tools:\n  mcp: {}\n  \tb: 1\n",
        &["3:3 a tab cannot indent"],
    );
    check(
        "task: 'abc\n",
        &["1:7 the quote is not closed, or a line of its text is not indented"],
    );
    check(
        "task: \"abc\nsystem: x\n",
        &["1:7 the quote is not closed, or a line of its text is not indented"],
    );
    check("task: [1\n", &["1:7 unclosed bracket '['"]);
    check(
        "task: a\n  b: c\n",
        &["2:4 mapping values are not allowed in this context"],
    );
    check(
        "task: a: b\n",
        &["1:8 mapping values are not allowed in this context"],
    );
    check(
        "a: *nope\n",
        &["1:4 while parsing node, found unknown anchor"],
    );
    let twice = "2:1 the key `task` occurs twice";
    let missing = "1:1 the key `targets` is missing";
    check("task: a\ntask: b\n", &[missing, twice]);
    check("task: a\r\ntask: b\r\n", &[missing, twice]);
    check("\u{feff}task: a\ntask: b\n", &[missing, twice]);
    check(
        "{\"task\": \"x\", \"task\": \"y\"}",
        &[missing, "1:15 the key `task` occurs twice"],
    );
    let anchors = "anchors are not allowed";
    let tags = "tags are not allowed";
    let aliases = "aliases are not allowed";
    check("task: &x a\n", &[missing, &format!("1:7 {anchors}")]);
    check("task: !!str a\n", &[missing, &format!("1:7 {tags}")]);
    check(
        "task: &x !!str a\n",
        &[missing, &format!("1:7 {anchors}"), &format!("1:10 {tags}")],
    );
    // A bomb of aliases is refused, never unfolded.
    check(
        "metadata: {a: &a [x, x], b: &b [*a, *a], c: [*b, *b]}\n",
        &[
            missing,
            "1:12 unknown key `a`",
            &format!("1:15 {anchors}"),
            "1:26 unknown key `b`",
            &format!("1:29 {anchors}"),
            &format!("1:33 {aliases}"),
            &format!("1:37 {aliases}"),
            "1:42 unknown key `c`",
            &format!("1:46 {aliases}"),
            &format!("1:50 {aliases}"),
        ],
    );
    check(
        "task: a\n---\ntask: b\n",
        &[missing, "2:1 a file holds one document"],
    );
    check(
        "max_turns: x\r\n",
        &[missing, "1:12 expected a whole number, got `x`"],
    );
    check(
        &small("tools: {mcp: {fs: {command: x, args: {a: b}}}}"),
        &["3:38 expected a list, got a mapping"],
    );
    check(
        &small("sampling:\n  temperature:\n    - warm"),
        &["5:5 expected a finite number, got a list"],
    );
}

#[test]
fn a_long_list_of_keys_is_written_out_once() {
    let shown = parse("a: 1\nb: 2\n").unwrap_err().to_string();
    assert_eq!(shown.matches("known keys: ").count(), 1, "{shown}");
    assert_eq!(shown.matches("(as above)").count(), 1, "{shown}");
}

/// Together they are one expression: one that does not compile would find nothing.
#[test]
fn headers_that_are_secret_are_bounded() {
    let headers = |count: usize, bytes: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("{n:0>bytes$}")).collect();
        parse(&format!("{DEMO}redact: {{headers: {names:?}}}\n"))
    };
    assert_eq!(rules(headers(100, 256)), [] as [&str; 0]);
    for refused in [headers(101, 10), headers(2, 257)] {
        let rule = "redact.headers: at most 100 headers of at most 256 bytes";
        assert_eq!(rules(refused), [rule]);
    }
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract-file.md");
const END: &str = "<!-- end of keys -->";

/// Every table, by its name.
fn tables() -> Vec<(&'static str, String)> {
    let mut tables: Vec<(&str, Vec<Row>)> = Vec::new();
    for row in FORMS.iter().flat_map(|form| form.rows()) {
        match tables.last_mut() {
            Some((name, rows)) if *name == row.table => rows.push(row),
            _ => tables.push((row.table, vec![row])),
        }
    }
    tables
        .into_iter()
        .map(|(name, rows)| (name, rendered(&rows)))
        .collect()
}

fn rendered(rows: &[Row]) -> String {
    let by_type = rows.iter().any(|row| !row.only_for.is_empty());
    let mut out = if by_type {
        "| key | for | default | meaning |\n|---|---|---|---|\n".to_owned()
    } else {
        "| key | default | meaning |\n|---|---|---|\n".to_owned()
    };
    for row in rows {
        let types = if by_type {
            format!(" {} |", types(row.only_for))
        } else {
            String::new()
        };
        let (name, default_value, meaning) =
            (row.name, default_value(&row.default_value), row.meaning);
        writeln!(out, "| `{name}` |{types} {default_value} | {meaning} |").unwrap();
    }
    out
}

fn default_value(rendered: &RenderedDefault) -> String {
    match rendered {
        RenderedDefault::Text(words) => (*words).to_owned(),
        RenderedDefault::Value(serde_json::Value::String(word)) => format!("`{word}`"),
        RenderedDefault::Value(value) => value.to_string(),
    }
}

fn types(only_for: &[ProviderType]) -> String {
    let all = ProviderType::WORDS.iter();
    let (there, not): (Vec<_>, Vec<_>) = all.partition(|(_, known)| only_for.contains(known));
    let words = |list: &[&(&str, ProviderType)]| {
        let words: Vec<&str> = list.iter().map(|(word, _)| *word).collect();
        words.join(", ")
    };
    let reached = |list: &[&(&str, ProviderType)]| {
        let here = [ProviderType::Local, ProviderType::Scripted];
        !list.iter().any(|(_, known)| here.contains(known))
    };
    if there.is_empty() {
        "all".to_owned()
    } else if not.len() == 1 {
        format!("all but {}", words(&not))
    } else if reached(&there) && not.len() == 2 {
        "servers".to_owned()
    } else {
        words(&there)
    }
}

/// The page with its tables as the table of keys gives them.
fn with_tables(page: &str) -> String {
    let mut page = page.to_owned();
    for (name, table) in tables() {
        let begin = format!("<!-- keys: {name} -->\n");
        let (before, rest) = page
            .split_once(&begin)
            .unwrap_or_else(|| panic!("docs/contract-file.md has no place for the keys of {name}"));
        let (_, after) = rest.split_once(END).unwrap();
        page = format!("{before}{begin}{table}{END}{after}");
    }
    page
}

#[test]
fn the_tables_of_the_page_are_those_of_the_table_of_keys() {
    let rendered = std::fs::read_to_string(PAGE).unwrap();
    let generated = with_tables(&rendered);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(PAGE, &generated).unwrap();
    }
    let rendered = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        rendered == generated,
        "docs/contract-file.md is not what the table of keys gives: run the tests with UPDATE_SCHEMAS=1",
    );
    let places = rendered.matches("<!-- keys: ").count();
    assert_eq!(
        places,
        tables().len(),
        "a table of the page is none of the keys'"
    );
}
