//! Files that a caller keeps of a run besides its record: the conversation, a snapshot of the session, its tree.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::delegation::{asks, prompt};
use crate::fixture::{Fixture, calls, says};

const RUN: [&str; 7] = [
    "run",
    "--json",
    "--run-id",
    "r-1",
    "--contract",
    "c.yaml",
    "--sessions-dir",
];

fn run(fixture: &Fixture, more: &[&str]) -> crate::fixture::Left {
    let mut arguments = RUN.to_vec();
    arguments.push("sessions");
    arguments.extend(more);
    fixture.run(&arguments)
}

/// The snapshots of a folder. Each file has a UUID for a name.
pub fn snapshots(folder: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let read = files.map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let id = name.strip_suffix(".json.gz").unwrap();
        let groups = id.split('-').map(str::len);
        assert!(groups.eq([8, 4, 4, 4, 12]), "a UUID: {name}");
        assert_eq!((&id[14..15], &id[19..20]), ("8", "8"), "version: {name}");
        let packed = std::fs::read(file.path()).unwrap();
        let mut text = String::new();
        GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        serde_json::from_str(&text).unwrap()
    });
    read.collect()
}

/// The snapshot of the line that begins with that run, in whichever folder the tests keep them.
pub fn snapshot(fixture: &Fixture, origin: &str) -> Value {
    let folders = ["sessions", "ses"].into_iter();
    let mut all = folders.flat_map(|folder| snapshots(&fixture.path(folder)));
    let found = all.find(|one| one["opTree"]["attributes"]["origin"] == origin);
    found.unwrap_or_else(|| panic!("no snapshot of {origin}"))
}

/// A file that `--load` takes is overwritten, in any format, and no other file is.
#[test]
fn a_conversation_is_saved_over_whatever_load_takes_as_one() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Done.")]);
    let save = ["run", "c.yaml", "--save", "said.json"];
    let before = "[{\"content\": \"Hi\", \"role\": \"user\"}, {\"content\": \"Yes?\", \"role\": \"assistant\"}]";
    for taken in [before, "[]", "", " \n\n"] {
        fixture.write("said.json", taken);
        fixture.ok(&save);
        assert!(fixture.read("said.json").contains("Done."), "{taken}");
    }
    fixture.write("said.json", before);
    fixture.ok(&[&save[..], &["--load", "said.json"]].concat());
    // What was saved is taken.
    fixture.ok(&save);
    let roles = "[{\"role\":\"admin\",\"name\":\"my access list\"}]";
    for other in [
        roles,
        "a: b",
        "[1]",
        &" ".repeat(5_000).replacen(' ', "x", 1),
    ] {
        fixture.write("said.json", other);
        let left = fixture.ends(&save, 4);
        assert!(left.err.contains("that is no conversation"), "{}", left.err);
        assert_eq!(fixture.read("said.json"), other);
    }
    fixture.write("said.json", &format!("{}{roles}", " ".repeat(5_000)));
    fixture.ends(&save, 4);
}

