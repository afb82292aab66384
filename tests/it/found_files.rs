//! Contracts and configuration that were found and not named: whose they may be, against the binary.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};

use serde_json::json;

use crate::fixture::{Fixture, Left};
use crate::terminal::Terminal;

/// A user who is neither this process's nor root.
const STRANGER: u32 = 65534;

/// The commands that take the contract of the folder.
const FOUND: [&[&str]; 5] = [
    &["run", "hi"],
    &["run"],
    &["tools"],
    &["contract", "check", "--start-servers"],
    &["chat"],
];

/// A fixture whose folder `place` is worked in; what is found there starts a command that leaves `marker`.
struct Place {
    fixture: Fixture,
}

impl Place {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.write("place/s.jsonl", "");
        fixture.write("home/.keep", "");
        Self { fixture }
    }

    /// The command of a tool server that is none.
    fn command(&self) -> serde_json::Value {
        let marker = self.fixture.path("marker").display().to_string();
        json!(["sh", "-c", format!("touch {marker}")])
    }

    /// `agent.yaml`, whose tool server is that command.
    fn contract(&self) {
        let contract = json!({
            "task": "hi",
            "targets": [{"provider": "demo", "model": "m"}],
            "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
            "tools": {"mcp": {"theirs": {"command": "sh", "args": self.command().as_array().unwrap()[1..], "sandbox": "off"}}},
        });
        self.fixture
            .write("place/agent.yaml", &contract.to_string());
    }

    fn run(&self, args: &[&str]) -> Left {
        let mut command = self.fixture.command(args);
        command
            .current_dir(self.fixture.path("place"))
            .env("HOME", self.fixture.path("me"));
        command.output().unwrap().into()
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn give(&self, path: &str, user: u32) {
        chown(self.fixture.path(path), Some(user), None).unwrap();
    }

    /// Asserts that nothing starts, and checks these words.
    #[track_caller]
    fn refuses(&self, args: &[&str], words: &[&str]) {
        let left = self.run(args);
        let said = left.printed();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!self.fixture.path("marker").exists(), "{args:?}: {said}");
        assert_eq!(left.code, 4, "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: no {word:?} in {said}");
        }
    }

    /// The command of the tool server is started.
    #[track_caller]
    fn starts(&self, args: &[&str]) {
        let said = self.run(args).printed();
        let marker = self.fixture.path("marker");
        assert!(fs::remove_file(marker).is_ok(), "{args:?}: {said}");
    }
}

fn is_root(cases: usize) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped {cases} cases: only root can give a file to another user");
    }
    is_root
}

/// A contract is a program: in a folder that everybody can write, anybody's would start its commands.
#[test]
fn a_contract_that_was_found_and_not_named_is_this_users_or_roots() {
    let place = Place::new();
    place.contract();
    for (path, mode) in [("place", 0o755), ("place/agent.yaml", 0o644)] {
        place.mode(path, mode);
    }
    let refused = |words: &[&str]| {
        for command in FOUND {
            place.refuses(command, &[words, &["./agent.yaml", "--contract"]].concat());
        }
        // What is named is trusted, also where others can write it.
        for command in [
            ["run", "./agent.yaml"].as_slice(),
            &["run", "agent.yaml", "hi"],
            &["run", "--contract", "agent.yaml", "hi"],
            &["tools", "agent.yaml"],
            &["contract", "check", "agent.yaml", "--start-servers"],
        ] {
            place.starts(command);
        }
        assert_eq!(place.run(&["chat", "./agent.yaml"]).code, 0);
    };
    // Whose it is, and whether it may start commands, are two questions.
    let trusted = || assert_eq!(place.run(&["trust", "agent.yaml"]).code, 0);
    trusted();
    let taken = || {
        for command in &FOUND[..4] {
            place.starts(command);
        }
        assert_eq!(place.run(&["chat"]).code, 0);
    };
    taken();
    for (path, open, closed, words) in [
        ("place/agent.yaml", 0o646, 0o644, "its mode is 0646"),
        ("place", 0o777, 0o755, "its mode is 0777"),
        ("place", 0o1777, 0o755, "its mode is 1777"),
    ] {
        place.mode(path, open);
        refused(&["everybody can write", path, words, "belongs to user"]);
        place.mode(path, closed);
    }
    // Who works with umask 002 is not refused.
    place.mode("place", 0o775);
    place.mode("place/agent.yaml", 0o664);
    taken();
    // A link is judged by the folder that it leads to, too.
    fs::create_dir(place.fixture.path("open")).unwrap();
    let (here, there) = ("place/agent.yaml", "open/agent.yaml");
    fs::rename(place.fixture.path(here), place.fixture.path(there)).unwrap();
    fs::copy(
        place.fixture.path("place/s.jsonl"),
        place.fixture.path("open/s.jsonl"),
    )
    .unwrap();
    symlink("../open/agent.yaml", place.fixture.path(here)).unwrap();
    place.mode("open", 0o777);
    refused(&["everybody can write", "its mode is 0777"]);
    place.mode("open", 0o755);
    trusted();
    taken();
    if !is_root(2) {
        return;
    }
    for path in [there, "place"] {
        place.give(path, STRANGER);
        refused(&["belongs to user 65534", path.rsplit('/').next().unwrap()]);
        place.give(path, 0);
    }
    taken();
}

