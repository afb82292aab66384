//! Signed notes in every odd form: the three verifiers must draw the line between a note and none at the same place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use monolith_core::transcript::{SecretKey, checkpoint_line};
use monolith_core::transcript::{Tombstone, tombstone_line};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::damage::{Case, lines};
use super::signed::{checkpoint, entries, key};
use super::{compare, golden};

/// A signature line of a key that is not known here.
fn line(name: &str) -> String {
    format!("— {name} {}\n", BASE64.encode([7; 68]))
}

/// The golden run, and the note over its seal.
fn signed_run() -> (Vec<u8>, String) {
    let bytes = golden("core.valid_call");
    let last = entries(&bytes) as u64;
    let note = checkpoint(&bytes, last).sign(&key()).to_string();
    (bytes, note)
}

/// Returns texts to append to the note, and if it remains a note.
fn behind_the_note() -> Vec<(&'static str, String, bool)> {
    let encoded = BASE64.encode([7; 68]);
    let many = |n: usize| (0..n).map(|n| line(&format!("witness-{n}"))).collect();
    let of_size = |bytes: usize| format!("— w {}\n", BASE64.encode(vec![7; bytes]));
    let raw = |encoded: &str| format!("— w {encoded}\n");
    let mut table = vec![
        ("nothing", String::new(), true),
        ("63 more signatures", many(63), true),
        ("64 more signatures", many(64), false),
        ("a signature of 40 KiB", of_size(40 << 10), true),
        ("more than 64 KiB", of_size(49 << 10), false),
        ("one signature twice", line("w").repeat(2), true),
        ("five bytes", raw(&BASE64.encode([7; 5])), true),
        ("an id alone", raw(&BASE64.encode([7; 4])), false),
        ("no bytes", raw(""), false),
        ("no space before bytes", "— w\n".to_owned(), false),
        ("unused bits", raw("AAAAAAB="), false),
        ("no padding", raw("AAAAAAA"), false),
        ("more padding", raw("AAAAAAA=="), false),
        ("padding alone", raw("===="), false),
        ("padding within", raw("AAAA=AAAAAAA"), false),
        ("letters for addresses", raw("AAAA-_AAAAAA"), false),
        ("two spaces", format!("— w  {encoded}\n"), false),
        ("a space at the end", format!("— w {encoded} \n"), false),
        ("a tab at the end", format!("— w {encoded}\t\n"), false),
        ("a carriage return", format!("— w {encoded}\r\n"), false),
        ("no line feed", line("w").trim_end().to_owned(), false),
        ("an empty line", "\n".to_owned(), false),
        ("two empty lines", "\n\n".to_owned(), false),
        (
            "an empty line and a signature",
            format!("\n{}", line("w")),
            false,
        ),
        ("another dash", line("w").replace('—', "–"), false),
        ("no dash", line("w").replace("— ", ""), false),
        (
            "a no-break space",
            line("w").replace("— ", "—\u{a0}"),
            false,
        ),
        ("bytes behind the signature", "more\n".to_owned(), false),
    ];
    let names = [
        ("", false),
        (" ", false),
        ("a b", false),
        ("a+b", false),
        ("+", false),
        ("a\0b", false),
        ("a\tb", false),
        ("a\u{1b}b", false),
        ("a\u{1c}b", false),
        ("a\u{1f}b", false),
        ("a\u{7f}b", true),
        ("a\u{80}b", true),
        ("a\u{85}b", false),
        ("a\u{a0}b", false),
        ("a\u{ad}b", true),
        ("a\u{1680}b", false),
        ("a\u{180e}b", true),
        ("a\u{2000}b", false),
        ("a\u{200a}b", false),
        ("a\u{200b}b", true),
        ("a\u{2028}b", false),
        ("a\u{2029}b", false),
        ("a\u{202e}b", true),
        ("a\u{202f}b", false),
        ("a\u{205f}b", false),
        ("a\u{2060}b", true),
        ("a\u{3000}b", false),
        ("\u{feff}", true),
        ("a\u{1f600}b", true),
        ("\u{301}", true),
        ("witness.example/log", true),
        ("\u{2014}", true),
    ];
    table.extend(names.map(|(name, holds)| ("a name", line(name), holds)));
    table
}

fn case(what: &str, bytes: &[u8], line: &str, holds: bool) -> Case {
    let at = lines(bytes).len() as u64 + 1;
    let bytes = [bytes, line.as_bytes()].concat();
    if holds {
        Case::whole(what, bytes)
    } else {
        Case::damaged(what.to_owned(), bytes, at)
    }
}

