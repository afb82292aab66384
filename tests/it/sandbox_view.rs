//! The view of a confined process, attacked from inside and between starts: by the numbers of issue 15 (4, 5, 7 and 8), against the binary, as this
//! user and, where this user is root, as another one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::fixture::{Fixture, Left, calls, says};
use crate::sandbox_faults::{has, sandbox};

const SECRET: &str = "canary-77d1-not-for-tools";
const STRANGER: &str = "65534";

/// A user that the binary is run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    This,
    Stranger,
}

/// This user, and another one where this one may become it and it may run the binary.
pub fn callers() -> Vec<Caller> {
    let mut probe = Command::new("setpriv");
    probe.args(["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups"]);
    let probe = probe
        .args([
            "unshare",
            "--user",
            env!("CARGO_BIN_EXE_monolith"),
            "--version",
        ])
        .stdin(Stdio::null())
        .output();
    if probe.is_ok_and(|probe| probe.status.success()) {
        return vec![Caller::This, Caller::Stranger];
    }
    println!("skipped 1 case: nobody else can run the binary in a namespace here");
    vec![Caller::This]
}

impl Fixture {
    /// Runs the binary as that user, to whom the whole folder belongs then, with the home `user`.
    pub fn run_as(&self, caller: Caller, args: &[&str], variables: &[(&str, String)]) -> Left {
        let own = self.command(args);
        let mut command = match caller {
            Caller::This => Command::new(own.get_program()),
            Caller::Stranger => {
                let owner = format!("{STRANGER}:{STRANGER}");
                let given = Command::new("chown")
                    .args(["-R", "-h", &owner])
                    .arg(self.path(""))
                    .status();
                assert!(given.unwrap().success());
                let mut command = Command::new("setpriv");
                command.args(["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups"]);
                command.arg(own.get_program());
                command
            }
        };
        command.args(own.get_args()).current_dir(self.path(""));
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("HOME", self.path("user"));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    /// A contract with `tools` whose model runs each of these commands.
    pub fn shell_lines(&self, tools: &str, commands: &[&str]) {
        fs::create_dir_all(self.path("work")).unwrap();
        fs::create_dir_all(self.path("user")).unwrap();
        let lines = commands
            .iter()
            .map(|command| calls("shell", &json!({"command": command}).to_string()));
        let lines: Vec<String> = lines.chain([says("Done.")]).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.script(&format!("tools: {{{tools}}}\n"), &lines);
    }

    /// A contract with a server that runs this before it serves, in the folder `work`.
    pub fn server_line(&self, line: &str, more: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        fs::create_dir_all(self.path("work")).unwrap();
        fs::create_dir_all(self.path("user")).unwrap();
        fs::copy(script, self.path("work/mcp_server.py")).unwrap();
        self.write("work/before.sh", line);
        let args = json!(["-c", "sh before.sh > seen 2>&1; exec python3 mcp_server.py"]);
        let tools = format!(
            "tools: {{workspace: work, mcp: {{odd: {{command: sh, args: {args}{more}}}}}}}\n"
        );
        self.script(&tools, &[&calls("odd__hello", "{}"), &says("Done.")]);
    }
}

/// 15.4: A folder of `PATH` that a command replaces by a link is not mounted in the next start, nor is what the link leads to.
#[test]
fn n4_a_path_folder_in_the_workspace_that_becomes_a_link_mounts_nothing() {
    if !sandbox() {
        return;
    }
    for caller in callers() {
        let fixture = Fixture::new();
        fixture.write("work/.venv/bin/tool", "");
        fixture.write("keys/id", SECRET);
        let read = format!(
            "cat {}; cat .venv/bin/id",
            fixture.path("keys/id").display()
        );
        fixture.shell_lines(
            "builtin: [shell], workspace: work",
            &[
                "rm -r .venv/bin; ln -s ../../keys .venv/bin; echo made",
                &read,
            ],
        );
        let search = std::env::var("PATH").unwrap();
        let search = format!("{}:{search}", fixture.path("work/.venv/bin").display());
        let search = [("PATH", search)];
        let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &search);
        assert_eq!(left.code, 0, "{}", left.printed());
        assert!(left.out.contains("made"), "{}", left.out);
        assert!(!left.out.contains(SECRET), "{}", left.out);
        let note = format!(
            "PATH: {} is left out",
            fixture.path("work/.venv/bin").display()
        );
        let checked = fixture.run_as(caller, &["contract", "check", "c.yaml"], &search);
        for left in [left, checked] {
            assert!(left.err.contains(&note), "{}", left.err);
        }
    }
}

