//! The changes of a run in its workspace, listed and reverted, against the binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::delegation::asks;
use crate::fixture::{Fixture, calls, says};
use crate::sandbox_faults::sandbox;

/// A fixture with a workspace `w` of three files, and a contract whose model makes these calls.
fn fixture(made: &[(&str, serde_json::Value)]) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("w/changed.txt", "one\ntwo\n");
    fixture.write("w/gone.txt", "gone\n");
    fixture.write("w/same.txt", "same\n");
    let mut lines: Vec<String> = made
        .iter()
        .map(|(tool, arguments)| calls(tool, &arguments.to_string()))
        .collect();
    lines.push(says("Done."));
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.write(
        "c.yaml",
        "task: Change it.\ntool_policy: optional\nmax_turns: 20\ntargets: [{provider: demo, model: m}]\n\
         providers: {demo: {type: scripted, file: s.jsonl}}\n\
         tools: {builtin: [apply_patch, edit_file, write_file], workspace: w}\n",
    );
    fixture
}

/// Every file of the workspace, with its text.
fn files(fixture: &Fixture) -> BTreeMap<String, String> {
    below(&fixture.path("w"))
}

fn below(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = below(&entry.path()).into_iter();
            found.extend(inner.map(|(path, text)| (format!("{name}/{path}"), text)));
        } else {
            found.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    found
}

fn write(path: &str, content: &str) -> (&'static str, serde_json::Value) {
    ("write_file", json!({"path": path, "content": content}))
}

fn patch(body: &str) -> (&'static str, serde_json::Value) {
    let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
    ("apply_patch", json!({"patch": patch}))
}

fn changing() -> Fixture {
    fixture(&[
        (
            "edit_file",
            json!({"path": "./changed.txt", "edits": [{"old": "two", "new": "2"}]}),
        ),
        patch("*** Add File: new/made.txt\n+made\n*** Delete File: gone.txt"),
        write("changed.txt", "one\n2\nthree\n"),
        write("passing.txt", "x"),
        patch("*** Delete File: passing.txt"),
    ])
}

/// A key that a run deleted is not readable by others after an undo.
#[cfg(unix)]
#[test]
fn a_removed_file_is_restored_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = fixture(&[patch("*** Delete File: gone.txt")]);
    let key = fixture.path("w/gone.txt");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.ok(&["undo", "r"]);
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_run_shows_what_it_changed_and_undo_restores_it() {
    let fixture = changing();
    let before = files(&fixture);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let after = files(&fixture);
    assert_eq!(after["changed.txt"], "one\n2\nthree\n");
    assert!(!after.contains_key("gone.txt"));
    // From the transcript alone, also where nothing is kept.
    fixture.ok(&["export", "r", "-o", "r.jsonl"]);
    for run in ["r", "r.jsonl"] {
        let shown = fixture.ok(&["show", run]);
        assert!(
            shown.contains("3 files of the workspace changed"),
            "{shown}"
        );
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..12].to_owned();
        let line = format!(
            "changed  changed.txt  +2 -1  {} -> {}",
            hash("one\ntwo\n"),
            hash("one\n2\nthree\n")
        );
        assert!(shown.contains(&line), "no {line}: {shown}");
        assert!(shown.contains(&format!(
            "removed  gone.txt  +0 -1  {} -> none",
            hash("gone\n")
        )));
        assert!(shown.contains(&format!(
            "made     new/made.txt  +1 -0  none -> {}",
            hash("made\n")
        )));
        assert!(!shown.contains("passing.txt  +"), "{shown}");
    }
    let exported = fixture.read("r.jsonl");
    assert!(!exported.contains("gone\\n") && exported.contains("lines_removed"));

    let said = fixture.ok(&["undo", "r", "--dry-run"]);
    assert_eq!(
        said,
        "would restore      changed.txt\nwould restore      gone.txt\nwould remove       new/made.txt\nNothing was changed (--dry-run).\n"
    );
    assert_eq!(files(&fixture), after);
    let said = fixture.ok(&["undo", "r"]);
    assert_eq!(
        said,
        "restored       changed.txt\nrestored       gone.txt\nremoved        new/made.txt\n"
    );
    assert_eq!(files(&fixture), before);
    let again = fixture.ok(&["undo", "r"]);
    assert_eq!(
        again,
        "as before      changed.txt\nas before      gone.txt\nas before      new/made.txt\n"
    );
    assert_eq!(files(&fixture), before);
    assert_eq!(fixture.run(&["verify", "r"]).code, 0);
}

