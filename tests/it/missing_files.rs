//! Attacks on files that a server's words name and that are missing: an agent makes one, and the server would use it. Against the binary.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::confinement::{User, is_able};
use crate::fixture::{Fixture, calls, says};
use crate::guarded_files::{RUN, put, shell, tool_results};

/// The server's own script, which begins once such a file was used.
const REST: &str = "exec python3 server.py";

#[test]
fn no_file_tool_makes_a_missing_file_that_a_server_names() {
    let fixture = Fixture::new();
    fixture.serves_from("work/server.py");
    let refused = [
        "opt.sh",
        ".env",
        "conf/opt",
        "hook.js",
        "args",
        "x/../settings.yaml",
    ];
    let allowed = ["out.db", "notes.md", "conf/other"];
    let lines = refused.iter().chain(&allowed).map(|path| put(path));
    let lines: Vec<String> = lines.chain([says("Done.")]).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fs::create_dir(fixture.path("work/x")).unwrap();
    let server = format!(
        "command: sh, args: ['-c', '[ -f opt.sh ] && . ./opt.sh; [ -f conf/opt ] && . conf/opt; {REST}', --env-file-if-exists=.env, \
         -r./hook.js, '@args', '--settings=settings.yaml', --db=out.db, '> notes.md']"
    );
    fixture.attacked(&server, "", &lines);
    let results = tool_results(&fixture.run(&RUN));
    for (at, result) in results.iter().enumerate() {
        let is_refused = result.contains("decides what monolith starts");
        assert_eq!(is_refused, at < refused.len(), "{at}: {results:#?}");
    }
    for name in refused {
        assert!(!fixture.path("work").join(name).exists(), "{name}");
    }
}

/// The attack: a confined command makes the file, or replaces the interpreter that a script's first line names.
#[test]
fn a_file_that_a_command_made_is_not_used_at_a_restart_and_the_next_run_asks() {
    if !is_able() {
        return;
    }
    for user in User::all() {
        for (server, attack) in [
            (
                "command: sh, args: ['-c', '[ -f opt.sh ] && . ./opt.sh; REST']",
                "cp evil opt.sh",
            ),
            (
                "command: sh, args: ['-c', '[ -f ./.env ] && . ./.env; REST']",
                "echo touch MARKER > .env",
            ),
            (
                "command: sh, args: ['-c', '[ -f ~/work/opt.sh ] && . ~/work/opt.sh; REST'], env: {HOME: BASE}",
                "cp evil opt.sh",
            ),
            (
                "command: ./work/start",
                "cp evil python3; chmod 755 python3; mv python3 bin/python3",
            ),
        ] {
            let fixture = Fixture::new();
            fixture.serves_from("work/server.py");
            fs::create_dir(fixture.path("work/bin")).unwrap();
            symlink("/usr/bin/python3", fixture.path("work/bin/python3")).unwrap();
            let script = fixture.read("work/server.py");
            let interpreter = fixture.path("work/bin/python3").display().to_string();
            let script = script.replacen("/usr/bin/env python3", &interpreter, 1);
            fixture.write("work/start", &script);
            let mode = fs::metadata(fixture.path("work/server.py")).unwrap();
            fs::set_permissions(fixture.path("work/start"), mode.permissions()).unwrap();
            let put_in = |text: &str| {
                let text = text.replace("REST", REST);
                let text = text.replace("MARKER", &fixture.path("marker").display().to_string());
                text.replace("BASE", &fixture.path("").display().to_string())
            };
            let again = [calls("odd__die", "{}"), calls("odd__hello", "{}")];
            let lines = [&*shell(&put_in(attack)), &*again[0], &*again[1]];
            fixture.attacked(&put_in(server), "", &lines);
            fixture.belongs_to(user);
            let left = fixture.by(user, &RUN);
            fixture.was_not_attacked(&left.printed());
            let results = tool_results(&left);
            assert!(
                results[2].contains("restart_failed"),
                "{attack}: {results:#?}"
            );
            let left = fixture.by(user, &RUN);
            assert_eq!(left.code, 4, "{attack}: {}", left.printed());
            fixture.was_not_attacked(&left.printed());
            // A person who trusts it has looked at it, and is not asked again.
            assert_eq!(fixture.by(user, &["trust", "c.yaml"]).code, 0);
            fixture.by(user, &RUN);
            assert!(fixture.path("marker").exists(), "{attack}");
        }
    }
}

