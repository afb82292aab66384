//! Exported pages in a real browser: what they verify, what they find, and that nothing in a transcript becomes markup.
//!
//! Without a browser the cases are skipped, and counted.

mod every;

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use assert_cmd::Command;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use crate::fixture::{Fixture, Left, monolith};
use crate::golden::file_of;

const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
const OPEN: &str = "<script id=\"transcript\" type=\"application/octet-stream;base64\">";

static BROWSER: LazyLock<Option<&str>> = LazyLock::new(|| {
    let there = |name: &&&str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|said| said.status.success())
    };
    BROWSERS.iter().find(there).copied()
});

fn golden(name: &str) -> String {
    file_of(name).display().to_string()
}

/// The page of a transcript file.
pub fn page_of(file: &Path) -> String {
    let mut command = monolith(file.parent().unwrap(), &["export", "--format", "html"]);
    let command = command.arg("--force-unverified").arg(file);
    let left = Left::from(command.output().unwrap());
    // What is made by force of what does not hold ends so.
    assert!(matches!(left.code, 0 | 6 | 7), "{}", left.err);
    left.out
}

/// The document after the scripts have run; nothing where there is no browser.
pub fn opened(page: &str, address: &str) -> Option<String> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    opened_at(&file, address)
}

/// The same of a page in a file.
fn opened_at(file: &Path, address: &str) -> Option<String> {
    let Some(browser) = *BROWSER else {
        println!("skipped a case: there is no browser");
        return None;
    };
    let folder = TempDir::new().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--virtual-time-budget=8000",
            "--window-size=1400,900",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg("--dump-dom")
        .arg(format!("file://{}{address}", file.display()))
        .timeout(Duration::from_secs(120))
        .output()
        .unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The value of an attribute of the root element, in which the page tells what it found.
pub fn printed<'d>(document: &'d str, name: &str) -> &'d str {
    let (_, root) = document.split_once("<html").unwrap();
    let (root, _) = root.split_once('>').unwrap();
    let key = format!("data-{name}=\"");
    let rest = root.split_once(&key).map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split_once('"'))
        .map_or("", |(value, _)| value)
}

/// The page with one byte of the transcript in it changed, where `old` stands for the `at`th time.
pub fn changed(page: &str, old: &str, new: &str, at: usize) -> String {
    let (before, rest) = page.split_once(OPEN).unwrap();
    let (data, after) = rest.split_once('<').unwrap();
    let text = String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
    let (place, _) = text.match_indices(old).nth(at).unwrap();
    let text = format!("{}{new}{}", &text[..place], &text[place + old.len()..]);
    format!("{before}{OPEN}{}<{after}", STANDARD.encode(text))
}

#[test]
fn a_whole_run_is_verified_in_the_browser() {
    for name in [
        "core.valid_call",
        "gate.text_beside_a_call",
        "resume.lost_call",
    ] {
        let file = golden(name);
        let entries = std::fs::read_to_string(&file)
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("{\"action\":"))
            .count();
        let page = page_of(Path::new(&file));
        let Some(document) = opened(&page, "#entry-2") else {
            return;
        };
        assert_eq!(printed(&document, "verdict"), "verified", "{name}");
        assert_eq!(printed(&document, "entries"), entries.to_string(), "{name}");
        assert!(
            document.contains("Entry 2: "),
            "the address names the entry"
        );
        assert!(
            document.contains("id=\"row-0\"") && document.contains(" entries</button>"),
            "{name}"
        );
    }
}

/// The outcome of the run comes first; the proof, and the steps, are below.
#[test]
fn a_page_opens_on_the_answer_the_outcome_and_the_cost() {
    let check = |name: &str, expect: &[&str]| {
        let page = page_of(Path::new(&golden(name)));
        let Some(document) = opened(&page, "") else {
            return;
        };
        let body = body(&document);
        let mut rest = body;
        let below = ["id=\"proof\"", "<h2>Machine</h2>", "id=\"tabs\""];
        for part in expect.iter().chain(&below) {
            let (_, after) = rest
                .split_once(part)
                .unwrap_or_else(|| panic!("{name}: {part} in this order: {body}"));
            rest = after;
        }
    };
    let done = "completed with tools: final message</h1>";
    check(
        "core.valid_call",
        &[">It is the MIT licence.</pre>", done, ">cost unknown · "],
    );
    let report = "completed with tools: final report</h1>";
    check(
        "session.report_markdown",
        &[">It is **MIT**.</pre>", report],
    );
    check("accounting.priced", &[">MIT.</pre>", done, ">$0.0060 · "]);
    let failed = "failed protocol no tools";
    check("core.narration", &["id=\"answer\"", "hidden", failed]);
    let cause = "> · auth 401: invalid_api_key: no such key</span></h1>";
    check(
        "provider.auth_before",
        &["failed preflight: provider auth", cause],
    );
}

