//! Fetching from a hub on loopback that answers as hubs do, and as they should not.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{
    Hub, HubFile, HubReference, ModelStore, ModelStoreError, NewModel, Partial, PullError,
};
use crate::inference::Secret;
use monolith_core::message::Digest;

const REFERENCE: &str = "hf:owner/repo/dir/m.gguf";

/// The behaviour of the hub.
#[derive(Clone)]
struct HubBehaviour {
    /// The byte where each body ends, by the number of its request; the connection is closed there.
    cuts: Vec<usize>,
    file: Vec<u8>,
    /// True if the card has the licence.
    licence: bool,
    /// True if the file is on another host, as large files are.
    linked: bool,
    /// A wrong Content-Range.
    range: Option<&'static str>,
    /// True if ranges are honoured.
    ranges: bool,
    /// Number of redirects before the hub answers.
    redirects: usize,
    /// A wrong sha256 that the hub states.
    sha256: Option<String>,
    /// A wrong length that the hub states.
    size: Option<usize>,
    status: u16,
}

impl HubBehaviour {
    fn usual(file: Vec<u8>) -> Self {
        Self {
            cuts: Vec::new(),
            file,
            licence: true,
            linked: true,
            range: None,
            ranges: true,
            redirects: 0,
            sha256: None,
            size: None,
            status: 200,
        }
    }
}

struct FakeHub {
    accepting: JoinHandle<()>,
    base: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl FakeHub {
    async fn with(behaviour: HubBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (requests, own) = (Arc::clone(&seen), base.clone());
        let accepting = tokio::spawn(async move {
            let bodies = Arc::new(Mutex::new(0));
            while let Ok((stream, _)) = listener.accept().await {
                let (behaviour, own) = (behaviour.clone(), own.clone());
                let (bodies, requests) = (Arc::clone(&bodies), Arc::clone(&requests));
                tokio::spawn(async move {
                    drop(answer(stream, &behaviour, &own, &bodies, &requests).await);
                });
            }
        });
        Self {
            accepting,
            base,
            seen,
        }
    }

    fn hub(&self) -> Hub {
        Hub::new(&self.base, Some(Secret::new("hf_secret"))).unwrap()
    }

    /// The beginnings of the requests for bytes of the file.
    fn fetches(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let fetches = seen
            .iter()
            .filter(|request| request.starts_with("GET /cdn"));
        fetches.cloned().collect()
    }
}

impl Drop for FakeHub {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    behaviour: &HubBehaviour,
    base: &str,
    bodies: &Mutex<usize>,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..read]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    requests.lock().unwrap().push(request.clone());
    let line = request.lines().next().unwrap_or_default().to_owned();
    let file = &behaviour.file;
    let sha256: [u8; 32] = Sha256::digest(file).into();
    let sha256 = behaviour
        .sha256
        .clone()
        .unwrap_or_else(|| Digest::from_bytes(sha256).to_string());
    let size = behaviour.size.unwrap_or(file.len());
    let head = |status: u16, headers: &str| {
        format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n")
    };
    let path = line.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/api/models/owner/repo/revision/") {
        let card = if behaviour.licence {
            r#"{"sha":"c0ffee","cardData":{"license":"apache-2.0"}}"#
        } else {
            r#"{"sha":"c0ffee"}"#
        };
        let length = format!("content-length: {}\r\n", card.len());
        stream.write_all(head(200, &length).as_bytes()).await?;
        return stream.write_all(card.as_bytes()).await;
    }
    if behaviour.status != 200 {
        let head = head(behaviour.status, "content-length: 0\r\n");
        return stream.write_all(head.as_bytes()).await;
    }
    let hop = path
        .split_once("?hop=")
        .map_or(0, |(_, hop)| hop.parse().unwrap_or(0));
    if hop < behaviour.redirects && !path.starts_with("/cdn") {
        let next = path.split('?').next().unwrap_or_default();
        let location = format!("location: {next}?hop={}\r\ncontent-length: 0\r\n", hop + 1);
        return stream.write_all(head(307, &location).as_bytes()).await;
    }
    if !path.starts_with("/cdn") && behaviour.linked {
        let headers = format!(
            "location: {base}/cdn/m?signature=s3cret\r\nx-linked-etag: \"{sha256}\"\r\n\
             x-linked-size: {size}\r\nx-repo-commit: c0ffee\r\ncontent-length: 0\r\n"
        );
        return stream.write_all(head(302, &headers).as_bytes()).await;
    }
    if line.starts_with("HEAD ") {
        let headers = format!("etag: \"{sha256}\"\r\ncontent-length: {size}\r\n");
        return stream.write_all(head(200, &headers).as_bytes()).await;
    }
    let range = request
        .lines()
        .find_map(|line| line.strip_prefix("range: bytes="));
    let from = range.and_then(|range| range.trim_end_matches('-').parse().ok());
    let from = from.filter(|_| behaviour.ranges);
    let body = &file[from.unwrap_or(0).min(file.len())..];
    let mut headers = format!("content-length: {}\r\n", body.len());
    if let Some(from) = from {
        let range = format!("bytes {from}-{}/{}", file.len() - 1, file.len());
        headers = format!(
            "{headers}content-range: {}\r\n",
            behaviour.range.unwrap_or(&range)
        );
    }
    let status = if from.is_some() { 206 } else { 200 };
    stream.write_all(head(status, &headers).as_bytes()).await?;
    let number = {
        let mut bodies = bodies.lock().unwrap();
        *bodies += 1;
        *bodies - 1
    };
    let end = behaviour.cuts.get(number).copied().unwrap_or(usize::MAX);
    stream.write_all(&body[..end.min(body.len())]).await?;
    stream.shutdown().await
}

