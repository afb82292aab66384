//! The host's own files stay with it: its keys and its state reach no model, no store and no export, and no other user.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use monolith_core::transcript::SecretKey;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};

/// A contract whose model calls these tools, one after the other, and then is done.
fn contract(fixture: &Fixture, more: &str, made: &[(&str, String)]) {
    let lines: Vec<String> = made
        .iter()
        .map(|(name, given)| calls(name, given))
        .collect();
    let done = says("Done.");
    let lines: Vec<&str> = lines.iter().chain([&done]).map(String::as_str).collect();
    let turns = lines.len() + 1;
    fixture.script(
        &format!("tool_policy: required\nmax_turns: {turns}\n{more}"),
        &lines,
    );
}

fn path(path: &str) -> String {
    json!({"path": path}).to_string()
}

impl Fixture {
    /// Returns the model's view of each call, in their order.
    fn observed(result: &Value) -> Vec<String> {
        let messages = result["conversation"].as_array().unwrap().iter();
        let tools = messages.filter(|message| message["role"] == "tool");
        tools
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns every byte that a run left: in the state folder, and in each form of export.
    fn left_by(&self, run: &str) -> Vec<(String, Vec<u8>)> {
        let mut left = Vec::new();
        for format in ["jsonl", "html", "atif"] {
            let file = format!("export.{format}");
            self.ok(&["export", run, "--format", format, "--output", &file]);
            left.push((file.clone(), fs::read(self.path(&file)).unwrap()));
        }
        for entry in fs::read_dir(self.path("home")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                left.push((path.display().to_string(), fs::read(path).unwrap()));
            }
        }
        left
    }
}

#[track_caller]
fn shows_nowhere(left: &[(String, Vec<u8>)], secret: &str) {
    for (place, bytes) in left {
        let at = bytes
            .windows(secret.len())
            .position(|part| part == secret.as_bytes());
        assert_eq!(at, None, "{secret} stands in {place}");
    }
}

fn server() -> String {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/telling_server.py");
    format!(
        "{{t: {{command: python3, args: ['{}']}}}}",
        server.display()
    )
}

fn has_python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

#[test]
fn no_file_tool_reads_the_state_folder_or_the_store_under_any_name() {
    let fixture = Fixture::new();
    let reads = "tools: {builtin: [read_file, list_directory]}\n";
    contract(&fixture, reads, &[("list_directory", path("."))]);
    fixture.ok(&["run", "c.yaml", "--run-id", "first", "--store", "kept.db"]);
    let key = fixture.read("home/keys/local.key");
    symlink("home/keys/local.key", fixture.path("link")).unwrap();
    symlink(fixture.path("home"), fixture.path("folder")).unwrap();
    fs::create_dir(fixture.path("sub")).unwrap();
    symlink("../home/keys", fixture.path("sub/keys")).unwrap();
    fs::hard_link(fixture.path("home/keys/local.key"), fixture.path("hard")).unwrap();
    // Not that of the store in use, which is not written under two names.
    fixture.ok(&["run", "c.yaml"]);
    fs::hard_link(fixture.path("home/runs.db"), fixture.path("copy.db")).unwrap();
    let tried = [
        ("read_file", "home/keys/local.key"),
        ("read_file", "home/keys/redaction.key"),
        ("read_file", "link"),
        ("read_file", "folder/keys/local.key"),
        ("read_file", "sub/keys/local.key"),
        ("read_file", "sub/../home/keys/../keys/local.key"),
        ("read_file", "hard"),
        ("read_file", "kept.db"),
        ("read_file", "kept.db-wal"),
        ("read_file", "copy.db"),
        ("list_directory", "home"),
        ("list_directory", "home/keys"),
        ("list_directory", "folder"),
        ("list_directory", "kept.db.locks"),
    ];
    contract(
        &fixture,
        reads,
        &tried.map(|(tool, given)| (tool, path(given))),
    );
    let (code, result) = fixture.json(&["run", "c.yaml", "--run-id", "r", "--store", "kept.db"]);
    assert_eq!(code, 0, "{result}");
    let observed = Fixture::observed(&result);
    assert_eq!(observed.len(), tried.len(), "{observed:?}");
    for (observed, (tool, given)) in observed.iter().zip(tried) {
        let expect = format!("{given:?} belongs to monolith's own state");
        assert!(observed.contains(&expect), "{tool} {given}: {observed}");
    }
    // A workspace within the state folder is withheld as a whole.
    contract(
        &fixture,
        &format!("{reads}workspace: x\n").replace("}\nworkspace: x", ", workspace: home/keys}"),
        &[("read_file", path("local.key"))],
    );
    let (_, result) = fixture.json(&["run", "c.yaml", "--run-id", "r2", "--store", "kept.db"]);
    assert!(
        Fixture::observed(&result)[0].contains("own state"),
        "{result}"
    );
    let text = result.to_string();
    assert!(!text.contains(key.trim_end()), "{text}");
}

