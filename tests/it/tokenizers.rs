//! Contracts that name a tokenizer, from outside: what a build without the encoder says of them, and that it replays what a build
//! with it has done.

use serde_json::{Value, json};

use crate::fixture::Fixture;
#[cfg(feature = "tokenizers")]
use crate::replay_modes::reads;
use crate::replay_modes::{first, fixture, says};

const COUNTED: [&str; 2] = ["--set", "tokenizer=gpt-4o"];
const BUILT_IN: bool = cfg!(feature = "tokenizers");
/// A contract that counts with an encoder, without its task.
const COUNTS: &str = "tool_policy: required\n\
    system: You answer from the files of this folder.\n\
    tokenizer: o200k_base\n\
    targets: [{provider: demo, model: script}]\n\
    providers: {demo: {type: scripted, file: s.jsonl}}\n\
    tools: {builtin: [read_file], workspace: .}\n";

/// The run of [`the_recorded_run_is_what_a_build_with_the_encoder_records`].
const RECORDED: &str = include_str!("../fixtures/o200k.jsonl");

/// A run whose contract names o200k_base/1: read_file of a text that it counts otherwise than bytes / 4. `MONOLITH_BLESS=1` records it again.
#[cfg(feature = "tokenizers")]
#[test]
fn the_recorded_run_is_what_a_build_with_the_encoder_records() {
    let fixture = Fixture::new();
    let text = "internationalization of the Apache License お誕生日おめでとう";
    fixture.write("LICENSE", text);
    fixture.write("c.yaml", &format!("task: Which licence?\n{COUNTS}"));
    let lines = [reads("LICENSE"), says("It is the Apache License.")];
    let lines = lines.map(|body| json!({"response": body}).to_string());
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.ok(&["run", "c.yaml", "--run-id", "o200k"]);
    let recorded = fixture.ok(&["export", "o200k"]);
    if std::env::var_os("MONOLITH_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/o200k.jsonl");
        std::fs::write(path, recorded).unwrap();
        return;
    }
    // What depends on the time and the folder is all that may differ.
    let tokens = |transcript: &str| {
        let entries: Vec<Value> = transcript
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let messages = &entries[1]["event"]["event"]["value"]["messages"];
        let result = &entries[5]["event"]["event"]["value"]["outcome"]["value"]["tokens"];
        (
            entries[0]["contract"].clone(),
            messages.clone(),
            result.clone(),
        )
    };
    assert_eq!(tokens(&recorded), tokens(RECORDED));
    assert_eq!(tokens(RECORDED).2, json!(14));
}

#[test]
fn a_run_that_was_counted_with_an_encoder_replays_wherever_there_is_none() {
    let fixture = Fixture::new();
    fixture.write("r.jsonl", RECORDED);
    let (code, report) = fixture.json(&["replay", "r.jsonl"]);
    assert_eq!((code, &report["same"]), (0, &json!(true)), "{report}");
    // Left out where there is nothing to say.
    let left = report["not_compared"].as_array().cloned();
    let left = left.unwrap_or_default();
    assert_eq!(left.len(), usize::from(!BUILT_IN), "{report}");
    for note in left {
        let note = note.as_str().unwrap();
        let begins = "estimates of tokens, 4 of them, are taken as they are recorded: tokenizer o200k_base/1: this build";
        assert!(note.starts_with(begins), "{note}");
        assert!(note.contains("--features tokenizers"), "{note}");
    }
    let (code, verified) = fixture.json(&["verify", "r.jsonl"]);
    assert_eq!(code, 0, "{verified}");
}

#[test]
fn what_was_counted_with_an_encoder_is_counted_again_under_another_contract() {
    let fixture = fixture();
    let counted = |sets: &[&str]| fixture.json(&[&["replay", "r1"], sets].concat());
    let (code, report) = counted(&COUNTED);
    let tokenizer = |report: &Value| {
        let differ = report["contract_differences"].as_array().unwrap();
        let mut found = differ
            .iter()
            .filter(|field| field["pointer"] == "/tokenizer");
        found.next().map(|field| field["other"].clone())
    };
    assert_eq!(
        tokenizer(&report),
        Some(json!("\"o200k_base/1\"")),
        "{report}"
    );
    if BUILT_IN {
        assert_eq!(
            (code, &report["same_outcome"]),
            (0, &json!(true)),
            "{report}"
        );
    } else {
        assert_eq!(code, 6, "{report}");
        assert_eq!(
            report["outcome"]["code"], "profile_incompatible",
            "{report}"
        );
    }
}

