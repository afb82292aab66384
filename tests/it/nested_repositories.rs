//! Git repositories below the workspace root, attacked by commands of `shell`: what git runs or obeys there stays what it was. Against the
//! binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::fixture::Fixture;
use crate::sandbox_faults::sandbox;
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

/// Runs it; returns what the model was shown of the last command.
fn run(fixture: &Fixture) -> String {
    let ended = fixture.run(&["run", "c.yaml", "--run-id", "r", "--json"]);
    let result = ended.document();
    let messages = result["conversation"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "tool");
    last.unwrap()["content"].as_str().unwrap().to_owned()
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
    run(&fixture);
    // The call is given up, and the process ends with the run.
    let path = fixture.path("w/sub/.git/hooks/pre-commit");
    assert!(!path.exists(), "a hook outlives its command");
}

/// The data of a repository is the command's, and a repository that it makes is listed with what git runs of it.
#[test]
fn s11b_data_stays_and_a_new_repository_is_listed() {
    if !sandbox() {
        return;
    }
    let fixture = with_repositories(&[
        "echo 2 > sub/.git/refs/heads/main; echo y > sub/.git/objects/00/y; echo i > sub/.git/index; echo c > sub/.git/COMMIT_EDITMSG",
    ]);
    assert_eq!(run(&fixture), "exit code 0");
    assert_eq!(fixture.read("w/sub/.git/refs/heads/main"), "2\n");
    assert_eq!(fixture.read("w/sub/.git/index"), "i\n");

    let quiet = "mkdir -p new/.git/hooks; echo '[core]' > new/.git/config; echo x > new/.git/hooks/pre-commit.sample";
    let fixture = with_repositories(&[quiet]);
    assert_eq!(run(&fixture), "exit code 0");

    let fixture = with_repositories(&[
        quiet,
        "echo evil > new/.git/hooks/pre-commit",
        "echo 'hooksPath = x' >> new/.git/config",
    ]);
    assert_eq!(
        run(&fixture),
        "exit code 0\n[git runs or obeys this in a new repository: new/.git/config]"
    );
    let shown = fixture.ok(&["show", "r"]);
    assert!(
        shown.contains("made     new/.git/hooks/pre-commit"),
        "{shown}"
    );
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
