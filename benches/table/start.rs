//! From the start of the program to the first request that a model gets, beside a bare process that opens the same SQLite file.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::process::{begun, cpu_so_far, this_program};
use crate::ratio::{Limit, Row, time};
use crate::server::FILE;
use crate::whole::contract;

/// The role of a bare process: opens the file, reads its schema, says so, and waits for its input to end.
pub fn open(path: &Path) {
    let conn = Connection::open(path).expect("a database");
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .expect("its schema");
    assert!(tables > 0, "a store has tables");
    println!("{tables}");
    std::io::stdout().flush().expect("a pipe");
    drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
}

/// The rows: time on the clock, and of the processor.
pub fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(FILE), "a line of text\n").expect("a file");
    // The first makes the store, the keys and the folders.
    first_request(folder.path());
    let mut cpu = Vec::new();
    let wall = Row::of(
        ("start to first request", "a bare process opens the file"),
        Some(Limit::AtMost(5.0)),
        || {
            let (ours, bare) = (first_request(folder.path()), opened(folder.path()));
            cpu.push((ours[1].as_secs_f64(), bare[1].as_secs_f64()));
            (ours[0].as_secs_f64(), bare[0].as_secs_f64())
        },
        time,
    );
    let mut cpu = cpu.into_iter();
    let cpu = Row::of(
        ("the same, processor time", "a bare process opens the file"),
        None,
        || cpu.next().expect("as many pairs"),
        time,
    );
    vec![wall, cpu]
}

/// Time and processor time until the model is asked.
fn first_request(folder: &Path) -> [Duration; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let text = contract(&format!("http://127.0.0.1:{port}/v1"));
    fs::write(folder.join("agent.yaml"), text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
    command
        .current_dir(folder)
        .env("MONOLITH_HOME", folder.join("home"))
        .args(["run", "--contract", "agent.yaml", "--store", "runs.db"])
        .arg("--quiet")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().expect("it starts");
    let reached = loop {
        let (stream, _) = listener.accept().expect("a connection");
        if let Some(at) = asked(stream, began, child.id()) {
            break at;
        }
    };
    // Its request breaks off, which ends the run.
    drop(child.wait());
    reached
}

/// Answers the probe of a connection; none if that ends before a model is asked.
fn asked(stream: TcpStream, began: Instant, pid: u32) -> Option<[Duration; 2]> {
    let mut writer = stream.try_clone().expect("a connection");
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let before = head.len();
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
            let line = head[before..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        if head.starts_with("POST") {
            let reached = [began.elapsed(), cpu_so_far(pid)];
            let mut body = vec![0; length];
            drop(reader.read_exact(&mut body));
            let text = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}]}"#;
            respond(&mut writer, text);
            return Some(reached);
        }
        respond(
            &mut writer,
            r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#,
        );
    }
}

fn respond(to: &mut TcpStream, body: &str) {
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-type: application/json";
    let response = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}");
    drop(to.write_all(response.as_bytes()));
}

/// Time and processor time until the bare process has read the schema.
fn opened(folder: &Path) -> [Duration; 2] {
    let began = Instant::now();
    let mut command = Command::new(this_program());
    command.args(["role", "open"]).arg(folder.join("runs.db"));
    let (mut child, _) = begun(&mut command);
    let reached = [began.elapsed(), cpu_so_far(child.id())];
    drop(child.stdin.take());
    drop(child.wait());
    reached
}
