//! Transcripts whose answers of people are signed, whole and damaged. The text under a signature is written here after
//! docs/audit/transcript-format.md, and not by the library.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};
use monolith_core::transcript::SecretKey;
use serde_json::{Value, json};

use super::damage::Case;
use super::forge::forged;

/// Returns the line of the answer, and the event there.
fn answer_of(lines: &mut [Value]) -> (usize, &mut Value) {
    let kind = |line: &Value| line["event"]["event"]["kind"] == "approval_given";
    let at = lines.iter().position(kind).unwrap();
    (at, &mut lines[at]["event"]["event"])
}

/// The text that is signed.
fn text_of(first: &str, answer: &Value, decision: &str) -> String {
    let hash = |key: &str| match answer[key].as_str() {
        None => "-".to_owned(),
        Some(text) => blake3::hash(text.as_bytes()).to_string(),
    };
    format!(
        "monolith/answer/1\nrun {first}\ncall {}\narguments {}\n{decision}\ncontent {}\nproposal {}\nreason {}\n",
        answer["call"],
        answer["arguments_hash"].as_str().unwrap(),
        hash("content"),
        hash("proposal"),
        hash("reason"),
    )
}

/// Signs the file's answer as anna's, after the changes of `before`; every hash is recomputed.
fn signed(bytes: &[u8], before: &dyn Fn(&mut Value), after: &dyn Fn(&mut Value)) -> Vec<u8> {
    forged(bytes, &|lines| {
        let first = lines[1]["hash"].as_str().unwrap().to_owned();
        let (_, event) = answer_of(lines);
        before(event);
        let denied = event["kind"] == "approval_denied";
        let decision = if denied { "denied" } else { "allowed" };
        let text = text_of(&first, &event["value"], decision);
        let signature = SigningKey::from_bytes(&[3; 32]).sign(text.as_bytes());
        event["value"]["answerer"] = json!({
            "key": key(3), "signature": BASE64.encode(signature.to_bytes()),
        });
        after(event);
    })
}

fn key(seed: u8) -> String {
    let key = SecretKey::from_seed("anna", &[seed; 32]).unwrap();
    key.public().to_string()
}

pub(super) fn cases(bytes: &[u8]) -> Vec<Case> {
    let unchanged: &dyn Fn(&mut Value) = &|_| {};
    let with_reason = |event: &mut Value| event["value"]["reason"] = json!("it is\nFriday é");
    let denied = |event: &mut Value| {
        event["kind"] = json!("approval_denied");
        event["value"]["proposal"] = json!("{\"path\":\"b\"}");
        with_reason(event);
    };
    let mut cases = vec![
        Case::whole("a signed answer", signed(bytes, unchanged, unchanged)),
        Case::whole(
            "a signed answer with its reason",
            signed(bytes, &with_reason, unchanged),
        ),
        Case::whole(
            "a signed refusal with a proposal",
            signed(bytes, &denied, unchanged),
        ),
    ];
    let mut lines: Vec<Value> = bytes
        .split_inclusive(|b| *b == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let line = answer_of(&mut lines).0 as u64 + 1;
    let mut bad = |what: &str, before: &dyn Fn(&mut Value), after: &dyn Fn(&mut Value)| {
        let bytes = signed(bytes, before, after);
        let name = format!("a signed answer: {what}");
        cases.push(Case::damaged(name, bytes, line));
    };
    bad("the other way round", unchanged, &|event| {
        event["kind"] = json!("approval_denied");
    });
    bad("to another call", unchanged, &|event| {
        event["value"]["call"] = json!(2);
    });
    bad("to other arguments", unchanged, &|event| {
        let other = blake3::hash(b"other").to_string();
        event["value"]["arguments_hash"] = json!(other);
    });
    bad("with a reason put in", unchanged, &with_reason);
    bad("with its reason taken out", &with_reason, &|event| {
        event["value"].as_object_mut().unwrap().remove("reason");
    });
    bad("with another proposal", &denied, &|event| {
        event["value"]["proposal"] = json!("{}");
    });
    bad("in the name of another key", unchanged, &|event| {
        event["value"]["answerer"]["key"] = json!(key(4));
    });
    bad("by what is no key", unchanged, &|event| {
        event["value"]["answerer"]["key"] = json!("anna");
    });
    bad("by a key with white space around it", unchanged, &|event| {
        event["value"]["answerer"]["key"] = json!(format!("{}\n", key(3)));
    });
    bad("with a signature of another text", unchanged, &|event| {
        let other = SigningKey::from_bytes(&[3; 32]).sign(b"another text");
        event["value"]["answerer"]["signature"] = json!(BASE64.encode(other.to_bytes()));
    });
    bad("with half a signature", unchanged, &|event| {
        let half = event["value"]["answerer"]["signature"].as_str().unwrap()[..44].to_owned();
        event["value"]["answerer"]["signature"] = json!(half);
    });
    // The last character has two bits that count for nothing: another one is the same signature in another way.
    bad("with a second way to write it", unchanged, &|event| {
        let written = event["value"]["answerer"]["signature"].as_str().unwrap();
        let (start, end) = written.split_at(written.len() - 3);
        let next = char::from(end.as_bytes()[0] + 1);
        event["value"]["answerer"]["signature"] = json!(format!("{start}{next}=="));
    });
    cases
}
