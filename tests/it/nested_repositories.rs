//! Git repositories below the workspace root, attacked by commands of `shell`: their hooks and settings stay what they were. Against the
//! binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::fixture::{Fixture, Left};
use crate::sandbox_faults::{has, sandbox};
use crate::undo::{commands, shell};

const SETTINGS: &str = "[core]\n\tbare = false\n";

/// A workspace with repositories at several depths, as git lays them out.
fn with_repositories(made: &[&str]) -> Fixture {
    let made: Vec<_> = made.iter().map(|command| shell(command)).collect();
    let fixture = commands(&made);
    for repository in [".git", "sub/.git", "a/b/c/.git", "sub/.git/modules/x"] {
        let at = format!("w/{repository}");
        fixture.write(&format!("{at}/HEAD"), "ref: refs/heads/main\n");
        fixture.write(&format!("{at}/config"), SETTINGS);
        fixture.write(&format!("{at}/hooks/pre-push.sample"), "exit 1\n");
        fixture.write(&format!("{at}/hooks/commit-msg"), "true\n");
        fixture.write(&format!("{at}/objects/00/x"), "x");
        fixture.write(&format!("{at}/refs/heads/main"), "1\n");
    }
    // A working tree whose repository is a folder of another name.
    fixture.write("w/tree/.git", "gitdir: ../data\n");
    fixture.write("w/data/config", SETTINGS);
    fixture.write("w/data/HEAD", "ref: refs/heads/main\n");
    fixture
}

const RUN: [&str; 5] = ["run", "c.yaml", "--run-id", "r", "--json"];

/// Runs it; returns the result of the last command.
fn run(fixture: &Fixture) -> String {
    results(&fixture.run(&RUN)).pop().unwrap()
}

/// Runs it as another user, to whom the whole folder belongs; returns the result of each command.
fn run_as_nobody(fixture: &Fixture) -> Vec<String> {
    results(&as_nobody(fixture).output().unwrap().into())
}

/// The command of another user, to whom the whole folder belongs now.
fn as_nobody(fixture: &Fixture) -> Command {
    let mut given = Command::new("chown");
    let given = given.args(["-R", "65534:65534"]).arg(fixture.path(""));
    assert!(given.status().unwrap().success());
    let own = fixture.command(&RUN);
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(fixture.path(""))
        .env("HOME", fixture.path("user"))
        .env("MONOLITH_HOME", fixture.path("home"))
        .stdin(Stdio::null());
    command
}

fn results(ended: &Left) -> Vec<String> {
    let result = ended.document();
    let messages = result["conversation"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let results = results.map(|message| message["content"].as_str().unwrap().to_owned());
    results.collect()
}

/// True if the tests may become a user without rights, who can start the binary in a sandbox.
fn has_nobody() -> bool {
    let mut tried = Command::new("setpriv");
    tried
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["unshare", "--user", "test", "-x"])
        .arg(env!("CARGO_BIN_EXE_monolith"));
    let is_able = tried.status().is_ok_and(|status| status.success());
    if !is_able {
        println!("skipped 1 case: no other user can start the binary here");
    }
    is_able
}

fn mode(fixture: &Fixture, path: &str) -> u32 {
    fs::metadata(fixture.path(path))
        .unwrap()
        .permissions()
        .mode()
        & 0o777
}

