//! Whose the host's files are: what another user owns or can write is refused, against the binary.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::fixture::{Fixture, Left, calls, says};

/// A user who is neither this process's nor root.
const STRANGER: u32 = 65534;

/// Only root gives files away.
fn gives_files_away(cases: usize) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped {cases} cases: only root can give a file to another user");
    }
    is_root
}

/// Runs a command that must refuse, and say what belongs to whom.
#[track_caller]
fn refuses(fixture: &Fixture, command: &[&str], expect: &str) {
    let refused = fixture.run(command);
    let said = refused.printed();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_ne!(refused.code, 0, "{command:?}: {said}");
    assert!(said.contains(expect), "{command:?}: {said}");
}

#[test]
fn what_belongs_to_another_user_is_refused_and_named() {
    const RUN: &[&str] = &["run", "c.yaml"];
    const KEPT: &[&str] = &["run", "c.yaml", "--store", "kept/runs.db"];
    const VERIFY: &[&str] = &["verify", "r"];
    const LIVE: &[&str] = &["replay", "r", "--live", "all"];
    let cases: [(&str, &[&[&str]]); 8] = [
        ("home/keys", &[RUN, VERIFY, &["key", "show"]]),
        ("home/keys/local.key", &[RUN, &["key", "show"]]),
        ("home/keys/local.pub", &[VERIFY]),
        ("home/keys/redaction.key", &[RUN]),
        ("home/runs.db", &[RUN, LIVE, &["delete", "r", "--yes"]]),
        ("home/runs.db.locks", &[RUN]),
        ("kept", &[KEPT]),
        ("kept/runs.db-journal", &[KEPT]),
    ];
    if !gives_files_away(cases.len()) {
        return;
    }
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("kept/runs.db-journal", "");
    for (path, commands) in cases {
        chown(fixture.path(path), Some(STRANGER), None).unwrap();
        for command in commands {
            refuses(&fixture, command, "belongs to user 65534");
        }
        if path.starts_with("home") {
            let doctor = fixture.run(&["doctor"]).printed();
            assert!(doctor.contains("user 65534"), "{path}: {doctor}");
        }
        // As root, SQLite gives the log of a store to the store's owner.
        for ending in ["", "-shm", "-wal"] {
            let beside = fixture.path(&format!("{path}{ending}"));
            assert!(chown(beside, Some(0), None).is_ok() || !ending.is_empty());
        }
        for command in commands.iter().filter(|command| **command == VERIFY) {
            fixture.ok(command);
        }
    }
    fixture.ok(KEPT);
    fixture.ok(&["delete", "r", "--yes"]);
}

/// A path that was the caller's when a run began may lead to another user's file later.
#[test]
fn the_contract_file_of_a_run_is_judged_anew_where_it_is_not_named() {
    if !gives_files_away(3) {
        return;
    }
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done"), &says("more")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    chown(fixture.path("c.yaml"), Some(STRANGER), None).unwrap();
    for command in [
        &["continue", "r", "Go on."][..],
        &["replay", "r", "--live", "all"],
        &["replay", "r", "--fork-at", "0"],
    ] {
        refuses(&fixture, command, "user 65534");
        assert_eq!(
            fixture
                .ok(&["list", "--json"])
                .matches("\"run_id\"")
                .count(),
            1
        );
    }
    fixture.ok(&["continue", "r", "Go on.", "--contract", "c.yaml"]);
}

#[test]
fn a_store_that_others_can_write_is_refused_and_so_are_public_keys() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    let kept = ["run", "c.yaml", "--store", "kept/runs.db"];
    fs::create_dir(fixture.path("kept")).unwrap();
    let mode = |path: &str, mode| {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("kept", 0o755);
    fixture.ok(&[&kept[..], &["--run-id", "r"]].concat());
    for (path, open, closed) in [
        ("kept", 0o777, 0o755),
        ("kept", 0o1777, 0o755),
        ("kept", 0o775, 0o755),
        ("kept/runs.db", 0o666, 0o600),
        ("kept/runs.db", 0o620, 0o644),
    ] {
        mode(path, open);
        let expect = format!("its mode is {open:04o}");
        refuses(&fixture, &kept, &expect);
        refuses(
            &fixture,
            &["delete", "r", "--yes", "--store", "kept/runs.db"],
            &expect,
        );
        // A process that only reads it is no worse off.
        fixture.ok(&["show", "r", "--store", "kept/runs.db"]);
        mode(path, closed);
        // A reader has made the files next to it with the mode that it had then.
        for ending in ["-wal", "-shm"] {
            drop(fs::remove_file(
                fixture.path(&format!("kept/runs.db{ending}")),
            ));
        }
        fixture.ok(&kept);
    }
    // The files beside a store are beside what a link leads to.
    fs::create_dir(fixture.path("open")).unwrap();
    fs::rename(fixture.path("kept/runs.db"), fixture.path("open/runs.db")).unwrap();
    symlink("../open/runs.db", fixture.path("kept/runs.db")).unwrap();
    mode("open", 0o777);
    refuses(&fixture, &kept, "its mode is 0777");
    mode("home/keys/local.pub", 0o666);
    refuses(
        &fixture,
        &["verify", "r", "--store", "kept/runs.db"],
        "its mode is 0666",
    );
}

