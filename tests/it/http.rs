//! Servers of tests on loopback: a request is read whole, and answered with a text.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

/// A request: its head as it came, and its body.
pub struct HttpRequest {
    pub head: String,
    pub body: String,
}

impl HttpRequest {
    /// Reads a request; what a client that went away has left out is empty.
    pub fn read(reader: &mut impl BufRead) -> Self {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            if let Some(size) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = size.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = Vec::new();
        let _ = reader.take(length).read_to_end(&mut body);
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { head, body }
    }
}

/// Answers every request with what `respond` makes of it: the status with further lines of the head, and the body. Returns the port.
pub fn serving(respond: impl Fn(&HttpRequest) -> (String, String) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (status, body) = respond(&HttpRequest::read(&mut reader));
            let length = body.len();
            let _ = write!(
                reader.into_inner(),
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    port
}