#[test]
fn what_something_else_changed_since_stays_and_is_named() {
    let fixture = changing();
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("w/changed.txt", "a person's\n");
    let left = fixture.ends(&["undo", "r", "--dry-run"], 1);
    let would = "WOULD NOT RESTORE  changed.txt: something else has changed it since the run";
    assert!(left.out.contains(would), "{}", left.out);
    let would = "1 of 3 files would not be restored";
    assert!(left.err.contains(would), "{}", left.err);
    let left = fixture.ends(&["undo", "r"], 1);
    assert!(
        left.out
            .contains("NOT RESTORED   changed.txt: something else has changed it since the run"),
        "{}",
        left.out
    );
    assert!(
        left.err.contains("1 of 3 files were not restored"),
        "{}",
        left.err
    );
    let now = files(&fixture);
    assert_eq!(now["changed.txt"], "a person's\n");
    assert_eq!(now["gone.txt"], "gone\n");
    // Back to what the run left, it can be restored.
    fixture.write("w/changed.txt", "one\n2\nthree\n");
    fixture.ok(&["undo", "r"]);
    assert_eq!(files(&fixture)["changed.txt"], "one\ntwo\n");
}

#[test]
fn one_file_that_stays_is_one() {
    let fixture = fixture(&[write("changed.txt", "x")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("w/changed.txt", "a person's\n");
    let left = fixture.ends(&["undo", "r"], 1);
    assert!(
        left.err.contains("1 of 1 file was not restored"),
        "{}",
        left.err
    );
}

/// Whatever was restored before the process was killed, the next undo restores the rest.
#[test]
fn an_undo_that_was_killed_is_made_again() {
    let count = 120;
    let made: Vec<(&str, serde_json::Value)> = (0..4)
        .map(|part| {
            let updates = (0..count / 4).map(|n| {
                let n = part * count / 4 + n;
                format!("*** Update File: f{n:03}\n-before {n}\n+after {n}")
            });
            patch(&updates.collect::<Vec<_>>().join("\n"))
        })
        .collect();
    let fixture = fixture(&made);
    for n in 0..count {
        fixture.write(&format!("w/f{n:03}"), &format!("before {n}\n"));
    }
    let before = files(&fixture);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    assert_eq!(files(&fixture)["f000"], "after 0\n");
    let mut child = fixture
        .command(&["undo", "r"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // As soon as the first file is restored, in the middle of the others.
    while fs::read_to_string(fixture.path("w/f002")).unwrap() != "before 2\n" {
        assert!(child.try_wait().unwrap().is_none() || files(&fixture)["f002"] == "before 2\n");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    fixture.ok(&["undo", "r"]);
    let mut after = files(&fixture);
    // A file that was about to take its name may be left.
    after.retain(|name, _| !name.starts_with(".monolith-"));
    assert_eq!(after, before);
}

#[test]
fn what_was_kept_goes_with_the_run_and_can_be_erased() {
    let fixture = changing();
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let kept = fixture.path("home/runs.db.files/r");
    assert!(kept.is_file());
    let hash = blake3::hash(b"gone\n").to_hex().to_string();
    let said = fixture.ok(&["erase", "r", "--blob", &hash[..16], "--yes"]);
    assert!(said.contains("undo can no longer restore it"), "{said}");
    let left = fixture.ends(&["undo", "r"], 1);
    assert!(
        left.out
            .contains("NOT RESTORED   gone.txt: its earlier content was not kept, or was erased"),
        "{}",
        left.out
    );
    assert_eq!(files(&fixture)["changed.txt"], "one\ntwo\n");
    fixture.ok(&["delete", "r", "--yes"]);
    assert!(!kept.exists());
    // A run of that name keeps its own.
    fixture.ok(&["run", "c.yaml", "--run-id", "r", "--set", "max_turns=19"]);
    fs::remove_file(&kept).unwrap();
    let left = fixture.ends(&["undo", "r"], 4);
    assert!(left.err.contains("is not kept here"), "{}", left.err);
}

#[test]
fn a_folder_that_took_the_workspaces_place_is_not_written() {
    let fixture = changing();
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let after = files(&fixture);
    fs::rename(fixture.path("w"), fixture.path("elsewhere")).unwrap();
    let left = fixture.ends(&["undo", "r"], 1);
    assert!(left.err.contains("cannot be opened"), "{}", left.err);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("elsewhere", fixture.path("w")).unwrap();
        let left = fixture.ends(&["undo", "r"], 1);
        assert!(
            left.err.contains("a link stands in its place now"),
            "{}",
            left.err
        );
    }
    assert_eq!(below(&fixture.path("elsewhere")), after);
    let nothing = Fixture::new();
    nothing.script("", &[&says("Hello.")]);
    nothing.ok(&["run", "c.yaml", "--run-id", "quiet"]);
    let said = nothing.ok(&["undo", "quiet"]);
    assert!(
        said.contains("changed the content of no file\nLinks, folders and modes"),
        "{said}"
    );
}

/// A fixture whose model runs these commands in its workspace `w`, beside the calls of [`fixture`].
pub fn commands(made: &[(&str, serde_json::Value)]) -> Fixture {
    let fixture = fixture(made);
    let contract = fixture
        .read("c.yaml")
        .replace("write_file]", "write_file, shell]");
    fixture.write("c.yaml", &contract);
    fixture
}

pub fn shell(command: &str) -> (&'static str, serde_json::Value) {
    ("shell", json!({"command": command}))
}

#[test]
fn what_a_command_changed_is_listed_and_undo_restores_it() {
    if !sandbox() {
        return;
    }
    let fixture = commands(&[
        shell(
            "sed -i s/two/2/ changed.txt; rm gone.txt; mkdir -p new; echo made > new/made.txt; echo x > .hidden",
        ),
        write("changed.txt", "one\n2\nthree\n"),
        shell("echo four >> changed.txt; rm .hidden; touch same.txt"),
        shell("echo built > target/out; echo more >> target/there"),
    ]);
    fixture.write("w/.gitignore", "target\n");
    fixture.write("w/target/there", "not compared\n");
    let before = files(&fixture);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let shown = fixture.ok(&["show", "r"]);
    assert!(
        shown.contains("3 files of the workspace changed\n"),
        "{shown}"
    );
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..12].to_owned();
    for line in [
        format!(
            "changed  changed.txt  +3 -1  {} -> {}\n",
            hash("one\ntwo\n"),
            hash("one\n2\nthree\nfour\n")
        ),
        format!("removed  gone.txt  +0 -1  {} -> none\n", hash("gone\n")),
        format!("made     new/made.txt  +1 -0  none -> {}\n", hash("made\n")),
    ] {
        assert!(shown.contains(&line), "no {line}: {shown}");
    }
    assert!(!shown.contains("there may be more"), "{shown}");
    fixture.ok(&["undo", "r"]);
    let mut after = files(&fixture);
    // What ignore rules name is neither compared nor restored.
    assert_eq!(after.remove("target/out").as_deref(), Some("built\n"));
    let there = after.insert("target/there".to_owned(), "not compared\n".to_owned());
    assert_eq!(there.as_deref(), Some("not compared\nmore\n"));
    assert_eq!(after, before);
    fixture.ok(&["verify", "r"]);
    fixture.ok(&["replay", "r"]);
}

/// Were it taken for made, `undo` would remove what the run never saw.
#[test]
fn a_file_that_is_ignored_no_longer_does_not_count_as_made() {
    if !sandbox() {
        return;
    }
    let fixture = commands(&[shell("rm .gitignore; echo x > made.txt")]);
    fixture.write("w/.gitignore", "*.key\n");
    fixture.write("w/own.key", "a person's\n");
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains("removed  .gitignore"), "{shown}");
    assert!(
        !shown.contains("own.key") && shown.contains("there may be more"),
        "{shown}"
    );
    let said = fixture.ok(&["undo", "r"]);
    assert!(said.contains("More files may have been changed"), "{said}");
    let now = files(&fixture);
    assert_eq!(now["own.key"], "a person's\n");
    assert_eq!(now[".gitignore"], "*.key\n");
}

#[test]
fn what_a_command_changed_that_has_no_result_is_not_denied() {
    if !sandbox() {
        return;
    }
    let fixture = commands(&[shell("echo x >> changed.txt; sleep 600")]);
    fixture.ok(&[
        "run",
        "c.yaml",
        "--run-id",
        "r",
        "--set",
        "tool_timeout_ms=400",
    ]);
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains("there may be more"), "{shown}");
    let said = fixture.ok(&["undo", "r"]);
    assert!(said.contains("More files may have been changed"), "{said}");
}

/// An undo names the child run that changed files: only that run's undo reverts them.
#[test]
fn the_undo_of_a_run_names_those_below_it_that_changed_files() {
    let fixture = Fixture::new();
    let calls = [("write_file", json!({"path": "z.txt", "content": "z"}))];
    let terms = "tools: {builtin: [write_file]}\n";
    fixture.agent("clerk", terms, &asks(&calls, "Written."));
    let calls = [("agent__clerk", json!({"prompt": "write"}))];
    fixture.agent("lead", "agents: [clerk.yaml]\n", &asks(&calls, "Done."));
    fixture.ok(&["run", "lead.yaml", "--task", "go", "--run-id", "lead"]);
    assert!(fixture.path("z.txt").exists());
    let printed = fixture.ok(&["undo", "lead"]);
    assert!(
        printed.contains("Runs below it changed files: monolith undo lead.1\n"),
        "{printed}"
    );
    fixture.ok(&["undo", "lead.1"]);
    assert!(!fixture.path("z.txt").exists());
}

/// A run below that does not read is named, and keeps no file from being restored.
#[test]
fn the_undo_of_a_run_needs_nothing_of_those_below_it() {
    let fixture = Fixture::new();
    let terms = "tools: {builtin: [write_file]}\n";
    for (agent, file) in [("clerk", "z.txt"), ("reader", "")] {
        let calls = [("write_file", json!({"path": file, "content": "z"}))];
        let calls = if file.is_empty() { &[] } else { &calls[..] };
        let made = asks(calls, "Done.");
        let says = if calls.is_empty() { &made[1..] } else { &made };
        fixture.agent(agent, terms, says);
    }
    let calls = [
        ("write_file", json!({"path": "f.txt", "content": "new"})),
        ("agent__clerk", json!({"prompt": "write"})),
        ("agent__reader", json!({"prompt": "read"})),
    ];
    let lead = format!("{terms}agents: [clerk.yaml, reader.yaml]\ntool_policy: optional\n");
    fixture.agent("lead", &lead, &asks(&calls, "Done."));
    fixture.write("f.txt", "old");
    fixture.ok(&["run", "lead.yaml", "--task", "go", "--run-id", "lead"]);
    let plain = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let damage = "UPDATE entries SET action = x'6a756e6b' \
         WHERE seq = 3 AND run IN (SELECT id FROM runs WHERE run_id IN ('lead.2', 'lead.3'))";
    assert_eq!(plain.execute(damage, []).unwrap(), 2);
    drop(plain);
    let printed = fixture.ok(&["undo", "lead"]);
    assert!(printed.contains("restored       f.txt"), "{printed}");
    assert!(
        printed.contains("What run lead.2 below it changed cannot be read: ")
            && !printed.contains("lead.3"),
        "{printed}"
    );
    assert_eq!(fixture.read("f.txt"), "old");
}

/// Tools of servers do not state what they change: nothing is claimed of it.
#[test]
fn what_a_tool_of_a_server_changed_is_not_denied_and_the_tool_is_named() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let contract = |fixture: &Fixture| {
        let odd = format!(
            "mcp: {{odd: {{command: python3, args: [{}]}}}}",
            server.display()
        );
        let with_server = format!("workspace: w, {odd}}}");
        let contract = fixture
            .read("c.yaml")
            .replace("workspace: w}", &with_server);
        fixture.write("c.yaml", &contract);
    };
    let only = fixture(&[
        ("odd__empty", json!({})),
        ("odd__hello", json!({"name": "x"})),
    ]);
    contract(&only);
    only.ok(&["run", "c.yaml", "--run-id", "r"]);
    let printed = only.ok(&["undo", "r"]);
    assert!(
        printed.starts_with("no file is known to have changed in run r\n")
            && printed.contains(
                "Changes made by server tools are unknown and were not reverted: odd__empty\n"
            ),
        "{printed}"
    );
    let shown = only.ok(&["show", "r"]);
    assert!(
        shown.contains(
            "no file of the workspace is known to have changed\n  changes made by server tools are \
             unknown, and undo does not revert them: odd__empty\n"
        ),
        "{shown}"
    );
    let both = fixture(&[write("changed.txt", "x"), ("odd__empty", json!({}))]);
    contract(&both);
    both.ok(&["run", "c.yaml", "--run-id", "r"]);
    let printed = both.ok(&["undo", "r"]);
    assert!(
        printed.contains("restored       changed.txt\nChanges made by server tools"),
        "{printed}"
    );
    // A tool that its server states to be read-only changed nothing.
    let reads = fixture(&[("odd__hello", json!({"name": "x"}))]);
    contract(&reads);
    reads.ok(&["run", "c.yaml", "--run-id", "r"]);
    let printed = reads.ok(&["undo", "r"]);
    assert!(
        printed.starts_with("run r changed the content of no file"),
        "{printed}"
    );
    let help = reads.ok(&["undo", "--help"]);
    assert!(help.contains("built-in tools changed"), "{help}");
}
