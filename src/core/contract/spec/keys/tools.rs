//! The keys of tools, servers and queues, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;

use super::web::{OpenapiEntry, RestEntry};
use crate::contract::spec::declare::form;
use crate::contract::spec::flow_values::Labels;
use crate::contract::spec::form::FromLayer::{AsIs, Later, Names};
use crate::contract::spec::form::{DefaultText, NEEDED};
use crate::contract::spec::reader::ScalarText;
use crate::contract::spec::texts::{
    Env, EnvName, HeaderName, Headers, ImportNames, Named, RestNames, SecretPattern, ServerNames,
    ServerUrl, Url,
};
use crate::contract::spec::transport::McpSpec;
use crate::contract::spec::words::Builtin;
use crate::contract::{
    ApprovalAction, ApprovalRule, Beside, CallLimits, ContextBudget, ContractMetadata,
    CycleException, Elicitation, FlowAction, FlowRule, HealthProbe, HostPattern, HttpGetTerms,
    LabelRule, MOST_BODY_BYTES, MOST_REDIRECTS, Network, OAuthGrant, OAuthTerms, QueueTerms,
    RedactionTerms, Remote, ReportFormat, SandboxSpec, ToolOutputBudget, WebScheme,
};
use crate::message::{DEFAULT_TRUNCATION_MARKER, Digest};

form! {
    /// The section `tools`.
    TOOLS: ToolsKeys, "tools", "where tools come from" [pub(in crate::contract) struct ToolsEntry judged];
    "tools": {
        builtin: Vec<Builtin> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Tools inside monolith: `echo`, `clock`; `read_file`, `list_directory`, `glob`, `grep`, which read the workspace; `write_file`, `edit_file`, `apply_patch`, which change it; `shell`, which runs commands in it ([sandbox.md](sandbox.md)); `http_get`, which asks hosts.";
        env: Env as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "Variables that commands of `shell` see beside [the usual ones](sandbox.md#variables). Values may hold `${NAME}`.";
        host: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Tools of the program that embeds monolith, by the names that it registers them under; the model sees `host__<name>` ([embedding](recipes/embedding.md)). The command line has none.";
        http_get: HttpGetTerms, DefaultText = DefaultText("none"),
        "Where the tool `http_get` may ask; needed with it, and only with it." => nullable;
        mcp: Named<ServerNames, ServerEntry> as BTreeMap<String, McpSpec> => or_empty, DefaultText = DefaultText("none"),
        "Tool servers by name; their tools are called `<server>__<tool>`.";
        openapi: Named<ImportNames, OpenapiEntry> as BTreeMap<String, McpSpec> => or_empty, DefaultText = DefaultText("none"),
        "Web services whose operations are tools, by name; the model sees `rest__<name>_<operation>` ([rest-tools.md](rest-tools.md)).";
        rest: Named<RestNames, RestEntry> as BTreeMap<String, McpSpec> => or_empty, DefaultText = DefaultText("none"),
        "Tools that are requests to web services, by name; the model sees `rest__<name>` ([rest-tools.md](rest-tools.md)).";
        sandbox: SandboxSpec, DefaultText = DefaultText("on, without a network"),
        "What confines the commands of `shell`; `off`: nothing does. See [sandbox.md](sandbox.md)." => nullable;
        workspace: String, DefaultText = DefaultText("none"),
        "The folder that file tools see and tool servers are started in. A relative path begins in the folder of the contract file; without this key it is that folder." => nullable;
    }
}

form! {
    /// The mapping `sandbox`.
    SANDBOX: SandboxKeys, "sandbox", "what confines commands" [reads SandboxSpec {} by hand];
    "sandbox": {
        network: Network, Network = Network::Off,
        "`on`: the host's network, all of it. `off`: an isolated network without connections. A tool server has the host's unless it is `off`." => nullable;
        read: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Folders and files that may be read beside the system's programs and their settings. `~/` is the home; a relative path begins in the folder of the \
         contract file. What is not there is left out.";
        write: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Folders and files that may be written beside the workspace; written in the same way.";
        sockets: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Unix sockets that may be connected to, such as `/run/docker.sock`; written in the same way. Every other one is masked then. Without this key and \
         the network no unix socket is connected to.";
        memory_mb: u64, u64 = 4_096,
        "Memory of each process in MiB, and of all together where monolith may make a control group.";
        processes: u64, u64 = 512,
        "Processes and threads at once.";
        file_mb: u64, u64 = 2_048,
        "The size of one file in MiB.";
        open_files: u64, u64 = 1_024,
        "Open files of one process.";
        cpu_s: u64, u64 = 1_800,
        "Seconds of processor time of one process.";
    }
}

