//! The exported page of an item: what it verifies, and which diffs it draws.

use serde_json::json;

use super::{fixture, writes};
use crate::browser::{body, changed, opened, printed};
use crate::fixture::Fixture;

/// Markup that must stay text.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\n";

/// A fixture in which the item `w` has changed `README.md` and made a file that is no text; the page, and the receipt.
fn exported() -> (Fixture, String, String) {
    let fixture = fixture();
    let raw = json!({"command": "printf 'a\\0' > raw"}).to_string();
    let calls = [
        writes("README.md", &format!("one\n{HOSTILE}three\n")),
        crate::fixture::calls("shell", &raw),
    ];
    fixture.item_agent("agent-1", &calls);
    let more = json!({"allow_external": ["shell"], "test_command": "echo '<b>tested</b>'"});
    fixture.items(&[("w", "agent-1", more)]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    let receipt = result["receipt_id"].as_str().unwrap().to_owned();
    let document = fixture.json(&["work", "show", "w"]).1;
    let attempt = document["work_id"].as_str().unwrap();
    let page = fixture.ok(&["export", attempt, "--format", "html"]);
    (fixture, page, receipt)
}

#[test]
fn a_page_verifies_the_item_and_draws_the_diffs_that_its_hashes_bind() {
    let (_fixture, page, receipt) = exported();
    let Some(document) = opened(&page, "") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    assert_eq!(printed(&document, "agrees"), "item");
    let shown = body(&document);
    for part in [
        "data-tab=\"item\" aria-selected=\"true\"",
        "<dt>verdict</dt><dd>admitted</dd>",
        "<dt>files touched</dt><dd>2 of 10</dd>",
        "+1 −1 · BLAKE3 ",
        "<span class=\"del\">-two\n</span><span class=\"add\">+&lt;img src=x onerror=alert(1)&gt;\n</span>",
        "not a text: no diff. Contents are no part of the transcript",
        "&lt;b&gt;tested&lt;/b&gt;",
        &format!("<dt>id</dt><dd>{receipt}</dd>"),
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("<img") && !shown.contains("<b>tested"));
}

#[test]
fn a_diff_that_does_not_lead_to_the_recorded_contents_is_not_drawn() {
    let (_fixture, page, _) = exported();
    let forged = page.replace("onerror=alert(1)>\\n", "onerror=alert(2)>\\n");
    assert_ne!(forged, page);
    let Some(document) = opened(&forged, "") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    let shown = body(&document);
    assert!(shown.contains(">other contents</b>"), "{shown}");
    assert!(!shown.contains("class=\"diff\"") && !shown.contains("alert(2)"));
}

#[test]
fn a_changed_byte_of_an_item_is_named_at_its_entry_and_one_of_its_receipt_is_found() {
    let (_fixture, page, _) = exported();
    for (old, new, entry) in [
        ("\"files_touched\":2", "\"files_touched\":3", None),
        ("\"q\":1", "\"q\":0", Some("3")),
        (
            "\"status\":\"success\"",
            "\"status\":\"failure\"",
            Some("5"),
        ),
    ] {
        let page = if entry.is_some() {
            changed(&page, old, new, 0)
        } else {
            receipt_changed(&page, old, new)
        };
        let Some(document) = opened(&page, "") else {
            return;
        };
        assert_eq!(printed(&document, "verdict"), "tampered", "{old}");
        if let Some(entry) = entry {
            assert_eq!(printed(&document, "entry"), entry, "{old}");
        }
    }
}

/// The page with a change in the blob of the receipt, which is base64 within the transcript.
fn receipt_changed(page: &str, old: &str, new: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let (_, data) = page.rsplit_once(";base64\">").unwrap();
    let (data, _) = data.split_once('<').unwrap();
    let text = String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
    let mut blobs = text.lines().filter_map(|line| {
        let bytes = line.split_once("\",\"bytes\":\"")?.1.strip_suffix("\"}")?;
        let blob = String::from_utf8(STANDARD.decode(bytes).unwrap()).ok()?;
        blob.contains(old).then(|| (bytes.to_owned(), blob))
    });
    let (bytes, blob) = blobs.next().unwrap();
    let forged = STANDARD.encode(blob.replace(old, new));
    changed(page, &bytes, &forged, 0)
}
