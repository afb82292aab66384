//! Tests of what is spoken at a server's address.

use super::tests::{parse, small};
use super::{McpSpec, McpTransport};
use crate::contract::{Beside, Elicitation, HealthProbe, HttpMethod, Remote, ToolFilter};

fn server(form: &str) -> Result<McpSpec, String> {
    let text = small(&format!("tools: {{mcp: {{s: {form}}}}}"));
    let mut spec = parse(&text).map_err(|errors| errors.errors[0].rule.clone())?;
    Ok(spec.tools.servers.remove("s").unwrap())
}

#[test]
fn what_is_spoken_at_an_address_follows_from_its_scheme_and_the_type() {
    let check = |form: &str, expect: Remote| {
        let McpTransport::Remote { remote, .. } = server(form).unwrap().transport else {
            panic!("{form}");
        };
        assert_eq!(remote, expect, "{form}");
    };
    check("{url: 'https://h/mcp'}", Remote::Http);
    check("{url: 'http://h/mcp', type: null}", Remote::Http);
    check("{url: 'http://h/sse', type: sse}", Remote::Sse);
    check("{url: 'ws://h/mcp'}", Remote::Websocket);
    check("{url: 'wss://h/mcp', type: websocket}", Remote::Websocket);
}

#[test]
fn a_type_that_the_address_does_not_fit_is_refused() {
    let rule = "a websocket has an address with `ws` or `wss`, and no other server has";
    for (form, expect) in [
        ("{url: 'http://h/mcp', type: websocket}", rule),
        ("{url: 'wss://h/mcp', type: sse}", rule),
        (
            "{command: x, args: [], type: sse}",
            "a server with a `command` has no `type`",
        ),
        ("{url: 'wsx://h/mcp'}", "http"),
    ] {
        let fault = server(form).unwrap_err();
        assert!(fault.contains(expect), "{form}: {fault}");
    }
}

#[test]
fn elicitation_is_denied_unless_it_is_granted() {
    for (form, expect) in [
        ("{command: x, args: []}", Elicitation::Denied),
        (
            "{command: x, args: [], elicitation: denied}",
            Elicitation::Denied,
        ),
        (
            "{url: 'http://h/', elicitation: defaults}",
            Elicitation::Defaults,
        ),
    ] {
        assert_eq!(server(form).unwrap().terms.elicitation, expect, "{form}");
    }
}

#[test]
fn what_is_offered_beside_the_tools_is_a_list_of_words() {
    let offers = |form: &str| server(form).map(|server| server.terms.offers);
    assert_eq!(offers("{command: x, args: []}"), Ok(Vec::new()));
    assert_eq!(
        offers("{command: x, args: [], offers: [prompts, resources]}"),
        Ok(vec![Beside::Prompts, Beside::Resources])
    );
    assert!(offers("{command: x, args: [], offers: [tools]}").is_err());
}

#[test]
fn a_client_of_an_authorization_server_has_what_its_grant_needs() {
    let secret = "client_id: c, client_secret_env: S";
    let identity =
        "id_token_env: T, idp_client_id: i, idp_token_endpoint: 'https://idp.example.com/token'";
    for form in [
        "client_id: c".to_owned(),
        "scopes: [a, b]".to_owned(),
        format!("grant: client_credentials, {secret}, issuer: 'https://a.example.com'"),
        "grant: client_credentials, client_id: c, private_key_env: K".to_owned(),
        format!("grant: cross_app_access, {secret}, {identity}"),
    ] {
        let read = server(&format!("{{url: 'https://h/mcp', oauth: {{{form}}}}}")).unwrap();
        let McpTransport::Remote { oauth, .. } = read.transport else {
            panic!("{form}");
        };
        assert!(oauth.is_some(), "{form}");
    }
    for (form, expect) in [
        (
            "grant: client_credentials, client_id: c".to_owned(),
            "`client_credentials` needs",
        ),
        (
            "client_secret_env: S".to_owned(),
            "a secret or a key needs a `client_id`",
        ),
        (
            format!("{secret}, private_key_env: K"),
            "either a `client_secret_env` or a `private_key_env`",
        ),
        (
            format!("grant: cross_app_access, {secret}"),
            "`cross_app_access` needs the key `id_token_env`",
        ),
        (
            format!("{secret}, {identity}"),
            "belongs to `grant: cross_app_access`",
        ),
        (
            "client_id: c, client_secret_env: 'p4ss word'".to_owned(),
            "expected the name of an environment variable",
        ),
    ] {
        let fault = server(&format!("{{url: 'https://h/mcp', oauth: {{{form}}}}}")).unwrap_err();
        assert!(fault.contains(expect), "{form}: {fault}");
    }
    for (form, expect) in [
        (
            "{command: x, args: [], oauth: {}}",
            "a server with a `command` has no `oauth`",
        ),
        (
            "{url: 'wss://h/', oauth: {}}",
            "a server behind a websocket has no `oauth`",
        ),
    ] {
        assert_eq!(server(form).unwrap_err(), expect, "{form}");
    }
}