form! {
    /// The section `tools.http_get`.
    HTTP_GET: HttpGetKeys, "http-get", "where the tool `http_get` may ask" [reads HttpGetTerms judged];
    "http-get": {
        hosts: Vec<HostPattern> => needed, DefaultText = NEEDED,
        "The hosts that it may ask, redirects included: `docs.rs`, `docs.rs:8443`, `*.docs.rs` for every host below, `*` for any. Without a port it is the \
         scheme's own." => at_least_one;
        schemes: Vec<WebScheme> => or_empty, DefaultText = DefaultText("`[https]`"),
        "The schemes of addresses: `https`, `http`." => at_least_one;
        loopback: bool => or_default, bool = false,
        "Whether a listed host may be this machine. No other address that is not public is ever asked.";
        max_bytes: u64 => or_default, u64 = 1_048_576,
        "Bytes of a body that are returned; the rest is left out. At most 16 MiB." => within((1, MOST_BODY_BYTES));
        max_redirects: u32 => or_default, u32 = 5,
        "Redirects that are followed; at most 20." => within((0, MOST_REDIRECTS));
    }
}

form! {
    /// One entry of `tools.mcp`.
    SERVER: ServerKeys, "server", "an MCP server: a `command` or a `url`" [pub(in crate::contract) struct ServerEntry judged elsewhere];
    "server": {
        command: String, DefaultText = DefaultText("one of the two"),
        "The program that is started as a child process. A name is looked up in `PATH`; a path with a slash, such as `./server`, begins in the folder of the contract file." => not_with(&["url"]), layers(AsIs);
        url: ServerUrl as String, DefaultText = DefaultText("one of the two"),
        "The address of a server: `http` or `https`, and for a websocket `ws` or `wss`." => layers(AsIs);
        server_type as "type": Remote, DefaultText = DefaultText("`websocket` with `ws` and `wss`, else `http`"),
        "What is spoken at the address. `http`: streamable HTTP. `sse`: a stream of events and POSTs, as older servers do. `websocket`: one message a frame." => nullable, not_with(&["command"]), layers(AsIs);
        args: Vec<ScalarText> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Arguments of the command, passed on as they are written." => not_with(&["url"]), layers(AsIs);
        arg_variables: Vec<EnvName> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Names of variables that `args` hold as `${NAME}`. Their values are put in where the server is started; the contract holds the names." => nullable, not_with(&["url"]);
        env: Env as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "What is added to the command's small environment. Values may hold `${NAME}`." => not_with(&["url"]), layers(Later);
        headers: Headers as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "Headers of every request to the address. Values may hold `${NAME}`." => not_with(&["command"]), layers(Later);
        oauth: OAuthTerms, DefaultText = DefaultText("a login, where the server wants one"),
        "As what monolith comes to the server's authorization server." => nullable, not_with(&["command"]);
        elicitation: Elicitation => or_default, Elicitation = Elicitation::Denied,
        "What the server gets that asks for input during a call. `denied`: an error. `defaults`: the default of every field that has one, \
         and a refusal where a field that it needs has none. `ask`: what a person enters, who is asked as for an approval (`monolith approve RUN --field NAME=VALUE`)." => nullable;
        enabled: bool => or_default, bool = true,
        "With `false` the server is as if it were not in the file." => nullable, layers(AsIs);
        health_probe: HealthProbe => or_default, HealthProbe = HealthProbe::Ping,
        "What the server is asked for a sign of life with, once a call to it timed out. `ping`: a ping, and without an answer its tools. \
         `list_tools`: its tools, for a server that does not implement ping." => nullable, layer_name("healthProbe"), layers(AsIs);
        offers: Vec<Beside> => or_empty, DefaultText = DefaultText("none"),
        "What of the server is offered beside its tools: `resources`, `prompts`, as tools `list_resources`, `list_resource_templates`, `read_resource`, `list_prompts`, `get_prompt`.";
        pin: Digest, DefaultText = DefaultText("none"),
        "The hash that the server's tools must have together; `monolith contract pin` writes it. Other tools than at the pin: \
         `FAILED_PREFLIGHT(tool_changed)`." => nullable, layers(AsIs);
        queue: String, DefaultText = DefaultText("`default`, where there are queues"),
        "The queue that its calls wait in." => nullable, layers(AsIs);
        roots: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Folders that the server is named where it asks for them; those that are there. A relative path begins in the folder of the contract file. In its sandbox it may write there." => layers(AsIs);
        sandbox: SandboxSpec, DefaultText = DefaultText("its files, where the system can"),
        "What confines the command ([sandbox.md](sandbox.md)). Stated, it is confined or not started; its network is `on` unless it is `off`, and \
         only stated limits hold. `off`: nothing confines it." => nullable, not_with(&["url"]), layers(AsIs);
        sampling: String, DefaultText = DefaultText("none"),
        "The model that the server may have asked during a call, as `provider/model` or one of `targets` by its name. What it is asked counts in every budget of the run." => nullable;
        shared: bool => or_default, bool = true,
        "Whether the runs of one process that reach it in the same way share it; with `false` each run starts its own, as with `elicitation` or `sampling`." => nullable, layers(AsIs);
        tools_allowed: Vec<String>, DefaultText = DefaultText("all"),
        "The tools of the server that the contract takes, by the server's own names: no other one reaches the model, the pin or the \
         hash. Case does not count; `*` and `any` mean every tool." => nullable, layer_name("toolsAllowed"), layers(Names);
        tools_denied: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "The tools of the server that the contract does not take, whatever `tools_allowed` says; written in the same way." => nullable, layer_name("toolsDenied"), layers(Names);
    }
}

