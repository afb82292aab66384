//! The binary from outside: exit codes, streams, and what it says when something is wrong.

use serde_json::Value;

use crate::fixture::{Fixture, says};

mod list;
#[cfg(unix)]
mod signals;
mod slips;
#[cfg(unix)]
mod streams;
mod tools;

/// A chat contract for a model that no server offers.
fn remote(more: &str) -> String {
    format!(
        "task: hi\ntargets: [{{provider: p, model: m, context_window: 32000}}]\n\
         providers:\n  p: {{type: openai, base_url: \"http://127.0.0.1:1/v1\"{more}}}\n"
    )
}

#[test]
fn the_demo_runs_replays_and_verifies() {
    let fixture = Fixture::new();
    let left = fixture.run(&["demo"]);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.out.contains("MIT OR Apache-2.0"), "{}", left.out);
    assert!(left.out.contains("monolith replay demo-"), "{}", left.out);
    assert_eq!(left.err, "", "a pipe is quiet");

    let (code, result) = fixture.json(&["show", "last"]);
    assert_eq!(code, 0);
    assert_eq!(result["outcome"]["class"], "COMPLETED_WITH_TOOLS");
    assert_eq!(result["counters"]["tools_executed"], 2);
    let (code, report) = fixture.json(&["replay", "last"]);
    assert_eq!((code, &report["same"]), (0, &Value::Bool(true)));
    assert_eq!(report["entries"], result["entries"]);
    let (code, report) = fixture.json(&["verify", "last"]);
    assert_eq!((code, &report["level"]), (0, &Value::from("L1")));
    let (_, listing) = fixture.json(&["list"]);
    assert_eq!(listing["runs"][0]["head"], result["head"]);
}