/// One command, and the path that it must not have changed.
#[test]
fn s11b_a_command_changes_nothing_that_git_runs_in_a_repository_below_the_workspace() {
    if !sandbox() {
        return;
    }
    for (command, path, content) in [
        (
            "echo evil > sub/.git/hooks/pre-commit",
            "sub/.git/hooks/pre-commit",
            None,
        ),
        (
            "echo evil > a/b/c/.git/hooks/commit-msg",
            "a/b/c/.git/hooks/commit-msg",
            Some("true\n"),
        ),
        (
            "chmod 755 sub/.git/hooks/commit-msg",
            "sub/.git/hooks/commit-msg",
            Some("true\n"),
        ),
        (
            "printf '[core]\\nhooksPath = /w/x\\n' >> sub/.git/config",
            "sub/.git/config",
            Some(SETTINGS),
        ),
        (
            "echo x > sub/.git/config.worktree",
            "sub/.git/config.worktree",
            None,
        ),
        (
            "mkdir sub/.git/info && echo '* filter=x' > sub/.git/info/attributes",
            "sub/.git/info/attributes",
            None,
        ),
        (
            "echo evil > sub/.git/modules/x/hooks/pre-commit",
            "sub/.git/modules/x/hooks/pre-commit",
            None,
        ),
        (
            "echo evil > sub/.git/modules/x/config",
            "sub/.git/modules/x/config",
            Some(SETTINGS),
        ),
        (
            "echo 'gitdir: ../evil' > tree/.git",
            "tree/.git",
            Some("gitdir: ../data\n"),
        ),
        (
            "mkdir data/hooks; echo evil > data/hooks/pre-commit",
            "data/hooks/pre-commit",
            None,
        ),
        (
            "echo evil > data/config; echo 'gitdir: ../evil' > tree/.git",
            "data/config",
            Some(SETTINGS),
        ),
        (
            "mkdir h; echo evil > h/pre-commit; rm -r sub/.git/hooks; ln -s ../../h sub/.git/hooks",
            "sub/.git/hooks/pre-commit",
            None,
        ),
        (
            "rm sub/.git/hooks/commit-msg",
            "sub/.git/hooks/commit-msg",
            Some("true\n"),
        ),
        (
            "mv sub s; echo evil > s/.git/hooks/pre-commit",
            "s/.git/hooks/pre-commit",
            None,
        ),
        (
            "mv sub s; echo evil > s/.git/hooks/pre-commit; mv s sub",
            "sub/.git/hooks/pre-commit",
            None,
        ),
        (
            "cp -r sub s; echo evil > s/.git/hooks/pre-commit; rm -r sub; mv s sub",
            "sub/.git/hooks/pre-commit",
            None,
        ),
        (
            "(sleep 1; echo evil > sub/.git/hooks/pre-commit) & echo evil > sub/.git/hooks/post-merge",
            "sub/.git/hooks/post-merge",
            None,
        ),
    ] {
        let fixture = with_repositories(&[command]);
        let shown = run(&fixture);
        let has = fs::read_to_string(fixture.path(&format!("w/{path}"))).ok();
        assert_eq!(has.as_deref(), content, "{command}: {shown}");
        assert!(
            shown.starts_with("exit code 0\n[undone, since git runs or obeys it: "),
            "{command}: {shown}"
        );
        assert_eq!(
            mode(&fixture, "w/a/b/c/.git/hooks/commit-msg"),
            0o644,
            "{command}"
        );
        if Path::new(&fixture.path("w/sub/.git/hooks/commit-msg")).exists() {
            assert_eq!(
                mode(&fixture, "w/sub/.git/hooks/commit-msg"),
                0o644,
                "{command}"
            );
        }
        fixture.ok(&["verify", "r"]);
        fixture.ok(&["replay", "r"]);
    }
}

/// A repository that one command renames and the next command changes is the same repository.
#[test]
fn s11b_a_repository_that_was_renamed_is_still_guarded() {
    if !sandbox() {
        return;
    }
    let fixture = with_repositories(&[
        "mv sub s",
        "echo evil > s/.git/hooks/pre-commit",
        "mv s sub",
        "true",
    ]);
    let shown = run(&fixture);
    assert_eq!(shown, "exit code 0");
    assert!(!fixture.path("w/sub/.git/hooks/pre-commit").exists());
}

/// A command that is killed at its time-out leaves nothing either.
#[test]
fn s11b_a_command_that_is_killed_changes_nothing_that_git_runs() {
    if !sandbox() {
        return;
    }
    let fixture = with_repositories(&["echo evil > sub/.git/hooks/pre-commit; sleep 60"]);
    let contract = fixture.read("c.yaml");
    fixture.write("c.yaml", &format!("{contract}tool_timeout_ms: 2000\n"));
    let ended = fixture.run(&RUN);
    // The call is given up, and the process ends with the run.
    let path = fixture.path("w/sub/.git/hooks/pre-commit");
    assert!(!path.exists(), "a hook outlives its command");
    let said = ended.printed();
    assert!(
        said.contains("undone, since git runs or obeys it: sub/.git/hooks/pre-commit]"),
        "{said}"
    );
}

