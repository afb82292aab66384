//! Runs whose contract names a tokenizer: with the encoder they count with it, without it they do not begin.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::bring_up::Start;
use super::tests::{Blobs, Watcher, call, end, replay, run, say};
use super::tests_resume::{request, run_id};
use super::{Environment, RunRequest, prepare, prepare_fork};
use crate::store::StoreReader;
use monolith_core::contract::ContractSpec;
use monolith_core::message::{AgentMessage, estimate_tokens};
use monolith_core::replay::Fork;

const EMBEDDED: &str = r"
task: Which licence?
tokenizer: model
targets: [{provider: m, model: smollm2-135m}]
providers: {m: {type: local, file: m.gguf}}
";
const O200K: &str = "tokenizer=gpt-4o";

fn script() -> [String; 2] {
    [
        call("read_file", r#"{"path":"text.txt"}"#),
        say("It is there."),
    ]
}

#[cfg(not(feature = "tokenizers"))]
#[tokio::test]
async fn a_build_without_the_encoder_names_the_feature_and_starts_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let finished = run(folder.path(), &script(), &[O200K], Watcher::default()).await;
    assert_eq!(end(&finished), "FAILED_PREFLIGHT (profile_incompatible)");
    assert_eq!(finished.run.counters().inferences, 0);
    let report = replay(folder.path(), &finished);
    assert!(report.same, "{:#?}", report.first_difference);
}

/// A run that a build with the encoder had begun, and whose process died.
#[cfg(not(feature = "tokenizers"))]
#[tokio::test]
async fn resuming_a_run_takes_the_encoder_that_it_started_with() {
    use super::tests_resume::{batches, cut, resume, stored};
    use super::{DriverError, drive};
    use crate::store::{Durability, Store};
    use tokio::sync::mpsc;

    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("script.jsonl"), script().join("\n")).expect("written");
    std::fs::write(folder.join("text.txt"), "x").expect("written");
    let (from, to) = (folder.join("runs.db"), folder.join("cut.db"));
    let mut asked = request(folder, &[O200K]);
    asked.run_id = Some(run_id());
    let prepared = prepare(asked, &CancellationToken::new()).await;
    let mut prepared = prepared.expect("prepared");
    if let Start::New { started, .. } = &mut prepared.start {
        assert!(started.tokenizer_fault.take().is_some());
    }
    assert_eq!(prepared.contract.tokenizer.as_deref(), Some("o200k_base/1"));
    let store = Store::open(&from, Durability::Normal).expect("a store");
    let (_keep, control) = mpsc::channel(1);
    let finished = drive(prepared, &store, control, &mut Watcher::default()).await;
    assert_eq!(
        end(&finished.expect("driven")),
        "COMPLETED_WITH_TOOLS (final_message)"
    );
    drop(store);
    cut(&from, &to, batches(&stored(&from)).len() / 2).await;
    let before = stored(&to).len();
    let refused = resume(&to, request(folder, &[O200K])).await;
    let refused = refused.err().expect("refused");
    assert!(
        matches!(refused, DriverError::NoTokenizer { .. }),
        "{refused}"
    );
    let said = refused.to_string();
    assert!(
        said.starts_with("resume run r1: tokenizer o200k_base/1: this build cannot"),
        "{said}"
    );
    assert!(said.contains("--features tokenizers"), "{said}");
    assert_eq!(stored(&to).len(), before);
}

#[tokio::test]
async fn why_a_tokenizer_is_missing_is_recorded_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("of-hunter2");
    std::fs::create_dir(&folder).expect("a folder");
    let mut asked = request(&folder, &[]);
    let of_the_model = EMBEDDED.replace("m.gguf", "no.gguf");
    asked.spec = ContractSpec::parse("c.yaml", &of_the_model, &[]).expect("a contract");
    asked.spec.redact.env = vec!["WORD".to_owned()];
    asked.environment = Environment::new(|name| (name == "WORD").then(|| "hunter2".to_owned()));
    let prepared = prepare(asked, &CancellationToken::new()).await;
    let prepared = prepared.expect("prepared");
    let Start::New { started, .. } = &prepared.start else {
        unreachable!("it is a new run");
    };
    let fault = started.tokenizer_fault.as_deref().expect("a fault");
    assert!(fault.contains("/no.gguf: it cannot be read"), "{fault}");
    assert!(fault.contains("/of-"), "{fault}");
    assert!(!fault.contains("hunter2"), "{fault}");
    prepared.close().await;
}