#[test]
fn however_many_locks_there_are_files_of_the_workspace_are_read() {
    let fixture = Fixture::new();
    let reads = "tools: {builtin: [read_file, list_directory]}\n";
    fixture.write("notes", "my notes");
    let tried = [
        ("read_file", path("notes")),
        ("read_file", path("home/runs.db.locks/7")),
        ("read_file", path("locks/../locks/7")),
        ("list_directory", path("locks")),
    ];
    contract(&fixture, reads, &tried);
    fixture.ok(&["run", "c.yaml"]);
    // More than files of a folder are looked at one by one.
    for n in 0..=16_384 {
        fs::write(fixture.path(&format!("home/runs.db.locks/{n}")), "").unwrap();
    }
    symlink("home/runs.db.locks", fixture.path("locks")).unwrap();
    let (code, result) = fixture.json(&["run", "c.yaml"]);
    assert_eq!(code, 0, "{result}");
    let observed = Fixture::observed(&result);
    assert_eq!(observed[0], "my notes");
    for observed in &observed[1..] {
        assert!(observed.contains("own state"), "{observed}");
    }
}

#[test]
fn a_key_that_was_replaced_is_not_left_under_another_name() {
    let fixture = Fixture::new();
    contract(
        &fixture,
        "tools: {builtin: [read_file]}\n",
        &[("read_file", path("hard"))],
    );
    fixture.ok(&["run", "c.yaml"]);
    let old = fixture.read("home/keys/local.key");
    fs::hard_link(fixture.path("home/keys/local.key"), fixture.path("hard")).unwrap();
    fixture.ok(&["key", "rotate"]);
    let (code, result) = fixture.json(&["run", "c.yaml"]);
    assert_eq!(code, 0, "{result}");
    assert!(!result.to_string().contains(old.trim_end()), "{result}");
    assert!(!fixture.read("hard").contains(old.trim_end()));
}

/// The target of a link is not overwritten, so the old key would be readable once the link is gone.
#[test]
fn a_key_that_is_a_link_is_not_replaced() {
    let fixture = Fixture::new();
    contract(&fixture, "tools: {builtin: [echo]}\n", &[]);
    fixture.ok(&["key", "generate"]);
    fs::rename(fixture.path("home/keys/local.key"), fixture.path("real")).unwrap();
    symlink(fixture.path("real"), fixture.path("home/keys/local.key")).unwrap();
    let left = fixture.run(&["key", "rotate"]);
    assert_ne!(left.code, 0, "{}", left.printed());
    assert!(left.err.contains("it is a link"), "{}", left.err);
    assert!(fixture.path("home/keys/local.key").is_symlink());
}

#[test]
fn the_hosts_own_keys_are_taken_out_in_every_form() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    contract(
        &fixture,
        "tools: {builtin: [echo]}\n",
        &[("echo", "{\"text\":\"a\"}".to_owned())],
    );
    fixture.ok(&["run", "c.yaml", "--run-id", "first"]);
    let mut forms = Vec::new();
    for file in ["local.key", "redaction.key"] {
        let text = fixture
            .read(&format!("home/keys/{file}"))
            .trim_end()
            .to_owned();
        let bytes = if let Ok(key) = text.parse::<SecretKey>() {
            let encoded = text.splitn(5, '+').nth(4).unwrap();
            forms.push(encoded.to_owned());
            assert_eq!(key.secret_text(), text);
            STANDARD.decode(encoded).unwrap()[1..].to_vec()
        } else {
            let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..64).step_by(2).map(digit).collect()
        };
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let hex = hex.concat();
        forms.extend([hex.to_lowercase(), hex, STANDARD.encode(&bytes)]);
        forms.extend([URL_SAFE.encode(&bytes), STANDARD.encode(&text), text]);
    }
    fixture.write(
        "told.json",
        &json!([{"type": "text", "text": forms.join(" or ")}]).to_string(),
    );
    contract(
        &fixture,
        &format!("tools: {{mcp: {}}}\n", server()),
        &[("t__tell", "{}".to_owned())],
    );
    let (code, result) = fixture.json(&["run", "c.yaml", "--run-id", "r"]);
    assert_eq!(code, 0, "{result}");
    let mut left = fixture.left_by("r");
    left.push(("the result".to_owned(), result.to_string().into_bytes()));
    for form in &forms {
        shows_nowhere(&left, form.trim_end_matches('='));
    }
    // A contract that shows one is refused.
    let text = fixture.read("home/keys/local.key");
    let shown = format!(
        "system: sign with {}\ntools: {{builtin: [echo]}}\n",
        text.trim_end()
    );
    contract(&fixture, &shown, &[]);
    let ended = fixture.ends(&["run", "c.yaml"], 4).printed();
    assert!(
        ended.contains("local.key") && !ended.contains(text.trim_end()),
        "{ended}"
    );
}

