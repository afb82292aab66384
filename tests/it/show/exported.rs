//! Other forms of a run: what a player makes of it, what leaves, and under which name.

use serde_json::Value;

use super::golden;
use crate::fixture::{Fixture, Left};

#[test]
fn a_recorded_terminal_has_a_header_and_times_that_never_fall() {
    let fixture = Fixture::new();
    let Left {
        code, out: text, ..
    } = fixture.run(&[
        "export",
        &golden("core.tool_timeout_then_call"),
        "--format",
        "cast",
    ]);
    assert_eq!(code, 0);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["version"], 2);
    assert!(lines[0]["width"].is_u64() && lines[0]["height"].is_u64());
    let times: Vec<f64> = lines[1..]
        .iter()
        .map(|line| line[0].as_f64().unwrap())
        .collect();
    assert!(
        times.len() > 5 && times.windows(2).all(|pair| pair[0] <= pair[1]),
        "{times:?}"
    );
    assert_eq!(times.last(), Some(&300.001));
    for line in &lines[1..] {
        assert_eq!(line[1], "o");
        assert!(line[2].as_str().unwrap().ends_with("\r\n"));
    }
}

/// Text that the token gate withholds stays out of every form unless it is asked for; a file that holds it gives it only then.
#[test]
fn withheld_text_leaves_in_no_form_unasked() {
    let fixture = Fixture::new();
    fixture.script_in_time("required", &[("just talk", 0)]);
    assert_eq!(fixture.run(&["run", "c.json", "--run-id", "r"]).code, 1);
    let whole = ["export", "r", "--withheld", "-o", "whole.jsonl"];
    assert_eq!(fixture.run(&whole).code, 0);
    let file = fixture.path("whole.jsonl").display().to_string();
    let blobs = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("{\"blob\""))
            .count()
    };
    let held = blobs(&std::fs::read_to_string(&file).unwrap());
    let carried = |asked: &str, more: &[&str]| {
        let Left {
            code, out: page, ..
        } = fixture.run(&[&["export", asked, "--format", "html"], more].concat());
        assert_eq!(code, 0);
        let (_, rest) = page.split_once("stream;base64\">").unwrap();
        let data = rest.split('<').next().unwrap();
        let bytes =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
        blobs(&String::from_utf8(bytes).unwrap())
    };
    for asked in ["r", &file] {
        assert_eq!(carried(asked, &["--withheld"]), held);
        assert!(carried(asked, &[]) < held, "{held}");
        for format in ["atif", "cast"] {
            let text = fixture.ok(&["export", asked, "--format", format]);
            assert!(!text.contains("just talk"), "{text}");
        }
    }
}

/// The ending of a file names its form.
#[test]
fn an_export_has_the_form_that_its_file_is_named_after() {
    let fixture = Fixture::new();
    fixture.script_in_time("optional", &[("hi", 0)]);
    fixture.ok(&["run", "c.json", "--run-id", "r"]);
    for (file, begins) in [
        ("x.html", "<!doctype html>"),
        ("x.json", "{\n"),
        ("x.cast", "{\"version\""),
        ("x.jsonl", "{\"contract\""),
        ("plain", "{\"contract\""),
    ] {
        fixture.ok(&["export", "r", "-o", file]);
        let text = fixture.read(file);
        assert!(
            text.to_lowercase().starts_with(begins),
            "{file}: {}",
            &text[..40]
        );
    }
    let said = fixture
        .ends(&["export", "r", "-o", "y.html", "--format", "jsonl"], 4)
        .printed();
    assert!(said.contains("its ending means --format html"), "{said}");
    assert!(!fixture.path("y.html").exists());
    let said = fixture.ends(&["export", "r", "-o", "y.pdf"], 4).printed();
    assert!(
        said.contains("no export format has the ending .pdf"),
        "{said}"
    );
    assert!(
        said.contains(".jsonl, .html, .htm, .json (atif) and .cast"),
        "{said}"
    );
    assert!(!fixture.path("y.pdf").exists());
    fixture.ok(&["export", "r", "-o", "y.pdf", "--format", "html"]);
    for format in ["atif", "cast"] {
        let said = fixture
            .ends(&["export", "r", "--format", format, "--withheld"], 4)
            .printed();
        assert!(said.contains("never contains withheld text"), "{said}");
    }
}
