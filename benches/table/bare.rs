//! The floor of a whole run: the loop that anyone would write who wants an agent and nothing else. It asks with a growing conversation,
//! reads the file that the model wants, and ends with the model's answer. It checks nothing, knows no limits and forgets everything; with
//! rows, it also keeps each message and each response in SQLite, as one row and one commit.

use std::path::Path;

use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::{Value, json};

/// The record that a bare loop keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Nothing,
    /// One row per entry, under `synchronous = NORMAL` or `FULL`.
    Rows(&'static str),
}

/// A request: written from the whole conversation each time, copied nowhere else.
#[derive(Serialize)]
struct Body<'a> {
    model: &'static str,
    messages: &'a [Value],
    tools: &'a Value,
}

/// Plays the loop against the server at `base_url`, in `folder`.
pub fn run(base_url: &str, folder: &Path, kept: Kept) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(ask(base_url, folder, kept));
}

async fn ask(base_url: &str, folder: &Path, kept: Kept) {
    let client = reqwest::Client::new();
    let url = format!("{base_url}/chat/completions");
    let rows = match kept {
        Kept::Nothing => None,
        Kept::Rows(synchronous) => Some(Rows::open(&folder.join("bare.db"), synchronous)),
    };
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tools = json!([{"type": "function", "function": {"name": "read_file", "description": "Reads a file.", "parameters": schema}}]);
    let mut messages = vec![json!({"role": "user", "content": "Read the file again and again."})];
    loop {
        let body = Body {
            model: "m",
            messages: &messages,
            tools: &tools,
        };
        let body = serde_json::to_vec(&body).expect("plain data");
        let request = client
            .post(&url)
            .header("content-type", "application/json")
            .body(body);
        let bytes = request
            .send()
            .await
            .expect("an answer")
            .bytes()
            .await
            .expect("all of it");
        let mut response: Value = serde_json::from_slice(&bytes).expect("JSON");
        if let Some(rows) = &rows {
            rows.keep(&bytes);
        }
        let message = response["choices"][0]["message"].take();
        let calls = message["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        messages.push(message);
        if calls.is_empty() {
            return;
        }
        for call in calls {
            let arguments = call["function"]["arguments"].as_str().expect("a text");
            let arguments: Value = serde_json::from_str(arguments).expect("JSON");
            let path = folder.join(arguments["path"].as_str().expect("a path"));
            let text = tokio::fs::read_to_string(path).await.expect("the file");
            let message = json!({"role": "tool", "tool_call_id": call["id"], "content": text});
            if let Some(rows) = &rows {
                rows.keep(&serde_json::to_vec(&message).expect("plain data"));
            }
            messages.push(message);
        }
    }
}

/// One table, one row per entry.
struct Rows {
    conn: Connection,
}

impl Rows {
    fn open(path: &Path, synchronous: &str) -> Self {
        let conn = Connection::open(path).expect("a database");
        let made = conn.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
             CREATE TABLE entries(seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;"
        ));
        made.expect("a table");
        Self { conn }
    }

    fn keep(&self, bytes: &[u8]) {
        let mut insert = self
            .conn
            .prepare_cached("INSERT INTO entries(bytes) VALUES(?1)")
            .expect("a statement");
        insert.execute(params![bytes]).expect("a row");
    }
}
