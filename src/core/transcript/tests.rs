//! Tests of verification: changed, cut, swapped and forged transcripts.

use super::sample::{SampleRun, action};
use super::sample_actions::full_action;
use super::sample_values::every_event;
use super::*;
use crate::kernel::{EntryDraft, EntryKind, State};
use crate::message::Digest;
use monolith_testkit::depth::bound;

fn verify(lines: &[Vec<u8>]) -> VerifyReport {
    verify_lines(lines, VerifyOptions::default())
}

/// Splits bytes as a reader of a file would: each line with its line feed.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn bad(report: &VerifyReport) -> &FirstBad {
    report.first_bad.as_ref().unwrap()
}

#[track_caller]
fn check_bad(lines: &[Vec<u8>], kind: FlawKind, line: u64, seq: Option<u64>) {
    let report = verify(lines);
    let bad = bad(&report);
    assert_eq!(
        (bad.kind, bad.line, bad.seq),
        (kind, Some(line), seq),
        "{report:#?}"
    );
    assert_eq!(report.level, "none");
    assert!(report.checks.iter().any(|c| !c.ok), "{report:#?}");
}

fn replaced(line: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(line).unwrap();
    assert!(text.contains(from), "{from} not in {text}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn plain_serialisation_of_recorded_values_is_rfc_8785_and_holds_no_float() {
    fn no_float(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Number(n) => !n.is_f64(),
            serde_json::Value::Array(items) => items.iter().all(no_float),
            serde_json::Value::Object(map) => map.values().all(no_float),
            _ => true,
        }
    }
    let check = |text: String| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap(), text);
        assert!(no_float(&value), "{text}");
    };
    for event in every_event() {
        let text = canonical::text_of(&Some(event.clone()));
        assert_eq!(canonical::decode("event", &text), Ok(Some(event)));
        check(text);
    }
    for action in [
        full_action(),
        action(0, EntryKind::Start, State::Precheck, State::Precheck),
    ] {
        let text = canonical::text_of(&action);
        assert_eq!(canonical::decode("action", &text), Ok(action));
        check(text);
    }
    check(canonical::text_of(&None::<crate::kernel::Event>));
}

/// Its hashes all hold, but no run of the machine produces it.
#[test]
fn a_contract_that_breaks_a_rule_gets_no_run_past_precheck() {
    let lines = SampleRun::without_tools("r-1").lines();
    check_bad(&lines, FlawKind::Tampered, 3, Some(1));
    let report = verify(&lines);
    assert!(
        bad(&report).actual.starts_with("tool_policy required"),
        "{report:#?}"
    );
}

/// Shows 002/7.overlays.1.
#[test]
fn a_written_run_reads_back_and_verifies() {
    let run = SampleRun::new("r-1");
    let lines = run.lines();
    let report = verify(&lines);
    assert_eq!(report.first_bad, None, "{report:#?}");
    assert_eq!(report.level, "L0");
    assert_eq!(report.entries, run.entries.len() as u64);
    assert_eq!(report.head, run.entries.last().map(|e| e.hash));
    let names: Vec<_> = report.checks.iter().map(|c| (c.name, c.ok)).collect();
    let expect = ["header", "contract", "entries", "chain", "seal", "blobs"];
    assert_eq!(names, expect.map(|name| (name, true)));
    for what in ["signature", "pinned heads", "witness", "replay"] {
        assert!(
            report.not_checked.iter().any(|n| n.starts_with(what)),
            "{what}"
        );
    }
    let mut reader = LineReader::new();
    for (line, entry) in lines.iter().skip(1).zip(&run.entries) {
        let Ok(Record::Entry(read)) = reader.read(line) else {
            panic!("not an entry")
        };
        assert_eq!((read.seq, read.hash), (entry.seq, entry.hash));
        assert_eq!(
            (read.action, read.event),
            (entry.action.as_str(), entry.event.as_str())
        );
        assert_eq!(Ok(read.decoded_action), entry.decode_action());
        assert_eq!(Ok(read.decoded_event), entry.decode_event());
    }
}

/// The verifier's state before each line: a change is judged from its line on, not from the start of the file.
fn states(lines: &[Vec<u8>]) -> Vec<LineVerifier> {
    let mut verifier = LineVerifier::new(VerifyOptions::default());
    let mut states = Vec::new();
    for line in lines {
        states.push(verifier.clone());
        assert!(verifier.line(line));
    }
    states
}

fn verify_from(mut verifier: LineVerifier, rest: &[u8]) -> VerifyReport {
    for line in split(rest) {
        if !verifier.line(&line) {
            break;
        }
    }
    verifier.finish()
}

