//! Attacks on the files that decide what is started: a script that a server's command names, a contract, and the links on the way. An agent rewrites
//! them with file tools and with confined commands. Against the binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::confinement::{User, is_able};
use crate::fixture::{Fixture, Left, calls, says};

/// A run of the contract, which leaves its document.
pub const RUN: [&str; 4] = ["run", "--json", "--contract", "c.yaml"];

pub fn shell(command: &str) -> String {
    calls("shell", &json!({"command": command}).to_string())
}

pub fn put(path: &str) -> String {
    let arguments = json!({"path": path, "content": "import os"});
    calls("write_file", &arguments.to_string())
}

impl Fixture {
    /// Writes a tool server to that path, and beside the workspace a script that leaves `marker`.
    pub fn serves_from(&self, path: &str) {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        let server = fs::read_to_string(server).unwrap();
        self.write(path, &format!("#!/usr/bin/env python3\n{server}"));
        let marker = self.path("marker").display().to_string();
        let evil = format!("#!/bin/sh\n''':'\ntouch {marker}\nexit\n'''\nopen('{marker}', 'w')\n");
        self.write("work/evil", &evil);
        for path in [path, "work/evil"] {
            fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(self.path("user")).unwrap();
    }

    /// `c.yaml` whose model says these lines, with a shell and these terms of an unconfined server `odd`.
    pub fn attacked(&self, server: &str, more: &str, lines: &[&str]) {
        let tools = format!(
            "tool_policy: optional\ntools: {{builtin: [shell, write_file, edit_file, apply_patch], workspace: work, \
             mcp: {{odd: {{{server}, sandbox: off}}}}{more}}}\n"
        );
        let end = says("Done.");
        self.script(&tools, &[lines, &[&end]].concat());
    }

    #[track_caller]
    pub fn was_not_attacked(&self, said: &str) {
        assert!(!self.path("marker").exists(), "{said}");
    }
}

/// The results of the calls of a run that ended.
#[track_caller]
pub fn tool_results(left: &Left) -> Vec<String> {
    let result: Value = left.document();
    let conversation = result["conversation"].as_array();
    let conversation = conversation.unwrap_or_else(|| panic!("{}", left.printed()));
    let of_tools = conversation.iter().filter(|said| said["role"] == "tool");
    of_tools
        .map(|said| said["content"].as_str().unwrap().to_owned())
        .collect()
}

/// The attack F7: an agent rewrites the script of an unconfined server, and lets the server end.
#[test]
fn f7_a_script_that_confined_commands_rewrite_is_not_started_without_the_sandbox() {
    if !is_able() {
        return;
    }
    for user in User::all() {
        let fixture = Fixture::new();
        fixture.serves_from("work/a/b/server.py");
        let attack = "cp evil a/b/server.py; cat evil > a/b/server.py; mv evil a/b/server.py; rm -f a/b/server.py; \
             ln -f evil a/b/server.py; ln -sf ../../evil a/b/server.py; mv a/b a/c; mv a x; mkdir -p a/b; cp evil a/b/server.py; \
             echo made > other.py; true";
        fixture.attacked(
            "command: python3, args: [a/b/server.py]",
            "",
            &[
                &shell(attack),
                &calls("odd__die", "{}"),
                &calls("odd__hello", "{}"),
            ],
        );
        let kept = fixture.read("work/a/b/server.py");
        fixture.belongs_to(user);
        let left = fixture.by(user, &RUN);
        fixture.was_not_attacked(&left.printed());
        assert_eq!(fixture.read("work/a/b/server.py"), kept);
        // An agent works on as before, and its server is there again.
        assert_eq!(fixture.read("work/other.py"), "made\n");
        let results = tool_results(&left);
        assert_eq!(results.last().unwrap(), "hello", "{results:#?}");
    }
}

/// The same where the workspace lies in another folder that the command may write, which it renames.
#[test]
fn f7_no_folder_above_a_named_script_can_be_renamed() {
    if !is_able() {
        return;
    }
    for user in User::all() {
        let fixture = Fixture::new();
        fixture.serves_from("out/mid/work/server.py");
        let out = fixture.path("out").canonicalize().unwrap();
        let attack = format!(
            "cd {}; mv mid x && mkdir -p mid/work && echo 'import sys' > mid/work/server.py",
            out.display()
        );
        let tools = "tool_policy: optional\ntools: {builtin: [shell], workspace: out/mid/work, sandbox: {write: [out]}, \
             mcp: {odd: {command: python3, args: [server.py], sandbox: off}}}\n";
        fixture.script(tools, &[&shell(&attack), &says("Done.")]);
        let kept = fixture.read("out/mid/work/server.py");
        fixture.belongs_to(user);
        let left = fixture.by(user, &RUN);
        assert_eq!(left.code, 0, "{}", left.printed());
        assert!(!fixture.path("out/x").exists(), "{}", left.printed());
        assert_eq!(fixture.read("out/mid/work/server.py"), kept);
    }
}

/// File tools change no file that decides what is started: scripts, contracts, included files, agents and descriptions.
#[test]
fn f7_file_tools_change_nothing_that_decides_what_is_started() {
    let fixture = Fixture::new();
    fixture.serves_from("server.py");
    fixture.write("settings.json", "{}");
    fixture.write(
        "lib/kid.ai",
        "---\nmodels: demo/script\n---\n${include:part.md}\n",
    );
    fixture.write("lib/part.md", "You help.");
    symlink("server.py", fixture.path("link.py")).unwrap();
    fs::hard_link(fixture.path("server.py"), fixture.path("second.py")).unwrap();
    let delete = |path: &str| {
        let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
        calls("apply_patch", &json!({"patch": patch}).to_string())
    };
    let edit =
        json!({"path": "server.py", "edits": [{"old": "def list_tools(request):", "new": "x"}]});
    let refused = [
        put("server.py"),
        put("link.py"),
        put("second.py"),
        put("settings.json"),
        put("c.yaml"),
        put("lib/kid.ai"),
        put("lib/../lib/part.md"),
        delete("server.py"),
        delete("c.yaml"),
        calls("edit_file", &edit.to_string()),
    ];
    let allowed = [put("other.py"), put("data.db"), put("notes.md")];
    fixture.write("data.db", "");
    let lines = refused.iter().chain(&allowed).map(String::as_str);
    let end = says("Done.");
    let lines: Vec<&str> = lines.chain([end.as_str()]).collect();
    let tools = "tool_policy: optional\nmax_turns: 20\ntools: {builtin: [write_file, edit_file, apply_patch], mcp: {odd: {command: ./server.py, \
         args: [--db, data.db, --settings=settings.json, '> notes.md'], sandbox: off}}}\nagents: [lib/kid.ai]\n";
    fixture.script(tools, &lines);
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "k.jsonl"}}});
    fixture.write("lib/conf.json", &layer.to_string());
    fixture.write("lib/k.jsonl", "");
    let run = [&RUN[..], &["--config", "lib/conf.json"]].concat();
    let results = tool_results(&fixture.run(&run));
    for (at, result) in results.iter().enumerate() {
        let is_refused = result.contains("decides what monolith starts");
        assert_eq!(is_refused, at < refused.len(), "{at}: {results:#?}");
    }
    assert_eq!(fixture.read("other.py"), "import os");
}

