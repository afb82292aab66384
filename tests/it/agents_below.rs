//! Contracts with agents that may be called, against the binary: what is shown of them, what is wrong with them, and who trusts them.

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left};

const LEAD: &str = "\
task: Plan a day.
targets: [{provider: p, model: m, context_window: 9000}]
providers: {p: {type: scripted, file: lead.jsonl}}
agents:
- team/scout.ai
- {file: team/judge.agent.yaml, tools: ['fs__*']}
";
const SCOUT: &str = "---
description: Looks things up.
toolName: web.scout
agents: [../lead.yaml]
---
You look up. ${include:how.md}
";
const JUDGE: &str = "
id: judge
version: 1.0.0
system: You judge.
contract: {max_tokens_consumed: 5000, max_cost_micro_usd: 70, total_timeout_ms: 60000}
";

/// The lead `lead.yaml` and its two agents, in `folder`.
fn team(fixture: &Fixture, folder: &str) {
    fixture.write(&format!("{folder}/lead.yaml"), LEAD);
    fixture.write(&format!("{folder}/lead.jsonl"), "");
    fixture.write(&format!("{folder}/team/scout.ai"), SCOUT);
    fixture.write(&format!("{folder}/team/how.md"), "Be quick.");
    fixture.write(&format!("{folder}/team/judge.agent.yaml"), JUDGE);
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    team(&fixture, "here");
    fixture
}

/// 001/5.hierarchies.1
#[test]
fn the_contract_of_a_lead_names_its_agents_wherever_it_is_read() {
    let fixture = fixture();
    let show = |path: &str| -> Value {
        serde_json::from_str(&fixture.ok(&["contract", "show", path, "--json"])).unwrap()
    };
    let shown = show("here/lead.yaml");
    assert_eq!(shown["agents"]["agent__web.scout"]["file"], "team/scout.ai");
    let judge = &shown["agents"]["agent__judge"];
    assert_eq!(judge["grant"], json!(["fs__*"]));
    assert_eq!(judge["max_tokens_consumed"], 5000);
    assert_eq!(shown["delegation"]["chain"][0]["name"], "lead");

    // The same in another folder, another one as soon as an agent's text is another one: what it includes counts.
    let hash = |path: &str| fixture.ok(&["contract", "hash", path]);
    team(&fixture, "there");
    let before = hash("here/lead.yaml");
    assert_eq!(hash("there/lead.yaml"), before);
    fixture.write("there/team/how.md", "Be slow.");
    assert_ne!(hash("there/lead.yaml"), before);
}

#[test]
fn what_is_shown_of_a_contract_lists_its_agents_with_file_digest_and_budget() {
    let fixture = fixture();
    let digest = |tool: &str| {
        let shown = fixture.json(&["contract", "show", "here/lead.yaml"]).1;
        let digest = shown["agents"][tool]["digest"].as_str().unwrap();
        digest[..12].to_owned()
    };
    let judge = format!(
        "team/judge.agent.yaml ({}), at most 5,000 tokens, at most $0.0001, at most 60 s, tools fs__*",
        digest("agent__judge")
    );
    let scout = format!(
        "team/scout.ai ({}), a share of the tokens that are left, at most 3,600 s",
        digest("agent__web.scout")
    );
    let checked = fixture.ok(&["contract", "check", "here/lead.yaml"]);
    for line in [
        format!("  agent     agent__web.scout: {scout}   (agents.0)"),
        format!("  agent     agent__judge: {judge}   (agents.1)"),
    ] {
        assert!(checked.contains(&line), "{line}\n{checked}");
    }
    let (_, checked) = fixture.json(&["contract", "check", "here/lead.yaml"]);
    assert_eq!(checked["reaches"]["agents"][0]["tool"], "agent__web.scout");
    assert_eq!(
        checked["reaches"]["agents"][0]["terms"]["file"],
        "team/scout.ai"
    );

    let tools = fixture.ok(&["tools", "here/lead.yaml"]);
    for line in ["agent  child runs  pin", "prompt: string", &judge, &scout] {
        assert!(tools.contains(line), "{line}\n{tools}");
    }
    let (_, tools) = fixture.json(&["tools", "here/lead.yaml"]);
    assert_eq!(tools["tools"][0]["agent"]["file"], "team/judge.agent.yaml");
}

