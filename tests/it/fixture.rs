//! A working folder, the binary run there, and the results. A subject adds to that in a separate `impl Fixture`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use monolith_core::message::RunId;
use monolith_core::transcript::SealedEntry;
use monolith_host::store::{RunFilter, StoreReader};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tempfile::TempDir;

/// More than a process takes to end.
#[cfg(target_os = "linux")]
const LONGEST: Duration = Duration::from_secs(60);

/// Variables of the tests' environment that would change what a command does.
const OTHERS: [&str; 13] = [
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "HF_ENDPOINT",
    "HF_TOKEN",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "MONOLITH_HUB",
    "NO_PROXY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns the bound of the form that runs: `MONOLITH_DEEP=1` selects the deep one (docs/design/gate.md).
pub fn bound<T>(quick: T, deep: T) -> T {
    let is_deep = std::env::var_os("MONOLITH_DEEP").is_some_and(|value| value == "1");
    if is_deep { deep } else { quick }
}

/// Returns the kills that a test has to make: those of the form that runs, or `MONOLITH_KILLS`.
pub fn wanted_kills((quick, deep): (u64, u64)) -> u64 {
    let given = std::env::var("MONOLITH_KILLS");
    given.map_or(bound(quick, deep), |text| text.parse().unwrap())
}

/// The binary, called in `folder` with a state folder `home` below it, and no person to ask.
pub fn monolith(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
    for variable in OTHERS {
        command.env_remove(variable);
    }
    command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("MONOLITH_HOME", folder.join("home"));
    command
}

/// The entries of a store, each with its run; what is damaged is left out.
pub fn entries_of(store: &Path) -> Vec<(RunId, SealedEntry)> {
    let mut reader = StoreReader::open(store).unwrap();
    let mut entries = Vec::new();
    for row in reader.list_runs(100, RunFilter::All).unwrap() {
        let run = row.run_id;
        let read = reader.read_run(&run).unwrap().map_while(Result::ok);
        entries.extend(read.map(|entry| (run.clone(), entry)));
    }
    entries
}

/// The path of a file as a word of a POSIX shell, in single quotes: a checkout may lie below a folder with a blank in its name.
pub fn shell_word(path: impl AsRef<Path>) -> String {
    let path = path.as_ref().to_str().unwrap();
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// The bytes of a program that speaks text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Fixture {
    /// A person answers the call that a run waits with, from elsewhere: `approve` or `deny`.
    #[track_caller]
    pub fn answers(&self, verb: &str, run: &str) -> String {
        self.answers_with(verb, run, &[])
    }

    /// The same with these options.
    pub fn answers_with(&self, verb: &str, run: &str, more: &[&str]) -> String {
        let asked = self.ends(&[&[verb, run], more].concat(), 4).printed();
        let (_, hash) = asked.split_once("--arguments ").unwrap();
        let hash: String = hash.chars().take_while(char::is_ascii_hexdigit).collect();
        self.ok(&[&[verb, run, "--yes", "--arguments", &hash], more].concat())
    }
}

/// A line of a script: the model says this.
pub fn says(content: &str) -> String {
    answer(&json!({"role": "assistant", "content": content}), "stop")
}

/// A line of a script: the model calls a tool.
pub fn calls(name: &str, arguments: &str) -> String {
    let call =
        json!({"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    answer(&message, "tool_calls")
}

fn answer(message: &Value, finish: &str) -> String {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    json!({"response": {"choices": [choice]}}).to_string()
}

/// The arguments that judge the log under the key of this machine and the heads that were noted.
pub const HELD: [&str; 6] = [
    "log",
    "verify",
    "--key",
    "home/keys/local.pub",
    "--pin",
    "heads",
];

/// A folder with a state folder `home`; both go with it. Set once commands name the layer of the folder.
pub struct Fixture(TempDir, AtomicBool);

/// The results of a command.
pub struct Left {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Left {
    #[track_caller]
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal ended it"),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Left {
    /// Returns its output on both streams.
    pub fn printed(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// The one document on its standard output.
    #[track_caller]
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|fault| panic!("{fault}: {}", self.printed()))
    }
}

impl Fixture {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap(), AtomicBool::default())
    }

    /// The same in that folder.
    pub fn below(folder: &Path) -> Self {
        Self(TempDir::new_in(folder).unwrap(), AtomicBool::default())
    }

    /// The folder, or what lies in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The living processes that stand in the folder, but monolith's own. A process in a sandbox knows itself by another number than
    /// the one that it has here.
    #[cfg(target_os = "linux")]
    pub fn processes(&self) -> Vec<String> {
        let folder = self.0.path().canonicalize().unwrap();
        let read = |pid: &str, what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}"));
        let stands_here = |pid: &String| {
            let here = std::fs::read_link(format!("/proc/{pid}/cwd"));
            let name = read(pid, "comm").unwrap_or_default();
            let stat = read(pid, "stat").unwrap_or_default();
            let state = stat.rsplit(')').next().unwrap_or_default();
            here.is_ok_and(|here| here.starts_with(&folder))
                && !matches!(name.trim_end(), "monolith" | "exe")
                && !state.starts_with(" Z")
        };
        let all = std::fs::read_dir("/proc").unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let pids = names.filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        pids.filter(stands_here).collect()
    }

    /// Waits for the last of them to end.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn has_no_processes(&self) {
        let until = Instant::now() + LONGEST;
        loop {
            let living = self.processes();
            if living.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "{living:?} still run");
            std::thread::yield_now();
        }
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes the layer of the folder. Commands name it from now on, so that no one is asked about it.
    pub fn layer(&self, text: &str) {
        self.write(".ai-agent.json", text);
        self.1.store(true, Ordering::Relaxed);
    }

    /// Commands name no layer any more: they find those of the folders.
    pub fn finds_layers(&self) {
        self.1.store(false, Ordering::Relaxed);
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// `c.yaml`, whose scripted model answers with each of these lines in turn.
    pub fn script(&self, more: &str, lines: &[&str]) {
        let contract = format!(
            "task: hi\ntargets: [{{provider: demo, model: script}}]\n\
             providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n{more}"
        );
        self.write("c.yaml", &contract);
        self.write("s.jsonl", &lines.join("\n"));
    }

    /// Runs the contract under the name `r`; what each call came to, as the model was shown it, and how the run ended. It verifies and
    /// replays.
    #[track_caller]
    pub fn called(&self) -> (Vec<String>, Value) {
        let ended = self.run(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
        let result = ended.document();
        let conversation = result["conversation"].as_array().unwrap();
        let of_tools = conversation
            .iter()
            .filter(|message| message["role"] == "tool");
        let texts = of_tools.map(|tool| tool["content"].as_str().unwrap().to_owned());
        let texts = texts.collect();
        for proof in ["verify", "replay"] {
            self.ok(&[proof, "r"]);
        }
        (texts, result)
    }

    /// The store of the state folder, for changes: its entries are unpacked, so that SQL finds texts in them.
    pub fn plain_store(&self) -> Connection {
        let path = self.path("home/runs.db");
        let plain = Connection::open(&path).unwrap();
        for (run, entry) in entries_of(&path) {
            let unpack = "UPDATE entries SET event = ?3, action = ?4 \
                 WHERE seq = ?2 AND run = (SELECT id FROM runs WHERE run_id = ?1)";
            let seq = i64::try_from(entry.seq).unwrap();
            let row = params![run.as_str(), seq, entry.event, entry.action];
            plain.execute(unpack, row).unwrap();
        }
        drop(plain);
        Connection::open(&path).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = monolith(self.0.path(), args);
        if self.1.load(Ordering::Relaxed) && !args.contains(&"--config") {
            command.args(["--config", ".ai-agent.json"]);
        }
        command
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Left {
        self.command(args).output().unwrap().into()
    }

    /// Runs a command that must end so.
    #[track_caller]
    pub fn ends(&self, args: &[&str], code: i32) -> Left {
        let left = self.run(args);
        assert_eq!(left.code, code, "{args:?}: {}", left.printed());
        left
    }

    /// Runs a command that must succeed; what it printed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        self.ends(args, 0).out
    }

    /// The code that a command ends with under `--json`, and the document that it prints.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let left = self.run(&[args, &["--json"]].concat());
        (left.code, left.document())
    }

    /// Neither the list nor the inbox offers an answer to the call of that run, and one that is given is refused.
    #[track_caller]
    pub fn takes_no_answer(&self, run: &str, root: &str, why: &str, help: &str) {
        let listed = self.ok(&["list", "--open"]);
        let line = listed
            .lines()
            .find(|line| line.split(' ').next() == Some(run))
            .unwrap();
        let resume = format!("(monolith resume {root})");
        assert!(line.contains(&resume), "{line}");
        assert!(!line.contains("call allowed"), "{line}");
        assert!(!listed.contains("approve"), "{listed}");
        assert!(!listed.contains("waits for an approval"), "{listed}");
        let (_, inbox) = self.json(&["approvals"]);
        assert_eq!(inbox["approvals"], json!([]));
        for verb in ["approve", "deny"] {
            let refused = self.ends(&[verb, run], 4).err;
            let expected = format!("no answer to its call is accepted: {why}");
            assert!(refused.contains(&expected), "{refused}");
            let help = format!("`monolith resume {root}` {help}");
            assert!(refused.contains(&help), "{refused}");
        }
    }
}
