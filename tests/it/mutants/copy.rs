//! A copy of the package whose pure modules hold a switch at each place where they could behave otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::edits::{Edits, Mutant, edited};

/// The modules that decide, and those that show what was decided.
const MODULES: [&str; 8] = [
    "core/adapter",
    "core/contract",
    "core/kernel",
    "core/message",
    "core/session",
    "core/transcript",
    "core/view",
    "host/telemetry",
];
/// Maximum number of rounds in which the compiler finds mutants that do not compile.
const ROUNDS: usize = 40;

/// The copy, and the mutants that are left.
pub struct Copy {
    folder: PathBuf,
    /// By number: the file and the mutant.
    pub mutants: BTreeMap<u32, (String, Mutant)>,
    keep_const: BTreeSet<String>,
    /// Lines at which something does not compile, by file.
    left_out: BTreeMap<String, BTreeSet<usize>>,
}

impl Copy {
    /// Copies `root`: the code as files, all else as links.
    pub fn of(root: &Path, folder: PathBuf) -> Self {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            let hidden = name.to_string_lossy().starts_with('.');
            if hidden
                || ["src", "target", "Cargo.toml"]
                    .map(OsStr::new)
                    .contains(&name)
            {
                continue;
            }
            std::os::unix::fs::symlink(&path, folder.join(name)).unwrap();
        }
        fs::write(
            folder.join("Cargo.toml"),
            without_lints(&root.join("Cargo.toml")),
        )
        .unwrap();
        for path in rust_files(&root.join("src")) {
            let to = folder.join(path.strip_prefix(root).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
        let snapshots = |path: &Path| path.extension().is_none_or(|e| e != "rs");
        for path in all_files(&root.join("src"))
            .into_iter()
            .filter(|p| snapshots(p))
        {
            let to = folder.join(path.strip_prefix(root).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            if path.ends_with("Cargo.toml") {
                fs::write(to, without_lints(&path)).unwrap();
            } else {
                fs::copy(&path, to).unwrap();
            }
        }
        let copy = Self {
            folder,
            mutants: BTreeMap::new(),
            keep_const: BTreeSet::new(),
            left_out: BTreeMap::new(),
        };
        let src = copy.folder.join("src");
        fs::write(src.join("core/mutants.rs"), include_str!("switches.rs")).unwrap();
        fs::write(src.join("conformance/search.rs"), include_str!("search.rs")).unwrap();
        append(
            &src.join("core/lib.rs"),
            "\n#[allow(missing_docs)]\npub mod mutants;\n",
        );
        append(
            &src.join("host/lib.rs"),
            "\npub use monolith_core::mutants;\n",
        );
        append(
            &src.join("conformance/lib.rs"),
            "\n#[cfg(test)]\nmod search;\n",
        );
        copy
    }

    /// Puts a switch at every place that is not left out.
    pub fn mutate(&mut self, root: &Path) {
        self.mutants.clear();
        for module in MODULES {
            for path in rust_files(&root.join("src").join(module)) {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                if name.contains("test") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let (mutants, unconst) = Edits::of(&text, &self.keep_const).mutants();
                let mut numbered = Vec::new();
                for mutant in mutants {
                    if self
                        .left_out
                        .get(&name)
                        .is_some_and(|lines| mutant.stands_at(lines))
                    {
                        continue;
                    }
                    let number = u32::try_from(self.mutants.len()).unwrap();
                    self.mutants.insert(number, (name.clone(), mutant.clone()));
                    numbered.push((number, mutant));
                }
                fs::write(self.folder.join(&name), edited(&text, &numbered, &unconst)).unwrap();
            }
        }
    }

    /// Compiles the unit tests of the copy, and leaves out what does not compile, until it does. Returns the tests' program.
    pub fn compile(&mut self, root: &Path) -> PathBuf {
        for round in 1..=ROUNDS {
            self.mutate(root);
            let output = Command::new(env!("CARGO"))
                .args([
                    "test",
                    "--package=monolith-conformance",
                    "--lib",
                    "--no-run",
                    "--locked",
                    "--message-format=json",
                ])
                .current_dir(&self.folder)
                .env("CARGO_TARGET_DIR", root.join("target"))
                // Lints of the gate judge no mutant.
                .env_remove("RUSTC_WORKSPACE_WRAPPER")
                .output()
                .unwrap();
            let lines = String::from_utf8(output.stdout).unwrap();
            let lines = lines
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let (before, mut errors) = (self.left_out.clone(), 0);
            for line in lines {
                if output.status.success()
                    && line["reason"] == "compiler-artifact"
                    && line["target"]["name"] == "monolith_conformance"
                    && let Some(program) = line["executable"].as_str()
                {
                    return program.into();
                }
                let message = &line["message"];
                if line["reason"] == "compiler-message" && message["level"] == "error" {
                    self.leave_out(message);
                    errors += 1;
                }
            }
            assert!(errors > 0, "{}", String::from_utf8_lossy(&output.stderr));
            if self.left_out == before {
                self.leave_out_bodies();
            }
            println!(
                "round {round}: {} mutants, {} errors",
                self.mutants.len(),
                errors
            );
        }
        panic!("the copy does not compile");
    }

    /// Leaves out every mutant of a body in which something does not compile: the mutant at fault stands elsewhere in it.
    fn leave_out_bodies(&mut self) {
        for (file, mutant) in self.mutants.values() {
            if let Some(lines) = self.left_out.get_mut(file)
                && lines.range(mutant.body.clone()).next().is_some()
            {
                lines.extend(mutant.body.clone());
            }
        }
    }

    fn leave_out(&mut self, message: &Value) {
        let text = message["message"].as_str().unwrap_or_default();
        if text.contains("non-const")
            && let Some(name) = text.split('`').nth(1)
        {
            let name = name.rsplit("::").next().unwrap_or(name);
            self.keep_const
                .insert(name.split('<').next().unwrap_or(name).to_owned());
        }
        let none = Vec::new();
        for span in message["spans"].as_array().unwrap_or(&none) {
            let file = span["file_name"].as_str().unwrap_or_default().to_owned();
            let lines = span["line_start"].as_u64().zip(span["line_end"].as_u64());
            for line in lines.into_iter().flat_map(|(from, to)| from..=to) {
                let line = usize::try_from(line).unwrap();
                self.left_out.entry(file.clone()).or_default().insert(line);
            }
        }
    }
}

fn append(path: &Path, text: &str) {
    let whole = fs::read_to_string(path).unwrap() + text;
    fs::write(path, whole).unwrap();
}

/// The manifest: what clippy would find in a mutant is no matter.
fn without_lints(manifest: &Path) -> String {
    let text = fs::read_to_string(manifest).unwrap();
    let mut within = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with('[') {
            within = line.starts_with("[lints") || line.starts_with("[workspace.lints");
        }
        if !within {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = all_files(folder);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all_files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
