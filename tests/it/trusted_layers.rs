//! Layers of configuration that were found and not named: who trusts them, and that no agent changes what they start. Against the binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, entries_of, says};
use crate::terminal::Terminal;

/// A contract that takes its tool server from the layers.
const CONTRACT: &str = "task: hi\ntargets: [{provider: demo, model: m, context_window: 9000}]\n\
    providers: {demo: {type: scripted, file: s.jsonl}}\n";

impl Fixture {
    /// A layer whose tool server leaves that file, and is none.
    fn leaving(&self, marker: &str) -> String {
        let touch = format!("touch {}", self.path(marker).display());
        let server = json!({"command": "sh", "args": ["-c", touch], "sandbox": "off"});
        json!({"mcpServers": {"theirs": server}}).to_string()
    }

    /// Runs a command of a user whose home is `me`, in that folder.
    fn in_folder(&self, folder: &str, args: &[&str]) -> Left {
        let mut command = self.command(args);
        command.current_dir(self.path(folder));
        command.env("HOME", self.path("me"));
        command.output().unwrap().into()
    }

    /// The command ends so; true if the tool server was started that leaves `marker`.
    #[track_caller]
    fn starts(&self, (folder, args): (&str, &[&str]), code: Option<i32>) -> bool {
        let left = self.in_folder(folder, args);
        let is_as_expected = code.is_none_or(|code| left.code == code);
        assert!(
            is_as_expected,
            "{args:?}: {}: {}",
            left.code,
            left.printed()
        );
        fs::remove_file(self.path("marker")).is_ok()
    }
}

/// A fixture with `own/c.yaml`, whose tool server `theirs` the layers define.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let contract = format!("{CONTRACT}tools: {{mcp: {{theirs: }}}}\n");
    fixture.write("own/c.yaml", &contract);
    fixture.write("own/s.jsonl", &says("Done."));
    fixture.write("clone/README.md", "");
    fixture
}

const RUN: (&str, &[&str]) = ("own", &["run", "c.yaml"]);
const FROM_CLONE: (&str, &[&str]) = ("clone", &["run", "../own/c.yaml"]);

/// S15.2: a layer decides what is started, so each content of it is asked about, no matter who named the contract.
/// 001/4.layers.8
#[test]
fn a_layer_that_changed_since_it_was_trusted_is_asked_about_again() {
    let fixture = fixture();
    let trust = || assert!(!fixture.starts(("own", &["trust", "c.yaml"]), Some(0)));
    fixture.write("own/.ai-agent.json", &fixture.leaving("marker"));
    for command in [
        &["run", "c.yaml"][..],
        &["tools", "c.yaml"],
        &["chat", "c.yaml"],
        &["contract", "check", "c.yaml", "--start-servers"],
    ] {
        assert!(!fixture.starts(("own", command), Some(4)), "{command:?}");
    }
    let left = fixture.in_folder("own", RUN.1);
    for part in [
        ".ai-agent.json, which c.yaml takes from, was found here and not named",
        "command   sh -c touch",
        "monolith trust c.yaml",
        "--config",
    ] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    // A command that starts nothing asks nothing.
    assert!(!fixture.starts(("own", &["contract", "show", "c.yaml"]), Some(0)));
    trust();
    assert!(fixture.starts(RUN, None));
    // A contract of the user's own may change, and a file that is named is the user's own.
    let text = fixture.read("own/c.yaml");
    fixture.write("own/c.yaml", &format!("{text}max_turns: 3\n"));
    assert!(fixture.starts(RUN, None));
    // Another command, other names of variables, and a server that no contract names: all of it is another layer.
    let other = fixture.leaving("marker").replace("touch ", "touch  ");
    for text in [other.clone(), other.replace("theirs", "others")] {
        fixture.write("own/.ai-agent.json", &text);
        assert!(!fixture.starts(RUN, Some(4)), "{text}");
    }
    fixture.write("own/.ai-agent.json", &other);
    let named = ("own", &["run", "c.yaml", "--config", ".ai-agent.json"][..]);
    assert!(fixture.starts(named, None));
    trust();
    fixture.write("own/.ai-agent.env", "NODE_OPTIONS=1\n");
    assert!(!fixture.starts(RUN, Some(4)));
    trust();
    fixture.write("own/.ai-agent.env", "NODE_OPTIONS=2\n");
    assert!(fixture.starts(RUN, None));
    // The list has the layer, and it can be taken back.
    let listed = fixture.in_folder("own", &["trust", "--list"]).out;
    assert!(listed.contains("as trusted     "), "{listed}");
    let remove = ("own", &["trust", "--remove", ".ai-agent.json"][..]);
    assert!(!fixture.starts(remove, Some(0)));
    assert!(!fixture.starts(RUN, Some(4)));
}

