//! The signed envelopes of an item, read by the libraries of DSSE and in-toto (PyPI `securesystemslib` and `in-toto-attestation`)
//! and by verify.py.
//!
//! Without python3, pip or a package registry the cases are skipped, and counted.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::{fixture, writes};
use crate::fixture::{Fixture, text};
use crate::verifier::python::{install, verify_py};

/// The envelopes, and the subjects of each.
const ENVELOPES: [(&str, usize); 3] = [
    ("RECEIPT.dsse.json", 3),
    ("PROVENANCE.dsse.json", 2),
    ("TEST-RESULT.dsse.json", 1),
];

/// Prints for each envelope its subjects, and the numbers of changed payloads, signatures, keys and types under which the
/// signature is still valid.
const ENVELOPE: &str = "
import base64, json, sys
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

PREDICATES = {'https://slsa.dev/provenance/v1': Provenance, 'https://in-toto.io/attestation/test-result/v0.1': TestResult}
name, short, typed = sys.argv[1].split('+', 2)
public = base64.b64decode(typed)[1:]

def verifies(envelope, payload, signature, public):
    text = lambda data: base64.b64encode(data).decode()
    signatures = [{**envelope['signatures'][0], 'sig': text(signature)}]
    key = SSlibKey(f'{name}+{short}', 'ed25519', 'ed25519', {'public': public.hex()})
    read = Envelope.from_dict({**envelope, 'payload': text(payload), 'signatures': signatures})
    try:
        return bool(read.verify([key], 1))
    except Exception:
        return False

def changed(data):
    return (data[:at] + bytes([data[at] ^ 1]) + data[at + 1:] for at in range(len(data)))

for path in sys.argv[2:]:
    with open(path) as file:
        envelope = json.load(file)
    payload, signature = (base64.b64decode(text) for text in (envelope['payload'], envelope['signatures'][0]['sig']))
    assert verifies(envelope, payload, signature, public), 'the signature'
    read = Parse(payload, Message())
    Statement.copy_from_pb(read).validate()
    kept = MessageToDict(read)
    assert kept == json.loads(payload), 'a member that the models do not keep as it is'
    if read.predicate_type in PREDICATES:
        ParseDict(kept['predicate'], PREDICATES[read.predicate_type]())
    print(path, len(read.subject), *map(sum, (
        (verifies(envelope, other, signature, public) for other in changed(payload)),
        (verifies(envelope, payload, other, public) for other in changed(signature)),
        (verifies(envelope, payload, signature, other) for other in changed(public)),
        [verifies({**envelope, 'payloadType': 'text/plain'}, payload, signature, public)],
    )))
";

/// Prints of each statement if the models accept it.
const STATEMENT: &str = "
import sys
from google.protobuf.json_format import Parse
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message
for path in sys.argv[1:]:
    with open(path) as file:
        data = file.read()
    try:
        Statement.copy_from_pb(Parse(data, Message())).validate()
        print('ok', path)
    except Exception as fault:
        print('refused', path, repr(fault))
";