/// The attack: the file is there when an agent's server starts for the first time.
#[test]
fn a_file_that_a_parent_made_is_not_used_at_the_first_start() {
    if !is_able() {
        return;
    }
    for name in ["opt.sh", ".env", "opt", "settings.conf"] {
        let fixture = Fixture::new();
        fixture.serves_from("work/server.py");
        let kid = format!(
            "targets: [{{provider: demo, model: script}}]\nproviders: {{demo: {{type: scripted, file: k.jsonl}}}}\n\
             tools: {{mcp: {{odd: {{command: sh, args: ['-c', '[ -f {name} ] && . ./{name}; {REST}'], sandbox: off}}}}}}\n"
        );
        fixture.write("work/kid.yaml", &kid);
        fixture.write("work/k.jsonl", &says("Done."));
        let marker = fixture.path("marker").display().to_string();
        let lines = [
            shell(&format!("echo touch {marker} > {name}")),
            calls("agent__kid", r#"{"prompt": "go"}"#),
            says("Done."),
        ];
        let tools = "tool_policy: optional\ntools: {builtin: [shell], workspace: work}\nagents: [work/kid.yaml]\n";
        fixture.script(tools, &lines.each_ref().map(String::as_str));
        let left = fixture.run(&RUN);
        fixture.was_not_attacked(&left.printed());
        assert!(
            left.printed().contains("tool_unavailable"),
            "{name}: {}",
            left.printed()
        );
        let left = fixture.run(&RUN);
        assert_eq!(left.code, 4, "{name}: {}", left.printed());
        fixture.was_not_attacked(&left.printed());
    }
}

/// The attack: a confined server rewrites settings that an unconfined one reads, too.
#[test]
fn settings_of_an_unconfined_server_are_guarded_from_a_confined_one_that_names_them() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves_from("work/server.py");
    fixture.write("work/conf.yaml", "");
    fixture.write("work/own.yaml", "");
    let marker = fixture.path("marker").display().to_string();
    let other = format!(
        ", x: {{command: sh, args: ['-c', 'echo touch {marker} > conf.yaml; echo a > own.yaml; {REST}', conf.yaml, own.yaml]}}"
    );
    let tools = format!(
        "tool_policy: optional\ntools: {{builtin: [clock], workspace: work, \
         mcp: {{odd: {{command: sh, args: ['-c', '. ./conf.yaml; {REST}'], sandbox: off}}{other}}}}}\n"
    );
    let again = [
        calls("odd__die", "{}"),
        calls("odd__hello", "{}"),
        says("Done."),
    ];
    fixture.script(&tools, &again.each_ref().map(String::as_str));
    let left = fixture.run(&RUN);
    fixture.was_not_attacked(&left.printed());
    assert_eq!(tool_results(&left).last().unwrap(), "hello");
    assert_eq!(fixture.read("work/conf.yaml"), "");
    assert_eq!(fixture.read("work/own.yaml"), "a\n");
}

/// Ordinary use: an unconfined server makes its settings while it starts. What it makes later is asked about once.
#[test]
fn a_server_makes_its_own_settings_at_its_first_start() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves_from("work/server.py");
    let lines = [
        shell("true"),
        calls("odd__die", "{}"),
        calls("odd__hello", "{}"),
    ];
    let lines = lines.each_ref().map(String::as_str);
    let server = |words: &str| {
        format!(
            "command: sh, args: ['-c', '{words}; {REST}', --state=state.json, --later=later.json]"
        )
    };
    fixture.attacked(&server("echo a >> state.json"), "", &lines);
    for _ in 0..3 {
        let results = tool_results(&fixture.run(&RUN));
        assert_eq!(results.last().unwrap(), "hello", "{results:#?}");
    }
    assert_eq!(fixture.read("work/state.json").lines().count(), 6);
    fs::remove_file(fixture.path("work/state.json")).unwrap();
    fixture.ok(&RUN);
    let later = json!({"made": "later"}).to_string();
    fixture.write("work/later.json", &later);
    fixture.ends(&RUN, 4);
    fixture.ok(&["trust", "c.yaml"]);
    fixture.ok(&RUN);
    fixture.write("work/later.json", "{}");
    fixture.ok(&RUN);
}
