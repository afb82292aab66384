//! Tests of requests that are made of templates.

use serde_json::{Map, Value, json};

use super::template::recorded_template;
use super::{DefinitionFault, HttpMethod, RequestFault, RequestParts, RestTool};

fn tool(method: HttpMethod, url: &str, body_template: Value) -> RestTool {
    RestTool {
        body_template: Some(body_template).filter(|body| !body.is_null()),
        description: "d".to_owned(),
        method,
        parameters_schema: json!({"type": "object", "properties": {"id": {}, "q": {}, "tags": {}, "page": {}}}),
        streaming: None,
        url: url.to_owned(),
    }
}

fn request(tool: &RestTool, arguments: &Value) -> Result<RequestParts, RequestFault> {
    let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
    assert_eq!(tool.check(), Ok(()), "{tool:?}");
    tool.request(&arguments, None)
}

/// The address and the body of a request, or its fault.
fn asked(method: HttpMethod, url: &str, body: Value, arguments: &Value) -> String {
    match request(&tool(method, url, body), arguments) {
        Ok(parts) => {
            let body = parts
                .body
                .map(|body| String::from_utf8(body.bytes).unwrap());
            [Some(parts.url.to_string()), body]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        }
        Err(fault) => fault.to_string(),
    }
}

fn got(url: &str, arguments: &Value) -> String {
    asked(HttpMethod::Get, url, Value::Null, arguments)
}

#[test]
fn an_argument_stays_in_its_place_of_the_address() {
    let url = "https://h.example/items/${parameters.id}/notes?kind=a&q=${parameters.q}";
    for (arguments, expect) in [
        (
            json!({"id": 7, "q": "x"}),
            "https://h.example/items/7/notes?kind=a&q=x",
        ),
        (
            json!({"id": "a b/c"}),
            "https://h.example/items/a%20b%2Fc/notes?kind=a",
        ),
        (
            json!({"id": "a?b=c&d#e", "q": "1&admin=true#f"}),
            "https://h.example/items/a%3Fb%3Dc%26d%23e/notes?kind=a&q=1%26admin%3Dtrue%23f",
        ),
        (
            json!({"id": "%2e%2e", "q": ["a", "b"]}),
            "https://h.example/items/%252e%252e/notes?kind=a&q=a&q=b",
        ),
        (
            json!({"id": "\r\nHost: evil", "q": null}),
            "https://h.example/items/%0D%0AHost%3A%20evil/notes?kind=a",
        ),
        (
            json!({"id": "…"}),
            "https://h.example/items/%E2%80%A6/notes?kind=a",
        ),
    ] {
        assert_eq!(got(url, &arguments), expect, "{arguments}");
    }
}

#[test]
fn an_argument_leads_to_no_other_place_of_the_service() {
    let url = "https://h.example/items/${parameters.id}/notes";
    for id in ["..", ".", ""] {
        let said = got(url, &json!({"id": id}));
        assert!(
            said.contains("neither empty nor made of dots"),
            "{id:?}: {said}"
        );
    }
    assert_eq!(
        got(url, &json!({})),
        "the argument `id` is needed in the address"
    );
    assert_eq!(
        got("https://h.example/a.${parameters.id}", &json!({"id": "."})),
        "https://h.example/a.."
    );
    let dots = got("https://h.example/.${parameters.id}/x", &json!({"id": "."}));
    assert!(dots.contains("made of dots"), "{dots}");
}

#[test]
fn what_has_no_place_goes_into_the_query_or_the_body() {
    let arguments = json!({"id": "1", "q": "a b", "tags": ["x", "y"], "page": {"size": 2}});
    assert_eq!(
        got("https://h.example/${parameters.id}", &arguments),
        "https://h.example/1?q=a%20b&tags=x&tags=y&page=%7B%22size%22%3A2%7D"
    );
    let posted = asked(
        HttpMethod::Post,
        "https://h.example/${parameters.id}",
        Value::Null,
        &arguments,
    );
    assert_eq!(
        posted,
        r#"https://h.example/1 {"q":"a b","tags":["x","y"],"page":{"size":2}}"#
    );
}

/// 001/6.rest.2
#[test]
fn a_body_has_arguments_as_what_they_are_and_leaves_out_what_is_not_given() {
    let template = json!({
        "query": "${parameters.q}",
        "text": "about ${parameters.q}, ${parameters.tags}",
        "size": "${parameters.page.size}",
        "tags": ["${parameters.tags}", "${parameters.id}"],
        "fixed": [1, true, null, "${other}"],
    });
    let body = |arguments: Value| {
        asked(
            HttpMethod::Post,
            "https://h.example/",
            template.clone(),
            &arguments,
        )
    };
    assert_eq!(
        body(json!({"q": "\"},{\"admin\":true", "tags": ["a"], "page": {"size": 3}})),
        r#"https://h.example/ {"query":"\"},{\"admin\":true","text":"about \"},{\"admin\":true, a","size":3,"tags":[["a"]],"fixed":[1,true,null,"${other}"]}"#
    );
    assert_eq!(
        body(json!({})),
        r#"https://h.example/ {"text":"about , ","tags":[],"fixed":[1,true,null,"${other}"]}"#
    );
}