/// A process with a signal to leave undoes the hooks of its command first, however large the workspace is, and says so.
#[test]
fn s11b_a_process_that_leaves_undoes_the_changes_of_its_command() {
    if !sandbox() {
        return;
    }
    let is_able = has_nobody();
    for (signals, nobody) in [
        (&[Signal::TERM, Signal::TERM, Signal::TERM][..], false),
        (&[Signal::TERM], true),
        (&[Signal::INT, Signal::INT], true),
    ] {
        if nobody && !is_able {
            continue;
        }
        let fixture = with_repositories(&[
            "printf '[alias]\\nx = !x\\n' >> sub/.git/config; echo evil > sub/.git/hooks/pre-commit; touch ready; sleep 60",
        ]);
        for n in 0..20_000 {
            fs::create_dir_all(fixture.path(&format!("w/many/{}/{n}", n / 1_000))).unwrap();
        }
        let mut command = if nobody {
            as_nobody(&fixture)
        } else {
            fixture.command(&RUN)
        };
        command.args(["--grace", "0"]);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn().unwrap();
        let began = Instant::now();
        while !fixture.path("w/ready").exists() {
            assert!(began.elapsed() < Duration::from_secs(60));
            thread::yield_now();
        }
        for signal in signals {
            kill_process(Pid::from_child(&child), *signal).unwrap();
            // Two pending signals of one kind would be one.
            let taken = Instant::now() + Duration::from_millis(50);
            while Instant::now() < taken {
                thread::yield_now();
            }
        }
        let ended = Left::from(child.wait_with_output().unwrap());
        let said = ended.printed();
        assert!(
            !fixture.path("w/sub/.git/hooks/pre-commit").exists(),
            "{signals:?}: {said}"
        );
        assert_eq!(fixture.read("w/sub/.git/config"), SETTINGS, "{signals:?}");
        let undone =
            "[undone, since git runs or obeys it: sub/.git/config, sub/.git/hooks/pre-commit]";
        assert!(said.contains(undone), "{signals:?}: {said}");
    }
}

/// File tools write into no repository, whatever it is called, and complete none.
#[test]
fn s11b_file_tools_write_no_repository_of_another_name() {
    let write = |path: &'static str| ("write_file", json!({"path": path, "content": "x"}));
    let closed = [
        "bare.d/config",
        "bare.d/hooks/pre-commit",
        "bare.d/a/b/c",
        "tree/named/config",
        "half/HEAD",
        "quarter/refs/heads/keep",
        "common/commondir",
        "shared/head",
        "link/config",
    ];
    let open = ["data/config", "half/config", "quarter/refs2/x", "objects/x"];
    let patch = "*** Begin Patch\n*** Add File: new/HEAD\n+x\n*** Add File: new/objects/x\n+x\n\
                 *** Add File: new/refs/x\n+x\n*** End Patch";
    let removal = "*** Begin Patch\n*** Delete File: bare.d/HEAD\n*** End Patch";
    let mut made: Vec<_> = closed.iter().chain(&open).map(|path| write(path)).collect();
    made.push((
        "edit_file",
        json!({"path": "bare.d/HEAD", "edits": [{"old": "x", "new": "y"}]}),
    ));
    made.extend([patch, removal].map(|patch| ("apply_patch", json!({"patch": patch}))));
    let fixture = commands(&made);
    let contract = fixture.read("c.yaml").replace(", shell]", "]");
    fixture.write("c.yaml", &contract);
    for path in [
        "bare.d/HEAD",
        "bare.d/objects/x",
        "bare.d/refs/x",
        "half/objects/x",
        "half/refs/x",
        "quarter/HEAD",
        "quarter/objects/x",
        "common/HEAD",
        "shared/commondir",
        "tree/named/x",
        "data/x",
    ] {
        fixture.write(&format!("w/{path}"), "x");
    }
    fixture.write("w/tree/.git", "gitdir: named\n");
    symlink("bare.d", fixture.path("w/link")).unwrap();
    let shown = results(&fixture.run(&RUN));
    let words = "what lies in the folder of a git repository is run by other programs";
    assert_eq!(shown.len(), made.len(), "{shown:?}");
    let (refused, rest) = shown.split_at(closed.len());
    for (path, shown) in closed.iter().zip(refused) {
        assert!(shown.contains(words), "{path}: {shown}");
        assert!(!fixture.path(&format!("w/{path}")).exists(), "{path}");
    }
    let (allowed, rest) = rest.split_at(open.len());
    for (path, shown) in open.iter().zip(allowed) {
        assert!(shown.starts_with("made "), "{path}: {shown}");
    }
    for shown in rest {
        assert!(shown.contains(words), "{shown}");
    }
    assert_eq!(rest.len(), 3);
    assert!(!fixture.path("w/new/refs").exists());
    assert_eq!(fixture.read("w/bare.d/HEAD"), "x");
}

