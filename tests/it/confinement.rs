//! The decision on what this machine can confine: made once, recorded, and never made again by a start that fails. Attacks on it from
//! outside, and machines that lack a part.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, entries_of, says, shell_word};
use crate::sandbox_faults::sandbox;

const SECRET: &str = "canary-51ab-not-for-servers";
const AS_NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
/// The starts against which a neighbour races.
const STARTS: usize = 12;
/// The folders that a neighbour swaps with files.
const SWAPPED: usize = 20;

/// True if that program is here; prints a line if not.
fn has(program: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&search).any(|folder| folder.join(program).is_file());
    if !has {
        println!("skipped 1 case: {program} is not here");
    }
    has
}

/// The interpreter of the system: one in a home is not there in every sandbox, nor for every user.
fn python() -> Option<&'static str> {
    let found = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let found = found.into_iter().find(|path| Path::new(path).is_file());
    if found.is_none() {
        println!("skipped 1 case: the system has no python3");
    }
    found
}

/// True if a sandbox and what the tests start it with are here.
pub fn is_able() -> bool {
    sandbox() && has("python3") && has("unshare")
}

/// Who starts monolith.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The user who runs the tests.
    Own,
    /// Somebody without any rights.
    Nobody,
}

impl User {
    /// Both, where the tests may become another user who can start the binary.
    pub fn all() -> Vec<Self> {
        let mut tried = Command::new("setpriv");
        tried
            .args(AS_NOBODY)
            .args(["unshare", "--user", "test", "-x"]);
        let tried = tried.arg(env!("CARGO_BIN_EXE_monolith")).status();
        if tried.is_ok_and(|status| status.success()) {
            return vec![Self::Own, Self::Nobody];
        }
        println!("skipped 1 case: no other user can start the binary here");
        vec![Self::Own]
    }

    /// A command of that user.
    fn command(self, program: &OsStr) -> Command {
        if self == Self::Own {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(AS_NOBODY).arg(program);
        command
    }
}

impl Fixture {
    /// `c.yaml` with a server `odd` that runs these commands first, in the workspace `work`, with more terms of the server.
    fn serves(&self, before: &str, terms: &str, asked: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        let line = format!(
            "{{ {before}; }} >> seen 2>/dev/null; exec python3 {}",
            shell_word(script)
        );
        let args = json!(["-c", line]);
        let more = format!(
            "tools: {{workspace: work, mcp: {{odd: {{command: sh, args: {args}{terms}}}}}}}\n"
        );
        self.write("work/seen", "");
        let asked = asked
            .iter()
            .map(|tool| calls(&format!("odd__{tool}"), "{}"));
        let lines: Vec<String> = asked.chain([says("Done.")]).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.script(&more, &lines);
    }

    /// Gives everything in the folder to that user.
    pub fn belongs_to(&self, user: User) {
        if user == User::Nobody {
            let mut given = Command::new("chown");
            let given = given.args(["-R", "65534:65534"]).arg(self.path(""));
            assert!(given.status().unwrap().success());
        }
    }

    /// Runs monolith as that user, whose home is `user`.
    pub fn by(&self, user: User, args: &[&str]) -> Left {
        self.by_in("", user, args)
    }

