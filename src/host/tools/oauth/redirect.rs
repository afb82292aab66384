//! Listens on this machine for the answer that a browser brings. Does not know what an answer has to hold.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::fault::OAuthFault;

/// The path that answers come to.
const PATH: &str = "/callback";
/// The most bytes of a request that are read.
const MOST_BYTES: usize = 16 << 10;
/// Maximum time for a request to arrive.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of requests that are read at once: a browser opens connections that it may not use.
const MOST_AT_ONCE: usize = 16;

/// A port of this machine, on loopback alone.
#[derive(Debug)]
pub(super) struct Redirect {
    address: String,
    listener: TcpListener,
}

impl Redirect {
    /// Listens on that port, else on any that is free.
    pub(super) async fn listen(port: Option<u16>) -> Result<Self, OAuthFault> {
        let failed = |fault: io::Error| OAuthFault::Listen(fault.to_string());
        let place = (Ipv4Addr::LOCALHOST, port.unwrap_or(0));
        let listener = TcpListener::bind(place).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            address: format!("http://127.0.0.1:{port}{PATH}"),
            listener,
        })
    }

    /// The address for the browser's redirect.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for a request whose query `read` takes; any other one is refused.
    pub(super) async fn answer<T>(
        &self,
        read: impl Fn(&str) -> Option<Result<T, OAuthFault>>,
    ) -> Result<T, OAuthFault> {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < MOST_AT_ONCE => {
                    let (stream, _) = accepted.map_err(|fault| OAuthFault::Listen(fault.to_string()))?;
                    open.push(tokio::time::timeout(TIMEOUT, served(stream, &read)));
                }
                Some(done) = open.next(), if !open.is_empty() => {
                    if let Ok(Ok(Some(result))) = done {
                        return result;
                    }
                }
            }
        }
    }
}

/// Reads one request and answers it; `None` if it is not the one that is waited for.
async fn served<T>(
    mut stream: TcpStream,
    read: impl Fn(&str) -> Option<Result<T, OAuthFault>>,
) -> io::Result<Option<Result<T, OAuthFault>>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0_u8; 2_048];
        let length = stream.read(&mut part).await?;
        if length == 0 || head.len() >= MOST_BYTES {
            return Ok(None);
        }
        head.extend_from_slice(part.get(..length).unwrap_or_default());
    }
    let head = String::from_utf8_lossy(&head);
    let result = query_of(&head).and_then(read);
    let (status, text) = match &result {
        Some(Ok(_)) => (
            "200 OK",
            "monolith has the answer. You can close this window.\n",
        ),
        Some(Err(_)) => (
            "400 Bad Request",
            "monolith does not take this answer; the terminal says why. You can close this window.\n",
        ),
        None => ("404 Not Found", "There is nothing here.\n"),
    };
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    // Whether a browser shows it changes nothing.
    if stream.write_all(response.as_bytes()).await.is_ok() {
        drop(stream.shutdown().await);
    }
    Ok(result)
}

/// The query of a request for the path of answers.
fn query_of(head: &str) -> Option<&str> {
    let line = head.lines().next()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    let (path, query) = target.split_once('?')?;
    (path == PATH).then_some(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_for_the_path_is_read() {
        let check = |head: &str, expect: Option<&str>| assert_eq!(query_of(head), expect, "{head}");
        check(
            "GET /callback?code=c&state=s HTTP/1.1\r\nHost: h\r\n\r\n",
            Some("code=c&state=s"),
        );
        check("GET /callback HTTP/1.1\r\n\r\n", None);
        check("GET /other?code=c HTTP/1.1\r\n\r\n", None);
        check("POST /callback?code=c HTTP/1.1\r\n\r\n", None);
        check("", None);
    }

    #[tokio::test]
    async fn what_is_no_answer_does_not_end_the_wait() {
        let redirect = Redirect::listen(None).await.unwrap();
        let at = redirect.address().to_owned();
        let host = at
            .strip_prefix("http://")
            .unwrap()
            .strip_suffix(PATH)
            .unwrap();
        // A connection that stays silent, and one with another state.
        let _silent = TcpStream::connect(host).await.unwrap();
        let asked = async {
            let other = format!("{at}?state=other");
            let refused = reqwest::get(other).await.unwrap();
            assert_eq!(refused.status(), 404);
            let taken = reqwest::get(format!("{at}?state=own")).await.unwrap();
            assert_eq!(taken.status(), 200);
        };
        let read = |query: &str| (query == "state=own").then_some(Ok(7));
        let (answer, ()) = tokio::join!(redirect.answer(read), asked);
        assert_eq!(answer, Ok(7));
    }
}
