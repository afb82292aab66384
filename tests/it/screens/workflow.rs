//! A workflow as a person sees it: while it runs, and shown with the step that failed.

use super::Surface;
use crate::desk::{Desk, says};

/// A workflow of which the last step that is begun reads a file that is not there.
fn failing() -> Desk {
    let desk = Desk::new();
    desk.write(
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
    desk.write("w/in.txt", "one");
    desk.write("s.jsonl", &says("It is right."));
    desk
}

#[test]
fn a_workflow_with_a_step_that_fails() {
    let run = ["run", "w.yaml", "--run-id", "w"];
    Surface::moving("workflow_run", &run, 1)
        .painted()
        .check(failing);
    let ran = || {
        let desk = failing();
        desk.ends(&run, 1);
        desk
    };
    Surface::moving("workflow_show", &["show", "w"], 0)
        .painted()
        .check(ran);
}
