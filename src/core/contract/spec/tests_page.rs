//! The tables of `docs/contract-file.md`: made from the table of keys; the prose around them is written by hand.

use std::fmt::Write as _;

use super::form::{Choice, RenderedDefault, Row};
use super::keys::FORMS;
use crate::contract::ProviderType;

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
