//! A benchmark of the embedded model: masks, prompts, decoding, time to the first token, memory.
//!
//! `MONOLITH_TEST_MODEL=FILE.gguf cargo bench --features local --bench local` prints one line each. With
//! `MONOLITH_LLAMA_SERVER=PROGRAM` a llama-server reads the same file with as many threads in the same run, for comparison.
//! `MONOLITH_LOCAL_THREADS` (1) says how many. On a machine that does other things as well only the ratios mean something.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a bench that is set up wrongly has nothing to measure"
)]

use std::io::Write as _;
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use monolith_conformance::{GateTrial, gate_contract};
use monolith_core::adapter::{LocalLine, LocalUsage, RequestEncoder, RequestShape};
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{RunStarted, ToolExposure};
use monolith_core::message::{AgentMessage, Role};
use monolith_host::inference::{
    Backend, EngineCost, LocalBackend, LocalOptions, ModelFile, Timeouts,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const WINDOW: u32 = 4096;
const TURNS: usize = 5;
/// Tokens of an answer that the decoding speed is taken from.
const DECODED: u64 = 96;
/// Duration of the tool calls of a run that reads the last answer meanwhile.
const TOOL: Duration = Duration::from_secs(2);
/// As the engine has it.
const BATCH: u32 = 128;
/// Set in the process that measures llama.cpp alone.
const FLOOR: &str = "MONOLITH_BENCH_FLOOR";

fn main() {
    let Some(path) = std::env::var_os("MONOLITH_TEST_MODEL") else {
        say("skipped: MONOLITH_TEST_MODEL names no GGUF file");
        return;
    };
    let threads = std::env::var("MONOLITH_LOCAL_THREADS").ok();
    let threads = threads.and_then(|text| text.parse().ok()).unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if std::env::var_os(FLOOR).is_some() {
        floor(Path::new(&path), threads);
        return;
    }
    let before = memory();
    let (backend, cost) = begun(&path, threads);
    say(&format!("{threads} threads, {}", path.display()));
    runtime.block_on(async {
        let probe = backend.probe(&[], &CancellationToken::new()).await;
        assert!(probe.responsive, "{}", probe.detail);
        masks(&backend, &cost).await;
        let speed = speeds(&backend).await;
        say(&format!(
            "memory: {} MiB more than before the model was loaded",
            memory().saturating_sub(before) / 1024
        ));
        drop(backend);
        beside("llama.cpp alone in this build", speed, floor_of(&path));
        if let Some(program) = std::env::var_os("MONOLITH_LLAMA_SERVER") {
            let server = Server::start(&program, &path, threads);
            let other = server.speeds().await;
            beside("llama-server", speed, other);
            drop(server);
        }
        for pause in [Duration::ZERO, TOOL] {
            let (backend, cost) = begun(&path, threads);
            turns(&backend, &cost, pause).await;
        }
    });
}

/// The model, not yet loaded, and what it costs.
fn begun(path: &std::ffi::OsStr, threads: u32) -> (Backend, Arc<EngineCost>) {
    let local = LocalBackend::new(LocalOptions {
        context_window: WINDOW,
        file: ModelFile::open(Path::new(path)).expect("the model's file"),
        logits_mask: None,
        reuse: true,
        template: None,
        threads,
        trial: None,
    });
    let cost = local.cost();
    (Backend::Local(local), cost)
}

/// Says what something else does, and how much of it we do: a prompt and decoding, in tokens a second.
fn beside(what: &str, (prompt, decoding): (f64, f64), other: (f64, f64)) {
    say(&format!(
        "{what}: prompt {:.1} tok/s, ours is {:.2} of it; decoding {:.1} tok/s, ours is {:.2} of it",
        other.0,
        prompt / other.0,
        other.1,
        decoding / other.1
    ));
}

fn say(line: &str) {
    // A bench that cannot print has no other output.
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// KiB of this process in memory.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

fn contract(gate: bool, seed: u64) -> (String, ExecutionContract) {
    let temperature = 1.5;
    let trial = GateTrial {
        gate,
        seed,
        temperature,
    };
    let (spec, contract) = gate_contract(trial).expect("the trial's contract");
    (spec.task.unwrap_or_default(), contract)
}

/// Outcome of one request.
struct Answer {
    /// Until the first text that the model had to be asked for: behind a closed gate a call's beginning comes at once.
    first: Duration,
    text: String,
    usage: LocalUsage,
    whole: Duration,
}

async fn ask(
    backend: &Backend,
    contract: &ExecutionContract,
    conversation: &[Arc<AgentMessage>],
    tools: ToolExposure,
) -> Answer {
    let mut encoder = RequestEncoder::new(contract, 0).expect("an encoder");
    let shape = RequestShape {
        closing: false,
        without_state: false,
        notices: &[],
        tools,
        xml: None,
    };
    let gated = tools == ToolExposure::Forced;
    send(backend, encoder.encode(conversation, &shape).bytes, gated).await
}

async fn send(backend: &Backend, body: impl Into<Bytes>, gated: bool) -> Answer {
    let timeouts = Timeouts {
        cancel: CancellationToken::new(),
        idle: Duration::from_secs(600),
    };
    let asked = Instant::now();
    let reply = backend.send("", &[], body.into(), &timeouts).await;
    let mut reply = reply.expect("a reply");
    let mut text = String::new();
    let (mut begun, mut first, mut usage) = (!gated, None, None);
    while let Some(line) = reply.chunk().await.expect("a chunk") {
        if begun {
            first.get_or_insert_with(|| asked.elapsed());
        }
        begun = true;
        match serde_json::from_slice(&line).expect("a line") {
            LocalLine::Text { text: more } => text.push_str(&more),
            LocalLine::Stop { usage: told, .. } => usage = Some(told),
            LocalLine::Fault { message, .. } => panic!("{message}"),
        }
    }
    Answer {
        first: first.expect("a first line"),
        text,
        usage: usage.expect("a last line"),
        whole: asked.elapsed(),
    }
}

fn opening(contract: &ExecutionContract, task: &str) -> Vec<Arc<AgentMessage>> {
    let opening = RunStarted::opening(&contract.system, task);
    opening.into_iter().map(Arc::new).collect()
}

/// Measures the cost of a mask, over calls behind a closed gate.
async fn masks(backend: &Backend, cost: &EngineCost) {
    let (mut tokens, mut whole) = (0, Duration::ZERO);
    for seed in 0..10 {
        let (task, contract) = contract(true, seed);
        let said = opening(&contract, &task);
        let answer = ask(backend, &contract, &said, ToolExposure::Forced).await;
        tokens += answer.usage.output;
        whole += answer.whole.saturating_sub(answer.first);
    }
    let (masks, spent) = cost.masks();
    say(&format!(
        "gate: {:.0} µs a mask, {masks} masks for {tokens} tokens, {:.1} % of the time of calls",
        spent.as_secs_f64() * 1e6 / count(masks),
        spent.as_secs_f64() / whole.as_secs_f64() * 100.0
    ));
}

/// Tokens a second of a prompt that nothing is known of, and of decoding without a gate.
async fn speeds(backend: &Backend) -> (f64, f64) {
    let sampling = json!({"repeat_penalty": 1.1, "seed": 1, "temperature": 0.8, "top_p": 0.95});
    let request = json!({
        "closing_tokens": 0, "gate": "open", "grammar": null, "max_tokens": DECODED, "sampling": sampling,
        "segments": [{"text": words("cold")}],
    });
    let answer = send(backend, request.to_string().into_bytes(), false).await;
    let prompt = count(answer.usage.input) / answer.first.as_secs_f64();
    let decoding = answer.whole.saturating_sub(answer.first).as_secs_f64();
    let decoding = count(answer.usage.output.saturating_sub(1)) / decoding;
    say(&format!(
        "prompt {prompt:.1} tok/s ({} tokens), decoding {decoding:.1} tok/s ({} tokens)",
        answer.usage.input, answer.usage.output
    ));
    (prompt, decoding)
}

/// Measures the time to the first token in each turn of a run of calls. A tool works for `pause` between two turns.
async fn turns(backend: &Backend, cost: &EngineCost, pause: Duration) {
    let probe = backend.probe(&[], &CancellationToken::new()).await;
    assert!(probe.responsive, "{}", probe.detail);
    let (task, contract) = contract(true, 7);
    let mut said = opening(&contract, &task);
    for turn in 1..=TURNS {
        let before = cost.evaluated();
        let answer = ask(backend, &contract, &said, ToolExposure::Forced).await;
        let evaluated = cost.evaluated() - before;
        let LocalUsage { input, output } = answer.usage;
        say(&format!(
            "turn {turn}, tools of {} ms: first token after {} ms; {evaluated} of {input} tokens read, {output} written",
            pause.as_millis(),
            answer.first.as_millis()
        ));
        let result = format!("Result {turn}: no room is free. Try another.");
        for (role, text) in [(Role::Assistant, answer.text), (Role::User, result)] {
            said.push(Arc::new(AgentMessage::text(role, text, 0)));
        }
        tokio::time::sleep(pause).await;
    }
}

/// Measures bare llama.cpp in this build: the same prompt in the same batches, then as many tokens one by one, without
/// sampling. It uses a separate process because llama.cpp is initialised once per process.
fn floor_of(model: &std::ffi::OsStr) -> (f64, f64) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program);
    let told = child.env(FLOOR, "1").env("MONOLITH_TEST_MODEL", model);
    let told = told.stderr(Stdio::null()).output().expect("the floor");
    let told = String::from_utf8(told.stdout).expect("numbers");
    let mut numbers = told
        .split_whitespace()
        .map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    (next(), next())
}

