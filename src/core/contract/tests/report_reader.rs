//! Tests of reading final reports.

use serde_json::{Value, json};

use crate::contract::{FinalReportTerms, ReportFormat, Validators};
use crate::message::ObjectText;

fn terms(format: ReportFormat, schema: Option<Value>) -> (FinalReportTerms, Validators) {
    let terms = FinalReportTerms { format, schema };
    let validators = Validators::of_report(&terms).unwrap();
    (terms, validators)
}

/// Text of the report, or pointer and rule.
fn check(
    format: ReportFormat,
    schema: Option<Value>,
    arguments: &Value,
    expect: Result<&str, (&str, &str)>,
) {
    let (terms, validators) = terms(format, schema);
    let arguments = ObjectText::parse(arguments.to_string()).unwrap();
    let read = terms.read(&arguments, &validators);
    let found = match &read {
        Ok(report) => {
            assert_eq!(report.format, format);
            Ok(report.text())
        }
        Err(fault) => Err((fault.pointer.as_str(), fault.rule.as_str())),
    };
    assert_eq!(found, expect, "{arguments:?}");
}

#[test]
fn every_text_format_takes_its_content_unchanged() {
    let plain = [
        ReportFormat::Markdown,
        ReportFormat::MarkdownMermaid,
        ReportFormat::Pipe,
        ReportFormat::SubAgent,
        ReportFormat::Text,
        ReportFormat::Tty,
    ];
    for format in plain {
        let text = " \u{1b}[1mMIT\u{1b}[0m\n{\"a\": ";
        let arguments = json!({"format": format.as_str(), "report_content": text});
        check(format, None, &arguments, Ok(text));
        let blank = json!({"report_content": " \n"});
        let rule = "minLength: the report is empty";
        check(format, None, &blank, Err(("/report_content", rule)));
        let rule = "required: \"report_content\" is missing";
        check(format, None, &json!({}), Err(("", rule)));
    }
}

#[test]
fn base64_is_decoded_before_use() {
    let given = |encoding: &str, text: &str| json!({"encoding": encoding, "report_content": text});
    let markdown = ReportFormat::Markdown;
    check(
        markdown,
        None,
        &given("base64", "TUlUIOKCrA=="),
        Ok("MIT €"),
    );
    check(
        markdown,
        None,
        &given("base64", "TUlU\nIOKCrA"),
        Ok("MIT €"),
    );
    check(markdown, None, &given("raw", "TUlU"), Ok("TUlU"));
    let at = "/report_content";
    let bad = "encoding: the report is not valid base64";
    check(markdown, None, &given("base64", "%%"), Err((at, bad)));
    let bad = "encoding: the decoded report is not UTF-8";
    check(markdown, None, &given("base64", "/w=="), Err((at, bad)));
    let bad = "enum: value is not one of \"raw\" or \"base64\"";
    check(markdown, None, &given("gzip", "x"), Err(("/encoding", bad)));
    let json = ReportFormat::Json;
    check(
        json,
        None,
        &given("base64", "eyJhIjoxfQ=="),
        Ok("{\"a\":1}"),
    );
}

#[test]
fn json_keeps_its_bytes_and_breaks_its_schema_by_name() {
    let schema = json!({
        "type": "object",
        "required": ["licence"],
        "properties": {"licence": {"type": "string"}},
    });
    let (terms, validators) = terms(ReportFormat::Json, Some(schema.clone()));
    let text = r#"{"format":"json","content_json":{"z":1.50,"licence":"MIT","a":"\u00e9"}}"#;
    let read = terms.read(&ObjectText::parse(text).unwrap(), &validators);
    let kept = r#"{"z":1.50,"licence":"MIT","a":"\u00e9"}"#;
    assert_eq!(read.unwrap().text(), kept);
    let json = ReportFormat::Json;
    check(
        json,
        Some(schema.clone()),
        &json!({"content_json": {"licence": 5}}),
        Err((
            "/content_json/licence",
            "type: value is not of type \"string\"",
        )),
    );
    check(
        json,
        Some(schema),
        &json!({"content_json": {}}),
        Err((
            "/content_json",
            "required: \"licence\" is a required property",
        )),
    );
    check(
        json,
        None,
        &json!({"content_json": [1]}),
        Err((
            "/content_json",
            "type: the report is not of type \"object\"",
        )),
    );
}

