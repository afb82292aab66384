//! The first minutes with monolith, from outside: `init` with model servers on loopback and with none, `doctor`, and a model
//! pulled from a hub on loopback, killed on the way and pulled again.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command as Process, Stdio};
use std::sync::mpsc;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An address with no listener.
const NOBODY: &str = "http://127.0.0.1:1";
/// Not to be looked for.
const NONE: &str = "none";
const KEYS: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "HF_TOKEN",
];

fn monolith(folder: &TempDir) -> Command {
    let mut command = Command::cargo_bin("monolith").unwrap();
    command
        .current_dir(folder.path())
        .env("MONOLITH_HOME", folder.path().join("state"));
    for variable in KEYS
        .into_iter()
        .chain(["OLLAMA_HOST", "HF_ENDPOINT", "MONOLITH_HUB"])
    {
        command.env_remove(variable);
    }
    command
}

/// Returns a command's exit code, and all its output.
fn output_of(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(said).unwrap(),
    )
}

/// A server that answers each GET or POST with what `answer` gives for its path and the first byte that is asked for; 404
/// where it gives nothing.
fn serving(answer: impl Fn(&str, Option<usize>, TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut first, mut from, mut length) = (String::new(), None, 0);
                reader.read_line(&mut first).unwrap_or_default();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                        break;
                    }
                    let line = line.trim_end();
                    if let Some(range) = line.strip_prefix("range: bytes=") {
                        from = range.trim_end_matches('-').parse().ok();
                    }
                    if let Some(bytes) = line.strip_prefix("content-length: ") {
                        length = bytes.parse().unwrap_or(0);
                    }
                }
                let mut body = vec![0; length];
                drop(reader.read_exact(&mut body));
                let request: Vec<&str> = first.split(' ').collect();
                let path = format!("{} {}", request[0], request.get(1).unwrap_or(&""));
                answer(&path, from, stream);
            });
        }
    });
    address
}

fn write_json(mut stream: &TcpStream, document: &Value) {
    let body = document.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(format!("{head}{body}").as_bytes()));
}

fn write_404(mut stream: &TcpStream) {
    drop(stream.write_all(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
}

/// A server that answers everything with 404 and hands on the head of each request.
fn keeping_heads(heads: mpsc::Sender<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut reader = BufReader::new(&stream);
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            write_404(&stream);
            drop(heads.send(head));
        }
    });
    address
}

fn ollama() -> String {
    serving(|path, _, stream| match path {
        "GET /api/tags" => write_json(&stream, &json!({"models": [{"name": "qwen3:8b"}]})),
        "POST /api/show" => {
            write_json(
                &stream,
                &json!({"model_info": {"qwen3.context_length": 40960}}),
            );
        }
        _ => write_404(&stream),
    })
}

fn llama_server() -> String {
    serving(|path, _, stream| match path {
        "GET /v1/models" => write_json(
            &stream,
            &json!({"data": [{"id": "tiny.gguf", "owned_by": "llamacpp"}]}),
        ),
        "GET /props" => {
            write_json(
                &stream,
                &json!({"default_generation_settings": {"n_ctx": 4096}}),
            );
        }
        _ => write_404(&stream),
    })
}

/// `init` where servers are looked for only at these places.
fn init(folder: &TempDir, ollama: &str, llama: &str, more: &[&str]) -> (i32, String) {
    let mut command = monolith(folder);
    command.args(["init", "--ollama", ollama, "--llama-server", llama]);
    command.args(["--lm-studio", NONE]).args(more);
    output_of(&mut command)
}