/// 001 §6, in the form of a contract file.
#[test]
fn a_server_states_which_of_its_tools_are_taken_and_how_it_is_probed() {
    let plain = server("{command: x, args: []}").unwrap();
    assert_eq!(plain.tools, ToolFilter::default());
    assert_eq!(plain.terms.health_probe, HealthProbe::Ping);
    let filtered = "{url: 'http://h/', tools_allowed: ['*'], tools_denied: [Write_File], health_probe: list_tools}";
    let filtered = server(filtered).unwrap();
    assert_eq!(filtered.tools.allowed, Some(vec!["*".to_owned()]));
    assert_eq!(filtered.tools.denied, ["Write_File"]);
    assert_eq!(filtered.terms.health_probe, HealthProbe::ListTools);
    let none = server("{command: x, args: [], tools_allowed: [], tools_denied: null}").unwrap();
    assert_eq!(none.tools.allowed, Some(Vec::new()));
    assert_eq!(none.tools.denied, Vec::<String>::new());
    let fault = server("{command: x, args: [], health_probe: listTools}").unwrap_err();
    assert!(
        fault.contains("expected one of ping, list_tools"),
        "{fault}"
    );
}

#[test]
fn a_server_that_is_not_enabled_is_as_if_it_were_not_there() {
    let text = small(
        "tools: {mcp: {off: {command: x, args: [], enabled: false}, on: {command: y, args: [], enabled: true}}}",
    );
    let spec = parse(&text).unwrap();
    assert_eq!(spec.tools.servers.keys().collect::<Vec<_>>(), ["on"]);
    // What is wrong with it is found all the same.
    assert!(server("{enabled: false}").is_err());
}

/// The server of an entry of `tools.rest`, or the path and the rule of the first fault.
fn rest_tool(name: &str, form: &str) -> Result<McpSpec, String> {
    let text = small(&format!("tools: {{rest: {{{name}: {form}}}}}"));
    let fault = |errors: super::SpecErrors| {
        let first = &errors.errors[0];
        format!("{}: {}", first.path, first.rule)
    };
    let mut spec = parse(&text).map_err(fault)?;
    Ok(spec.tools.servers.remove(&format!("rest__{name}")).unwrap())
}

#[test]
fn a_rest_tool_is_a_server_of_one_tool_with_defaults() {
    let read = rest_tool(
        "list",
        "{description: d, method: get, url: 'https://h.example/'}",
    )
    .unwrap();
    let McpTransport::Rest { limits, tool, .. } = read.transport else {
        panic!();
    };
    assert_eq!(tool.method, HttpMethod::Get);
    assert_eq!(tool.parameters_schema["additionalProperties"], false);
    assert_eq!(
        (limits.loopback, limits.max_bytes, limits.max_redirects),
        (false, 1_048_576, 5)
    );
}