#[test]
fn fields_that_are_text_are_read_as_the_json_they_hold_and_only_where_that_helps() {
    let schema = json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "object"}},
            "name": {"type": "string"},
        },
    });
    let json = ReportFormat::Json;
    check(
        json,
        Some(schema.clone()),
        &json!({"content_json": "{\"files\": \"[\\\"{}\\\"]\", \"name\": \"[1]\"}"}),
        Ok(r#"{"files":[{}],"name":"[1]"}"#),
    );
    check(
        json,
        Some(schema.clone()),
        &json!({"content_json": {"files": "many"}}),
        Err((
            "/content_json/files",
            "type: value is not of type \"array\"",
        )),
    );
    let folded: Vec<String> = (0..17).map(|_| "{}".to_owned()).collect();
    let rule = "more than 16 fields are text that holds JSON";
    let arguments = json!({"content_json": {"files": folded}});
    check(json, Some(schema), &arguments, Err(("/content_json", rule)));
}

#[test]
fn slack_takes_a_list_of_messages() {
    let slack = ReportFormat::SlackBlockKit;
    let list = json!([{"blocks": []}]);
    check(
        slack,
        None,
        &json!({"messages": list}),
        Ok(r#"[{"blocks":[]}]"#),
    );
    let text = json!({"report_content": "{\"messages\": [{\"blocks\":[]}]}"});
    check(slack, None, &text, Ok(r#"[{"blocks":[]}]"#));
    let text = json!({"messages": "[{}]"});
    check(slack, None, &text, Ok("[{}]"));
    let rule = "minItems: there is no message";
    check(
        slack,
        None,
        &json!({"messages": []}),
        Err(("/messages", rule)),
    );
    let rule = "type: the message is not of type \"object\"";
    check(
        slack,
        None,
        &json!({"messages": [{}, "hi"]}),
        Err(("/messages/1", rule)),
    );
    let rule = "type: the messages are not of type \"array\"";
    check(
        slack,
        None,
        &json!({"messages": {}}),
        Err(("/messages", rule)),
    );
    check(
        slack,
        None,
        &json!({}),
        Err(("", "required: \"messages\" is missing")),
    );
}

#[test]
fn a_format_of_another_name_is_normalised_with_a_warning() {
    let (terms, validators) = terms(ReportFormat::Text, None);
    let given = json!({"format": "html", "status": "failure", "report_content": "x"});
    let read = terms.read(&ObjectText::parse(given.to_string()).unwrap(), &validators);
    let report = read.unwrap();
    assert_eq!(report.format, ReportFormat::Text);
    assert_eq!(report.warnings, ["the format \"html\" was taken as text"]);
}

#[test]
fn text_in_place_of_a_report_must_pass_the_format() {
    let (json, validators) = terms(ReportFormat::Json, None);
    assert_eq!(
        json.read_text(" {\"a\": 1}\n", &validators).unwrap().text(),
        "{\"a\": 1}"
    );
    let fault = json.read_text("It is MIT.", &validators).unwrap_err();
    assert_eq!(fault.rule, "not valid JSON: line 1, column 1");
    let (text, validators) = terms(ReportFormat::Text, None);
    assert_eq!(
        text.read_text("It is MIT.", &validators).unwrap().text(),
        "It is MIT."
    );
    assert!(text.read_text(" ", &validators).is_err());
}

#[test]
fn a_report_is_validated_by_its_bytes() {
    let schema = json!({"type": "object", "required": ["licence"], "additionalProperties": false,
        "properties": {"licence": {"type": "string"}, "n": {"type": "number"}}});
    let (terms, validators) = terms(ReportFormat::Json, Some(schema));
    let check = |json: &str, expect: Result<&str, &str>| {
        let text = format!("{{\"content_json\":{json}}}");
        let read = terms.read(&ObjectText::parse(text).unwrap(), &validators);
        let got = read.as_ref().map(crate::contract::FinalReport::text);
        match (got, expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got, expect),
            (Err(fault), Err(expect)) => assert!(fault.rule.contains(expect), "{fault:?}"),
            (got, expect) => panic!("{json}: {got:?}, not {expect:?}"),
        }
    };
    let large = r#"{"licence":"\ud800","n":1e400}"#;
    check(large, Ok(large));
    let reserved = r#"{"$serde_json::private::RawValue":"{\"licence\":\"MIT\"}"}"#;
    check(reserved, Err("additionalProperties"));
    let twice = r#"{"licence":1,"licence":"MIT"}"#;
    let fault = terms.read_text(twice, &validators).unwrap_err();
    assert!(fault.rule.contains("stands twice"), "{fault:?}");
}
