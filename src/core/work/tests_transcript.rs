//! The transcript of an item as a file: it verifies with its receipt, and each change of it is found.

use super::testing::*;
use super::*;
use crate::transcript::{
    Chain, Checkpoint, FlawKind, LineVerifier, SealedMachineEntry, SealedOutcome, SecretKey,
    VerifyOptions, VerifyReport, blob_line, checkpoint_line, header_line, machine_entry_line,
    verify_lines,
};

/// An ended item with its chained entries and its receipt.
struct Sample {
    chain: Chain,
    entries: Vec<SealedMachineEntry>,
    receipt: Receipt,
    work: Work,
}

fn sample(item: WorkItem, events: Vec<WorkEventKind>) -> Sample {
    let (work, drafts) = driven(item, events);
    let mut chain = Chain::genesis(work.started().document().hash(), &id("work-1"));
    let entries = drafts.iter().map(|draft| draft.seal(&mut chain)).collect();
    let place = ReceiptPlace {
        previous: None,
        work_head: chain.head(),
    };
    let receipt = Receipt::of_work(&work, &facts(), &place).expect("every hash");
    Sample {
        chain,
        entries,
        receipt: receipt.expect("an end"),
        work,
    }
}

impl Sample {
    /// The lines of the file, without a checkpoint.
    fn lines(&self) -> Vec<String> {
        let document = self.work.started().document().canonical_text();
        let mut lines = vec![header_line(&document, &id("work-1"))];
        lines.extend(self.entries.iter().map(machine_entry_line));
        lines.push(blob_line(self.receipt.hash(), &self.receipt.to_bytes()));
        lines
    }
}

fn verify(lines: &[String]) -> VerifyReport {
    verify_lines(lines, VerifyOptions::default())
}

/// The field and the kind of the first flaw.
fn flaw(lines: &[String]) -> (String, FlawKind) {
    let bad = verify(lines).first_bad.expect("a flaw");
    (bad.field, bad.kind)
}

#[test]
fn the_transcript_of_an_item_verifies_with_its_receipt() {
    for (item, events, outcome) in [
        (item(), success(), "success (publishing)"),
        (
            untested(),
            vec![WorkEventKind::StopRequested],
            "failure (queued)",
        ),
    ] {
        let sample = sample(item, events);
        let report = verify(&sample.lines());
        assert_eq!(report.first_bad, None, "{report:#?}");
        assert_eq!(report.head, Some(sample.chain.head()));
        let seal = report.checks.iter().find(|check| check.name == "seal");
        assert_eq!(seal.expect("a seal").detail, outcome);
    }
}