/// A run that waits for an approval, its process, and what it says on its standard error.
fn parked(fixture: &Fixture) -> (Child, impl Iterator<Item = String> + use<>) {
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\":\"x\"}"), &says("done")],
    );
    let mut waiting = fixture
        .command(&["run", "c.yaml", "--run-id", "r"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    (waiting, said.map(Result::unwrap))
}

/// An answer is a file of ours under its own name: neither a link nor what another user has put there allows a call.
#[test]
fn an_answer_that_is_not_ours_allows_no_call() {
    let mut foreign = vec!["link"];
    if gives_files_away(1) {
        foreign.push("file of another user");
    }
    for what in foreign {
        let fixture = Fixture::new();
        let (mut waiting, mut said) = parked(&fixture);
        let hash = said.find_map(|line| Some(line.split_once("blake3")?.1.trim().to_owned()));
        let hash = hash.unwrap();
        assert!(said.any(|line| line.contains("monolith approve r")));
        let select = "SELECT lower(hex(hash)) FROM entries WHERE seq = 0";
        let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
        let first: String = store.query_row(select, [], |row| row.get(0)).unwrap();
        let answer =
            json!({"approved": true, "arguments_hash": hash, "call": 1, "first_entry": first});
        let answer = answer.to_string();
        let path = fixture.path("home/runs.db.answers/r");
        fixture.write("forged", &answer);
        let folder = path.parent().unwrap();
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        if what == "link" {
            symlink("../../forged", &path).unwrap();
        } else {
            chown(fixture.path("forged"), Some(STRANGER), None).unwrap();
            fs::rename(fixture.path("forged"), &path).unwrap();
        }
        // It ends where the answer is taken.
        let refused = said.find(|line| line.contains("no answer is taken"));
        assert!(refused.is_some(), "{what}");
        refuses(
            &fixture,
            &["approve", "r", "--yes", "--arguments", &hash],
            "answers/r",
        );
        fs::remove_file(&path).unwrap();
        fixture.ok(&["approve", "r", "--yes", "--arguments", &hash]);
        assert!(waiting.wait().unwrap().success(), "{what}");
    }
}

/// The trust of a verification is a file, too: anyone who can write it, or replace it, decides what holds.
#[test]
fn keys_and_pins_that_others_could_have_written_are_not_trusted() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.ok(&["export", "r", "--output", "r.jsonl"]);
    fixture.write("outer/trust/keys", &fixture.ok(&["key", "show"]));
    fixture.ok(&["verify", "r", "--write-pin", "outer/trust/heads"]);
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.write("outer/trust/log", &fixture.ok(&["log", "root", "--note"]));
    fixture.write("proof", &fixture.ok(&["log", "prove", "r"]));
    let mode = |path: &str, mode| {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in ["outer", "outer/trust"] {
        mode(path, 0o755);
    }
    for path in ["outer/trust/keys", "outer/trust/heads", "outer/trust/log"] {
        mode(path, 0o644);
    }
    let keys: [&[&str]; 5] = [
        &["verify", "r", "--key", "outer/trust/keys"],
        &["verify", "r.jsonl", "--witness", "outer/trust/keys"],
        &["log", "verify", "--key", "outer/trust/keys"],
        &["log", "check", "proof", "--key", "outer/trust/keys"],
        &["import", "r.jsonl", "--key", "outer/trust/keys"],
    ];
    let heads: [&[&str]; 4] = [
        &["verify", "r", "--pin", "outer/trust/heads"],
        &["log", "verify", "--pin", "outer/trust/heads"],
        &["resume", "r", "--pin", "outer/trust/heads"],
        &["verify", "r", "--write-pin", "outer/trust/heads"],
    ];
    let log: [&[&str]; 1] = [&["log", "check", "proof", "--pin", "outer/trust/log"]];
    let of = |path: &str| match path {
        "outer/trust/keys" => keys.to_vec(),
        "outer/trust/heads" => heads.to_vec(),
        "outer/trust/log" => log.to_vec(),
        _ => [&keys[..], &heads, &log].concat(),
    };
    let all = of("");
    let hold = || all.iter().for_each(|command| drop(fixture.ok(command)));
    hold();
    for (path, open, closed) in [
        ("outer/trust/keys", 0o666, 0o644),
        ("outer/trust/log", 0o622, 0o644),
        ("outer/trust", 0o777, 0o755),
        ("outer", 0o777, 0o755),
    ] {
        mode(path, open);
        for command in of(path) {
            let expect = format!("its mode is {open:04o}");
            refuses(&fixture, command, &expect);
            assert_eq!(fixture.run(command).code, 4, "{path}: {command:?}");
        }
        mode(path, closed);
    }
    // Others can put files next to it, and cannot take its place.
    mode("outer", 0o1777);
    hold();
    mode("outer", 0o755);
    // A link is as safe as the folder that it stands in, and what it leads to.
    fs::create_dir_all(fixture.path("open")).unwrap();
    symlink("../outer/trust", fixture.path("open/trust")).unwrap();
    symlink("open/trust/keys", fixture.path("link")).unwrap();
    mode("open", 0o755);
    fixture.ok(&["verify", "r", "--key", "link"]);
    mode("open", 0o777);
    for path in ["link", "open/trust/keys"] {
        refuses(
            &fixture,
            &["verify", "r", "--key", path],
            "its mode is 0777",
        );
    }
    refuses(
        &fixture,
        &["verify", "r", "--write-pin", "open/heads"],
        "its mode is 0777",
    );
    assert!(!fixture.path("open/heads").exists());
    mode("open", 0o755);
    // A proof is evidence, not trust; a key that is given as such is no file.
    mode("proof", 0o666);
    fixture.ok(&["log", "check", "proof"]);
    let key = fixture.ok(&["key", "show"]);
    fixture.ok(&["verify", "r", "--key", key.trim()]);
    if !gives_files_away(7) {
        return;
    }
    for (path, open, closed) in [
        ("outer/trust/heads", 0o664, 0o644),
        ("outer/trust", 0o775, 0o755),
    ] {
        chown(fixture.path(path), None, Some(STRANGER)).unwrap();
        mode(path, open);
        for command in of(path) {
            refuses(&fixture, command, &format!("its mode is {open:04o}"));
        }
        mode(path, closed);
    }
    for path in [
        "outer/trust/keys",
        "outer/trust/heads",
        "outer/trust/log",
        "outer/trust",
        "outer",
    ] {
        chown(fixture.path(path), Some(STRANGER), None).unwrap();
        for command in of(path) {
            refuses(&fixture, command, "belongs to user 65534");
        }
        chown(fixture.path(path), Some(0), None).unwrap();
    }
    hold();
}

/// Under umask 002 everything that an ordinary user makes is writable by a group that has no other member. What is trusted may be;
/// a secret may not.
#[test]
fn what_only_the_private_group_of_this_user_can_write_is_trusted_and_no_secret() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("trust/keys", &fixture.ok(&["key", "show"]));
    fixture.ok(&["verify", "r", "--write-pin", "trust/heads"]);
    for (path, mode) in [
        ("trust", 0o775),
        ("trust/keys", 0o664),
        ("trust/heads", 0o664),
    ] {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let commands: [&[&str]; 4] = [
        &["verify", "r", "--key", "trust/keys"],
        &["verify", "r", "--pin", "trust/heads"],
        &["resume", "r", "--pin", "trust/heads"],
        &["verify", "r", "--write-pin", "trust/heads"],
    ];
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let is_private = user.as_raw() == group.as_raw();
    for command in commands {
        if is_private {
            fixture.ok(command);
        } else {
            refuses(&fixture, command, "its mode is 0");
        }
    }
    for (path, mode, command) in [
        ("home/keys/local.key", 0o660, ["key", "show"].as_slice()),
        ("home/keys", 0o770, &["key", "show"]),
        ("home/runs.db", 0o660, &["run", "c.yaml"]),
    ] {
        let before = fs::metadata(fixture.path(path)).unwrap().permissions();
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
        refuses(&fixture, command, &format!("its mode is {mode:04o}"));
        fs::set_permissions(fixture.path(path), before).unwrap();
    }
}

/// A file that becomes trust is written so that only its owner can change it.
#[test]
fn what_becomes_trust_is_no_file_that_others_can_write() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let commands: [(&[&str], &str); 5] = [
        (&["verify", "r", "--write-pin", "heads"], "heads"),
        (&["verify", "r", "--write-pin", "heads"], "heads"),
        (
            &[
                "init",
                "--use",
                "openai",
                "--ollama",
                "none",
                "--llama-server",
                "none",
                "--lm-studio",
                "none",
                "new.yaml",
            ],
            "new.yaml",
        ),
        (&["key", "generate", "second"], "home/keys/second.pub"),
        (&["key", "rotate", "second"], "home/keys/second.pub"),
    ];
    for (command, path) in commands {
        let said = Command::new("sh")
            .args(["-c", "umask 000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_monolith"))
            .args(command)
            .current_dir(fixture.path(""))
            .env("MONOLITH_HOME", fixture.path("home"))
            .env("OPENAI_API_KEY", "k")
            .output()
            .unwrap();
        assert!(said.status.success(), "{command:?}: {said:?}");
        let mode = fs::metadata(fixture.path(path))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o022, 0, "{command:?}: {mode:04o}");
    }
    fixture.ok(&["verify", "r", "--pin", "heads"]);
}