#[test]
fn init_writes_a_contract_for_the_server_that_runs_here_and_it_passes_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let (code, printed) = init(&folder, &ollama(), NONE, &[]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("written for Ollama at http://127.0.0.1:"),
        "{printed}"
    );
    assert!(printed.contains("monolith run agent.yaml"), "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    assert!(written.contains("type: ollama"), "{written}");
    assert!(written.contains("context_window: 32768"), "{written}");
    assert!(
        written.contains("# or: monolith run FILE \"…\"\n"),
        "{written}"
    );
    let (code, printed) = output_of(monolith(&folder).args(["contract", "check", "agent.yaml"]));
    assert_eq!(code, 0, "{printed}");
    // Editors know its keys, wherever the folder is copied to.
    let schema = ".monolith/contract-file.schema.json";
    let line = format!("# yaml-language-server: $schema={schema}\n");
    assert!(written.starts_with(&line), "{written}");
    let (_, own) = output_of(monolith(&folder).args(["contract", "schema"]));
    let schema = fs::read_to_string(folder.path().join(schema)).unwrap();
    assert_eq!(schema, own);

    // What is there is never replaced unless that is wanted.
    let (code, printed) = init(&folder, NONE, &llama_server(), &[]);
    assert_eq!(code, 4, "{printed}");
    assert!(printed.contains("--force replaces it"), "{printed}");
    assert_eq!(
        fs::read_to_string(folder.path().join("agent.yaml")).unwrap(),
        written
    );
    let (code, printed) = init(&folder, NONE, &llama_server(), &["--force"]);
    assert_eq!(code, 0, "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    assert!(written.contains("/v1\"}"), "{written}");
    // An answer and its reserve fit the window that the server was started with.
    assert!(written.contains("max_output_tokens: 1024"), "{written}");
}

#[test]
fn a_server_whose_template_knows_no_tools_is_asked_in_text_and_under_a_grammar() {
    let folder = tempfile::tempdir().unwrap();
    let llama = serving(|path, _, stream| match path {
        "GET /v1/models" => write_json(&stream, &json!({"data": [{"id": "tiny.gguf"}]})),
        "GET /props" => {
            let caps = json!({"supports_tools": false, "supports_tool_calls": false});
            let settings = json!({"n_ctx": 4096});
            write_json(
                &stream,
                &json!({"default_generation_settings": settings, "chat_template_caps": caps}),
            );
        }
        _ => write_404(&stream),
    });
    let (code, printed) = init(&folder, NONE, &llama, &[]);
    assert_eq!(code, 0, "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    for expect in ["text_profile: hermes", "grammar_profile: gbnf/1"] {
        assert!(written.contains(expect), "{expect}: {written}");
    }
    let (code, printed) = output_of(monolith(&folder).args(["contract", "check", "agent.yaml"]));
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn where_there_are_several_ways_somebody_says_which_and_where_there_is_none_it_is_said_how_to_get_one()
 {
    let folder = tempfile::tempdir().unwrap();
    let (ollama, llama) = (ollama(), llama_server());
    let check = |more: &[&str], code: i32, expect: &str| {
        let (got, printed) = init(&folder, &ollama, &llama, more);
        assert_eq!(got, code, "{printed}");
        assert!(printed.contains(expect), "{printed}");
    };
    check(&[], 4, "--yes takes the first");
    check(&[], 4, "Which model should answer?");
    check(
        &["--use", "nothing"],
        4,
        "use \"nothing\": expected one of llama-server, ",
    );
    let expect = "the model \"other\" of ollama: it has qwen3:8b";
    check(&["--use", "ollama", "--model", "other"], 3, expect);
    check(
        &["--use", "lm-studio"],
        4,
        "use lm-studio: --lm-studio none disables it",
    );
    check(&["--use", "openai"], 3, "OPENAI_API_KEY is not set");
    let expect = "(there are tiny.gguf, qwen3:8b), and no usual key is set";
    check(&["--model", "other"], 3, expect);
    assert!(!folder.path().join("agent.yaml").exists());
    check(&["--yes"], 0, "llama-server at ");
    check(&["--use", "ollama", "b.yaml"], 0, "Ollama at ");
    let (code, printed) = init(&folder, NONE, NONE, &["c.yaml"]);
    assert_eq!(code, 3, "{printed}");
    assert!(
        printed.contains("start Ollama, llama-server or LM Studio"),
        "{printed}"
    );
    let one_line = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("{type: scripted, file: script.jsonl}"),
        "{printed}"
    );
}