/// Shows 002/6.adapter.3.
#[test]
fn every_changed_byte_is_found_in_its_line() {
    let lines = SampleRun::new("r-1").lines();
    let whole = lines.concat();
    let mut at = 0;
    for (number, (line, state)) in (1_u64..).zip(lines.iter().zip(states(&lines))) {
        for offset in (0..line.len()).step_by(bound(5, 1)) {
            let old = line[offset];
            for new in [old ^ 1, old ^ 0x20, old ^ 0x80, b'\n', b' ', b'0', b'"'] {
                if new == old {
                    continue;
                }
                let mut changed = whole[at..].to_vec();
                changed[offset] = new;
                let report = verify_from(state.clone(), &changed);
                let found = report.first_bad.as_ref().map(|bad| bad.line);
                let what = || format!("line {number} byte {offset}, {old} -> {new}: {report:#?}");
                assert_eq!(found, Some(Some(number)), "{}", what());
                let entry = number
                    .checked_sub(2)
                    .filter(|n| *n < report_entries(&lines));
                assert_eq!(bad(&report).seq, entry, "{}", what());
            }
        }
        at += line.len();
    }
}

fn report_entries(lines: &[Vec<u8>]) -> u64 {
    lines
        .iter()
        .filter(|l| l.starts_with(b"{\"action\":"))
        .count() as u64
}

#[test]
fn every_cut_of_the_tail_is_found() {
    let run = SampleRun::new("r-1");
    let lines = run.lines();
    let entries = usize::try_from(report_entries(&lines)).unwrap();
    let needed = [&run.blobs[3], &run.blobs[5]].map(|b| blob_line(Digest::of(b), b).into_bytes());
    for kept in 0..lines.len() {
        let report = verify(&lines[..kept]);
        let expect = match kept {
            0 => Some(FlawKind::Truncated),
            // TERMINATE is there, its seal is not.
            n if n == entries => Some(FlawKind::Truncated),
            n if n < entries => Some(FlawKind::Incomplete),
            n if lines[n..].iter().any(|l| needed.contains(l)) => Some(FlawKind::MissingBlob),
            // What may be left out is counted.
            _ => None,
        };
        let kind = report.first_bad.as_ref().map(|bad| bad.kind);
        assert_eq!(kind, expect, "{kept} lines: {report:#?}");
        let counted = report.not_checked.iter().any(|n| n.contains("not here"));
        assert_eq!(counted, expect.is_none(), "{kept} lines: {report:#?}");
    }
    for (line, state) in lines.iter().zip(states(&lines)) {
        for cut in 1..line.len() {
            let report = verify_from(state.clone(), &line[..cut]);
            assert_eq!(bad(&report).kind, FlawKind::Truncated, "{report:#?}");
        }
    }
}

#[test]
fn a_run_in_progress_is_accepted_only_where_asked_for() {
    let run = SampleRun::new("r-1");
    let lines = &run.lines()[..3];
    let open = VerifyOptions {
        open: true,
        ..VerifyOptions::default()
    };
    let report = verify_lines(lines, open);
    assert!(report.holds(), "{report:#?}");
    assert!(report.not_checked.iter().any(|n| n.starts_with("seal")));
    check_bad(lines, FlawKind::Incomplete, 3, Some(2));
    // A last step is one batch: an end without its seal is no run in progress.
    let ended = &run.lines()[..run.entries.len()];
    let report = verify_lines(ended, open);
    assert_eq!(bad(&report).kind, FlawKind::Truncated);
}

#[test]
fn swapped_dropped_and_doubled_lines_are_found() {
    let lines = SampleRun::new("r-1").lines();
    let mut swapped = lines.clone();
    swapped.swap(3, 4);
    check_bad(&swapped, FlawKind::Tampered, 4, Some(2));
    let mut dropped = lines.clone();
    dropped.remove(5);
    check_bad(&dropped, FlawKind::Tampered, 6, Some(4));
    let mut doubled = lines.clone();
    doubled.insert(5, lines[5].clone());
    check_bad(&doubled, FlawKind::Tampered, 7, Some(5));
    let mut blobs = lines.clone();
    let last = blobs.len() - 1;
    blobs.swap(last, last - 1);
    check_bad(&blobs, FlawKind::Tampered, lines.len() as u64, None);
    let mut headers = lines.clone();
    headers.insert(1, lines[0].clone());
    check_bad(&headers, FlawKind::Extended, 2, None);
}

