//! Tests of what the layers say as a whole: bindings to queues, unknown sections, the folder of snapshots, and files of what a key lacks.

use serde_json::{Value, json};

use super::Fixture;

const ASKS: &str = "task: t\ntargets: [{provider: cloud, model: m}]\n";

fn layer(sections: Value) -> Value {
    let mut layer = json!({"providers": {"cloud": {"type": "ollama"}}});
    let (Value::Object(all), Value::Object(more)) = (&mut layer, sections) else {
        unreachable!("both are objects");
    };
    all.extend(more);
    layer
}

/// 000/7.queues.1, 001/6.servers.5: also where no contract names the tool.
#[test]
fn a_queue_that_any_tool_of_the_layers_names_is_there_or_nothing_begins() {
    let bound = |sections: &[Value], contract: &str| {
        let fixture = Fixture::new();
        let names = ["cwd/.ai-agent.json", "me/.ai-agent/ai-agent.json"];
        fixture.write("cwd/.ai-agent.env", "QUEUE=hunter2\n");
        for (name, sections) in names.iter().zip(sections) {
            fixture.write(name, &layer(sections.clone()));
        }
        let read = fixture.spec(&format!("{ASKS}{contract}"));
        let rules = read.err().unwrap_or_default();
        let rules = fixture.shown(&rules);
        let rules = rules
            .lines()
            .filter_map(|line| line.strip_prefix("error: "));
        rules.map(str::to_owned).collect::<Vec<_>>()
    };
    let rule = "is defined under `queues`; define it there, or leave `queue` out";
    let all = json!({
        "mcpServers": {
            "t": {"command": "x", "queue": "missing"},
            "off": {"command": "x", "queue": "missing", "enabled": false},
            "plain": {"command": "x"}, "usual": {"command": "x", "queue": "default"},
            "unset": {"command": "x", "queue": "${NOWHERE}"}, "v": {"command": "x", "queue": "${QUEUE}"},
        },
        "restTools": {"z": {"queue": "nope"}},
        "openapiSpecs": {"o": {"spec": "o.yaml", "queue": "slow"}},
        "queues": {"slow": {"concurrent": 1}},
    });
    let file = "in /cwd/.ai-agent.json: no queue";
    assert_eq!(
        bound(std::slice::from_ref(&all), ""),
        [
            format!("mcpServers.t.queue {file} `missing` {rule}"),
            format!("mcpServers.v.queue {file} of the name that a variable holds {rule}"),
            format!("restTools.z.queue {file} `nope` {rule}"),
        ]
    );
    // What is no name of a queue and what is no queue.
    let wrong = json!({
        "mcpServers": {"t": {"command": "x", "queue": 7}, "none": {"command": "x", "queue": null}},
        "queues": {
            "zero": {"concurrent": 0}, "text": {"concurrent": "zero"}, "empty": {}, "list": [1], "good": {"concurrent": 2},
        },
    });
    let file = "in /cwd/.ai-agent.json:";
    let number = "expected a whole number of at least 1";
    assert_eq!(
        bound(&[wrong], ""),
        [
            format!("mcpServers.t.queue {file} expected the name of a queue"),
            format!("queues.empty {file} `concurrent` is missing, how many calls run at once"),
            format!("queues.list {file} it is no JSON object"),
            format!("queues.text.concurrent {file} {number}"),
            format!("queues.zero.concurrent {file} {number}"),
        ]
    );
    // What a contract defines is there, and what it names is judged where it does.
    let own =
        "queues: {missing: {concurrent: 1}, nope: {concurrent: 1}, hunter2: {concurrent: 1}}\n";
    assert_eq!(bound(&[all], own), [""; 0]);
    let one = json!({"mcpServers": {"t": {"command": "x", "queue": "missing"}}});
    let named = bound(std::slice::from_ref(&one), "tools: {mcp: {t: }}\n");
    let expect =
        "tools.mcp.t.queue: no queue `missing` is defined under `queues` (in /cwd/.ai-agent.json)";
    assert_eq!(named, [expect]);
    // The result of all layers counts: a higher one overrides a binding, a lower one defines a queue.
    let over = json!({"mcpServers": {"t": {"queue": "default"}}});
    assert_eq!(bound(&[over, one.clone()], ""), [""; 0]);
    let below = json!({"queues": {"missing": {"concurrent": 1}}});
    assert_eq!(bound(&[one.clone(), below], ""), [""; 0]);
    let low = bound(&[json!({}), one], "");
    assert_eq!(low.len(), 1, "{low:?}");
    assert!(low[0].contains("in /me/.ai-agent/ai-agent.json"), "{low:?}");
}