#[test]
fn an_address_that_is_given_is_the_one_that_answers_or_the_command_says_that_nobody_does() {
    let folder = tempfile::tempdir().unwrap();
    let check = |llama: &str, code: i32, expect: &str| {
        let (got, printed) = init(&folder, NONE, llama, &["--force"]);
        assert_eq!(got, code, "{printed}");
        assert!(printed.contains(expect), "{printed}");
    };
    let nobody = "use llama-server at http://127.0.0.1:1: no llama-server answers there";
    check(NOBODY, 3, nobody);
    check("127.0.0.1:1", 3, nobody);
    check("http://127.0.0.1:1/v1/", 3, nobody);
    check("ftp://127.0.0.1", 4, "it begins with http:// or https://");
    let other = serving(|_, _, stream| write_404(&stream));
    let answers =
        "a server answers there, and it is not llama-server: GET /props has another answer";
    check(&other, 3, answers);
    check(&other, 3, &format!("--base-url {other}/v1"));
    assert!(!folder.path().join("agent.yaml").exists());
    check(NONE, 3, "no server was looked for");
    let llama = llama_server();
    check(llama.trim_start_matches("http://"), 0, &llama);
    check(&format!("{llama}/v1"), 0, &llama);

    let mut doctor = monolith(&folder);
    doctor.args(["doctor", "--lm-studio", NONE, "--llama-server", NONE]);
    let (code, printed) = output_of(doctor.args(["--ollama", NOBODY]));
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("no Ollama answers at http://127.0.0.1:1"),
        "{printed}"
    );
    let mut command = monolith(&folder);
    command.args([
        "init",
        "--lm-studio",
        NONE,
        "--llama-server",
        NONE,
        "b.yaml",
    ]);
    let (code, printed) = output_of(command.env("OLLAMA_HOST", "127.0.0.1:1"));
    assert_eq!(code, 3, "{printed}");
    assert!(
        printed.contains("no Ollama at http://127.0.0.1:1"),
        "{printed}"
    );
}

#[test]
fn a_key_is_found_by_its_name_and_its_value_is_written_and_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = monolith(&folder);
    command
        .args(["init", "--ollama", NONE, "--llama-server", NONE])
        .args(["--lm-studio", NONE, "--task", "Say: \"hello\""])
        .env("ANTHROPIC_API_KEY", "sk-ant-very-secret-value");
    let (code, printed) = output_of(&mut command);
    assert_eq!(code, 0, "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    assert!(
        written.contains("api_key_env: ANTHROPIC_API_KEY"),
        "{written}"
    );
    assert!(!printed.contains("very-secret") && !written.contains("very-secret"));
    // The doctor sees whether anybody answers, and sends no key to find out.
    let (asked, heads) = mpsc::channel();
    let hosted = keeping_heads(asked);
    let here = written.replace(
        "type: anthropic,",
        &format!("type: anthropic, base_url: \"{hosted}/v1\","),
    );
    fs::write(folder.path().join("agent.yaml"), here).unwrap();
    let mut command = monolith(&folder);
    command
        .args(["doctor", "--contract", "agent.yaml", "--ollama", NONE])
        .args(["--llama-server", NONE, "--lm-studio", NONE])
        .env("ANTHROPIC_API_KEY", "sk-ant-very-secret-value");
    let (code, printed) = output_of(&mut command);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("ANTHROPIC_API_KEY set"), "{printed}");
    assert!(
        printed.contains("it passes monolith contract check"),
        "{printed}"
    );
    assert!(
        printed.contains("anthropic: its server answers"),
        "{printed}"
    );
    assert!(!printed.contains("very-secret"), "{printed}");
    let head = heads.recv().unwrap();
    assert!(head.starts_with("GET /"), "{head}");
    assert!(!head.contains("very-secret"), "{head}");
}