#[test]
fn every_verifier_draws_the_line_of_a_note_at_the_same_place() {
    let (bytes, note) = signed_run();
    let (text, signatures) = note.split_once("\n\n").unwrap();
    let mut cases: Vec<Case> = behind_the_note()
        .into_iter()
        .map(|(what, more, holds)| {
            let line = checkpoint_line(&format!("{note}{more}"));
            case(&format!("{what}: {more:.40?}"), &bytes, &line, holds)
        })
        .collect();
    let mut refuse = |what: &str, note: &str| {
        cases.push(case(what, &bytes, &checkpoint_line(note), false));
    };
    refuse("no note", "");
    refuse("an empty line alone", "\n\n");
    refuse("no empty line", &note.replace("\n\n", "\n"));
    refuse("no signature", &format!("{text}\n\n"));
    refuse("no text", &format!("\n\n{signatures}"));
    refuse("an empty line more", &note.replace("\n\n", "\n\n\n"));
    refuse("carriage returns", &note.replace('\n', "\r\n"));
    refuse("a mark before the text", &format!("\u{feff}{note}"));
    refuse("a space behind the text", &note.replace("\n\n", " \n\n"));
    refuse(
        "the signature of another text",
        &note.replacen("outcome", "outcame", 1),
    );
    compare(&cases, false, &[key().public()]);
}

#[test]
fn a_reason_may_hold_any_text_for_every_verifier() {
    let bytes = golden("core.valid_call");
    let all = lines(&bytes);
    let first = all.iter().position(|line| line.starts_with(b"{\"blob\""));
    let (kept, blobs) = all.split_at(first.unwrap());
    let blob: serde_json::Value = serde_json::from_slice(blobs[0]).unwrap();
    let reasons = [
        "\u{2028}",
        "\u{2029}",
        "\u{85}",
        "\u{feff}",
        "\r\n\n",
        "\0",
        "\u{7f}",
        "\" \"",
        "\\",
        "\u{1f600}",
        "— a b",
    ];
    let seal = checkpoint(&bytes, entries(&bytes) as u64).sign(&key());
    let seal = checkpoint_line(&seal.to_string());
    let cases: Vec<Case> = reasons
        .into_iter()
        .map(|reason| {
            let stone = Tombstone {
                run_id: checkpoint(&bytes, 1).run_id,
                blob: blob["blob"].as_str().unwrap().parse().unwrap(),
                reason: reason.to_owned(),
                at_unix_ms: 0,
            };
            let stone = tombstone_line(&stone.sign(&key()).to_string());
            let kept = [kept.concat(), blobs[1..].concat()].concat();
            let bytes = [&kept, stone.as_bytes(), seal.as_bytes()].concat();
            Case::whole(&format!("{reason:?}"), bytes)
        })
        .collect();
    compare(&cases, false, &[key().public()]);
}

/// A place in the note, what is done there, and a character for it.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, char)>> {
    let odd = "\n\r\t\0 +=/—–a0A\u{7f}\u{85}\u{a0}\u{1c}\u{feff}\u{2028}\u{1f600}";
    let odd: Vec<char> = odd.chars().collect();
    let edit = (
        any::<prop::sample::Index>(),
        0..5_u8,
        prop::sample::select(odd),
    );
    prop::collection::vec(edit, 1..4)
}

fn edited(note: &str, edits: &[(prop::sample::Index, u8, char)]) -> String {
    let mut chars: Vec<char> = note.chars().collect();
    for (place, what, c) in edits {
        if chars.is_empty() {
            break;
        }
        let at = place.index(chars.len());
        match what {
            0 => chars.insert(at, *c),
            1 => chars[at] = *c,
            2 => drop(chars.remove(at)),
            3 => {
                let line: Vec<char> = line("w").chars().collect();
                let begin = chars[..at]
                    .iter()
                    .rposition(|c| *c == '\n')
                    .map_or(0, |at| at + 1);
                chars.splice(begin..begin, line);
            }
            _ => chars.truncate(at + 1),
        }
    }
    chars.into_iter().collect()
}

#[test]
fn notes_with_random_changes_are_judged_alike() {
    let (bytes, note) = signed_run();
    let stranger = SecretKey::from_seed("example", &[9; 32]).unwrap();
    let foreign = checkpoint(&bytes, entries(&bytes) as u64).sign(&stranger);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]);
    let mut runner =
        proptest::test_runner::TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let cases: Vec<Case> = (0..600)
        .map(|n| {
            let edits = edits().new_tree(&mut runner).unwrap().current();
            let whole = if n % 2 == 0 {
                note.clone()
            } else {
                foreign.to_string()
            };
            let changed = edited(&whole, &edits);
            let named = format!("{n}: {edits:?}: {changed:?}");
            let held = case(&named, &bytes, &checkpoint_line(&changed), true);
            let holds = super::library(&held, false, &[key().public()]).holds;
            Case { holds, ..held }
        })
        .collect();
    let whole = cases.iter().filter(|case| case.holds).count();
    assert!(
        (2..=500).contains(&whole),
        "{whole} of {} hold",
        cases.len()
    );
    compare(&cases, false, &[key().public()]);
}