#[test]
fn no_state_folder_is_used_that_a_link_of_another_user_leads_to() {
    if !gives_files_away(2) {
        return;
    }
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    for folder in ["mine", "shared"] {
        fs::create_dir(fixture.path(folder)).unwrap();
    }
    for (path, mode) in [("mine", 0o700), ("shared", 0o1777)] {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let link = fixture.path("shared/home");
    symlink("../mine", &link).unwrap();
    lchown(&link, Some(STRANGER), None).unwrap();
    for command in [&["run", "c.yaml"][..], &["key", "rotate"]] {
        let mut command = fixture.command(command);
        let refused = Left::from(command.env("MONOLITH_HOME", &link).output().unwrap());
        let said = refused.printed();
        assert_ne!(refused.code, 0, "{said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("belongs to user 65534"), "{said}");
    }
    assert_eq!(fs::read_dir(fixture.path("mine")).unwrap().count(), 0);
    lchown(&link, Some(0), None).unwrap();
    let mut command = fixture.command(&["run", "c.yaml"]);
    assert!(
        command
            .env("MONOLITH_HOME", &link)
            .status()
            .unwrap()
            .success()
    );
}

/// In a folder with the sticky bit others can put links, and lead to what they choose of this user's own files.
#[test]
fn a_link_of_another_user_leads_to_nothing_that_is_trusted() {
    if !gives_files_away(6) {
        return;
    }
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("trust/keys", &fixture.ok(&["key", "show"]));
    fixture.ok(&["verify", "r", "--write-pin", "trust/heads"]);
    fs::create_dir(fixture.path("shared")).unwrap();
    for (path, mode) in [("trust", 0o755), ("trust/keys", 0o644), ("shared", 0o1777)] {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    for name in ["keys", "heads", "new"] {
        symlink(
            format!("../trust/{name}"),
            fixture.path(&format!("shared/{name}")),
        )
        .unwrap();
    }
    symlink("../trust", fixture.path("shared/folder")).unwrap();
    symlink("shared/keys", fixture.path("keys")).unwrap();
    let commands: [&[&str]; 6] = [
        &["verify", "r", "--key", "shared/keys"],
        &["verify", "r", "--key", "keys"],
        &["verify", "r", "--key", "shared/folder/keys"],
        &["verify", "r", "--pin", "shared/heads"],
        &["verify", "r", "--write-pin", "shared/heads"],
        &["resume", "r", "--pin", "shared/folder/heads"],
    ];
    for command in commands {
        fixture.ok(command);
    }
    let links = ["keys", "heads", "new", "folder"].map(|name| fixture.path("shared").join(name));
    for link in &links {
        lchown(link, Some(STRANGER), None).unwrap();
    }
    for command in commands {
        refuses(&fixture, command, "belongs to user 65534");
    }
    refuses(
        &fixture,
        &["verify", "r", "--write-pin", "shared/new"],
        "belongs to user 65534",
    );
    assert!(!fixture.path("trust/new").exists());
    for link in &links {
        lchown(link, Some(0), None).unwrap();
    }
    for command in commands {
        fixture.ok(command);
    }
}
