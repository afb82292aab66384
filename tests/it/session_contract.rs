//! corpus/sentences.yaml against what shows its sentences: cases of the corpus, Rust tests, and the table of docs/conformance.md.
//!
//! A Rust test shows a sentence by naming its id in its doc comment, a case by naming it under `session`. `MONOLITH_BLESS=1` writes
//! the table anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::corpus::{REPORT, root, same_file};

/// Where the table begins in docs/conformance.md; it ends with the next line that is empty.
const TABLE: &str = "| section | sentences | shown by | not shown |\n|---|---|---|---|\n";

/// The sentences of one subject.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    /// `<section of 000>.<subject>`.
    #[serde(rename = "subject")]
    name: String,
    title: String,
    sentences: Vec<Sentence>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentence {
    id: String,
    #[serde(default)]
    kind: Kind,
    says: String,
    /// Why nothing shows it.
    #[serde(default)]
    why: Option<String>,
    /// What monolith does otherwise on purpose, and why.
    #[serde(default)]
    differs: Option<String>,
}

/// How a sentence is shown.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Case,
    Test,
    /// Nobody can observe it.
    None,
    /// Not built yet.
    Open,
}

/// Ids of sentences, and what names them.
#[derive(Default)]
struct Shown {
    by_case: BTreeMap<String, BTreeSet<String>>,
    by_test: BTreeMap<String, BTreeSet<String>>,
}

impl Shown {
    fn cases(&self, id: &str) -> impl Iterator<Item = &String> {
        self.by_case.get(id).into_iter().flatten()
    }

    fn tests(&self, id: &str) -> impl Iterator<Item = &String> {
        self.by_test.get(id).into_iter().flatten()
    }
}