/// 15.4: A program of the workspace that is named by its path starts, through links to interpreters of the system and of the home. The link alone
/// shows nothing.
#[test]
fn n4_a_virtual_environment_of_the_workspace_starts_by_its_path() {
    if !sandbox() || !Path::new("/usr/bin/python3").is_file() {
        return;
    }
    let fixture = Fixture::new();
    fixture.server_line("cat ../keys/id", "");
    fixture.write("keys/id", SECRET);
    fs::create_dir_all(fixture.path("work/.venv/bin")).unwrap();
    fs::create_dir_all(fixture.path("user/.pyenv/versions/3/bin")).unwrap();
    symlink(
        "/usr/bin/python3",
        fixture.path("user/.pyenv/versions/3/bin/python"),
    )
    .unwrap();
    let contract = fixture.read("c.yaml");
    for target in [
        "/usr/bin/python3",
        "../../../user/.pyenv/versions/3/bin/python",
    ] {
        let link = fixture.path("work/.venv/bin/python");
        let _ = fs::remove_file(&link);
        symlink(target, &link).unwrap();
        let args = json!(["mcp_server.py"]);
        let at = contract.find("command: sh").unwrap();
        let own = format!("command: work/.venv/bin/python, args: {args}}}}}}}\n");
        fixture.write("c.yaml", &(contract[..at].to_owned() + &own));
        let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &[]);
        assert_eq!(left.code, 0, "{target}: {}", left.printed());
    }
    // What another link leads to is not there.
    fs::remove_file(fixture.path("work/.venv/bin/python")).unwrap();
    symlink(
        "../../../keys/python",
        fixture.path("work/.venv/bin/python"),
    )
    .unwrap();
    fs::copy("/usr/bin/python3", fixture.path("keys/python")).unwrap();
    let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &[]);
    assert_eq!(left.code, 3, "{}", left.printed());
}

/// 15.5: A link that a run plants in its workspace gives a later run nothing.
#[test]
fn n5_a_link_that_an_earlier_run_planted_is_refused_by_name() {
    if !sandbox() {
        return;
    }
    for caller in callers() {
        let fixture = Fixture::new();
        fixture.write("user/.ssh/id", SECRET);
        fixture.shell_lines(
            "builtin: [shell], workspace: work",
            &["ln -s ../user out; echo made"],
        );
        let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
        assert!(left.out.contains("made"), "{}", left.printed());
        let shell = "builtin: [shell], workspace: work, sandbox";
        let server = "workspace: work, mcp: {odd: {command: sh, args: [-c, 'cat out/id > seen']";
        let cases = [
            (
                format!("{shell}: {{write: [work/out]}}"),
                "tools.sandbox.write",
            ),
            (
                format!("{shell}: {{read: [work/out/.ssh]}}"),
                "tools.sandbox.read",
            ),
            (
                format!("{shell}: {{sockets: [work/out/agent]}}"),
                "tools.sandbox.sockets",
            ),
            (format!("{server}, roots: [work/out]}}}}"), "roots"),
            (
                format!("{server}, roots: [work/out/.ssh], sandbox: {{}}}}}}"),
                "roots",
            ),
            (
                format!("{server}, sandbox: {{write: [work/out]}}}}}}"),
                "sandbox.write",
            ),
            (
                "builtin: [shell], workspace: work/out".to_owned(),
                "tools.workspace",
            ),
        ];
        for (tools, place) in cases {
            fixture.shell_lines(&tools, &["cat id ../user/.ssh/id out/.ssh/id"]);
            let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
            let said = left.printed();
            assert_eq!(left.code, 4, "{tools}: {said}");
            let link = fixture.path("work/out").canonicalize().unwrap();
            assert_eq!(link, fixture.path("user").canonicalize().unwrap());
            for expect in [place, "work/out", "passes the link"] {
                assert!(said.contains(expect), "{tools}: {said}");
            }
            assert!(!said.contains(SECRET) && !fixture.path("work/seen").exists());
        }
    }
}