/// The conversation comes first, with one line for a long wait, and a result that the model saw in part says so.
#[test]
fn a_page_opens_on_the_conversation_with_its_waits_and_cuts() {
    let check = |name: &str, address: &str, view: &str, expect: &str| {
        let page = page_of(Path::new(&golden(name)));
        let Some(document) = opened(&page, address) else {
            return;
        };
        let body = body(&document);
        let selected = format!("data-tab=\"{view}\" aria-selected=\"true\"");
        assert!(body.contains(&selected), "{name}{address}: {body}");
        assert!(body.contains(expect), "{name}{address}: {body}");
    };
    let said = ">It is the MIT licence.</pre>";
    check("core.valid_call", "", "talk", said);
    check("core.valid_call", "#entry-2", "timeline", "Entry 2: ");
    check(
        "core.valid_call",
        "#view=timeline",
        "timeline",
        "id=\"row-0\"",
    );
    let waits = "16 min 40 s without work of a model or a tool";
    check("approval.stands_outside_the_timeouts", "", "talk", waits);
    let cut = ">cut for the model</b>";
    check("core.oversized_result", "", "talk", cut);
}

#[test]
fn a_changed_byte_is_named_at_its_entry_in_the_browser() {
    let page = page_of(Path::new(&golden("core.valid_call")));
    for (old, new, at, entry) in [
        ("\"at_ms\":0", "\"at_ms\":1", 0, "0"),
        ("\"tokens_in\":", "\"tokens_im\":", 3, "3"),
        ("\"hash\":\"", "\"hash\":\"0", 4, "4"),
        ("\"to\":\"COMMIT\"", "\"to\":\"COMMIS\"", 0, "5"),
        ("\"length\":", "\"length\":1", 0, "10"),
    ] {
        let Some(document) = opened(&changed(&page, old, new, at), "") else {
            return;
        };
        assert_eq!(printed(&document, "verdict"), "tampered", "{old}");
        assert_eq!(printed(&document, "entry"), entry, "{old}");
        assert!(
            document.contains(&format!("TAMPERED at entry {entry}")),
            "{old}"
        );
    }
}

/// The text of the page, without its scripts and the transcript.
pub fn body(document: &str) -> &str {
    document.split("<script").next().unwrap()
}

#[test]
fn a_page_opens_at_its_flaw_unless_the_address_asks_for_another_entry() {
    let page = page_of(Path::new(&golden("core.valid_call")));
    let page = changed(&page, "\"tokens_in\":", "\"tokens_im\":", 3);
    for (address, entry) in [("", 3), ("#entry-7", 7)] {
        let Some(document) = opened(&page, address) else {
            return;
        };
        let selected = format!("aria-activedescendant=\"row-{entry}\"");
        assert!(document.contains(&selected), "{address}");
        assert!(
            body(&document).contains(&format!("Entry {entry}: ")),
            "{address}"
        );
    }
}

#[test]
fn a_run_without_a_seal_is_unfinished_and_not_tampered() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.jsonl");
    let text = std::fs::read_to_string(golden("core.valid_call")).unwrap();
    let part =
        |entries: usize| -> String { text.split_inclusive('\n').take(entries + 1).collect() };
    // Before the first blob is named.
    std::fs::write(&file, part(2)).unwrap();
    let Some(document) = opened(&page_of(&file), "") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "unfinished");
    assert!(body(&document).contains("unfinished</h1>"));
    assert!(!body(&document).to_lowercase().contains("tampered"));
    // An end without its seal was never written so.
    let entries = text
        .lines()
        .filter(|line| line.starts_with("{\"action\":"))
        .count();
    std::fs::write(&file, part(entries - 1)).unwrap();
    let document = opened(&page_of(&file), "").unwrap();
    assert_eq!(printed(&document, "verdict"), "incomplete");
}

#[test]
fn an_erased_blob_is_told_with_its_reason_and_whoever_signed() {
    let fixture = Fixture::new();
    let golden = golden("core.oversized_result");
    fixture.ok(&["import", &golden]);
    let text = std::fs::read_to_string(&golden).unwrap();
    let (_, hash) = text.split_once("\"full\":\"").unwrap();
    let name = fixture.ok(&["list", "--json"]);
    let name: serde_json::Value = serde_json::from_str(&name).unwrap();
    let name = name["runs"][0]["run_id"].as_str().unwrap();
    fixture.ok(&[
        "erase",
        name,
        "--blob",
        &hash[..64],
        "--reason",
        "<b>asked</b>",
        "--yes",
    ]);
    let (before, _) = text.split_once("\"full\":\"").unwrap();
    let seq = before.matches("\"seq\":").count() / 2;
    let page = fixture.ok(&["export", name, "--format", "html"]);
    let Some(document) = opened(&page, &format!("#entry-{seq}")) else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    let body = body(&document);
    let said = "because “&lt;b&gt;asked&lt;/b&gt;” (tombstone signed by local+";
    assert!(
        body.contains("erased on 2") && body.contains(said),
        "{body}"
    );
    assert!(!body.contains("not in this file"));
}