#[test]
fn the_checkpoint_of_the_seal_states_status_and_state() {
    let sample = sample(item(), success());
    let last = sample.entries.last().expect("a seal");
    let outcome = last.sealed_outcome().expect("a seal").expect("its outcome");
    let expect = WorkOutcome {
        class: WorkStatus::Success,
        code: WorkState::Publishing,
    };
    assert_eq!(outcome, SealedOutcome::Work(expect));
    let text = serde_json::to_string(&outcome).expect("JSON");
    assert_eq!(text, r#"{"class":"success","code":"publishing"}"#);
    assert_eq!(
        serde_json::from_str::<SealedOutcome>(&text).expect("an outcome"),
        outcome
    );
    let due = Checkpoint::sealed_as(&sample.chain, &id("work-1"), Some(outcome)).due();
    assert!(due.ends_with("\noutcome success publishing\n"), "{due}");
    let key = SecretKey::from_seed("local", &[1; 32]).expect("a key");
    let note = Checkpoint::sealed_as(&sample.chain, &id("work-1"), Some(outcome)).sign(&key);
    let mut lines = sample.lines();
    lines.push(checkpoint_line(&note.to_string()));
    let mut verifier = LineVerifier::new(VerifyOptions::default());
    assert!(lines.iter().all(|line| verifier.line(line.as_bytes())));
    assert!(verifier.finish().holds());
}

#[test]
fn an_item_in_progress_is_incomplete_and_a_receipt_follows_an_end_only() {
    let sample = sample(item(), success());
    let lines = sample.lines();
    let (receipt, entries) = lines.split_last().expect("a receipt");
    assert_eq!(flaw(entries), ("blob".to_owned(), FlawKind::MissingBlob));
    let open = entries.split_last().expect("a seal").1;
    let is_open = VerifyOptions {
        open: true,
        ..VerifyOptions::default()
    };
    assert_eq!(verify_lines(open, is_open).first_bad, None);
    assert_eq!(flaw(open), ("seq".to_owned(), FlawKind::Incomplete));
    let with_receipt = [open, std::slice::from_ref(receipt)].concat();
    let bad = verify_lines(&with_receipt, is_open)
        .first_bad
        .expect("a flaw");
    assert_eq!((bad.field.as_str(), bad.kind), ("blob", FlawKind::Extended));
}

#[test]
fn the_kept_output_of_tests_is_a_blob_that_its_entry_names() {
    let output = b"5 passed";
    let end = TestEnd {
        exit_code: Some(0),
        failed: None,
        output: "5 passed".to_owned(),
        output_blob: Some(digest("5 passed")),
        output_digest: digest("5 passed"),
        passed: Some(5),
    };
    let tested = WorkEventKind::Tested(Box::new(end));
    let events = vec![prepared(), run_ended(2), compared(1), tested, published()];
    let lines = sample(item(), events).lines();
    let (receipt, entries) = lines.split_last().expect("a receipt");
    let blob = blob_line(digest("5 passed"), output);
    let mut blobs = [receipt.clone(), blob.clone()];
    // Their lines begin with their hashes.
    blobs.sort();
    assert_eq!(verify(&[entries, &blobs[..]].concat()).first_bad, None);
    let missing = |field: &str| (field.to_owned(), FlawKind::MissingBlob);
    assert_eq!(flaw(&lines), missing("event.output_blob"));
    assert_eq!(flaw(&[entries, &[blob][..]].concat()), missing("blob"));
}

/// Each receipt that is not the one of this transcript, and the field that shows it.
#[test]
fn a_receipt_of_another_item_or_another_end_is_refused() {
    let sample = sample(item(), success());
    let check = |receipt: &Receipt, field: &str| {
        let mut lines = sample.lines();
        lines.pop();
        lines.push(blob_line(receipt.hash(), &receipt.to_bytes()));
        assert_eq!(flaw(&lines), (field.to_owned(), FlawKind::Tampered));
    };
    let mut other = sample.receipt.clone();
    other.work_head = digest("another head");
    check(&other, "receipt.work_head");
    let mut other = sample.receipt.clone();
    other.work_id = id("work-2");
    check(&other, "receipt.work_id");
    let mut other = sample.receipt.clone();
    other.item.description = "something else".to_owned();
    check(&other, "receipt.item");
    let mut other = sample.receipt.clone();
    other.end.status = WorkStatus::Timeout;
    check(&other, "receipt.end");
    let mut lines = sample.lines();
    lines.pop();
    let text = format!("{} ", String::from_utf8_lossy(&sample.receipt.to_bytes()));
    lines.push(blob_line(digest(&text), text.as_bytes()));
    assert_eq!(flaw(&lines), ("receipt".to_owned(), FlawKind::Tampered));
}

#[test]
fn a_receipt_that_its_entries_do_not_give_is_none_of_the_item() {
    let sample = sample(item(), success());
    assert!(sample.receipt.is_of(&sample.work));
    let mut other = sample.receipt.clone();
    other.metrics.execution_time_ms = 7;
    assert!(!other.is_of(&sample.work));
    let mut other = sample.receipt.clone();
    other.count = 2;
    assert!(!other.is_of(&sample.work));
}

/// Each line with a changed word, and the first line that shows it.
#[test]
fn a_changed_line_is_found() {
    let sample = sample(item(), success());
    for (at, from, to) in [
        (0, "do it", "do this"),
        (0, "work-1", "work-2"),
        (1, "do it", "do this"),
        (2, "queued", "blocked"),
        (6, "\"success\"", "\"failure\""),
        (6, "\"length\":6", "\"length\":5"),
    ] {
        let mut lines = sample.lines();
        let changed = lines[at].replacen(from, to, 1);
        assert_ne!(changed, lines[at], "line {at} has {from}");
        lines[at] = changed;
        assert!(verify(&lines).first_bad.is_some(), "{from} in line {at}");
    }
}

/// A chain that somebody computed for entries that no item can have.
#[test]
fn an_end_that_is_no_seal_is_refused_under_a_valid_chain() {
    let sample = sample(untested(), vec![WorkEventKind::StopRequested]);
    let check = |from: &str, to: &str, check: &str| {
        let document = sample.work.started().document();
        let mut chain = Chain::genesis(document.hash(), &id("work-1"));
        let mut lines = vec![header_line(&document.canonical_text(), &id("work-1"))];
        for entry in &sample.entries {
            let text = entry.action.replace(from, to);
            let action: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let event: serde_json::Value = serde_json::from_str(&entry.event).expect("JSON");
            let state = action["to"].as_str().expect("a state").to_owned();
            let sealed = chain.seal_machine(entry.seq, &state, &action, Some(&event));
            lines.push(machine_entry_line(&sealed));
        }
        let report = verify(&lines);
        let failed = report.checks.iter().find(|found| !found.ok);
        assert_eq!(failed.expect("a flaw").name, check, "{report:#?}");
    };
    check(r#""kind":"seal""#, r#""kind":"noted""#, "entries");
    check(r#""length":2"#, r#""length":3"#, "seal");
    check(r#""status":"failure""#, r#""status":"denied""#, "seal");
    check(r#""from":"queued""#, r#""from":"blocked""#, "entries");
    check(r#""to":"failure""#, r#""to":"TERMINATE""#, "entries");
}

#[test]
fn stored_entries_fold_to_the_machine() {
    let sample = sample(item(), success());
    let mut fold = WorkFold::default();
    for entry in &sample.entries {
        fold.take(entry).expect("what the machine decides");
    }
    assert_eq!(fold.into_work(), Some(sample.work));
}