/// Returns the first messages of a fork of the run `r1` after its last entry but one.
async fn forked(folder: &Path, asked: RunRequest) -> Vec<AgentMessage> {
    let path = folder.join("runs.db");
    let blobs = Blobs(StoreReader::open(&path).expect("a reader"));
    let mut reader = StoreReader::open(&path).expect("a reader");
    let stored = reader.read_run(&run_id()).expect("the run");
    let mut fork = Fork::new(stored.contract().expect("a contract"), run_id(), 6);
    for entry in stored {
        fork.take(&entry.expect("an entry"), &blobs);
    }
    let point = fork.finish().expect("a point");
    let prepared = prepare_fork(point, None, asked, &CancellationToken::new()).await;
    let prepared = prepared.expect("prepared");
    let Start::New { started, .. } = &prepared.start else {
        unreachable!("it is a new run");
    };
    let messages = started.messages.clone();
    prepared.close().await;
    messages
}

#[tokio::test]
async fn what_is_a_secret_only_in_a_fork_is_counted_as_what_is_left_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = "hunter2-".repeat(100);
    std::fs::write(folder.join("text.txt"), &text).expect("written");
    run(folder, &script(), &[], Watcher::default()).await;
    let mut asked = request(folder, &["redact.env=[WORD]"]);
    asked.environment = Environment::new(move |name| (name == "WORD").then(|| text.clone()));
    let messages = forked(folder, asked).await;
    let result = &messages[2];
    assert!(!result.content.contains("hunter2"), "{result:?}");
    assert_eq!(result.tokens, estimate_tokens(&result.content));
}

/// The fake process reports through a pipe that it tries the model, and holds the pipe open for as long as it lives.
#[cfg(all(feature = "local", unix))]
#[tokio::test]
async fn cancelling_while_a_model_is_tried_gives_no_run_and_ends_the_trial() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    use super::{DriverError, preview};

    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let header = [&b"GGUF\x03\0\0\0"[..], &[0; 16]].concat();
    std::fs::write(folder.join("m.gguf"), header).expect("written");
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let program = folder.join("stand-in");
    let script = format!(
        "#!/bin/sh\nexec 3>'{}'\necho up >&3\nexec sleep 60\n",
        pipe.display()
    );
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("set");
    for previewed in [false, true] {
        let mut asked = request(folder, &[]);
        asked.spec = ContractSpec::parse("c.yaml", EMBEDDED, &[]).expect("a contract");
        asked.environment = Environment::new(|_| None).with_program(program.clone());
        let cancel = CancellationToken::new();
        let (pipe, cancelled) = (pipe.clone(), cancel.clone());
        let watched = std::thread::spawn(move || {
            let mut pipe = BufReader::new(std::fs::File::open(pipe).expect("a pipe"));
            let mut said = String::new();
            pipe.read_line(&mut said).expect("read");
            let began = Instant::now();
            cancelled.cancel();
            pipe.read_to_string(&mut said).expect("read");
            (said, began.elapsed())
        });
        let refused = if previewed {
            let all = super::ServersToStart::All;
            preview(&asked, all, &cancel).await.map(drop)
        } else {
            prepare(asked, &cancel).await.map(drop)
        };
        assert!(
            matches!(refused, Err(DriverError::Cancelled)),
            "{refused:?}"
        );
        let (said, lived) = watched.join().expect("watched");
        assert_eq!(said, "up\n");
        assert!(lived < Duration::from_secs(50), "{lived:?}");
    }
}

#[cfg(feature = "tokenizers")]
mod counted {
    use super::super::tests::chat;
    use super::super::tests_resume::{batches, cut, resume, stored};
    use super::*;
    use crate::driver::Finished;
    use crate::inference::BuiltInTokenizers;
    use monolith_core::message::TokenCounters as _;
    use monolith_core::replay::{ReplayReport, Replayer};

    /// Of which an encoder makes far fewer tokens than bytes / 4.
    const TEXT: &str = "internationalization internationalization";
    const OVERFLOW: &str = "(tool failed: context window budget exceeded)";

    fn count(text: &str) -> u64 {
        let counter = BuiltInTokenizers.counter("o200k_base/1").expect("built in");
        counter.count(text)
    }

    async fn run_with(folder: &Path, sets: &[&str]) -> Finished {
        std::fs::write(folder.join("text.txt"), TEXT).expect("written");
        run(folder, &script(), sets, Watcher::default()).await
    }

    /// As [`replay`], on a build that has the encoder.
    fn counted_again(folder: &Path, finished: &Finished) -> ReplayReport {
        let path = folder.join("runs.db");
        let blobs = Blobs(StoreReader::open(&path).expect("a reader"));
        let mut reader = StoreReader::open(&path).expect("a reader");
        let stored = reader.read_run(&finished.run_id).expect("the run");
        let contract = stored.contract().expect("a contract");
        let replayer = Replayer::new(contract, &finished.run_id);
        let mut replayer = replayer.counting_with(&BuiltInTokenizers);
        for entry in stored {
            replayer.take(&entry.expect("an entry"), &blobs);
        }
        replayer.finish(false)
    }

