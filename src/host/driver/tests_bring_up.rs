//! Bring-up for each purpose, with servers that keep a diary, an environment that counts, and a script that can be read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

use super::tests::{Blobs, Watcher, call, run, say};
use super::tests_resume::{batches, cut, request, run_id, stored};
use super::{
    DriverError, Environment, Preview, Recording, RunRequest, ServersToStart, prepare,
    prepare_fork, prepare_resume, preview, preview_recorded, reissue, reopen,
};
use crate::store::{Durability, Store, StoreReader};
use monolith_core::contract::ExecutionContract;
use monolith_core::replay::{Fork, ForkPoint, LiveScope};

/// The contents of the diary if both servers were started once and closed.
const BOTH: [&str; 4] = ["a begun", "a closed", "b begun", "b closed"];

/// Number of look-ups of each variable.
type Lookups = Arc<Mutex<BTreeMap<String, usize>>>;

/// A folder with a recorded run `r1`, whose servers keep a diary.
struct Fixture {
    folder: tempfile::TempDir,
    sets: Vec<String>,
}

impl Fixture {
    /// Records the run, with the servers `a` and `b`. None if this machine cannot start them.
    async fn recorded() -> Option<Self> {
        let python = std::process::Command::new("python3")
            .arg("--version")
            .output();
        if !python.is_ok_and(|output| output.status.success()) {
            println!("skipped 1 case: no python3 to run the tool servers with");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let mut fixture = Self {
            folder,
            sets: Vec::new(),
        };
        fixture.set_server("a", "");
        fixture.set_server("b", "");
        let script = [call("read_file", r#"{"path":"LICENSE"}"#), say("MIT.")];
        let sets: Vec<&str> = fixture.sets.iter().map(String::as_str).collect();
        run(fixture.path(), &script, &sets, Watcher::default()).await;
        assert_eq!(fixture.diary(), BOTH);
        fixture.clear_diary();
        Some(fixture)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The server of that name, with more arguments.
    fn set_server(&mut self, name: &str, mode: &str) {
        let server = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/diary_server.py"
        );
        let diary = self.path().join("diary").display().to_string();
        let key = format!("tools.mcp.{name}=");
        self.sets.retain(|set| !set.starts_with(&key));
        self.sets.push(format!(
            "{key}{{command: python3, args: ['{server}', '{diary}', {name}{mode}]}}"
        ));
    }

    /// Returns the servers' lines, sorted: they begin and end in any order.
    fn diary(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path().join("diary")).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn clear_diary(&self) {
        std::fs::remove_file(self.path().join("diary")).expect("removed");
    }

    /// The request of that run, with more terms and an environment that counts.
    fn request(&self, more: &[&str]) -> (RunRequest, Lookups) {
        let sets: Vec<&str> = self.sets.iter().map(String::as_str).collect();
        let sets = [sets.as_slice(), more].concat();
        let mut request = request(self.path(), &sets);
        let lookups = Lookups::default();
        let counted = Arc::clone(&lookups);
        request.environment = Environment::new(move |name| {
            let mut counted = counted.lock().expect("counted");
            *counted.entry(name.to_owned()).or_default() += 1;
            (name == "TOKEN").then(|| "s3cret-value-of-the-token".to_owned())
        });
        (request, lookups)
    }

    fn db(&self) -> PathBuf {
        self.path().join("runs.db")
    }

    fn contract(&self) -> ExecutionContract {
        let mut reader = StoreReader::open(&self.db()).expect("a reader");
        let run = reader.read_run(&run_id()).expect("the run");
        run.contract().expect("a contract")
    }

    fn fork_point(&self) -> ForkPoint {
        let blobs = Blobs(StoreReader::open(&self.db()).expect("a reader"));
        let mut fork = Fork::new(self.contract(), run_id(), 6);
        for entry in stored(&self.db()) {
            fork.take(&entry, &blobs);
        }
        fork.finish().expect("a point")
    }

    /// Puts a pipe where the script was: a reader gets the whole of it once, and a second one would wait for ever.
    fn script_once(&self) -> JoinHandle<()> {
        let script = self.path().join("script.jsonl");
        let text = std::fs::read(&script).expect("a script");
        std::fs::remove_file(&script).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&script).status();
        assert!(made.expect("mkfifo").success());
        std::thread::spawn(move || std::fs::write(&script, text).expect("written"))
    }

    async fn resume(&self, request: RunRequest) -> Result<(), DriverError> {
        let dead = self.path().join("dead.db");
        let kept = batches(&stored(&self.db())).len() / 2;
        cut(&self.db(), &dead, kept).await;
        let store = Store::open(&dead, Durability::Normal).expect("a store");
        let reopened = reopen(&store, &run_id(), &Environment::new(|_| None))?;
        let prepared = prepare_resume(reopened, request, &CancellationToken::new()).await?;
        prepared.close().await;
        Ok(())
    }

    async fn reissue(&self, request: RunRequest) -> Result<(), DriverError> {
        let blobs = Blobs(StoreReader::open(&self.db()).expect("a reader"));
        let entries = stored(&self.db());
        let recording = Recording {
            answered_before: BTreeMap::new(),
            blobs: &blobs,
            contract: self.contract(),
            elsewhere: false,
            entries: &entries,
            open: false,
            run_id: run_id(),
        };
        let scope = LiveScope {
            effects: false,
            inference: true,
            tools: true,
        };
        let cancel = CancellationToken::new();
        let mut silent = |_: &str| {};
        let report = reissue(recording, request, scope, &cancel, &mut silent);
        let report = Box::pin(report).await?;
        assert!(report.same, "{:?}", report.differences);
        Ok(())
    }
}

/// The purpose of a contract file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    NewRun,
    Fork,
    Preview,
    PreviewRecorded,
    Resume,
    Reissue,
}

const PURPOSES: [Purpose; 6] = [
    Purpose::NewRun,
    Purpose::Fork,
    Purpose::Preview,
    Purpose::PreviewRecorded,
    Purpose::Resume,
    Purpose::Reissue,
];

impl Purpose {
    /// Brings up for it and closes again.
    async fn up(self, fixture: &Fixture, request: RunRequest) -> Result<(), DriverError> {
        let cancel = CancellationToken::new();
        let shown = |preview: Preview| assert!(preview.faults.is_empty(), "{:?}", preview.faults);
        match self {
            Self::NewRun => prepare(request, &cancel).await?.close().await,
            Self::Fork => {
                let point = fixture.fork_point();
                let prepared = prepare_fork(point, None, request, &cancel).await?;
                prepared.close().await;
            }
            Self::Preview => {
                let all = ServersToStart::All;
                shown(preview(&request, all, &cancel).await?);
            }
            Self::PreviewRecorded => {
                let recorded = fixture.contract();
                shown(preview_recorded(&request, &recorded, &cancel).await?);
            }
            Self::Resume => fixture.resume(request).await?,
            Self::Reissue => fixture.reissue(request).await?,
        }
        Ok(())
    }
}

#[tokio::test]
async fn each_purpose_reads_each_fact_once_and_starts_each_server_once() {
    for purpose in PURPOSES {
        let Some(mut fixture) = Fixture::recorded().await else {
            return;
        };
        // Named thrice: as a secret, in a header of a model's provider, and for a server that takes it.
        let named = ["redact.env=[TOKEN, OTHER]"];
        let named = match purpose {
            // The terms are the recorded ones.
            Purpose::Resume | Purpose::Reissue => &[][..],
            _ => &named[..],
        };
        if !named.is_empty() {
            let set = fixture.sets.pop().expect("a server");
            let with_token = set.replace("{command", "{env: {T: '${TOKEN}'}, command");
            fixture.sets.push(with_token);
        }
        let script = fixture.script_once();
        let (request, lookups) = fixture.request(named);
        Box::pin(purpose.up(&fixture, request)).await.expect("up");
        script.join().expect("read once");
        let none: [&str; 0] = [];
        match purpose {
            Purpose::PreviewRecorded => assert_eq!(fixture.diary(), none),
            _ => assert_eq!(fixture.diary(), BOTH, "{purpose:?}"),
        }
        let lookups = lookups.lock().expect("counted");
        assert_eq!(lookups.contains_key("TOKEN"), !named.is_empty());
        let twice: Vec<_> = lookups.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "{purpose:?}: {twice:?}");
    }
}