/// 001/5.hierarchies.5
#[test]
fn faults_of_agents_are_faults_of_the_lead_each_with_its_own_line() {
    let fixture = fixture();
    fixture.write(
        "here/team/scout.ai",
        "---\ntoolName: a b\nmaxTurn: 3\n---\nx",
    );
    fixture.write("here/team/judge.agent.yaml", "{version: '1'}");
    let lead = format!("{LEAD}- gone.ai\n- w.yaml\n");
    fixture.write("here/lead.yaml", &lead);
    let workflow = "workflow: w\nsteps: [{id: a, delegate: lead.yaml, task: go}]\n";
    fixture.write("here/w.yaml", workflow);
    let left = fixture.ends(&["contract", "check", "here/lead.yaml"], 4);
    for part in [
        "error: agents.0: here/team/scout.ai:2:11: toolName: expected 1 to 57 letters, digits, `.`, `_` and `-`",
        "error: agents.0: here/team/scout.ai:3:1: maxTurn: unknown key `maxTurn`",
        "[here/lead.yaml:5:3]",
        "error: agents.1: here/team/judge.agent.yaml:1:1: the key `id` is missing",
        "[here/lead.yaml:6:3]",
        "error: agents.2: failed to read the contract here/gone.ai: ",
        "[here/lead.yaml:7:3]",
        "error: agents.3: here/w.yaml is a workflow, and agents are ",
        "[here/lead.yaml:8:3]",
    ] {
        assert!(left.err.contains(part), "{part}\n{}", left.err);
    }
}

#[test]
fn what_is_for_every_agent_reaches_those_below() {
    let fixture = fixture();
    fixture.write(
        "here/top.ai",
        "---\nmodels: [p/m]\nagents: [team/scout.ai]\n---\nx",
    );
    fixture.write(
        "here/.ai-agent.json",
        r#"{"providers": {"p": {"type": "scripted", "file": "lead.jsonl"}}}"#,
    );
    let dry = |option: &[&str]| {
        let config = ["--config", "here/.ai-agent.json"];
        let run = [&["run", "here/top.ai", "Plan.", "--dry-run"][..], &config].concat();
        fixture.run(&[&run[..], option].concat()).printed()
    };
    // A value that no agent can have is wrong in the one that is called, too.
    let said = dry(&["--override", "maxTurns=many"]);
    assert!(
        said.contains("--override maxTurns=many: max_turns: expected a whole number"),
        "{said}"
    );
    let said = dry(&["--override", "description=seven"]);
    assert!(
        said.contains("team/scout.ai") && !said.contains("--override"),
        "{said}"
    );
}

/// A fixture whose folder has a contract that starts nothing, by an agent that starts a command.
struct Found(Fixture);

impl Found {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.write("home/.keep", "");
        fixture.write(
            "place/agent.yaml",
            &LEAD.replace("\n- {file: team/judge.agent.yaml, tools: ['fs__*']}", ""),
        );
        fixture.write("place/lead.jsonl", "");
        fixture.write(
            "place/team/scout.ai",
            "---\nagents: [deep/below.yaml]\n---\nx",
        );
        let found = Self(fixture);
        found.below("one");
        found
    }

    fn below(&self, server: &str) {
        let text = format!("tools: {{mcp: {{{server}: {{command: server-that-is-none}}}}}}\n");
        self.0.write("place/team/deep/below.yaml", &text);
    }

    fn run(&self, args: &[&str]) -> Left {
        let mut command = self.0.command(args);
        command.current_dir(self.0.path("place"));
        command.output().expect("it starts").into()
    }
}

#[test]
fn a_contract_that_was_found_is_trusted_with_every_agent_below_it() {
    let found = Found::new();
    let refused = || {
        let left = found.run(&["tools"]);
        assert_eq!(left.code, 4, "{}", left.printed());
        for part in [
            "is not trusted as it is now",
            "server-that-is-none",
            "team/deep/below.yaml",
        ] {
            assert!(left.err.contains(part), "{part}\n{}", left.printed());
        }
    };
    let allowed = || {
        let left = found.run(&["tools"]);
        assert_eq!(left.code, 0, "{}", left.printed());
    };
    refused();
    let left = found.run(&["trust", "agent.yaml"]);
    assert_eq!(left.code, 0, "{}", left.printed());
    assert!(
        left.out.contains("server-that-is-none"),
        "{}",
        left.printed()
    );
    allowed();
    // An agent that is another one is not the one that was trusted.
    found.below("two");
    refused();
    found.run(&["trust", "agent.yaml"]);
    allowed();
    found.run(&["trust", "--remove", "agent.yaml"]);
    refused();
    // Without one that starts anything there is nothing to trust.
    found.0.write("place/team/deep/below.yaml", "system: x\n");
    allowed();
}

