//! Files beside a store that a program of a run, or another user, has made: none of them becomes the store's own, against the binary.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::json;

use crate::fixture::{Fixture, Left, calls, monolith, says};
use crate::sandbox_faults::sandbox;

/// Users who are neither root nor each other.
const VICTIM: u32 = 65534;
const STRANGER: u32 = 65533;

/// Commands that read or write a store; each would have SQLite look at the neighbouring files.
const COMMANDS: [&[&str]; 9] = [
    &["list"],
    &["show", "r"],
    &["verify", "r"],
    &["log", "verify"],
    &["export", "r"],
    &["run", "c.yaml"],
    &["migrate"],
    &["migrate", "--dry-run"],
    &["delete", "r", "--yes"],
];

impl Fixture {
    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Creates a run `r` in a store in a separate folder.
    fn kept_run(&self) {
        self.script("tool_policy: optional\n", &[&says("done")]);
        fs::create_dir(self.path("kept")).unwrap();
        self.ok(&["run", "c.yaml", "--store", "kept/runs.db", "--run-id", "r"]);
        // Takes the log in, and removes it.
        let conn = Connection::open(self.path("kept/runs.db")).unwrap();
        conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(conn);
        assert!(!self.path("kept/runs.db-wal").exists());
    }
}

/// The printed output, as one line of words.
fn words(left: &Left) -> String {
    let said = left.printed();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A journal and a log of writes, each of which replaces the names of the store's runs when it is played back.
fn forged(store: &Path, folder: &Path) -> (PathBuf, PathBuf) {
    let copy = |name: &str| {
        let copy = folder.join(name);
        fs::copy(store, &copy).unwrap();
        (Connection::open(&copy).unwrap(), copy)
    };
    let keep = |path: &Path, ending: &str| {
        let left = format!("{}{ending}", path.display());
        let kept = format!("{}.kept", path.display());
        fs::copy(left, &kept).unwrap();
        PathBuf::from(kept)
    };
    let (conn, path) = copy("journal.db");
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    conn.execute_batch("UPDATE runs SET run_id = 'forged'; BEGIN; UPDATE runs SET run_id = 'x'")
        .unwrap();
    conn.cache_flush().unwrap();
    let journal = keep(&path, "-journal");
    let (conn, path) = copy("wal.db");
    conn.execute_batch("UPDATE runs SET run_id = 'forged'")
        .unwrap();
    let log = keep(&path, "-wal");
    (journal, log)
}

#[test]
fn a_rollback_journal_beside_a_store_is_refused_by_name_and_stays() {
    let fixture = Fixture::new();
    fixture.kept_run();
    let (store, beside) = (
        fixture.path("kept/runs.db"),
        fixture.path("kept/runs.db-journal"),
    );
    let (journal, _) = forged(&store, &fixture.path(""));
    fs::copy(journal, &beside).unwrap();
    fixture.set_mode("kept/runs.db-journal", 0o600);
    let (held, left) = (fs::read(&store).unwrap(), fs::read(&beside).unwrap());
    for command in COMMANDS {
        let refused = fixture.run(&[command, &["--store", "kept/runs.db"]].concat());
        let said = words(&refused);
        assert_ne!(refused.code, 0, "{command:?}: {said}");
        assert!(
            said.contains("runs.db-journal is a rollback journal that monolith did not write"),
            "{command:?}: {said}"
        );
        assert_eq!(fs::read(&store).unwrap(), held, "{command:?}");
        assert_eq!(fs::read(&beside).unwrap(), left, "{command:?}");
    }
    fs::remove_file(beside).unwrap();
    fixture.ok(&["verify", "r", "--store", "kept/runs.db"]);
}

#[test]
fn a_link_beside_a_store_is_not_followed() {
    let fixture = Fixture::new();
    fixture.kept_run();
    fixture.write("victim", "kept");
    for ending in ["-wal", "-shm", "-journal"] {
        let beside = fixture.path(&format!("kept/runs.db{ending}"));
        std::os::unix::fs::symlink(fixture.path("victim"), &beside).unwrap();
        for command in COMMANDS {
            let refused = fixture.run(&[command, &["--store", "kept/runs.db"]].concat());
            assert_ne!(refused.code, 0, "{command:?}: {}", refused.printed());
            assert_eq!(fixture.read("victim"), "kept", "{command:?}");
        }
        fs::remove_file(beside).unwrap();
    }
    fixture.ok(&["verify", "r", "--store", "kept/runs.db"]);
}

/// A command as that user; `None` if nobody else can run the binary here.
fn as_user(uid: u32, program: &str) -> Option<Command> {
    let user = || {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={uid}"), format!("--regid={uid}")]);
        command.args(["--clear-groups", "--"]);
        command
    };
    let probe = user().args(["test", "-x", program]).status();
    if !rustix::process::geteuid().is_root() || !probe.is_ok_and(|status| status.success()) {
        println!("skipped 1 case: no other user can run {program} here");
        return None;
    }
    let mut command = user();
    command.arg(program);
    Some(command)
}

/// In a folder where everybody can put files, a user puts a journal and a log beside the store of root and of a third user.
#[test]
fn no_journal_and_no_log_of_another_user_is_played_back() {
    for victim in [0, VICTIM] {
        let binary = env!("CARGO_BIN_EXE_monolith");
        let Some(copies) = as_user(STRANGER, "/bin/cp") else {
            return;
        };
        drop(copies);
        let fixture = Fixture::new();
        fixture.set_mode("", 0o755);
        fixture.kept_run();
        let (journal, log) = forged(&fixture.path("kept/runs.db"), &fixture.path(""));
        for path in ["kept", "kept/runs.db", "kept/runs.db.locks", "home"] {
            chown(fixture.path(path), Some(victim), Some(victim)).unwrap();
        }
        fixture.set_mode("kept", 0o1777);
        for path in [&journal, &log] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        let held = fs::read(fixture.path("kept/runs.db")).unwrap();
        let run = |args: &[&str]| -> Option<Left> {
            let mut command = match victim {
                0 => monolith(&fixture.path(""), &[]),
                uid => as_user(uid, binary)?,
            };
            command
                .args(args)
                .current_dir(fixture.path(""))
                .stdin(Stdio::null())
                .env("MONOLITH_HOME", fixture.path("home"));
            Some(command.output().unwrap().into())
        };
        for (ending, planted) in [("-journal", &journal), ("-wal", &log)] {
            let beside = fixture.path(&format!("kept/runs.db{ending}"));
            let mut copy = as_user(STRANGER, "/bin/cp").unwrap();
            assert!(copy.arg(planted).arg(&beside).status().unwrap().success());
            for command in [&["list"][..], &["show", "r"], &["migrate", "--dry-run"]] {
                let Some(refused) = run(&[command, &["--store", "kept/runs.db"]].concat()) else {
                    return;
                };
                let said = words(&refused);
                assert_ne!(refused.code, 0, "{victim} {command:?}: {said}");
                let expect = format!("belongs to user {STRANGER}");
                assert!(said.contains(&expect), "{victim} {command:?}: {said}");
                assert_eq!(fs::read(fixture.path("kept/runs.db")).unwrap(), held);
                assert!(beside.exists());
            }
            fs::remove_file(beside).unwrap();
        }
        let listed = run(&["list", "--store", "kept/runs.db"]).unwrap();
        assert_eq!(listed.code, 0, "{}", listed.printed());
        assert!(listed.out.contains("r "), "{}", listed.out);
    }
}

/// A store is refused wherever a confined program could make files, whichever key grants the folder.
#[test]
fn a_store_that_a_confined_program_could_write_beside_is_refused_before_the_run() {
    let server = |more: &str| {
        format!("tools: {{workspace: work, mcp: {{s: {{command: cat, args: []{more}}}}}}}\n")
    };
    let cases = [
        (
            "tools: {builtin: [shell], workspace: work}\n".to_owned(),
            "work/runs.db",
            "tools.workspace",
        ),
        (
            "tools: {builtin: [shell], workspace: work, sandbox: {write: [out]}}\n".to_owned(),
            "out/deep/runs.db",
            "tools.sandbox.write",
        ),
        (server(""), "work/deep/runs.db", "tools.workspace"),
        (server(", roots: [out]"), "out/runs.db", "tools.mcp.s.roots"),
        (
            server(", sandbox: {write: [out]}"),
            "out/runs.db",
            "tools.mcp.s.sandbox.write",
        ),
    ];
    for (tools, store, key) in cases {
        let fixture = Fixture::new();
        for folder in ["work/deep", "out/deep"] {
            fs::create_dir_all(fixture.path(folder)).unwrap();
        }
        // A link to the store is no other place.
        std::os::unix::fs::symlink(store, fixture.path("link.db")).unwrap();
        fixture.script(
            &format!("tool_policy: optional\n{tools}"),
            &[&says("done"), &says("done")],
        );
        fixture.write(store, "");
        for store in [store, "link.db"] {
            let refused = fixture.ends(&["run", "c.yaml", "--store", store, "--run-id", "r"], 4);
            let said = words(&refused);
            for expect in [
                format!("{key} lets a confined program write to"),
                "--store or MONOLITH_HOME".to_owned(),
            ] {
                assert!(said.contains(&expect), "{key}: {said}");
            }
            assert!(fs::read(fixture.path(store)).is_ok_and(|held| held.is_empty()));
        }
    }
}

/// Safe stores stay allowed: a state folder in the workspace is hidden as a whole, and a tool that takes only paths is held to names.
#[test]
fn a_state_folder_in_the_workspace_is_hidden_as_a_whole() {
    if !sandbox() {
        return;
    }
    let fixture = Fixture::new();
    let attempt = "echo x > home/runs.db-journal; echo x > home/runs.db-wal; mkdir home/runs.db.answers home/x; \
         mv home moved; rmdir home; ls -A home | wc -l";
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [shell], sandbox: {}}\n",
        &[
            &calls("shell", &json!({"command": attempt}).to_string()),
            &says("done"),
        ],
    );
    let (texts, _) = fixture.called();
    assert!(texts[0].trim_end().ends_with('0'), "{}", texts[0]);
    let names: BTreeSet<String> = names(&fixture.path("home"));
    for planted in ["runs.db-journal", "x"] {
        assert!(!names.contains(planted), "{names:?}");
    }
    assert!(!fixture.path("moved").exists());
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Every name that a store uses in its folder, as the commands that use it leave them there, and those of SQLite's own.
#[test]
fn a_file_tool_makes_no_name_that_belongs_to_the_store() {
    // The files next to a store while a run waits, after it has changed a file, and while it is written.
    let seen = Fixture::new();
    let script = [
        calls("write_file", r#"{"path":"a.txt","content":"b"}"#),
        calls("echo", r#"{"text":"a"}"#),
        says("done"),
    ];
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let terms = "tool_policy: optional\ntools: {builtin: [echo, write_file], workspace: work}\nrequire_approval: [echo]\n";
    seen.write("work/a.txt", "a");
    seen.script(terms, &script);
    fs::create_dir(seen.path("kept")).unwrap();
    let store = ["--store", "kept/runs.db"];
    seen.ends(
        &[&["run", "c.yaml", "--no-wait", "--run-id", "r"], &store[..]].concat(),
        8,
    );
    let asked = seen
        .ends(&[&["approve", "r"], &store[..]].concat(), 4)
        .printed();
    let (_, hash) = asked.split_once("--arguments ").unwrap();
    let hash: String = hash.chars().take_while(char::is_ascii_hexdigit).collect();
    let answer = ["approve", "r", "--yes", "--arguments", &hash];
    seen.ok(&[&answer[..], &store].concat());
    let open = Connection::open(seen.path("kept/runs.db")).unwrap();
    open.execute_batch("BEGIN IMMEDIATE; UPDATE runs SET kind = kind")
        .unwrap();
    let mut all = names(&seen.path("kept"));
    drop(open);
    for known in [
        "runs.db",
        "runs.db-shm",
        "runs.db-wal",
        "runs.db.answers",
        "runs.db.files",
        "runs.db.locks",
    ] {
        assert!(all.contains(known), "{known} was not seen: {all:?}");
    }
    all.extend(
        [
            "runs.db-journal",
            "runs.db-mj0123ABCD",
            "runs.db.answers/r",
            "runs.db.locks/r",
            "runs.db.format-0",
            "runs.db.1-0.new~",
            "RUNS.DB-journal",
            "sub/../runs.db-journal",
            "link/runs.db-journal",
        ]
        .map(str::to_owned),
    );
    // A store in the workspace of tools that take paths.
    let fixture = Fixture::new();
    let mut script: Vec<String> = Vec::new();
    for name in &all {
        let patch = format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch");
        script.push(calls(
            "write_file",
            &json!({"path": name, "content": "x"}).to_string(),
        ));
        script.push(calls("apply_patch", &json!({"patch": patch}).to_string()));
    }
    script.push(calls(
        "write_file",
        r#"{"path":"sub/runs.db-journal","content":"x"}"#,
    ));
    script.push(says("done"));
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    fixture.script(
        "tool_policy: optional\nmax_turns: 100\ntools: {builtin: [write_file, apply_patch], workspace: kept}\n",
        &script,
    );
    fs::create_dir_all(fixture.path("kept/sub")).unwrap();
    std::os::unix::fs::symlink(".", fixture.path("kept/link")).unwrap();
    let run = ["run", "c.yaml", "--json", "--store", "kept/runs.db"];
    let result = fixture.run(&run).document();
    let conversation = result["conversation"].as_array().unwrap();
    let tool = conversation.iter().filter(|m| m["role"] == "tool");
    let texts: Vec<&str> = tool.map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2 * all.len() + 1, "{result}");
    let (made, refused) = texts.split_last().unwrap();
    for (n, text) in refused.iter().enumerate() {
        assert!(
            text.contains("monolith's own state"),
            "{:?}: {text}",
            all.iter().nth(n / 2)
        );
    }
    // The same name in another folder is nobody's.
    assert!(made.contains("made sub/runs.db-journal"), "{made}");
    assert!(!fixture.path("kept/runs.db-journal").exists());
}
