//! Findings in files that somebody brings along, before a model is asked, and the parts that no error shows of them (001 §6,
//! §7, §11).

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, entries_of, says};

/// A run that succeeds where its model says something.
const RUN: [&str; 9] = [
    "run",
    "a.ai",
    "x",
    "--run-id",
    "r",
    "--set",
    "completion=message",
    "--set",
    "tool_transport=native",
];

/// A model, and an agent with that tool.
fn fixture(tool: &str, layer: &Value) -> Fixture {
    let fixture = Fixture::new();
    let mut whole = json!({"providers": {"one": {"type": "test-llm", "file": "one.jsonl"}}});
    for (section, entries) in layer.as_object().unwrap() {
        for (name, entry) in entries.as_object().unwrap() {
            whole[section][name] = entry.clone();
        }
    }
    fixture.layer(&whole.to_string());
    fixture.write("one.jsonl", &[says("One."), says("Two.")].join("\n"));
    let agent = format!("---\nmodels: [one/m]\ntools: [{tool}]\n---\nYou are terse.");
    fixture.write("a.ai", &agent);
    fixture
}

fn with_variables(fixture: &Fixture, args: &[&str], variables: &[(&str, &str)]) -> Left {
    let mut command = fixture.command(args);
    command.envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// 001 §11: what a run cannot keep is found before the model is paid, of a `continue`, too, and by its dry run.
#[test]
fn what_cannot_be_kept_is_found_before_a_model_is_asked() {
    let fixture = fixture("", &json!({}));
    fixture.write("taken", "a file");
    fixture.ok(&RUN);
    let entries = || entries_of(&fixture.path("home/runs.db")).len();
    let before = entries();
    for (kept, expect, code) in [
        (&["--save", "nodir/said.json"][..], "nodir/said.json", 1),
        (&["--save", "a.ai"], "something that is no conversation", 4),
        (&["--save-all", "taken/all"], "taken/all", 1),
        (&["--sessions-dir", "taken"], "taken", 1),
        (&["--billing-file", "nodir/f"], "nodir/f", 4),
    ] {
        for command in [&["continue", "r", "y"][..], &["run", "a.ai", "y"]] {
            let real = fixture.ends(&[command, kept].concat(), code);
            assert!(real.err.contains(expect), "{kept:?}: {}", real.err);
            let dry = fixture.ends(&[command, kept, &["--dry-run"]].concat(), code);
            assert!(dry.err.contains(expect), "{kept:?}: {}", dry.err);
        }
    }
    assert_eq!(entries(), before);
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    layer["persistence"] = json!({"sessionsDir": "./taken"});
    fixture.layer(&layer.to_string());
    for more in [&[][..], &["--dry-run"]] {
        let left = fixture.ends(&[&["continue", "r", "y"], more].concat(), 1);
        assert!(left.err.contains("taken"), "{}", left.err);
    }
}

/// 001 §6: what no header can hold is found before a run, and its value is not shown.
#[test]
fn keys_and_headers_that_cannot_be_sent_are_found_before_a_run() {
    let cloud = json!({
        "type": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${CK}", "contextWindow": 8192,
        "headers": {"X-Org": "${ORG}"},
    });
    let rest = json!({"method": "GET", "url": "http://127.0.0.1:9/x", "loopback": true, "headers": {"X-T": "${RT}"}});
    let service = json!({
        "spec": "spec.json", "baseUrl": "http://127.0.0.1:9", "loopback": true, "headers": {"X-O": "${RO}"},
    });
    let layer = json!({"providers": {"cloud": cloud}, "restTools": {"t": rest}, "openapiSpecs": {"o": service}});
    let fixture = fixture("", &layer);
    let paths = json!({"/a": {"get": {"operationId": "ask"}}});
    fixture.write(
        "spec.json",
        &json!({"openapi": "3.1.0", "paths": paths}).to_string(),
    );
    fixture.write(
        "a.ai",
        "---\nmodels: [cloud/m]\ntools: [rest__t, rest__o_ask]\n---\nx",
    );
    let good = [("CK", "k1"), ("ORG", "o1"), ("RT", "t1"), ("RO", "s1")];
    let broken = good.map(|(name, _)| (name, "acme\nhunter77secret"));
    for command in [
        &["contract", "check", "a.ai"][..],
        &["run", "a.ai", "x", "--dry-run"],
        &["run", "a.ai", "x"],
    ] {
        let left = with_variables(&fixture, command, &broken);
        assert_eq!(left.code, 4, "{command:?}: {}", left.printed());
        let all = [
            "providers.cloud.api_key_env",
            "providers.cloud.headers.X-Org",
            "tools.rest.t.headers.X-T",
            "tools.openapi.o.headers.X-O",
        ];
        // A run ends with the first.
        let is_run = command.last() == Some(&"x");
        for place in all.into_iter().take(if is_run { 1 } else { 4 }) {
            assert!(left.err.contains(place), "{place}: {}", left.err);
        }
        assert!(
            left.err.contains("its value cannot be sent in a header"),
            "{}",
            left.err
        );
        assert!(
            !left.printed().contains("hunter77secret"),
            "{}",
            left.printed()
        );
    }
    let left = with_variables(&fixture, &["contract", "check", "a.ai"], &good);
    assert_eq!(left.code, 0, "{}", left.printed());
}

/// 001 §11: a dry run finds a store that no run can be recorded in, and makes nothing.
#[test]
#[cfg(target_os = "linux")]
fn a_dry_run_finds_a_store_that_cannot_be_used_and_makes_nothing() {
    let fixture = fixture("", &json!({}));
    fixture.write("text.db", &"no database, but a text. ".repeat(100));
    let names = || {
        let found = std::fs::read_dir(fixture.path("")).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name());
        let mut names = names.collect::<Vec<_>>();
        names.sort();
        names
    };
    let before = names();
    let run = ["run", "a.ai", "x", "--dry-run"];
    // Only root may write there by its rights.
    let of_kernel = if rustix::process::geteuid().is_root() {
        "it is a folder of the kernel"
    } else {
        "failed to open /proc/x.db: Permission denied"
    };
    for (store, expect) in [
        ("nodir/x.db", "nodir is no folder"),
        ("text.db", "text.db"),
        ("a.ai/x.db", "a.ai"),
        ("/proc/x.db", of_kernel),
    ] {
        let left = fixture.ends(&[&run[..], &["--store", store]].concat(), 1);
        assert!(left.err.contains(expect), "{store}: {}", left.err);
    }
    let left = with_variables(&fixture, &run, &[("MONOLITH_HOME", "/proc/x")]);
    assert_eq!(left.code, 1, "{}", left.printed());
    let expect = "failed to use the state folder /proc/x";
    assert!(left.err.contains(expect), "{}", left.err);
    fixture.ok(&run);
    fixture.ok(&[&run[..], &["--store", "new.db"]].concat());
    assert_eq!(names(), before);
    // One that is there and good is no fault.
    fixture.ok(&RUN);
    fixture.ok(&run);
    fixture.ok(&["continue", "r", "y", "--dry-run"]);
}