/// 001/12.snapshots.2
#[test]
fn each_run_of_a_list_keeps_its_snapshot_where_its_own_layers_say() {
    let fixture = Fixture::new();
    let provider = json!({"type": "scripted", "file": "s.jsonl"});
    let layer = json!({"persistence": {"sessionsDir": "./ses"}, "providers": {"demo": provider}});
    let file = "task: hi\ntargets: [{provider: demo, model: script}]\n";
    // What defines everything takes nothing from the layers.
    let whole = format!("{file}providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n");
    for (folder, file) in [("one", file), ("two", file), ("three", &whole)] {
        fixture.write(&format!("{folder}/.ai-agent.json"), &layer.to_string());
        fixture.write(&format!("{folder}/c.yaml"), file);
        fixture.write(&format!("{folder}/s.jsonl"), &says("Done."));
    }
    let lines = ["one", "two", "three"].map(|folder| {
        let line = json!({"contract": format!("{folder}/c.yaml"), "run_id": folder});
        format!("{line}\n")
    });
    fixture.write("list.jsonl", &lines.concat());
    // A list asks no one.
    let refused = fixture.ends(&["run", "--contracts", "list.jsonl"], 1);
    assert!(
        refused.out.contains("not trusted as it is now"),
        "{}",
        refused.out
    );
    let trust = |file: &str| drop(fixture.ok(&["trust", file]));
    trust("one/c.yaml");
    trust("two/c.yaml");
    let ended = fixture.run(&["run", "--contracts", "list.jsonl"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    let names = |folder: &str| {
        let kept = snapshots(&fixture.path(&format!("{folder}/ses"))).into_iter();
        let ids = kept.map(|one| one["opTree"]["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(names("one"), ["one"], "{}", ended.out);
    assert_eq!(names("two"), ["two"], "{}", ended.out);
    assert!(names("three").is_empty(), "{:?}", names("three"));
    // Where they go is shown before anything is written.
    let shown = |words: &[&str]| {
        let left = fixture.ends(&[words, &["one/c.yaml"]].concat(), 0);
        let rows = left.out.lines().map(str::trim);
        let rows = rows.filter(|row| {
            row.contains("(persistence.sessionsDir; snapshots of runs are written there)")
        });
        let rows = rows.map(|row| row.starts_with("folder ") && row.contains("one/./ses "));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(shown(&["contract", "check"]), [true]);
    assert_eq!(shown(&["run", "--dry-run"]), [true]);
    // An option comes before it, whatever it says.
    let broken = layer.to_string().replace("./ses", "${NOWHERE}");
    fixture.write("one/.ai-agent.json", &broken);
    trust("one/.ai-agent.json");
    let run = ["run", "one/c.yaml", "--sessions-dir", "own"];
    fixture.ends(&run, 0);
    fixture.ends(&run[..2], 4);
}

/// 001 §11, §12
/// 001/11.direct.5, 001/11.direct.6, 001/12.snapshots.1
/// 001/11.direct.11, 001/12.snapshots.2
/// 001/1.loop.4
#[test]
fn a_run_leaves_its_conversation_its_snapshot_and_its_tree() {
    let fixture = Fixture::new();
    let call = calls("echo", r#"{"text":"x"}"#);
    fixture.script("tools: {builtin: [echo]}\n", &[&call, &says("Done.")]);
    let ended = run(
        &fixture,
        &["--show-tree", "--save", "said.json", "--save-all", "all"],
    );
    assert_eq!(ended.code, 0, "{}", ended.err);
    let result = ended.document();
    let saved: Value = serde_json::from_str(&fixture.read("said.json")).unwrap();
    assert_eq!(saved, result["conversation"]);
    assert_eq!(fixture.read("all/r-1/r-1.json"), fixture.read("said.json"));
    let snapshot = snapshot(&fixture, "r-1");
    assert_eq!(
        (&snapshot["version"], &snapshot["reason"]),
        (&json!(1), &json!("final"))
    );
    let tree = &snapshot["opTree"];
    assert_eq!(
        (&tree["id"], &tree["success"]),
        (&json!("r-1"), &json!(true))
    );
    let file = format!("sessions/{}.json.gz", tree["traceId"].as_str().unwrap());
    assert!(fixture.path(&file).exists(), "the file has the line's UUID");
    assert_eq!(tree["attributes"]["head"], result["head"]);
    let all = tree["turns"].as_array().unwrap();
    let labels = all.iter().filter(|turn| turn["system"] == json!(true));
    let labels = labels.map(|turn| {
        let op = &turn["ops"][0];
        assert_eq!(
            (&op["kind"], &op["accounting"]),
            (&json!("system"), &json!([]))
        );
        (
            turn["index"].as_u64().unwrap(),
            op["attributes"]["label"].as_str().unwrap(),
        )
    });
    assert_eq!(labels.collect::<Vec<_>>(), [(0, "init"), (3, "fin")]);
    let severities = |logs: &Value| {
        let logs = logs.as_array().unwrap().iter();
        let words = logs.map(|log| log["severity"].as_str().unwrap().to_owned());
        words.collect::<Vec<_>>()
    };
    assert_eq!(severities(&tree["logs"]), ["VRB", "FIN"]);
    let end = tree["logs"][1]["message"].as_str().unwrap();
    assert!(end.starts_with("EXIT-FINAL-ANSWER: "), "{end}");
    let turns: Vec<&Value> = all.iter().filter(|turn| turn["system"].is_null()).collect();
    for op in turns
        .iter()
        .flat_map(|turn| turn["ops"].as_array().unwrap())
    {
        assert_eq!(severities(&op["logs"]), ["VRB", "VRB"], "{op}");
        let directions = (&op["logs"][0]["direction"], &op["logs"][1]["direction"]);
        assert_eq!(directions, (&json!("request"), &json!("response")));
    }
    let ops = turns.iter().map(|turn| {
        let ops = turn["ops"].as_array().unwrap().iter();
        let ops = ops.map(|op| format!("{} {} {}", op["kind"], op["status"], op["attributes"]));
        (
            turn["index"].as_u64().unwrap(),
            ops.collect::<Vec<_>>().join(", "),
        )
    });
    assert_eq!(
        ops.collect::<Vec<_>>(),
        [
            (1, r#""llm" "ok" {"provider":"demo","model":"script"}, "tool" "ok" {"provider":"builtin","name":"echo"}"#.to_owned()),
            (2, r#""llm" "ok" {"provider":"demo","model":"script"}"#.to_owned()),
        ]
    );
    // Nothing is in the tree that the accounting does not have, and it is all there.
    let lines: Vec<Value> = turns
        .iter()
        .flat_map(|turn| turn["ops"].as_array().unwrap().clone())
        .map(|op| op["accounting"][0].clone())
        .collect();
    assert_eq!(json!(lines), result["accounting"]);
    let sum = |key: &str| -> u64 {
        lines
            .iter()
            .filter_map(|line| line["tokens"][key].as_u64())
            .sum()
    };
    assert_eq!(tree["totals"]["tokensIn"], json!(sum("inputTokens")));
    assert_eq!(tree["totals"]["tokensOut"], json!(sum("outputTokens")));
    assert_eq!(tree["totals"]["toolsRun"], json!(1));
    let shown: Vec<&str> = ended
        .err
        .lines()
        .filter(|line| line.contains('─') || line.starts_with("session "))
        .collect();
    assert_eq!(shown.len(), 6, "{}", ended.err);
    assert_eq!(
        shown[0],
        "session r-1  COMPLETED_WITH_TOOLS (final_message)"
    );
    assert!(
        shown[1..=2] == ["├─ turn 1", shown[2]] && shown[2].starts_with("│  ├─ llm demo/script  "),
        "{shown:?}"
    );
    assert!(
        shown[3].starts_with("│  └─ tool builtin:echo  ") && shown[3].ends_with("  ok"),
        "{shown:?}"
    );
}

/// 001 §11: the conversation is that of a run that succeeded; the snapshot is of any that has ended.
/// 001/11.direct.5
/// 001/12.snapshots.3
#[test]
fn of_a_run_that_failed_only_the_snapshot_is_left() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\nmax_turns: 1\n",
        &[&says("No.")],
    );
    let ended = run(&fixture, &["--save", "said.json", "--save-all", "all"]);
    assert_ne!(ended.code, 0);
    assert!(!fixture.path("said.json").exists() && !fixture.path("all").exists());
    let snapshot = snapshot(&fixture, "r-1");
    assert_eq!(snapshot["opTree"]["success"], json!(false));
    assert_eq!(snapshot["opTree"]["error"], ended.document()["error"]);
    let logs = snapshot["opTree"]["logs"].as_array().unwrap();
    let last = logs.last().unwrap();
    assert_eq!(
        (&last["severity"], &last["fatal"]),
        (&json!("FIN"), &json!(true))
    );
}

#[test]
fn what_cannot_be_kept_is_said_after_the_result() {
    let fixture = Fixture::new();
    // The run itself puts a file where the folder would be made.
    let write = calls("write_file", r#"{"path":"sessions","content":"a file"}"#);
    let tools = "tool_policy: optional\ntools: {builtin: [write_file]}\n";
    fixture.script(tools, &[&write, &says("Done.")]);
    let more = ["--save", "good.json", "--save-all", "all"];
    let ended = run(&fixture, &more);
    assert_eq!(ended.document()["success"], json!(true));
    assert_ne!(ended.code, 0);
    assert!(ended.err.contains("sessions"), "{}", ended.err);
    // What can be written is.
    assert_eq!(fixture.read("all/r-1/r-1.json"), fixture.read("good.json"));
    // What is known before is said before, each that cannot be written, and no run is begun.
    fixture.script("", &[&says("Done.")]);
    fixture.write("file", "");
    let more = ["--save", "nodir/said.json", "--save-all", "file/all"];
    let ended =
        fixture.run(&[&["run", "c.yaml", "--sessions-dir", "sessions"], &more[..]].concat());
    for name in ["sessions", "nodir/said.json", "file/all"] {
        assert!(ended.err.contains(name), "{name}: {}", ended.err);
    }
    assert_eq!(ended.out, "");
}

/// 001 §11, §12: what belongs together has the name of the first run, and agents that were called are counted as such.
/// 001/11.direct.5, 001/12.snapshots.1, 001/12.snapshots.2
#[test]
fn what_is_kept_has_the_name_of_the_first_run_and_agents_are_counted() {
    let fixture = Fixture::new();
    let mut says = asks(&[("agent__child", prompt("Go."))], "Done.");
    says.push(json!({"role": "assistant", "content": "More."}));
    fixture.agent("lead", "agents: [child.yaml]\ntask: x\n", &says);
    fixture.worker("child");
    let kept = ["--sessions-dir", "sessions", "--save-all", "all"];
    fixture.ok(&[&["run", "lead.yaml", "--run-id", "r-1"], &kept[..]].concat());
    let totals = snapshot(&fixture, "r-1")["opTree"]["totals"].clone();
    assert_eq!(
        (&totals["agentsRun"], &totals["toolsRun"]),
        (&json!(1), &json!(1)),
        "{totals}"
    );
    fixture.ok(&[&["continue", "r-1", "And?", "--run-id", "r-2"], &kept[..]].concat());
    let opened = snapshot(&fixture, "r-1")["opTree"].clone();
    assert_eq!(opened["id"], "r-2");
    let names = |folder: &str| {
        let names = std::fs::read_dir(fixture.path(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names = names.collect::<Vec<_>>();
        names.sort();
        names
    };
    let of_line = format!("{}.json.gz", opened["traceId"].as_str().unwrap());
    assert_eq!(names("sessions"), [of_line]);
    assert_eq!(names("all"), ["r-1"]);
    assert_eq!(names("all/r-1").len(), 3, "{:?}", names("all/r-1"));
}
