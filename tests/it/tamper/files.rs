//! The damaged files of tests/tamper, and what each must end in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::message::Digest;
use monolith_core::transcript::{Chain, Checkpoint, Link, Tombstone, tombstone_line};
use monolith_core::transcript::{
    LineVerifier, PublicKey, SecretKey, Trust, VerifyOptions, checkpoint_line,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::verifier::{Case, compare};

/// The required verdict of `verify` on a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Expected {
    kind: String,
    line: Option<u64>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tamper")
}

fn key() -> SecretKey {
    SecretKey::from_seed("example", &[1; 32]).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

fn text(line: &[u8]) -> String {
    String::from_utf8(line.to_vec()).unwrap()
}

fn replaced(line: &[u8], from: &str, to: &str) -> Vec<u8> {
    let line = text(line);
    assert!(line.contains(from), "{from} stands in {line}");
    line.replacen(from, to, 1).into_bytes()
}

/// Recomputes every hash, like somebody who owns the whole file; returns the chain at its end.
fn chained_anew(lines: &mut [Vec<u8>]) -> Chain {
    let header: Value = serde_json::from_slice(&lines[0]).unwrap();
    let hash: Digest = header["contract"]["contract_hash"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let run_id = header["run_id"].as_str().unwrap().to_owned();
    let mut chain = Chain::genesis(hash, &run_id.try_into().unwrap());
    for line in lines
        .iter_mut()
        .filter(|line| line.starts_with(b"{\"action\":"))
    {
        let whole = text(line);
        let (action, rest) = whole["{\"action\":".len()..]
            .split_once(",\"event\":")
            .unwrap();
        let (event, end) = rest.rsplit_once(",\"hash\":\"").unwrap();
        let decoded: Value = serde_json::from_str(action).unwrap();
        let field = |name: &str| decoded[name].as_str().unwrap();
        let hash = chain.extend(&Link {
            action,
            adapter_version: field("adapter_version"),
            event,
            model_fingerprint: field("model_fingerprint"),
            model_profile_id: field("model_profile_id"),
            state: field("to"),
        });
        let end = &end[64..];
        *line =
            format!("{{\"action\":{action},\"event\":{event},\"hash\":\"{hash}{end}").into_bytes();
    }
    chain
}

/// The whole file: a golden transcript whose last blob is erased, signed at its seal.
fn whole_anew() -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1/core.valid_call.jsonl");
    let mut lines = lines(&fs::read(golden).unwrap());
    let chain = chained_anew(&mut lines);
    let header: Value = serde_json::from_slice(&lines[0]).unwrap();
    let run_id = header["run_id"].as_str().unwrap().to_owned();
    let run_id = monolith_core::message::RunId::try_from(run_id).unwrap();
    let blob: Value = serde_json::from_slice(&lines.pop().unwrap()).unwrap();
    let stone = Tombstone {
        run_id: run_id.clone(),
        blob: blob["blob"].as_str().unwrap().parse().unwrap(),
        reason: "asked for".to_owned(),
        at_unix_ms: 1_790_000_000_000,
    };
    let seal = lines.iter().rfind(|line| line.starts_with(b"{\"action\":"));
    let seal: Value = serde_json::from_slice(seal.unwrap()).unwrap();
    let outcome = serde_json::from_value(seal["action"]["outcome"].clone()).unwrap();
    let checkpoint = Checkpoint::of(&chain, &run_id, Some(outcome)).sign(&key());
    lines.push(tombstone_line(&stone.sign(&key()).to_string()).into_bytes());
    lines.push(checkpoint_line(&checkpoint.to_string()).into_bytes());
    lines.concat()
}

/// The attacks on a whole file, by name.
fn attacks(whole: &[u8]) -> BTreeMap<&'static str, Vec<u8>> {
    let all = lines(whole);
    let entries = all
        .iter()
        .filter(|line| line.starts_with(b"{\"action\":"))
        .count();
    let at = |start: &[u8]| all.iter().position(|line| line.starts_with(start)).unwrap();
    let (blob, stone, seal) = (
        at(b"{\"blob\":"),
        at(b"{\"tombstone\":"),
        at(b"{\"checkpoint\":"),
    );
    let edit = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut changed = all.clone();
        change(&mut changed);
        changed.concat()
    };
    let stranger = SecretKey::from_seed("example", &[2; 32]).unwrap();
    let resigned = |line: &[u8], by: &SecretKey, from: &str, to: &str| {
        let line: Value = serde_json::from_slice(line).unwrap();
        let note = line["tombstone"].as_str().or(line["checkpoint"].as_str());
        let (text, _) = note.unwrap().split_once("\n\n").unwrap();
        let note = by.sign_text(&format!("{}\n", text.replacen(from, to, 1)));
        note.unwrap().to_string()
    };
    BTreeMap::from([
        (
            "t01_edited_row_fail",
            edit(&|all| all[3] = replaced(&all[3], "\"seq\":2", "\"seq\":3")),
        ),
        (
            "t02_cut_before_the_end_fail",
            edit(&|all| all.truncate(entries - 2)),
        ),
        (
            "t02_cut_at_the_seal_fail",
            edit(&|all| all.truncate(entries)),
        ),
        (
            "t02_no_seal_under_a_checkpoint_fail",
            edit(&|all| drop(all.remove(entries))),
        ),
        (
            "t04_made_anew_under_the_old_signature_fail",
            edit(&|all| {
                all[1] = replaced(&all[1], "\"started_unix_ms\":", "\"started_unix_ms\":1");
                chained_anew(all);
            }),
        ),
        (
            "t06_entry_of_another_place_fail",
            edit(&|all| all.swap(3, 4)),
        ),
        (
            "t06_other_name_fail",
            edit(&|all| all[0] = replaced(&all[0], "\"run_id\":\"", "\"run_id\":\"x")),
        ),
        (
            "t07_moved_bytes_fail",
            edit(&|all| all[3] = replaced(&all[3], ",\"event\":", " ,\"event\":")),
        ),
        (
            "t08_second_way_to_write_fail",
            edit(&|all| {
                all[3] = replaced(&all[3], "\"step_id\":1", "\"step_id\":1.0");
                chained_anew(all);
            }),
        ),
        (
            "t09_edited_blob_fail",
            edit(&|all| all[blob] = replaced(&all[blob], "\"bytes\":\"e", "\"bytes\":\"f")),
        ),
        ("t09_missing_blob_fail", edit(&|all| drop(all.remove(blob)))),
        (
            "t12_signed_over_another_text_fail",
            edit(&|all| {
                let note = resigned(&all[seal], &key(), "outcome ", "outcome open ");
                all[seal] = checkpoint_line(&note).into_bytes();
            }),
        ),
        (
            "t14_missing_tombstone_fail",
            edit(&|all| drop(all.remove(stone))),
        ),
        (
            "t14_tombstone_beside_the_blob_fail",
            edit(&|all| {
                let blob: Value = serde_json::from_slice(&all[blob]).unwrap();
                let gone: Value = serde_json::from_slice(&all[stone]).unwrap();
                let gone = gone["tombstone"]
                    .as_str()
                    .unwrap()
                    .split('\n')
                    .nth(2)
                    .unwrap()
                    .to_owned();
                let here = format!("blob {}", blob["blob"].as_str().unwrap());
                let note = resigned(&all[stone], &key(), &gone, &here);
                all[stone] = tombstone_line(&note).into_bytes();
            }),
        ),
        (
            "t14_forged_tombstone_fail",
            edit(&|all| all[stone] = replaced(&all[stone], "asked for", "never asked")),
        ),
        (
            "t14_tombstone_of_another_run_fail",
            edit(&|all| {
                let note = resigned(&all[stone], &stranger, "\nrun ", "\nrun x");
                all[stone] = tombstone_line(&note).into_bytes();
            }),
        ),
        (
            "t16_an_entry_behind_the_seal_fail",
            edit(&|all| {
                let again = all[entries].clone();
                all.insert(entries + 1, again);
            }),
        ),
    ])
}