#[test]
fn a_changed_byte_is_found_where_it_is() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.run(&["demo", "tamper"]).code,
        4,
        "there is no demo run yet"
    );
    assert_eq!(fixture.run(&["demo"]).code, 0);
    let left = fixture.run(&["demo", "tamper"]);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(
        left.out
            .contains("not verified: tampered at entry 9, line 11, hash"),
        "{}",
        left.out
    );

    let whole = "verified at level L1: 16 entries";
    assert!(left.out.contains(whole), "signed by this machine");

    // The copy stays, so that anyone may look at it.
    let command = left.out.lines().last().unwrap();
    let path = command
        .split_whitespace()
        .find(|word| word.contains(".jsonl"))
        .unwrap();
    assert_eq!(fixture.run(&["verify", path]).code, 7);
    assert_eq!(fixture.run(&["replay", path]).code, 7);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_result_of_a_stored_run_is_the_one_that_it_printed() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let printed = fixture.run(&["run", "--contract", "c.yaml", "--json"]);
    let shown = fixture.run(&["show", "last", "--json"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert_eq!(printed.out, shown.out);
    let result: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(result["finalReport"]["content"], "Hello.");
    assert_eq!(result["error"], Value::Null);
}

#[test]
fn the_answer_goes_to_stdout_and_a_pipe_hears_in_one_line_how_it_ended() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.\n")]);
    let left = fixture.run(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    assert_eq!((left.code, left.out.as_str()), (0, "Hello.\n"));
    let (time, end) = left.err.split_once("  ").unwrap();
    assert!(time.ends_with('s'), "{}", left.err);
    assert_eq!(end, "COMPLETED_CHAT_ONLY (final_message)   run r1\n");
}

/// One change makes every later digest another one, which says nothing new.
#[test]
fn a_replay_of_a_changed_file_names_the_first_difference_and_counts_the_others() {
    let fixture = Fixture::new();
    fixture.ok(&["demo"]);
    let file = fixture.ok(&["export", "last"]);
    let changed = file.replace("Which licence does", "Which license does");
    assert_ne!(file, changed);
    fixture.write("t.jsonl", &changed);
    let (code, report) = fixture.json(&["replay", "t.jsonl"]);
    let all = report["differences"].as_array().unwrap();
    let at_first = all.iter().filter(|found| found["seq"] == 0).count();
    assert!(code == 7 && at_first < all.len(), "{report}");
    let left = fixture.ends(&["replay", "t.jsonl"], 7);
    let listed = left.out.lines().filter(|line| line.starts_with("  entry "));
    let listed: Vec<&str> = listed.collect();
    assert_eq!(listed.len(), at_first, "{}", left.out);
    assert!(listed.iter().all(|line| line.starts_with("  entry 0")));
    let rest = format!(
        "  and {} more, which may follow from it",
        all.len() - at_first
    );
    assert!(left.out.contains(&rest), "{}", left.out);
}

#[test]
fn an_exported_run_verifies_and_replays_without_the_store() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.run(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    assert_eq!(fixture.run(&["export", "r1", "-o", "r1.jsonl"]).code, 0);
    let elsewhere = Fixture::new();
    let file = fixture.path("r1.jsonl");
    let file = file.to_str().unwrap();
    assert_eq!(elsewhere.run(&["verify", file]).code, 0);
    assert_eq!(elsewhere.run(&["replay", file]).code, 0);
    assert_eq!(elsewhere.run(&["show", file, "--step", "1"]).code, 0);
    assert_eq!(elsewhere.run(&["show", file, "--step", "99"]).code, 4);
    assert_eq!(
        fixture.run(&["export", "r1"]).out,
        std::fs::read_to_string(file).unwrap()
    );

    let whole = std::fs::read_to_string(file).unwrap();
    let cut: Vec<&str> = whole.split_inclusive('\n').take(3).collect();
    fixture.write("cut.jsonl", &cut.concat());
    assert_eq!(fixture.run(&["verify", "cut.jsonl"]).code, 7);
    assert_eq!(fixture.run(&["replay", "cut.jsonl"]).code, 7);
}

/// Every fault of the author's: exit 4, a message that names the place, and a result document without a run.
#[test]
fn a_contract_that_cannot_be_one_gives_no_run_and_says_where() {
    let check = |contract: Option<&str>, args: &[&str], expect: &[&str]| {
        let fixture = Fixture::new();
        if let Some(text) = contract {
            fixture.write("c.yaml", text);
        }
        let all = [&["run", "--contract", "c.yaml", "--json"], args].concat();
        let left = fixture.run(&all);
        assert_eq!(left.code, 4, "{expect:?}: {}", left.err);
        for part in expect {
            assert!(left.err.contains(part), "{part:?} in {}", left.err);
        }
        let result: Value = serde_json::from_str(&left.out).unwrap();
        assert_eq!(result["run_id"], Value::Null);
        assert_eq!(result["exit_code"], 4);
        assert_eq!(result["success"], false);
        assert!(result["error"].is_string());
    };
    check(None, &[], &["c.yaml", "No such file"]);
    check(Some("a: [1\n"), &[], &["c.yaml:1:4"]);
    check(
        Some(&remote("").replace("task", "tsak")),
        &[],
        &["c.yaml:1:1", "`task`"],
    );
    check(
        Some(&remote("").replace("provider: p", "provider: q")),
        &[],
        &["`q`", "`p`"],
    );
    check(
        Some(&remote("").replace("openai", "opnai")),
        &[],
        &["c.yaml:4", "openai"],
    );
    check(
        Some(&remote("")),
        &["--set", "max_tuns=3"],
        &["--set max_tuns=3", "max_turns"],
    );
    check(
        Some(&remote(", api_key_env: NOBODY_SETS_THIS")),
        &[],
        &["NOBODY_SETS_THIS", "api_key_env"],
    );
    check(
        Some(&remote("").replace("task: hi\n", "")),
        &[],
        &["--task"],
    );
    check(Some("\u{0}\u{1}"), &[], &["c.yaml:1"]);
    check(
        Some(&remote("")),
        &["--run-id", "A B"],
        &["1 to 64 characters"],
    );
    let script = "task: hi\ntargets: [{provider: p, model: m}]\nproviders: {p: {type: scripted, file: no.jsonl}}\n";
    check(Some(script), &[], &["no.jsonl", "`p`"]);
}

#[test]
fn a_task_on_the_command_line_takes_the_place_of_the_files() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let (_, result) = fixture.json(&["run", "--contract", "c.yaml", "--task", "bye"]);
    assert_eq!(result["conversation"][0]["content"], "bye");
}