#[test]
fn the_doctor_looks_at_what_a_contract_is_to_be_answered_by() {
    let folder = tempfile::tempdir().unwrap();
    let check = |provider: &str, code: i32, expect: &str| {
        let contract = format!(
            "task: t\ntargets: [{{provider: p, model: mymodl, context_window: 9000}}]\nproviders: {{p: {{{provider}}}}}\n\
             tools: {{builtin: [echo]}}\n"
        );
        fs::write(folder.path().join("c.yaml"), contract).unwrap();
        let mut command = monolith(&folder);
        command.args(["doctor", "--contract", "c.yaml", "--ollama", NONE]);
        command.args(["--llama-server", NONE, "--lm-studio", NONE]);
        let (got, printed) = output_of(&mut command);
        assert_eq!(got, code, "{printed}");
        assert!(printed.contains(expect), "{printed}");
        assert!(
            printed.contains("tool server builtin: 1 tool\n"),
            "{printed}"
        );
    };
    let at = |address: &str| format!("type: openai, base_url: \"{address}/v1\"");
    check(&at(&llama_server()), 0, "provider p: its server answers");
    let answering = |status: &'static str, kind: &'static str, body: &'static str| {
        at(&serving(move |_, _, mut stream| {
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(head.as_bytes()));
        }))
    };
    let json = "application/json";
    let loading = answering("503 X", json, r#"{"error": {"message": "Loading model"}}"#);
    check(&loading, 1, "HTTP 503: Loading model");
    let unknown = answering(
        "404 X",
        json,
        r#"{"error": {"message": "model 'mymodl' not found"}}"#,
    );
    check(&unknown, 1, "HTTP 404: model 'mymodl' not found");
    check(&answering("401 X", json, "{}"), 1, "HTTP 401");
    check(
        &answering("200 OK", "text/html", "<html>"),
        1,
        "answers with text/html, no JSON",
    );
    let others = answering("200 OK", json, r#"{"data": [{"id": "mymodel"}]}"#);
    check(
        &others,
        1,
        "does not list the model mymodl; it lists mymodel",
    );
    let keyed = format!("{}, api_key_env: NOBODY_SETS_THIS_KEY", at(&llama_server()));
    check(
        &keyed,
        1,
        "NOBODY_SETS_THIS_KEY, which its api_key_env names, is not set",
    );
    let nobody = "provider p: no answer: http://127.0.0.1:1/v1: connection refused";
    check(&at(NOBODY), 1, nobody);
    // As a run that could not reach it says.
    let start = "start the server of providers.p, or correct its `base_url`";
    check(&at(NOBODY), 1, start);
    // The server may say to a run that the model does not exist.
    let alone = r#"{"data": [{"id": "q", "owned_by": "llamacpp"}]}"#;
    check(
        &answering("200 OK", json, alone),
        0,
        "its server answers, and lists q alone; such a server mostly takes any name. Where a run says",
    );
    let engine = if cfg!(feature = "local") {
        "provider p: no model `mymodl` is stored here"
    } else {
        "provider p: this build has no embedded model"
    };
    check("type: local", 1, engine);
}

#[test]
fn the_doctor_says_what_is_wrong_and_ends_with_one_only_then() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |more: &[&str]| {
        let mut command = monolith(&folder);
        command.args(["doctor", "--json", "--ollama", NONE]);
        command.args(["--llama-server", NONE, "--lm-studio", NONE]);
        let output = command.args(more).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap().clone();
        assert_eq!(document["exit_code"], output.status.code().unwrap());
        let wrong = checks.iter().filter(|check| check["status"] == "wrong");
        let wrong: Vec<Value> = wrong.cloned().collect();
        for check in checks.iter().filter(|check| check["status"] != "ok") {
            assert!(check["fix"].is_string(), "how to get it: {check}");
        }
        (output.status.code().unwrap(), wrong)
    };
    assert_eq!(doctor(&[]), (0, Vec::new()));

    // A model whose bytes have changed, a store that is none, and a contract whose server cannot be started.
    let model = [b"GGUF\x03\0\0\0".as_slice(), &[0; 16]].concat();
    fs::write(folder.path().join("m.gguf"), model).unwrap();
    let (code, printed) = output_of(monolith(&folder).args(["model", "add", "mine", "m.gguf"]));
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("its profile: unknown"), "{printed}");
    let blobs = folder.path().join("state/models/blobs");
    let blob = fs::read_dir(blobs).unwrap().next().unwrap().unwrap().path();
    fs::write(blob, "other").unwrap();
    fs::write(folder.path().join("state/runs.db"), "no database at all").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let alone = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.path().join("state/runs.db"), alone).unwrap();
    }
    fs::write(
        folder.path().join("c.yaml"),
        "task: t\ntargets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai, base_url: \"http://127.0.0.1:1\"}}\n\
         tools: {mcp: {fs: {command: no-such-command-here}}}\n",
    )
    .unwrap();
    let (code, wrong) = doctor(&["--contract", "c.yaml"]);
    assert_eq!(code, 1);
    let names: Vec<&str> = wrong
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    // What the contract needs comes first.
    let expect = ["contract", "contract", "store of runs", "model"];
    assert_eq!(names, expect, "{wrong:?}");
    assert!(
        wrong[0].to_string().contains("fs did not come up"),
        "{wrong:?}"
    );
    // What is missing is one thing, whatever else fails for it.
    let of_server = wrong.iter().filter(|check| {
        let detail = check["detail"].as_str().unwrap_or_default();
        detail.contains("server fs") || detail.contains("`fs`")
    });
    assert_eq!(of_server.count(), 1, "{wrong:?}");
}

