//! Every golden transcript in one browser: each page verifies, and opens each of its entries and views without a fault.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{opened_at, page_of};
use crate::fixture::bound;
use crate::golden::{file_of, goldens};

/// Walks through a page; `NAME` is filled in.
const WALK: &str = include_str!("walked.js");
/// Collects what the pages report: an element each.
const COLLECT: &str = "<script>addEventListener('message', (event) => {\
     const said = document.createElement('pre'); said.className = 'report';\
     said.textContent = JSON.stringify(event.data); document.body.append(said); });</script>";
/// Pages of one browser.
const AT_ONCE: usize = 30;

/// Reports which figures of the timeline are wider than their column.
const MEASURE: &str = "addEventListener('load', () => { const measure = () => {\
     const { verdict, entries } = document.documentElement.dataset;\
     if (verdict === undefined) return setTimeout(measure, 50);\
     const figures = [2, 5, 6].map((n) => `#room .row > span:nth-child(${n})`).join();\
     const cut = [...document.querySelectorAll(figures)].filter((cell) => cell.scrollWidth > cell.clientWidth);\
     parent.postMessage({ wide: innerWidth, entries, cut: cut.map((cell) => cell.textContent) }, '*');\
     }; measure(); });";

/// The page with a script more: its policy names its own scripts alone.
fn with_script(page: &str, script: &str) -> String {
    let (before, policy) = page.split_once("<meta http-equiv=").unwrap();
    let (_, after) = policy.split_once('>').unwrap();
    let (head, body) = after.split_once("</head>").unwrap();
    format!("{before}{head}<script>{script}</script></head>{body}")
}

/// Returns the reports of the pages.
fn reports(document: &str) -> Vec<Value> {
    let reports = document.split("<pre class=\"report\">").skip(1);
    let reports = reports.map(|rest| rest.split_once("</pre>").unwrap().0);
    let read = |report: &str| serde_json::from_str(&report.replace("&quot;", "\"")).unwrap();
    reports.map(read).collect()
}

/// A figure that is cut is another figure.
#[test]
fn no_figure_of_the_timeline_is_cut_however_narrow_the_window() {
    let folder = TempDir::new().unwrap();
    // A thousand seconds between two entries.
    let page = page_of(&file_of("approval.stands_outside_the_timeouts"));
    fs::write(folder.path().join("page.html"), with_script(&page, MEASURE)).unwrap();
    let widths = [390, 800, 1280, 1600];
    let frames = widths
        .map(|wide| {
            format!("<iframe src=\"page.html#view=timeline\" width={wide} height=800></iframe>")
        })
        .concat();
    let all = folder.path().join("all.html");
    fs::write(&all, format!("<!doctype html><body>{COLLECT}{frames}")).unwrap();
    let Some(document) = opened_at(&all, "") else {
        return;
    };
    let reports = reports(&document);
    assert_eq!(reports.len(), widths.len(), "{document}");
    for report in reports {
        assert_eq!(report["cut"], serde_json::json!([]), "{report}");
    }
}

#[test]
fn every_golden_transcript_verifies_in_the_browser_and_every_entry_opens() {
    let chosen: Vec<_> = goldens().into_iter().step_by(bound(5, 1)).collect();
    for files in chosen.chunks(AT_ONCE) {
        let folder = TempDir::new().unwrap();
        let mut frames = String::new();
        let mut expected = BTreeSet::new();
        for file in files {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let walk = WALK.replace("NAME", &format!("{name:?}"));
            let page = with_script(&page_of(file), &walk);
            fs::write(folder.path().join(format!("{name}.html")), page).unwrap();
            write!(
                frames,
                "<iframe src=\"{name}.html\" width=1200 height=800></iframe>"
            )
            .unwrap();
            let text = fs::read_to_string(file).unwrap();
            let entries = text.lines().filter(|line| line.starts_with("{\"action\":"));
            expected.insert((name.to_owned(), entries.count()));
        }
        let all = folder.path().join("all.html");
        fs::write(&all, format!("<!doctype html><body>{COLLECT}{frames}")).unwrap();
        let Some(document) = opened_at(&all, "") else {
            return;
        };
        let mut walked = BTreeSet::new();
        for report in reports(&document) {
            let name = report["name"].as_str().unwrap().to_owned();
            assert_eq!(report["faults"], serde_json::json!([]), "{name}");
            assert_eq!(report["verdict"], "verified", "{name}");
            let opened = report["opened"].as_u64().unwrap();
            walked.insert((name, usize::try_from(opened).unwrap()));
        }
        assert_eq!(walked, expected);
    }
}

/// The kinds of event that docs/audit/transcript-format.md lists, except for those that the model, the tools and the clock
/// never bring: some golden transcript has each of the others.
#[test]
fn the_golden_transcripts_hold_every_kind_of_event_effect_and_tool_outcome() {
    let mut text = String::new();
    for file in goldens() {
        text.push_str(&fs::read_to_string(file).unwrap());
    }
    let kinds = [
        "run_started",
        "probed",
        "inference_returned",
        "inference_failed",
        "tool_returned",
        "timer_fired",
        "stop_requested",
        "suspended",
        "interrupted",
        "approval_given",
        "approval_denied",
        "effect_lost",
        "resumed",
        "probe",
        "cancel",
        "finish",
        "infer",
        "execute",
        "summarise",
        "await_approval",
        "wait",
        "returned",
        "malformed",
        "connection_lost",
        "timed_out",
        "cancelled",
        "tool_changed",
    ];
    for kind in kinds {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind}");
    }
}