/// 001 §6: a form that shows a password gives no contract, wherever the password stands in it.
#[test]
fn a_form_that_shows_a_password_is_refused_wherever_it_stands() {
    let check = |body: &str, code: i32| {
        let rest = json!({
            "method": "POST", "url": "http://127.0.0.1:9/x", "loopback": true, "bodyTemplate": body,
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "parametersSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        });
        let fixture = fixture("rest__r", &json!({"restTools": {"r": rest}}));
        let left = fixture.ends(&["contract", "check", "a.ai"], code);
        assert!(!left.printed().contains("Winter24"), "{}", left.printed());
        if code == 4 {
            let expect = "tools.rest.r.body_template";
            assert!(left.err.contains(expect), "{body}: {}", left.err);
        }
        let shown = fixture.ok(&["config", "show"]);
        assert!(!shown.contains("Winter24"), "{shown}");
    };
    for body in [
        "password=Winter24Secret",
        "grant_type=password&username=u&password=Winter24Secret&q=${parameters.a}",
        "password=Winter24Secret&q=${parameters.a}",
        "q=${parameters.a}&password=Winter24Secret",
    ] {
        check(body, 4);
    }
    check("grant_type=password&username=u&q=${parameters.a}", 0);
}

/// A secret in a command or a template is masked in the line that an error shows, and in what it advises.
#[test]
fn an_error_shows_no_secret_of_a_command_or_a_template() {
    let server = json!({"command": "npx -y srv --token tok4444secret"});
    let fixture = fixture("s", &json!({"mcpServers": {"s": server}}));
    let left = fixture.ends(&["contract", "check", "a.ai"], 4);
    let help = r#"command: npx, args: ["-y","srv","--token","***"]"#;
    assert!(left.err.contains(help), "{}", left.err);
    let line = "tools: {mcp: {s: {command: srv, args: [--token, tok4444secret, Zx8Kq2Lm9Pw4Rt7Vb1, plain], nope: 1}}, \
                rest: {r: {body_template: {password: tok4444secret, n: 1}, bad: 1}}}\n";
    let file = format!(
        "task: x\ntargets: [{{provider: p, model: m, context_window: 8192}}]\n\
         providers: {{p: {{type: openai, base_url: \"http://127.0.0.1:9/v1\"}}}}\n{line}"
    );
    fixture.write("c.yaml", &file);
    let seen = fixture.ends(&["contract", "check", "c.yaml"], 4);
    for secret in ["tok4444secret", "Zx8Kq2Lm9Pw4Rt7Vb1"] {
        assert!(!left.printed().contains(secret), "{}", left.printed());
        assert!(!seen.printed().contains(secret), "{}", seen.printed());
    }
    let shown = seen
        .err
        .contains("args: [--token, *************, ******************, plain]");
    assert!(shown, "{}", seen.err);
}

/// 001 §4, §7: a fault of a layer names its file and its key, however the tool was asked for.
#[test]
fn a_fault_of_a_definition_names_its_key_and_its_file() {
    let server = json!({"command": "srv", "env": {"RE": "^a${"}});
    let named = fixture("s", &json!({"mcpServers": {"s": server}}));
    let left = named.ends(&["contract", "check", "a.ai"], 4);
    for part in [
        "tools.mcp.s.env.RE (in ",
        "/.ai-agent.json): `${` is not followed",
    ] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    let rest = json!({"method": "GET", "url": "https://h.example/x", "queue": "nope"});
    let fixture = fixture("", &json!({"restTools": {"r": rest}}));
    let direct = [
        "run",
        "You.",
        "hi",
        "--models",
        "one/m",
        "--tools",
        "rest__r",
        "--dry-run",
    ];
    let left = fixture.ends(&direct, 4);
    let expect = "error: --tools rest__r: tools.rest.r.queue: no queue `nope` is defined";
    assert!(left.err.contains(expect), "{}", left.err);
}

/// 001 §6: of a description's address, and of what it refers to, neither an error nor a transcript shows a user or a query.
#[test]
fn the_address_of_a_description_is_masked_in_errors_and_in_the_transcript() {
    let layer = json!({"openapiSpecs": {"inv": {"spec": "spec.json"}}});
    let fixture = fixture("rest__inv_op", &layer);
    let paths = json!({"/x": {"get": {"operationId": "op"}}});
    let server = "https://svc:pw99secret@api.example.com/v1?key=qq99secret";
    let described = json!({"openapi": "3.0.3", "servers": [{"url": server}], "paths": paths});
    fixture.write("spec.json", &described.to_string());
    let left = fixture.run(&["run", "a.ai", "x", "--run-id", "r"]);
    assert_eq!(left.code, 3, "{}", left.printed());
    let expect = "https://api.example.com/v1?key=[SECRET]";
    assert!(left.err.contains(expect), "{}", left.err);
    let exported = fixture.ok(&["export", "r"]);
    for text in [left.printed(), exported] {
        assert!(!text.contains("99secret"), "{text}");
    }
}

/// A tool whose schema cannot be used is left out, and everything that shows the run says so in one line.
#[test]
fn a_tool_whose_schema_cannot_be_used_is_left_out_and_named() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let server = json!({"command": "python3", "args": ["./srv.py"]});
    let fixture = fixture("s", &json!({"mcpServers": {"s": server}}));
    fixture.write(
        "srv.py",
        r#"import json, sys
SCHEMAS = {
    "t0": {"type": "object"},
    "t1": {"type": "object", "properties": {"p": {"type": "string", "pattern": "^(?!foo)"}}},
    "t2": {"type": "object", "properties": None},
    "t3": {"type": ["array", "null"]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {}
    if asked["method"] == "initialize":
        answer = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "x", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer = {"tools": [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"#,
    );
    let all = [
        "tool \"t1\" left out: its input schema at \"/properties/p/pattern\": its pattern cannot be matched",
        "tool \"t2\" left out: its input schema at \"/properties\": ",
        "tool \"t3\" left out: its input schema: it takes no object, and arguments are one",
    ];
    for command in [
        &["run", "a.ai", "x", "--dry-run"][..],
        &["contract", "check", "a.ai", "--start-servers"],
        &RUN,
        &["show", "r"],
    ] {
        let left = fixture.ends(command, 0);
        let said = left.printed();
        for expect in all {
            assert_eq!(said.matches(expect).count(), 1, "{command:?}: {said}");
        }
        assert!(!said.contains("\"t0\" left out"), "{command:?}: {said}");
    }
    let (_, result) = fixture.json(&["run", "a.ai", "x"]);
    let left_out = result["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), all.len(), "{result}");
    for (tool, expect) in left_out.iter().zip(all) {
        assert_eq!(tool["server"], "s", "{result}");
        let detail = tool["detail"].as_str().unwrap();
        assert!(detail.contains(expect), "{expect}: {result}");
    }
}