type Expect<'e> = &'e dyn Fn(&DriverError) -> bool;

/// Every way in which bring-up fails once servers are up: what the second server offers, a key, a server that is gone.
#[tokio::test]
async fn whatever_fails_after_servers_are_up_closes_them() {
    let heavy = |fault: &DriverError| matches!(fault, DriverError::Contract(_));
    let no_key = |fault: &DriverError| matches!(fault, DriverError::MissingVariable { .. });
    let down = |fault: &DriverError| {
        matches!(
            fault,
            DriverError::ServerDown { .. } | DriverError::ServerDownToCompare { .. }
        )
    };
    let key = [
        "providers.demo={type: openai, base_url: 'http://127.0.0.1:9/', api_key_env: NO_KEY}",
        "targets=[{provider: demo, model: script, context_window: 9000}]",
    ];
    let cases: [(Purpose, &str, &[&str], Expect<'_>); 7] = [
        (Purpose::NewRun, ", heavy", &[], &heavy),
        (Purpose::Fork, ", heavy", &[], &heavy),
        (Purpose::Preview, ", heavy", &[], &heavy),
        (Purpose::NewRun, "", &key, &no_key),
        (Purpose::Fork, "", &key, &no_key),
        (Purpose::Resume, "", &[], &down),
        (Purpose::Reissue, "", &[], &down),
    ];
    for (purpose, more_of_b, more, expect) in cases {
        let Some(mut fixture) = Fixture::recorded().await else {
            return;
        };
        let gone = matches!(purpose, Purpose::Resume | Purpose::Reissue);
        if gone {
            std::fs::write(fixture.path().join("diary.b"), "").expect("written");
        } else {
            fixture.set_server("b", more_of_b);
        }
        let (request, _) = fixture.request(more);
        let up = Box::pin(purpose.up(&fixture, request));
        let fault = up.await.expect_err("a fault");
        assert!(expect(&fault), "{purpose:?}: {fault}");
        // One that is gone may have ended on the first question, and is then started once more.
        let mut diary = fixture.diary();
        diary.dedup();
        let ended = if gone {
            vec!["a begun", "a closed", "b begun"]
        } else {
            BOTH.to_vec()
        };
        assert_eq!(diary, ended, "{purpose:?}");
    }
}