/// 001/6.servers.5
#[test]
fn a_rest_tool_is_refused_by_the_rule_that_it_breaks_at_its_key() {
    let with =
        |more: &str| format!("{{description: d, method: POST, url: 'https://h.example/'{more}}}");
    for (name, form, expect) in [
        (
            "a",
            "{description: d, url: 'https://h/'}".to_owned(),
            "tools.rest.a: the key `method` is missing",
        ),
        (
            "a",
            "{description: d, method: TRACE, url: 'https://h/'}".to_owned(),
            "tools.rest.a.method: expected one of GET, HEAD",
        ),
        (
            "a",
            "{description: d, method: GET, url: 'https://me@h/'}".to_owned(),
            "tools.rest.a.url: an address in a contract holds no user",
        ),
        (
            "a",
            with(", parameters_schema: {type: string}"),
            "tools.rest.a.parameters_schema: the schema of arguments",
        ),
        (
            "a",
            with(
                ", parameters_schema: {type: object, properties: {}}, body_template: '${parameters.x}'",
            ),
            "tools.rest.a.body_template: `${parameters.x}` is no property",
        ),
        (
            "a",
            with(", max_bytes: 0"),
            "tools.rest.a.max_bytes: out of range",
        ),
        (
            "a",
            with(", max_redirects: 21"),
            "tools.rest.a.max_redirects: out of range",
        ),
        (
            "a",
            with(", retries: 3"),
            "tools.rest.a.retries: unknown key",
        ),
        (
            "a",
            with(", streaming: {mode: json-stream}"),
            "tools.rest.a.streaming.mode: unknown key",
        ),
        ("a", with(", queue: slow"), "no queue `slow`"),
        ("a.b", with(""), "1 to 58 characters"),
    ] {
        let fault = rest_tool(&format!("'{name}'"), &form).unwrap_err();
        assert!(fault.contains(expect), "{form}: {fault}");
    }
    let text = small("tools: {mcp: {rest__x: {url: 'https://h/'}}}");
    let fault = parse(&text).unwrap_err();
    assert!(
        fault.errors[0].rule.contains("begin with rest__"),
        "{fault:?}"
    );
}

/// The service of an entry of `tools.openapi`, or the path and the rule of the first fault.
fn openapi(name: &str, form: &str) -> Result<McpSpec, String> {
    let text = small(&format!("tools: {{openapi: {{'{name}': {form}}}}}"));
    let fault = |errors: super::SpecErrors| {
        let first = &errors.errors[0];
        format!("{}: {}", first.path, first.rule)
    };
    let mut spec = parse(&text).map_err(fault)?;
    Ok(spec.tools.servers.remove(&format!("rest__{name}")).unwrap())
}

#[test]
fn a_described_service_is_a_server_with_defaults() {
    let read = openapi("shop", "{spec: s.yaml, tools_denied: [drop]}").unwrap();
    assert_eq!(read.place("rest__shop"), "tools.openapi.shop");
    assert_eq!(read.tools.denied, ["drop"]);
    let McpTransport::Openapi { headers, terms } = read.transport else {
        panic!();
    };
    assert!(headers.is_empty());
    assert_eq!((terms.spec.as_str(), terms.base_url), ("s.yaml", None));
    let limits = terms.limits;
    assert_eq!(
        (limits.loopback, limits.max_bytes, limits.max_redirects),
        (false, 1_048_576, 5)
    );
}

#[test]
fn a_described_service_is_refused_by_the_rule_that_it_breaks_at_its_key() {
    for (name, form, expect) in [
        (
            "a",
            "{tags: [x]}",
            "tools.openapi.a: the key `spec` is missing",
        ),
        (
            "a",
            "{spec: s, headers: {K: v}}",
            "tools.openapi.a.headers: `headers` need a `base_url`",
        ),
        (
            "a",
            "{spec: s, base_url: 'https://h.example/?k=v'}",
            "tools.openapi.a.base_url: paths come behind it",
        ),
        (
            "a",
            "{spec: 'ftp://h.example/s.json'}",
            "tools.openapi.a.spec: ",
        ),
        (
            "a",
            "{spec: s, include_methods: [TRACE]}",
            "expected one of GET, HEAD",
        ),
        (
            "a",
            "{spec: s, max_bytes: 0}",
            "tools.openapi.a.max_bytes: out of range",
        ),
        ("a", "{spec: s, queue: slow}", "no queue `slow`"),
        ("a", "{spec: s, pin: x}", "tools.openapi.a.pin: "),
        (
            "a",
            "{spec: s, cache: 1}",
            "tools.openapi.a.cache: unknown key",
        ),
        ("a.b", "{spec: s}", "1 to 32 characters"),
    ] {
        let fault = openapi(name, form).unwrap_err();
        assert!(fault.contains(expect), "{form}: {fault}");
    }
    let both = "tools: {rest: {a: {description: d, method: GET, url: 'https://h/'}}, openapi: {a: {spec: s}}}";
    let fault = parse(&small(both)).unwrap_err();
    assert!(
        fault.errors[0]
            .rule
            .contains("`a` is the name of a REST tool, too"),
        "{fault:?}"
    );
}