/// A model by its header, and some bytes.
fn model() -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 16]);
    bytes.extend((0..2000_u16).flat_map(u16::to_le_bytes));
    bytes
}

struct Fixture {
    folder: TempDir,
    store: ModelStore,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().join("models"));
        Self { folder, store }
    }

    async fn pull(&self, hub: &Hub) -> Result<Digest, PullError> {
        let reference: HubReference = REFERENCE.parse().unwrap();
        let file = hub.describe(&reference).await?;
        let mut partial = Partial::open(&self.store.pulling(), &file)?;
        hub.fetch(&file, &mut partial, &mut |_| ()).await?;
        Ok(self
            .store
            .take(partial, entry(&file), &mut |_| true)?
            .blake3)
    }

    /// The parts that lie about.
    fn parts(&self) -> Vec<PathBuf> {
        let pulling = self.folder.path().join("models/pulling");
        let entries = fs::read_dir(pulling).into_iter().flatten().flatten();
        let part = |path: &PathBuf| path.extension().is_some_and(|e| e == "part");
        entries.map(|entry| entry.path()).filter(part).collect()
    }
}

fn entry(file: &HubFile) -> NewModel<'_> {
    NewModel {
        expected: None,
        licence: file.licence.as_deref(),
        name: "m",
        source: "a test",
    }
}

#[tokio::test]
async fn a_file_of_a_hub_is_described_fetched_checked_and_stored_and_the_token_goes_nowhere_else() {
    let served = FakeHub::with(HubBehaviour::usual(model())).await;
    // The file's bytes come from another origin by name, as large files do.
    let hub = Hub::new(
        &served.base.replace("127.0.0.1", "localhost"),
        Some(Secret::new("hf_secret")),
    )
    .unwrap();
    let fixture = Fixture::new();
    let file = hub.describe(&REFERENCE.parse().unwrap()).await.unwrap();
    assert_eq!(file.bytes, model().len() as u64);
    assert_eq!(file.licence.as_deref(), Some("apache-2.0"));
    assert_eq!(file.source(), "hf:owner/repo/dir/m.gguf@c0ffee");
    assert_eq!(file.sha256.as_deref().map(str::len), Some(64));
    assert_eq!(fixture.pull(&hub).await.unwrap(), Digest::of(&model()));
    let stored = fixture.store.verify("m", &mut |_| true).unwrap();
    assert_eq!(stored.licence.as_deref(), Some("apache-2.0"));
    assert_eq!(fixture.parts(), Vec::<PathBuf>::new());
    let seen = served.seen.lock().unwrap();
    for request in seen.iter() {
        let has_token = request.contains("hf_secret");
        assert_eq!(has_token, !request.starts_with("GET /cdn"), "{request}");
    }
}