/// An agent makes its server's script, or a link on the way to it, another one: the next agent does not start it.
#[test]
fn f7_an_agent_starts_no_script_that_its_parent_made_or_replaced() {
    if !is_able() {
        return;
    }
    for user in User::all() {
        for (command, attack) in [
            ("./bin/tool", "ln -sf ../evil bin/tool"),
            ("./bin/tool", "mv bin bin2; mkdir bin; cp evil bin/tool"),
            ("./later", "cp evil later"),
            ("./env/python", "ln -sf ../evil env/python"),
        ] {
            let fixture = Fixture::new();
            fixture.serves_from("work/pkg/server.py");
            for folder in ["work/bin", "work/env"] {
                fs::create_dir(fixture.path(folder)).unwrap();
            }
            symlink("../pkg/server.py", fixture.path("work/bin/tool")).unwrap();
            symlink("/usr/bin/python3", fixture.path("work/env/python")).unwrap();
            let kid = format!(
                "targets: [{{provider: demo, model: script}}]\nproviders: {{demo: {{type: scripted, file: k.jsonl}}}}\n\
                 tools: {{mcp: {{odd: {{command: {command}, sandbox: off}}}}}}\n"
            );
            fixture.write("work/kid.yaml", &kid);
            fixture.write("work/k.jsonl", &says("Done."));
            let lines = [
                shell(attack),
                calls("agent__kid", r#"{"prompt": "go"}"#),
                says("Done."),
            ];
            let lines = lines.each_ref().map(String::as_str);
            let tools = "tool_policy: optional\ntools: {builtin: [shell], workspace: work}\nagents: [work/kid.yaml]\n";
            fixture.script(tools, &lines);
            fixture.belongs_to(user);
            let left = fixture.by(user, &RUN);
            fixture.was_not_attacked(&left.printed());
            let said = left.printed();
            assert!(said.contains("tool_unavailable"), "{attack}: {said}");
            let run = left.document()["run_id"].as_str().unwrap().to_owned();
            let said = fixture.by(user, &["show", &format!("{run}.2"), "--raw"]);
            let said = said.printed();
            assert!(
                said.contains("changed since this process"),
                "{attack}: {said}"
            );
            // The next run of the lead asks about a link that was replaced.
            if command != "./later" {
                let left = fixture.by(user, &RUN);
                assert_eq!(left.code, 4, "{attack}: {}", left.printed());
                fixture.was_not_attacked(&left.printed());
            }
        }
    }
}

/// The sandbox cannot keep a link from being replaced, nor a second name of a file from being written: the next run asks.
#[test]
fn f7_the_next_run_asks_about_a_link_and_a_second_name() {
    if !is_able() {
        return;
    }
    for user in User::all() {
        for (command, attack) in [
            ("./work/bin/tool", "ln -sf ../evil bin/tool"),
            ("./work/server.py", "cat evil > second"),
        ] {
            let fixture = Fixture::new();
            fixture.serves_from("work/server.py");
            fs::create_dir(fixture.path("work/bin")).unwrap();
            symlink("../server.py", fixture.path("work/bin/tool")).unwrap();
            fs::hard_link(fixture.path("work/server.py"), fixture.path("work/second")).unwrap();
            let server = format!("command: {command}");
            let again = [calls("odd__die", "{}"), calls("odd__hello", "{}")];
            fixture.attacked(&server, "", &[&shell(attack), &again[0], &again[1]]);
            fixture.belongs_to(user);
            let left = fixture.by(user, &RUN);
            fixture.was_not_attacked(&left.printed());
            let results = tool_results(&left);
            assert!(results[2].contains("restart_failed"), "{results:#?}");
            let left = fixture.by(user, &RUN);
            assert_eq!(left.code, 4, "{}", left.printed());
            fixture.was_not_attacked(&left.printed());
            for part in [
                "a confined program could replace it",
                "monolith trust c.yaml",
            ] {
                assert!(left.err.contains(part), "{part}: {}", left.err);
            }
            // A person who trusts it has looked at it.
            assert_eq!(fixture.by(user, &["trust", "c.yaml"]).code, 0);
            fixture.by(user, &RUN);
            assert!(fixture.path("marker").exists());
        }
    }
}

/// A workflow's step rewrites the script of the next step's server.
#[test]
fn f7_a_step_starts_no_script_that_an_earlier_one_rewrote() {
    let fixture = Fixture::new();
    fixture.serves_from("server.py");
    let text = format!("open('{}', 'w')", fixture.path("marker").display());
    for (path, exists) in [("server.py", true), ("later.py", false)] {
        let workflow = json!({
            "workflow": "w",
            "contract": {
                "targets": [{"provider": "demo", "model": "m", "context_window": 9000}],
                "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
                "tools": {"builtin": ["write_file"]},
            },
            "steps": [
                {"id": "write", "tool": "write_file", "arguments": {"path": path, "content": text}},
                {"id": "give", "delegate": "kid.yaml", "task": "go"},
            ],
        });
        fixture.write("w.yaml", &workflow.to_string());
        fixture.write("s.jsonl", &says("Done."));
        let kid = format!(
            "targets: [{{provider: demo, model: script}}]\nproviders: {{demo: {{type: scripted, file: s.jsonl}}}}\n\
             tools: {{mcp: {{odd: {{command: python3, args: [{path}], sandbox: off}}}}}}\n"
        );
        fixture.write("kid.yaml", &kid);
        let left = fixture.run(&["run", "w.yaml"]);
        assert_ne!(left.code, 0, "{}", left.printed());
        assert_eq!(fixture.path(path).exists(), exists);
        assert!(!exists || fixture.read(path) != text);
        fixture.was_not_attacked(&left.printed());
    }
}

/// The attack: a confined command makes the file of variables that the next run would read beside the configuration.
#[test]
fn f7_a_file_of_variables_that_a_command_made_is_asked_about() {
    if !is_able() {
        return;
    }
    for name in ["conf.env", ".ai-agent.env"] {
        let fixture = Fixture::new();
        fs::create_dir(fixture.path("work")).unwrap();
        fixture.write(
            "work/conf.json",
            r#"{"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}}"#,
        );
        fixture.write(
            "c.yaml",
            "task: hi\ntargets: [{provider: demo, model: script}]\ntool_policy: optional\ntools: {builtin: [shell], workspace: work}\n",
        );
        let lines = [
            shell(&format!("echo NODE_OPTIONS=x > {name}")),
            says("Done."),
        ];
        fixture.write("work/s.jsonl", &lines.join("\n"));
        let run = ["run", "--contract", "c.yaml", "--config", "work/conf.json"];
        fixture.ok(&run);
        assert!(fixture.path("work").join(name).exists());
        let said = fixture.ends(&run, 4).printed();
        assert!(said.contains("work/conf.json"), "{said}");
        fixture.ok(&["trust", "c.yaml", "--config", "work/conf.json"]);
        fixture.ok(&run);
    }
}

/// Ordinary use: data that servers keep, virtual environments and links of package managers.
#[test]
fn servers_keep_their_data_and_start_from_a_workspace_as_before() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves_from("work/node_modules/pkg/cli.py");
    fs::create_dir_all(fixture.path("work/node_modules/.bin")).unwrap();
    symlink("../pkg/cli.py", fixture.path("work/node_modules/.bin/tool")).unwrap();
    for sandbox in ["", ", sandbox: off"] {
        for command in ["./work/node_modules/.bin/tool", "python3"] {
            let line = "exec \"$0\" \"$@\"";
            let wrapped = format!(
                "command: sh, args: ['-c', 'echo a >> state.json; echo a >> made.db; echo a >> seen; {line}', {command}, \
                 node_modules/pkg/cli.py, --state=state.json, --db=made.db]{sandbox}"
            );
            let lines = [
                shell(
                    "echo b >> made.db; echo b > node_modules/pkg/other.js; touch node_modules/.bin/x; ls",
                ),
                calls("odd__die", "{}"),
                calls("odd__hello", "{}"),
                says("Done."),
            ];
            let tools = format!(
                "tool_policy: optional\ntools: {{builtin: [shell], workspace: work, mcp: {{odd: {{{wrapped}}}}}}}\n"
            );
            let command_path = fixture.path("work/node_modules/.bin/tool");
            let tools = tools.replace(
                "./work/node_modules/.bin/tool",
                &command_path.display().to_string(),
            );
            fixture.script(&tools, &lines.each_ref().map(String::as_str));
            for _ in 0..2 {
                let results = tool_results(&fixture.run(&RUN));
                assert_eq!(results.last().unwrap(), "hello", "{command}: {results:#?}");
                assert!(!results[0].contains("Read-only"), "{results:#?}");
            }
        }
    }
    let kept = fixture.read("work/state.json");
    assert_eq!(kept.lines().count(), 16, "{kept}");
}