/// The data of a repository is the command's. A repository that it makes has no hooks, and only harmless settings.
#[test]
fn s11b_data_stays_and_a_new_repository_gets_no_hooks() {
    if !sandbox() {
        return;
    }
    let fixture = with_repositories(&[
        "echo 2 > sub/.git/refs/heads/main; echo y > sub/.git/objects/00/y; echo i > sub/.git/index; echo c > sub/.git/COMMIT_EDITMSG",
    ]);
    assert_eq!(run(&fixture), "exit code 0");
    assert_eq!(fixture.read("w/sub/.git/refs/heads/main"), "2\n");
    assert_eq!(fixture.read("w/sub/.git/index"), "i\n");

    // The pointer of a known repository stays, also while nothing is where it leads.
    let fixture = with_repositories(&["rm -r data"]);
    assert_eq!(run(&fixture), "exit code 0");
    assert_eq!(fixture.read("w/tree/.git"), "gitdir: ../data\n");

    let quiet = "mkdir -p new/.git/hooks; echo '[core]' > new/.git/config; echo x > new/.git/hooks/pre-commit.sample";
    let fixture = with_repositories(&[quiet]);
    assert_eq!(run(&fixture), "exit code 0");

    let fixture = with_repositories(&[
        quiet,
        "echo evil > new/.git/hooks/pre-commit",
        "echo 'hooksPath = x' >> new/.git/config; echo '[user]' >> new/.git/config; echo 'name = A' >> new/.git/config",
    ]);
    let undone = "exit code 0\n[undone, since git runs or obeys it: ";
    assert_eq!(
        results(&fixture.run(&RUN)),
        [
            "exit code 0".to_owned(),
            format!("{undone}new/.git/hooks/pre-commit]"),
            format!("{undone}new/.git/config]")
        ]
    );
    assert!(!fixture.path("w/new/.git/hooks/pre-commit").exists());
    assert_eq!(
        fixture.read("w/new/.git/config"),
        "[core]\n[user]\nname = A\n"
    );
}