#[test]
fn a_secret_is_found_over_blocks_behind_three_escapes_and_decoded() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    let (variable, query) = ("topsecret-\"quoted\"/1234", "dec/oded va\"lue-77");
    let quoted = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let percent = |text: &str| {
        let byte = |byte: u8| match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect::<String>()
    };
    let thrice = quoted(&quoted(&quoted(variable)));
    let twisted = percent(&quoted(variable));
    let split = |text: &str| {
        let (first, second) = text.split_at(text.len() / 2);
        [format!("it is {first}"), format!("{second}, it is")]
    };
    let mut texts = vec![
        format!("thrice {thrice} end"),
        format!("twisted {twisted} end"),
        format!("decoded {query} end"),
        format!("quoted {} end", quoted(query)),
    ];
    texts.extend(split("split-topsecret-9876543"));
    let blocks = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}));
    fixture.write("told.json", &blocks.collect::<Value>().to_string());
    let more = format!(
        "redact: {{env: [HIDDEN, SPLIT]}}\ntools: {{mcp: {}}}\n\
         targets: [{{provider: demo, model: script}}]\n\
         providers:\n  demo: {{type: scripted, file: s.jsonl}}\n  \
         web: {{type: openai, base_url: 'http://127.0.0.1:1/v1?token={}'}}\n",
        server(),
        percent(query).replace("%20", "+"),
    );
    let lines = [calls("t__tell", "{}"), says("Done.")];
    fixture.write(
        "c.yaml",
        &format!("task: hi\ntool_policy: required\n{more}"),
    );
    fixture.write("s.jsonl", &lines.join("\n"));
    let ended: Left = fixture
        .command(&["run", "c.yaml", "--run-id", "r", "--json"])
        .env("HIDDEN", variable)
        .env("SPLIT", "split-topsecret-9876543")
        .output()
        .unwrap()
        .into();
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let mut left = fixture.left_by("r");
    left.push(("the result".to_owned(), ended.out.clone().into_bytes()));
    let [first, second] = split("split-topsecret-9876543");
    for secret in [
        variable,
        query,
        &thrice,
        &twisted,
        &quoted(query),
        &first,
        &second,
    ] {
        shows_nowhere(&left, secret);
    }
    assert!(ended.out.contains("[REDACTED:"), "{}", ended.out);
    fixture.ok(&["verify", "r"]);
    fixture.ok(&["replay", "r"]);
}

#[test]
fn texts_that_only_together_look_like_a_secret_stay_as_they_are() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    let texts = [
        "one header is authorization:",
        "the second text stays",
        "token sk-",
        "0123456789abcdefghij",
    ];
    let blocks = texts.map(|text| json!({"type": "text", "text": text}));
    fixture.write("told.json", &json!(blocks).to_string());
    let more = format!("redact: {{env: [HIDDEN]}}\ntools: {{mcp: {}}}\n", server());
    contract(&fixture, &more, &[("t__tell", "{}".to_owned())]);
    let ended: Left = fixture
        .command(&["run", "c.yaml", "--run-id", "r"])
        .env("HIDDEN", "topsecret-1234")
        .output()
        .unwrap()
        .into();
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let file = fixture.ok(&["export", "r"]);
    let result = serde_json::to_string(&texts.join("\n")).unwrap();
    assert!(file.contains(&result), "{file}");
}