fn judged(bytes: &[u8], keys: Vec<PublicKey>) -> Option<Expected> {
    let trust = Trust {
        keys,
        signature_required: true,
        ..Trust::default()
    };
    let mut verifier = LineVerifier::new(VerifyOptions::default()).trusting(Arc::new(trust));
    for line in lines(bytes) {
        if !verifier.line(&line) {
            break;
        }
    }
    verifier.finish().first_bad.map(|bad| {
        let kind = serde_json::to_value(bad.kind).unwrap();
        Expected {
            kind: kind.as_str().unwrap().to_owned(),
            line: bad.line,
        }
    })
}

#[test]
fn every_kept_attack_ends_as_expected() {
    let bless = std::env::var_os("MONOLITH_BLESS").is_some();
    let path = |name: &str| folder().join(name);
    if bless {
        fs::write(path("whole.jsonl"), whole_anew()).unwrap();
        fs::write(path("example.key"), format!("{}\n", key().public())).unwrap();
    }
    let whole = fs::read(path("whole.jsonl")).unwrap();
    let attacks = attacks(&whole);
    let keys = || vec![key().public()];
    assert_eq!(judged(&whole, keys()), None);
    if bless {
        let judged = attacks
            .iter()
            .map(|(name, bytes)| (*name, judged(bytes, keys()).unwrap()));
        let expected: BTreeMap<&str, Expected> = judged.collect();
        let expected = serde_json::to_string_pretty(&expected).unwrap();
        fs::write(path("expected.json"), format!("{expected}\n")).unwrap();
        for (name, bytes) in &attacks {
            fs::write(path(&format!("{name}.jsonl")), bytes).unwrap();
        }
    }
    let expected = fs::read_to_string(path("expected.json")).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&expected).unwrap();
    let mut kept: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix("_fail.jsonl")?.to_owned() + "_fail")
        })
        .collect();
    kept.sort();
    assert!(kept.iter().eq(expected.keys()), "{kept:?}");
    assert!(kept.iter().eq(attacks.keys()), "{kept:?}");
    let mut cases = vec![Case::whole("whole", whole)];
    for (name, expected) in &expected {
        let file = path(&format!("{name}.jsonl"));
        let bytes = fs::read(&file).unwrap();
        assert_eq!(
            bytes,
            attacks[name.as_str()],
            "{name} is not what its attack makes"
        );
        assert_eq!(judged(&bytes, keys()).as_ref(), Some(expected), "{name}");
        let (file, key) = (file.to_str().unwrap(), path("example.key"));
        let key = key.to_str().unwrap();
        let (code, report) = crate::fixture::Fixture::new().json(&["verify", file, "--key", key]);
        assert_eq!(code, 7, "{name}");
        let bad = &report["first_bad"];
        assert_eq!(
            (bad["kind"].as_str(), bad["line"].as_u64()),
            (Some(expected.kind.as_str()), expected.line),
            "{name}"
        );
        cases.push(Case::damaged(name.clone(), bytes, None));
    }
    compare(&cases, false, &keys());
}
