//! A workflow as a person sees it: while it runs, and shown with the step that failed.

use super::Surface;
use crate::fixture::{Fixture, says};

/// A workflow of which the last step that is begun reads a file that is not there.
fn failing() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "w.yaml",
        "workflow: tried
contract:
  targets: [{provider: demo, model: script}]
  providers: {demo: {type: scripted, file: s.jsonl}}
  tool_policy: optional
  tools: {builtin: [read_file], workspace: w}
steps:
- {id: list, tool: read_file, arguments: {path: in.txt}}
- {id: ask, prompt: 'Compare it with what the task of yesterday said of it. ${steps.list.output}'}
- {id: read, tool: read_file, arguments: {path: no-such-file}}
- {id: never, prompt: hi}
",
    );
    fixture.write("w/in.txt", "one");
    fixture.write("s.jsonl", &says("It is right."));
    fixture
}

#[test]
fn a_workflow_with_a_step_that_fails() {
    let run = ["run", "w.yaml", "--run-id", "w"];
    Surface::moving("workflow_run", &run, 1)
        .painted()
        .check(failing);
    let ran = || {
        let fixture = failing();
        fixture.ends(&run, 1);
        fixture
    };
    Surface::moving("workflow_show", &["show", "w"], 0)
        .painted()
        .check(ran);
}