/// S15.2: the working folder need not be the user's, no matter who wrote the contract.
#[test]
fn the_layer_of_a_clone_starts_nothing_under_a_contract_of_ones_own() {
    let fixture = fixture();
    // The user's own layer defines the server; the one of the clone comes before it.
    fixture.write("me/.ai-agent/ai-agent.json", &fixture.leaving("own-marker"));
    fixture.in_folder("clone", FROM_CLONE.1);
    assert!(fixture.path("own-marker").exists());
    fixture.write("clone/.ai-agent.json", &fixture.leaving("marker"));
    assert!(!fixture.starts(FROM_CLONE, Some(4)));
    // One that the contract takes nothing from is not asked about.
    fixture.write(
        "clone/.ai-agent.json",
        r#"{"mcpServers": {"other": {"command": "x"}}}"#,
    );
    assert_ne!(fixture.in_folder("clone", FROM_CLONE.1).code, 4);
    // Trust holds for contracts of the folder for which it was given: commands begin there.
    fixture.write("clone/.ai-agent.json", &fixture.leaving("marker"));
    let trust = ("clone", &["trust", "../own/c.yaml"][..]);
    assert!(!fixture.starts(trust, Some(0)));
    assert!(fixture.starts(FROM_CLONE, None));
    fixture.write("another/c.yaml", &fixture.read("own/c.yaml"));
    fixture.write("another/s.jsonl", "");
    assert!(!fixture.starts(("clone", &["run", "../another/c.yaml"]), Some(4)));
    // Whose process it is makes no difference.
    if !rustix::process::geteuid().is_root() {
        println!("skipped 1 case: only root can run a command as another user");
        return;
    }
    let give = |path: &Path| chown(path, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(fixture.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    for name in [
        "",
        "clone",
        "clone/.ai-agent.json",
        "own",
        "own/c.yaml",
        "own/s.jsonl",
    ] {
        give(&fixture.path(name));
    }
    let as_other = |args: &[&str]| -> Left {
        let mut command = fixture.command(args);
        command
            .uid(65534)
            .gid(65534)
            .current_dir(fixture.path("clone"));
        command.env("HOME", fixture.path("nobody"));
        command.env("MONOLITH_HOME", fixture.path("state-of-nobody"));
        command.output().unwrap().into()
    };
    let left = as_other(FROM_CLONE.1);
    assert_eq!(left.code, 4, "{}", left.printed());
    assert!(
        left.err.contains("not trusted as it is now"),
        "{}",
        left.err
    );
    assert!(!fixture.path("marker").exists());
    let left = as_other(trust.1);
    assert_eq!(left.code, 0, "{}", left.printed());
    as_other(FROM_CLONE.1);
    assert!(fixture.path("marker").exists());
}

#[test]
fn a_person_is_asked_once_for_a_contract_and_its_layers() {
    let fixture = fixture();
    fixture.write("own/.ai-agent.json", &fixture.leaving("marker"));
    let start = |args: &[&str]| {
        let mut command = fixture.command(args);
        command.current_dir(fixture.path("own"));
        Terminal::start(command)
    };
    let mut asked = start(&["tools", "c.yaml"]);
    asked
        .until("command   sh -c touch")
        .until("Trust .ai-agent.json as it is now? [y/N]")
        .types("\r");
    assert_eq!(asked.end().0, 4);
    assert!(!fixture.path("marker").exists());
    fs::rename(fixture.path("own/c.yaml"), fixture.path("own/agent.yaml")).unwrap();
    let mut asked = start(&["tools"]);
    asked
        .until("Trust agent.yaml and .ai-agent.json as they are now? [y/N]")
        .types("y\r");
    asked.end();
    assert!(fs::remove_file(fixture.path("marker")).is_ok());
    let (_, shown) = start(&["tools"]).end();
    assert!(
        fixture.path("marker").exists() && !shown.contains("[y/N]"),
        "{shown}"
    );
}

/// A file at that path, which a person trusted in `place`, starts nothing in `other`: its commands begin where the link lies.
#[test]
fn trust_of_a_link_is_none_of_another_link_to_the_same_file() {
    let fixture = Fixture::new();
    let text =
        format!("{CONTRACT}tools: {{mcp: {{theirs: {{command: ./run.sh, sandbox: off}}}}}}\n");
    fixture.write("real/agent.yaml", &text);
    for folder in ["place", "other"] {
        fixture.write(&format!("{folder}/s.jsonl"), "");
        let script = format!("#!/bin/sh\ntouch {}\n", fixture.path("marker").display());
        fixture.write(&format!("{folder}/run.sh"), &script);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(fixture.path(&format!("{folder}/run.sh")), mode).unwrap();
        symlink(
            "../real/agent.yaml",
            fixture.path(&format!("{folder}/agent.yaml")),
        )
        .unwrap();
    }
    assert!(!fixture.starts(("place", &["tools"]), Some(4)));
    assert!(!fixture.starts(("place", &["trust"]), Some(0)));
    assert!(fixture.starts(("place", &["tools"]), None));
    assert!(!fixture.starts(("other", &["tools"]), Some(4)));
    assert!(!fixture.starts(("real", &["tools"]), Some(4)));
    // The target counts as well as the place.
    fixture.write("elsewhere.yaml", &text);
    fs::remove_file(fixture.path("place/agent.yaml")).unwrap();
    symlink("../elsewhere.yaml", fixture.path("place/agent.yaml")).unwrap();
    assert!(!fixture.starts(("place", &["tools"]), Some(4)));
}

/// Trust covers the started file itself, not only the words that start it.
#[test]
fn a_script_that_changed_since_its_contract_was_trusted_is_asked_about() {
    for server in [
        "{command: ./run.sh, sandbox: off}",
        "{command: sh, args: [run.sh], sandbox: off}",
        "{command: sh, args: ['-c', 'cd . && ./run.sh'], sandbox: off}",
    ] {
        let fixture = Fixture::new();
        let text = format!("{CONTRACT}tools: {{mcp: {{theirs: {server}}}}}\n");
        fixture.write("place/agent.yaml", &text);
        fixture.write("place/s.jsonl", "");
        let script = |more: &str| {
            let marker = fixture.path("marker").display().to_string();
            fixture.write(
                "place/run.sh",
                &format!("#!/bin/sh\n{more}touch {marker}\n"),
            );
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(fixture.path("place/run.sh"), mode).unwrap();
        };
        script("");
        assert!(!fixture.starts(("place", &["trust"]), Some(0)));
        assert!(fixture.starts(("place", &["tools"]), None), "{server}");
        script("true\n");
        assert!(!fixture.starts(("place", &["tools"]), Some(4)), "{server}");
    }
}

/// A lead whose model writes a layer and then calls an agent that takes its server from the layers.
fn team(layer: &str) -> (Fixture, String) {
    let fixture = fixture();
    fixture.write("me/.ai-agent/ai-agent.json", &fixture.leaving("own-marker"));
    let written = json!({"path": layer, "content": fixture.leaving("marker")}).to_string();
    let kid = format!("{CONTRACT}tools: {{mcp: {{theirs: }}}}\n").replace("task: hi\n", "");
    fixture.write("own/kid/kid.yaml", &kid);
    fixture.write("own/kid/s.jsonl", "");
    (fixture, written)
}

/// Runs a team that writes a layer: the next agent starts the user's own server, and not the server of that layer.
#[track_caller]
fn starts_only_its_own(fixture: &Fixture, file: &str, layer: &str) {
    let said = fixture.in_folder("own", &["run", file]).printed();
    assert!(fixture.path(&format!("own/{layer}")).exists(), "{said}");
    assert!(!fixture.path("marker").exists(), "{layer}: {said}");
    assert!(fixture.path("own-marker").exists(), "{layer}: {said}");
}

/// S15.2: what an agent writes into its workspace is no configuration of the agents below it.
#[test]
fn a_layer_that_a_lead_agent_writes_starts_nothing_for_the_next_agent() {
    for layer in [".ai-agent.json", "kid/.ai-agent.json"] {
        let (fixture, written) = team(layer);
        let lead = format!("{CONTRACT}tools: {{builtin: [write_file]}}\nagents: [kid/kid.yaml]\n");
        fixture.write("own/lead.yaml", &lead);
        let lines = [
            calls("write_file", &written),
            calls("agent__kid", r#"{"prompt": "go"}"#),
            says("Done."),
        ];
        fixture.write("own/s.jsonl", &lines.join("\n"));
        starts_only_its_own(&fixture, "lead.yaml", layer);
        // A later process asks about it.
        fixture.write("own/s.jsonl", &[&lines[1..], &[]].concat().join("\n"));
        let left = fixture.in_folder("own", &["run", "lead.yaml"]);
        assert_eq!(left.code, 4, "{layer}: {}", left.printed());
        assert!(!fixture.path("marker").exists(), "{layer}");
    }
}

/// S15.2: the same for the steps of a workflow.
#[test]
fn a_layer_that_a_step_writes_starts_nothing_for_the_next_step() {
    for layer in [".ai-agent.json", "kid/.ai-agent.json"] {
        let (fixture, written) = team(layer);
        let written: Value = serde_json::from_str(&written).unwrap();
        let workflow = json!({
            "workflow": "w",
            "contract": {
                "targets": [{"provider": "demo", "model": "m", "context_window": 9000}],
                "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
                "tools": {"builtin": ["write_file"]},
            },
            "steps": [
                {"id": "write", "tool": "write_file", "arguments": written},
                {"id": "give", "delegate": "kid/kid.yaml", "task": "go"},
            ],
        });
        fixture.write("own/w.yaml", &workflow.to_string());
        starts_only_its_own(&fixture, "w.yaml", layer);
        let left = fixture.in_folder("own", &["run", "w.yaml"]);
        assert_eq!(left.code, 4, "{layer}: {}", left.printed());
        assert!(left.err.contains("monolith trust w.yaml"), "{}", left.err);
        assert!(!fixture.starts(("own", &["trust", "w.yaml"]), Some(0)));
        assert_ne!(fixture.in_folder("own", &["run", "w.yaml"]).code, 4);
    }
}

/// The run of a contract whose provider is from a found layer, which waits for a person.
fn waiting() -> Fixture {
    let fixture = Fixture::new();
    let contract = "task: hi\ntool_policy: optional\ntargets: [{provider: demo, model: m, context_window: 9000}]\n\
        tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    fixture.write("own/c.yaml", contract);
    let lines = [calls("echo", r#"{"text":"hi"}"#), says("said")];
    fixture.write("own/s.jsonl", &lines.join("\n"));
    fixture.write("own/helper.sh", "exit 1\n");
    let helper = json!({"command": "sh", "args": ["helper.sh"], "sandbox": "off"});
    let layer = json!({
        "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
        "mcpServers": {"helper": helper},
    });
    fixture.write("own/.ai-agent.json", &layer.to_string());
    assert!(!fixture.starts(("own", &["trust", "c.yaml"]), Some(0)));
    let run = ["run", "c.yaml", "--no-wait", "--run-id", "r"];
    assert!(!fixture.starts(("own", &run), Some(8)));
    fixture
}

/// S15.2: a resumed run uses the files with which it began, or is refused.
#[test]
fn a_resume_is_refused_where_a_layer_or_its_script_changed() {
    let fixture = waiting();
    let resume = ["resume", "r", "--no-wait"];
    let entries = || entries_of(&fixture.path("home/runs.db")).len();
    let before = entries();
    let layer = fixture.read("own/.ai-agent.json");
    let script = fixture.read("own/helper.sh");
    for (name, text) in [
        ("own/.ai-agent.json", layer.replace("sandbox", "x-sandbox")),
        ("own/.ai-agent.json", format!("{layer}\n")),
        (
            "own/helper.sh",
            format!("touch {}\n", fixture.path("marker").display()),
        ),
    ] {
        fixture.write(name, &text);
        let left = fixture.in_folder("own", &resume);
        assert_eq!(left.code, 4, "{name}: {}", left.printed());
        assert!(!fixture.path("marker").exists(), "{name}");
        assert_eq!(entries(), before, "{name}");
        fixture.write("own/.ai-agent.json", &layer);
        fixture.write("own/helper.sh", &script);
    }
    // What is new in the folders that it takes from is not read, and what is named now is used as it is.
    fixture.write("own/.ai-agent.env", "A=1\n");
    let left = fixture.in_folder("own", &resume);
    assert_eq!(left.code, 4, "{}", left.printed());
    assert!(
        left.err.contains("has changed since the run started"),
        "{}",
        left.err
    );
    assert!(left.err.contains("--contract"), "{}", left.err);
    fs::remove_file(fixture.path("own/.ai-agent.env")).unwrap();
    let left = fixture.in_folder("own", &resume);
    assert_eq!(left.code, 8, "{}", left.printed());
    fixture.write("own/helper.sh", "exit 2\n");
    let named = [&resume[..], &["--contract", "c.yaml"]].concat();
    // It is asked about as for a new run.
    assert!(!fixture.starts(("own", &named), Some(4)));
    assert!(!fixture.starts(("own", &["trust", "c.yaml"]), Some(0)));
    assert!(!fixture.starts(("own", &named), Some(8)));
}

/// S15.2: built-in tools change no layer and no file of its variables, by no name; a new layer elsewhere they may make.
#[test]
fn file_tools_change_no_layer_that_a_run_reads() {
    let fixture = Fixture::new();
    let put = |path: &str| {
        calls(
            "write_file",
            &json!({"path": path, "content": "{}"}).to_string(),
        )
    };
    let edit = json!({"path": ".ai-agent.json", "edits": [{"old": "demo", "new": "omed"}]});
    let patch = "*** Begin Patch\n*** Delete File: .ai-agent.json\n*** End Patch";
    let lines = [
        put(".ai-agent.json"),
        put("./link.json"),
        put(".ai-agent.env"),
        put("hard.json"),
        calls("edit_file", &edit.to_string()),
        calls("apply_patch", &json!({"patch": patch}).to_string()),
        put("deep/.ai-agent.json"),
        calls("read_file", r#"{"path": ".ai-agent.json"}"#),
        says("Done."),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [write_file, edit_file, apply_patch, read_file]}\n",
        &lines,
    );
    let layer = r#"{"providers": {"demo": {"type": "openai"}}}"#;
    fixture.write(".ai-agent.json", layer);
    symlink(".ai-agent.json", fixture.path("link.json")).unwrap();
    fs::hard_link(fixture.path(".ai-agent.json"), fixture.path("hard.json")).unwrap();
    let (said, _) = fixture.called();
    for refused in &said[..6] {
        assert!(
            refused.contains("decides what monolith starts"),
            "{said:#?}"
        );
    }
    assert!(said[6].contains("made deep/.ai-agent.json"), "{said:#?}");
    assert!(said[7].contains("openai"), "{said:#?}");
    assert_eq!(fixture.read(".ai-agent.json"), layer);
    assert!(!fixture.path(".ai-agent.env").exists());
}

/// S15.2: commands of the shell leave the layer as it is.
#[test]
#[cfg(target_os = "linux")]
fn a_confined_command_changes_no_layer_that_a_run_reads() {
    let fixture = Fixture::new();
    let script = "echo > work/.ai-agent.json; mv work/.ai-agent.json work/x; rm -f work/.ai-agent.json; mv work y; echo made > mine; true";
    let lines = [
        calls("shell", &json!({"command": script}).to_string()),
        says("Done."),
    ];
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [shell]}\n",
        &[&lines[0], &lines[1]],
    );
    let layer = r#"{"providers": {"demo": {"type": "openai"}}}"#;
    fixture.write("work/.ai-agent.json", layer);
    let mut command = fixture.command(&["run", "--json", "--contract", "../c.yaml"]);
    let left = Left::from(command.current_dir(fixture.path("work")).output().unwrap());
    if !fixture.path("mine").exists() {
        assert!(left.printed().contains("sandbox"), "{}", left.printed());
        println!("skipped 1 case: this machine confines no command");
        return;
    }
    assert_eq!(
        fixture.read("work/.ai-agent.json"),
        layer,
        "{}",
        left.printed()
    );
    assert!(!fixture.path("work/x").exists() && !fixture.path("y").exists());
}

/// S15.11: a layer's secrets are secrets, whether or not the run uses the server that they are for.
#[test]
fn the_secret_of_a_server_that_a_run_does_not_use_is_redacted() {
    let fixture = Fixture::new();
    let secrets = ["h1dden-v4lue-one", "h1dden-v4lue-two", "h1dden-v4lue-three"];
    fixture.script("", &[&says(&format!("It is {}.", secrets.join(", ")))]);
    let layer = json!({
        "mcpServers": {"unused": {"command": "x", "env": {"TOKEN": "${T_ONE}", "PASSWORD": secrets[1]}}},
        "restTools": {"other": {"description": "d", "method": "GET", "url": "http://h/", "headers": {"X-Api-Key": "${T_TWO}"}}},
    });
    fixture.write(".ai-agent.json", &layer.to_string());
    let variables = format!("T_ONE={}\nT_TWO={}\n", secrets[0], secrets[2]);
    fixture.write(".ai-agent.env", &variables);
    let left = fixture.run(&["run", "c.yaml", "--json", "--run-id", "r"]);
    assert_eq!(left.code, 0, "{}", left.printed());
    for (_, entry) in entries_of(&fixture.path("home/runs.db")) {
        let texts = entry.event + &entry.action;
        assert!(
            !secrets.iter().any(|secret| texts.contains(secret)),
            "{texts}"
        );
    }
    assert!(
        !secrets.iter().any(|secret| left.printed().contains(secret)),
        "{}",
        left.printed()
    );
}

/// S15.2: a confined command that may write the home makes a layer there, and no later run takes it unasked.
#[test]
fn a_layer_that_a_confined_command_made_in_the_home_is_asked_about() {
    if !crate::sandbox_faults::sandbox() {
        return;
    }
    let fixture = fixture();
    fixture.write("me/evil.txt", &fixture.leaving("marker"));
    let make = json!({"command": "mkdir -p .ai-agent && cp evil.txt .ai-agent/ai-agent.json"});
    let script = [calls("shell", &make.to_string()), says("Done.")].join("\n");
    fixture.write("own/w.jsonl", &script);
    let contract = CONTRACT.replace("s.jsonl", "w.jsonl");
    let tools = "tools: {builtin: [shell], workspace: ../me}\n";
    fixture.write("own/w.yaml", &format!("{contract}{tools}"));
    assert!(!fixture.starts(("own", &["run", "w.yaml"]), Some(0)));
    assert!(fixture.path("me/.ai-agent/ai-agent.json").is_file());
    assert!(!fixture.starts(RUN, Some(4)));
}

/// S15.2: the value of a variable that stands in a command line is a part of the command.
#[test]
fn a_value_that_stands_in_a_trusted_command_is_asked_about_when_it_changes() {
    let fixture = fixture();
    let server = json!({"command": "sh", "args": ["-c", "${CODE}"], "sandbox": "off"});
    let layer = json!({"mcpServers": {"theirs": server}}).to_string();
    fixture.write("own/.ai-agent.json", &layer);
    fixture.write("own/.ai-agent.env", "CODE=true\n");
    assert!(!fixture.starts(("own", &["trust", "c.yaml"]), Some(0)));
    let touch = format!("CODE=touch {}\n", fixture.path("marker").display());
    fixture.write("own/.ai-agent.env", &touch);
    assert!(!fixture.starts(RUN, Some(4)));
}

/// S15.2: every file that a command names counts, however many there are.
#[test]
fn the_last_of_a_thousand_named_files_counts() {
    let fixture = fixture();
    let names: Vec<String> = (0..1_000).map(|n| format!("a{n}")).collect();
    for name in &names {
        fixture.write(&format!("own/{name}"), "");
    }
    fixture.write("own/zzz.sh", "true");
    let args: Vec<&str> = ["zzz.sh"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let server = json!({"command": "sh", "args": args, "sandbox": "off"});
    let layer = json!({"mcpServers": {"theirs": server}}).to_string();
    fixture.write("own/.ai-agent.json", &layer);
    assert!(!fixture.starts(("own", &["trust", "c.yaml"]), Some(0)));
    let touch = format!("touch {}", fixture.path("marker").display());
    fixture.write("own/zzz.sh", &touch);
    assert!(!fixture.starts(RUN, Some(4)));
}
