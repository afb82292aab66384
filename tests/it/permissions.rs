//! Files and folders that permissions close to a user, as the built-in file tools report them. Against the binary, as a user whom permissions
//! bind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::confinement::User;
use crate::fixture::{Fixture, calls, says};
use crate::guarded_files::{RUN, tool_results};

/// A user whom permissions bind: they do not bind root.
fn bound() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return Some(User::Own);
    }
    User::all().into_iter().find(|user| *user == User::Nobody)
}

/// Makes these calls as that user, in a workspace whose files have these modes; returns their results.
fn results(user: User, calls_made: &[(&str, Value)]) -> Vec<String> {
    let fixture = Fixture::new();
    fixture.write("user/.keep", "");
    for path in [
        "closed/a",
        "locked/kept",
        "open",
        "own",
        "secret",
        "through/a",
    ] {
        fixture.write(&format!("work/{path}"), "needle\n");
    }
    let tools = "tool_policy: optional\nmax_turns: 20\n\
                 tools: {builtin: [apply_patch, grep, list_directory, read_file, write_file], workspace: work}\n";
    let mut lines: Vec<String> = calls_made
        .iter()
        .map(|(tool, arguments)| calls(tool, &arguments.to_string()))
        .collect();
    lines.push(says("Done."));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fixture.script(tools, &lines);
    fixture.belongs_to(user);
    // Of another user, if there is one here.
    if user == User::Nobody {
        fixture.write("work/theirs", "needle\n");
    }
    let set = |modes: [u32; 4]| {
        let paths = ["closed", "locked", "secret", "through"];
        for (path, mode) in paths.into_iter().zip(modes) {
            let path = fixture.path(&format!("work/{path}"));
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set([0o000, 0o555, 0o000, 0o600]);
    let left = fixture.by(user, &RUN);
    // So that the folder can be removed.
    set([0o755; 4]);
    tool_results(&left)
}

#[test]
fn a_denied_access_names_the_permission_and_the_entry_that_lacks_it() {
    let Some(user) = bound() else {
        return;
    };
    let cases = [
        (
            "read_file",
            json!({"path": "secret"}),
            "\"secret\": permission denied, no read permission on it (mode 0000, owner ",
        ),
        (
            "read_file",
            json!({"path": "through/a"}),
            "\"through/a\": permission denied, no search permission on the folder \"through\" (mode 0600, owner ",
        ),
        (
            "list_directory",
            json!({"path": "closed"}),
            "\"closed\": permission denied, no read or search permission on the folder \"closed\" (mode 0000, owner ",
        ),
        (
            "grep",
            json!({"pattern": "needle", "path": "secret"}),
            "\"secret\": permission denied, no read permission on it (mode 0000, owner ",
        ),
        (
            "write_file",
            json!({"path": "locked/new", "content": "x"}),
            "\"locked/new\": permission denied, no write permission on its folder (mode 0555, owner ",
        ),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Delete File: locked/kept\n*** End Patch"}),
            "\"locked/kept\": permission denied, no write permission on its folder (mode 0555, owner ",
        ),
    ];
    let made: Vec<(&str, Value)> = cases
        .iter()
        .map(|(tool, arguments, _)| (*tool, arguments.clone()))
        .collect();
    let results = results(user, &made);
    assert_eq!(results.len(), cases.len(), "{results:#?}");
    for ((tool, arguments, expect), said) in cases.iter().zip(&results) {
        assert!(said.contains(expect), "{tool} {arguments}: {said}");
    }
}

#[test]
fn a_search_names_what_it_may_not_read() {
    let Some(user) = bound() else {
        return;
    };
    let results = results(user, &[("grep", json!({"pattern": "needle"}))]);
    let said = &results[0];
    for expect in [
        "open:1:needle\n",
        "\n[not searched: \"secret\": permission denied, no read permission on it (mode 0000, owner ",
        "\n[not searched: \"closed\": permission denied, no read or search permission on the folder \"closed\" (mode 0000, owner ",
        "\n[not searched: \"through\": permission denied, no read or search permission on the folder \"through\" (mode 0600, owner ",
    ] {
        assert!(said.contains(expect), "{expect}: {said}");
    }
}

/// The folder is the user's, so the file could be replaced. A shell cannot write it.
#[test]
fn a_file_of_another_user_is_not_replaced() {
    let Some(User::Nobody) = bound() else {
        return;
    };
    let write = ("write_file", json!({"path": "theirs", "content": "x"}));
    let results = results(User::Nobody, &[write]);
    let expect = "\"theirs\": permission denied, no write permission on it (mode 0644, owner 0)";
    assert!(results[0].contains(expect), "{results:?}");
}