fn subjects() -> Vec<Subject> {
    let text = fs::read_to_string(root().join("corpus/sentences.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

fn shown() -> Shown {
    let mut shown = Shown::default();
    for row in &REPORT.rows {
        for id in &row.session {
            let cases = shown.by_case.entry(id.clone()).or_default();
            cases.insert(row.id.clone());
        }
    }
    for folder in ["src", "tests"] {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let file = path.strip_prefix(root()).unwrap().display().to_string();
            for (id, test) in named_in(&text) {
                let tests = shown.by_test.entry(id).or_default();
                tests.insert(format!("{file}: {test}"));
            }
        }
    }
    shown
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The ids in the doc comments of tests, each with the name of its test. A comment of anything else names none.
fn named_in(text: &str) -> Vec<(String, String)> {
    let mut named = Vec::new();
    let (mut ids, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        if let Some(comment) = line.strip_prefix("///") {
            let words = comment.split(|c: char| c.is_whitespace() || c == ',' || c == ')');
            let words = words.map(|word| word.trim_start_matches('(').trim_end_matches(['.', ';']));
            ids.extend(
                words
                    .filter(|word| word.starts_with("000/"))
                    .map(str::to_owned),
            );
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else {
            let name = line.split_once("fn ").filter(|_| is_test);
            if let Some((name, _)) = name.and_then(|(_, rest)| rest.split_once('(')) {
                named.extend(ids.iter().map(|id: &String| (id.clone(), name.to_owned())));
            }
            ids.clear();
            is_test = false;
        }
    }
    named
}

/// Everything that is wrong with sentences and what shows them; empty is good.
fn flaws(subjects: &[Subject], shown: &Shown) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut known = BTreeSet::new();
    for subject in subjects {
        for (sentence, n) in subject.sentences.iter().zip(1..) {
            let id = &sentence.id;
            known.insert(id.as_str());
            let mut must = |holds: bool, what: &str| {
                if !holds {
                    flaws.push(format!("{id} {what}"));
                }
            };
            must(
                *id == format!("000/{}.{n}", subject.name),
                "is not the next id of its subject",
            );
            must(sentence.says.ends_with(['.', ';']), "says no sentence");
            let differs = sentence.differs.as_ref();
            must(
                differs.is_none_or(|why| why.ends_with('.')),
                "differs without a reason",
            );
            let unseen = matches!(sentence.kind, Kind::None | Kind::Open);
            must(
                sentence.why.is_some() == unseen,
                "says why exactly where nothing shows it",
            );
            let (cases, tests) = (shown.cases(id).count(), shown.tests(id).count());
            match sentence.kind {
                Kind::Case => must(cases > 0, "is shown by no case"),
                Kind::Test => must(tests > 0, "is named by no test"),
                Kind::None | Kind::Open => must(
                    cases + tests == 0,
                    "is shown: it is neither open nor unseen",
                ),
            }
        }
    }
    let named = shown.by_case.iter().chain(&shown.by_test);
    for (id, by) in named.filter(|(id, _)| !known.contains(id.as_str())) {
        flaws.push(format!("{by:?} name {id}, which is no sentence"));
    }
    flaws
}

/// A row for each subject.
fn table(subjects: &[Subject], shown: &Shown) -> String {
    let mut table = TABLE.to_owned();
    for Subject {
        name: subject,
        title,
        sentences,
    } in subjects
    {
        let section = subject.split('.').next().unwrap_or_default();
        let mut by: BTreeSet<String> = BTreeSet::new();
        for sentence in sentences {
            let cases = shown.cases(&sentence.id).map(|case| format!("`{case}`"));
            by.extend(cases);
            let tests = shown.tests(&sentence.id);
            by.extend(tests.map(|test| format!("`{}`", test.replace(": ", "` `"))));
        }
        let left = sentences.iter().filter_map(|sentence| {
            let why = sentence.why.as_ref()?;
            let n = sentence.id.rsplit('.').next()?;
            Some(format!("{n}: {why}"))
        });
        let by = by.into_iter().collect::<Vec<_>>().join(", ");
        let left = left.collect::<Vec<_>>().join("; ");
        let count = sentences.len();
        writeln!(
            table,
            "| §{section} {title} | `000/{subject}` 1–{count} | {by} | {left} |"
        )
        .unwrap();
    }
    table.replace("|  |", "| |").replace(" 1–1 |", " 1 |")
}

#[test]
fn every_sentence_of_the_session_contract_is_shown() {
    let (subjects, shown) = (subjects(), shown());
    let sentences = || subjects.iter().flat_map(|subject| &subject.sentences);
    let of = |kind: Kind| sentences().filter(|sentence| sentence.kind == kind).count();
    println!(
        "{} sentences: {} shown by cases, {} by tests, {} that nobody can observe, {} open",
        sentences().count(),
        of(Kind::Case),
        of(Kind::Test),
        of(Kind::None),
        of(Kind::Open)
    );
    let flaws = flaws(&subjects, &shown);
    assert!(flaws.is_empty(), "{flaws:#?}");
}

#[test]
fn every_case_of_a_session_names_the_sentences_that_it_shows() {
    let of_session = || REPORT.rows.iter().filter(|row| row.group == "session");
    let silent: Vec<&str> = of_session()
        .filter(|row| row.session.is_empty())
        .map(|row| row.id.as_str())
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
    assert!(of_session().count() >= 90);
}

#[test]
fn the_table_of_the_session_contract_is_derived() {
    let path = root().join("docs/conformance.md");
    let document = fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(TABLE).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let table = table(&subjects(), &shown());
    same_file(&path, &format!("{before}{table}\n{after}"));
}

#[test]
fn what_is_wrong_with_a_sentence_is_found() {
    let check = |sentence: &str, cases: &[&str], expect: &str| {
        let text = format!("- subject: 1.a\n  title: a\n  sentences: [{{{sentence}}}]\n");
        let subjects: Vec<Subject> = serde_saphyr::from_str(&text).unwrap();
        let mut shown = Shown::default();
        for id in cases {
            let by = BTreeSet::from(["session/a".to_owned()]);
            shown.by_case.insert((*id).to_owned(), by);
        }
        let found = flaws(&subjects, &shown);
        let expect: Vec<&str> = Some(expect).into_iter().filter(|e| !e.is_empty()).collect();
        assert_eq!(found, expect, "{sentence}");
    };
    check("id: 000/1.a.1, says: A.", &["000/1.a.1"], "");
    check(
        "id: 000/1.a.1, says: A.",
        &[],
        "000/1.a.1 is shown by no case",
    );
    check(
        "id: 000/1.a.1, says: A., kind: test",
        &["000/1.a.1"],
        "000/1.a.1 is named by no test",
    );
    check(
        "id: 000/1.a.2, says: A.",
        &["000/1.a.2"],
        "000/1.a.2 is not the next id of its subject",
    );
    check(
        "id: 000/1.a.1, says: a",
        &["000/1.a.1"],
        "000/1.a.1 says no sentence",
    );
    check(
        "id: 000/1.a.1, says: A., differs: so",
        &["000/1.a.1"],
        "000/1.a.1 differs without a reason",
    );
    check(
        "id: 000/1.a.1, says: A., kind: none",
        &[],
        "000/1.a.1 says why exactly where nothing shows it",
    );
    check(
        "id: 000/1.a.1, says: A., kind: open, why: later",
        &["000/1.a.1"],
        "000/1.a.1 is shown: it is neither open nor unseen",
    );
    check(
        "id: 000/1.a.1, says: A.",
        &["000/1.a.1", "000/1.b.1"],
        "{\"session/a\"} name 000/1.b.1, which is no sentence",
    );
}

#[test]
fn only_a_test_names_sentences() {
    let comment = |rest: &str| format!("/// It holds (000/1.a.1, {}).\n{rest}", "000/2.b.2");
    let ids = |text: &str| {
        named_in(text)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    };
    let both = ["000/1.a.1", "000/2.b.2"];
    assert_eq!(ids(&comment("#[test]\nfn a() {}")), both);
    assert_eq!(
        ids(&comment(
            "#[tokio::test(start_paused = true)]\nasync fn a() {}"
        )),
        both
    );
    assert!(ids(&comment("fn a() {}\n#[test]\nfn b() {}")).is_empty());
    assert!(ids(&comment("#[derive(Clone)]\nstruct A;")).is_empty());
}