#[test]
fn a_tail_spliced_from_another_run_is_found() {
    let lines = SampleRun::new("r-1").lines();
    let other = SampleRun::new("r-2").lines();
    for at in 1..=usize::try_from(report_entries(&lines)).unwrap() {
        let spliced = [&lines[..at], &other[at..]].concat();
        let number = at as u64 + 1;
        // Spliced from the first entry on, entry 0 names another run than the header does.
        let (line, seq) = if at == 1 {
            (1, None)
        } else {
            (number, Some(number - 2))
        };
        check_bad(&spliced, FlawKind::Tampered, line, seq);
    }
}

#[test]
fn nothing_may_follow_the_seal() {
    let mut run = SampleRun::new("r-1");
    let count = run.entries.len() as u64;
    let head = run.entries.last().unwrap().hash;
    let mut chain = Chain::resumed(run.contract.contract_hash(), head, count);
    let after = action(
        count,
        EntryKind::Ignored,
        State::Terminate,
        State::Terminate,
    );
    run.entries.push(chain.seal(&EntryDraft {
        action: after,
        event: None,
    }));
    check_bad(&run.lines(), FlawKind::Extended, count + 2, Some(count));
    let mut late = SampleRun::new("r-1").lines();
    let first = late[1].clone();
    late.push(first);
    let number = late.len() as u64;
    check_bad(&late, FlawKind::Extended, number, Some(count));
}

#[test]
fn a_seal_must_state_the_length_and_the_outcome_that_was_decided() {
    let rewrite = |change: &dyn Fn(&mut crate::kernel::Action)| {
        let mut run = SampleRun::new("r-1");
        let seal = run.entries.pop().unwrap();
        let before = run.entries.last().unwrap().hash;
        let mut chain = Chain::resumed(run.contract.contract_hash(), before, seal.seq);
        let mut action = seal.decode_action().unwrap();
        change(&mut action);
        run.entries.push(chain.seal(&EntryDraft {
            action,
            event: None,
        }));
        let report = verify(&run.lines());
        bad(&report).field.clone()
    };
    assert_eq!(rewrite(&|a| a.length = Some(3)), "action.length");
    assert_eq!(rewrite(&|a| a.length = None), "action.length");
    assert_eq!(rewrite(&|a| a.outcome = None), "action.outcome");
    let other = crate::kernel::AgentOutcome::CompletedChatOnly;
    assert_eq!(
        rewrite(&|a| a.outcome.as_mut().unwrap().class = other),
        "action.outcome"
    );
    assert_eq!(rewrite(&|a| a.from = State::Infer), "action.from");
    assert_eq!(rewrite(&|a| a.step_id = 0), "action.step_id");
    assert_eq!(rewrite(&|a| a.counters.calls = 1 << 53), "action");
}

/// A forger who recomputes every hash still has to keep the rules between neighbours.
#[test]
fn an_entry_must_follow_the_one_before_it() {
    let check = |change: &dyn Fn(&mut [EntryDraft]), expect: Option<(u64, &str)>| {
        let mut run = SampleRun::new("r-1");
        let draft = |entry: &SealedEntry| EntryDraft {
            action: entry.decode_action().unwrap(),
            event: entry.decode_event().unwrap(),
        };
        let mut drafts: Vec<EntryDraft> = run.entries.iter().map(draft).collect();
        change(&mut drafts);
        let mut chain = Chain::genesis(run.contract.contract_hash(), &run.run_id);
        run.entries = drafts.iter().map(|draft| chain.seal(draft)).collect();
        let report = verify(&run.lines());
        let found = report.first_bad.as_ref();
        let found = found.map(|bad| (bad.seq.unwrap(), bad.field.as_str()));
        assert_eq!(found, expect, "{report:#?}");
    };
    let last = SampleRun::new("r-1").entries.len() - 1;
    let seal = last as u64;
    check(&|_| (), None);
    check(
        &|d| d[0].action.from = State::Infer,
        Some((0, "action.from")),
    );
    check(
        &|d| {
            d[1].action.to = State::Terminate;
            d[2].action.from = State::Terminate;
        },
        Some((2, "action.kind")),
    );
    check(
        &|d| {
            d[last - 1].action.to = State::Commit;
            d[last].action.from = State::Commit;
        },
        Some((seal, "action.kind")),
    );
    check(
        &|d| d[last - 1].action.outcome = None,
        Some((seal, "action.outcome")),
    );
    check(
        &|d| d[last - 2].action.outcome = d[last - 1].action.outcome.take(),
        Some((seal, "action.outcome")),
    );
}