form! {
    /// One entry of `queues`.
    QUEUE: QueueKeys, "queue", "a queue of calls" [reads QueueTerms judged];
    "queue": {
        concurrent: u32 => needed, DefaultText = NEEDED,
        "How many calls of the servers in it run at once; at least 1.";
    }
}

form! {
    /// `max_calls`, where it is a mapping.
    MAX_CALLS: MaxCallsKeys, "max-calls", "limits on calls" [reads CallLimits by hand];
    "max-calls": {
        run: u64, DefaultText = DefaultText("no limit"),
        "Calls of the run." => nullable;
        per_tool: BTreeMap<String, u64> => or_empty, DefaultText = DefaultText("no limit"),
        "Calls of one tool over the run, by its name.";
    }
}

form! {
    /// The section `metadata`.
    METADATA: MetadataKeys, "metadata", "data beside the limits" [reads ContractMetadata];
    "metadata": {
        cycle_exceptions: Vec<CycleException> => or_empty, DefaultText = DefaultText("none"),
        "Exceptions to `cycle_forbid`.";
    }
}

form! {
    /// One entry of `metadata.cycle_exceptions`.
    CYCLE_EXCEPTION: CycleExceptionKeys, "cycle-exception", "a forbidden pair of tools that may occur" [reads CycleException];
    "cycle-exception": {
        from: String => needed, DefaultText = NEEDED,
        "The first tool of the pair.";
        to: String => needed, DefaultText = NEEDED,
        "The second.";
        max: u64 => needed, DefaultText = NEEDED,
        "How often the pair may occur in the run.";
    }
}

form! {
    /// One entry of `approval`.
    APPROVAL_RULE: ApprovalRuleKeys, "approval-rule", "a rule about calls before they start" [reads ApprovalRule];
    "approval-rule": {
        tool: String => needed, DefaultText = NEEDED,
        "The name of a tool, as the model sees it; `*` stands for any characters.";
        arguments: serde_json::Value, DefaultText = DefaultText("any"),
        "A JSON Schema: the rule is about calls whose arguments fit it." => nullable;
        action: ApprovalAction => needed, DefaultText = NEEDED,
        "`allow`: the call may start. `ask`: a person is asked first. `deny`: the call is refused, and the model sees that.";
    }
}

form! {
    /// One entry of `labels`.
    LABEL_RULE: LabelRuleKeys, "label-rule", "how the results of tools are labelled" [reads LabelRule];
    "label-rule": {
        tool: String => needed, DefaultText = NEEDED,
        "The name of a tool, as the model sees it; `*` stands for any characters.";
        labels: Labels => needed, DefaultText = NEEDED,
        "`untrusted`: a stranger may have written it. `private`: not everyone may read it. `trusted`: neither. One of them, or a list.";
    }
}

form! {
    /// One entry of `flow`.
    FLOW_RULE: FlowRuleKeys, "flow-rule", "a flow of data that needs a person, or may not be" [reads FlowRule];
    "flow-rule": {
        from: Labels => needed, DefaultText = NEEDED,
        "`untrusted`, `private`, or a list: the rule holds once the model was shown results with all of these labels.";
        to: String, DefaultText = DefaultText("every tool that may send"),
        "The tools that are not to be called then, by name; `*` stands for any characters. A tool may send unless its annotations say `openWorldHint: false`." => nullable;
        unless_given: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Arguments: a call is let through where all their values stand, word for word, in the system prompt, in what the user said, or in results without these labels.";
        action: FlowAction => needed, DefaultText = NEEDED,
        "`deny`: the call is not made; under `strict_mode` it ends the run. `ask`: a person is asked first.";
    }
}

