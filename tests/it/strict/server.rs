//! A strict server on loopback: it refuses what the provider refuses, and else says the next part of its script.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::provider::Provider;
use super::script::{Said, Script};
use crate::http::HttpRequest;

/// A response of the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Answer {
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: body.to_string(),
        }
    }

    /// Events with their data; a name of an event where the protocol has those.
    pub fn events<'a>(events: impl IntoIterator<Item = (Option<&'a str>, String)>) -> Self {
        let line = |(name, data): (Option<&str>, String)| {
            let name = name.map_or(String::new(), |name| format!("event: {name}\n"));
            format!("{name}data: {data}\n\n")
        };
        Self {
            status: 200,
            content_type: "text/event-stream",
            body: events.into_iter().map(line).collect(),
        }
    }
}

/// A request that the rules admit.
#[derive(Debug, Default)]
pub struct Asked {
    pub streamed: bool,
    /// Names of the offered tools, as they were sent.
    pub tools: Vec<String>,
    /// Messages of the model with calls that the conversation holds.
    pub rounds: usize,
    /// Calls in them.
    pub calls: usize,
    /// True if the answer comes with the model's reasoning.
    pub reasons: bool,
    /// State that the server gave and did not get back.
    pub lost: Vec<String>,
}

impl Asked {
    /// The name under which the request offers the tool that the script means; the script's own name if it offers none.
    pub fn tool(&self, meant: &str) -> String {
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            letters.map(|c| c.to_ascii_lowercase()).collect()
        };
        let offered = self
            .tools
            .iter()
            .find(|name| plain(name).contains(&plain(meant)));
        offered.cloned().unwrap_or_else(|| meant.to_owned())
    }
}

/// The answers that a server gave, for its checks: the model's messages by their first call, in the protocol's form.
#[derive(Debug, Default)]
pub struct Given {
    /// Distinguishes the ids and signatures of two servers of one provider.
    pub tag: String,
    pub messages: BTreeMap<String, Value>,
    /// The signatures, each with the text that it signs.
    pub signatures: BTreeMap<String, String>,
}

impl Given {
    /// A signature that only this server made, for this text.
    pub fn sign(&mut self, text: &str) -> String {
        let signature = letters(40, &["signature", &self.tag, text]);
        self.signatures.insert(signature.clone(), text.to_owned());
        signature
    }

    /// The letters of an id: `length` of them, for this place.
    pub fn id(&self, length: usize, round: usize, call: usize) -> String {
        letters(length, &["id", &self.tag, &format!("{round}.{call}")])
    }
}

/// Letters and digits made of `parts`, the same each time (FNV-1a).
fn letters(length: usize, parts: &[&str]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |byte: u8| {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        hash
    };
    for byte in parts.join("/").bytes() {
        mix(byte);
    }
    let letter = |_| {
        let at = (mix(0) >> 32) as usize % ALPHABET.len();
        char::from(ALPHABET[at])
    };
    (0..length).map(letter).collect()
}

/// The requests of a server, in order, with the status of each answer.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub requests: Vec<(Value, u16)>,
    /// Answers of refused requests.
    pub refused: Vec<String>,
    /// State that did not come back.
    pub lost: Vec<String>,
}

/// A running server. It stops when it is dropped.
pub struct Server {
    log: Arc<Mutex<Log>>,
    port: u16,
    provider: Provider,
    stopped: Arc<AtomicBool>,
}

impl Server {
    pub fn start(provider: Provider, tag: &str, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (log, stopped) = (Arc::<Mutex<Log>>::default(), Arc::<AtomicBool>::default());
        let mut state = State {
            asked: BTreeMap::new(),
            given: Given {
                tag: tag.to_owned(),
                ..Given::default()
            },
            log: Arc::clone(&log),
            provider,
            script,
        };
        let stop = Arc::clone(&stopped);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                state.serve(stream);
            }
        });
        Self {
            log,
            port,
            provider,
            stopped,
        }
    }

    /// The address below which the provider's paths lie.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.provider.base())
    }

    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The log without the one refusal that tells a client which host it asks: an address on loopback is none of
    /// Mistral's, so the first streamed request asks for usage and is repeated without it.
    pub fn log(&self) -> Log {
        let mut log = self.log.lock().unwrap().clone();
        let asks_usage = |refusal: &String| refusal.contains("stream_options");
        let first = log.refused.iter().position(asks_usage);
        if let Some(at) = first.filter(|_| self.provider == Provider::Mistral) {
            log.refused.remove(at);
            if let Some(request) = log.requests.iter().position(|(_, status)| *status == 422) {
                log.requests.remove(request);
            }
        }
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

struct State {
    /// Admitted requests by round.
    asked: BTreeMap<usize, usize>,
    given: Given,
    log: Arc<Mutex<Log>>,
    provider: Provider,
    script: Script,
}

impl State {
    fn serve(&mut self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let request = HttpRequest::read(&mut reader);
        let first = request.head.lines().next().unwrap_or_default();
        let answer = match first.strip_prefix("POST ") {
            Some(rest) => self.answer(rest.split(' ').next().unwrap_or_default(), &request.body),
            None => Answer::json(200, &json!({"object": "list", "data": []})),
        };
        let (status, kind, body) = (answer.status, answer.content_type, answer.body);
        let length = body.len();
        // A client that goes away has what it wanted.
        let _ = write!(
            reader.into_inner(),
            "HTTP/1.1 {status} Strict\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    }

    fn answer(&mut self, path: &str, body: &str) -> Answer {
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            return Answer::json(
                400,
                &json!({"error": {"message": "could not parse the JSON body"}}),
            );
        };
        let judged = self.provider.judge(path, &body, &self.given);
        let mut log = self.log.lock().unwrap();
        let answer = match judged {
            Err(refusal) => {
                log.refused.push(refusal.body.clone());
                refusal
            }
            Ok(asked) => {
                log.lost.extend(asked.lost.iter().cloned());
                let before = self.asked.entry(asked.rounds).or_default();
                let said = self.script.at(asked.rounds, *before);
                *before += 1;
                match said {
                    Said::Fault(status) => self.provider.fault(*status),
                    _ => self.provider.said(said, &asked, &mut self.given),
                }
            }
        };
        log.requests.push((body, answer.status));
        answer
    }
}
