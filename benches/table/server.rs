//! A model server on loopback whose answers do not depend on what it is asked: so many calls of `read_file`, then an answer.
//!
//! A request goes to `/TURNS/NAME/v1/chat/completions`. The server counts the requests of each NAME, so any number of runs may
//! ask at once. A NAME of `-` and a number N stands for N runs under one contract; their conversations tell them apart. Until
//! all N have asked once, each answer is delayed. The server is a separate process, so that its time does not count as the
//! client's time.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::process::{begun, this_program};

/// The file that the model asks for, again and again.
pub const FILE: &str = "a.txt";

/// Delay of an answer until all runs of a NAME have asked.
const UNTIL_ALL_HAVE_ASKED: Duration = Duration::from_millis(200);

/// A server in a separate process; dropping this value ends it.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts the server on a free port.
    pub fn start() -> Self {
        let (child, line) = begun(Command::new(this_program()).args(["role", "serve"]));
        let port = line.trim().parse().expect("a port");
        Self { child, port }
    }

    /// The base address of a run of so many turns.
    pub fn base_url(&self, turns: u64, name: &str) -> String {
        format!("http://127.0.0.1:{}/{turns}/{name}/v1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input is closed with it; it ends by itself where the signal does not reach it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Number of requests of each run; under a NAME of many runs, the number of runs that have asked.
type RequestCounts = Arc<Mutex<HashMap<String, u64>>>;

/// Serves until its input ends.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        println!("{port}");
        std::io::stdout().flush().expect("a pipe");
        std::thread::spawn(|| {
            drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
            std::process::exit(0);
        });
        let asked = RequestCounts::default();
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&asked)));
            }
        }
    });
}

/// Answers the requests of one connection until it is closed.
async fn answer(stream: TcpStream, asked: RequestCounts) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    loop {
        let (mut line, mut length, mut path) = (String::new(), 0_usize, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if path.is_empty() {
                line.split(' ').nth(1)?.clone_into(&mut path);
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok()?;
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let mut parts = path.trim_start_matches('/').split('/');
        let turns: u64 = parts.next()?.parse().ok()?;
        let name = parts.next()?.to_owned();
        let body = if path.ends_with("/completions") {
            let runs: Option<u64> = name.strip_prefix('-').and_then(|n| n.parse().ok());
            if let Some(runs) = runs {
                let results = r#""role":"tool""#.as_bytes();
                let before = body.windows(results.len()).filter(|w| *w == results);
                let before = before.count() as u64;
                if count(&asked, name, u64::from(before == 0))? < runs {
                    tokio::time::sleep(UNTIL_ALL_HAVE_ASKED).await;
                }
                response(before + 1, turns)
            } else {
                response(count(&asked, name, 1)?, turns)
            }
        } else {
            r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#.to_owned()
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream
            .get_mut()
            .write_all((head + &body).as_bytes())
            .await
            .ok()?;
    }
}

/// Adds `more` requests to the count of that name and returns the new count.
fn count(asked: &RequestCounts, name: String, more: u64) -> Option<u64> {
    let mut asked = asked.lock().ok()?;
    let asked = asked.entry(name).or_default();
    *asked += more;
    Some(*asked)
}

/// The response to request `n` of a run of so many turns.
fn response(n: u64, turns: u64) -> String {
    let (message, stop) = if n <= turns {
        let arguments = format!(r#"{{\"path\":\"{FILE}\"}}"#);
        (
            format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{n}","type":"function","function":{{"name":"read_file","arguments":"{arguments}"}}}}]}}"#
            ),
            "tool_calls",
        )
    } else {
        (
            r#"{"role":"assistant","content":"All of it is read."}"#.to_owned(),
            "stop",
        )
    };
    format!(
        r#"{{"id":"r{n}","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{message},"finish_reason":"{stop}"}}],"usage":{{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}}}"#
    )
}