/// Text that a header or a shape takes out of one block, a change of order and a media type hide no part of a value.
#[test]
fn a_secret_is_found_over_blocks_whatever_else_is_found_in_them() {
    if !has_python() {
        return;
    }
    let secret = "Zk7wQ2mXv9Lp4RtB8nHs3JdF";
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = |bytes: &str, kind: &str| {
        let data = STANDARD.encode(bytes);
        json!({"type": "image", "data": data, "mimeType": kind})
    };
    let shape = format!("Bearer {}{}", "q".repeat(24), &secret[..2]);
    let first_again = format!("{} {}", &secret[12..], &secret[..8]);
    let cases = [
        (
            json!([
                text(&format!("cookie: {}", &secret[..1])),
                text(&secret[1..])
            ]),
            1..24,
        ),
        (json!([text(&shape), text(&secret[2..])]), 2..24),
        (
            json!([
                text(&secret[..12]),
                text(&first_again),
                image(&secret[8..16], "image/png"),
                text(&secret[16..])
            ]),
            8..16,
        ),
        (
            json!([text(&secret[..12]), image("x", &secret[12..])]),
            12..24,
        ),
    ];
    for (blocks, part) in cases {
        let fixture = Fixture::new();
        fixture.write("told.json", &blocks.to_string());
        let more = format!("redact: {{env: [HIDDEN]}}\ntools: {{mcp: {}}}\n", server());
        contract(&fixture, &more, &[("t__tell", "{}".to_owned())]);
        let mut command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
        let ended = Left::from(command.env("HIDDEN", secret).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.printed());
        shows_nowhere(&fixture.left_by("r"), &secret[part]);
        assert!(
            fixture.ok(&["export", "r"]).contains("[REDACTED:"),
            "{blocks}"
        );
    }
}

#[test]
fn no_diagnostic_shows_the_value_of_a_query() {
    let fixture = Fixture::new();
    let printed = |address: &str| {
        let contract = format!(
            "task: hi\ntargets: [{{provider: web, model: m}}]\ncontext_budget: {{context_window: 9000}}\n\
             providers: {{web: {{type: openai, base_url: '{address}'}}}}\n"
        );
        fixture.write("c.yaml", &contract);
        let mut command = fixture.command(&["run", "c.yaml"]);
        Left::from(command.env("MONOLITH_LOG", "trace").output().unwrap()).printed()
    };
    for address in [
        "http://127.0.0.1:1/v1?k=ab1&token=hunter2-hunter2",
        "http://127.0.0.1:99999/v1?k=ab1&token=hunter2-hunter2",
        "http://127.0.0.1:1/v1?k=ab1&token=hunter2-hunter2 and more",
    ] {
        let said = printed(address);
        assert!(!said.contains("ab1") && !said.contains("hunter2"), "{said}");
    }
}

/// An address that no client takes is shown to its author, without what is secret in it.
#[test]
fn no_diagnostic_shows_a_password_however_the_address_is_written() {
    let fixture = Fixture::new();
    let long = format!("http://user:{}hunter2@h:1:1/v1", "s-".repeat(200));
    for address in [
        "//user:hunter2-hunter2@h/v1",
        "HTTP:/\\user:hunter2-hunter2@h:x/v1?token=hunter2-hunter2",
        "ftp://user:hunter2-hunter2@h/v1?token=hunter2-hunter2",
        "user:hunter2-hunter2@h/v1",
        "http://user:hunter2/hunter2@127.0.0.1:1/v1",
        "nonsense?token=hunter2-hunter2",
        &long,
    ] {
        for (place, value) in [("base_url_env", "ADDRESS"), ("base_url", address)] {
            let contract = format!(
                "task: hi\ntargets: [{{provider: web, model: m}}]\ncontext_budget: {{context_window: 9000}}\n\
                 providers: {{web: {{type: openai, {place}: '{value}'}}}}\n"
            );
            fixture.write("c.yaml", &contract);
            for command in [
                &["run", "c.yaml"][..],
                &["contract", "check", "c.yaml"],
                &["contract", "show", "c.yaml"],
                &["tools", "c.yaml"],
                &["doctor", "--contract", "c.yaml"],
            ] {
                let mut command = fixture.command(command);
                let command = command.env("ADDRESS", address).env("MONOLITH_LOG", "trace");
                let said = Left::from(command.output().unwrap()).printed();
                assert!(
                    !said.contains("hunter2") && !said.contains("s-s-s-"),
                    "{place} {address}: {said}"
                );
            }
        }
    }
}

/// Turns of the run below, and calls of each.
const TURNS: usize = 8;
const CALLS: usize = 60;