/// S21: a repository's own contract starts nothing and hands on no variable before a person has said so.
#[test]
fn s21_a_contract_that_was_found_starts_nothing_before_it_is_trusted() {
    let place = Place::new();
    let fixture = &place.fixture;
    let write = |system: &str| {
        let contract = json!({
            "task": "hi",
            "system": system,
            "targets": [{"provider": "demo", "model": "m"}],
            "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
            "tools": {"mcp": {"theirs": {"command": "sh", "args": place.command().as_array().unwrap()[1..], "sandbox": "off"}}},
        });
        fixture.write("place/agent.yaml", &contract.to_string());
    };
    write("first");
    let refused = || {
        for command in FOUND {
            // What it reaches is shown, and what to type.
            place.refuses(
                command,
                &[
                    "is not trusted as it is now",
                    "command sh -c touch",
                    "tools.mcp.theirs",
                    "monolith trust ./agent.yaml",
                ],
            );
        }
    };
    let taken = || {
        for command in &FOUND[..4] {
            place.starts(command);
        }
        assert_eq!(place.run(&["chat"]).code, 0);
    };
    let trust = |args: &[&str], code: i32| {
        let left = place.run(&[&["trust"], args].concat());
        assert_eq!(left.code, code, "{args:?}: {}", left.printed());
        assert!(!fixture.path("marker").exists());
        left.printed()
    };
    refused();
    // What starts nothing needs no trust, and what is named has it.
    for command in [
        &["contract", "check"] as &[&str],
        &["contract", "hash"],
        &["contract", "show"],
    ] {
        let left = place.run(command);
        assert_ne!(left.code, 4, "{command:?}: {}", left.printed());
    }
    place.starts(&["run", "./agent.yaml"]);
    refused();
    assert!(trust(&["--list"], 0).contains("No contracts are trusted"));
    let said = trust(&["agent.yaml"], 0);
    assert!(said.contains("command   sh -c touch"), "{said}");
    taken();
    assert!(trust(&["--list"], 0).contains("as trusted"));
    // As it is, and under that path.
    write("second");
    refused();
    assert!(trust(&["--list"], 0).contains("changed since"));
    write("first");
    taken();
    fs::create_dir(fixture.path("elsewhere")).unwrap();
    fs::copy(
        fixture.path("place/agent.yaml"),
        fixture.path("elsewhere/agent.yaml"),
    )
    .unwrap();
    fixture.write("elsewhere/s.jsonl", "");
    let mut there = fixture.command(&["run"]);
    let left: Left = there
        .current_dir(fixture.path("elsewhere"))
        .output()
        .unwrap()
        .into();
    assert_eq!(left.code, 4, "{}", left.printed());
    trust(&["--remove", "agent.yaml"], 0);
    refused();
    trust(&["--remove", "agent.yaml"], 4);
    // A list that cannot be read trusts nothing.
    trust(&["agent.yaml"], 0);
    fixture.write("home/trusted-contracts.jsonl", "no list");
    place.refuses(&["run"], &["read the trusted contracts", "line 1"]);
}