#[test]
fn what_a_model_or_a_tool_wrote_never_becomes_an_element() {
    let fixture = Fixture::new();
    let hostile = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\
                   <style>*{display:none}</style>\u{1b}[31m\u{202e}evil\u{2066}\u{200b}--><!--";
    let call = serde_json::json!({"id": "<b id=call>", "type": "function",
        "function": {"name": "echo", "arguments": serde_json::json!({"text": hostile}).to_string()}});
    let asks = serde_json::json!({"role": "assistant", "content": hostile, "tool_calls": [call]});
    let ends = serde_json::json!({"role": "assistant", "content": hostile});
    let body = |message: serde_json::Value, stop: &str| {
        let choice = serde_json::json!({"index": 0, "message": message, "finish_reason": stop});
        serde_json::json!({"response": {"choices": [choice]}}).to_string()
    };
    let script = format!("{}\n{}\n", body(asks, "tool_calls"), body(ends, "stop"));
    fixture.write("s.jsonl", &script);
    let contract = serde_json::json!({"task": hostile, "system": hostile, "tools": {"builtin": ["echo"]},
        "targets": [{"provider": "demo", "model": "script"}],
        "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}});
    fixture.write("c.json", &contract.to_string());
    fixture.ok(&["run", "c.json", "--run-id", "hostile"]);
    let page = fixture.ok(&["export", "hostile", "--format", "html"]);
    assert!(
        !page.contains("<img") && !page.contains('\u{202e}'),
        "it is base64"
    );
    let plain = opened(&page_of(Path::new(&golden("core.valid_call"))), "");
    let (Some(document), Some(plain)) = (opened(&page, "#entry-2"), plain) else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    assert!(
        document.contains("<title>hostile · monolith</title>"),
        "no script of the transcript ran"
    );
    assert!(
        document.contains("&lt;/script&gt;") && document.contains("\\u{202e}evil"),
        "it is shown as text"
    );
    for element in ["<img", "<script", "<style", "<b id"] {
        let count = |document: &str| document.matches(element).count();
        assert_eq!(count(&document), count(&plain), "{element}");
    }
    assert!(
        !document.contains('\u{202e}') && !document.contains('\u{1b}'),
        "nothing reorders the page"
    );
}

#[test]
fn the_page_of_another_run_is_refused_where_it_does_not_verify() {
    let fixture = Fixture::new();
    let text = std::fs::read_to_string(golden("core.valid_call")).unwrap();
    fixture.write("t.jsonl", &text.replacen("\"at_ms\":0", "\"at_ms\":1", 1));
    for format in ["html", "atif", "cast"] {
        let refused = fixture.ends(&["export", "--format", format, "t.jsonl"], 7);
        assert!(refused.out.is_empty(), "{format}");
        let said = refused.err;
        assert!(
            said.contains("entry 0") && said.contains("--force-unverified"),
            "{said}"
        );
    }
}

fn by_force(format: &str) -> [&str; 5] {
    [
        "export",
        "--format",
        format,
        "t.jsonl",
        "--force-unverified",
    ]
}

#[test]
fn what_is_made_by_force_says_of_itself_that_it_does_not_verify() {
    let fixture = Fixture::new();
    let text = std::fs::read_to_string(golden("core.valid_call")).unwrap();
    let forced = |format: &str| {
        let left = fixture.ends(&by_force(format), 7);
        assert!(
            left.err.contains("NOT VERIFIED: tampered at entry 0"),
            "{}",
            left.err
        );
        left.out
    };
    fixture.write("t.jsonl", &text.replacen("\"at_ms\":0", "\"at_ms\":1", 1));
    let atif: serde_json::Value = serde_json::from_str(&forced("atif")).unwrap();
    let mark = atif["extra"]["not_verified"].as_str().unwrap();
    assert!(
        mark.starts_with("NOT VERIFIED: tampered at entry 0"),
        "{mark}"
    );
    let cast = forced("cast");
    assert!(
        cast.lines()
            .nth(1)
            .unwrap()
            .contains("NOT VERIFIED: tampered at entry 0"),
        "{cast}"
    );
    forced("html");
    // What cannot be read to its end is not begun.
    let cut = text.lines().take(3).collect::<Vec<_>>().join("\n");
    fixture.write("t.jsonl", &format!("{cut}\n{{\"action\":\n"));
    for format in ["atif", "cast"] {
        assert_eq!(fixture.ends(&by_force(format), 7).out, "", "{format}");
    }
    fixture.write("whole.jsonl", &text);
    let out = fixture.ok(&["export", "--format", "atif", "whole.jsonl"]);
    assert!(!out.contains("not_verified"), "{out}");
}