form! {
    /// The section `tool_output_budget`.
    TOOL_OUTPUT_BUDGET: ToolOutputBudgetKeys, "tool-output-budget", "what an answer may weigh in the conversation" [#[derive(Clone, Debug, Default, PartialEq)] pub struct ToolOutputBudgetSpec -> ToolOutputBudget];
    "tool-output-budget": {
        #[recorded]
        max_bytes_per_call: u64, u64 = 12_288,
        "Bytes of one answer, the marker included." => inherited, front(&["toolResponseMaxBytes"]);
        #[recorded]
        truncation_marker: String, &'static str = DEFAULT_TRUNCATION_MARKER,
        "Stands before an answer that is cut; `{original}` and `{kept}` are replaced by bytes.";
        #[recorded]
        summarizer_model: String, DefaultText = DefaultText("null"),
        "A model that summarises results which are too large, in place of the cut." => nullable;
    }
}

form! {
    /// The section `context_budget`.
    CONTEXT_BUDGET: ContextBudgetKeys, "context-budget", "when the model is made to answer with what it has" [#[derive(Clone, Debug, Default, PartialEq)] pub struct ContextBudgetSpec -> ContextBudget];
    "context-budget": {
        context_window: u64, DefaultText = DefaultText("the largest target's"),
        "The most tokens of any target's window that the run counts with.";
        buffer: u64, u64 = 256,
        "Tokens that are left free of every window." => inherited, front(&["contextWindowBufferTokens"]);
        reserved_synthesis: u64, DefaultText = DefaultText("the shortest `max_output_tokens`"),
        "Tokens for the final answer; a target keeps at least its own `max_output_tokens` free.";
        #[recorded]
        reserved_system: u64, u64 = 0,
        "Tokens for the system prompt, which counts as at least so many.";
        #[recorded]
        minimum_loop_margin: u64, u64 = 512,
        "Tokens that must be left for the loop to be worth starting." => inherited;
        #[recorded]
        force_synthesis_at_ratio: f64, f64 = 0.85,
        "The share of the largest window beyond which the closing turn begins (the last one, without tools), 0 to 1." => inherited;
    }
}

form! {
    /// The section `final_report`.
    FINAL_REPORT: FinalReportKeys, "final-report", "what a final report must be" [#[derive(Clone, Debug, Default, PartialEq)] pub struct FinalReportSpec];
    "final-report": {
        format: ReportFormat, ReportFormat = ReportFormat::Markdown,
        "`markdown`, `markdown+mermaid`, `text`, `tty`, `pipe`, `json`, `slack-block-kit`, `sub-agent`.";
        schema: serde_json::Value, DefaultText = DefaultText("none"),
        "A JSON Schema for `json`." => nullable;
    }
}

form! {
    /// The section `redact`.
    REDACT: RedactKeys, "redact", "what else must not be recorded" [reads RedactionTerms judged];
    "redact": {
        env: Vec<EnvName> => or_empty, DefaultText = DefaultText("none"),
        "Names of variables whose values are secrets.";
        headers: Vec<HeaderName> => or_empty, DefaultText = DefaultText("none"),
        "Names of headers whose values are secrets: at most 100, of at most 256 bytes each.";
        patterns: Vec<SecretPattern> => or_empty, DefaultText = DefaultText("none"),
        "Regular expressions for secrets. See [redaction.md](redaction.md).";
    }
}

form! {
    /// The mapping `oauth` of a server.
    OAUTH: OAuthKeys, "oauth", "as what monolith comes to a server's authorization server" [reads OAuthTerms judged];
    "oauth": {
        grant: OAuthGrant => or_default, OAuthGrant = OAuthGrant::AuthorizationCode,
        "How tokens are got. `authorization_code`: by a person's `monolith mcp login`. `client_credentials`: with the secret or the private key. \
         `cross_app_access`: with an identity that its provider exchanges." => nullable;
        client_id: String, DefaultText = DefaultText("monolith registers itself"),
        "What monolith is called there. The address of a client's metadata document is one, where the authorization server takes such." => nullable;
        client_secret_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with the client's secret." => nullable;
        private_key_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with a private key in PEM (P-256, Ed25519 or RSA): it signs in place of a secret." => nullable, not_with(&["client_secret_env"]);
        issuer: Url, DefaultText = DefaultText("the one that the server names"),
        "The only authorization server that is taken. Name it where there is a secret: else the server decides where that goes." => nullable;
        scopes: Vec<String> => or_empty, DefaultText = DefaultText("those that the server wants"),
        "Scopes that are asked for beside those that the server wants.";
        id_token_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with the identity token, for `cross_app_access`." => nullable;
        idp_client_id: String, DefaultText = DefaultText("none"),
        "What monolith is called at the identity provider, for `cross_app_access`." => nullable;
        idp_token_endpoint: Url, DefaultText = DefaultText("none"),
        "Where the identity provider exchanges tokens, for `cross_app_access`." => nullable;
    }
}
