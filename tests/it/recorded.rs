//! The whole machine over a loopback server that serves recorded responses of providers: whatever a provider once said, the run
//! comes to a typed end, verifies and replays.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::Arc;

use assert_cmd::Command;
use flate2::read::GzDecoder;
use monolith_conformance::RecordedResponse;
use monolith_core::adapter::Adapter;
use monolith_core::contract::ProviderType;
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, TargetCapability,
};
use monolith_core::kernel::{AgentOutcome, EntryDraft, Outcome, Run};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{BlobSource, Replayer};
use monolith_core::session::{Control, RedactionKey};
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{Environment, NoObserver, Observer, RunRequest, drive, prepare};
use monolith_host::store::{Durability, Store, StoreReader};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::fixture::bound;
use super::loopback::{Loopback, Served};

const RECORDS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../shared/corpus/provider-responses.jsonl.gz"
);
/// Maximum number of runs driven at a time.
const AT_A_TIME: usize = 24;

/// Twins of what is recorded, one of a kind, for where the recordings are not at hand.
const SYNTHETIC: &str = include_str!("../fixtures/responses.jsonl");

fn records() -> Vec<RecordedResponse> {
    let own = SYNTHETIC.lines().map(str::to_owned);
    let mut lines: Vec<String> = own.collect();
    if let Ok(file) = File::open(RECORDS) {
        let recorded = BufReader::new(GzDecoder::new(file)).lines();
        // The quick form plays every fourth of them.
        lines.extend(recorded.map(Result::unwrap).step_by(bound(4, 1)));
    } else {
        // The test runner shows what a passing test prints to nobody.
        let line = format!("skipped 3677 recorded responses: {RECORDS} is missing\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    let (mut records, mut skipped) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (at, line) in (1..).zip(lines) {
        match RecordedResponse::parse(at, &line) {
            Ok(record) => records.push(record),
            Err(rule) => *skipped.entry(rule.to_string()).or_default() += 1,
        }
    }
    for (rule, count) in skipped {
        println!("skipped {count} recorded responses: {rule}");
    }
    records
}

/// A contract whose one target lies at `address`.
fn spec(provider: ProviderType, address: &str, policy: &str) -> ContractSpec {
    let text = json!({
        "system": "You answer.",
        "task": "Go on.",
        "tool_policy": policy,
        "strict_mode": policy == "required",
        "targets": [{"provider": "recorded", "model": "recorded-model", "model_profile_id": "unknown", "context_window": 131_072}],
        "providers": {"recorded": {"type": provider.as_str(), "base_url": address}},
        "tools": {"builtin": ["echo"]},
        // The model says the same again after a tool call; the second turn ends the run.
        "max_turns": 2,
        // One attempt: what a provider asks to wait is not waited for.
        "max_attempts_per_turn": 1,
    });
    ContractSpec::parse("recorded.json", &text.to_string(), &[]).unwrap()
}

/// The provider type of each adapter, as contracts are made.
fn provider_types() -> BTreeMap<&'static str, ProviderType> {
    let mut found = BTreeMap::new();
    for provider in ProviderType::ALL {
        if matches!(provider, ProviderType::Local | ProviderType::Scripted) {
            continue;
        }
        let spec = spec(provider, "http://127.0.0.1:9", "forbidden");
        let manifest = CapabilityManifest {
            servers: BTreeMap::new(),
            targets: vec![TargetCapability::default()],
        };
        if let Ok(contract) = ContractFactory.make(&spec, &manifest, None) {
            let version = &contract.targets[0].adapter_version;
            let adapter = Adapter::by_version(version).unwrap();
            found.entry(adapter.version()).or_insert(provider);
        }
    }
    found
}

struct Unwatched;

impl Observer for Unwatched {
    fn entry(&mut self, _: &EntryDraft, _: &SealedEntry, _: &Run) {}

    fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(NoObserver)
    }
}

struct Blobs(StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).ok().flatten()
    }
}

/// The end of one run.
struct Ended {
    outcome: Outcome,
    executed: u64,
    run_id: RunId,
}

async fn run(spec: ContractSpec, run_id: String, folder: Arc<Path>, store: Arc<Store>) -> Ended {
    let key = RedactionKey::new([7; 32]);
    let request = RunRequest::new(spec, &*folder, Environment::new(|_| None), key)
        .named(RunId::try_from(run_id).unwrap());
    let prepared = prepare(request, &CancellationToken::new()).await.unwrap();
    let (_control, asked) = mpsc::channel(1);
    let finished = drive(prepared, &store, asked, &mut Unwatched)
        .await
        .unwrap();
    Ended {
        outcome: finished.run.outcome().expect("a typed end"),
        executed: finished.run.counters().executed,
        run_id: finished.run_id,
    }
}