fn floor(model: &Path, threads: u32) {
    let mut backend = LlamaBackend::init().expect("llama.cpp");
    backend.void_logs();
    let model = LlamaModel::load_from_file(&backend, model, &LlamaModelParams::default());
    let model = model.expect("a model");
    let threads = i32::try_from(threads).expect("some threads");
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(WINDOW))
        .with_n_batch(BATCH)
        .with_n_ubatch(BATCH)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_flash_attention_policy(0);
    let mut context = model.new_context(&backend, params).expect("a context");
    let prompt = model
        .vocab()
        .tokenize(words("cold").as_bytes(), false, false);
    let mut batch = LlamaBatch::new(BATCH as usize, 1);
    let mut held = 0;
    let mut decode = |tokens: &[LlamaToken]| {
        batch.clear();
        for (at, token) in tokens.iter().enumerate() {
            let last = at + 1 == tokens.len();
            batch.add(*token, held, &[0], last).expect("room");
            held += 1;
        }
        context.decode(&mut batch).expect("decoded");
        if tokens.len() == 1 {
            std::hint::black_box(context.get_logits().first().copied());
        }
    };
    let begun = Instant::now();
    for piece in prompt.chunks(BATCH as usize) {
        decode(piece);
    }
    let read = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    for token in prompt
        .iter()
        .cycle()
        .take(usize::try_from(DECODED).expect("a count"))
    {
        decode(&[*token]);
    }
    let written = begun.elapsed().as_secs_f64();
    say(&format!(
        "{} {}",
        count(prompt.len() as u64) / read,
        count(DECODED) / written
    ));
}

