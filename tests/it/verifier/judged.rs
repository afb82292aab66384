//! The worth of a transcript to a reader who has keys, heads noted earlier and witnesses: the exported page judges it as the
//! library does.

use std::sync::Arc;

use ed25519_dalek::{Signer as _, SigningKey};
use monolith_core::message::Digest;
use monolith_core::transcript::{
    KeyRing, LineVerifier, Note, Pin, SecretKey, Trust, VerifyOptions, checkpoint_line,
};
use monolith_core::transcript::{TreeHead, tombstone_line};
use serde_json::{Value, json};

use super::damage::lines;
use super::node::{HAS_NODE, SOURCES, node};
use super::signed::{checkpoint, entries, seal_after};
use super::{golden, signed};

/// Prints the level of each case, or the kind of its first flaw.
const JUDGE: &str = r"
(async () => {
  for (const { file, keys, pins, witnesses } of CASES) {
    try {
      const verifier = new transcript.Verifier({ open: true });
      for (const line of transcript.lines(new TextEncoder().encode(file))) verifier.take(line);
      verifier.finish();
      const book = await trust.judge(verifier, await trust.read({ keys, pins, witnesses }));
      console.log(`${book.level} ${book.unvouched} ${book.unknown}`);
    } catch (flaw) {
      console.log(flaw.kind ?? flaw.stack);
    }
  }
})();
";

struct Evidence {
    name: &'static str,
    file: Vec<u8>,
    keys: String,
    pins: String,
    witnesses: String,
    expect: &'static str,
}

/// Returns the library's verdict, in the words of the page.
fn library(case: &Evidence) -> String {
    let ring = |text: &str| {
        let mut ring = KeyRing::default();
        ring.read(text).unwrap();
        ring.trusted()
    };
    let trust = Trust {
        keys: ring(&case.keys),
        signature_required: !case.keys.is_empty(),
        pins: Pin::read_all(&case.pins).unwrap(),
        witnesses: ring(&case.witnesses),
        now_unix_ms: None,
    };
    let options = VerifyOptions {
        open: true,
        ..VerifyOptions::default()
    };
    let mut verifier = LineVerifier::new(options).trusting(Arc::new(trust));
    for line in lines(&case.file) {
        if !verifier.line(line) {
            break;
        }
    }
    let report = verifier.finish();
    if let Some(bad) = &report.first_bad {
        return json!(bad.kind).as_str().unwrap().replace('_', " ");
    }
    let count = |what: &str| {
        let mut notes = report.not_checked.iter();
        let printed =
            notes.find_map(|note| note.strip_prefix(what)?.split(' ').next()?.parse().ok());
        printed.unwrap_or(0_u64)
    };
    let (stones, unknown) = (count("tombstones: "), count("unknown signatures: "));
    format!("{} {stones} {unknown}", report.level)
}

/// The text of a note with a cosignature under it, as witnesses make them, and the key that it is checked with.
fn cosigned(text: &str, seed: u8) -> (String, String) {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let time = 1_790_000_000_u64;
    let signature = key.sign(format!("cosignature/v1\ntime {time}\n{text}").as_bytes());
    let mut typed = vec![4];
    typed.extend(key.verifying_key().as_bytes());
    let id = <sha2::Sha256 as sha2::Digest>::digest([b"witness\n", typed.as_slice()].concat());
    let line = [
        &id[..4],
        &time.to_be_bytes(),
        signature.to_bytes().as_slice(),
    ]
    .concat();
    let encode = |bytes: &[u8]| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    let id = u32::from_be_bytes(id[..4].try_into().unwrap());
    let note = format!("{text}\n— witness {}\n", encode(&line));
    (note, format!("witness+{id:08x}+{}", encode(&typed)))
}