#[test]
fn what_was_counted_with_an_encoder_stands_under_a_contract_that_counts_alike() {
    let fixture = Fixture::new();
    fixture.write("r.jsonl", RECORDED);
    fixture.write("c.yaml", COUNTS);
    fixture.write(
        "s.jsonl",
        &json!({"response": says("It is MIT.")}).to_string(),
    );
    let under = |file: &[&str], set: &str| {
        let asked = [&["replay", "r.jsonl", "--set", set][..], file].concat();
        let (code, report) = fixture.json(&asked);
        let notes = report["not_compared"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let begins =
            "estimates of tokens, 1 of them, are bytes / 4: tokenizer o200k_base/1: this build";
        let uncounted = notes
            .iter()
            .filter(|note| note.as_str().unwrap().starts_with(begins))
            .count();
        (code, report, uncounted)
    };
    for file in [&["--contract", "c.yaml"][..], &[]] {
        let (code, report, uncounted) = under(file, "max_turns=9");
        assert_eq!((code, uncounted), (0, 0), "{report}");
        assert_eq!(report["same_decisions"], report["entries"], "{report}");
        let differ = report["contract_differences"].to_string();
        assert!(differ.contains("/max_turns"), "{report}");
        assert!(!differ.contains("schema_tokens"), "{report}");
        let (_, report, uncounted) = under(file, "system=Look into the files.");
        assert_eq!(uncounted, usize::from(!BUILT_IN), "{report}");
    }
}

#[test]
fn a_build_without_the_encoder_refuses_before_anything_is_asked_and_says_how_to_get_it() {
    let fixture = fixture();
    let way = "`cargo build --release --features tokenizers`";
    let checked = fixture.run(&[&["contract", "check", "c.yaml"][..], &COUNTED].concat());
    let ran = fixture.run(&[&["run", "c.yaml", "--run-id", "r2"][..], &COUNTED].concat());
    let hashed = fixture.run(&[&["contract", "hash", "c.yaml"][..], &COUNTED].concat());
    if BUILT_IN {
        assert_eq!(
            (checked.code, ran.code),
            (0, 0),
            "{}{}",
            checked.out,
            ran.err
        );
        assert!(!hashed.err.contains(way), "{}", hashed.err);
    } else {
        assert_eq!(
            (checked.code, ran.code, hashed.code),
            (4, 4, 4),
            "{}{}",
            checked.out,
            ran.err
        );
        assert_eq!(hashed.out, "", "another contract's hash");
        for said in [&checked.out, &ran.err, &hashed.err] {
            assert!(said.contains(way), "{said}");
        }
        let (code, report) = fixture.json(&["replay", "r2"]);
        assert_eq!((code, &report["same"]), (0, &json!(true)), "{report}");
    }
    let unknown = fixture.run(&["contract", "check", "c.yaml", "--set", "tokenizer=claude"]);
    assert_eq!(unknown.code, 4);
    assert!(
        unknown.out.contains("this version knows cl100k_base/1"),
        "{}",
        unknown.out
    );
}

#[test]
fn a_changed_estimate_is_found_where_the_encoder_is_and_breaks_the_evidence_everywhere() {
    let fixture = Fixture::new();
    let line = RECORDED
        .lines()
        .find(|line| line.contains("tool_returned"))
        .unwrap();
    let tokens = line.split("\"tokens\":").nth(1).unwrap();
    let tokens: String = tokens.chars().take_while(char::is_ascii_digit).collect();
    let more = line.replacen(&format!("\"tokens\":{tokens}"), "\"tokens\":9", 1);
    assert_ne!(more, line);
    fixture.write("r.jsonl", &RECORDED.replace(line, &more));
    let (code, report) = fixture.json(&["replay", "r.jsonl"]);
    assert_eq!((code, first(&report).2), (7, "tampered"), "{report}");
}

/// 001 §6: where no encoder is, the tokenizer of a configuration is an estimate, and a note says so.
/// 001/6.providers.6
#[test]
fn a_tokenizer_of_a_layer_gives_way_to_the_estimate_where_no_encoder_is() {
    let check = |named: &str, counts_with: Option<&str>| {
        let fixture = Fixture::new();
        let provider = json!({"type": "scripted", "file": "s.jsonl", "tokenizer": named});
        fixture.layer(&json!({"providers": {"demo": provider}}).to_string());
        let asks = "task: hi\ntargets: [{provider: demo, model: script}]\n";
        fixture.write("c.yaml", asks);
        let answer = json!({"response": says("Hello.")});
        fixture.write("s.jsonl", &answer.to_string());
        let left = fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
        let note = "tokens are estimated as bytes / 4";
        assert_eq!(
            left.err.contains(note),
            counts_with.is_none(),
            "{}",
            left.err
        );
        let header = fixture.ok(&["export", "r1"]);
        let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
        let tokenizer = header["contract"]["tokenizer"].as_str();
        assert_eq!(tokenizer, counts_with, "{header}");
    };
    check("gpt-4o", BUILT_IN.then_some("o200k_base/1"));
    check("anthropic", None);
}

#[test]
fn a_build_says_which_encoders_it_has() {
    let fixture = Fixture::new();
    let expect = if BUILT_IN {
        "cl100k_base/1, o200k_base/1"
    } else {
        "none"
    };
    let version = fixture.ok(&["--version"]);
    assert!(
        version.contains(&format!("tokenizers: {expect}\n")),
        "{version}"
    );
    assert!(!fixture.ok(&["-V"]).contains("tokenizers"));
    let nobody = "none";
    let asked = [
        "doctor",
        "--ollama",
        nobody,
        "--llama-server",
        nobody,
        "--lm-studio",
        nobody,
    ];
    let (_, report) = fixture.json(&asked);
    let checks = report["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["name"] == "tokenizers")
        .unwrap();
    let status = if BUILT_IN { "ok" } else { "missing" };
    assert_eq!(found["status"], status, "{found}");
}