    /// The same in a folder.
    pub fn by_in(&self, folder: &str, user: User, args: &[&str]) -> Left {
        let own = self.command(args);
        let mut command = user.command(own.get_program());
        command
            .args(own.get_args())
            .current_dir(self.path(folder))
            .env("HOME", self.path("user"))
            .env("MONOLITH_HOME", self.path("home"))
            .stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// Runs a command on a machine that lacks user namespaces.
    fn limited(&self, args: &[&str]) -> Left {
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
        let command = self.command(args);
        let mut limited = Command::new("unshare");
        limited
            .args(["--user", "--map-root-user", "sh", "-c", script, "sh"])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(self.path(""))
            .env("MONOLITH_HOME", self.path("home"))
            .stdin(Stdio::null());
        limited.output().unwrap().into()
    }

    /// The confinement that entries of that kind record.
    #[track_caller]
    fn recorded(&self, run: &str, kind: &str) -> Vec<Value> {
        let entries = entries_of(&self.path("home/runs.db")).into_iter();
        let events = entries.filter(|(of, _)| of.as_str() == run);
        let events = events.map(|(_, entry)| serde_json::from_str::<Value>(&entry.event).unwrap());
        let events = events.filter(|event| event["event"]["kind"] == kind);
        events
            .map(|event| event["event"]["value"]["confinement"].clone())
            .collect()
    }

    fn entry_count(&self) -> usize {
        entries_of(&self.path("home/runs.db")).len()
    }

    /// A home with an ssh key, and a line of shell that reads it, the store and the key of this machine.
    fn keys(&self) -> String {
        self.ok(&["key", "generate"]);
        self.write("user/.ssh/id", SECRET);
        let [ssh, store, key] = ["user/.ssh/id", "home/runs.db", "home/keys/local.key"]
            .map(|name| self.path(name).display().to_string());
        // Without a second process: a start that falls back may not be able to fork.
        let read = |file: &String| format!("while read -r x; do echo \"$x\"; done < {file}");
        [ssh, key, store].each_ref().map(read).join("; ")
    }

    /// Checks that the server saw none of them.
    #[track_caller]
    fn saw_no_keys(&self) {
        let seen = self.read("work/seen");
        let key = self.read("home/keys/local.key");
        for hidden in [SECRET, "SQLite", key.trim()] {
            assert!(!seen.contains(hidden), "{seen}");
        }
    }
}

fn none() -> Value {
    json!([{"is": {"kind": "unavailable", "value": "user_namespace"}, "server": "odd"}])
}

#[track_caller]
fn is_confined(recorded: &Value, server: &str) {
    assert_eq!(recorded[0]["server"], server, "{recorded}");
    assert_eq!(recorded[0]["is"]["kind"], "confined", "{recorded}");
    assert!(
        recorded[0]["is"]["value"]["landlock"].as_u64() > Some(0),
        "{recorded}"
    );
}

/// The attack: a server renames the folder above its root, ends, and is started again.
#[test]
fn f1_a_server_whose_root_was_renamed_is_not_started_without_the_sandbox() {
    if !is_able() {
        return;
    }
    let users = User::all().into_iter();
    for (user, stated) in users.flat_map(|user| [(user, ""), (user, ", sandbox: {}")]) {
        let fixture = Fixture::new();
        let tries = fixture.keys();
        fixture.write("work/a/b/kept", "");
        let root = fixture.path("work/a/b").display().to_string();
        let terms = format!(", roots: ['{root}']{stated}");
        let before = format!("echo start; {tries}; [ -d a ] && mv a moved");
        fixture.serves(&before, &terms, &["die", "hello"]);
        fixture.belongs_to(user);
        let left = fixture.by(user, &["run", "--json", "--run-id", "r", "c.yaml"]);
        let said = left.printed();
        fixture.saw_no_keys();
        assert!(fixture.path("work/moved/b").exists(), "{user:?}: {said}");
        // The first start is the only one.
        let starts = fixture.read("work/seen").matches("start").count();
        assert_eq!(starts, 1, "{user:?}: {said}");
        let raw = fixture.by(user, &["show", "r", "--raw"]).out;
        assert!(raw.contains("restart_failed"), "{user:?}: {raw}");
        assert!(
            raw.contains("the sandbox cannot be set up"),
            "{user:?}: {raw}"
        );
        is_confined(&left.document()["confinement"], "odd");
    }
}

/// The attack: another user swaps a folder that holds a socket with a file while servers are started.
#[test]
fn f1_a_neighbour_who_swaps_folders_in_tmp_takes_no_sandbox_away() {
    let Some(python) = python().filter(|_| is_able()) else {
        return;
    };
    let place = tempfile::Builder::new()
        .prefix("monolith-neighbour-")
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in("/tmp")
        .unwrap();
    let neighbour = User::all().pop().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/swapper.py");
    let script_copy = place.path().join("swapper.py");
    std::fs::copy(script, &script_copy).unwrap();
    let mut swapper = neighbour.command(OsStr::new(python));
    swapper.arg(&script_copy);
    let (mut listeners, mut names) = (Vec::new(), Vec::new());
    for number in 0..SWAPPED {
        let name = |kind: &str| {
            let name = format!("monolith-{kind}-{}-{number}", std::process::id());
            Path::new("/tmp").join(name)
        };
        let pair = [name("held"), name("other")];
        let [held, other] = &pair;
        std::fs::create_dir(held).unwrap();
        listeners.push(UnixListener::bind(held.join("socket")).unwrap());
        std::fs::write(other, "").unwrap();
        if neighbour == User::Nobody {
            for path in &pair {
                chown(path, Some(65_534), Some(65_534)).unwrap();
            }
        }
        swapper.args(&pair);
        names.extend(pair);
    }
    let swapping = swapper.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut swapping = swapping.spawn().unwrap();
    let mut said = String::new();
    let output = swapping.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut said).unwrap();
    if said.trim_end() == "swapping" {
        // Not below /tmp, where a sandbox that is half made hides it.
        let fixture = Fixture::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let tries = fixture.keys();
        fixture.serves(&tries, "", &["hello"]);
        for start in 0..STARTS {
            let run = format!("r{start}");
            let left = fixture.by(User::Own, &["run", "--json", "--run-id", &run, "c.yaml"]);
            // A start that the neighbour disturbs is a server that is down.
            assert!([0, 3].contains(&left.code), "{}", left.printed());
            fixture.saw_no_keys();
            is_confined(&left.document()["confinement"], "odd");
        }
    } else {
        println!("skipped 1 case: names cannot be exchanged here");
    }
    drop(swapping.stdin.take());
    swapping.wait().unwrap();
    for path in names {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir_all(&path);
    }
}

/// The probe looks at no folder that somebody else may write.
#[test]
fn f1_the_probe_depends_on_no_folder_for_temporary_files() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    let tries = fixture.keys();
    fixture.serves(&tries, "", &["hello"]);
    let mut doctor = fixture.command(&["doctor", "--json"]);
    let doctor = doctor
        .env("TMPDIR", fixture.path("absent"))
        .output()
        .unwrap();
    let doctor = Left::from(doctor).document();
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["name"] == "sandbox")
        .unwrap();
    assert_eq!(found["status"], "ok", "{found}");
    let mut run = fixture.command(&["run", "--json", "--run-id", "r", "c.yaml"]);
    let run = run
        .env("TMPDIR", fixture.path("absent"))
        .env("HOME", fixture.path("user"));
    let left = Left::from(run.output().unwrap());
    assert_eq!(left.code, 0, "{}", left.printed());
    fixture.saw_no_keys();
    is_confined(&left.document()["confinement"], "odd");
}

