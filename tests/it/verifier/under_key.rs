//! Signed files in every odd form, under the key that signed them: no verifier takes what another refuses.

use monolith_core::transcript::checkpoint_line;
use monolith_core::transcript::tombstone_line;

use super::damage::{Case, lines};
use super::signed::{self, checkpoint, entries, key, line, seal_after};
use super::{compare, golden};

/// Bytes to put before, into and behind a line.
const ODD: [&[u8]; 16] = [
    b"\0",
    b"\xef\xbb\xbf",
    b"\r",
    b" ",
    b"\t",
    b"\x0b",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\u0000",
    b"\\ud800",
    b"\\/",
    b"null",
    b"{}",
    b",",
];
/// Numbers that a reader may take for another, or for none.
const NUMBERS: [&str; 12] = [
    "-0",
    "-1",
    "01",
    "1e0",
    "1.0",
    "0.1",
    "1e999",
    "9007199254740993",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "true",
    "\"1\"",
];

/// A signed run with an earlier checkpoint, and one that lost a blob by design.
fn files() -> [(&'static str, Vec<u8>); 2] {
    let bytes = golden("core.valid_call");
    let third = checkpoint(&bytes, 3);
    let seal = line(&seal_after(&bytes, &[&third]), &key());
    let whole = [bytes.clone(), line(&third, &key()), seal].concat();
    [
        ("signed", whole),
        ("erased", signed::erased(&bytes).swap_remove(0).bytes),
    ]
}

/// The note of a deletion, as a store keeps it.
fn deletion() -> String {
    let text = format!(
        "monolith deletion v1\nlog 0123456789abcdef\nleaf none\nrun core.valid_call\nentries 3\nhead {}\nreason \"\"\ntime 1\n",
        "0".repeat(64)
    );
    key().sign_text(&text).unwrap().to_string()
}

fn damaged(name: &str, bytes: &[u8]) -> Vec<Case> {
    let all = lines(bytes);
    let mut cases = Vec::new();
    let mut put = |what: String, lines: &[Vec<u8>]| {
        let changed = lines.concat();
        assert_ne!(changed, bytes, "{what}");
        cases.push(Case::damaged(format!("{name}: {what}"), changed, None));
    };
    let whole: Vec<Vec<u8>> = all.iter().map(|line| line.to_vec()).collect();
    for (index, line) in all.iter().enumerate() {
        let number = index + 1;
        let mut with = |what: String, line: Vec<u8>| {
            let mut changed = whole.clone();
            changed[index] = line;
            put(format!("line {number}: {what}"), &changed);
        };
        let end = line.len() - 1;
        let text = String::from_utf8(line.to_vec()).unwrap();
        for (turn, odd) in ODD.iter().enumerate() {
            let within = (turn + 1) * end / (ODD.len() + 1);
            let at = (within..end)
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(end);
            for at in [0, at, end, end + 1] {
                let changed = [&line[..at], odd, &line[at..]].concat();
                with(format!("{odd:?} at {at}"), changed);
            }
        }
        let colon = |digits: &(usize, &str)| line[digits.0 - 1] == b':';
        let numbers = text
            .match_indices(|c: char| c.is_ascii_digit())
            .filter(colon);
        for ((at, _), other) in numbers.zip(NUMBERS.iter().cycle()).take(2 * NUMBERS.len()) {
            let rest = text[at..].trim_start_matches(|c: char| c.is_ascii_digit());
            with(
                format!("{other} at {at}"),
                format!("{}{other}{rest}", &text[..at]).into_bytes(),
            );
        }
        for (at, _) in text.match_indices("\":\"").take(4) {
            let start = text[..at].rfind('"').unwrap();
            let value = at + 3 + text[at + 3..].find('"').unwrap() + 1;
            let member = &text[start..value];
            let twice = format!("{}{member},{}", &text[..start], &text[start..]);
            with(format!("{member} twice"), twice.into_bytes());
            let first = text[at + 3..].chars().next().unwrap();
            let escaped = format!(
                "{}\\u{:04x}{}",
                &text[..at + 3],
                u32::from(first),
                &text[at + 3 + first.len_utf8()..]
            );
            with(format!("an escape at {at}"), escaped.into_bytes());
        }
        with(
            "a carriage return".to_owned(),
            [&line[..end], b"\r\n"].concat(),
        );
        let mut twice = whole.clone();
        twice.insert(index, line.to_vec());
        put(format!("line {number} twice"), &twice);
        for other in all.len().min(index + 1)..all.len().min(index + 4) {
            let mut swapped = whole.clone();
            swapped.swap(index, other);
            put(
                format!("lines {number} and {} swapped", other + 1),
                &swapped,
            );
        }
        let notes = [checkpoint_line(&deletion()), tombstone_line(&deletion())];
        for note in notes {
            let mut with_note = whole.clone();
            with_note.insert(index + 1, note.into_bytes());
            put(format!("a deletion behind line {number}"), &with_note);
        }
    }
    let returns: Vec<Vec<u8>> = all
        .iter()
        .map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
        .collect();
    put("carriage returns".to_owned(), &returns);
    let reversed: Vec<Vec<u8>> = whole.iter().rev().cloned().collect();
    put("reversed".to_owned(), &reversed);
    let last = whole.last().unwrap();
    for kept in [last.len() - 1, last.len() - 2, last.len() / 2, 1, 0] {
        let mut cut = whole.clone();
        cut.last_mut().unwrap().truncate(kept);
        put(format!("the last line cut after {kept}"), &cut);
    }
    cases
}

#[test]
fn signed_files_in_odd_forms_are_judged_alike_under_the_key() {
    let mut cases = Vec::new();
    for (name, bytes) in files() {
        cases.extend(damaged(name, &bytes));
        cases.push(Case::whole(name, bytes));
    }
    assert!(cases.len() >= 800, "{}", cases.len());
    compare(&cases, false, &[key().public()]);
}

/// Checkpoints that the same key has signed for another run say nothing of this one.
#[test]
fn checkpoints_of_another_run_are_refused_by_all_verifiers() {
    let other = golden("core.oversized_result");
    let bytes = golden("core.valid_call");
    let own = line(&checkpoint(&bytes, entries(&bytes) as u64), &key());
    let theirs: Vec<Vec<u8>> = (1..=entries(&other))
        .map(|at| line(&checkpoint(&other, at as u64), &key()))
        .collect();
    let mut cases = Vec::new();
    for (at, note) in theirs.iter().enumerate() {
        let what = format!("checkpoint {} of another run", at + 1);
        let alone = [&bytes, note.as_slice()].concat();
        cases.push(Case::damaged(format!("{what}, alone"), alone, None));
        let before = [&bytes, note.as_slice(), &own].concat();
        cases.push(Case::damaged(
            format!("{what}, before the seal's"),
            before,
            None,
        ));
        let behind = [&bytes, own.as_slice(), note].concat();
        cases.push(Case::damaged(
            format!("{what}, behind the seal's"),
            behind,
            None,
        ));
    }
    compare(&cases, false, &[key().public()]);
    compare(&cases, true, &[key().public()]);
}