#[test]
fn a_pull_that_is_killed_goes_on_and_asks_before_it_begins() {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([0; 16]);
    file.resize(1 << 20, 7);
    let half = file.len() / 2;
    let (sent, halfway) = mpsc::channel();
    let (asked, ranges) = mpsc::channel();
    let served = file.clone();
    let hub = serving(move |path, from, mut stream| {
        if path.starts_with("GET /api/models/") {
            return write_json(&stream, &json!({"cardData": {"license": "mit"}}));
        }
        let body = &served[from.unwrap_or(0)..];
        let (status, range) = match from {
            Some(from) => (
                206,
                format!(
                    "content-range: bytes {from}-{}/{}\r\n",
                    served.len() - 1,
                    served.len()
                ),
            ),
            None => (200, String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\netag: \"1\"\r\ncontent-length: {}\r\n{range}connection: close\r\n\r\n",
            body.len()
        );
        drop(stream.write_all(head.as_bytes()));
        if path.starts_with("HEAD ") {
            return;
        }
        asked.send(from).unwrap();
        if from.is_some() {
            drop(stream.write_all(body));
            return;
        }
        // Half of it, and then nothing more until the client is gone.
        drop(stream.write_all(&body[..half]));
        sent.send(()).unwrap();
        drop(stream.read(&mut [0; 1]));
    });
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["model", "pull", "hf:o/r/m.gguf", "--hub", &hub];
    let (code, printed) = output_of(monolith(&folder).args(arguments));
    assert_eq!(code, 4, "{printed}");
    assert!(
        printed.contains("licence mit; 1,048,576 bytes"),
        "{printed}"
    );
    assert!(printed.contains("--yes confirms it"), "{printed}");

    let mut child = Process::new(assert_cmd::cargo::cargo_bin("monolith"))
        .args(arguments)
        .arg("--yes")
        .current_dir(folder.path())
        .env("MONOLITH_HOME", folder.path().join("state"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    halfway.recv().unwrap();
    // The server has sent half; the client writes what it reads. At least one piece is on the disk before it is killed.
    let pulling = folder.path().join("state/models/pulling");
    let part = || {
        let entries = fs::read_dir(&pulling).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut parts = paths.filter(|path| path.extension().is_some_and(|e| e == "part"));
        parts
            .next()
            .map_or(0, |path| fs::metadata(path).map_or(0, |m| m.len()))
    };
    while part() == 0 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = part();
    assert_eq!(ranges.recv().unwrap(), None);

    let (code, printed) = output_of(monolith(&folder).args(arguments).arg("--yes"));
    assert_eq!(code, 0, "{printed}");
    assert_eq!(ranges.recv().unwrap().map(|from| from as u64), Some(kept));
    let (code, printed) = output_of(monolith(&folder).args(["model", "verify", "m"]));
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = output_of(monolith(&folder).args(arguments));
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("here already: m 1048576 bytes"),
        "{printed}"
    );
}

#[test]
fn init_takes_any_server_that_speaks_as_openai_does() {
    let folder = tempfile::tempdir().unwrap();
    let list = json!({"object": "list", "data": [{"id": "small"}, {"id": "large"}]});
    let address = serving(move |path, _, stream| match path {
        "GET /v1/models" => write_json(&stream, &list),
        _ => write_404(&stream),
    });
    // The caller names no model: there are two.
    let of = |more: &[&str]| {
        let mut command = monolith(&folder);
        output_of(command.args(["init", "--force", "--base-url"]).args(more))
    };
    let (code, printed) = of(&[&address]);
    assert_eq!(code, 4, "{printed}");
    assert!(
        printed.contains(": small") && printed.contains(": large"),
        "{printed}"
    );
    let (code, printed) = of(&[&address, "--model", "large", "--key-env", "MY_KEY"]);
    assert_eq!(code, 0, "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    let provider =
        format!("endpoint: {{type: openai, base_url: \"{address}/v1\", api_key_env: \"MY_KEY\"}}");
    assert!(written.contains(&provider), "{written}");
    assert!(written.contains("model: \"large\""), "{written}");

    // The findings are about values in the file: none is about a default.
    let (code, printed) =
        output_of(
            monolith(&folder)
                .env("MY_KEY", "x")
                .args(["contract", "check", "agent.yaml"]),
        );
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("not sent"), "{printed}");
    let set = ["--set", "sampling.repeat_penalty=1.2"];
    let mut check = monolith(&folder);
    let (code, printed) = output_of(
        check
            .env("MY_KEY", "x")
            .args(["contract", "check", "agent.yaml"])
            .args(set),
    );
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("not sent, the protocol has no place for it: repeat_penalty"),
        "{printed}"
    );

    assert!(written.contains("# context_window is a guess"), "{written}");
    // A model that it does not list is none of its models.
    let (code, printed) = of(&[&address, "--model", "huge"]);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("it has small, large"), "{printed}");

    // Nor of a llama-server's, which would answer under that name, too.
    let (code, printed) = of(&[&llama_server(), "--model", "huge"]);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("it has tiny.gguf"), "{printed}");

    // One that answers and lists nothing is taken at the caller's word, and the caller learns that.
    let silent = serving(|_, _, stream| write_404(&stream));
    let (code, printed) = of(&[&silent]);
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("--model NAME says which"), "{printed}");
    let (code, printed) = of(&[&silent, "--model", "mine"]);
    assert_eq!(code, 0, "{printed}");
    let unchecked = "a name that was not checked (no list of models is there)";
    assert!(printed.contains(unchecked), "{printed}");
    let written = fs::read_to_string(folder.path().join("agent.yaml")).unwrap();
    assert!(
        written.contains(&format!("base_url: \"{silent}\"}}")),
        "{written}"
    );
    assert_eq!(of(&["host/v1"]).0, 4);
    assert_eq!(of(&[&silent, "--use", "ollama"]).0, 4);
}

