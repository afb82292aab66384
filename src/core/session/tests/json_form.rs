//! The JSON form of inputs and outputs: one exchange that holds every kind, shipped as docs/session-api.jsonl.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::sequences::{SUMMARY, long_result};
use super::*;
use crate::contract::{AgentDefinition, AgentLink, AgentSpec};
use crate::kernel::{Approval, BringUpFault, Event};
use crate::message::{
    ProviderFault, ProviderFaultClass, Role, SampledText, SamplingPrompt, SamplingRequest,
    ToolServerStatement,
};
use crate::transcript::header_line;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Both sides of a session, as a host in another process would write and read them.
struct Exchange {
    lines: Vec<Value>,
    outputs: Vec<Output>,
    session: Session,
}

impl Exchange {
    fn hand_in(&mut self, at_ms: u64, input: Input) {
        self.lines.push(json!({"at_ms": at_ms, "input": input}));
        self.session.handle(at_ms, input).unwrap();
        while let Some(output) = self.session.poll() {
            self.lines.push(json!({"output": output}));
            let durable = match &output {
                Output::Append(append) => append.entries.last().map(|entry| entry.seq),
                _ => None,
            };
            self.outputs.push(output);
            if let Some(seq) = durable {
                let input = Input::Durable(seq);
                self.lines.push(json!({"at_ms": at_ms, "input": input}));
                self.session.handle(at_ms, input).unwrap();
            }
        }
    }

    fn events(&self) -> Vec<Event> {
        let drafts = self.outputs.iter().filter_map(|output| match output {
            Output::Append(append) => Some(append.drafts.iter()),
            _ => None,
        });
        let events = drafts.flatten().filter_map(|draft| draft.event.clone());
        events.collect()
    }

    fn approval(&self) -> Approval {
        let asked = self.outputs.iter().find_map(|output| match output {
            Output::Ask(order) => Some(Approval::to(order.call, order.arguments_hash)),
            _ => None,
        });
        asked.expect("a person is asked")
    }
}

/// The first line of a transcript of run `r1` under that contract: it opens a session over a pipe.
fn header(contract: &ExecutionContract) -> String {
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    header_line(&contract.canonical_text(), &run_id)
}

/// A contract with an agent.
fn leading() -> Arc<ExecutionContract> {
    let text = CONTRACT.split("queues:").next().unwrap();
    let sets = ["tool_policy=optional".to_owned()];
    let mut spec = ContractSpec::parse("lead.yaml", text, &sets).unwrap();
    spec.own = Some(AgentLink {
        digest: Digest::of(b"lead"),
        id: None,
        name: "lead".to_owned(),
    });
    spec.agents = vec![AgentSpec {
        defined: Some(AgentDefinition {
            below: BTreeMap::new(),
            description: "Tells the time.".to_owned(),
            digest: Digest::of(b"scout"),
            id: None,
            input_schema: json!({"type": "object"}),
            least_tokens: 10,
            max_cost_micro_usd: None,
            max_tokens_consumed: None,
            total_timeout_ms: None,
            tool_name: "scout".to_owned(),
        }),
        file: "scout.yaml".to_owned(),
        grant: None,
    }];
    let manifest = CapabilityManifest {
        targets: vec![TargetCapability::default()],
        ..CapabilityManifest::default()
    };
    Arc::new(ContractFactory.make(&spec, &manifest, None).unwrap())
}