/// 000/7.queues.1: bindings of the layers are judged once, with the queues of the file that is run. An agent below it can define none.
#[test]
fn a_queue_that_the_caller_defines_is_there_for_its_agents() {
    let fixture = Fixture::new();
    let layer = json!({"mcpServers": {
        "used": {"command": "true"},
        "unnamed": {"command": "x", "queue": "slow"},
    }});
    fixture.layer(&layer.to_string());
    fixture.write(
        "kid.ai",
        "---\ndescription: Looks.\ntools: [used]\n---\nYou look.\n",
    );
    fixture.write("lead.jsonl", "");
    let checked = |queues: &str, code: i32| {
        let lead = LEAD.split("agents:").next().unwrap();
        let more = "agents: [kid.ai]\ntools: {mcp: {used: }}\n";
        fixture.write("lead.yaml", &format!("{lead}{more}{queues}"));
        fixture
            .ends(&["contract", "check", "lead.yaml"], code)
            .printed()
    };
    let refused = checked("", 4);
    assert!(refused.contains("no queue `slow` is defined"), "{refused}");
    checked("queues: {slow: {concurrent: 1}}\n", 0);
}

/// 001 §2, §6: a service that no tool may reach is found without asking it, and so is what an agent below needs, with its place and the
/// word that its author must write.
/// 001/2.file.17, 001/11.direct.4
#[test]
fn why_a_server_is_not_there_is_known_of_agents_below_too() {
    let fixture = Fixture::new();
    let service = |url: &str| json!({"description": "d", "method": "GET", "url": url});
    let layer = json!({
        "providers": {"here": {"type": "openai", "baseUrl": "http://127.0.0.1:9/v1", "contextWindow": 32768}},
        "mcpServers": {"dead": {"command": "nosuch-dead"}, "live": {"command": "nosuch-live"}},
        "restTools": {"lo": service("http://127.0.0.1:1/")},
        "openapiSpecs": {
            "o": {"spec": "./nosuch.json", "baseUrl": "http://10.0.0.3/"},
            "p": {"spec": "http://localhost.:3/p.json"},
        },
    });
    fixture.layer(&layer.to_string());
    fixture.write(
        "p.ai",
        "---\nmodels: [here/m]\nagents: [k1.ai, k2.ai]\n---\nx",
    );
    fixture.write("k1.ai", "---\ntools: [dead]\n---\nx");
    fixture.write("k2.ai", "---\ntools: [rest__lo, rest__o_a]\n---\nx");
    let private = "note: k2.ai: rest__o did not come up: failed to reach tools.openapi.o: 10.0.0.3 is a private address; `networks` in the contract may name its network";
    for run in [
        &["run", "p.ai", "x", "--dry-run"][..],
        &["contract", "check", "p.ai", "--start-servers"],
    ] {
        let left = fixture.ends(run, 3);
        for part in [
            "FAILED  k1.ai: the tool server `dead` is not available\n        at k1.ai:2:9\n",
            "FAILED  k2.ai: the tool server `rest__lo` is not available; the tool server `rest__o` is not available\n        at k2.ai:2:9\n        at k2.ai:2:19\n",
        ] {
            assert!(left.out.contains(part), "{part}: {}", left.out);
        }
        for part in [
            "note: k1.ai: dead did not come up: failed to find the command \"nosuch-dead\"",
            "note: k2.ai: rest__lo did not come up: failed to reach tools.rest.lo: 127.0.0.1 is this machine; `loopback: true` in the contract allows that",
            private,
        ] {
            assert!(left.err.contains(part), "{part}: {}", left.err);
        }
    }
    let document = fixture
        .run(&["run", "p.ai", "x", "--dry-run", "--json"])
        .document();
    let faults = document["server_faults_below"].as_array().unwrap();
    assert!(
        faults
            .iter()
            .any(|fault| fault["file"] == "k1.ai" && fault["server"] == "dead")
    );
    assert_eq!(document["checks_below"][0]["places"], json!(["k1.ai:2:9"]));
    // No server is started to see it, and none is asked; another one that is not started hides nothing.
    let agent = |tools: &str| format!("---\nmodels: [here/m]\ntools: [{tools}]\n---\nx");
    for (tools, why) in [
        ("rest__o_a", "10.0.0.3 is a private address"),
        ("live, rest__o_a", "10.0.0.3 is a private address"),
        ("rest__p_a", "localhost. is 127.0.0.1, this machine"),
        ("live, rest__lo", "127.0.0.1 is this machine"),
    ] {
        fixture.write("a.ai", &agent(tools));
        let left = fixture.ends(&["contract", "check", "a.ai"], 3);
        assert!(left.printed().contains(why), "{tools}: {}", left.printed());
    }
    fixture.write("a.ai", &agent("live"));
    fixture.ends(&["contract", "check", "a.ai"], 0);
}