/// Rights that a command takes away hide nothing, although no command of the run gives them back.
#[test]
fn s11b_folders_without_rights_hide_no_hook() {
    if !sandbox() || !has_nobody() {
        return;
    }
    let hook = "echo evil > sub/.git/hooks/pre-commit";
    let config = "echo '[core]' > sub/.git/config";
    for (commands, path, mode_of) in [
        (
            &[hook, "chmod 311 sub/.git/hooks"][..],
            "sub/.git/hooks",
            0o311,
        ),
        (&[hook, "chmod 555 sub/.git/hooks"], "sub/.git/hooks", 0o555),
        (&[hook, "chmod 000 sub/.git/hooks"], "sub/.git/hooks", 0o000),
        (&[hook, "chmod 311 sub/.git"], "sub/.git", 0o311),
        (&[hook, "chmod 555 sub/.git"], "sub/.git", 0o555),
        (&[hook, "chmod 311 sub"], "sub", 0o311),
        (&[hook, "chmod 000 sub"], "sub", 0o000),
        (&[hook, "chmod 000 ."], "", 0o000),
        (&[hook, "chmod 000 sub", "chmod 755 sub"], "sub", 0o755),
        (
            &[hook, "chmod 000 sub/.git", "chmod 755 sub/.git"],
            "sub/.git",
            0o755,
        ),
        (&[config, "chmod 000 sub/.git"], "sub/.git", 0o000),
        (
            &["echo evil > sub/.git/hooks/pre-commit; chmod 000 sub/.git/hooks/pre-commit"],
            "sub",
            0o755,
        ),
    ] {
        // The rights are gone before the command ends.
        let (first, rest) = commands.split_first().unwrap();
        let (second, rest) = rest.split_first().unwrap_or((&"true", &[]));
        let both = format!("{first}; {second}");
        let made = [&[both.as_str()], rest].concat();
        let fixture = with_repositories(&made);
        let shown = run_as_nobody(&fixture);
        assert!(
            shown[0].contains("[undone, since git"),
            "{made:?}: {shown:?}"
        );
        assert_eq!(mode(&fixture, &format!("w/{path}")), mode_of, "{made:?}");
        assert!(
            !fixture.path("w/sub/.git/hooks/pre-commit").exists(),
            "{made:?}"
        );
        assert_eq!(fixture.read("w/sub/.git/config"), SETTINGS, "{made:?}");
    }
}

/// A repository keeps its first state wherever commands move it meanwhile.
#[test]
fn s11b_a_repository_that_was_moved_out_of_sight_gets_its_first_state_back() {
    if !sandbox() {
        return;
    }
    let deep = "d=$(printf 'd/%.0s' $(seq 140)); mkdir -p $d";
    let (away, home) = (
        format!("{deep}; mv sub $d"),
        format!("{deep}; echo evil > $d/sub/.git/hooks/pre-commit; mv $d/sub ."),
    );
    for made in [
        &[
            "mkdir d; mv sub/.git d/notgit",
            "echo evil > d/notgit/hooks/pre-commit; mv d/notgit sub/.git",
        ][..],
        &[
            "mkdir d; mv sub/.git d/notgit; echo evil > d/notgit/hooks/pre-commit; rm d/notgit/HEAD",
            "mv d/notgit sub/.git",
        ],
        &[
            "mv sub/.git x; echo evil > x/hooks/pre-commit",
            "mv x sub/.git",
        ],
        &[
            "mkdir d; mv sub/.git d/.git",
            "echo evil > d/.git/hooks/pre-commit",
            "mv d/.git sub/.git",
        ],
        &[
            "cp -r sub kept; rm -rf sub",
            "cp -r kept sub; echo evil > sub/.git/hooks/pre-commit",
        ],
        &[&away, &home],
    ] {
        let fixture = with_repositories(made);
        let shown = results(&fixture.run(&RUN));
        let undone = "[undone, since git runs or obeys it: ";
        assert!(
            shown.iter().any(|shown| shown.contains(undone)),
            "{made:?}: {shown:?}"
        );
        assert!(
            !fixture.path("w/sub/.git/hooks/pre-commit").exists(),
            "{made:?}: {shown:?}"
        );
        assert_eq!(
            fixture.read("w/sub/.git/hooks/commit-msg"),
            "true\n",
            "{made:?}"
        );
        assert_eq!(fixture.read("w/sub/.git/config"), SETTINGS, "{made:?}");
    }
}