#[test]
fn a_server_that_this_machine_cannot_confine_is_started_and_everyone_is_told() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves("true", "", &["hello"]);
    let left = fixture.limited(&["run", "--json", "--run-id", "r", "c.yaml"]);
    assert_eq!(left.code, 0, "{}", left.printed());
    let words = "tool server odd: runs without the sandbox";
    assert!(left.err.contains(words), "{}", left.err);
    assert!(
        left.err.contains("this system lacks user namespaces"),
        "{}",
        left.err
    );
    assert_eq!(left.document()["confinement"], none());
    assert_eq!(fixture.recorded("r", "run_started"), [none()]);
    let shown = fixture.ok(&["show", "r"]);
    let line = "sandbox   tool server odd: no sandbox: this system lacks user namespaces\n";
    assert!(shown.contains(line), "{shown}");
    assert_eq!(fixture.json(&["show", "r"]).1["confinement"], none());
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    let checked = fixture.limited(&["contract", "check", "c.yaml"]);
    assert!(
        checked.out.contains("here: no, no user namespaces"),
        "{}",
        checked.out
    );

    let tools = fixture.limited(&["tools", "c.yaml"]);
    assert!(tools.err.contains(words), "{}", tools.err);

    // A stated sandbox is a promise.
    fixture.serves("true", ", sandbox: {}", &["hello"]);
    let left = fixture.limited(&["run", "--json", "--run-id", "s", "c.yaml"]);
    assert_eq!(left.code, 3, "{}", left.printed());
    assert!(
        left.printed().contains("user namespaces"),
        "{}",
        left.printed()
    );
    assert!(
        !left.err.contains("runs without the sandbox"),
        "{}",
        left.err
    );
    assert_eq!(fixture.read("work/seen"), "");
    assert_eq!(fixture.recorded("s", "run_started"), [none()]);

    // So is its absence.
    fixture.serves("true", ", sandbox: off", &["hello"]);
    let left = fixture.limited(&["run", "--json", "--run-id", "t", "c.yaml"]);
    assert_eq!(left.code, 0, "{}", left.printed());
    let off = json!([{"is": {"kind": "off"}, "server": "odd"}]);
    assert_eq!(left.document()["confinement"], off);
    assert!(
        !left.err.contains("runs without the sandbox"),
        "{}",
        left.err
    );
}

