//! Input files as people really have them: with a byte order mark, in YAML 1.2, or where the user may not write.

use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

/// The tool `a` of the service `shop`, as `tools` lists it; null if it does not.
fn tool(fixture: &Fixture) -> Value {
    let listed = fixture.run(&["tools", "c.yaml", "--json"]).document();
    let mut tools = listed["tools"].as_array().unwrap().iter();
    let found = tools.find(|tool| tool["name"] == "rest__shop_a");
    found.cloned().unwrap_or_default()
}

/// Some editors begin a text with a byte order mark.
#[test]
fn a_byte_order_mark_is_no_part_of_any_input_file() {
    let fixture = Fixture::new();
    let openapi = "tool_policy: optional\ntools:\n  openapi:\n    shop:\n      spec: shop.yaml\n";
    fixture.script(openapi, &[&says("Hello.")]);
    let marked = |name: &str, text: &str| fixture.write(name, &format!("\u{feff}{text}"));
    marked("c.yaml", &fixture.read("c.yaml"));
    marked(
        "shop.yaml",
        "openapi: 3.0.3\nservers: [{url: https://h.example}]\npaths: {/a: {get: {operationId: a}}}\n",
    );
    marked("task.txt", "Say hello.\r\n");
    marked(
        "list.jsonl",
        "{\"contract\": \"c.yaml\", \"task\": \"hi\"}\n",
    );
    marked("s.jsonl", &says("Hello."));
    let task = ["run", "c.yaml", "--task", "@task.txt", "--json"];
    let ran = fixture.ends(&task, 0).document();
    let mut messages = ran["conversation"].as_array().unwrap().iter();
    let asked = messages.find(|message| message["role"] == "user");
    assert_eq!(asked.unwrap()["content"], "Say hello.");
    fixture.ok(&["run", "--contracts", "list.jsonl"]);
    assert!(tool(&fixture).is_object());

    fixture.layer(
        "\u{feff}{\"providers\": {\"demo\": {\"type\": \"test-llm\", \"file\": \"s.jsonl\"}}}",
    );
    marked("in.yaml", "required: [topic]\n");
    marked(
        "a.ai",
        "---\nmodels: [demo/script]\ninput: {format: json, schemaRef: in.yaml}\n---\nYou answer.\n",
    );
    fixture.ends(&["run", "a.ai", r#"{"topic": "x"}"#, "--dry-run"], 0);
    let refused = fixture.ends(&["run", "a.ai", "{}", "--dry-run"], 4);
    assert!(refused.err.contains("topic"), "{}", refused.err);
}

/// YAML 1.1 takes `y`, `NO` and `on` for booleans.
#[test]
fn schemas_and_descriptions_in_yaml_keep_their_words() {
    let fixture = Fixture::new();
    let openapi = "tools:\n  openapi:\n    shop:\n      spec: shop.yaml\n";
    fixture.script(openapi, &[&says("Hello.")]);
    fixture.write(
        "shop.yaml",
        "openapi: 3.1.0\nservers: [{url: https://h.example}]\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters:\n        - {name: y, in: query, schema: {type: string, enum: [NO, on]}}\n",
    );
    assert_eq!(
        tool(&fixture)["input_schema"]["properties"],
        json!({"y": {"type": "string", "enum": ["NO", "on"]}})
    );

    fixture.layer("{\"providers\": {\"demo\": {\"type\": \"test-llm\", \"file\": \"s.jsonl\"}}}");
    fixture.write(
        "in.yaml",
        "required: [y]\nproperties: {y: {enum: [NO, off]}}\n",
    );
    fixture.write(
        "a.ai",
        "---\nmodels: [demo/script]\ninput: {format: json, schemaRef: in.yaml}\n---\nYou answer.\n",
    );
    fixture.ends(&["run", "a.ai", r#"{"y": "NO"}"#, "--dry-run"], 0);
    fixture.ends(&["run", "a.ai", r#"{"y": false}"#, "--dry-run"], 4);
}

/// The folder is named, whichever of its files is wanted first.
#[cfg(unix)]
#[test]
fn a_state_folder_that_this_user_may_not_write_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Stdio};

    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let (folder, home) = (fixture.path(""), fixture.path("home"));
    let set = |path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&folder, 0o755);
    let program = env!("CARGO_BIN_EXE_monolith");
    let other = || {
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        other
    };
    for mode in [0o555, 0o700] {
        set(&home, mode);
        // Permission bits do not bind the superuser, who can become somebody else.
        let is_bound = std::fs::write(home.join("probe"), "").is_err();
        let mut command = if is_bound {
            Command::new(program)
        } else {
            drop(std::fs::remove_file(home.join("probe")));
            let probe = other().args(["test", "-x", program]).status();
            if !rustix::process::geteuid().is_root() || !probe.is_ok_and(|it| it.success()) {
                println!("skipped 1 case: nobody else can run the binary here");
                continue;
            }
            let mut command = other();
            command.arg(program);
            command
        };
        let output = command
            .args(["run", "c.yaml"])
            .current_dir(&folder)
            .env("HOME", &folder)
            .env("MONOLITH_HOME", &home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        set(&home, 0o700);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{mode:o}: {said}");
        let expect = format!("use the state folder {}: Permission denied", home.display());
        assert!(said.contains(&expect), "{mode:o}: {said}");
        assert!(said.contains("MONOLITH_HOME"), "{mode:o}: {said}");
    }
}