/// Files beyond the bound of the search hide no change of a known repository, and the result tells of the bound.
#[test]
fn s11b_a_flood_of_files_hides_no_hook() {
    if !sandbox() {
        return;
    }
    let fixture = with_repositories(&[
        "mkdir 0 && cd 0 && seq 210000 | xargs touch; cd ..; echo evil > sub/.git/hooks/pre-commit; echo evil > data/config",
        "find long -name hooks -exec touch {}/evil \\;",
        "mkdir -p new/.git/hooks; echo evil > new/.git/hooks/pre-commit; mkdir m; mv new m",
        "rm -r 0",
    ]);
    let contract = fixture
        .read("c.yaml")
        .replace("workspace: w", "workspace: w, sandbox: off");
    fixture.write("c.yaml", &contract);
    let long = "x".repeat(200);
    for n in 0..10 {
        let sample = format!("w/long/{n}/{long}/{long}/{long}/.git/hooks/pre-push.sample");
        fixture.write(&sample, "true\n");
    }
    let shown = results(&fixture.run(&RUN));
    // Long paths push nothing else out of the result.
    assert!(
        shown[1].contains("\n[git may run or obey something in folders that were not searched")
            && shown[1].contains("x…x")
            && shown[1].contains("/.git/hooks/evil and 7 more]"),
        "{shown:?}"
    );
    assert!(
        shown[0].contains(
            "undone, since git runs or obeys it: data/config, sub/.git/hooks/pre-commit]"
        ),
        "{shown:?}"
    );
    assert!(
        shown[0].contains("[git may run or obey something in folders that were not searched"),
        "{shown:?}"
    );
    assert!(
        shown[1..].iter().any(|shown| shown
            .contains("[undone, since git runs or obeys it: m/new/.git/hooks/pre-commit]")),
        "{shown:?}"
    );
    assert!(!shown[3].contains("not searched"), "{shown:?}");
}

/// A repository is one wherever it lies and whatever it is called, and a new one leads nowhere outside.
#[test]
fn s11b_repositories_of_every_form_are_guarded() {
    if !sandbox() {
        return;
    }
    let evil = "echo evil > $at/hooks/post-checkout";
    for (before, command, path) in [
        (
            true,
            "at=sub/.git/objects/m",
            "sub/.git/objects/m/hooks/post-checkout",
        ),
        (true, "at=bare.d", "bare.d/hooks/post-checkout"),
        (
            false,
            "at=sub/.git/objects/n; mkdir -p $at/objects $at/refs; touch $at/HEAD",
            "sub/.git/objects/n/hooks/post-checkout",
        ),
        (
            false,
            "at=any; mkdir -p $at/objects $at/refs; touch $at/HEAD",
            "any/hooks/post-checkout",
        ),
        (
            false,
            "at=.; mkdir -p $at/objects $at/refs; touch $at/HEAD",
            "hooks/post-checkout",
        ),
        (
            false,
            "at=p; mkdir $at t; echo 'gitdir: ../p' > t/.git",
            "p/hooks/post-checkout",
        ),
        (
            false,
            "at=p; mkdir $at t; ln -s p l; ln -s ../l t/.git",
            "p/hooks/post-checkout",
        ),
        (
            false,
            "at=c; mkdir -p $at w1; touch w1/HEAD; echo ../c > w1/commondir",
            "c/hooks/post-checkout",
        ),
    ] {
        let command = format!("{command}; mkdir -p $at/hooks; {evil}");
        let fixture = with_repositories(&[&command]);
        if before {
            for at in ["w/sub/.git/objects/m", "w/bare.d"] {
                fixture.write(&format!("{at}/objects/x"), "x");
                fixture.write(&format!("{at}/refs/x"), "x");
                fixture.write(&format!("{at}/HEAD"), "x");
            }
            fixture.write("w/m/.git", "gitdir: ../sub/.git/objects/m\n");
        }
        let shown = run(&fixture);
        let path = path.to_owned();
        assert!(
            shown.contains("obeys it: ") && shown.contains(&path),
            "{command}: {shown}"
        );
        assert!(!fixture.path(&format!("w/{path}")).exists(), "{command}");
    }
    for command in [
        "mkdir t; echo 'gitdir: /usr' > t/.git",
        "mkdir t; ln -s ../../outside t/.git",
        "mkdir t; echo 'gitdir: ../absent' > t/.git",
        "mkdir t; echo 'gitdir: /absent/folder' > t/.git",
        "mkdir t; ln -s ../../absent t/.git",
        "mkdir -p t a/gd; ln -s /proc/self/cwd cwd; echo 'gitdir: ../cwd/a/gd' > t/.git",
        "mkdir -p t/.git; echo ../../absent > t/.git/commondir",
        "mkdir -p t/.git; printf '[core]\\nworktree = /absent/folder\\n' > t/.git/config",
        "mkdir t; ln -s /usr l; echo 'gitdir: ../l/share' > t/.git",
        "mkdir t; ln -s ../l t/.git; echo 'gitdir: /usr' > l",
        "mkdir -p t/.git; echo /usr > t/.git/commondir",
        "mkdir -p t/.git; echo /usr > l; ln -s ../../l t/.git/commondir",
        "mkdir -p t/.git/hooks h; rmdir t/.git/hooks; ln -s ../../h t/.git/hooks",
        "mkdir -p t/.git; echo '[alias] a = !x' > t/.git/config",
        "mkdir -p t/.git; echo '[alias] a = !x' > f; ln -s ../../f t/.git/config",
        "mv data d2; ln -s ../outside data",
    ] {
        let fixture = with_repositories(&[command]);
        fixture.write("outside/HEAD", "x");
        let shown = run(&fixture);
        assert!(
            shown.contains("[undone, since git runs or obeys it: t"),
            "{command}: {shown}"
        );
    }
}