/// A prompt of some hundred tokens.
fn words(first: &str) -> String {
    let line = "The heron stands in the shallow water and waits for a fish to come by. ";
    format!("{first} {}", line.repeat(60))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn count(number: u64) -> f64 {
    number as f64
}

/// A llama-server with the same file.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: &std::ffi::OsStr, model: &std::ffi::OsStr, threads: u32) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        let child = Command::new(program)
            .arg("-m")
            .arg(model)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["-c", &WINDOW.to_string(), "-t", &threads.to_string()])
            .args(["-np", "1", "--device", "none", "-fa", "off"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.expect("the llama-server of MONOLITH_LLAMA_SERVER");
        Self { child, port }
    }

    /// Tokens a second of a prompt and of decoding, as the server tells it.
    async fn speeds(&self) -> (f64, f64) {
        let client = reqwest::Client::new();
        let address = format!("http://127.0.0.1:{}", self.port);
        let begun = Instant::now();
        loop {
            let health = client.get(format!("{address}/health")).send().await;
            if health.is_ok_and(|health| health.status().is_success()) {
                break;
            }
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(60), "llama-server is not up");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let asked = json!({"prompt": words("cold"), "n_predict": DECODED, "seed": 1, "cache_prompt": false});
        let answer = client
            .post(format!("{address}/completion"))
            .header("content-type", "application/json")
            .body(asked.to_string());
        let answer = answer.send().await.expect("an answer").text().await;
        let answer: Value = serde_json::from_str(&answer.expect("a body")).expect("JSON");
        let speed = |place: &str| answer.pointer(place).and_then(Value::as_f64);
        (
            speed("/timings/prompt_per_second").expect("the prompt's speed"),
            speed("/timings/predicted_per_second").expect("the speed of decoding"),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