/// 001 §6: beside another type than JSON a text is sent as it is, and no argument leaves its place there.
#[test]
fn a_text_of_a_type_that_is_no_json_is_sent_as_it_is() {
    let check = |template: Value, media_type: &str, expect: &str| {
        let tool = tool(HttpMethod::Post, "https://h.example/", template);
        let arguments = json!({"id": "<v>&c=3", "q": "a=1&b=2"});
        let arguments = arguments.as_object().unwrap();
        let body = tool.request(arguments, Some(media_type)).unwrap().body;
        assert_eq!(String::from_utf8(body.unwrap().bytes).unwrap(), expect);
    };
    let form = "application/x-www-form-urlencoded";
    check(
        json!("a=${parameters.id}&b=2"),
        form,
        "a=%3Cv%3E%26c%3D3&b=2",
    );
    check(json!("${parameters.q}"), form, "a=1&b=2");
    let xml = json!("<a>${parameters.id}</a>");
    check(xml.clone(), "text/xml", "<a>&lt;v&gt;&amp;c=3</a>");
    check(xml, "text/plain; charset=utf-8", "<a><v>&c=3</a>");
    let text = json!("${parameters.q}!");
    check(text.clone(), "application/json", r#""a=1&b=2!""#);
    check(json!({"q": text}), "text/plain", r#"{"q":"a=1&b=2!"}"#);
}

#[test]
fn a_definition_is_refused_by_the_rule_that_it_breaks() {
    let url = |url: &str| tool(HttpMethod::Get, url, Value::Null).check();
    for (text, expect) in [
        ("ftp://h.example/", "begins with https://"),
        ("https://me@h.example/", "no user name"),
        ("https://${parameters.id}.example/", "not in its host"),
        ("https://h.example/${TOKEN}", "`${TOKEN}` is no argument"),
        (
            "https://h.example/${parameters.other}",
            "no property of the schema",
        ),
        ("https://h.example/a/../b", "the path is written \"/b\""),
        ("https://h.example/%2e%2e/b", "the path is written \"/b\""),
        ("https://h.example/a b", "no white space"),
    ] {
        let Err(DefinitionFault::Url(rule)) = url(text) else {
            panic!("{text}");
        };
        assert!(rule.contains(expect), "{text}: {rule}");
    }
    let body = tool(HttpMethod::Get, "https://h.example/", json!({"a": 1})).check();
    assert_eq!(
        body,
        Err(DefinitionFault::Body(
            "a GET request has no body".to_owned()
        ))
    );
    let body = tool(
        HttpMethod::Post,
        "https://h.example/",
        json!("${parameters.z}"),
    )
    .check();
    assert!(matches!(body, Err(DefinitionFault::Body(_))));
    let body = json!({"a": [{"${parameters.q}": 1}]});
    let body = tool(HttpMethod::Post, "https://h.example/", body).check();
    let Err(DefinitionFault::Body(rule)) = body else {
        panic!("{body:?}");
    };
    assert!(rule.contains("the key `${parameters.q}`"), "{rule}");
}

/// 001/6.rest.1
#[test]
fn an_argument_of_the_path_is_needed_in_what_is_offered() {
    let offered = |url: &str, required: Value| {
        let mut tool = tool(HttpMethod::Get, url, Value::Null);
        if !required.is_null() {
            tool.parameters_schema["required"] = required;
        }
        let schema = tool.offered_schema();
        // Nothing else of it is another.
        let mut same = schema.clone();
        same["required"] = tool.parameters_schema["required"].clone();
        let mut stated = tool.parameters_schema.clone();
        stated["required"] = tool.parameters_schema["required"].clone();
        assert_eq!(same, stated, "{url}");
        schema.get("required").cloned().unwrap_or_default()
    };
    let url = "https://h.example/${parameters.id}/${parameters.page.size}?q=${parameters.q}";
    assert_eq!(offered(url, Value::Null), json!(["id", "page"]));
    assert_eq!(offered(url, json!(["q", "id"])), json!(["q", "id", "page"]));
    let url = "https://h.example/?q=${parameters.q}";
    assert_eq!(offered(url, Value::Null), Value::Null);
}

#[test]
fn a_contract_records_which_values_of_a_query_are_arguments_and_no_other_value() {
    assert_eq!(
        recorded_template(
            "https://h.example/${parameters.id}?key=s3cret&q=${parameters.q}&w=x${parameters.q}"
        ),
        "https://h.example/${parameters.id}?key=[SECRET]&q=${parameters.q}&w=[SECRET]"
    );
}
