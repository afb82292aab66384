//! verify.py on evidence of other programs: four families of the package `agent-evidence-vectors`, whose manifests hold a verdict
//! for each vector. docs/audit/evidence-vectors.md explains every difference.
//!
//! Without python3, pip or a package registry the cases are skipped, and counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::python::{install, verify_py};

/// The page with the figures and the differences.
const PAGE: &str = "docs/audit/evidence-vectors.md";
const ACCEPTS: &str = "accepts";
const REFUSES: &str = "refuses";
const READS_NONE: &str = "reads none";

/// A vector, and the arguments under which verify.py judges it.
struct Vector {
    family: &'static str,
    /// The word of the manifest for the verdict.
    verdict: String,
    holds: bool,
    options: Vec<String>,
    file: String,
}

/// A row of the page: these vectors of a family get another verdict from verify.py.
struct Row {
    family: String,
    /// A word that ends in `*` stands for all that begin with it.
    verdicts: Vec<String>,
    count: usize,
    ours: String,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, family, verdicts, count, ours, reason, _] = cells[..] else {
            return None;
        };
        let family = family.strip_prefix('`')?.strip_suffix('`')?;
        assert!(!reason.is_empty(), "{line}");
        let verdicts = verdicts.split(", ").map(|word| word.trim_matches('`'));
        Some(Self {
            family: family.to_owned(),
            verdicts: verdicts.map(str::to_owned).collect(),
            count: count.parse().unwrap(),
            ours: ours.to_owned(),
        })
    }

    fn is_of(&self, vector: &Vector, ours: &str) -> bool {
        let is_named = self
            .verdicts
            .iter()
            .any(|word| match word.strip_suffix('*') {
                Some(start) => vector.verdict.starts_with(start),
                None => vector.verdict == *word,
            });
        is_named && self.family == vector.family && self.ours == ours
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The folder of a family, and its vectors as the manifest has them.
fn manifest(corpora: &Path, family: &str) -> (PathBuf, Vec<Value>) {
    let folder = corpora.join(format!("vectors-{family}"));
    let listed = json(&folder.join("MANIFEST.json"));
    (folder, listed["vectors"].as_array().unwrap().clone())
}

fn named(folder: &Path, vector: &Value, file: &str) -> PathBuf {
    folder.join(text(&vector["path"])).join(file)
}

fn printed(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Statements without signatures. If there are records, the statement has to be about the first one.
fn actions(corpora: &Path, scratch: &Path) -> Vec<Vector> {
    let family = "ai-agent-action";
    let (folder, listed) = manifest(corpora, family);
    let read = |vector: &Value| {
        let id = text(&vector["id"]);
        let records = fs::read(folder.join(format!("records/{id}.jsonl")));
        let options = records.ok().map(|records| {
            let root = scratch.join(id);
            fs::write(&root, records.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
            format!("--subject={}", printed(&root))
        });
        let code = vector["expected"]["codes"][0].as_str();
        Vector {
            family,
            verdict: code.unwrap_or("valid").to_owned(),
            holds: vector["kind"] == "accept",
            options: options.into_iter().collect(),
            file: printed(&folder.join(text(&vector["file"]))),
        }
    };
    listed.iter().map(read).collect()
}

/// The subject that a signed statement has to have: the candidate that its predicate names.
fn candidate(envelope: &Path) -> Option<String> {
    let envelope: Value = serde_json::from_slice(&fs::read(envelope).unwrap()).ok()?;
    let payload = BASE64.decode(envelope["payload"].as_str()?).ok()?;
    let statement: Value = serde_json::from_slice(&payload).ok()?;
    let digest = statement["predicate"]["candidate_digest"].as_str()?;
    Some(format!("--subject=sha256:{digest}"))
}

/// Envelopes, under the keys and the payload type of the consumer's policy.
fn changes(corpora: &Path) -> Vec<Vector> {
    let family = "agent-change-admission";
    let (folder, listed) = manifest(corpora, family);
    let read = |vector: &Value| {
        let envelope = named(&folder, vector, "envelope.json");
        let policy = json(&named(&folder, vector, "case.json"));
        let policy = &policy["policy"];
        let keys = policy["trusted_keys"].as_object().unwrap().values();
        let keys = keys.map(|key| {
            let mut option = "--key=".to_owned();
            for byte in BASE64.decode(text(key)).unwrap() {
                write!(option, "{byte:02x}").unwrap();
            }
            option
        });
        let payload_type = format!("--type={}", text(&policy["payload_type"]));
        let options = keys.chain([payload_type]).chain(candidate(&envelope));
        Vector {
            family,
            verdict: text(&vector["expected"]["reason"]).to_owned(),
            holds: vector["expected"]["decision"] == "supported",
            options: options.collect(),
            file: printed(&envelope),
        }
    };
    listed.iter().map(read).collect()
}

/// Receipts without signatures, which have to be about the tree. The verdict is that of the check of the receipt.
fn receipts(corpora: &Path) -> Vec<Vector> {
    let family = "done-receipt";
    let (folder, listed) = manifest(corpora, family);
    let read = |vector: &Value| {
        let tree = fs::read(named(&folder, vector, "tree.json")).unwrap();
        let tree: Value = serde_json::from_slice(&tree).unwrap_or_default();
        let tree = tree["tree_sha256"].as_str();
        let check = &vector["expected"]["checks"]["done_receipt/v2"];
        let refused = check["refused"].as_str();
        Vector {
            family,
            verdict: refused.unwrap_or_else(|| text(&check["reason"])).to_owned(),
            holds: check["receipt_valid"] == true,
            options: tree
                .iter()
                .map(|hex| format!("--subject=sha256:{hex}"))
                .collect(),
            file: printed(&named(&folder, vector, "receipt.json")),
        }
    };
    listed.iter().map(read).collect()
}

/// Records of an observer, without a statement and without a signature.
fn observations(corpora: &Path) -> Vec<Vector> {
    let family = "spoofed-tool-output";
    let (folder, listed) = manifest(corpora, family);
    let read = |vector: &Value| Vector {
        family,
        verdict: text(&vector["kind"]).to_owned(),
        holds: vector["kind"] == "supported",
        options: Vec::new(),
        file: printed(&named(&folder, vector, "observation.json")),
    };
    listed.iter().map(read).collect()
}

/// The verdict of verify.py on each vector, in their order; `None` if it cannot run here.
fn verdicts(vectors: &[Vector]) -> Option<Vec<String>> {
    let mut groups: BTreeMap<&[String], Vec<usize>> = BTreeMap::new();
    for (n, vector) in vectors.iter().enumerate() {
        groups.entry(&vector.options).or_default().push(n);
    }
    let mut verdicts = vec![String::new(); vectors.len()];
    let folder = tempfile::tempdir().unwrap();
    for (options, members) in groups {
        let files = members.iter().map(|n| &vectors[*n].file);
        let arguments: Vec<&str> = options.iter().chain(files).map(String::as_str).collect();
        let output = verify_py(folder.path(), &arguments)?;
        let stdout = String::from_utf8(output.stdout).unwrap();
        for n in members {
            let start = format!("{}: ", vectors[n].file);
            let said = stdout.lines().find_map(|line| line.strip_prefix(&start));
            let stderr = String::from_utf8_lossy(&output.stderr);
            verdicts[n] = said.unwrap_or_else(|| panic!("{start}{stderr}")).to_owned();
        }
    }
    Some(verdicts)
}

/// The page has a row for each difference, a difference for each row, and the figures of each family.
#[test]
fn each_difference_from_the_verdicts_of_others_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let (figures, differences) = page.split_once("\n## Differences\n").unwrap();
    let rows: Vec<Row> = differences.lines().filter_map(Row::parse).collect();
    let packages = install("evidence", &root.join("tests/fixtures/evidence.txt"));
    let corpora = match packages {
        Ok(packages) => packages.join("agent_evidence_vectors/corpora"),
        Err(reason) => {
            let all = figures.lines().filter_map(|line| {
                let cells = line.strip_prefix("| `")?;
                cells.split('|').nth(1)?.trim().parse::<usize>().ok()
            });
            println!("skipped {} cases: {reason}", all.sum::<usize>());
            return;
        }
    };
    let scratch = tempfile::tempdir().unwrap();
    let families = [
        actions(&corpora, scratch.path()),
        changes(&corpora),
        receipts(&corpora),
        observations(&corpora),
    ];
    let mut found = vec![0; rows.len()];
    let mut wrong = Vec::new();
    for vectors in &families {
        let Some(verdicts) = verdicts(vectors) else {
            println!("skipped {} cases", vectors.len());
            return;
        };
        let (mut accepted, mut refused) = (0, 0);
        for (vector, said) in vectors.iter().zip(&verdicts) {
            let ours = match said.strip_prefix("NOT VERIFIED") {
                Some(flaw) if flaw.ends_with(": no receipt, statement, envelope or proof") => {
                    READS_NONE
                }
                Some(_) => REFUSES,
                None => ACCEPTS,
            };
            match (ours, vector.holds) {
                (ACCEPTS, true) => accepted += 1,
                (REFUSES, false) => refused += 1,
                _ => {
                    let matching = |(n, row): (usize, &Row)| row.is_of(vector, ours).then_some(n);
                    let matching: Vec<usize> =
                        rows.iter().enumerate().filter_map(matching).collect();
                    // An accepted vector must state what verify.py did not check.
                    let is_claimed = ours == ACCEPTS && !said.ends_with(" is not checked");
                    match matching[..] {
                        [row] if !is_claimed => found[row] += 1,
                        _ => wrong.push(format!(
                            "{} {}: {said}: {} rows",
                            vector.verdict,
                            vector.file,
                            matching.len()
                        )),
                    }
                }
            }
        }
        let (family, all) = (vectors[0].family, vectors.len());
        let differ = all - accepted - refused;
        let line = format!("| `{family}` | {all} | {accepted} | {refused} | {differ} |");
        if !figures.contains(&line) {
            wrong.push(format!("no line {line}"));
        }
    }
    for (row, found) in rows.iter().zip(found) {
        if row.count != found {
            wrong.push(format!(
                "{} {:?}: {} in the row, {found} found",
                row.family, row.verdicts, row.count
            ));
        }
    }
    assert!(wrong.is_empty(), "{PAGE}:\n{}", wrong.join("\n"));
}