/// A fixture in which an item has succeeded, its envelopes in the folder, and the public key.
fn done() -> (Fixture, String) {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[writes("README.md", "changed\n"), writes("new.txt", "new\n")],
    );
    fixture.items(&[("w", "agent-1", json!({"test_command": "true"}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    let receipt = result["receipt_id"].as_str().unwrap();
    for (name, _) in ENVELOPES {
        fixture.write(name, &fixture.read(&format!("home/work/{receipt}/{name}")));
    }
    let key = fixture.read("home/keys/local.pub").trim().to_owned();
    (fixture, key)
}

/// The lines that a script prints with the libraries; `None` if they cannot be installed.
fn libraries(fixture: &Fixture, script: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/in-toto.txt");
    let packages = match install("in-toto", &pins) {
        Ok(packages) => packages,
        Err(reason) => {
            println!("skipped {} cases: {reason}", arguments.len());
            return None;
        }
    };
    let output = Command::new("python3")
        .args(["-c", script])
        .args(arguments)
        .current_dir(fixture.path("."))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout).lines().map(str::to_owned).collect();
    Some(lines)
}

fn payload(fixture: &Fixture, name: &str) -> Value {
    let envelope: Value = serde_json::from_str(&fixture.read(name)).unwrap();
    let payload = BASE64.decode(envelope["payload"].as_str().unwrap());
    serde_json::from_slice(&payload.unwrap()).unwrap()
}

/// The exit code of verify.py, and what it printed; `None` if it cannot run here.
fn judged(fixture: &Fixture, arguments: &[&str]) -> Option<(i32, String)> {
    let output = verify_py(&fixture.path("."), arguments)?;
    let said = text(&output.stdout) + &text(&output.stderr);
    Some((output.status.code().unwrap(), said))
}

#[test]
fn the_libraries_of_dsse_and_in_toto_read_the_envelopes_and_refuse_each_changed_byte() {
    let (fixture, key) = done();
    let files = ENVELOPES.map(|(name, _)| name);
    let arguments = [&[key.as_str()], &files[..]].concat();
    let Some(said) = libraries(&fixture, ENVELOPE, &arguments) else {
        return;
    };
    let expect = ENVELOPES.map(|(name, subjects)| format!("{name} {subjects} 0 0 0 0"));
    assert_eq!(said, expect);
}

/// The models of in-toto and verify.py agree on the form of a statement.
#[test]
fn a_statement_without_a_part_of_its_form_is_refused_by_both() {
    let (fixture, _) = done();
    let whole = payload(&fixture, "PROVENANCE.dsse.json");
    let changed = |change: fn(&mut Value)| {
        let mut statement = whole.clone();
        change(&mut statement);
        statement
    };
    let statements = [
        ("whole.json", whole.clone()),
        (
            "type.json",
            changed(|it| it["_type"] = json!("https://in-toto.io/Statement/v0.1")),
        ),
        ("empty.json", changed(|it| it["subject"] = json!([]))),
        (
            "list.json",
            changed(|it| it["subject"] = json!({"name": "a"})),
        ),
        (
            "digest.json",
            changed(|it| it["subject"][0]["digest"] = json!({})),
        ),
        (
            "number.json",
            changed(|it| it["subject"][0]["digest"]["sha256"] = json!(1)),
        ),
        (
            "predicate_type.json",
            changed(|it| it["predicateType"] = json!("")),
        ),
        (
            "predicate.json",
            changed(|it| it["predicate"] = json!("none")),
        ),
    ];
    for (name, statement) in &statements {
        fixture.write(name, &statement.to_string());
    }
    let names: Vec<&str> = statements.iter().map(|(name, _)| *name).collect();
    let Some(said) = libraries(&fixture, STATEMENT, &names) else {
        return;
    };
    assert_eq!(said.len(), names.len());
    for (name, said) in names.iter().zip(said) {
        let is_whole = *name == "whole.json";
        assert_eq!(said.starts_with("ok "), is_whole, "{said}");
        let Some((code, said)) = judged(&fixture, &[*name]) else {
            return;
        };
        assert_eq!(code, if is_whole { 0 } else { 7 }, "{said}");
    }
}

#[test]
fn verify_py_judges_an_envelope_by_key_type_and_subject() {
    let (fixture, key) = done();
    let [receipt, provenance, tests] = ENVELOPES.map(|(name, _)| name);
    let note = format!("--key={key}");
    let encoded = key.splitn(3, '+').nth(2).unwrap();
    let mut hex = "--key=".to_owned();
    for byte in &BASE64.decode(encoded).unwrap()[1..] {
        write!(hex, "{byte:02x}").unwrap();
    }
    let other = format!("--key={}", "0f".repeat(32));
    let tested = payload(&fixture, tests);
    let tree = tested["subject"][0]["digest"]["monolithTreeV1"].as_str();
    let tree = format!("--subject=monolithTreeV1:{}", tree.unwrap());
    let (note, hex, other, tree) = (note.as_str(), hex.as_str(), other.as_str(), tree.as_str());
    let readme = "--subject=tree/README.md";
    let unsigned = payload(&fixture, provenance).to_string();
    fixture.write("unsigned.json", &unsigned);
    let twice = unsigned.replacen('{', r#"{"_type":"","#, 1);
    fixture.write("twice.json", &twice);
    let mut more: Value = serde_json::from_str(&fixture.read(receipt)).unwrap();
    more["unknown"] = json!(1);
    fixture.write("more.json", &more.to_string());
    fixture.write("observation.json", r#"{"events":[]}"#);
    let cases: [(&[&str], i32, &str); 16] = [
        (
            &[receipt, provenance, readme, note],
            0,
            "verified: signed by local+",
        ),
        (
            &[receipt, provenance, readme, hex],
            0,
            "verified: signed by ed25519+",
        ),
        (&[tests, tree, hex], 0, "verified: signed by ed25519+"),
        (&["more.json", hex], 0, "verified: signed by ed25519+"),
        (&["unsigned.json", readme], 0, "verified, no signature: "),
        (
            &["unsigned.json", hex],
            7,
            "no key that was given has signed it",
        ),
        (&["twice.json"], 7, "an object has a key twice"),
        (
            &["observation.json"],
            7,
            "no receipt, statement, envelope or proof",
        ),
        (&[receipt, other], 7, "no key that was given has signed it"),
        (&[receipt, tree], 7, "subject: none is monolithTreeV1:"),
        (
            &[receipt, "--subject=work.yaml"],
            7,
            "subject: none is work.yaml",
        ),
        (
            &[receipt, "--type=text/plain"],
            7,
            "payloadType: not text/plain",
        ),
        (&["observation.json", readme], 7, "it is about nothing"),
        (&["agent-1.jsonl", readme], 7, "it is about nothing"),
        (&[receipt, "--subject=none"], 1, "--subject: "),
        (&[receipt, "--key=none"], 1, "--key: "),
    ];
    for (arguments, code, expect) in cases {
        let Some((left, said)) = judged(&fixture, arguments) else {
            println!("skipped 16 cases");
            return;
        };
        assert_eq!(left, code, "{arguments:?}: {said}");
        assert!(said.contains(expect), "{arguments:?}: {said}");
    }
    fixture.write("tree/README.md", "edited\n");
    let Some((code, said)) = judged(&fixture, &[receipt, readme]) else {
        return;
    };
    assert_eq!(code, 7, "{said}");
}