/// 15.5: Nor does it where the later run has another contract, in another folder, that grants nothing of the first one.
#[test]
fn n5_a_link_that_a_run_of_another_contract_planted_is_refused_by_name() {
    if !sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("notes/id", SECRET);
    fixture.shell_lines(
        "builtin: [shell], workspace: work",
        &["ln -s ../notes out; echo made"],
    );
    let run: &[&str] = &["run", "--json", "c.yaml"];
    assert_eq!(fixture.run_as(Caller::This, run, &[]).code, 0);
    let later = "builtin: [shell], workspace: data, sandbox: {read: [../work/out]}";
    fixture.shell_lines(later, &["cat ../../work/out/id"]);
    for file in ["c.yaml", "s.jsonl"] {
        fixture.write(&format!("later/{file}"), &fixture.read(file));
    }
    fs::create_dir_all(fixture.path("later/data")).unwrap();
    let left = fixture.run_as(Caller::This, &["run", "--json", "later/c.yaml"], &[]);
    assert_eq!(left.code, 4, "{}", left.printed());
    assert!(
        left.printed().contains("work/out, which a confined"),
        "{}",
        left.printed()
    );
    // The folder that the link leads to may be named.
    let own = fixture
        .read("later/c.yaml")
        .replace("../work/out", "../notes");
    fixture.write("later/c.yaml", &own);
    let left = fixture.run_as(Caller::This, &["run", "--json", "later/c.yaml"], &[]);
    assert_eq!(left.code, 0, "{}", left.printed());
}