    #[tokio::test]
    async fn everything_from_outside_is_counted_and_a_build_without_the_encoder_decides_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let finished = run_with(folder.path(), &[O200K]).await;
        assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
        let messages = finished.run.conversation();
        let tokens = |message: &AgentMessage| (message.tokens, count(&message.content));
        for place in [0, 2] {
            let (stamped, counted) = tokens(&messages[place]);
            assert_eq!(stamped, counted, "{place}");
        }
        assert_eq!(messages[2].content, TEXT);
        assert!(messages[2].tokens < u64::try_from(TEXT.len()).expect("small").div_ceil(4));

        let without = replay(folder.path(), &finished);
        assert!(without.same, "{:#?}", without.first_difference);
        assert_eq!(
            without.not_compared,
            [
                "estimates of tokens, 3 of them, are taken as they are recorded: nothing counts as tokenizer o200k_base/1 here"
            ]
        );
        let with = counted_again(folder.path(), &finished);
        assert!(with.same, "{:#?}", with.first_difference);
        assert!(with.not_compared.is_empty(), "{:?}", with.not_compared);
    }

    /// The provider reports no usage here, so the answer is estimated, too.
    #[tokio::test]
    async fn usage_that_is_not_reported_is_estimated_with_the_encoder() {
        let folder = tempfile::tempdir().expect("a folder");
        let message = serde_json::json!({"role": "assistant", "content": TEXT});
        let mut record: serde_json::Value =
            serde_json::from_str(&chat(&message, "stop")).expect("JSON");
        let body = record["response"].as_str().expect("a body");
        let mut body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        body.as_object_mut().expect("an object").remove("usage");
        record["response"] = body.to_string().into();
        let sets = [O200K, "tool_policy=optional"];
        let script = [record.to_string()];
        let finished = run(folder.path(), &script, &sets, Watcher::default()).await;
        assert_eq!(end(&finished), "COMPLETED_CHAT_ONLY (final_message)");
        assert_eq!(finished.run.counters().tokens_out, count(TEXT));
        let again = counted_again(folder.path(), &finished);
        assert!(again.same, "{:#?}", again.first_difference);
    }

    #[tokio::test]
    async fn a_result_fits_up_to_the_last_token_that_the_encoder_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let sets = |window: u64| {
            [
                O200K.to_owned(),
                format!("context_budget.context_window={window}"),
                "context_budget.buffer=0".to_owned(),
                "context_budget.minimum_loop_margin=0".to_owned(),
                "context_budget.force_synthesis_at_ratio=1".to_owned(),
                "sampling.max_output_tokens=100".to_owned(),
            ]
        };
        let schema = |finished: &Finished| -> u64 {
            let tools = finished.run.contract().exposed_tools();
            tools.map(|tool| tool.schema_tokens).sum()
        };
        let observed = async |window: u64| {
            let folder = tempfile::tempdir().expect("a folder");
            let sets = sets(window);
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let finished = Box::pin(run_with(folder.path(), &sets)).await;
            let said = finished.run.conversation()[2].content.clone();
            (said, schema(&finished))
        };
        let schema = observed(10_000).await.1;
        // The first answer is reported to have used 25 tokens; then comes the result, with the definitions of the next request.
        let projected = 25 + count(TEXT) + schema;
        let limit = projected + 100;
        assert_eq!(observed(limit + 1).await.0, TEXT);
        assert_eq!(observed(limit).await.0, TEXT);
        assert_eq!(observed(limit - 1).await.0, OVERFLOW);
        drop(folder);
    }

    #[tokio::test]
    async fn a_fork_counts_its_first_messages_with_its_own_tokenizer() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        run_with(folder, &[]).await;
        let messages = forked(folder, request(folder, &[O200K])).await;
        assert_eq!(messages[2].content, TEXT);
        for place in [0, 2] {
            let message = &messages[place];
            assert_eq!(message.tokens, count(&message.content), "{place}");
        }
    }

    #[tokio::test]
    async fn a_run_that_was_cut_goes_on_counting_with_its_encoder() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let sets = [O200K, "idempotent=[read_file]"];
        run_with(folder, &sets).await;
        let from = folder.join("runs.db");
        for kept in 1..batches(&stored(&from)).len() {
            let to = folder.join(format!("cut-{kept}.db"));
            cut(&from, &to, kept).await;
            let resumed = resume(&to, request(folder, &sets)).await.expect("resumed");
            let messages = resumed.run.conversation();
            assert_eq!(messages[2].tokens, count(TEXT), "cut after batch {kept}");
        }
    }
}