#[tokio::test]
async fn a_file_that_lies_on_the_hub_itself_is_fetched_and_a_card_without_a_licence_is_no_error() {
    let mut behaviour = HubBehaviour::usual(model());
    (behaviour.linked, behaviour.licence, behaviour.redirects) = (false, false, 3);
    let served = FakeHub::with(behaviour).await;
    let fixture = Fixture::new();
    let file = served.hub().describe(&REFERENCE.parse().unwrap()).await;
    assert_eq!(file.unwrap().licence, None);
    assert_eq!(
        fixture.pull(&served.hub()).await.unwrap(),
        Digest::of(&model())
    );
}

#[tokio::test]
async fn a_fetch_that_is_cut_off_goes_on_within_one_pull() {
    let mut behaviour = HubBehaviour::usual(model());
    behaviour.cuts = vec![1000, 1000];
    let served = FakeHub::with(behaviour).await;
    let fixture = Fixture::new();
    assert_eq!(
        fixture.pull(&served.hub()).await.unwrap(),
        Digest::of(&model())
    );
    let ranges: Vec<bool> = served
        .fetches()
        .iter()
        .map(|fetch| fetch.contains("range: bytes="))
        .collect();
    assert_eq!(ranges, [false, true, true]);
}

#[tokio::test]
async fn a_pull_that_died_goes_on_where_it_was_unless_the_file_is_another_one() {
    let mut behaviour = HubBehaviour::usual(model());
    // The second request brings nothing at all: the pull ends there.
    behaviour.cuts = vec![1000, 0];
    let served = FakeHub::with(behaviour).await;
    let fixture = Fixture::new();
    let fault = fixture.pull(&served.hub()).await.unwrap_err();
    let PullError::CutOff { got, expected, .. } = fault else {
        panic!("{fault}");
    };
    assert!((1..=1000).contains(&got), "{got}");
    assert_eq!(expected, model().len() as u64);
    assert_eq!(fs::metadata(&fixture.parts()[0]).unwrap().len(), got);
    assert_eq!(
        fixture.pull(&served.hub()).await.unwrap(),
        Digest::of(&model())
    );
    let last = served.fetches().pop().unwrap();
    assert!(last.contains(&format!("range: bytes={got}-")), "{last}");

    // The same part under another file's etag is of no use.
    let fixture = Fixture::new();
    let mut behaviour = HubBehaviour::usual(model());
    behaviour.cuts = vec![1000, 0];
    let served = FakeHub::with(behaviour).await;
    drop(fixture.pull(&served.hub()).await.unwrap_err());
    let mut file = served
        .hub()
        .describe(&REFERENCE.parse().unwrap())
        .await
        .unwrap();
    let have = |file: &HubFile| {
        Partial::open(&fixture.store.pulling(), file)
            .unwrap()
            .have()
    };
    assert!(have(&file) > 0);
    file.etag = "another".to_owned();
    assert_eq!(have(&file), 0);
}

