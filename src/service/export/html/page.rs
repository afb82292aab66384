//! The exported page: its parts in one file, the tables of this build, and the transcript inside. Does not verify: the page does.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use serde::Serialize;
use sha2::{Digest as Sha2Digest, Sha256};

use crate::error::ServiceError;
use crate::text::diff::Hunk;
use crate::view::item::{LeftOut, ShownChange};
use monolith_core::kernel::{EDGES, State};
use monolith_core::message::{Digest, RunId};
use monolith_core::work::WorkPath;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// In the order in which each needs those before it.
const SCRIPTS: [&str; 15] = [
    include_str!("blake3.js"),
    include_str!("notes.js"),
    include_str!("transcript.js"),
    include_str!("trust.js"),
    include_str!("run.js"),
    include_str!("workflow.js"),
    include_str!("item.js"),
    include_str!("agree.js"),
    include_str!("draw.js"),
    include_str!("parts.js"),
    include_str!("steps.js"),
    include_str!("changes.js"),
    include_str!("family.js"),
    include_str!("check.js"),
    include_str!("page.js"),
];

/// The data of the page besides the transcript: tables of this build, the states of the machine, and changed contents. The page believes only
/// states that the state digest of their entry names, and contents whose hashes the entries state.
#[derive(Serialize)]
struct About {
    build: &'static str,
    edges: Vec<AboutEdge>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<AboutFile>,
    sentences: BTreeMap<String, &'static str>,
    states: BTreeMap<u64, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tree: Vec<AboutRun>,
}

/// A run that is exported with others. On its own page, the bytes of the page count more.
#[derive(Clone, Debug, Serialize)]
pub struct AboutRun {
    /// Count of its parents among the exported runs.
    pub depth: usize,
    /// Count of its entries.
    pub entries: u64,
    /// Name of its file; `None` if it has none in this form.
    pub file: Option<String>,
    /// Hash of its last entry.
    pub head: Digest,
    /// Origin from its parent, in words.
    pub link: Option<String>,
    /// Class and code of its outcome.
    pub outcome: Option<String>,
    /// Name of the run.
    pub run_id: RunId,
    /// True for a workflow.
    pub workflow: bool,
}

/// The changed content of a path of a work item.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AboutFile {
    /// The text before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The changes that lead from the text before to that after.
    #[serde(skip_serializing_if = "Option::is_none")]
    hunks: Option<Vec<Hunk>>,
    path: WorkPath,
    /// The reason that the page lacks both.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl AboutFile {
    /// Returns the changed content; `None` if the content stays.
    pub(crate) fn of(change: ShownChange) -> Option<Self> {
        let hunks = change.diff.map(|diff| diff.hunks);
        if hunks.is_none() && change.left_out.is_none() {
            return None;
        }
        Some(Self {
            before: hunks.is_some().then_some(change.text_before),
            hunks,
            path: change.path,
            reason: change.left_out.map(LeftOut::words),
        })
    }
}

/// The result of folding the run, for its page.
#[derive(Default)]
pub(crate) struct Folded {
    /// The code of how it ended and its sentence, where that could be read.
    pub(crate) ended: Option<(String, &'static str)>,
    /// The changed contents of a work item.
    pub(crate) files: Vec<AboutFile>,
    /// The machine's state after each step, as text, by the number of the step's last entry.
    pub(crate) states: BTreeMap<u64, String>,
    /// The runs that are exported together, each after the one above it; empty if it is this one alone.
    pub(crate) tree: Vec<AboutRun>,
}

#[derive(Serialize)]
struct AboutEdge {
    from: State,
    to: State,
    when: &'static str,
}

/// Writes the page around the transcript that `transcript` writes; returns what that returns.
///
/// The transcript stands in it as base64, whose alphabet holds nothing that could end the element it stands in.
pub(crate) fn write_page<T>(
    out: &mut dyn Write,
    folded: Folded,
    transcript: impl FnOnce(&mut dyn Write) -> Result<T, ServiceError>,
) -> Result<T, ServiceError> {
    let script = SCRIPTS.concat();
    let about = about(folded)?;
    let parts = BTreeMap::from([
        ("ABOUT", about),
        ("POLICY", policy(&script)),
        ("SCRIPT", script),
        ("STYLE", STYLE.to_owned()),
    ]);
    let (before, after) = PAGE.split_once("<!--TRANSCRIPT-->").unwrap_or((PAGE, ""));
    out.write_all(filled(before, &parts).as_bytes())?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    let written = transcript(&mut encoder)?;
    encoder.finish()?;
    drop(encoder);
    out.write_all(filled(after, &parts).as_bytes())?;
    Ok(written)
}

/// The template with its parts in their places.
fn filled(template: &str, parts: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once("<!--") {
        let (name, behind) = behind.split_once("-->").unwrap_or((behind, ""));
        out.push_str(text);
        out.push_str(parts.get(name).map_or("", String::as_str));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// One script and one style sheet, by their hashes; no network, no frame, no form elsewhere.
fn policy(script: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(STYLE)
    )
}

fn about(folded: Folded) -> Result<String, ServiceError> {
    let Folded {
        ended,
        files,
        states,
        tree,
    } = folded;
    let edges = EDGES.iter().map(|edge| AboutEdge {
        from: edge.from,
        to: edge.to,
        when: edge.when,
    });
    let about = About {
        build: env!("CARGO_PKG_VERSION"),
        edges: edges.collect(),
        files,
        sentences: ended.into_iter().collect(),
        states,
        tree,
    };
    let text = serde_json::to_string(&about).map_err(io::Error::from)?;
    // The only character with which an element could end.
    Ok(text.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(transcript: &[u8]) -> String {
        let mut out = Vec::new();
        let folded = Folded {
            ended: Some(("final_message".to_owned(), "<")),
            files: Vec::new(),
            states: BTreeMap::from([(0, "<".to_owned())]),
            tree: Vec::new(),
        };
        write_page(&mut out, folded, |out| Ok(out.write_all(transcript)?)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_part_stands_in_its_place() {
        let page = page(b"{}\n");
        assert!(!page.contains("<!--"), "a part was left out");
        for part in [
            "blake3 = (",
            "--paper:",
            "{\"build\":",
            "script-src 'sha256-",
            ">e30K<",
        ] {
            assert_eq!(page.matches(part).count(), 1, "{part}");
        }
    }

    #[test]
    fn the_policy_names_the_script_as_the_browser_hashes_it() {
        let page = page(b"{}\n");
        let (_, script) = page.rsplit_once("<script>").unwrap();
        let (script, _) = script.split_once("</script>").unwrap();
        let hash = STANDARD.encode(Sha256::digest(script));
        assert!(page.contains(&format!("script-src 'sha256-{hash}'")));
        let (_, style) = page.split_once("<style>").unwrap();
        let (style, _) = style.split_once("</style>").unwrap();
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(page.contains(&format!("style-src 'sha256-{hash}'")));
    }

    #[test]
    fn a_transcript_cannot_end_the_element_that_it_stands_in() {
        let hostile = "</script><img src=x onerror=alert(1)><!-- \u{202e}";
        let page = page(hostile.as_bytes());
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("</script>").count(), 3);
    }

    #[test]
    fn no_source_reaches_out_or_parses_markup() {
        for source in SCRIPTS.into_iter().chain([PAGE, STYLE]) {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "fetch(",
                "XMLHttpRequest",
                "WebSocket",
                "import(",
                "@import",
                "url(",
                " src=",
                "onclick=\"",
            ] {
                assert!(!source.contains(word), "{word}");
            }
        }
    }
}
