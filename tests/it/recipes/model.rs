use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// Model servers on loopback, one for each port that pages name; they speak OpenAI's chat completions, as llama-server does.
pub struct Models {
    servers: Vec<(u16, MockServer)>,
    // It drives the servers, so it goes after them.
    _runtime: Runtime,
}

/// The ports of the pages: llama-server's usual one, and the next.
const PORTS: [u16; 2] = [8080, 8081];
/// Longer than any page is played.
const NEVER: Duration = Duration::from_secs(3_600);

impl Models {
    /// Servers that give these answers in turn, a line of JSON each: `{"calls": [[name, arguments], …]}`, `{"says": text}`,
    /// `{"status": code}`, `{"hangs": true}`; `"at"` names the port where it is not the first one, `"of"` a
    /// word that the request must hold. `{"get": path, "gives": JSON}` is what a service gives to every GET of that path.
    pub fn giving(answers: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let answers: Vec<Value> = answers
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let servers = PORTS.map(|port| {
            let of_port = |answer: &&Value| {
                answer["at"].as_u64().unwrap_or(PORTS[0].into()) == u64::from(port)
            };
            let queue: VecDeque<Value> = answers.iter().filter(of_port).cloned().collect();
            let queue = Arc::new(Mutex::new((queue, 0)));
            let server = runtime.block_on(async {
                let server = MockServer::builder().start().await;
                let respond = move |request: &Request| respond(request, &mut queue.lock().unwrap());
                Mock::given(any())
                    .respond_with(respond)
                    .mount(&server)
                    .await;
                server
            });
            (port, server)
        });
        Self {
            servers: servers.into(),
            _runtime: runtime,
        }
    }

    /// A text of the page with the addresses of these servers.
    pub fn here(&self, text: &str) -> String {
        self.servers
            .iter()
            .fold(text.to_owned(), |text, (port, server)| {
                text.replace(&format!("127.0.0.1:{port}"), &server.address().to_string())
            })
    }

    /// The other way round.
    pub fn on_page(&self, text: &str) -> String {
        self.servers
            .iter()
            .fold(text.to_owned(), |text, (port, server)| {
                text.replace(&server.address().to_string(), &format!("127.0.0.1:{port}"))
            })
    }
}

fn respond(request: &Request, (queue, given): &mut (VecDeque<Value>, u32)) -> ResponseTemplate {
    let ok = |body: &Value| ResponseTemplate::new(200).set_body_json(body);
    match (request.method.as_str(), request.url.path()) {
        ("GET", "/v1/models") => return ok(&json!({"data": [{"id": "qwen3-8b"}]})),
        ("GET", "/props") => {
            return ok(&json!({"default_generation_settings": {"n_ctx": 32768},
                "chat_template_caps": {"supports_tools": true, "supports_tool_calls": true}}));
        }
        ("POST", "/v1/chat/completions") => {}
        ("GET", path) => {
            let found = queue.iter().find(|answer| answer["get"] == path);
            return found.map_or(ResponseTemplate::new(404), |answer| ok(&answer["gives"]));
        }
        _ => return ResponseTemplate::new(404),
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = body.to_string();
    let fits = |answer: &Value| {
        let is_of = answer["of"].as_str().is_none_or(|word| text.contains(word));
        is_of && answer["get"].is_null()
    };
    let Some(answer) = queue.iter().position(fits).and_then(|at| queue.remove(at)) else {
        return ResponseTemplate::new(500).set_body_string("the page has no more answers");
    };
    *given += 1;
    if let Some(status) = answer["status"].as_u64() {
        return ResponseTemplate::new(u16::try_from(status).unwrap());
    }
    let messages = body["messages"].as_array().map_or(0, Vec::len);
    let usage = json!({"prompt_tokens": 300 + 40 * messages, "completion_tokens": 20});
    let calls = answer["calls"].as_array().into_iter().flatten().zip(0..);
    let calls: Vec<Value> = calls
        .map(|(call, index)| {
            let function = json!({"name": call[0], "arguments": call[1].to_string()});
            json!({"index": index, "id": format!("call_{given}_{index}"), "type": "function", "function": function})
        })
        .collect();
    let finish = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let message = json!({"role": "assistant", "content": answer["says"], "tool_calls": calls});
    let response = if body["stream"] == true {
        let text = stream(&message, finish, &usage);
        ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
    } else {
        ok(
            &json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}),
        )
    };
    if answer["hangs"] == true {
        response.set_delay(NEVER)
    } else {
        response
    }
}

/// The message word by word, as server-sent events.
fn stream(message: &Value, finish: &str, usage: &Value) -> String {
    let mut events = Vec::new();
    let mut event = |delta: &Value, finish: Option<&str>| {
        events.push(
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string(),
        );
    };
    for word in message["content"]
        .as_str()
        .unwrap_or_default()
        .split_inclusive(' ')
    {
        event(&json!({"content": word}), None);
    }
    if message["tool_calls"]
        .as_array()
        .is_some_and(|calls| !calls.is_empty())
    {
        event(&json!({"tool_calls": message["tool_calls"]}), None);
    }
    event(&json!({}), Some(finish));
    events.push(json!({"choices": [], "usage": usage}).to_string());
    events.push("[DONE]".to_owned());
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}
