//! The lists of sentences (corpus/sentences.yaml of the session contract, corpus/sentences_002.yaml of the machine's own,
//! corpus/sentences_001.yaml of agents' files, corpus/sentences_003.yaml of agents, corpus/sentences_004.yaml of work items) against what shows
//! them: cases of the corpus, Rust tests, and the tables of docs/audit/conformance.md.
//!
//! A Rust test shows a sentence by naming its id in its doc comment, a case by naming it under `session` or `machine`.
//! docs/audit/ai-agent.md lists each row of the guide with its state. `MONOLITH_BLESS=1` rewrites corpus/tests.yaml and the
//! tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use monolith_conformance::{Corpus, Coverage, CoveredSentence, CoveredSubject, SentenceKind};
use serde_json::Value;

use super::corpus::{REPORT, root, same_file};

/// The start of the tables in docs/audit/conformance.md; each ends with the next empty line.
const SESSION: &str = "| section | sentences | shown by | not shown |\n|---|---|---|---|\n";
const AGENTS: &str = "| section of 003 | sentences | shown by | not shown |\n|---|---|---|---|\n";
const FILES: &str = "| section of 001 | sentences | shown by | not shown |\n|---|---|---|---|\n";
const MACHINE: &str = "| section of 002 | sentences | shown by | not shown |\n|---|---|---|---|\n";
const WORK: &str = "| section of 004 | sentences | shown by | not shown |\n|---|---|---|---|\n";

/// The start of the tables in docs/audit/ai-agent.md: the rows of a section by state, and each row.
const GUIDE_COUNTS: &str =
    "| section of 001 | rows | exist | differ | missing |\n|---|---|---|---|---|\n";
const GUIDE_ROWS: &str = "| row | in our words | state | shown by |\n|---|---|---|---|\n";

/// The source contracts, if they are at hand.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/seeds");

/// Every sentence with what shows it, by the files as they stand.
static COVERAGE: LazyLock<Coverage> = LazyLock::new(|| {
    let mut corpus = Corpus::read(&root().join("corpus")).unwrap();
    corpus.sentences.tests = tests_yaml();
    corpus.coverage().unwrap()
});

/// corpus/tests.yaml as it must be: for each id the tests that name it.
fn tests_yaml() -> String {
    let mut by_test: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in ["src", "tests"] {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let file = path.strip_prefix(root()).unwrap().display().to_string();
            for (id, test) in named_in(&text) {
                let tests = by_test.entry(id).or_default();
                tests.insert(format!("{file}: {test}"));
            }
        }
    }
    let mut out =
        "# Which test names which sentence; derived (tests/it/session_contract.rs).\n".to_owned();
    for (id, tests) in by_test {
        writeln!(out, "{id}:").unwrap();
        for test in tests {
            writeln!(out, "- '{test}'").unwrap();
        }
    }
    out
}

pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
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
    const CONTRACTS: [&str; 5] = ["000/", "001/", "002/", "003/", "004/"];
    let mut named = Vec::new();
    for (test, words) in tests_in(text) {
        let words = words.iter().map(|word| {
            word.trim_start_matches('(')
                .trim_end_matches(['.', ';', ':'])
        });
        let ids = words.filter(|word| CONTRACTS.iter().any(|id| word.starts_with(id)));
        named.extend(ids.map(|id| (id.to_owned(), test.to_owned())));
    }
    named
}

/// The tests of a file, each with the words of its doc comment.
pub(super) fn tests_in(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut tests = Vec::new();
    let (mut words, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        if let Some(comment) = line.strip_prefix("///") {
            words.extend(comment.split(|c: char| c.is_whitespace() || c == ',' || c == ')'));
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else {
            let name = line.split_once("fn ").filter(|_| is_test);
            let words = std::mem::take(&mut words);
            if let Some((name, _)) = name.and_then(|(_, rest)| rest.split_once('(')) {
                tests.push((name, words));
            }
            is_test = false;
        }
    }
    tests
}

/// A row for each subject of a contract.
fn table(head: &str, contract: &str) -> String {
    let mut table = head.to_owned();
    let subjects = COVERAGE.subjects.iter();
    for subject in subjects.filter(|subject| subject.contract == contract) {
        let CoveredSubject { name, title, .. } = subject;
        // The sections of 003 have no numbers.
        let section = name
            .split_once('.')
            .map(|(section, _)| format!("§{section}"));
        let section = section.unwrap_or_else(|| "003".to_owned());
        let mut by: BTreeSet<String> = BTreeSet::new();
        for sentence in &subject.sentences {
            by.extend(sentence.cases.iter().map(|case| format!("`{}`", case.id)));
            let tests = sentence.tests.iter();
            by.extend(tests.map(|test| format!("`{}`", test.replace(": ", "` `"))));
        }
        let left = subject.sentences.iter().filter_map(|sentence| {
            let why = sentence.why.as_ref()?;
            let n = sentence.id.rsplit(['.', '-']).next()?;
            Some(format!("{n}: {why}"))
        });
        let by = by.into_iter().collect::<Vec<_>>().join(", ");
        let left = left.collect::<Vec<_>>().join("; ");
        let count = subject.sentences.len();
        writeln!(
            table,
            "| {section} {title} | `{contract}/{name}` 1–{count} | {by} | {left} |"
        )
        .unwrap();
    }
    table.replace("|  |", "| |").replace(" 1–1 |", " 1 |")
}

/// The state of a row of the guide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowState {
    Exists,
    Differs,
    Missing,
}