#[test]
fn init_writes_nothing_for_a_named_server_that_does_not_answer_or_wants_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let of = |more: &[&str]| output_of(monolith(&folder).args(["init", "--base-url"]).args(more));
    let dead = format!("{NOBODY}/v1");
    for more in [&[&*dead][..], &[&*dead, "--model", "m"]] {
        let (code, printed) = of(more);
        assert_eq!(code, 3, "{printed}");
        assert!(printed.contains("connection refused"), "{printed}");
    }
    let closed = serving(|_, _, mut stream| {
        let head = "HTTP/1.1 401 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        drop(stream.write_all(head.as_bytes()));
    });
    let (code, printed) = of(&[&closed, "--model", "m"]);
    assert_eq!(code, 3, "{printed}");
    assert!(
        printed.contains("HTTP 401")
            && printed.contains("--key-env VAR")
            && printed.contains("--model NAME"),
        "{printed}"
    );
    assert!(!folder.path().join("agent.yaml").exists());
    // Where a key is wanted is the API; elsewhere there is nothing.
    let below = serving(|path, _, mut stream| {
        let status = if path.starts_with("GET /v1/") {
            401
        } else {
            404
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        drop(stream.write_all(head.as_bytes()));
    });
    let (code, printed) = of(&[&below, "--model", "m"]);
    assert_eq!(code, 3, "{printed}");
    let refused = format!("{below}/v1: it answers HTTP 401");
    assert!(printed.contains(&refused), "{printed}");
    let (code, printed) = of(&[&below, "--model", "m", "--key-env", "MY_KEY"]);
    assert_eq!(code, 0, "{printed}");
    let unchecked = "(no list of models can be had without a key)";
    assert!(printed.contains(unchecked), "{printed}");
    let agent = folder.path().join("agent.yaml");
    let written = fs::read_to_string(&agent).unwrap();
    let expect = format!("base_url: \"{below}/v1\"");
    assert!(written.contains(&expect), "{written}");
    fs::remove_file(agent).unwrap();
    // Its key is sent by runs alone, so the caller's word for the model is all that can be known.
    let (code, printed) = of(&[&closed, "--model", "m", "--key-env", "MY_KEY"]);
    assert_eq!(code, 0, "{printed}");

    let nowhere = [
        "--ollama",
        NONE,
        "--llama-server",
        NONE,
        "--lm-studio",
        NONE,
    ];
    let (code, printed) = output_of(monolith(&folder).args(["init", "--force"]).args(nowhere));
    assert_eq!(code, 3, "{printed}");
    assert!(printed.contains("init --base-url URL"), "{printed}");
}