/// A store behind a link that a confined program can replace is refused, and none is made.
#[test]
fn b7_a_store_behind_a_link_in_the_workspace_is_refused_and_not_made() {
    let fixture = Fixture::new();
    for folder in ["work", "kept"] {
        fs::create_dir(fixture.path(folder)).unwrap();
    }
    fixture.write("kept/there.db", "");
    symlink("../kept/there.db", fixture.path("work/sl.db")).unwrap();
    symlink("../kept", fixture.path("work/folder")).unwrap();
    symlink("work/folder", fixture.path("outer")).unwrap();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [shell], workspace: work}\n",
        &[&says("done")],
    );
    let workflow = json!({
        "workflow": "w",
        "contract": {
            "targets": [{"provider": "demo", "model": "m", "context_window": 9000}],
            "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
            "tools": {"builtin": ["shell"], "workspace": "work"},
        },
        "steps": [{"id": "say", "prompt": "hi"}],
    });
    fixture.write("w.yaml", &workflow.to_string());
    for store in [
        "work/sl.db",
        "work/folder/new.db",
        "outer/new.db",
        "work/new.db",
    ] {
        for contract in ["c.yaml", "w.yaml"] {
            let left = fixture.ends(&["run", contract, "--store", store], 4);
            let said = left.printed();
            assert!(
                said.contains("tools.workspace lets a confined program write to"),
                "{store}: {said}"
            );
        }
    }
    for made in ["kept/new.db", "work/new.db", "kept/new.db-wal"] {
        assert!(!fixture.path(made).exists(), "{made}");
    }
    assert_eq!(fixture.read("kept/there.db"), "");
}
