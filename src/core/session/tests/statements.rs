//! What servers say of themselves, as a session records it.

use super::*;
use crate::kernel::BringUpFault;
use crate::message::ToolServerStatement;

/// A host that embeds a session knows no scrubber's words: the session scrubs what servers say, at the start and when a run goes on.
#[test]
fn what_tool_servers_say_is_scrubbed_by_the_session() {
    let secret = "correct horse battery";
    let contract = contract(&[]);
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let scrubber = RedactionKey::new([7; 32]).scrubber(&contract, &run_id, [secret]);
    let said = vec![ToolServerStatement::new(
        "a",
        Some(("it", secret)),
        secret,
        Some(secret),
    )];
    let messages = RunStarted::opening("", "How late is it?");
    let started = RunStarted {
        bring_up: vec![BringUpFault::new(
            "b".to_owned(),
            format!("it says {secret}"),
        )],
        tool_servers: said.clone(),
        ..RunStarted::new(&contract, run_id, messages, 0)
    };
    let mut host = Host::new(&contract, Arc::clone(&scrubber));
    let check = |outputs: &[Output]| {
        let recorded = serde_json::to_string(outputs).unwrap();
        assert!(recorded.contains("[REDACTED:"), "{recorded}");
        assert!(!recorded.contains(secret), "{recorded}");
    };
    check(&host.hand_in(Input::Start(Box::new(started))));
    let mut again = Session::resume(host.session, QuarterBytes::counter(), scrubber).unwrap();
    let resumed = Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: said,
        tools_changed: Vec::new(),
    };
    again.handle(5, resumed).unwrap();
    let outputs: Vec<Output> = std::iter::from_fn(|| again.poll()).collect();
    check(&outputs);
}