/// 000/2.exit.4
#[test]
fn a_missing_tool_command_is_a_run_that_ends_in_preflight_with_its_transcript() {
    let fixture = Fixture::new();
    // The key is not set either: tools are judged first.
    let text = remote(", api_key_env: NOBODY_SETS_THIS");
    let text = format!("{text}tools: {{mcp: {{fs: {{command: no-such-command-anywhere}}}}}}\n");
    fixture.write("c.yaml", &text);
    let (code, result) = fixture.json(&["run", "--contract", "c.yaml"]);
    assert_eq!(code, 3);
    assert_eq!(result["outcome"]["code"], "tool_unavailable");
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("no-such-command-anywhere"), "{error}");
    assert_eq!(fixture.run(&["verify", "last"]).code, 0);
    assert_eq!(fixture.run(&["replay", "last"]).code, 0);
}

#[test]
fn an_endpoint_that_nobody_serves_ends_in_preflight() {
    let fixture = Fixture::new();
    fixture.write("c.yaml", &remote(""));
    let left = fixture.run(&["run", "--contract", "c.yaml"]);
    assert_eq!((left.code, left.out.as_str()), (3, ""));
    assert!(
        left.err.contains("FAILED_PREFLIGHT (backend_unavailable)"),
        "{}",
        left.err
    );
    let named = "p/m at http://127.0.0.1:1/v1: connection refused";
    assert!(left.err.contains(named), "{}", left.err);
    assert!(left.err.contains("monolith show "), "{}", left.err);
    assert_eq!(fixture.run(&["verify", "last"]).code, 0);
}