/// 15.5: A folder that takes the place of a granted one during a run is not shown.
#[test]
fn n5_another_folder_in_the_place_of_a_granted_one_is_not_started_with() {
    if !sandbox() || !has("python3") {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("given/kept", "given");
    fixture.write("other/id", SECRET);
    let swap = "(while [ ! -e work/go ]; do sleep 0.05; done; mv given old; mv other given; touch work/gone) & exec python3 work/mcp_server.py";
    fixture.server_line("true", "");
    let swap = json!(["-c", format!("cd {}; {swap}", fixture.path("").display())]);
    let tools = format!(
        "builtin: [shell], workspace: work, sandbox: {{write: [given]}}, mcp: {{off: {{command: sh, args: {swap}, sandbox: off}}}}"
    );
    let first = "cat ../given/kept; touch go; while [ ! -e gone ]; do sleep 0.05; done";
    fixture.shell_lines(&tools, &[first, "cat ../given/id"]);
    let left = fixture.run_as(Caller::This, &["run", "--json", "c.yaml"], &[]);
    assert_eq!(left.code, 0, "{}", left.printed());
    assert!(left.out.contains("exit code 0\\ngiven"), "{}", left.out);
    assert!(
        left.out
            .contains("is another folder than when the run began"),
        "{}",
        left.out
    );
    assert!(!left.out.contains(SECRET), "{}", left.out);
}

/// 15.5: Credentials in a home that is granted as a whole stay hidden; a path that names one shows it.
#[test]
fn n5_what_is_hidden_wins_over_a_grant_that_contains_it() {
    if !sandbox() {
        return;
    }
    for caller in callers() {
        let fixture = Fixture::new();
        fixture.write("user/.ssh/id", SECRET);
        fixture.write("user/.pgpass", SECRET);
        fixture.write(
            "user/.npmrc",
            &format!("//localhost/:_authToken={SECRET}\n"),
        );
        fixture.write("user/plain", "plain");
        let tries = "cat ~/.ssh/id ~/.pgpass ~/.npmrc ../user/.ssh/id; mv ~/.ssh ~/moved; cat ~/moved/id; cat ../user/plain";
        for grant in ["write: [user]", "read: [user]", "write: ['~/']"] {
            let tools = format!("builtin: [shell], workspace: work, sandbox: {{{grant}}}");
            fixture.shell_lines(&tools, &[tries, tries]);
            let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
            assert!(left.out.contains("plain"), "{grant}: {}", left.printed());
            assert!(
                !left.printed().contains(SECRET),
                "{grant}: {}",
                left.printed()
            );
        }
        let tools = "builtin: [shell], workspace: work, sandbox: {read: [~/.ssh]}";
        fixture.shell_lines(tools, &["cat ~/.ssh/id"]);
        let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
        assert!(left.out.contains(SECRET), "{}", left.printed());
    }
}

/// 15.7: A server sees programs, settings without credentials and caches of its home, and nothing else of it. It changes none of them.
#[test]
fn n7_a_server_sees_no_credentials_and_changes_no_program_of_its_home() {
    if !sandbox() || !has("python3") {
        return;
    }
    let credentials = [
        ".ai-agent/ai-agent.env",
        ".claude/credentials.json",
        ".codex/auth.json",
        ".config/containers/auth.json",
        ".config/rclone/rclone.conf",
        ".mozilla/firefox/cookies.sqlite",
        ".config/google-chrome/Cookies",
        ".netrc",
        ".npmrc",
        ".pgpass",
        ".ssh/id",
        ".vault-token",
        ".unheard-of/key",
        "Documents/passwords.txt",
    ];
    let programs = [
        ".bun/bin/bun",
        ".deno/bin/deno",
        ".local/share/uv/tools/t/bin/t",
        ".cache/pre-commit/hook",
        ".local/share/pnpm/p",
        ".pyenv/shims/s",
        ".local/bin/l",
    ];
    for caller in callers() {
        let fixture = Fixture::new();
        for path in credentials {
            fixture.write(&format!("user/{path}"), &format!("_authToken={SECRET}"));
        }
        for path in programs {
            fixture.write(&format!("user/{path}"), "old");
        }
        fixture.write("user/.gitconfig", "[user]\n\tname = Somebody\n");
        fixture.write("user/.npm/cached", "cached");
        let mut line = "cd ~ || exit\n".to_owned();
        for path in credentials {
            write!(line, "cat {path}; ").unwrap();
        }
        for path in programs {
            let tries = "cat PATH; echo evil > PATH; mv PATH PATH.moved; echo evil > PATH.new; ";
            line += &tries.replace("PATH", path);
        }
        line += "cat .gitconfig .npm/cached; echo kept > .npm/kept; cat .npm/kept; echo own > .state; cat .state; ls -a /run /tmp /var/tmp";
        // Two levels below the folder for temporary files.
        let agent = tempfile::Builder::new()
            .prefix("agent-")
            .tempdir_in("/tmp")
            .unwrap();
        fs::create_dir_all(agent.path().join("a/b")).unwrap();
        let socket = agent.path().join("a/b/s");
        let _listener = UnixListener::bind(&socket).unwrap();
        let _ = write_all_may(agent.path());
        write!(
            line,
            "; cd -; python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}'); print('agent reached')\"",
            socket.display()
        )
        .unwrap();
        for more in ["", ", sandbox: {}"] {
            fixture.server_line(&line, more);
            let left = fixture.run_as(caller, &["run", "c.yaml"], &[]);
            assert_eq!(left.code, 0, "{}", left.printed());
            let seen = fixture.read("work/seen");
            assert!(!seen.contains(SECRET), "{caller:?}{more}: {seen}");
            for expect in ["Somebody", "cached", "kept", "own"] {
                assert!(seen.contains(expect), "{caller:?}{more} {expect}: {seen}");
            }
            assert!(!seen.contains("agent reached"), "{seen}");
            for path in programs {
                assert_eq!(fixture.read(&format!("user/{path}")), "old", "{path}");
                assert!(
                    !fixture.path(&format!("user/{path}.new")).exists(),
                    "{path}"
                );
            }
            assert!(!fixture.path("user/.npm/kept").exists());
            assert!(!fixture.path("user/.state").exists());
            let said = left.err.split_whitespace().collect::<Vec<_>>().join(" ");
            for expect in [
                "odd: the sandbox threw away",
                "~/.npm",
                "~/.state",
                "write: [",
            ] {
                assert!(said.contains(expect), "{expect}: {said}");
            }
        }
        // The line of the contract that is named keeps them.
        fixture.server_line(&line, ", sandbox: {write: ['~/.npm']}");
        let left = fixture.run_as(caller, &["run", "c.yaml"], &[]);
        assert_eq!(left.code, 0, "{}", left.printed());
        assert_eq!(fixture.read("user/.npm/kept"), "kept\n");
        assert!(!left.err.contains("~/.npm"), "{}", left.err);
    }
}

/// Lets every user pass.
fn write_all_may(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777))
}

/// A program that tries the two sockets that it is given, and a separate pair.
const SOCKETS: &str = "import socket, sys
for path in sys.argv[1:]:
    try:
        with socket.socket(socket.AF_UNIX) as to:
            to.connect(path); print(path.rsplit('/')[-1], 'reached')
    except OSError as fault: print(path.rsplit('/')[-1], 'refused', type(fault).__name__)