#[test]
fn a_section_that_is_nearly_one_that_counts_is_noted_with_it() {
    let fixture = Fixture::new();
    let sections = json!({
        "mcpservers": {"t": {}}, "default": {"maxTurns": 1}, "telemetry": {}, "slack": {}, "api": {}, "persistence": {},
        "$schema": "x", "comment": "hunter2", "telemetri": {}, "apis": {}, "persistance": {},
    });
    fixture.write("cwd/.ai-agent.json", &layer(sections));
    let spec = fixture.spec(ASKS).unwrap();
    let notes = spec.clamped.iter().map(|note| fixture.shown(note));
    let mut notes: Vec<String> = notes.collect();
    notes.sort();
    let note = |written: &str, meant: &str| {
        format!("/cwd/.ai-agent.json: `{written}` is ignored; did you mean `{meant}`?")
    };
    assert_eq!(
        notes,
        [
            note("default", "defaults"),
            note("mcpservers", "mcpServers"),
            note("persistance", "persistence"),
        ]
    );
    let said_of = |persistence: Value| {
        fixture.write(
            "cwd/.ai-agent.json",
            &layer(json!({"persistence": persistence})),
        );
        let spec = fixture.spec(ASKS).unwrap();
        let notes = spec.clamped.iter().map(|note| fixture.shown(note));
        notes.collect::<Vec<_>>().join("; ")
    };
    let begin = "/cwd/.ai-agent.json: `persistence";
    assert_eq!(
        said_of(json!({"sessionDir": "x", "billingFile": "y"})),
        format!("{begin}.sessionDir` means nothing; did you mean `sessionsDir`?")
    );
    let text = format!("{begin}` is no JSON object, so it means nothing");
    assert_eq!(said_of(json!("x")), text);
    // A contract that takes nothing from the layers has nothing to do with them.
    let own = format!("{ASKS}providers: {{cloud: {{type: ollama, base_url: 'http://own/'}}}}\n");
    assert!(fixture.spec(&own).unwrap().clamped.is_empty());
}

/// 001/11.direct.11
#[test]
fn the_folder_of_snapshots_of_a_layer_begins_in_the_folder_of_that() {
    let fixture = Fixture::new();
    let found = |folder: Value| {
        let persistence = json!({"persistence": {"sessionsDir": folder}});
        fixture.write("me/.ai-agent/ai-agent.json", &persistence);
        let found = fixture.layers(None).sessions_dir();
        let found = found.map(|path| path.map(|path| fixture.shown(&path.display().to_string())));
        found.map_err(|fault| fixture.shown(&fault.to_string()))
    };
    assert_eq!(found(Value::Null), Ok(None));
    let below = "/me/.ai-agent/ses/shell".to_owned();
    assert_eq!(found(json!("ses/${SHELL_VAR}")), Ok(Some(below)));
    assert_eq!(found(json!("/var/ses")), Ok(Some("/var/ses".to_owned())));
    let begin = "configuration /me/.ai-agent/ai-agent.json: persistence.sessionsDir: ";
    for (wrong, rule) in [
        (json!(7), "it is no path of a folder"),
        (json!(""), "it is no path of a folder"),
        (json!("${NOWHERE}"), "the variable ${NOWHERE} is not set"),
        (json!("~/ses"), "`~` is no folder there; ${HOME} is"),
        (json!("~root/ses"), "`~` is no folder there; ${HOME} is"),
    ] {
        let fault = found(wrong).unwrap_err();
        assert!(fault.starts_with(&format!("{begin}{rule}")), "{fault}");
    }
    // A higher layer counts.
    let high = json!({"persistence": {"sessionsDir": "here"}});
    fixture.write("cwd/.ai-agent.json", &high);
    assert_eq!(found(json!("low")), Ok(Some("/cwd/here".to_owned())));
}

/// A key missing from a definition is in none of its values, and a section that is no mapping has no values. The error names
/// the file all the same.
#[test]
fn a_fault_of_a_definition_names_its_file_and_the_header() {
    let check = |sections: Value, contract: &str, expect: &str| {
        let fixture = Fixture::new();
        fixture.write("cwd/.ai-agent.json", &sections);
        let fault = fixture.spec(&format!("task: t\n{contract}")).unwrap_err();
        let fault = fixture.shown(&fault);
        let expect = format!("error: {expect} (in /cwd/.ai-agent.json)");
        assert!(
            fault.lines().any(|line| line == expect),
            "{expect}: {fault}"
        );
    };
    let asks = "targets: [{provider: loc, model: m}]\n";
    let loc =
        |headers: Value| json!({"providers": {"loc": {"type": "ollama", "headers": headers}}});
    check(
        loc(json!("x")),
        asks,
        "providers.loc.headers: expected a mapping, got text",
    );
    check(
        loc(json!({"X Key": "x"})),
        asks,
        "providers.loc.headers.X Key: not a header name",
    );
    let own = "targets: [{provider: p, model: m}]\nproviders: {p: {type: ollama}}\n";
    check(
        json!({"restTools": {"nos": {"description": "d", "method": "GET"}}}),
        &format!("{own}tools: {{rest: {{nos: }}}}\n"),
        "tools.rest.nos: the key `url` is missing",
    );
    check(
        json!({"queues": {"f": {}}, "mcpServers": {"s": {"command": "x", "queue": "f"}}}),
        &format!("{own}tools: {{mcp: {{s: }}}}\n"),
        "queues.f: the key `concurrent` is missing",
    );
    let argument = "X-Key holds a placeholder of an argument; a header takes variables alone";
    check(
        json!({"restTools": {"h": {
            "description": "d", "method": "GET", "url": "https://h.example/", "headers": {"X-Key": "${parameters.q}"},
        }}}),
        &format!("{own}tools: {{rest: {{h: }}}}\n"),
        &format!("tools.rest.h.headers: {argument}"),
    );
}