#[tokio::test]
async fn a_server_without_ranges_begins_anew_and_one_with_other_ranges_is_refused() {
    let mut behaviour = HubBehaviour::usual(model());
    (behaviour.cuts, behaviour.ranges) = (vec![1000], false);
    let served = FakeHub::with(behaviour.clone()).await;
    let fixture = Fixture::new();
    assert_eq!(
        fixture.pull(&served.hub()).await.unwrap(),
        Digest::of(&model())
    );
    (behaviour.ranges, behaviour.range) = (true, Some("bytes 7-4023/4024"));
    let served = FakeHub::with(behaviour).await;
    let fixture = Fixture::new();
    let fault = fixture.pull(&served.hub()).await.unwrap_err();
    assert!(matches!(fault, PullError::Length { .. }), "{fault}");
    assert_eq!(fs::metadata(&fixture.parts()[0]).unwrap().len(), 0);
}

#[tokio::test]
async fn a_wrong_hash_or_a_file_that_is_no_model_is_removed() {
    let mut behaviour = HubBehaviour::usual(model());
    behaviour.sha256 = Some("0".repeat(64));
    let served = FakeHub::with(behaviour).await;
    let fixture = Fixture::new();
    let fault = fixture.pull(&served.hub()).await.unwrap_err();
    assert!(matches!(fault, PullError::Sha256 { .. }), "{fault}");
    assert_eq!(fixture.parts(), Vec::<PathBuf>::new());
    assert_eq!(fixture.store.list().unwrap(), []);

    let served = FakeHub::with(HubBehaviour::usual(b"<html>".to_vec())).await;
    let fault = fixture.pull(&served.hub()).await.unwrap_err();
    assert!(
        matches!(fault, PullError::Store(ModelStoreError::NoModel { .. })),
        "{fault}"
    );
    assert_eq!(fixture.parts(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn refusals_wrong_lengths_and_loops_end_with_their_reason() {
    let check = async |change: fn(&mut HubBehaviour), expect: &str| {
        let mut behaviour = HubBehaviour::usual(model());
        change(&mut behaviour);
        let served = FakeHub::with(behaviour).await;
        let fault = Fixture::new().pull(&served.hub()).await.unwrap_err();
        assert!(fault.to_string().contains(expect), "{fault}");
        assert!(!fault.to_string().contains("s3cret"), "{fault}");
    };
    check(|m| m.status = 404, "there is no such file").await;
    check(|m| m.status = 401, "accepted its terms (HTTP 401)").await;
    check(|m| m.status = 403, "accepted its terms (HTTP 403)").await;
    check(|m| m.status = 503, "answered with HTTP 503").await;
    check(|m| m.redirects = 9, "more than 5 in a row").await;
    check(|m| m.size = Some(4000), "4024 bytes came, expected 4000").await;
    check(|m| m.size = Some(5000), "4024 bytes came, expected 5000").await;
}

#[tokio::test]
async fn a_missing_hub_and_a_file_for_no_disk_are_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let hub = Hub::new(&base, None).unwrap();
    let fault = hub.describe(&REFERENCE.parse().unwrap()).await.unwrap_err();
    assert!(matches!(fault, PullError::Unreachable { .. }), "{fault}");
    for bad in ["ftp://x", "x", "http://u:p@h"] {
        let fault = Hub::new(bad, None).unwrap_err();
        assert!(matches!(fault, PullError::Address { .. }), "{bad}: {fault}");
    }
}

#[tokio::test]
async fn two_pulls_of_one_file_do_not_run_beside_each_other() {
    let served = FakeHub::with(HubBehaviour::usual(model())).await;
    let fixture = Fixture::new();
    let file = served
        .hub()
        .describe(&REFERENCE.parse().unwrap())
        .await
        .unwrap();
    let held = Partial::open(&fixture.store.pulling(), &file).unwrap();
    let fault = fixture.pull(&served.hub()).await.unwrap_err();
    assert!(matches!(fault, PullError::Busy { .. }), "{fault}");
    drop(held);
    assert_eq!(
        fixture.pull(&served.hub()).await.unwrap(),
        Digest::of(&model())
    );
}