one, other = socket.socketpair(); one.send(b'x'); print('pair', other.recv(1))
";

/// 15.8: Without a network no unix socket is connected to, wherever it lies, but those that the contract names.
#[test]
fn n8_without_a_network_only_stated_sockets_are_reached() {
    if !sandbox() || !Path::new("/usr/bin/python3").is_file() {
        return;
    }
    for caller in callers() {
        let fixture = Fixture::new();
        fixture.write("work/try.py", SOCKETS);
        fs::create_dir_all(fixture.path("daemon")).unwrap();
        let sockets = ["daemon/stated", "daemon/other", "work/own"].map(|name| fixture.path(name));
        let _listeners = sockets
            .each_ref()
            .map(|path| UnixListener::bind(path).unwrap());
        let paths = sockets
            .each_ref()
            .map(|path| path.display().to_string())
            .join(" ");
        let command = format!("/usr/bin/python3 try.py {paths}");
        let check = |sandbox: &str, expect: &[&str]| {
            let tools = format!("builtin: [shell], workspace: work, sandbox: {{{sandbox}}}");
            fixture.shell_lines(&tools, &[&command]);
            let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
            assert_eq!(left.code, 0, "{}", left.printed());
            for expect in expect {
                assert!(
                    left.out.contains(expect),
                    "{caller:?} {sandbox} {expect}: {}",
                    left.out
                );
            }
            assert!(left.out.contains("pair b'x'"), "{}", left.out);
        };
        let refused = [
            "stated refused PermissionError",
            "other refused PermissionError",
            "own refused PermissionError",
        ];
        check("read: [daemon]", &refused);
        check("write: [daemon]", &refused);
        let stated = ["stated reached", "other refused", "own refused"];
        check("sockets: [daemon/stated]", &stated);
        check("read: [daemon], sockets: [daemon/stated]", &stated);
        check(
            "read: [daemon], network: on, sockets: [daemon/stated]",
            &stated,
        );
        // What is not confined to stated ones reaches those in what it is shown.
        check(
            "read: [daemon], network: on",
            &["stated reached", "other reached", "own reached"],
        );
    }
}

/// A stream of numbers (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let next = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(next).unwrap() % most
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Paths in the workspace and in the other granted folder, seen from the workspace.
const OWN: [&str; 12] = [
    "a",
    "b",
    "c",
    "a/b",
    "a/bin",
    "b/a",
    "b/c",
    "out",
    "../given/a",
    "../given/b",
    "../given/a/b",
    "../given/out",
];
/// Targets of links.
const TARGETS: [&str; 10] = [
    "../user",
    "../user/.ssh",
    "../../user/.ssh",
    "../../neighbour",
    "../home",
    "/",
    "..",
    "../given",
    "ROOT/user/.ssh",
    "ROOT/neighbour",
];
/// Grants of later runs.
const GRANTS: [&str; 8] = [
    "",
    "write: [given]",
    "read: [given/a]",
    "write: [given, work/a]",
    "read: [work/b/c]",
    "write: [work/out]",
    "write: [given/out, given]",
    "read: [work/a/bin]",
];

/// Changes by a confined process, as a line of a shell.
fn changes(numbers: &mut Numbers, root: &str) -> String {
    let mut line = String::new();
    for _ in 0..6 {
        let (one, other) = (numbers.one(&OWN), numbers.one(&OWN));
        let target = numbers.one(&TARGETS).replace("ROOT", root);
        let change = match numbers.below(8) {
            0 => format!("mkdir -p {one}"),
            1 | 2 => format!("mv -T {one} {other}"),
            3 => format!("rm -rf {one}"),
            4 | 5 => format!("ln -sfn {target} {one}"),
            6 => format!("ln {target}/id {one}; ln {one} {other}; echo x > {one}"),
            _ => format!("mount --bind {target} {one}; mkdir -p {one}; mv {one} {other}"),
        };
        line += &change;
        line += "; ";
    }
    line
}

/// The inodes of a tree, no link being followed.
fn inodes(folder: &Path, into: &mut BTreeSet<(u64, u64)>) {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    into.insert((found.dev(), found.ino()));
    if found.is_dir() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            inodes(&entry.path(), into);
        }
    }
}

