//! The verifier of the exported page, run by Node.

use std::process::Command;
use std::sync::LazyLock;
use std::{fs, io};

use super::Verdict;
use super::damage::Case;

/// The scripts that hash and verify in the page.
pub(super) const SOURCES: [&str; 4] = [
    include_str!("../../../src/service/export/html/blake3.js"),
    include_str!("../../../src/service/export/html/notes.js"),
    include_str!("../../../src/service/export/html/transcript.js"),
    include_str!("../../../src/service/export/html/trust.js"),
];

/// Prints a line for each file that it is given: `ok`, or the line of the first flaw and what it is.
const CHECK: &str = r#"
const fs = require("node:fs");
(async () => {
  const [open, ...given] = process.argv.slice(2);
  const keys = await trust.readKeys(given.filter((text) => text.includes("+")).join("\n"));
  for (const name of given.filter((text) => !text.includes("+"))) {
    const verifier = new transcript.Verifier({ open: open === "open" });
    try {
      for (const line of transcript.lines(fs.readFileSync(name))) verifier.take(line);
      verifier.finish();
      await trust.judge(verifier, { keys, pins: [], witnesses: [], required: keys.length > 0 });
      console.log("ok");
    } catch (flaw) {
      console.log(flaw.line ?? verifier.line, JSON.stringify(flaw.message));
    }
  }
})();
"#;

pub(super) static HAS_NODE: LazyLock<bool> = LazyLock::new(|| {
    let asked = Command::new("node").arg("--version").output();
    asked.is_ok_and(|said| said.status.success())
});

/// Returns the page verifier's verdict on each case; `None` without Node.
pub(super) fn verdicts(cases: &[Case], keys: &[String], open: bool) -> Option<Vec<Verdict>> {
    if !*HAS_NODE {
        println!("skipped {} cases: there is no node", cases.len());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..cases.len()).map(|n| format!("{n}.jsonl")).collect();
    for (name, case) in names.iter().zip(cases) {
        fs::write(folder.path().join(name), &case.bytes).unwrap();
    }
    let script = format!("{}{CHECK}", SOURCES.concat());
    fs::write(folder.path().join("check.js"), script).unwrap();
    let output = Command::new("node")
        .args(["check.js", if open { "open" } else { "sealed" }])
        .args(keys)
        .args(&names)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = said.lines().collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.len(), cases.len(), "{stderr}");
    Some(said.into_iter().map(verdict).collect())
}

fn verdict(said: &str) -> Verdict {
    let line = said.split(' ').next().unwrap();
    Verdict {
        holds: said == "ok",
        line: line.parse().ok(),
        said: said.to_owned(),
    }
}

/// The vectors of BLAKE3: lengths around every border, in the pattern and under the context of the official ones.
#[test]
fn the_page_hashes_as_blake3_does() {
    const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";
    let lengths = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 3072,
        3073, 4096, 4097, 5120, 5121, 6144, 6145, 7168, 7169, 8192, 8193, 16_384, 31_744, 102_400,
    ];
    if !*HAS_NODE {
        println!("skipped {} cases: there is no node", 2 * lengths.len());
        return;
    }
    let print = format!(
        "const hex = (bytes) => Buffer.from(bytes).toString('hex');\n\
         for (const length of {lengths:?}) {{\n\
           const input = Uint8Array.from({{ length }}, (_, at) => at % 251);\n\
           console.log(hex(blake3.hash(input)), hex(blake3.deriveKey({CONTEXT:?}, input)));\n\
         }}"
    );
    let output = node(&format!("{}\n{print}", SOURCES[0])).unwrap();
    let mut expect = String::new();
    for length in lengths {
        let input: Vec<u8> = (0..=250).cycle().take(length).collect();
        let derived = blake3::Hasher::new_derive_key(CONTEXT)
            .update(&input)
            .finalize();
        let hash = blake3::hash(&input);
        expect = format!("{expect}{hash} {derived}\n");
    }
    assert_eq!(output, expect);
    // Two of the official ones as they are published, so that the crate is not its own judge.
    assert!(
        output.starts_with("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262 ")
    );
    assert!(output.contains("bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085 "));
}

pub(super) fn node(script: &str) -> io::Result<String> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.js"), script)?;
    let output = Command::new("node")
        .arg(folder.path().join("a.js"))
        .output()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