/// The author chooses the confinement of commands: a person who is asked for trust sees the choice.
#[test]
fn s21_who_is_asked_for_trust_sees_what_commands_may_do() {
    let place = Place::new();
    for (sandbox, expect) in [
        ("{}", "in the sandbox, without the network"),
        (
            "{network: on, read: [~/.ssh], write: [~/]}",
            "in the sandbox, with the network; reads ~/.ssh; writes ~/",
        ),
        ("off", "without a sandbox"),
    ] {
        let contract = format!(
            "task: hi\ntargets: [{{provider: demo, model: m}}]\n\
             providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n\
             tools: {{builtin: [shell], sandbox: {sandbox}, mcp: {{odd: {{command: odd, sandbox: {sandbox}}}}}}}\n"
        );
        place.fixture.write("place/agent.yaml", &contract);
        let network = expect.replace("without the network", "with the network");
        place.refuses(
            &["run"],
            &[
                &format!("whatever the model runs with shell (tools.builtin; {expect}"),
                &format!("odd (tools.mcp.odd; {network}"),
                "monolith trust ./agent.yaml",
            ],
        );
    }
}

#[test]
fn s21_a_found_contract_that_hands_on_a_variable_is_asked_about_and_another_is_not() {
    let place = Place::new();
    let fixture = &place.fixture;
    let provider = "{type: openai, base_url: 'http://127.0.0.1:1/v1'";
    let check = |provider: &str, more: &str, asks: bool| {
        let text = format!(
            "task: hi\ntargets: [{{provider: p, model: m}}]\ncontext_budget: {{context_window: 9000}}\nproviders: {{p: {provider}}}\n{more}"
        );
        fixture.write("place/agent.yaml", &text);
        let mut command = fixture.command(&["run"]);
        command
            .current_dir(fixture.path("place"))
            .env("MY_KEY", "s3cret");
        let left: Left = command.output().unwrap().into();
        let asked = left.printed().contains("is not trusted as it is now");
        assert_eq!(asked, asks, "{text}: {}", left.printed());
        assert_eq!(left.code == 4, asks, "{text}: {}", left.printed());
    };
    check(&format!("{provider}}}"), "", false);
    check(&format!("{provider}, api_key_env: MY_KEY}}"), "", true);
    check(
        &format!("{provider}, headers: {{x: '${{MY_KEY}}'}}}}"),
        "",
        true,
    );
    check(&format!("{provider}, headers: {{x: plain}}}}"), "", false);
    let server =
        |more: &str| format!("tools: {{mcp: {{s: {{url: 'http://127.0.0.1:1/', {more}}}}}}}");
    check(
        &format!("{provider}}}"),
        &server("headers: {x: '${MY_KEY}'}"),
        true,
    );
    check(
        &format!("{provider}}}"),
        &server("oauth: {client_id: c, client_secret_env: MY_KEY}"),
        true,
    );
}

#[test]
fn a_person_is_asked_once_whether_a_found_contract_is_trusted() {
    let place = Place::new();
    place.contract();
    let start = || {
        let mut command = place.fixture.command(&["tools"]);
        command.current_dir(place.fixture.path("place"));
        Terminal::start(command)
    };
    let marker = place.fixture.path("marker");
    let mut asked = start();
    asked
        .until("command   sh -c touch")
        .until("Trust agent.yaml as it is now? [y/N]")
        .types("\r");
    let (code, shown) = asked.end();
    assert_eq!(code, 4, "{shown}");
    assert!(!marker.exists(), "{shown}");
    let mut asked = start();
    asked.until("[y/N]").types("y\r");
    asked.end();
    assert!(fs::remove_file(&marker).is_ok());
    let (_, shown) = start().end();
    assert!(marker.exists() && !shown.contains("[y/N]"), "{shown}");
}