/// Git itself works in new repositories and in known ones.
#[test]
fn s11b_clones_worktrees_and_submodules_work_unchanged() {
    if !sandbox() || !has("git") {
        return;
    }
    let fixture = with_repositories(&[
        "git init -q src && git -C src -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m x",
        "git clone -q src clone && git -C clone config user.name A && git -C clone checkout -q -b b && git clone -q --bare src mirror.d",
        "git -C clone worktree add -q ../tree2 && git -C known worktree add -q ../tree3 && git -C tree3 status --short",
        "git -C clone -c protocol.file.allow=always submodule --quiet add $PWD/src lib && git -C clone -c user.name=a -c user.email=a@b.example commit -q -m y",
        "git -c protocol.file.allow=always clone -q clone again && git -C again -c protocol.file.allow=always submodule --quiet update --init && git -C again/lib log --format=%s && git -C again remote set-url origin https://a.example/x",
        "git -C known -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m z && rm -rf tree3 && git -C known worktree prune",
    ]);
    let mut git = Command::new("git");
    let git = git.args(["init", "-q"]).arg(fixture.path("w/known"));
    assert!(git.status().unwrap().success());
    let mut commit = Command::new("git");
    commit.arg("-C").arg(fixture.path("w/known")).args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.example",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    assert!(commit.status().unwrap().success());
    let shown = results(&fixture.run(&RUN));
    for (at, shown) in shown.iter().enumerate() {
        assert!(
            shown.starts_with("exit code 0") && !shown.contains("[undone"),
            "{at}: {shown}"
        );
        assert!(
            !shown.contains("git runs or obeys") && !shown.contains("git may run"),
            "{at}: {shown}"
        );
    }
    assert_eq!(shown.len(), 6);
    assert!(fixture.read("w/again/.git/config").contains("a.example"));
}

/// Without the sandbox the workspace's own repository is guarded in the same way, and no link leads the repair outside.
#[test]
fn s11b_without_a_sandbox_the_workspace_itself_is_guarded() {
    let fixture = with_repositories(&[
        "echo evil > .git/hooks/pre-commit; rm -r sub/.git/hooks; ln -s ../../../outside sub/.git/hooks; echo evil > ../outside/pre-commit",
    ]);
    let contract = fixture.read("c.yaml");
    fixture.write(
        "c.yaml",
        &contract.replace("workspace: w", "workspace: w, sandbox: off"),
    );
    fixture.write("outside/kept", "kept\n");
    symlink(fixture.path("outside"), fixture.path("w/link")).unwrap();
    let shown = run(&fixture);
    assert!(
        shown.contains("[undone, since git runs or obeys it: .git/hooks/pre-commit, "),
        "{shown}"
    );
    assert!(!fixture.path("w/.git/hooks/pre-commit").exists());
    assert_eq!(fixture.read("outside/kept"), "kept\n");
    assert_eq!(fixture.read("outside/pre-commit"), "evil\n");
    assert_eq!(fixture.read("w/sub/.git/hooks/commit-msg"), "true\n");
}
