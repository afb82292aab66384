//! Tests of the built-in tools and their workspace.

use std::fs;
use std::path::Path;

use super::{Fixture, texts};
use crate::tools::offer;
use crate::tools::{ServerSpec, StartFiles, Withheld};
use monolith_core::contract::{HostPattern, HttpGetTerms, McpTerms, WebScheme};
use monolith_core::message::{Digest, EnvelopeStatus, ToolOutcome};

fn all() -> ServerSpec {
    let names = ["clock", "echo", "list_directory", "read_file"];
    ServerSpec::Builtin {
        http_get: None,
        names: names.map(str::to_owned).to_vec(),
        shell: None,
        withheld: Withheld::default(),
    }
}

async fn fixture(root: &Path) -> Fixture {
    let fixture = Fixture::bring_up([("builtin", all())], root).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture
}

#[tokio::test]
async fn the_offer_is_pinned_and_reads_only() {
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let offer = &fixture.up.capabilities["builtin"];
    assert!(offer.available);
    for tool in &offer.tools {
        assert_eq!(tool.annotations["readOnlyHint"], true, "{}", tool.name);
        assert_eq!(tool.input_schema["additionalProperties"], false);
        assert!(!tool.description.is_empty() && tool.schema_tokens > 0);
    }
    // A word changed in a description changes every contract: this line has to be changed with it.
    let pins: Vec<String> = fixture
        .up
        .servers
        .pins()
        .iter()
        .map(|(name, pin)| format!("{name} {}", pin.0.short(12)))
        .collect();
    insta::assert_snapshot!(pins.join("\n"), @r"
    clock fb1c75ba8db5
    echo 98b92c685895
    list_directory 34180aa4fff6
    read_file 3d137aed8ef2
    ");
}

#[tokio::test]
async fn built_ins_answer_and_refuse() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "secret").unwrap();
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir_all(at("dir/sub")).unwrap();
    fs::write(at("dir/lines.txt"), "one\ntwo\r\nthree\nfour").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(at("latin1.txt"), b"fine\ncaf\xe9\n").unwrap();
    fs::write(at("new\nline"), "").unwrap();
    let outside_name = outside.path().file_name().unwrap().to_str().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(outside.path(), at("out")).unwrap();
        symlink(outside.path().join("secret.txt"), at("leak")).unwrap();
        symlink("dir/lines.txt", at("link")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
    }
    let fixture = fixture(root.path()).await;
    let check = async |tool: &str, arguments: &str, expect: &str| {
        assert_eq!(
            fixture.text_of(tool, arguments).await,
            expect,
            "{tool} {arguments}"
        );
    };

    check("echo", r#"{"text":"a\u0000é"}"#, "a\0é").await;
    check("clock", "{}", "2026-11-21T22:32:51.007Z").await;
    check(
        "read_file",
        r#"{"path":"dir/lines.txt"}"#,
        "one\ntwo\r\nthree\nfour",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"./dir/sub/../lines.txt","limit":1}"#,
        "one\n",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"dir/lines.txt","offset":1,"limit":2}"#,
        "two\r\nthree\n",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"dir/lines.txt","offset":3,"limit":9}"#,
        "four",
    )
    .await;
    check("read_file", r#"{"path":"dir/lines.txt","offset":4}"#, "").await;
    check("read_file", r#"{"path":"empty"}"#, "").await;
    check("read_file", r#"{"path":"latin1.txt","limit":1}"#, "fine\n").await;
    check("list_directory", r#"{"path":"dir"}"#, "lines.txt\nsub/").await;
    check("list_directory", r#"{"path":"dir/sub"}"#, "").await;

    let outside_error = |path: &str| {
        format!(
            "PATH_OUTSIDE_WORKSPACE: {path:?} leads outside the workspace; give a path relative to it that stays inside"
        )
    };
    let climbing = format!("../{outside_name}/secret.txt");
    for path in [
        "/etc/passwd",
        "/",
        "..",
        &climbing,
        "dir/../../x",
        "../nowhere",
    ] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        check("read_file", &arguments, &outside_error(path)).await;
        check("list_directory", &arguments, &outside_error(path)).await;
    }
    let absolute = root.path().canonicalize().unwrap();
    let of = |rest: &str| serde_json::json!({"path": absolute.join(rest)}).to_string();
    check(
        "read_file",
        &of("dir/sub/../lines.txt"),
        "one\ntwo\r\nthree\nfour",
    )
    .await;
    check("list_directory", &of("dir"), "lines.txt\nsub/").await;
    for path in ["../x", "../nowhere/x"] {
        let said = fixture.text_of("read_file", &of(path)).await;
        assert!(said.starts_with("PATH_OUTSIDE_WORKSPACE: "), "{said}");
    }
    check(
        "read_file",
        r#"{"path":"nowhere"}"#,
        "NOT_FOUND: \"nowhere\" does not exist",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"dir"}"#,
        "NOT_A_FILE: \"dir\" is not a regular file",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"latin1.txt"}"#,
        "NOT_UTF8: \"latin1.txt\" is not UTF-8 text: line 2 holds an invalid byte",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"latin1.txt","offset":1}"#,
        "NOT_UTF8: \"latin1.txt\" is not UTF-8 text: line 2 holds an invalid byte",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"dir/lines.txt","offset":5}"#,
        "OFFSET_BEYOND_END: \"dir/lines.txt\" has 4 lines, offset is 5",
    )
    .await;
    check(
        "read_file",
        r#"{"path":"empty","offset":1}"#,
        "OFFSET_BEYOND_END: \"empty\" has 0 lines, offset is 1",
    )
    .await;
    check(
        "list_directory",
        r#"{"path":"empty"}"#,
        "NOT_A_DIRECTORY: \"empty\" has a part that is not a directory",
    )
    .await;
    for arguments in [
        "{}",
        r#"{"path":7}"#,
        r#"{"path":"a","more":1}"#,
        r#"{"path":"a","offset":-1}"#,
    ] {
        let said = fixture.text_of("read_file", arguments).await;
        assert!(
            said.starts_with("INVALID_ARGUMENTS: "),
            "{arguments}: {said}"
        );
    }
    #[cfg(unix)]
    {
        check("read_file", r#"{"path":"link","limit":1}"#, "one\n").await;
        check("read_file", r#"{"path":"leak"}"#, &outside_error("leak")).await;
        check(
            "read_file",
            r#"{"path":"out/secret.txt"}"#,
            &outside_error("out/secret.txt"),
        )
        .await;
        check("list_directory", r#"{"path":"out"}"#, &outside_error("out")).await;
        check(
            "read_file",
            r#"{"path":"dangling"}"#,
            "NOT_FOUND: \"dangling\" does not exist",
        )
        .await;
        check(
            "list_directory",
            r#"{"path":"."}"#,
            "dangling\ndir/\nempty\nlatin1.txt\nleak\nlink\n\"new\\nline\"\nout",
        )
        .await;
    }
}

#[tokio::test]
async fn a_long_directory_is_cut_by_name_with_a_note() {
    let root = tempfile::tempdir().unwrap();
    for n in 0..1_003 {
        fs::write(root.path().join(format!("f{n:04}")), "").unwrap();
    }
    let mut fixture = fixture(root.path()).await;
    fixture.limit = 1 << 20;
    let said = fixture.text_of("list_directory", r#"{"path":"."}"#).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[999]),
        (1_001, "f0000", "f0999")
    );
    assert_eq!(lines[1_000], "[the first 1000 of 1003 entries]");
}

#[tokio::test]
async fn only_what_is_asked_for_of_a_huge_file_is_held() {
    let root = tempfile::tempdir().unwrap();
    // Sparse: 8 GiB of zero bytes after three lines take no space and would not fit in memory twice.
    let file = fs::File::create(root.path().join("huge")).unwrap();
    fs::write(root.path().join("huge"), "a\nb\nc\n").unwrap();
    file.set_len(8 << 30).unwrap();
    let fixture = fixture(root.path()).await;
    let said = fixture
        .text_of("read_file", r#"{"path":"huge","limit":3}"#)
        .await;
    assert_eq!(said, "a\nb\nc\n");
    let said = fixture.text_of("read_file", r#"{"path":"huge"}"#).await;
    assert!(said.starts_with("TOO_LARGE: "), "{said}");
}

#[tokio::test]
async fn text_over_the_budget_is_kept_whole_by_hash_and_cut_at_a_character() {
    let root = tempfile::tempdir().unwrap();
    let whole = "é".repeat(100);
    fs::write(root.path().join("e"), &whole).unwrap();
    let mut fixture = fixture(root.path()).await;
    let check = async |fixture: &Fixture, expect: &str, full: bool| {
        let envelope = fixture.envelope("read_file", r#"{"path":"e"}"#).await;
        assert_eq!(envelope.bytes_out, 200);
        assert_eq!(envelope.text(), expect);
        let kept = envelope.full.map(|digest| fixture.blobs.bytes(digest));
        assert_eq!(kept, full.then(|| whole.clone().into_bytes()));
    };
    fixture.limit = 200;
    check(&fixture, &whole, false).await;
    fixture.limit = 199;
    check(&fixture, &"é".repeat(99), true).await;
    fixture.limit = 1;
    check(&fixture, "", true).await;
    fixture.limit = 0;
    check(&fixture, "", true).await;
}

#[tokio::test]
async fn an_envelope_names_its_call_and_times() {
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let envelope = fixture.envelope("echo", r#"{"text":"hi"}"#).await;
    assert_eq!(
        (envelope.tool.as_str(), envelope.tool_call_id.as_str()),
        ("echo", "call-1")
    );
    assert_eq!((envelope.bytes_in, envelope.bytes_out), (13, 2));
    assert_eq!((envelope.started_at_ms, envelope.duration_ms), (5_000, 0));
    assert_eq!((envelope.status, envelope.tokens), (EnvelopeStatus::Ok, 0));
    assert_eq!(texts(&envelope), ["hi"]);
    let failed = fixture.envelope("read_file", r#"{"path":"x"}"#).await;
    assert_eq!(failed.status, EnvelopeStatus::Error);
    assert_eq!(failed.text(), "\"x\" does not exist");
    assert_eq!(failed.bytes_out, 18);
}

#[tokio::test]
async fn a_tool_that_is_not_what_the_contract_pins_is_not_started() {
    let root = tempfile::tempdir().unwrap();
    let mut fixture = fixture(root.path()).await;
    let mut pins = fixture.up.servers.pins().clone();
    assert_eq!(
        fixture.up.servers.expect_pins(pins.clone()),
        Vec::<String>::new()
    );
    pins.remove("clock");
    pins.get_mut("echo").unwrap().0 = Digest::ZERO;
    pins.insert(
        "gone".to_owned(),
        monolith_core::contract::ToolPin(Digest::ZERO),
    );
    assert_eq!(fixture.up.servers.expect_pins(pins), ["echo", "gone"]);
    for tool in ["echo", "gone", "clock", "unknown"] {
        let outcome = fixture.call(tool, r#"{"text":"x"}"#).await;
        assert_eq!(outcome, offer::changed(), "{tool}");
    }
}

#[tokio::test]
async fn a_built_in_can_be_cancelled_and_times_out() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("f"), "x").unwrap();
    let mut fixture = fixture(root.path()).await;
    fixture.cancel.cancel();
    let outcome = fixture.call("read_file", r#"{"path":"f"}"#).await;
    assert_eq!(outcome, ToolOutcome::Cancelled);
    fixture.cancel = tokio_util::sync::CancellationToken::new();
    // Counting the lines of 8 GiB of zero bytes takes longer than a test may.
    let file = fs::File::create(root.path().join("huge")).unwrap();
    file.set_len(8 << 30).unwrap();
    fixture.timeout_ms = 20;
    let outcome = fixture
        .call("read_file", r#"{"path":"huge","offset":1}"#)
        .await;
    assert_eq!(outcome, ToolOutcome::TimedOut);
}

#[tokio::test]
async fn what_cannot_be_brought_up_is_a_fault_with_its_rule() {
    let root = tempfile::tempdir().unwrap();
    let builtin = |name: &str| ServerSpec::Builtin {
        http_get: None,
        names: vec![name.to_owned()],
        shell: None,
        withheld: Withheld::default(),
    };
    let stdio = || ServerSpec::Stdio {
        terms: McpTerms::default(),
        args: Vec::new(),
        command: "true".to_owned(),
        env: std::collections::BTreeMap::default(),
        files: StartFiles::default(),
        folder: std::path::PathBuf::new(),
        sandbox: None,
        shared: true,
        supervisor: None,
    };
    let specs = [
        ("a b", stdio()),
        ("agent", stdio()),
        ("builtin", builtin("rm")),
        ("other", builtin("echo")),
    ];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    insta::assert_snapshot!(fixture.faults().join("\n"), @r#"
    a b: failed to use the server name: a server's name is 1 to 32 characters of A–Z a–z 0–9 _ -
    agent: failed to use the server name: tools that begin with agent__ are monolith's own; call the server otherwise
    builtin: failed to find the built-in tool "rm"; there are apply_patch, clock, edit_file, echo, glob, grep, http_get, list_directory, read_file, shell, write_file
    other: failed to use the server name: the built-in tools are called builtin
    "#);
    assert!(
        fixture
            .up
            .capabilities
            .values()
            .all(|server| !server.available)
    );
    let missing = Fixture::bring_up([("builtin", all())], &root.path().join("missing")).await;
    assert!(
        missing.faults()[0].starts_with("builtin: failed to open the workspace: "),
        "{:?}",
        missing.faults()
    );
}

#[tokio::test]
async fn a_host_that_says_nothing_ends_at_the_calls_timeout() {
    let root = tempfile::tempdir().unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = silent.local_addr().unwrap();
    let spec = ServerSpec::Builtin {
        http_get: Some(HttpGetTerms {
            hosts: vec![HostPattern::parse(&own.to_string()).unwrap()],
            loopback: true,
            max_bytes: 1_000,
            max_redirects: 0,
            schemes: vec![WebScheme::Http],
        }),
        names: vec!["http_get".to_owned()],
        shell: None,
        withheld: Withheld::default(),
    };
    let mut fixture = Fixture::bring_up([("builtin", spec)], root.path()).await;
    let tool = &fixture.up.capabilities["builtin"].tools[0];
    assert_eq!(tool.annotations["openWorldHint"], true);
    assert_eq!(tool.annotations["readOnlyHint"], true);
    fixture.timeout_ms = 200;
    let arguments = format!(r#"{{"url":"http://{own}/"}}"#);
    let outcome = fixture.call("http_get", &arguments).await;
    assert_eq!(outcome, ToolOutcome::TimedOut);
    // It was asked.
    assert!(silent.accept().await.is_ok());
}
