//! The JSON form of inputs and outputs: one exchange that holds every kind, shipped as docs/session-api.jsonl.

use std::collections::BTreeSet;

use super::sequences::{SUMMARY, long_result};
use super::*;
use crate::kernel::{Approval, BringUpFault};
use crate::message::{
    ProviderFault, ProviderFaultClass, Role, SampledText, SamplingPrompt, SamplingRequest,
    ToolServerStatement,
};

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

    fn events(&self) -> Vec<EventKind> {
        let drafts = self.outputs.iter().filter_map(|output| match output {
            Output::Append(append) => Some(append.drafts.iter()),
            _ => None,
        });
        let events = drafts.flatten().filter_map(|draft| draft.event.as_ref());
        events.map(|event| event.event.clone()).collect()
    }

    fn approval(&self) -> Approval {
        let asked = self.outputs.iter().find_map(|output| match output {
            Output::Ask(order) => Some(Approval::to(order.call, order.arguments_hash)),
            _ => None,
        });
        asked.expect("a person is asked")
    }
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
        lines: vec![json!({"session": "new"})],
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
    let events = exchange.events();
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
    exchange.hand_in(111, bytes(7, stream("It is noon.").into_bytes()));

    // Another process continues from where the call was approved.
    exchange.lines.push(json!({"session": "recorded"}));
    exchange.session = Session::recorded(Arc::clone(&contract), counter());
    for event in events {
        let recorded = Input::Recorded(Box::new(event));
        exchange
            .lines
            .push(json!({"at_ms": 70, "input": &recorded}));
        exchange.session.handle(70, recorded).unwrap();
        while exchange.session.poll().is_some() {}
    }
    let Exchange { lines, session, .. } = &mut exchange;
    lines.push(json!({"session": "resume"}));
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
    exchange.lines
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
fn the_tables_of_the_document_and_the_shipped_exchange_have_the_same_kinds() {
    let document = std::fs::read_to_string(format!("{FOLDER}/session-api.md")).unwrap();
    let lines = exchange();
    for (heading, side) in [("## Inputs", "input"), ("## Outputs", "output")] {
        let (_, section) = document.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows = rows.map(|row| row.split('`').next().unwrap().to_owned());
        let documented: BTreeSet<String> = rows.filter(|kind| kind != "kind").collect();
        let shown = lines.iter().filter_map(|line| line[side]["kind"].as_str());
        let shown: BTreeSet<String> = shown.map(str::to_owned).collect();
        assert_eq!(documented, shown, "{heading}");
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
