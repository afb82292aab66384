//! Loads a model file for the first time in a separate process, where it can do no harm.
//!
//! llama.cpp ends its process where a file contradicts itself: by an assertion, by an uncaught exception, by a
//! fault of memory. So `monolith __try-model` loads a new file first: a process with bounds on
//! memory and time. It makes a context, compiles the vocabulary for the gate and infers a few tokens. What ends that
//! process is the reason why the model is refused. What passed is noted by the file's hash, and later runs pay nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use monolith_core::message::Digest;
use serde::{Deserialize, Serialize};

use super::llama::TILE;
use crate::inference::{ModelFile, engine_features, lacking_features};
use crate::store::{open_own, own_folder, private_folder, replace_own};

/// The hidden command that tries a model.
pub const TRIAL_COMMAND: &str = "__try-model";

/// Processor time allowed to every trial, in seconds.
const LEAST_SECONDS: u64 = 30;
/// Bytes of a file for each of which it may take a second more.
const BYTES_A_SECOND: u64 = 16 << 20;
/// Maximum number of bytes read of the process's output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Maximum number of characters shown of it.
const MAX_SHOWN: usize = 300;

/// Who tries a model, and where it is noted what passed.
#[derive(Clone, Debug)]
pub struct ModelTrial {
    /// The monolith that tries it.
    pub program: PathBuf,
    /// The note of this file, engine and window, and what it says; without one every backend tries the model again.
    pub passed: Option<Arc<PassedNote>>,
}

/// The note that a model passed. The folder is the user's own, like the keys: who can write there needs no forged
/// note. A file that says something else is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedNote {
    path: PathBuf,
    what: String,
}

/// The process of a running trial, so that a caller can end it.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialProcess(Arc<Mutex<Option<Child>>>);

/// Ends a trial, whether it is under way or yet to begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrialEnd {
    pub(super) stop: Arc<AtomicBool>,
    pub(super) process: TrialProcess,
}

/// The reply of the process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TrialReply {
    Fault(String),
    Passed,
}

impl ModelTrial {
    /// The trial of a file by its hash; `notes` is the folder in which it is noted what passed.
    #[must_use]
    pub fn of(program: PathBuf, hash: Digest, context_window: u32, notes: Option<&Path>) -> Self {
        let what = format!("{hash}\n{context_window}\n{}", engine_identity());
        let note = Digest::of(what.as_bytes()).to_string();
        Self {
            program,
            passed: notes.map(|notes| {
                Arc::new(PassedNote {
                    path: notes.join(note),
                    what,
                })
            }),
        }
    }

    /// Tries the model, where it has not passed before.
    pub(super) fn pass(
        &self,
        file: &ModelFile,
        context_window: u32,
        stop: &AtomicBool,
        process: &TrialProcess,
    ) -> Result<(), String> {
        if self.passed.as_ref().is_some_and(|note| note.is_there()) {
            return Ok(());
        }
        let (status, reply, stderr) = self
            .watched(file, context_window, stop, process)
            .map_err(|fault| format!("it cannot be tried: {fault}"))?;
        verdict(
            status,
            serde_json::from_slice(&reply).ok(),
            &stderr,
            file.size(),
        )?;
        file.unchanged().map_err(|fault| fault.to_string())?;
        if let Some(note) = &self.passed {
            note.write();
        }
        Ok(())
    }

    /// Runs the process to its end: how it ended, its answer, and what was said beside.
    fn watched(
        &self,
        file: &ModelFile,
        context_window: u32,
        stop: &AtomicBool,
        process: &TrialProcess,
    ) -> io::Result<(ExitStatus, Vec<u8>, String)> {
        let mut child = Command::new(&self.program)
            .arg(TRIAL_COMMAND)
            .arg(file.name_as_input().map_err(io::Error::other)?)
            .arg(context_window.to_string())
            .env_clear()
            // Else it starts a debugger, where there is one.
            .env("GGML_NO_BACKTRACE", "1")
            .stdin(file.as_input()?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        process.set(child);
        if stop.load(Ordering::Relaxed) {
            process.end();
        }
        // Its answer is short and comes last, so reading the rest first never blocks.
        let mut stderr = Vec::new();
        if let Some(err) = err {
            err.take(MAX_OUTPUT_BYTES).read_to_end(&mut stderr)?;
        }
        let mut reply = Vec::new();
        if let Some(out) = out {
            out.take(MAX_OUTPUT_BYTES).read_to_end(&mut reply)?;
        }
        let gone = || io::Error::other("its process is gone");
        let status = process.taken().ok_or_else(gone)?.wait()?;
        Ok((status, reply, String::from_utf8_lossy(&stderr).into_owned()))
    }
}

impl PassedNote {
    fn is_there(&self) -> bool {
        let mut found = Vec::new();
        let most = self.what.len() as u64 + 1;
        let read = open_own(fs::OpenOptions::new().read(true), &self.path);
        let read = read.and_then(|file| file.take(most).read_to_end(&mut found));
        read.is_ok() && found == self.what.as_bytes()
    }