fn verifies_and_replays(reader: &mut StoreReader, blobs: &Blobs, run_id: &RunId) {
    let report = reader.verify_run(run_id, false).unwrap();
    assert!(report.holds(), "{run_id}: {:?}", report.first_bad);
    let stored = reader.read_run(run_id).unwrap();
    let mut replayer = Replayer::new(stored.contract().unwrap(), run_id);
    for entry in stored {
        replayer.take(&entry.unwrap(), blobs);
    }
    let report = replayer.finish(false);
    assert!(report.same, "{run_id}: {:?}", report.first_difference);
}

#[test]
fn every_recorded_response_brings_a_run_to_a_typed_end_that_verifies_and_replays() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let (mut records, types) = (records(), provider_types());
    let all = records.len();
    records.retain(|record| types.contains_key(record.adapter.version()));
    println!(
        "skipped {} of protocols that no provider type asks in",
        all - records.len()
    );
    let bodies = records.iter().map(|record| Served {
        body: record.response.clone().into_bytes(),
        headers: record.headers.clone(),
        status: record.status,
    });
    let bodies: Vec<Served> = bodies.collect();
    let total = records.len();
    let ended = runtime.block_on(async {
        let server = Loopback::serving(bodies).await;
        let store = Arc::new(Store::open(&path, Durability::Normal).unwrap());
        let room = Arc::new(Semaphore::new(AT_A_TIME));
        let folder: Arc<Path> = Arc::from(folder.path());
        let mut runs = JoinSet::new();
        for (at, record) in records.iter().enumerate() {
            let policy = ["required", "optional"][at % 2];
            let provider = types[record.adapter.version()];
            let spec = spec(provider, &server.address_of(at), policy);
            let permit = Arc::clone(&room).acquire_owned().await.unwrap();
            let (folder, store) = (Arc::clone(&folder), Arc::clone(&store));
            let proto = record.proto.clone();
            runs.spawn(async move {
                let ended = Box::pin(run(spec, format!("r-{at}"), folder, store)).await;
                drop(permit);
                (proto, policy, ended)
            });
        }
        runs.join_all().await
    });
    assert_eq!(ended.len(), total);
    let mut table: BTreeMap<(String, String), usize> = BTreeMap::new();
    let blobs = Blobs(StoreReader::open(&path).unwrap());
    let mut reader = StoreReader::open(&path).unwrap();
    for (proto, policy, ended) in ended {
        let class = ended.outcome.class;
        let with_tools = class == AgentOutcome::CompletedWithTools;
        assert_eq!(
            with_tools,
            with_tools && ended.executed > 0,
            "{}",
            ended.run_id
        );
        let chat_only = class == AgentOutcome::CompletedChatOnly;
        assert!(!(chat_only && policy == "required"), "{}", ended.run_id);
        verifies_and_replays(&mut reader, &blobs, &ended.run_id);
        let row = (proto, format!("{policy:8}  {}", ended.outcome));
        *table.entry(row).or_default() += 1;
    }
    for ((proto, end), count) in &table {
        println!("{count:5}  {proto:18}  {end}");
    }
    println!("{total} runs, all verify and replay");
    assert!(total >= SYNTHETIC.lines().count());
    // The twins are there to reach more than one kind of end.
    assert!(table.len() >= 6, "{table:?}");
}

#[test]
fn judging_a_file_prints_a_row_for_every_record_and_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    std::fs::write(&path, SYNTHETIC).unwrap();
    let output = Command::cargo_bin("monolith")
        .unwrap()
        .args(["corpus", "adapters", "--json"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = document["records"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(rows.len(), SYNTHETIC.lines().count());
    assert_eq!(
        *row("chat-call"),
        json!({"id": "chat-call", "status": "native", "failure_code": null,
            "calls": [{"name": "echo", "arguments": {"text": "hi"}}]})
    );
    assert_eq!(
        *row("chat-cut"),
        json!({"id": "chat-cut", "status": "rejected", "failure_code": "ARGS_INVALID_JSON", "calls": []})
    );
    assert_eq!(row("chat-429")["failure_code"], "rate_limit");
    let table = document["table"].as_array().unwrap();
    let counted: u64 = table.iter().map(|r| r["records"].as_u64().unwrap()).sum();
    assert_eq!(counted, u64::try_from(rows.len()).unwrap());
}

#[test]
fn a_line_that_is_no_record_is_named_and_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let lines: Vec<&str> = SYNTHETIC.lines().collect();
    std::fs::write(&path, format!("{}\noops\n{}\n", lines[0], lines[1])).unwrap();
    let output = Command::cargo_bin("monolith")
        .unwrap()
        .args(["corpus", "adapters", "--json"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("line 2: not a record"), "{printed}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["records"].as_array().unwrap().len(), 2);
}
