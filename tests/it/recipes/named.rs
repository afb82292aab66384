//! Every command that a document names is one of the binary's, with the options that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, text};

/// The commands of a document: pieces of code and lines of fences that begin with `monolith`, up to what a shell would read.
fn commands(document: &str) -> BTreeSet<Vec<String>> {
    let (mut fenced, mut found) = (false, Vec::new());
    for line in document.lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let bare = bare.strip_prefix("$ ").unwrap_or(bare);
            found.push(
                bare.strip_prefix("cargo run -- ")
                    .map_or(bare.to_owned(), |rest| format!("monolith {rest}")),
            );
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let of_monolith = found
        .iter()
        .filter_map(|text| text.strip_prefix("monolith "));
    of_monolith
        .map(|rest| {
            let quoted = rest
                .split(['"', '\''])
                .step_by(2)
                .collect::<Vec<_>>()
                .join("…");
            let words = quoted.split_whitespace();
            let ends = |word: &&str| !["|", ";", "#", "&&", "||", ">", "2>", "·"].contains(word);
            words
                .take_while(ends)
                .map(|word| word.trim_end_matches(';').to_owned())
                .collect()
        })
        .collect()
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md")];
    for folder in ["docs", "docs/audit", "docs/recipes"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    files
}

/// The help of commands, each asked once.
struct Helps {
    fixture: Fixture,
    known: BTreeMap<String, Option<String>>,
}

impl Helps {
    fn of(&mut self, words: &[String]) -> Option<String> {
        let fixture = &self.fixture;
        let ask = || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = fixture
                .command(&[&words, &["--help"][..]].concat())
                .output()
                .unwrap();
            output.status.success().then(|| text(&output.stdout))
        };
        self.known
            .entry(words.join(" "))
            .or_insert_with(ask)
            .clone()
    }
}

/// Returns why a command is invalid; `None` if it is valid.
fn flaw(command: &[String], helps: &mut Helps) -> Option<String> {
    let verb = |word: &&String| {
        word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
    };
    let verbs = command.iter().take_while(verb).count();
    let first = command.first()?;
    let signed_text = command.get(1).is_some_and(|word| word == "v1");
    if verbs == 0 || signed_text {
        // `monolith COMMAND`, `monolith --version`, and the first line of what is signed.
        return None;
    }
    let deepest = (1..=verbs.min(2))
        .rev()
        .find_map(|n| helps.of(&command[..n]));
    let Some(help) = deepest else {
        return Some(format!("there is no command {first}"));
    };
    let options = command
        .iter()
        .flat_map(|word| word.split('|'))
        .filter_map(|word| word.trim_matches(['[', ']']).split('=').next());
    let unknown = options
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .find(|option| {
            let mut words = help.split(|c: char| c.is_whitespace() || c == ',' || c == '=');
            !words.any(|word| word == *option)
        });
    unknown.map(|option| format!("it has no {option}"))
}

#[test]
fn every_command_of_a_document_is_one() {
    let mut helps = Helps {
        fixture: Fixture::new(),
        known: BTreeMap::new(),
    };
    let (mut flaws, mut count) = (Vec::new(), 0);
    for file in documents() {
        for command in commands(&std::fs::read_to_string(&file).unwrap()) {
            count += 1;
            if let Some(flaw) = flaw(&command, &mut helps) {
                flaws.push(format!(
                    "{}: monolith {}: {flaw}",
                    file.display(),
                    command.join(" ")
                ));
            }
        }
    }
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
    assert!(count > 100, "{count} commands");
}

#[test]
fn a_command_that_is_none_is_found() {
    let mut helps = Helps {
        fixture: Fixture::new(),
        known: BTreeMap::new(),
    };
    let mut check = |document: &str, expect: Option<&str>| {
        let found = commands(document);
        let flaws: Vec<String> = found
            .iter()
            .filter_map(|command| flaw(command, &mut helps))
            .collect();
        assert_eq!(flaws.first().map(String::as_str), expect, "{document}");
    };
    check("`monolith show last --why`", None);
    check("`monolith shew last`", Some("there is no command shew"));
    check(
        "```sh\n$ monolith show last --whi | tail -1\n```",
        Some("it has no --whi"),
    );
    check("`monolith contract check FILE --json`", None);
    check(
        "```\ncargo run -- log prove --deeply\n```",
        Some("it has no --deeply"),
    );
    check("`monolith run \"do --this\"`", None);
}