    /// Writes it whole. One that cannot be written only costs time.
    fn write(&self) {
        let folder = self.path.parent().unwrap_or(&self.path);
        let _ = private_folder(folder)
            .and_then(|()| own_folder(folder))
            .and_then(|()| replace_own(&self.path, self.what.as_bytes()));
    }
}

impl TrialProcess {
    fn set(&self, child: Child) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    }

    fn taken(&self) -> Option<Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the process, where there is one.
    pub(super) fn end(&self) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = child.as_mut() {
            // One that has ended already needs no end.
            let _ = child.kill();
        }
    }
}

impl TrialEnd {
    /// Ends it, for good.
    pub(crate) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.process.end();
    }
}

/// Returns the result of a trial.
fn verdict(
    status: ExitStatus,
    reply: Option<TrialReply>,
    stderr: &str,
    file_bytes: u64,
) -> Result<(), String> {
    match reply {
        Some(TrialReply::Passed) if status.success() => Ok(()),
        Some(TrialReply::Fault(fault)) => Err(match complaint(stderr) {
            Some(stderr) => format!("{fault}: {stderr}"),
            None => fault,
        }),
        Some(TrialReply::Passed) | None if out_of_time(status) => Err(format!(
            "llama.cpp takes more than {} s of processor time to load it",
            seconds(file_bytes)
        )),
        Some(TrialReply::Passed) | None => {
            let stderr = last_line(stderr).map(|stderr| format!(": {stderr}"));
            Err(format!(
                "llama.cpp ended the process that tried to load it ({status}){}",
                stderr.unwrap_or_default()
            ))
        }
    }
}

#[cfg(unix)]
fn out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn out_of_time(_: ExitStatus) -> bool {
    false
}

/// Returns llama.cpp's first complaint.
fn complaint(stderr: &str) -> Option<String> {
    let complains = |line: &&str| line.contains("error");
    stderr.lines().find(complains).map(shown)
}

/// Returns the last line before a process ended; an assertion goes before the lines that follow from it.
fn last_line(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().filter(|line| !line.trim().is_empty());
    let assertion = lines().find(|line| line.contains("GGML_ASSERT"));
    assertion.or_else(|| lines().next_back()).map(shown)
}

/// A line of a stranger's program, without the folders of the machine that it was built on.
fn shown(line: &str) -> String {
    let line = line.trim();
    let begins = line.find(": ").unwrap_or_default();
    let slash = line.get(..begins).and_then(|slash| slash.rfind('/'));
    let from = slash.map_or(0, |slash| slash + 1);
    let line = line.get(from..).unwrap_or(line);
    line.chars().take(MAX_SHOWN).collect()
}

/// Returns the processor time allowed to a trial of a file, in seconds.
pub(super) fn seconds(file_bytes: u64) -> u64 {
    LEAST_SECONDS.saturating_add(file_bytes / BYTES_A_SECOND)
}

/// The binding and through it the llama.cpp it was made from; pinned in Cargo.toml.
const BACKEND: &str = "llama-cpp-2 0.1.160";
/// The prompt layout used if the model has no template; a template is part of the model's file.
const PROMPT: &str = "prompt chatml/1";
/// The engine for a model's own template; pinned in Cargo.toml.
const TEMPLATES: &str = "minijinja 3.0.5";
/// The engine that compiles grammars and makes masks; pinned in Cargo.toml.
const GATE: &str = "llguidance 1.9.1";

/// The switch by which llama.cpp rearranges the weights of some quantisations on loading. It is on unless the build sets it
/// otherwise.
const REPACK: &str = match option_env!("GGML_CPU_REPACK") {
    Some(declared) => declared,
    None => "ON",
};

/// Everything but the model's file that the text of an embedded model depends on: backend, processor features that it is
/// built for, attention, the cache's type, whether weights are rearranged when they are loaded, how many tokens of a prompt
/// are computed beside each other, prompt layout and the gate's engine.
#[must_use]
pub(crate) fn engine_identity() -> String {
    let processor = std::env::consts::ARCH;
    let features = engine_features().join("+");
    format!(
        "{BACKEND}; {processor} {features}; attention plain; cache f16; repack {REPACK}, tiles of {TILE}; {PROMPT}, {TEMPLATES}; {GATE}"
    )
}