#[test]
fn manual_pages_and_completions_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let (code, printed) = output_of(monolith(&folder).args(["man", "--out", "pages"]));
    assert_eq!(code, 0, "{printed}");
    for page in [
        "monolith.1",
        "monolith-run.1",
        "monolith-contract-check.1",
        "monolith-work-run.1",
    ] {
        let page = fs::read_to_string(folder.path().join("pages").join(page)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!folder.path().join("pages/monolith-__supervise.1").exists());
    let (code, main) = output_of(monolith(&folder).arg("man"));
    // An option that the short help does not list has its text in the page.
    assert!(main.contains("Store file to use"), "{main}");
    assert_eq!(code, 0, "{main}");
    assert!(main.contains(".TH monolith 1"), "{main}");
    // The table of variables keeps its lines.
    assert!(main.contains(".SH EXTRA\n.nf\n"), "{main}");
    assert_eq!(main.matches("\n.fi\n").count(), 1, "{main}");
    for (shell, sign) in [
        ("bash", "complete -F _monolith"),
        ("zsh", "#compdef monolith"),
        ("fish", "complete -c monolith"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let (code, script) = output_of(monolith(&folder).args(["completions", shell]));
        assert_eq!(code, 0, "{script}");
        assert!(script.contains(sign), "{shell}");
    }
}