fn state_of(sentence: &CoveredSentence) -> RowState {
    match (&sentence.why, &sentence.differs) {
        (Some(_), _) => RowState::Missing,
        (None, Some(_)) => RowState::Differs,
        (None, None) => RowState::Exists,
    }
}

/// The subjects of the guide, each with the number of its section.
fn guide() -> impl Iterator<Item = (u32, &'static CoveredSubject)> {
    let subjects = COVERAGE.subjects.iter();
    let subjects = subjects.filter(|subject| subject.contract == "001");
    subjects.map(|subject| {
        let (section, _) = subject.name.split_once('.').unwrap();
        (section.parse().unwrap(), subject)
    })
}

fn guide_counts() -> String {
    let mut table = GUIDE_COUNTS.to_owned();
    let sections: BTreeSet<u32> = guide().map(|(section, _)| section).collect();
    for section in sections {
        let of_section = guide().filter(|(number, _)| *number == section);
        let sentences = of_section.flat_map(|(_, subject)| &subject.sentences);
        let states: Vec<RowState> = sentences.map(state_of).collect();
        let count = |state| states.iter().filter(|one| **one == state).count();
        let [exist, differ, missing] =
            [RowState::Exists, RowState::Differs, RowState::Missing].map(count);
        let rows = states.len();
        writeln!(
            table,
            "| §{section} | {rows} | {exist} | {differ} | {missing} |"
        )
        .unwrap();
    }
    table
}

fn guide_rows() -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('<', "\\<");
    let mut table = GUIDE_ROWS.to_owned();
    for sentence in guide().flat_map(|(_, subject)| &subject.sentences) {
        let CoveredSentence {
            differs,
            id,
            says,
            why,
            ..
        } = sentence;
        let state = match state_of(sentence) {
            RowState::Exists => "exists".to_owned(),
            RowState::Differs => format!("differs: {}", cell(differs.as_deref().unwrap())),
            RowState::Missing => format!("missing: {}", cell(why.as_deref().unwrap())),
        };
        let by = sentence.tests.iter();
        let by = by.map(|test| format!("`{}`", test.replace(": ", "` `")));
        let by = by.collect::<Vec<_>>().join(", ");
        writeln!(table, "| `{id}` | {} | {state} | {by} |", cell(says)).unwrap();
    }
    table.replace("|  |", "| |")
}

/// The page with `table` in the place of the one that begins with `head`; a table ends with an empty line.
fn with_table(page: &str, head: &str, table: &str) -> String {
    let (before, rest) = page.split_once(head).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{table}\n{after}")
}

#[test]
fn every_sentence_of_the_source_contracts_is_shown() {
    let coverage = &*COVERAGE;
    let of = |contract: &str| {
        let subjects = coverage.subjects.iter();
        let subjects = subjects.filter(|subject| subject.contract == contract);
        subjects.flat_map(|s| &s.sentences).count()
    };
    assert!(of("000") >= 230 && of("002") >= 170);
    assert!(of("001") >= 170);
    assert_eq!(of("003"), 22);
    assert!(of("004") >= 75);
    let sentences = || coverage.subjects.iter().flat_map(|s| &s.sentences);
    assert!(sentences().all(|sentence| sentence.kind != SentenceKind::Open));
    assert!(coverage.gaps.is_empty(), "{:#?}", coverage.gaps);
}

/// Returns the text in one line, without the signs of its layout.
fn plain(text: &str) -> String {
    let is_sign = |word: &str| {
        let number = word.strip_suffix('.');
        let is_number = number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        is_number || ["-", "❌", "✅"].contains(&word) || word.bytes().all(|b| b == b'#')
    };
    let mut words = Vec::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches("> ");
        let of_line = line.split_whitespace();
        words.extend(of_line.enumerate().filter_map(|(at, word)| {
            let is_layout = at == 0 && is_sign(word);
            (!is_layout).then(|| word.replace("**", ""))
        }));
    }
    words.join(" ")
}

