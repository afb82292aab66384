//! Work items as a person sees them: while they run, one of them shown, and its receipt verified.

use super::Surface;
use crate::fixture::{Fixture, calls, says};

/// Two items of which the second one is denied.
fn items() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("tree/README.md", "one\n");
    fixture.write(
        "a.yaml",
        "targets: [{provider: demo, model: script}]
providers: {demo: {type: scripted, file: a.jsonl}}
tool_policy: optional
tools: {builtin: [write_file, shell], sandbox: off}
",
    );
    let write = calls("write_file", r#"{"path":"new.txt","content":"new\n"}"#);
    fixture.write("a.jsonl", &[write, says("Done.")].join("\n"));
    fixture.write(
        "work.yaml",
        "work_tree: tree
agents: {agent-1: a.yaml}
items:
- {id: write-the-page, agent_id: agent-1, description: Write it., test_command: test -e new.txt}
- id: check-the-page
  agent_id: agent-1
  description: Check it.
  dependencies: [write-the-page]
  constraints: {max_tool_ops: 0}
",
    );
    fixture
}

#[test]
fn work_items_of_which_one_is_denied() {
    let run = ["work", "run", "work.yaml"];
    Surface::moving("work_run", &run, 1).painted().check(items);
    let ran = || {
        let fixture = items();
        fixture.ends(&run, 1);
        fixture
    };
    Surface::moving("work_show", &["work", "show", "write-the-page"], 0).check(ran);
    Surface::moving("work_verify", &["work", "verify", "write-the-page"], 0)
        .painted()
        .check(ran);
}
