//! The hidden tool server whose calls never end: live cases time out on it.

use std::io::{BufRead as _, Read as _};

use serde_json::{Value, json};

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// The hidden command that is a tool server.
pub(crate) const SLOW_TOOL: &str = "__slow-tool";

/// The most of a line that is read.
const MAX_LINE_BYTES: u64 = 1 << 20;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;

/// `monolith __slow-tool`: an MCP server on the standard streams with one tool, `wait`, whose calls are never answered. It
/// ends with its input.
pub(crate) fn slow_tool(app: &App) -> Result<Exit, ServiceError> {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = input.by_ref().take(MAX_LINE_BYTES);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(Exit::OK);
        }
        if let Some(answer) = answer(&line) {
            app.screen.out_json(&answer)?;
        }
    }
}

/// The answer to one message; none to what is no request, and none to a call.
fn answer(line: &[u8]) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        let error = json!({"code": INVALID_REQUEST, "message": "not JSON"});
        return Some(json!({"jsonrpc": "2.0", "id": null, "error": error}));
    };
    let id = message.get("id").filter(|id| !id.is_null())?;
    let result = match message.get("method").and_then(Value::as_str)? {
        "initialize" => {
            let version = message.pointer("/params/protocolVersion");
            json!({
                "protocolVersion": version.cloned().unwrap_or_else(|| json!("2025-06-18")),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "slow", "version": env!("CARGO_PKG_VERSION")},
            })
        }
        "tools/list" => json!({"tools": [{
            "name": "wait",
            "description": "Waits for a while.",
            "inputSchema": {"type": "object", "properties": {}},
        }]}),
        "tools/call" => return None,
        "ping" => json!({}),
        method => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": format!("no method {method}")});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_answered_but_calls_and_notifications() {
        let check = |message: Value, expect: Option<&str>| {
            let answer = answer(message.to_string().as_bytes());
            match expect {
                None => assert_eq!(answer, None, "{message}"),
                Some(pointer) => {
                    let answer = answer.unwrap();
                    assert_eq!(answer["id"], message["id"]);
                    assert!(answer.pointer(pointer).is_some(), "{answer}");
                }
            }
        };
        let params = json!({"protocolVersion": "2025-06-18"});
        check(
            json!({"id": 0, "method": "initialize", "params": params}),
            Some("/result/protocolVersion"),
        );
        check(json!({"method": "notifications/initialized"}), None);
        check(
            json!({"id": 1, "method": "tools/list"}),
            Some("/result/tools/0/inputSchema"),
        );
        check(json!({"id": 2, "method": "tools/call"}), None);
        check(json!({"id": "x", "method": "ping"}), Some("/result"));
        check(json!({"id": 4, "method": "telex"}), Some("/error/code"));
        assert!(answer(b"oops").unwrap().pointer("/error/code").is_some());
    }
}