/// 15, Must show: Whatever a confined process renames and links between starts, no later start reaches a file outside of what it is granted.
#[test]
fn no_sequence_of_renames_and_links_reaches_a_file_outside_in_a_later_start() {
    if !sandbox() {
        return;
    }
    let deep = std::env::var("MONOLITH_DEEP").is_ok_and(|value| value == "1");
    let (cases, rounds) = if deep { (60, 6) } else { (2, 3) };
    let seed = std::env::var("MONOLITH_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) | 1 << 40);
    println!("MONOLITH_SEED={seed}");
    let mut numbers = Numbers(seed);
    let callers = callers();
    let mut walks = 0;
    for case in 0..cases {
        let caller = callers[case % callers.len()];
        let fixture = Fixture::new();
        fixture.ok(&["key", "generate"]);
        for outside in ["user/.ssh/id", "neighbour/id", "elsewhere/id"] {
            fixture.write(outside, SECRET);
        }
        for inside in ["work/a/bin/tool", "work/b/c/file", "given/a/file"] {
            fixture.write(inside, "inside");
        }
        let root = fixture
            .path("")
            .canonicalize()
            .unwrap()
            .display()
            .to_string();
        let root = root.trim_end_matches('/');
        // Folders of the system have what everybody has; kernel file systems have no files.
        let walk = format!(
            "find / \\( -path /proc -o -path /dev -o -path /sys -o -path /usr -o -path /etc -o -path /opt -o -path /nix -o -path /lib -o -path /lib64 \
             -o -path /snap -o -path '*/.pyenv' \\) -prune -o -printf '%D:%i\\n' > walked.new 2>/dev/null; mv walked.new walked; \
             cat {root}/user/.ssh/id {root}/neighbour/id {root}/home/keys/local.key out/* out/.ssh/* a/* a/b/* a/bin/* b/* b/a/* ../given/*/* ../given/out/.ssh/*; echo walked"
        );
        for _ in 0..rounds {
            let grant = numbers.one(&GRANTS);
            let workspace = numbers.one(&["work", "work", "work", "work/a", "work/out"]);
            let lines = [
                changes(&mut numbers, root),
                walk.clone(),
                changes(&mut numbers, root),
                walk.clone(),
            ];
            let commands: Vec<&str> = lines.iter().map(String::as_str).collect();
            // Paths that its arguments name would be shown.
            fixture.write("work/walk.sh", &format!("({walk}) > served 2>&1"));
            let server = json!({"command": "sh", "args": ["walk.sh"]});
            let server = if numbers.below(3) == 0 {
                format!(", mcp: {{odd: {server}}}")
            } else {
                String::new()
            };
            let tools =
                format!("builtin: [shell], workspace: {workspace}, sandbox: {{{grant}}}{server}");
            let walked = [fixture.path("work/walked"), fixture.path("work/a/walked")];
            for path in &walked {
                drop(fs::remove_file(path));
            }
            fixture.shell_lines(&tools, &commands);
            let search = std::env::var("PATH").unwrap();
            let search = format!("{root}/work/a/bin:{root}/work/out:{root}/work/b:{search}");
            // An inode that is freed within the run may be another file's afterwards.
            let outside = || {
                let mut found = BTreeSet::new();
                for folder in ["user", "neighbour", "elsewhere", "home"] {
                    inodes(&fixture.path(folder), &mut found);
                }
                found
            };
            let before = outside();
            let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[("PATH", search)]);
            let by_server = fs::read_to_string(fixture.path("work/served")).unwrap_or_default();
            let said = left.printed() + &by_server;
            assert!(!said.contains(SECRET), "{tools}\n{lines:?}\n{said}");
            let outside: BTreeSet<_> = before.intersection(&outside()).copied().collect();
            for path in walked {
                let Some(text) = no_link(&path) else {
                    continue;
                };
                walks += 1;
                for line in text.lines() {
                    let (device, inode) = line.split_once(':').unwrap();
                    let found = (device.parse().unwrap(), inode.parse().unwrap());
                    assert!(!outside.contains(&found), "{tools}\n{lines:?}\n{line}");
                }
            }
        }
    }
    println!("{walks} walks");
    assert!(walks > 0);
}

/// The text of a file that is no link.
fn no_link(path: &PathBuf) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    found.is_file().then(|| fs::read_to_string(path).unwrap())
}