#[test]
fn a_store_that_cannot_be_used_is_the_operators_and_stays_as_it_is() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let text = "this is no database, and it stays what it is";
    fixture.write("not.db", text);
    let check = |store: &str, expect: &str| {
        let args = ["run", "--contract", "c.yaml", "--json", "--store", store];
        let left = fixture.run(&args);
        assert_eq!(left.code, 1, "{store}");
        assert!(left.err.contains(expect), "{expect:?} in {}", left.err);
        let result: Value = serde_json::from_str(&left.out).unwrap();
        assert_eq!(result["run_id"], Value::Null);
        assert_eq!(result["outcome"], Value::Null);
        assert_eq!(result["finalReport"]["metadata"]["reason"], "store");
    };
    check("not.db", "it is not a database");
    check("no/such/folder/runs.db", "open");
    check(".", "it is a folder; a store is a file");
    let left = fixture.ends(&["list", "--store", "."], 1);
    for part in ["it is a folder; a store is a file", "runs.db"] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    let kept = std::fs::read_to_string(fixture.path("not.db")).unwrap();
    assert_eq!(kept, text);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_says_why() {
    let fixture = Fixture::new();
    for args in [&["--help"][..], &["run", "-h"], &["--version"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let left = fixture.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(left.stderr).unwrap();
        assert_eq!(left.status.code(), Some(9), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let folder = fixture.path("locked");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_ok() {
        println!("skipped: this user may write everywhere");
        return;
    }
    let left = fixture.run(&["run", "--contract", "c.yaml", "--store", "locked/runs.db"]);
    assert_eq!(left.code, 1);
    assert!(left.err.contains("locked/runs.db"), "{}", left.err);
}

#[test]
fn names_of_runs_are_unique_and_may_be_cut() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let run = |id: &str| fixture.run(&["run", "--contract", "c.yaml", "--run-id", id]);
    assert_eq!(run("abc1").code, 0);
    assert_eq!(run("abd2").code, 0);
    let again = run("abc1");
    assert_eq!(again.code, 4);
    assert!(again.err.contains("abc1"), "{}", again.err);

    assert_eq!(fixture.run(&["show", "abc"]).code, 0);
    assert_eq!(fixture.run(&["verify", "last"]).code, 0);
    let ambiguous = fixture.run(&["show", "ab"]);
    assert_eq!(ambiguous.code, 4);
    assert!(ambiguous.err.contains("abc1, abd2"), "{}", ambiguous.err);
    for command in ["show", "replay", "verify", "export"] {
        let unknown = fixture.run(&[command, "xyz"]);
        assert_eq!(unknown.code, 4, "{command}");
        assert!(unknown.err.contains("\"xyz\""), "{}", unknown.err);
    }
}

#[test]
fn what_does_not_verify_is_shown_as_such_and_claims_no_success() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.run(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    fixture.run(&["export", "r1", "-o", "r1.jsonl"]);
    let whole = std::fs::read_to_string(fixture.path("r1.jsonl")).unwrap();
    fixture.write("bad.jsonl", &whole.replace("Hello.", "Hullo."));
    let left = fixture.run(&["show", "bad.jsonl"]);
    assert_eq!(left.code, 7);
    assert!(
        left.out.starts_with("NOT VERIFIED: tampered at "),
        "{}",
        left.out
    );
    let left = fixture.run(&["show", "bad.jsonl", "--json"]);
    assert_eq!((left.code, left.out.as_str()), (7, ""));
    assert!(left.err.contains("is not verified"), "{}", left.err);
    let left = fixture.run(&["show", "bad.jsonl", "--raw"]);
    assert_eq!(left.code, 7);
    assert!(left.err.contains("NOT VERIFIED: "), "{}", left.err);

    let cut: Vec<&str> = whole.split_inclusive('\n').take(3).collect();
    fixture.write("open.jsonl", &cut.concat());
    let left = fixture.run(&["show", "open.jsonl"]);
    assert_eq!(left.code, 0, "a run in progress: {}", left.err);
}

#[test]
fn a_file_that_is_no_transcript_is_not_called_tampered_with() {
    let fixture = Fixture::new();
    for (name, text) in [
        ("c.yaml", "task: hi\n"),
        ("empty.jsonl", ""),
        ("b.bin", "\0\u{1}\n"),
    ] {
        fixture.write(name, text);
        for command in ["show", "verify", "replay"] {
            let left = fixture.run(&[command, &format!("./{name}")]);
            assert_eq!(left.code, 7, "{command} {name}");
            let said = "not a monolith transcript";
            assert!(left.err.contains(said), "{}", left.err);
            let all = format!("{}{}", left.out, left.err);
            assert!(!all.contains("tamper"), "{all}");
        }
    }
}

#[test]
fn an_export_replaces_no_file_unless_forced() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.run(&["run", "c.yaml", "--run-id", "r1"]);
    fixture.write("r1.jsonl", "mine");
    let left = fixture.run(&["export", "r1", "-o", "r1.jsonl"]);
    assert_eq!(left.code, 4);
    assert!(left.err.contains("--force"), "{}", left.err);
    let kept = std::fs::read_to_string(fixture.path("r1.jsonl")).unwrap();
    assert_eq!(kept, "mine");
    let forced = fixture.run(&["export", "r1", "-o", "r1.jsonl", "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.err);
    assert_eq!(fixture.run(&["verify", "r1.jsonl"]).code, 0);
}

#[test]
fn a_store_that_the_caller_names_must_be_there() {
    let fixture = Fixture::new();
    let left = fixture.run(&["list", "--store", "none.db"]);
    assert_eq!(left.code, 1);
    let said = "none.db: there is no such file";
    assert!(left.err.contains(said), "{}", left.err);
    assert!(!fixture.path("none.db").exists());
}

/// A store that cannot be looked at is not an empty one.
#[test]
fn a_state_folder_that_cannot_be_looked_into_is_named() {
    let fixture = Fixture::new();
    fixture.write("home", "a file, and no folder");
    let left = fixture.run(&["list"]);
    assert_eq!((left.code, left.out.as_str()), (1, ""));
    assert!(
        left.err.contains("home/runs.db: Not a directory"),
        "{}",
        left.err
    );
}

#[test]
fn no_runs_is_no_fault() {
    let fixture = Fixture::new();
    let (code, listing) = fixture.json(&["list"]);
    assert_eq!((code, listing), (0, serde_json::json!({"runs": []})));
    let left = fixture.run(&["list"]);
    assert_eq!((left.code, left.out.as_str()), (0, ""));
    let said = &left.err;
    assert!(
        said.contains("no runs yet in ") && said.contains("runs.db"),
        "{said}"
    );
    assert!(said.contains("`monolith demo`"), "{said}");
    assert_eq!(fixture.run(&["show", "last"]).code, 4);
    assert!(!fixture.path("home").exists(), "looking makes nothing");
}

#[test]
fn every_sentence_is_listed_with_what_shows_it() {
    let fixture = Fixture::new();
    let (code, coverage) = fixture.json(&["corpus", "coverage"]);
    assert_eq!(coverage["gaps"], serde_json::json!([]));
    assert!(coverage["subjects"].as_array().unwrap().len() > 80);
    // Until scripts/mutate-cases has tried the cases that have changed, nothing is claimed of their sentences.
    let untried = coverage["untried"].as_array().unwrap().len();
    assert_eq!(code, i32::from(untried > 0));
    let left = fixture.run(&["corpus", "coverage"]);
    assert_eq!(left.code, code, "{}", left.out);
    assert!(left.out.ends_with("; 0 gaps\n"), "{}", left.out);
    assert_eq!(left.out.contains("UNTRIED"), untried > 0);
    let left = fixture.run(&["corpus", "coverage", "--filter", "002/5.predicates.2"]);
    let said = "interrupted -> `TERMINATE(INTERRUPTED)`\n      abort/before_timeout by outcome";
    assert!(left.out.contains(said), "{}", left.out);
}

/// 000/2.exit.2, 000/2.exit.5
#[test]
fn bad_arguments_are_four_and_questions_are_answered() {
    let fixture = Fixture::new();
    let check = |args: &[&str], code: i32| assert_eq!(fixture.run(args).code, code, "{args:?}");
    check(&["frob"], 4);
    check(&["run"], 4);
    check(&["run", "--contract"], 4);
    check(&["run", "a.yaml", "--contract", "b.yaml"], 4);
    check(&["show", "last", "--step", "x"], 4);
    check(&["help"], 0);
    check(&["help", "run"], 0);
    check(&["show", "last", "--json", "--raw"], 4);
    check(&["machine", "--format", "svg"], 4);
    check(&["corpus", "run", "--filter", "no case is called so"], 4);
    check(&["corpus", "coverage", "--filter", "no sentence"], 4);
    check(&["--help"], 0);
    check(&["run", "--help"], 0);
    check(&["--version"], 0);
    let (code, result) = fixture.json(&["run"]);
    assert_eq!((code, &result["exit_code"]), (4, &Value::from(4)));
}

#[test]
fn the_machine_is_printed_from_its_edges() {
    let fixture = Fixture::new();
    let machine: Value =
        serde_json::from_str(&fixture.ok(&["machine", "--format", "json"])).unwrap();
    assert_eq!(machine["states"].as_array().map(Vec::len), Some(7));
    assert!(
        fixture
            .run(&["machine"])
            .out
            .starts_with("stateDiagram-v2\n")
    );
}

#[test]
fn the_hash_of_a_contract_is_that_of_its_run_and_moves_with_every_override() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let hash = |args: &[&str]| {
        let left = fixture.run(&[&["contract", "hash", "c.yaml"], args].concat());
        assert_eq!(left.code, 0, "{}", left.err);
        left.out.trim().to_owned()
    };
    let (_, result) = fixture.json(&["run", "--contract", "c.yaml"]);
    assert_eq!(result["contract_hash"], hash(&[]));
    assert_ne!(hash(&["--set", "max_turns=3"]), hash(&[]));
    let shown = fixture.run(&["contract", "show", "c.yaml"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["contract_hash"], hash(&[]));
}

#[test]
fn the_shipped_contracts_pass_the_check() {
    let fixture = Fixture::new();
    for name in [
        "coder.yaml",
        "demo.yaml",
        "quickstart.yaml",
        "real-servers.yaml",
    ] {
        let path = format!("{}/contracts/{name}", env!("CARGO_MANIFEST_DIR"));
        let left = fixture.run(&["contract", "check", &path]);
        assert!(
            left.code == 0 && !left.out.contains("FAILED"),
            "{name}: {}{}",
            left.out,
            left.err
        );
    }
}

/// Every way to another model that the page of the coding agent names.
#[test]
fn the_coding_agent_takes_each_model_that_its_page_names() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/recipes/coder.md")).unwrap();
    let ways: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once("| `--set "))
        .map(|(_, sets)| sets.trim_end_matches("` |").split(" --set ").collect())
        .collect();
    assert_eq!(ways.len(), 3, "{ways:?}");
    let contract = root.join("contracts/coder.yaml");
    let contract = contract.to_str().unwrap();
    let fixture = Fixture::new();
    for way in ways {
        let sets = way.iter().flat_map(|set| ["--set", set.trim_matches('\'')]);
        let args: Vec<&str> = ["contract", "check", contract]
            .into_iter()
            .chain(sets)
            .collect();
        let left = fixture.run(&args);
        assert!(
            left.code == 0 && !left.out.contains("FAILED"),
            "{way:?}: {}",
            left.printed()
        );
    }
}

#[test]
fn a_contract_is_checked_without_starting_or_asking_anything() {
    let fixture = Fixture::new();
    let mcp = "tools: {mcp: {fs: {command: no-such-command-anywhere}}}\n";
    fixture.write("c.yaml", &format!("{}{mcp}", remote("")));
    let left = fixture.run(&["contract", "check", "c.yaml"]);
    assert_eq!(left.code, 0, "{}{}", left.out, left.err);
    assert!(
        left.err.contains("not started, so not pinned: fs"),
        "{}",
        left.err
    );
    let left = fixture.run(&["contract", "check", "c.yaml", "--start-servers"]);
    assert_eq!(left.code, 3);
    assert!(
        left.err.contains("no-such-command-anywhere"),
        "{}",
        left.err
    );
    let left = fixture.run(&[
        "contract",
        "check",
        "c.yaml",
        "--set",
        "max_format_retries=9",
    ]);
    assert_eq!(left.code, 4, "{}", left.out);
    assert!(left.out.contains("FAILED  "), "{}", left.out);
}

#[test]
fn foreign_text_is_passed_on_unchanged_into_a_pipe_and_shown_escaped() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("a\u{1b}[2Jb\u{202e}c")]);
    let left = fixture.run(&["run", "--contract", "c.yaml", "--task", "x\u{1b}[31my"]);
    assert_eq!(left.out, "a\u{1b}[2Jb\u{202e}c\n");
    let shown = fixture.run(&["show", "last"]);
    assert!(shown.out.contains("x\\u{1b}[31my"), "{}", shown.out);
    assert!(!shown.out.contains('\u{1b}'));
}