fn exchange() -> Vec<Value> {
    let sets = [
        "tool_policy=optional",
        "require_approval=[clock]",
        "tools.mcp.a.sampling=p/m",
    ];
    let contract = contract(&[&SUMMARY[..], &sets].concat());
    let (counter, scrubber) = (BytesPerToken::counter, Arc::new(NoSecrets));
    let session = Session::new(Arc::clone(&contract), counter(), scrubber.clone());
    let mut exchange = Exchange {
        lines: vec![json!({"session": "new", "header": header(&contract)})],
        outputs: Vec::new(),
        session: session.unwrap(),
    };
    let one = |number| InferenceSeq(number);
    let body = |body: Value| body.to_string().into_bytes();
    let began = |number| Input::ResponseBegan {
        inference: one(number),
        meta: ok(),
    };
    let bytes = |number, bytes| Input::ResponseBytes {
        bytes,
        inference: one(number),
    };
    let whole_text = "It is noon. ".repeat(40);
    let full = Digest::of(whole_text.as_bytes());

    exchange.hand_in(0, started(&contract));
    exchange.hand_in(10, probed());
    let inference = one(1);
    // A fault of the request itself, after which nothing waits.
    let fault = ProviderFault {
        status: Some(409),
        ..ProviderFault::new(ProviderFaultClass::Model, "conflict")
    };
    exchange.hand_in(20, Input::Fault { fault, inference });
    exchange.hand_in(30, began(2));
    exchange.hand_in(31, bytes(2, body(call(&["a__time"]))));
    let inference = one(2);
    exchange.hand_in(32, Input::ResponseEnded { inference });
    // Its server wants a model to be asked.
    let prompt = SamplingPrompt {
        messages: vec![SampledText {
            role: Role::User,
            text: "How late is it?".to_owned(),
        }],
        system: None,
    };
    let bytes_of_prompt = prompt.to_blob();
    let prompt = Digest::of(&bytes_of_prompt);
    let asked = SamplingRequest {
        bytes: u64::try_from(bytes_of_prompt.len()).unwrap(),
        max_tokens: 50,
        prompt,
        resume: Some("kept".to_owned()),
    };
    let asks = Input::ToolResult {
        call: CallSeq(1),
        exchanges: Vec::new(),
        outcome: ToolOutcome::SamplingRequired(asked),
    };
    exchange.hand_in(33, asks);
    let blob = Input::Blob {
        bytes: bytes_of_prompt,
        hash: prompt,
    };
    exchange.hand_in(34, blob);
    let respond = |number, text: Value| Input::Response {
        bytes: body(text),
        inference: one(number),
        meta: ok(),
    };
    let noon = json!({"role": "assistant", "content": "Noon."});
    exchange.hand_in(35, respond(3, chat(&noon, "stop")));
    exchange.hand_in(40, long_result(full, &whole_text));
    let bytes_of_text = whole_text.into_bytes();
    let blob = Input::Blob {
        bytes: bytes_of_text,
        hash: full,
    };
    exchange.hand_in(41, blob);
    exchange.hand_in(50, respond(4, chat(&noon, "stop")));
    exchange.hand_in(60, respond(5, call(&["clock"])));
    let approval = exchange.approval();
    exchange.hand_in(70, Input::Control(Control::Approve(approval)));
    let (events, head) = (exchange.events(), exchange.session.head());
    let outcome = ToolOutcome::TimedOut;
    let result = Input::ToolResult {
        call: CallSeq(2),
        exchanges: Vec::new(),
        outcome,
    };
    exchange.hand_in(80, result);
    let lost = Input::Lost(LostEffect::Inference(one(6)));
    exchange.hand_in(90, lost);
    exchange.hand_in(100, Input::Timer);
    exchange.hand_in(110, began(7));
    let thought = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "Let me see."}}]});
    let answer = format!("data: {thought}\n\n{}", stream("It is noon."));
    exchange.hand_in(111, bytes(7, answer.into_bytes()));

    // Another process continues from where the call was approved.
    let recorded = json!({"session": "recorded", "header": header(&contract)});
    exchange.lines.push(recorded);
    exchange.session = Session::recorded(Arc::clone(&contract), counter());
    for Event { at_ms, event } in events {
        let recorded = Input::Recorded(Box::new(event));
        exchange
            .lines
            .push(json!({"at_ms": at_ms, "input": &recorded}));
        exchange.session.handle(at_ms, recorded).unwrap();
        while exchange.session.poll().is_some() {}
    }
    let Exchange { lines, session, .. } = &mut exchange;
    assert_eq!(
        session.head(),
        head,
        "the same events give the same entries"
    );
    lines.push(json!({"session": "resume", "head": head}));
    let empty = Session::recorded(contract, counter());
    let recorded = std::mem::replace(session, empty);
    *session = recorded.resume(counter(), scrubber).unwrap();
    let tools_changed = Vec::new();
    exchange.hand_in(
        200,
        Input::Resumed {
            addresses: Vec::new(),
            bring_up: Vec::new(),
            confinement: Vec::new(),
            tool_servers: Vec::new(),
            tools_changed,
            unix_ms: 0,
        },
    );
    exchange.hand_in(210, Input::Control(Control::Abort));

    // Another run calls an agent, and its host runs none.
    let lead = leading();
    let line = json!({"session": "new", "header": header(&lead)});
    exchange.lines.push(line);
    let session = Session::new(Arc::clone(&lead), counter(), Arc::new(NoSecrets));
    exchange.session = session.unwrap();
    exchange.hand_in(0, started(&lead));
    exchange.hand_in(10, probed());
    exchange.hand_in(20, respond(1, call(&["agent__scout"])));
    let ended = Input::ChildEnded {
        call: CallSeq(1),
        child: None,
        outcome: ToolOutcome::ConnectionLost {
            detail: "this host runs no agents".to_owned(),
        },
    };
    exchange.hand_in(30, ended);
    exchange.hand_in(40, respond(2, chat(&noon, "stop")));
    exchange.lines
}