/// While another process swaps a file with a link that leads outside, and a folder with another, nothing outside is ever read.
#[cfg(target_os = "linux")]
#[test]
fn nothing_outside_is_read_while_another_process_swaps_files_with_links() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("outside/f", "OUTSIDE");
    fixture.write("work/f", "inside");
    fixture.write("work/d/f", "inside");
    symlink(fixture.path("outside/f"), fixture.path("work/l")).unwrap();
    symlink("../outside", fixture.path("work/e")).unwrap();
    let swapper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/swapper.py");
    let mut swapping = Command::new("python3")
        .arg(swapper)
        .args(["f", "l", "d", "e"])
        .current_dir(fixture.path("work"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut out = BufReader::new(swapping.stdout.take().unwrap());
    out.read_line(&mut said).unwrap();
    if said.trim() != "swapping" {
        println!("skipped 1 case: this file system exchanges no names");
        swapping.wait().unwrap();
        return;
    }
    let message = |turn: usize| {
        let each = (0..CALLS).map(|n| {
            let file = if n % 2 == 0 { "f" } else { "d/f" };
            json!({"id": format!("c{turn}-{n}"), "type": "function",
                "function": {"name": "read_file", "arguments": path(file)}})
        });
        let message =
            json!({"role": "assistant", "content": null, "tool_calls": each.collect::<Value>()});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        json!({"response": {"choices": [choice]}}).to_string()
    };
    let mut lines: Vec<String> = (0..TURNS).map(message).collect();
    lines.push(says("Done."));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fixture.script(
        &format!(
            "tool_policy: required\nmax_turns: {}\nmax_tool_calls_per_turn: {CALLS}\n\
             tools: {{builtin: [read_file], workspace: work}}\n",
            TURNS + 2
        ),
        &lines,
    );
    let (code, result) =
        fixture.json(&["run", "c.yaml", "--run-id", "r", "--durability", "normal"]);
    drop(swapping.stdin.take());
    swapping.wait().unwrap();
    assert_eq!(code, 0, "{result}");
    let observed = Fixture::observed(&result);
    assert_eq!(observed.len(), TURNS * CALLS);
    let left = observed
        .iter()
        .filter(|text| text.contains("OUTSIDE"))
        .count();
    assert_eq!(
        left,
        0,
        "{left} of {} reads left the workspace",
        observed.len()
    );
    assert!(observed.iter().any(|text| text == "inside"), "{observed:?}");
}

/// Returns everything that is left with its mode, except for the test's own files.
fn modes(fixture: &Fixture, folder: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![fixture.path(folder)];
    while let Some(folder) = folders.pop() {
        found.push(folder.clone());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    found
        .into_iter()
        .map(|path| (path.display().to_string(), mode(&path)))
        .collect()
}

#[test]
fn whatever_the_umask_state_and_store_are_their_owners_alone() {
    let fixture = Fixture::new();
    let open = |args: &[&str]| {
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                "umask 000; exec \"$@\"",
                "sh",
                env!("CARGO_BIN_EXE_monolith"),
            ])
            .args(args)
            .current_dir(fixture.path(""))
            .env("MONOLITH_HOME", fixture.path("home"))
            .stdin(Stdio::null());
        command
    };
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\":\"x\"}"), &says("done")],
    );
    fs::create_dir(fixture.path("kept")).unwrap();
    fs::set_permissions(fixture.path("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = ["run", "c.yaml", "--run-id", "r", "--store", "kept/runs.db"];
    let mut waiting = open(&run)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let hash = said.find_map(|line| Some(line.unwrap().split_once("blake3")?.1.trim().to_owned()));
    assert!(said.any(|line| line.unwrap().contains("monolith approve r")));
    // The log, the shared memory and the lock are there while the run is driven.
    let check = |least: usize| {
        let mut found = modes(&fixture, "home");
        found.extend(modes(&fixture, "kept").into_iter().skip(1));
        for (path, mode) in &found {
            assert_eq!(mode & 0o077, 0, "{path}: {mode:04o}");
        }
        assert!(found.len() >= least, "{found:?}");
    };
    check(10);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    let answer = [
        "approve",
        "r",
        "--yes",
        "--arguments",
        &hash.unwrap(),
        "--store",
        "kept/runs.db",
    ];
    assert!(open(&answer).status().unwrap().success());
    check(10);
    assert!(
        open(&["resume", "r", "--store", "kept/runs.db"])
            .output()
            .unwrap()
            .status
            .success()
    );
    for (format, file) in [("jsonl", "kept/r.jsonl"), ("html", "kept/r.html")] {
        let export = [
            "export",
            "r",
            "--format",
            format,
            "--output",
            file,
            "--store",
            "kept/runs.db",
        ];
        assert!(open(&export).output().unwrap().status.success());
    }
    check(12);
}

#[test]
fn what_others_may_write_is_refused_or_named() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let verified = fixture.ends(&["verify", "r"], 0);
    assert!(!verified.err.contains("others may"), "{}", verified.err);
    let doctor = fixture.run(&["doctor"]).printed();
    assert!(
        doctor.contains("state and store are their owner's alone"),
        "{doctor}"
    );
    let mode = |path: &str, mode| {
        fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("home/runs.db", 0o644);
    mode("home/runs.db.locks", 0o755);
    for said in [
        fixture.run(&["doctor"]).printed(),
        fixture.ends(&["verify", "r"], 0).err,
    ] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for expect in ["runs.db (0644)", "runs.db.locks (0755)"] {
            assert!(said.contains(expect), "{expect}: {said}");
        }
    }
    mode("home/keys", 0o777);
    for command in [&["run", "c.yaml"][..], &["verify", "r"], &["key", "show"]] {
        let refused = fixture.run(command);
        assert_ne!(refused.code, 0, "{command:?}");
        let said = refused
            .printed()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains("its mode is 0777"), "{command:?}: {said}");
    }
    assert!(fixture.run(&["doctor"]).printed().contains("0777"));
}