fn cases() -> Vec<Evidence> {
    let [old, new, other] =
        [11, 12, 13].map(|seed| SecretKey::from_seed("k", &[seed; 32]).unwrap());
    let whole = golden("core.valid_call");
    let last = entries(&whole) as u64;
    let (early, seal) = (checkpoint(&whole, 3), checkpoint(&whole, last));
    let with = |notes: &[&Note]| {
        let notes: Vec<u8> = notes.iter().flat_map(|note| line_of(note)).collect();
        [whole.clone(), notes].concat()
    };
    // The keys changed while the run went on.
    let behind = seal_after(&whole, &[&early]);
    let rotated = with(&[&early.sign(&old), &behind.sign(&new)]);
    let rotation = old.rotated_to(&new).to_string();
    let erased = |key: &SecretKey| {
        let erased = signed::erased(&whole).swap_remove(0).bytes;
        let all = lines(&erased);
        let line: Value = serde_json::from_slice(all[all.len() - 2]).unwrap();
        let note: Note = line["tombstone"].as_str().unwrap().parse().unwrap();
        let note = key.sign_text(note.text()).unwrap();
        let line = tombstone_line(&note.to_string()).into_bytes();
        [
            all[..all.len() - 2].concat(),
            line,
            line_of(&seal.sign(&new)),
        ]
        .concat()
    };
    let head = |at: u64| checkpoint(&whole, at).head;
    let run_id = seal.run_id.clone();
    let pin = |at: u64, head: Digest| Pin::line_of(&run_id, at, head);
    let (cosignature, witness) = cosigned(&seal.text(), 14);
    let (early_cosignature, early_witness) = cosigned(&early.text(), 14);
    let (cosigned_log, log_witness) = cosigned(&TreeHead::over("x", &[[7; 32]]).text(), 14);
    let open: Vec<u8> = lines(&whole)[..3].concat();
    let public = |key: &SecretKey| key.public().to_string();
    let (one, two) = (public(&old), public(&new));
    let mut cases = Vec::new();
    let mut put = |name, file: &[u8], keys: &str, pins: &str, witnesses: &str, expect| {
        cases.push(Evidence {
            name,
            file: file.to_vec(),
            keys: keys.to_owned(),
            pins: pins.to_owned(),
            witnesses: witnesses.to_owned(),
            expect,
        });
    };
    put("nothing given", &rotated, "", "", "", "L0 0 2");
    put("the old key alone", &rotated, &one, "", "", "unsigned");
    put("the new key", &rotated, &two, "", "", "L1 0 1");
    let short = with(&[&behind.sign(&new)]);
    put("one left out", &short, &two, "", "", "truncated");
    let more = with(&[&early.sign(&old), &seal.sign(&new)]);
    put("one added", &more, &two, "", "", "tampered");
    let signed = seal.sign(&new).to_string();
    let line = signed.lines().last().unwrap().replace("— k ", "— x ");
    let alike: Note = format!("{signed}{line}\n").parse().unwrap();
    let alike = with(&[&alike]);
    put("the key's id, another name", &alike, &two, "", "", "L1 0 1");
    let followed = format!("# mine\n{rotation}\n{one}\n");
    put(
        "a rotation that is followed",
        &rotated,
        &followed,
        "",
        "",
        "L1 0 0",
    );
    let revoked = format!("{followed}revoked {two}\n");
    put(
        "a rotation to a revoked key",
        &rotated,
        &revoked,
        "",
        "",
        "unsigned",
    );
    put(
        "a stranger's key",
        &rotated,
        &public(&other),
        "",
        "",
        "unsigned",
    );
    put(
        "a tombstone by a given key",
        &erased(&new),
        &two,
        "",
        "",
        "L1 0 0",
    );
    put(
        "a tombstone by its successor",
        &erased(&old),
        &followed,
        "",
        "",
        "L1 0 0",
    );
    put(
        "a tombstone by a stranger",
        &erased(&other),
        &two,
        "",
        "",
        "unsigned",
    );
    put("a tombstone, no key", &erased(&other), "", "", "", "L0 1 1");
    let mut forged = line_of(&seal.sign(&new));
    let at = forged.len() - 12;
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    let forged = [whole.clone(), forged].concat();
    put("a forged signature", &forged, &two, "", "", "tampered");
    put(
        "a pin of the end",
        &whole,
        "",
        &pin(last, head(last)),
        "",
        "L2 0 0",
    );
    put(
        "a pin of the middle",
        &whole,
        "",
        &pin(3, head(3)),
        "",
        "L0 0 0",
    );
    put(
        "a pin of another head",
        &whole,
        "",
        &pin(3, head(4)),
        "",
        "tampered",
    );
    put(
        "a pin of more entries",
        &whole,
        "",
        &pin(last + 1, head(4)),
        "",
        "rollback",
    );
    put(
        "a pin of another run",
        &whole,
        "",
        &pin(3, head(4)).replacen(run_id.as_str(), "x", 1),
        "",
        "L0 0 0",
    );
    let split = format!("{}{}", pin(900, head(3)), pin(900, head(4)));
    put("pins that differ", &whole, "", &split, "", "split view");
    put(
        "a signed pin",
        &whole,
        "",
        &seal.sign(&other).to_string(),
        "",
        "L2 0 0",
    );
    put("a witness", &whole, "", &cosignature, &witness, "L3 0 0");
    put(
        "a witness of the middle",
        &whole,
        "",
        &early_cosignature,
        &early_witness,
        "L0 0 0",
    );
    put(
        "a witness with a plain key",
        &whole,
        "",
        &seal.sign(&other).to_string(),
        &public(&other),
        "L3 0 0",
    );
    put(
        "a witness in the file",
        &with(&[&cosignature.parse().unwrap()]),
        "",
        "",
        &witness,
        "L3 0 0",
    );
    let signed = with(&[&seal.sign(&old)]);
    let own = public(&old);
    let pinned = seal.sign(&old).to_string();
    put(
        "the signer as its own witness",
        &signed,
        &own,
        "",
        &own,
        "L1 0 0",
    );
    put(
        "the signer as its only witness",
        &signed,
        "",
        "",
        &own,
        "L0 0 0",
    );
    put(
        "the signer's pin as a witness",
        &signed,
        "",
        &pinned,
        &own,
        "L2 0 0",
    );
    put(
        "a log that a file has not",
        &whole,
        "",
        &cosigned_log,
        &log_witness,
        "L0 0 0",
    );
    put("no seal", &open, "", "", "", "L0 0 0");
    put("no seal, a key", &open, &one, "", "", "L0 0 0");
    put("no seal, a pin", &open, "", &pin(2, head(2)), "", "L2 0 0");
    cases
}

fn line_of(note: &Note) -> Vec<u8> {
    checkpoint_line(&note.to_string()).into_bytes()
}

#[test]
fn the_page_judges_keys_pins_and_witnesses_as_the_library_does() {
    let cases = cases();
    for case in &cases {
        assert_eq!(library(case), case.expect, "{}", case.name);
    }
    if !*HAS_NODE {
        println!("skipped {} cases: there is no node", cases.len());
        return;
    }
    let given = cases.iter().map(|case| {
        json!({"file": std::str::from_utf8(&case.file).unwrap(), "keys": case.keys, "pins": case.pins,
            "witnesses": case.witnesses})
    });
    let given = Value::from(given.collect::<Vec<_>>());
    let said = node(&format!(
        "{}\nconst CASES = {given};\n{JUDGE}",
        SOURCES.concat()
    ))
    .unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), cases.len(), "{said:?}");
    for (case, said) in cases.iter().zip(said) {
        assert_eq!(said, case.expect, "{}", case.name);
    }
}
