//! The embedded model from outside: builds without it say how to get it, files that are no model end a run before its first
//! inference, and with a model (`MONOLITH_TEST_MODEL`, a GGUF file in ChatML) the same seed gives the same conversation.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const CONTRACT: &str = "\
system: Use the tools.
task: Which files are in this folder?
tool_policy: required
targets: [{provider: m, model: smollm2-135m, context_window: 2048}]
providers: {m: {type: local}}
tools: {builtin: [list_directory], workspace: .}
sampling: {temperature: 0.8, seed: 5, max_output_tokens: 120}
max_turns: 2
max_attempts_per_turn: 1
";

/// The smallest file that is a model by its header.
fn header_only() -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 16]);
    bytes
}

fn monolith(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("monolith").unwrap();
    command
        .current_dir(folder.path())
        .env("MONOLITH_HOME", folder.path().join("state"))
        .args(arguments);
    command
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
    folder
}

/// The run's result, and what its probe said.
fn run(folder: &TempDir, sets: &[&str], variables: &[(&str, &str)]) -> (Value, Value) {
    let mut arguments = vec!["run", "contract.yaml", "--json"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let mut command = monolith(folder, &arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    (result["outcome"].clone(), result)
}

fn refused(folder: &TempDir, sets: &[&str]) -> String {
    let (outcome, result) = run(folder, sets, &[]);
    assert_eq!(outcome["class"], "FAILED_PREFLIGHT", "{result}");
    assert_eq!(outcome["code"], "backend_unavailable", "{result}");
    assert_eq!(result["exit_code"], 3, "{result}");
    assert_eq!(result["counters"]["inferences"], 0, "{result}");
    let verified = monolith(folder, &["verify", "last"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    result["error"].to_string()
}

#[test]
fn files_that_are_no_model_and_names_that_are_not_stored_end_before_the_first_inference() {
    let folder = folder();
    let check = |sets: &[&str], expect: &str| {
        let said = refused(&folder, sets);
        assert!(said.contains(expect), "{said}");
    };
    // Without the engine its own lack comes first: a model alone would be of no use.
    let expect = if cfg!(feature = "local") {
        "no model `smollm2-135m` is stored here: `monolith model pull smollm2-135m`"
    } else {
        "cargo build --release --features local` makes one that has; `monolith model pull smollm2-135m`"
    };
    check(&[], expect);
    let file = "providers.m.file=m.gguf";
    check(&[file], "m.gguf: it cannot be read");
    fs::write(folder.path().join("m.gguf"), "<html>not found</html>").unwrap();
    check(&[file], "m.gguf: it is no GGUF file");
    let absurd = [b"GGUF\x03\0\0\0".as_slice(), &[0xff; 64]].concat();
    fs::write(folder.path().join("m.gguf"), absurd).unwrap();
    check(
        &[file],
        "m.gguf: the number of tensors at byte 8 is 18446744073709551615",
    );
    let whole = header_only();
    fs::write(folder.path().join("m.gguf"), &whole[..20]).unwrap();
    check(&[file], "m.gguf: it is cut off");
    fs::write(folder.path().join("m.gguf"), &whole).unwrap();
    // By its header it is a model: now it is the engine's turn, where there is one.
    let expect = if cfg!(feature = "local") {
        "llama.cpp does not load it"
    } else {
        "cargo build --release --features local"
    };
    check(&[file], expect);
}

#[test]
fn the_gates_grammar_is_part_of_the_contract_and_what_it_cannot_say_is_refused_by_name() {
    let folder = folder();
    fs::write(folder.path().join("m.gguf"), header_only()).unwrap();
    let show = |sets: &[&str]| {
        let mut arguments = vec![
            "contract",
            "show",
            "contract.yaml",
            "--set",
            "providers.m.file=m.gguf",
        ];
        for set in sets {
            arguments.extend(["--set", set]);
        }
        String::from_utf8(monolith(&folder, &arguments).output().unwrap().stdout).unwrap()
    };
    let contract = show(&[]);
    assert!(contract.contains("\"grammar_profile\""), "{contract}");
    assert!(contract.contains("<tool_call>"), "{contract}");
    assert!(
        contract.contains("gguf:"),
        "the file's hash is the fingerprint: {contract}"
    );
    assert!(!show(&["token_gate=false"]).contains("<tool_call>"));
    let (outcome, result) = run(
        &folder,
        &["providers.m.file=m.gguf", "sampling.max_output_tokens=30"],
        &[],
    );
    assert_eq!(outcome["code"], "profile_incompatible", "{result}");
    assert!(
        result["error"]
            .to_string()
            .contains("ending a call may take"),
        "{result}"
    );
}

#[test]
fn models_are_stored_listed_checked_and_removed() {
    let folder = folder();
    fs::write(folder.path().join("m.gguf"), header_only()).unwrap();
    let check = |arguments: &[&str], code: i32, expect: &str| {
        let output = monolith(&folder, arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(expect), "{arguments:?}: {said}");
    };
    check(
        &["model", "list"],
        0,
        "not here: monolith model pull smollm2-135m",
    );
    check(
        &["model", "add", "mine", "m.gguf"],
        0,
        "stored: mine 24 bytes, blake3 ",
    );
    check(&["model", "list"], 0, "licence unknown, from a file");
    check(&["model", "verify", "mine"], 0, "unchanged: mine");
    check(&["model", "add", "a/b", "m.gguf"], 4, "is no model's name");
    check(
        &["model", "pull", "nothing"],
        4,
        "only smollm2-135m can be pulled by name",
    );
    check(&["model", "remove", "mine"], 0, "removed: mine");
    check(
        &["model", "remove", "mine"],
        4,
        "no model `mine` is stored here",
    );
    let blobs = folder.path().join("state/models/blobs");
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
}

#[test]
fn the_same_seed_gives_the_same_conversation_whatever_is_kept_in_memory() {
    let model = std::env::var("MONOLITH_TEST_MODEL")
        .ok()
        .filter(|_| cfg!(feature = "local"));
    let Some(model) = model else {
        println!("skipped 1 case: MONOLITH_TEST_MODEL names no model, or this build runs none");
        return;
    };
    assert!(Path::new(&model).is_file(), "{model}");
    let file = format!("providers.m.file={model}");
    let mut seen: Vec<(Value, Value)> = Vec::new();
    for reuse in ["0", "1", "1"] {
        let folder = folder();
        let (outcome, result) = run(&folder, &[&file], &[("MONOLITH_LOCAL_REUSE", reuse)]);
        assert_eq!(result["counters"]["inferences"], 2, "{result}");
        let calls = &result["conversation"][2]["tool_calls"];
        assert_eq!(calls[0]["name"], "list_directory", "{result}");
        let replayed = monolith(&folder, &["replay", "last"]).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
        seen.push((outcome, result["conversation"].clone()));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}