/// The sentences that are quoted, by their ids.
fn quotes() -> BTreeMap<String, String> {
    let texts = Corpus::read(&root().join("corpus")).unwrap().sentences;
    let mut quotes = BTreeMap::new();
    let lists = [
        texts.session,
        texts.files,
        texts.machine,
        texts.agents,
        texts.work,
    ];
    for list in lists {
        let subjects: Vec<Value> = serde_saphyr::from_str(&list).unwrap();
        for listed in subjects
            .iter()
            .filter_map(|subject| subject["sentences"].as_array())
        {
            let pairs = listed.iter().filter_map(|sentence| {
                let id = sentence["id"].as_str()?.to_owned();
                Some((id, sentence["quote"].as_str()?.to_owned()))
            });
            quotes.extend(pairs);
        }
    }
    quotes
}

#[test]
fn sentences_that_our_words_could_soften_are_quoted() {
    let quotes = quotes();
    let subjects = "000/2.guard 000/3.rate-limit 000/3.network 000/3.malformed 000/3.cycling 000/4.llm 000/4.tool \
                    000/4.observable 002/4.adapter 002/4.message 002/4.invocation 002/5.predicates";
    for subject in subjects.split_whitespace() {
        let sentences = COVERAGE.subjects.iter().flat_map(|s| &s.sentences);
        let of_subject = sentences.filter(|s| s.id.starts_with(&format!("{subject}.")));
        let mut count = 0;
        for sentence in of_subject {
            assert!(quotes.contains_key(&sentence.id), "{}", sentence.id);
            count += 1;
        }
        assert!(count > 1, "{subject}");
    }
}

#[test]
fn every_quote_is_in_its_contract_word_by_word() {
    let quotes = quotes();
    let Ok(folder) = fs::read_dir(SOURCES) else {
        println!("skipped {} quotes: {SOURCES} is not there", quotes.len());
        return;
    };
    let sources: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    let text_of = |contract: &str| {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let source = sources
            .iter()
            .find(|path| name(path.as_path()).starts_with(contract));
        plain(&fs::read_to_string(source.unwrap()).unwrap())
    };
    let texts = ["000", "001", "002", "003", "004"].map(|contract| (contract, text_of(contract)));
    let texts = BTreeMap::from(texts);
    for (id, quote) in &quotes {
        let mut rest = texts[&id[..3]].as_str();
        for part in quote.split(" … ") {
            let Some((_, after)) = rest.split_once(&plain(part)) else {
                panic!("{id}: {part}");
            };
            rest = after;
        }
    }
    assert!(quotes.len() >= 230, "{}", quotes.len());
}

#[test]
fn every_case_of_a_session_names_the_sentences_that_it_shows() {
    let of_session = || REPORT.rows.iter().filter(|row| row.group == "session");
    let silent: Vec<&str> = of_session()
        .filter(|row| row.session.is_empty() && row.machine.is_empty())
        .map(|row| row.id.as_str())
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
    assert!(of_session().count() >= 90);
}

#[test]
fn the_list_of_tests_is_derived() {
    same_file(&root().join("corpus/tests.yaml"), &tests_yaml());
}

#[test]
fn the_tables_of_the_source_contracts_are_derived() {
    let path = root().join("docs/audit/conformance.md");
    let mut document = fs::read_to_string(&path).unwrap();
    for (head, contract) in [
        (SESSION, "000"),
        (FILES, "001"),
        (MACHINE, "002"),
        (AGENTS, "003"),
        (WORK, "004"),
    ] {
        document = with_table(&document, head, &table(head, contract));
    }
    same_file(&path, &document);
}

#[test]
fn the_page_on_the_guide_lists_each_row_with_its_state() {
    let path = root().join("docs/audit/ai-agent.md");
    let page = fs::read_to_string(&path).unwrap();
    let page = with_table(&page, GUIDE_COUNTS, &guide_counts());
    let page = with_table(&page, GUIDE_ROWS, &guide_rows());
    let sections: BTreeSet<u32> = guide().map(|(section, _)| section).collect();
    assert_eq!(sections, (1..=13).collect());
    same_file(&path, &page);
}

#[test]
fn only_a_test_names_sentences() {
    let comment = |rest: &str| format!("/// It holds (000/1.a.1, {}).\n{rest}", "002/2.b.2");
    let ids = |text: &str| {
        named_in(text)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    };
    let both = ["000/1.a.1", "002/2.b.2"];
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