/// Files are told from the host's own by looking at each of those. Where there are too many of them, none is read, and the answer says why.
#[test]
fn where_the_hosts_own_files_are_too_many_to_be_looked_at_no_file_is_read() {
    let fixture = Fixture::new();
    let reads = "tools: {builtin: [read_file, list_directory]}\n";
    let tried = [("read_file", path("plain")), ("list_directory", path("."))];
    contract(&fixture, reads, &tried);
    fixture.write("plain", "a plain file");
    let read = |name: &str| {
        let (code, result) = fixture.json(&["run", "c.yaml", "--run-id", name]);
        assert_eq!(code, 0, "{result}");
        Fixture::observed(&result)
    };
    assert_eq!(read("first")[0], "a plain file");
    for n in 0..16_384 {
        fs::File::create(fixture.path(&format!("home/{n}"))).unwrap();
    }
    let observed = read("second");
    assert!(
        observed[0].contains("has more than 16384 files"),
        "{observed:?}"
    );
    assert!(observed[1].contains("plain"), "{observed:?}");
}

/// The addresses of model servers that a caller or a variable gives are shown as a contract would record them.
#[test]
fn no_address_of_a_model_server_is_shown_with_its_password() {
    let fixture = Fixture::new();
    let given = [
        "http://user:hunter2-hunter2@127.0.0.1:9",
        "user:hunter2-hunter2@127.0.0.1:9",
        "http://127.0.0.1:9/?k=hunter2-hunter2",
    ];
    for address in given {
        for command in [&["doctor"][..], &["init", "--yes", "--use", "ollama"]] {
            let mut command = fixture.command(command);
            let left = Left::from(command.env("OLLAMA_HOST", address).output().unwrap());
            let said = left.printed();
            assert!(!said.contains("hunter2"), "{address}: {said}");
            assert!(said.contains("127.0.0.1"), "{address}: {said}");
        }
    }
    let asked = "http://127.0.0.1:9/v1?k=hunter2-hunter2";
    let said = fixture
        .run(&["init", "--base-url", asked, "--model", "m"])
        .printed();
    assert!(!said.contains("hunter2"), "{said}");
}

/// The fragment of an address is never sent, and a contract does not hold it.
#[test]
fn no_fault_of_a_tool_server_shows_the_fragment_of_its_address() {
    use std::net::TcpListener;

    let fixture = Fixture::new();
    // It takes the connection and closes it, so the fault is one of the client itself.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    for port in [port, 9] {
        let url = format!("http://127.0.0.1:{port}/v1#token=hunter2-hunter2");
        let tools = format!("tools: {{mcp: {{s: {{url: '{url}'}}}}}}\n");
        fixture.script(&format!("tool_policy: optional\n{tools}"), &[&says("Yes.")]);
        let name = format!("r{port}");
        let mut said = fixture.run(&["run", "c.yaml", "--run-id", &name]).printed();
        for command in [
            &["show", &name, "--raw"][..],
            &["export", &name],
            &["show", &name, "--why"],
        ] {
            said.push_str(&fixture.run(command).printed());
        }
        assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
