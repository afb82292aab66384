//! `monolith list`: what it shows of each run, and which runs it picks.

use crate::fixture::{Fixture, says};
use crate::terminal::Terminal;

/// Three runs of two models: r1 and r3 end well, r2 cannot begin.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.script("", &[&says("It is noon.")]);
    let run = |id: &str, task: &str, sets: &[&str], code: i32| {
        let mut args = vec![
            "run",
            "--contract",
            "c.yaml",
            "--run-id",
            id,
            "--task",
            task,
        ];
        for set in sets {
            args.extend(["--set", set]);
        }
        fixture.ends(&args, code);
    };
    run("r1", "How late is it?", &[], 0);
    run(
        "r2",
        "How LATE is the train?",
        &["context_budget.context_window=600"],
        4,
    );
    run(
        "r3",
        "Who are you?\nSay it.",
        &["targets=[{provider: demo, model: other, context_window: 32000}]"],
        0,
    );
    fixture
}

#[test]
fn a_list_shows_model_task_duration_and_outcome_and_picks_what_is_asked_for() {
    let fixture = fixture();
    let all = fixture.ok(&["list"]);
    assert!(all.starts_with("RUN  BEGUN (UTC)"), "{all}");
    assert!(all.contains("demo/other  Who are you?…\n"), "{all}");
    assert!(
        all.contains("COMPLETED_CHAT_ONLY (final_message)\n"),
        "{all}"
    );
    let picked = |args: &[&str]| {
        let (code, listing) = fixture.json(&[&["list"], args].concat());
        assert_eq!(code, 0, "{args:?}");
        let runs = listing["runs"].as_array().unwrap().iter();
        let names: Vec<&str> = runs.map(|run| run["run_id"].as_str().unwrap()).collect();
        names.join(" ")
    };
    assert_eq!(picked(&[]), "r3 r2 r1");
    assert_eq!(picked(&["late"]), "r2 r1", "text, whatever its case");
    assert_eq!(picked(&["R3"]), "r3", "a name is text, too");
    assert_eq!(picked(&["--outcome", "completed_chat_only"]), "r3 r1");
    assert_eq!(picked(&["--outcome", "context_infeasible"]), "r2");
    let left = fixture.ends(&["list", "--outcome", "nonsense"], 4);
    for name in ["completed, failed", "budget, timeout"] {
        assert!(left.err.contains(name), "{}", left.err);
    }
    assert!(left.err.len() < 600, "no wall of codes: {}", left.err);
    let left = fixture.ends(&["list", "--outcome", "step_timeut"], 4);
    assert!(
        left.err.contains("`step_timeout` may be meant"),
        "{}",
        left.err
    );
    assert_eq!(picked(&["--outcome", "failed"]), "r2");
    assert_eq!(picked(&["--outcome", "Completed"]), "r3 r1");
    let left = fixture.ends(&["list", "failed"], 0);
    let meant = "monolith list --outcome failed lists the runs that ended so";
    let none = format!("no run has \"failed\" in its task or name; {meant}\n");
    assert_eq!(left.err, none);
    let (_, narrow) = Terminal::sized(fixture.command(&["list"]), 60).end();
    assert_eq!(narrow.lines().count(), 2 * 3, "{narrow}");
    assert_eq!(picked(&["--model", "demo/oth"]), "r3");
    assert_eq!(picked(&["--model", "Demo/Oth"]), "r3");
    assert_eq!(picked(&["--since", "1h"]), "r3 r2 r1");
    assert_eq!(picked(&["--since", "2999-01-01"]), "");
    assert_eq!(picked(&["--limit", "1"]), "r3");
    assert_eq!(picked(&["--limit", "0"]), "r3 r2 r1", "all");
    let on_a_terminal = |limit: &str| {
        let command = fixture.command(&["list", "--limit", limit]);
        Terminal::start(command).end().1
    };
    assert!(on_a_terminal("2").contains("the newest 2; monolith list --limit 0 lists all"));
    assert!(!on_a_terminal("0").contains("the newest"));
    assert_eq!(
        picked(&["late", "--limit", "1"]),
        "r2",
        "the limit counts what is picked"
    );
    let (_, shown) = fixture.json(&["show", "r1"]);
    for key in ["contract_id", "contract_hash"] {
        let asked = &shown[key].as_str().unwrap()[..9];
        assert_eq!(picked(&["--contract", asked]), "r1", "{key}");
    }
    let none = fixture.run(&["list", "--model", "gpt"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.starts_with("no such run in "), "{}", none.err);
    let wrong = fixture.run(&["list", "--since", "yesterday"]);
    assert_eq!(wrong.code, 4);
    assert!(
        wrong.err.contains("a span such as 90m, 12h or 3d"),
        "{}",
        wrong.err
    );
}

/// The remains of an interrupted first write: a run takes the file, so no other command refuses it.
#[cfg(unix)]
#[test]
fn an_empty_store_is_a_store_without_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.script("", &[&says("It is noon.")]);
    fixture.write("home/runs.db", "");
    let mode = |name: &str, mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.path(name), mode).unwrap();
    };
    mode("home", 0o700);
    mode("home/runs.db", 0o600);
    fixture.ok(&["resume", "--all"]);
    assert_eq!(fixture.json(&["list"]).1["runs"], serde_json::json!([]));
    let none = fixture.ends(&["show", "last"], 4);
    assert!(none.err.contains("no such run"), "{}", none.err);
    fixture.ok(&["run", "c.yaml"]);
    assert_eq!(
        fixture.json(&["list"]).1["runs"].as_array().unwrap().len(),
        1
    );
}
