//! A server on this machine that answers with bodies that it was given, as they stand.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One canned response.
pub struct Served {
    pub body: Vec<u8>,
    pub headers: Vec<(String, String)>,
    pub status: u16,
}

/// Serves response `n` to every POST below `/n/`; any GET is answered with 200.
pub struct Loopback {
    accepting: JoinHandle<()>,
    port: u16,
}

impl Loopback {
    pub async fn serving(served: Vec<Served>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::new(served);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = Arc::clone(&served);
                // A client that goes away has what it wanted.
                tokio::spawn(async move { drop(answer(stream, &served).await) });
            }
        });
        Self { accepting, port }
    }

    pub fn address_of(&self, response: usize) -> String {
        format!("http://127.0.0.1:{}/{response}", self.port)
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(mut stream: TcpStream, served: &[Served]) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let (line, _) = request.split_once("\r\n").unwrap_or_default();
    let response = line
        .strip_prefix("POST /")
        .and_then(|rest| rest.split_once('/'))
        .and_then(|(number, _)| number.parse::<usize>().ok())
        .and_then(|number| served.get(number));
    let Some(response) = response else {
        stream.write_all(&head(200, &[], 2)).await?;
        stream.write_all(b"{}").await?;
        return stream.shutdown().await;
    };
    let body = &response.body;
    stream
        .write_all(&head(response.status, &response.headers, body.len()))
        .await?;
    // In two pieces, so that no reader may count on one.
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first).await?;
    stream.flush().await?;
    stream.write_all(second).await?;
    stream.shutdown().await
}

fn head(status: u16, headers: &[(String, String)], length: usize) -> Vec<u8> {
    let kept = ["content-type", "retry-after", "retry-after-ms"];
    let headers = headers
        .iter()
        .filter(|(name, _)| kept.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    format!(
        "HTTP/1.1 {status} Recorded\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// Reads a request whole: its length stands in its head.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Ok(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}