/// Every kind of an input or an output, as its reader lists them.
fn kinds<T: DeserializeOwned + Debug>() -> BTreeSet<String> {
    names::<T>(json!({"kind": "none"}))
}

/// Every name that a reader lists when it reads a wrong one.
fn names<T: DeserializeOwned + Debug>(wrong: Value) -> BTreeSet<String> {
    let fault = serde_json::from_value::<T>(wrong).unwrap_err();
    let fault = fault.to_string();
    let (_, kinds) = fault.split_once("expected one of ").unwrap();
    let kinds = kinds.split(", ").map(|kind| kind.trim_matches('`'));
    kinds.map(str::to_owned).collect()
}

#[test]
fn the_shipped_exchange_is_the_one_that_a_session_gives() {
    let lines = exchange();
    let lines_as_text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let generated = lines_as_text.join("\n") + "\n";
    let path = format!("{FOLDER}/session-api.jsonl");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let shipped = std::fs::read_to_string(&path).unwrap();
    assert!(
        shipped == generated,
        "docs/session-api.jsonl is not what a session gives: run the tests with UPDATE_SCHEMAS=1"
    );
    for line in lines {
        // Each line reads back as it was written.
        if let Some(input) = line.get("input") {
            let read: Input = serde_json::from_value(input.clone()).unwrap();
            assert_eq!(&serde_json::to_value(read).unwrap(), input);
        } else if let Some(output) = line.get("output") {
            let read: Output = serde_json::from_value(output.clone()).unwrap();
            assert_eq!(&serde_json::to_value(read).unwrap(), output);
        }
    }
}

#[test]
fn the_tables_of_the_document_and_the_shipped_exchange_have_every_kind() {
    let document = std::fs::read_to_string(format!("{FOLDER}/session-api.md")).unwrap();
    let lines = exchange();
    for (heading, side, kinds) in [
        ("## Inputs", "input", kinds::<Input>()),
        ("## Outputs", "output", kinds::<Output>()),
    ] {
        let (_, section) = document.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows = rows.map(|row| row.split('`').next().unwrap().to_owned());
        let documented: BTreeSet<String> = rows.filter(|kind| kind != "kind").collect();
        let shown = lines.iter().filter_map(|line| line[side]["kind"].as_str());
        let shown: BTreeSet<String> = shown.map(str::to_owned).collect();
        assert_eq!(documented, kinds, "{heading}");
        assert_eq!(shown, kinds, "{heading}");
    }
}

/// The rows of a table begin with the names that a reader takes, and none is missing.
#[test]
fn the_document_lists_every_class_of_a_fault_every_end_of_a_call_and_every_loss() {
    let document = std::fs::read_to_string(format!("{FOLDER}/session-api.md")).unwrap();
    for (head, names) in [
        ("| `class` |", names::<ProviderFaultClass>(json!("none"))),
        ("| `outcome` |", kinds::<ToolOutcome>()),
        ("| `lost` | `value` |", kinds::<LostEffect>()),
    ] {
        let (_, table) = document.split_once(&format!("\n{head}")).unwrap();
        let table = table.split("\n\n").next().unwrap();
        let cells = table
            .lines()
            .skip(2)
            .filter_map(|row| row.split('|').nth(1));
        let listed = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
        assert_eq!(listed, names, "{head}");
    }
    // The members of a result are those that the shipped exchange has, and the error.
    let (_, table) = document.split_once("\n| member of a result |").unwrap();
    let table = table.split("\n\n").next().unwrap();
    let Input::ToolResult { outcome, .. } = long_result(Digest::ZERO, &"a".repeat(200)) else {
        panic!("a result");
    };
    let outcome = serde_json::to_value(outcome).unwrap();
    let members = outcome["value"].as_object().unwrap().keys();
    for member in members.map(String::as_str).chain(["error"]) {
        assert!(table.contains(&format!("`{member}`")), "{member}");
    }
}

/// A host that embeds a session knows no scrubber's words: the session scrubs servers' statements, at the start and on resume.
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
    let mut again = Session::resume(host.session, BytesPerToken::counter(), scrubber).unwrap();
    let resumed = Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: said,
        tools_changed: Vec::new(),
        unix_ms: 0,
    };
    again.handle(5, resumed).unwrap();
    let outputs: Vec<Output> = std::iter::from_fn(|| again.poll()).collect();
    check(&outputs);
}