#[test]
fn a_resume_that_would_confine_less_is_refused_and_records_nothing() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves("true", "", &["hello"]);
    let contract = fixture.read("c.yaml") + "require_approval: [odd__hello]\n";
    fixture.write("c.yaml", &contract);
    fixture.ends(&["run", "c.yaml", "--run-id", "r", "--no-wait"], 8);
    fixture.answers("approve", "r");
    let before = fixture.entry_count();
    let left = fixture.limited(&["resume", "r"]);
    assert_eq!(left.code, 3, "{}", left.printed());
    let said = left
        .printed()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for words in [
        "tool server odd of run r was confined (in the sandbox, landlock",
        "would be confined less here (no sandbox: this system lacks user namespaces)",
        "nothing was recorded; run `monolith resume r` on a machine",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(fixture.entry_count(), before);
    let (_, result) = fixture.json(&["resume", "r"]);
    assert_eq!(result["exit_code"], 0, "{result}");
    is_confined(&fixture.recorded("r", "resumed")[0], "odd");
    // It is said once: nothing changed.
    let shown = fixture.ok(&["show", "r"]);
    assert_eq!(
        shown.matches("sandbox   tool server odd").count(),
        1,
        "{shown}"
    );
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
}

#[test]
fn a_resume_that_confines_more_goes_on_and_is_held_to_it_from_then_on() {
    if !is_able() {
        return;
    }
    let fixture = Fixture::new();
    fixture.serves("true", "", &["hello", "hello"]);
    let contract = fixture.read("c.yaml") + "require_approval: [odd__hello]\n";
    fixture.write("c.yaml", &contract);
    let begun = fixture.limited(&["run", "c.yaml", "--run-id", "r", "--no-wait"]);
    assert_eq!(begun.code, 8, "{}", begun.printed());
    fixture.answers("approve", "r");
    fixture.ends(&["resume", "r", "--no-wait"], 8);
    is_confined(&fixture.recorded("r", "resumed")[0], "odd");
    let shown = fixture.ok(&["show", "r"]);
    assert!(
        shown.contains("tool server odd: in the sandbox, landlock"),
        "{shown}"
    );
    assert!(shown.contains("from entry"), "{shown}");
    fixture.answers("approve", "r");
    let before = fixture.entry_count();
    assert_eq!(fixture.limited(&["resume", "r"]).code, 3);
    assert_eq!(fixture.entry_count(), before);
}

