//! Diagnostics: off by default, on stderr where they are asked for.

use crate::fixture::Fixture;

fn machine(log: Option<&str>) -> (Option<i32>, String, String) {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["machine"]);
    command.env_remove("MONOLITH_LOG");
    if let Some(log) = log {
        command.env("MONOLITH_LOG", log);
    }
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn diagnostics_go_to_stderr_and_only_where_they_are_asked_for() {
    let (code, table, silent) = machine(None);
    assert_eq!((code, silent.as_str()), (Some(0), ""));
    let (code, out, log) = machine(Some("debug"));
    assert_eq!((code, &out), (Some(0), &table));
    assert!(log.contains("DEBUG monolith_cli::log: started"), "{log}");
    assert_eq!(machine(Some("warn")), (Some(0), table, String::new()));
}

#[test]
fn a_filter_that_cannot_be_read_is_the_callers_fault() {
    let (code, out, said) = machine(Some("monolith=loud"));
    assert_eq!((code, out.as_str()), (Some(4), ""));
    assert!(
        said.contains("failed to read MONOLITH_LOG: \"monolith=loud\""),
        "{said}"
    );
}
