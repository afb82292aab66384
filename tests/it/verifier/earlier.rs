//! The seal's checkpoint counts and hashes those before it: none of them can be left out, added, doubled or moved.

use monolith_core::transcript::Checkpoint;

use super::damage::{Case, lines};
use super::signed::{checkpoint, entries, key, line, seal_after, stranger};
use super::{compare, golden};

/// Files with two earlier checkpoints, whole and forged.
fn cases(bytes: &[u8]) -> Vec<Case> {
    let [second, third, fourth] = [2, 3, 4].map(|at| checkpoint(bytes, at));
    let (two, three, four) = (
        line(&second, &key()),
        line(&third, &key()),
        line(&fourth, &key()),
    );
    let seal = line(&seal_after(bytes, &[&second, &third]), &key());
    let alone = line(&seal_after(bytes, &[]), &key());
    let at = lines(bytes).len() as u64 + 1;
    let with = |more: &[&[u8]]| [bytes, &more.concat()].concat();
    let theirs = line(&second, &stranger());
    let mut cases = vec![
        Case::whole("two earlier ones", with(&[&two, &three, &seal])),
        // What is signed at the seal is their text: who has signed them then is said by their own signatures.
        Case::whole("one by a stranger", with(&[&theirs, &three, &seal])),
        Case::whole("none earlier", with(&[&alone])),
    ];
    let mut put = |what: &str, more: &[&[u8]], line: u64| {
        cases.push(Case::damaged(format!("earlier: {what}"), with(more), line));
    };
    put("the first left out", &[&three, &seal], at + 1);
    put("the last left out", &[&two, &seal], at + 1);
    put("both left out", &[&seal], at);
    put("one doubled", &[&two, &two, &three, &seal], at + 1);
    put("both swapped", &[&three, &two, &seal], at + 1);
    put("one replaced", &[&two, &four, &seal], at + 2);
    put("one added", &[&two, &three, &four, &seal], at + 3);
    put("one added by a stranger", &[&theirs, &alone], at + 1);
    let swapped = line(&seal_after(bytes, &[&third, &second]), &key());
    put("hashed in another order", &[&two, &three, &swapped], at + 2);
    let whole = seal_after(bytes, &[&second, &third]).text();
    let (start, end) = whole.split_once("\ncheckpoints 2 ").unwrap();
    let hash = end.trim_end();
    let mut stated = |what: &str, last: &str| {
        let note = key().sign_text(&format!("{start}\n{last}")).unwrap();
        let note = monolith_core::transcript::checkpoint_line(&note.to_string()).into_bytes();
        put(what, &[&two, &three, &note], at + 2);
    };
    stated("no such line", "");
    stated("a number too large", &format!("checkpoints 3 {hash}\n"));
    stated("a number too small", &format!("checkpoints 1 {hash}\n"));
    stated("no number", &format!("checkpoints  {hash}\n"));
    let largest = u64::MAX;
    stated(
        "the largest number",
        &format!("checkpoints {largest} {hash}\n"),
    );
    stated(
        "a number of 30 digits",
        &format!("checkpoints {largest}0000000000 {hash}\n"),
    );
    stated(
        "another way to write the number",
        &format!("checkpoints 02 {hash}\n"),
    );
    stated(
        "another way to write the hash",
        &format!("checkpoints 2 {}\n", hash.to_uppercase()),
    );
    stated("no hash", "checkpoints 2\n");
    stated("the hash of nothing", &{
        let nothing = seal_after(bytes, &[]).text();
        let (_, nothing) = nothing.split_once("\ncheckpoints 0 ").unwrap();
        format!("checkpoints 2 {nothing}")
    });
    stated(
        "the line twice",
        &format!("checkpoints 2 {hash}\ncheckpoints 2 {hash}\n"),
    );
    stated("a line behind it", &format!("checkpoints 2 {hash}\nmore\n"));
    // Before the seal there is no such line.
    let early = Checkpoint {
        outcome: seal_after(bytes, &[]).outcome,
        ..second.clone()
    };
    put(
        "stated before the seal",
        &[&line(&early, &key()), &three, &seal],
        at,
    );
    let early = format!("{}checkpoints 0 {hash}\n", second.text());
    let early = key().sign_text(&early).unwrap().to_string();
    let early = monolith_core::transcript::checkpoint_line(&early).into_bytes();
    put("the line before the seal", &[&early, &three, &seal], at);
    cases
}

#[test]
fn an_earlier_checkpoint_that_is_left_out_added_or_moved_is_found_by_all_verifiers() {
    let bytes = golden("core.valid_call");
    assert!(entries(&bytes) > 5);
    let cases = cases(&bytes);
    assert!(cases.len() >= 20, "{}", cases.len());
    compare(&cases, false, &[key().public()]);
}

/// Without a seal nothing says which checkpoints there were: that is what the seal is for.
#[test]
fn checkpoints_of_a_run_in_progress_hold_with_and_without_one_another() {
    let bytes = golden("core.valid_call");
    let open: Vec<u8> = lines(&bytes)[..3].concat();
    let [one, two] = [1, 2].map(|at| line(&checkpoint(&bytes, at), &key()));
    let with = |more: &[&[u8]]| [&open, more.concat().as_slice()].concat();
    let cases = [
        Case::whole("open: both", with(&[&one, &two])),
        Case::whole("open: the first", with(&[&one])),
        Case::whole("open: the last", with(&[&two])),
    ];
    compare(&cases, true, &[key().public()]);
}