/// Returns the reason why this processor cannot run the backend, if any.
pub(super) fn processor_fault() -> Option<String> {
    let missing = lacking_features();
    (!missing.is_empty()).then(|| {
        format!(
            "this processor lacks {}, which the embedded engine is built for",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_trial_is_reported_without_the_builders_folders() {
        let check = |stderr: &str, expect: &str| {
            assert_eq!(last_line(stderr).as_deref(), Some(expect), "{stderr}");
        };
        let assertion = "/of/a/builder/ggml.c:12: GGML_ASSERT(a > 0) failed\n";
        let expect = "ggml.c:12: GGML_ASSERT(a > 0) failed";
        check(assertion, expect);
        check(&format!("loading\n{assertion}and a trace\n\n"), expect);
        check(
            "terminate called\n  what():  std::bad_alloc\n",
            "what():  std::bad_alloc",
        );
        assert_eq!(last_line("\n"), None);
        let stderr = "info: fine\nllama_model_load: error loading model: no vocabulary\nfailed";
        let expect = "llama_model_load: error loading model: no vocabulary";
        assert_eq!(complaint(stderr).as_deref(), Some(expect));
    }

    #[test]
    fn a_note_is_one_of_file_window_and_engine() {
        let note = |hash: &[u8], window| {
            let trial = ModelTrial::of("m".into(), Digest::of(hash), window, Some(Path::new("n")));
            trial.passed.unwrap()
        };
        assert_eq!(note(b"a", 1024), note(b"a", 1024));
        assert_ne!(note(b"a", 1024), note(b"b", 1024));
        assert_ne!(note(b"a", 1024), note(b"a", 2048));
        assert!(
            ModelTrial::of("m".into(), Digest::of(b"a"), 1, None)
                .passed
                .is_none()
        );
    }

    /// A program that does this instead of a trial.
    #[cfg(unix)]
    fn stand_in(folder: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let program = folder.join("stand-in");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    #[cfg(unix)]
    #[test]
    fn what_passed_is_not_tried_again_and_what_did_not_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.gguf");
        fs::write(&path, "weights").unwrap();
        let file = ModelFile::open(&path).unwrap();
        let notes = folder.path().join("notes");
        let pass = |script: &str| {
            let program = stand_in(folder.path(), script);
            let trial = ModelTrial::of(program, Digest::of(b"a"), 64, Some(&notes));
            trial.pass(&file, 64, &AtomicBool::new(false), &TrialProcess::default())
        };
        // What the system calls the signal differs.
        let fault = pass("echo '/a/b.c:1: GGML_ASSERT(x) failed' >&2; kill -ABRT $$").unwrap_err();
        assert!(fault.ends_with(": b.c:1: GGML_ASSERT(x) failed"), "{fault}");
        let fault = pass(r#"echo '{"fault":"no vocabulary"}'"#).unwrap_err();
        assert_eq!(fault, "no vocabulary");
        // It receives the file as its input, and the window as an argument.
        let reads =
            r#"[ "$(cat)" = weights ] && [ "$1 $3" = "__try-model 64" ] && echo '"passed"'"#;
        assert_eq!(pass(reads), Ok(()));
        assert_eq!(pass("exit 9"), Ok(()), "it is known");
        // A note that says something else, or is none, is not believed.
        let note = fs::read_dir(&notes)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        for other in ["", "another model"] {
            fs::write(&note, other).unwrap();
            assert!(pass("exit 9").is_err(), "{other}");
        }
        fs::remove_file(&note).unwrap();
        fs::create_dir(&note).unwrap();
        assert!(pass("exit 9").is_err());
        // One that cannot be noted is tried each time.
        assert_eq!(pass(r#"echo '"passed"'"#), Ok(()));
        fs::remove_dir_all(&notes).unwrap();
        assert!(pass("exit 9").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_cancelled_trial_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.gguf");
        fs::write(&path, "weights").unwrap();
        let file = ModelFile::open(&path).unwrap();
        let program = stand_in(folder.path(), "exec sleep 3600");
        let trial = ModelTrial::of(program, Digest::of(b"a"), 64, None);
        let process = TrialProcess::default();
        let stop = AtomicBool::new(true);
        let ended = trial.pass(&file, 64, &stop, &process);
        assert!(ended.is_err(), "{ended:?}");
    }

    #[cfg(unix)]
    #[test]
    fn only_a_process_that_ended_well_and_reports_it_has_passed() {
        use std::os::unix::process::ExitStatusExt as _;
        let check = |raw: i32, reply: Option<TrialReply>, stderr: &str, expect: Option<&str>| {
            let got = verdict(ExitStatus::from_raw(raw), reply, stderr, 1 << 30).err();
            assert_eq!(got.as_deref(), expect);
        };
        check(
            0,
            Some(TrialReply::Passed),
            "an error that nobody minds",
            None,
        );
        let fault = || Some(TrialReply::Fault("it is broken".to_owned()));
        check(0, fault(), "", Some("it is broken"));
        check(0, fault(), "x: error: y", Some("it is broken: x: error: y"));
        let ended = "llama.cpp ended the process that tried to load it";
        let aborted = format!("{ended} (signal: 6 (SIGABRT)): a");
        check(6, None, "a\n", Some(&aborted));
        check(6, Some(TrialReply::Passed), "a\n", Some(&aborted));
        check(0, None, "", Some(&format!("{ended} (exit status: 0)")));
        check(
            24,
            None,
            "",
            Some("llama.cpp takes more than 94 s of processor time to load it"),
        );
    }

    #[test]
    fn the_identity_names_what_is_locked() {
        let lock = include_str!("../../../../Cargo.lock");
        for named in [BACKEND, GATE, TEMPLATES] {
            let (name, version) = named.split_once(' ').unwrap();
            let locked = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(lock.contains(&locked), "{named} is not what Cargo.lock has");
        }
    }
}