#[test]
fn commands_of_shell_and_runs_below_are_held_to_what_was_recorded() {
    if !is_able() {
        return;
    }
    let agent = |fixture: &Fixture, name: &str, terms: &str, lines: &[String]| {
        let text = format!(
            "targets: [{{provider: demo, model: script}}]\n\
             providers: {{demo: {{type: scripted, file: {name}.jsonl}}}}\n{terms}"
        );
        fixture.write(&format!("{name}.yaml"), &text);
        fixture.write(&format!("{name}.jsonl"), &lines.join("\n"));
    };
    let shell = "tools: {builtin: [shell], workspace: work}\nrequire_approval: [shell]\n";
    let asked = [
        calls("shell", r#"{"command": "echo ran > made"}"#),
        says("Done."),
    ];
    let below = |fixture: &Fixture| {
        fixture.write("work/seen", "");
        agent(fixture, "kid", shell, &asked);
        let go = [calls("agent__kid", r#"{"prompt": "go"}"#), says("Done.")];
        agent(fixture, "lead", "task: go\nagents: [kid.yaml]\n", &go);
        let steps = "workflow: tried\n\
             contract:\n  targets: [{provider: demo, model: script}]\n  \
             providers: {demo: {type: scripted, file: lead.jsonl}}\n\
             steps:\n- {id: one, delegate: kid.yaml, task: go}\n";
        fixture.write("w.yaml", steps);
    };
    for (file, waits) in [("kid.yaml", "r"), ("lead.yaml", "r.1"), ("w.yaml", "r.1")] {
        let fixture = Fixture::new();
        below(&fixture);
        if file == "kid.yaml" {
            let text = fixture.read(file) + "task: go\n";
            fixture.write(file, &text);
        }
        fixture.ends(&["run", file, "--run-id", "r", "--no-wait"], 8);
        is_confined(&fixture.recorded(waits, "run_started")[0], "builtin");
        fixture.answers("approve", waits);
        let before = fixture.entry_count();
        let left = fixture.limited(&["resume", "r"]);
        assert_eq!(left.code, 3, "{file}: {}", left.printed());
        let said = left
            .printed()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let words = format!("shell of run {waits} was confined");
        assert!(said.contains(&words), "{file}: {said}");
        assert_eq!(fixture.entry_count(), before, "{file}: {said}");
        fixture.ends(&["resume", "r"], 0);
        assert_eq!(fixture.read("work/made"), "ran\n");
    }
}

/// Takes 300 MiB in a way that a limit of data does not count, by its name.
const TAKES: &str = "import ctypes, mmap, os, sys
size = 300 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.shmat.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def mapped(flags, fd=-1):
    at = libc.mmap(None, size, 3, flags, fd, 0)
    if at == ctypes.c_void_p(-1).value: raise OSError
    ctypes.memset(at, 1, size)
def written(fd):
    for _ in range(size >> 20): os.write(fd, b'x' * (1 << 20))
def opened(path): return os.open(path, os.O_RDWR | os.O_CREAT)
def segment():
    id = libc.shmget(0, size, 0o1600)
    if id < 0: raise OSError
    at = libc.shmat(id, None, 0)
    libc.shmctl(id, 0, None)
    ctypes.memset(at, 1, size)
ways = dict(
    memfd=lambda: written(os.memfd_create('x')),
    shared=lambda: mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    grows=lambda: mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100),
    private=lambda: mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
    zero=lambda: mapped(mmap.MAP_SHARED, opened('/dev/zero')),
    shm=lambda: written(opened('/dev/shm/x')),
    tmp=lambda: written(opened('/tmp/x')),
    segment=segment)
try: ways[sys.argv[1]]()
except (OSError, MemoryError): print('refused')
else: print('taken')
";
const WAYS: [&str; 8] = [
    "memfd", "shared", "grows", "private", "zero", "shm", "tmp", "segment",
];

#[test]
fn f10_a_limit_of_memory_holds_whoever_starts_monolith() {
    let Some(python) = python().filter(|_| is_able()) else {
        return;
    };
    let more = "tools: {builtin: [shell], workspace: work, sandbox: {memory_mb: 64}}\n";
    let each = WAYS.iter().map(|way| format!("{python} takes.py {way}"));
    let zeros = "head -c 9 /dev/zero | od -An -tx1".to_owned();
    let commands = each
        .chain([zeros])
        .map(|command| json!({"command": command}));
    let asked = commands.map(|command| calls("shell", &command.to_string()));
    let lines: Vec<String> = asked.chain([says("Done.")]).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for user in User::all() {
        let fixture = Fixture::new();
        fixture.write("work/takes.py", TAKES);
        fixture.script(more, &lines);
        fixture.belongs_to(user);
        let run = ["run", "--json", "--verbose", "--run-id", "r", "c.yaml"];
        let left = fixture.by(user, &run);
        let result = left.document();
        let scope = &result["confinement"][0]["is"]["value"]["memory"];
        is_confined(&result["confinement"], "builtin");
        let conversation = result["conversation"].as_array().unwrap();
        let tools = conversation
            .iter()
            .filter(|message| message["role"] == "tool");
        let texts: Vec<&str> = tools
            .map(|tool| tool["content"].as_str().unwrap())
            .collect();
        assert_eq!(texts.len(), WAYS.len() + 1, "{result}");
        for (way, text) in WAYS.iter().zip(&texts) {
            // The limit of a control group kills.
            let is_ended = text.contains("refused") || scope == "group" && text.contains("137");
            assert!(is_ended, "{user:?}, {scope}: {way}: {text}");
        }
        assert!(texts[8].contains("00 00 00 00 00 00 00 00 00"), "{texts:?}");
        let words = "memory_mb limits each process";
        let is_of_each = scope == "process";
        let checked = fixture.by(user, &["contract", "check", "c.yaml"]).out;
        for said in [&left.err, &checked] {
            assert_eq!(said.contains(words), is_of_each, "{user:?}: {said}");
        }
    }
}

#[test]
fn f11_nothing_of_this_process_is_left_in_a_core_file() {
    let fixture = Fixture::new();
    fixture.write("work/seen", "");
    let more = "tools: {builtin: [shell], workspace: work, sandbox: off}\n";
    // Its parent supervises it, and the parent of that is monolith.
    let command =
        "grep core /proc/$(awk '/^PPid/ {print $2}' /proc/$PPID/status)/limits; ulimit -Sc";
    let asked = calls("shell", &json!({"command": command}).to_string());
    fixture.script(more, &[&asked, &says("Done.")]);
    let own = fixture.command(&["run", "--json", "--run-id", "r", "c.yaml"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -c unlimited 2>/dev/null; exec \"$@\"", "sh"])
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(fixture.path(""))
        .env("MONOLITH_HOME", fixture.path("home"))
        .stdin(Stdio::null());
    let result = Left::from(command.output().unwrap()).document();
    let said = result["conversation"][2]["content"].as_str().unwrap();
    let limits = said
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let soft = limits.unwrap().split_whitespace().nth(4);
    assert_eq!(soft, Some("0"), "{said}");
    assert!(said.ends_with("\n0\n"), "{said}");
}