/// A file that defines a contract's names holds commands and addresses: so does the file of their variables.
#[test]
fn configuration_that_was_found_and_not_named_is_this_users_or_roots() {
    let place = Place::new();
    let fixture = &place.fixture;
    let contract = json!({
        "task": "hi",
        "targets": [{"provider": "demo", "model": "m"}],
        "tools": {"mcp": {"theirs": null}},
    });
    fixture.write("contracts/c.yaml", &contract.to_string());
    let script = fixture.path("place/s.jsonl").display().to_string();
    let layer = json!({
        "providers": {"demo": {"type": "scripted", "file": "${SCRIPT}"}},
        "mcpServers": {"theirs": {"command": place.command(), "sandbox": "off"}},
    });
    let run: &[&str] = &["run", "../contracts/c.yaml"];
    let check: &[&str] = &["contract", "check", "../contracts/c.yaml"];
    let folders = [
        ("place", ".ai-agent.json", ".ai-agent.env"),
        ("contracts", ".ai-agent.json", ".ai-agent.env"),
        ("me/.ai-agent", "ai-agent.json", "ai-agent.env"),
    ];
    for (folder, file, variables) in folders {
        let (file, variables) = (format!("{folder}/{file}"), format!("{folder}/{variables}"));
        fixture.write(&file, &layer.to_string());
        fixture.write(&variables, &format!("SCRIPT={script}\n"));
        let named = format!("../{file}");
        let naming = [run, &["--config", &named]].concat();
        for (path, mode) in [(folder, 0o775), (&file, 0o664), (&variables, 0o664)] {
            place.mode(path, mode);
        }
        // Whose a layer is, and whether it may start commands, are two questions.
        if !folder.starts_with("me") {
            place.refuses(
                run,
                &[&file, "is not trusted as it is now", "monolith trust"],
            );
            assert_eq!(place.run(&["trust", run[1]]).code, 0);
        }
        place.starts(run);
        for (path, open, closed) in [(file.as_str(), 0o666, 0o664), (folder, 0o777, 0o775)] {
            place.mode(path, open);
            for command in [run, check] {
                place.refuses(command, &["everybody can write", path, "--config"]);
            }
            place.starts(&naming);
            place.mode(path, closed);
        }
        place.mode(&variables, 0o666);
        for command in [run, &naming] {
            place.refuses(command, &["everybody can write", &variables]);
        }
        // Who can write the file that was named decides already.
        place.mode(&file, 0o666);
        place.starts(&naming);
        place.mode(&file, 0o664);
        place.mode(&variables, 0o664);
        if is_root(5) {
            // Of the same third user, and written by everybody: who can write the one cannot write the other.
            for path in [&file, &variables] {
                place.give(path, STRANGER);
            }
            place.starts(&naming);
            place.mode(&variables, 0o666);
            place.refuses(&naming, &["everybody can write", &variables]);
            place.mode(&variables, 0o664);
            for path in [&file, &variables] {
                place.give(path, 0);
            }
            for path in [file.as_str(), folder] {
                place.give(path, STRANGER);
                for command in [run, check] {
                    place.refuses(command, &[path, "belongs to user 65534", "--config"]);
                }
                place.starts(&naming);
                place.give(path, 0);
            }
            let kept = format!("{variables}.kept");
            fs::rename(fixture.path(&variables), fixture.path(&kept)).unwrap();
            symlink(fixture.path(&kept), fixture.path(&variables)).unwrap();
            let said = place.run(&naming).printed();
            // A confined server that could replace the link is not started.
            let is_kept = said.contains("is a link, which cannot be kept from being replaced");
            let marker = fixture.path("marker");
            assert!(fs::remove_file(marker).is_ok() || is_kept, "{said}");
            lchown(fixture.path(&variables), Some(STRANGER), None).unwrap();
            place.refuses(&naming, &[&variables, "belongs to user 65534"]);
            fs::remove_file(fixture.path(&variables)).unwrap();
            fs::rename(fixture.path(&kept), fixture.path(&variables)).unwrap();
            place.give(&variables, STRANGER);
            // The variables of a third are not what was named.
            for command in [run, &naming] {
                place.refuses(command, &[&variables, "belongs to user 65534"]);
            }
            place.give(&file, STRANGER);
            place.starts(&naming);
        }
        fs::remove_file(fixture.path(&file)).unwrap();
        fs::remove_file(fixture.path(&variables)).unwrap();
    }
}