#[test]
fn a_line_that_is_not_its_canonical_dump_is_refused() {
    let lines = SampleRun::new("r-1").lines();
    let blob = lines.len() - 1;
    let check = |at: usize, from: &str, to: &str| {
        let mut changed = lines.clone();
        changed[at] = replaced(&lines[at], from, to);
        let report = verify(&changed);
        assert_eq!(bad(&report).line, Some(at as u64 + 1), "{to}: {report:#?}");
    };
    check(2, "\n", "\r\n");
    check(2, "{", "\u{feff}{");
    check(2, "{\"action\"", "{ \"action\"");
    check(2, "\"attempt\":1", "\"attempt\": 1");
    check(2, "\"attempt\":1", "\"attempt\":1.0");
    check(2, "\"attempt\":1", "\"attempt\":1,\"attempt\":1");
    check(2, "\"attempt\":1", "\"attempt\":1,\"attempts\":1");
    check(2, "\"at_ms\":10", "\"at_ms\":10,\"at_ms\":10");
    check(2, "\"seq\":1}\n", "\"seq\":1,\"seq\":1}\n");
    check(2, "\"seq\":1}\n", "\"seq\":1,\"sig\":1}\n");
    check(2, "\"seq\":1}\n", "\"seq\":1} \n");
    check(2, "\"detail\":\"HTTP", "\"detail\":\"\\u0048TTP");
    check(0, "\"format\":\"m", "\"format\":\"x\",\"format\":\"m");
    check(0, "\"max_turns\":6", "\"max_turns\":6,\"max_turns\":6");
    check(0, "\"max_turns\":6", "\"max_turns\":6,\"max_turnz\":6");
    check(0, "0.85", "0.850");
    check(0, "é", "e\u{301}");
    check(blob, "\"}\n", "\",\"extra\":1}\n");
    check(1, "{\"action\"", "{\"checkpoint\":1,\"action\"");
}

#[test]
fn formats_of_other_versions_are_refused_by_name() {
    let mut lines = SampleRun::new("r-1").lines();
    lines[0] = replaced(&lines[0], "monolith-transcript/1", "monolith-transcript/2");
    check_bad(&lines, FlawKind::UnknownVersion, 1, None);
    let mut lines = SampleRun::new("r-1").lines();
    lines[0] = replaced(&lines[0], "monolith-contract/1", "monolith-contract/2");
    check_bad(&lines, FlawKind::UnknownVersion, 1, None);
}

#[test]
fn a_missing_blob_is_found_at_the_entry_that_names_it() {
    let run = SampleRun::new("r-1");
    let needed = VerifyOptions {
        withheld: WithheldBlobs::Needed,
        ..VerifyOptions::default()
    };
    // The blobs: request, gated answer, gated text, tool result, request, answer.
    let named = [None, Some(2), Some(2), Some(4), None, Some(7)];
    for ((at, blob), named) in run.blobs.iter().enumerate().zip(named) {
        let mut without = SampleRun::new("r-1");
        without.blobs.remove(at);
        let report = verify_lines(without.lines(), needed);
        let found = report.first_bad.as_ref();
        assert_eq!(found.map(|bad| bad.seq), named.map(Some), "{report:#?}");
        if let Some(found) = found {
            assert_eq!(found.kind, FlawKind::MissingBlob);
            assert_eq!(found.expected, Digest::of(blob).to_string());
        }
        // An export leaves out what the token gate holds back, and reports it; requests can be made again.
        let report = verify(&without.lines());
        let text = |what| report.not_checked.iter().any(|n| n.starts_with(what));
        let gated = at == 1 || at == 2;
        assert_eq!(text("withheld: 1"), gated, "{report:#?}");
        assert_eq!(text("requests: 1"), named.is_none(), "{report:#?}");
        assert_eq!(report.holds(), gated || named.is_none(), "{report:#?}");
    }
}

#[test]
fn a_blob_that_no_entry_names_is_refused() {
    let mut run = SampleRun::new("r-1");
    run.blobs.push(b"nobody's".to_vec());
    let report = verify(&run.lines());
    assert_eq!(bad(&report).kind, FlawKind::Extended);
    assert_eq!(bad(&report).actual, Digest::of(b"nobody's").to_string());
}

#[test]
fn changed_blob_bytes_are_found_also_under_the_right_length() {
    let mut lines = SampleRun::new("r-1").lines();
    let at = lines.len() - 1;
    let changed = blob_line(Digest::of(b"request 1"), b"request 9");
    let old = Digest::of(b"request 1").to_string();
    let at = lines
        .iter()
        .position(|l| l.starts_with(format!("{{\"blob\":\"{old}").as_bytes()))
        .unwrap_or(at);
    lines[at] = changed.into_bytes();
    check_bad(&lines, FlawKind::Tampered, at as u64 + 1, None);
}
