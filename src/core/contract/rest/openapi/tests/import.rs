//! Tests of whole descriptions: what is read, what is taken, what it is called.

use serde_json::{Value, json};

use super::{described, imported, request, terms, tools, url};
use crate::contract::HttpMethod;
use crate::contract::rest::openapi::fault::OpenapiFault;
use crate::contract::rest::openapi::import::ImportTerms;

fn fault(text: &str) -> String {
    imported(text, &terms()).unwrap_err().to_string()
}

fn names(description: &Value, terms: &ImportTerms) -> Vec<String> {
    let found = imported(&description.to_string(), terms).unwrap();
    assert_eq!(found.left_out, []);
    found.tools.into_iter().map(|tool| tool.name).collect()
}

#[test]
fn only_the_versions_that_are_known_are_read() {
    let swagger = fault("swagger: '2.0'\n");
    assert!(
        swagger.contains("Swagger 2.0") && swagger.contains("convert it to OpenAPI 3"),
        "{swagger}"
    );
    for text in [
        "openapi: 3.2.0\n",
        "openapi: 4\n",
        "openapi: '3.10.0'\n",
        "a: b\n",
        "[]",
        "null",
    ] {
        assert!(fault(text).contains("3.0 and 3.1 are read"), "{text}");
    }
    for text in ["{", "a: [", "\"", ": :\n- a"] {
        assert!(fault(text).starts_with("read the description: "), "{text}");
    }
    // Line and column, and nothing of the content.
    for (text, form) in [
        ("{\n  \"TOKEN\": hunter2", "JSON"),
        ("TOKEN: a\nhunter2: [", "YAML"),
    ] {
        let fault = fault(text);
        let place = format!("read the description: it is not {form} at line 2, column ");
        let column = fault
            .strip_prefix(&place)
            .unwrap_or_else(|| panic!("{fault}"));
        assert!(column.bytes().all(|b| b.is_ascii_digit()), "{fault}");
    }
    let yaml = "openapi: 3.0.3\nservers: [{url: https://h.example}]\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: d}\n";
    let json =
        r#"{"openapi":"3.0.3","servers":[{"url":"https://h.example"}],"paths":{"/a":{"get":{}}}}"#;
    assert_eq!(
        imported(yaml, &terms()),
        imported(&format!("\u{feff}{json}"), &terms())
    );
    assert_eq!(imported("openapi: 3.1.0\n", &terms()).unwrap().tools, []);
}

/// 001/6.openapi.1
#[test]
fn a_tool_has_the_name_of_its_operation() {
    let operation = |id: &str| json!({"operationId": id});
    let paths = json!({
        "/a": {"get": operation("getCatalog"), "post": operation("create a/thing!")},
        "/b/{id}/c": {"get": {}, "delete": {"operationId": ""}},
        "/c#other": {"get": {}},
        "x-note": {"get": {}},
    });
    assert_eq!(
        names(&described(&paths), &terms()),
        [
            "create_a_thing",
            "delete_b_id_c",
            "getCatalog",
            "get_b_id_c",
            "get_c_other"
        ]
    );
    // Names that are the same, or too long, are distinguished by what they ask.
    let long = "a".repeat(60);
    let paths = json!({
        "/a": {"get": operation("same")}, "/b": {"get": operation("same")},
        "/c": {"get": operation(&long)}, "/d": {"get": operation(&format!("{long}b"))},
    });
    let twice = [
        names(&described(&paths), &terms()),
        names(&described(&paths), &terms()),
    ];
    assert_eq!(twice[0], twice[1]);
    let (long, same) = twice[0].split_at(2);
    assert!(
        same.iter()
            .all(|name| name.len() == "same_12345678".len() && name.starts_with("same_")),
        "{same:?}"
    );
    assert!(
        long.iter()
            .all(|name| name.len() == 50 && name.starts_with("aaa")),
        "{long:?}"
    );
    let mut all = twice[0].clone();
    all.dedup();
    assert_eq!(all.len(), 4);
}

/// 001/6.openapi.2
#[test]
fn methods_and_tags_say_which_operations_are_taken() {
    let paths = json!({"/a": {
        "get": {"operationId": "g", "tags": ["x", "y"]},
        "post": {"operationId": "p", "tags": ["y"]},
        "put": {"operationId": "u"},
        "trace": {"operationId": "t"},
    }});
    let taken = |methods: &[HttpMethod], tags: &[&str]| {
        let terms = ImportTerms {
            include_methods: methods.to_vec(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..terms()
        };
        names(&described(&paths), &terms).join(" ")
    };
    assert_eq!(taken(&[], &[]), "g p u");
    assert_eq!(taken(&[HttpMethod::Get, HttpMethod::Put], &[]), "g u");
    assert_eq!(taken(&[], &["y"]), "g p");
    assert_eq!(taken(&[HttpMethod::Post], &["x"]), "");
    assert_eq!(taken(&[], &["X"]), "", "a tag is a name, and case counts");
}

/// 001/6.openapi.3
#[test]
fn an_operation_is_asked_where_the_nearest_server_says_unless_the_author_does() {
    let mut description = described(&json!({
        "/a": {"get": {}},
        "/b": {"servers": [{"url": "https://b.example/"}], "get": {}, "put": {"servers": [{"url": "https://c.example/x/"}]}},
    }));
    let asked = |description: &Value, terms: &ImportTerms| {
        let found = imported(&description.to_string(), terms).unwrap();
        let urls = found.tools.iter().map(|tool| url(tool, &json!({})));
        urls.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        asked(&description, &terms()),
        "https://h.example/v1/a https://b.example/b https://c.example/x/b"
    );
    let own = ImportTerms {
        base_url: Some("https://own.example/api/".to_owned()),
        ..terms()
    };
    assert_eq!(
        asked(&description, &own),
        "https://own.example/api/a https://own.example/api/b https://own.example/api/b"
    );
    description["servers"] = json!([{
        "url": "https://{region}.example:{port}/{base}",
        "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}, "port": {"default": 8443}, "base": {"default": "v2"}},
    }]);
    assert!(asked(&description, &terms()).starts_with("https://eu.example:8443/v2/a "));
    description["servers"] = json!([{"url": "../v3"}]);
    let from = ImportTerms {
        spec_url: Some("https://docs.example/specs/v1/openapi.json".to_owned()),
        ..terms()
    };
    assert!(asked(&description, &from).starts_with("https://docs.example/specs/v3/a "));
    // Without an address only what names its own is there, and why is said.
    let found = tools(&description);
    assert_eq!(found.tools.len(), 2);
    assert_eq!(found.left_out[0].0, "#/paths/~1a/get");
    assert!(matches!(found.left_out[0].1, OpenapiFault::NoServer { .. }));
    for server in [
        "/v1",
        "https://{region}.example",
        "ftp://h.example",
        "https://me@h.example",
        "https://h.example?k=v",
    ] {
        let mut description = described(&json!({"/a": {"get": {}}}));
        description["servers"] = json!([{"url": server}]);
        let fault = imported(&description.to_string(), &terms())
            .unwrap_err()
            .to_string();
        assert!(fault.contains("`base_url` names it"), "{server}: {fault}");
    }
}

/// A fault shows of an address no more than a contract would.
#[test]
fn a_fault_of_a_description_shows_no_user_and_no_value_of_a_query() {
    let mut description = described(&json!({"/a": {"get": {}}}));
    for server in [
        "https://svc:pw99secret@h.example/v1?key=qq99secret",
        "https://{region}.example/?key=qq99secret",
        "svc:pw99secret@h.example/?key=qq99secret",
        "ftp://svc:pw99secret@h.example/?key=qq99secret#qq99secret",
    ] {
        description["servers"] = json!([{"url": server}]);
        let fault = imported(&description.to_string(), &terms())
            .unwrap_err()
            .to_string();
        assert!(fault.contains("key=[SECRET]"), "{server}: {fault}");
        assert!(!fault.contains("99secret"), "{server}: {fault}");
    }
    let parameter = json!({"$ref": "https://u:pw99secret@h.example/p.json?key=qq99secret#/a"});
    let own = json!({"$ref": "#/components/parameters/none"});
    let found = tools(&described(&json!({
        "/a": {"get": {"parameters": [parameter]}},
        "/b": {"get": {"parameters": [own]}},
        "/c?key=qq99secret": {"get": {}},
    })));
    let faults = found.left_out.iter();
    let faults = faults.map(|(pointer, fault)| format!("{pointer} {fault}"));
    let faults = faults.collect::<Vec<_>>().join("\n");
    assert!(!faults.contains("99secret"), "{faults}");
    for part in [
        "\"https://h.example/p.json?key=[SECRET]#/a\" is not in the description",
        "\"#/components/parameters/none\" is not in the description",
        "#/paths/~1c?key=[SECRET] its path holds `?`",
    ] {
        assert!(faults.contains(part), "{part}: {faults}");
    }
}

/// Fault S8: a description whose service moves is another description, and gives other tools.
#[test]
fn s8_what_a_tool_declares_says_where_its_request_goes() {
    let mut description = described(&json!({"/a": {"get": {}}}));
    let declared = |description: &Value| tools(description).tools[0].operation.annotations();
    let before = declared(&description);
    assert_eq!(before, declared(&description));
    assert_eq!(before["readOnlyHint"], json!(true));
    description["servers"][0]["url"] = json!("https://evil.example/v1");
    assert_ne!(before, declared(&description));
}

/// Fault S8: nothing but the document itself is ever read.
#[test]
fn s8_a_reference_to_elsewhere_is_a_fault_of_its_operation() {
    for reference in [
        "https://evil.example/s.json#/A",
        "./other.yaml#/A",
        "file:///etc/passwd",
        "#/components/schemas/None",
        "#anchor",
    ] {
        let parameter = json!({"name": "q", "in": "query", "schema": {"type": "object", "properties": {"a": {"$ref": reference}}}});
        let description = described(&json!({
            "/a": {"get": {"parameters": [parameter]}}, "/b": {"get": {}}, "/c": {"$ref": reference},
        }));
        let found = tools(&description);
        assert_eq!(found.tools.len(), 1, "{reference}");
        let [one, other] = &found.left_out[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (one.0.as_str(), other.0.as_str()),
            ("#/paths/~1a/get", "#/paths/~1c")
        );
        assert!(
            one.1.to_string().contains("nothing else is read"),
            "{}",
            one.1
        );
    }
}

#[test]
fn an_operation_that_no_request_can_have_is_left_out_by_name() {
    let description = described(&json!({
        "/a?x=1": {"get": {}},
        "/b~/{id}": {"get": {"parameters": [{"name": "X-A\r\nB", "in": "header", "schema": {}}]}},
        "/c": {"post": {"requestBody": {"content": {"text/\nplain": {}}}}},
    }));
    let found = tools(&description);
    assert_eq!(found.tools, []);
    let places: Vec<&str> = found
        .left_out
        .iter()
        .map(|(place, _)| place.as_str())
        .collect();
    assert_eq!(
        places,
        [
            "#/paths/~1a?x=[SECRET]",
            "#/paths/~1b~0~1{id}/get",
            "#/paths/~1c/post"
        ]
    );
}

#[test]
fn arguments_have_names_of_their_own_and_only_what_the_model_says_is_one() {
    let description = described(&json!({"/a/{id}/{more}": {
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}, "description": "Which."},
            {"name": "q", "in": "query", "schema": {"type": "integer"}},
        ],
        "post": {
            "summary": "Short.", "description": "Long.",
            "parameters": [
                {"name": "id", "in": "query", "schema": {"type": "string"}},
                {"name": "q", "in": "query", "required": true, "schema": {"type": "string"}},
                {"name": "body", "in": "header", "schema": {}},
                {"name": "filter[name]", "in": "query", "schema": {}},
                {"name": "Authorization", "in": "header", "schema": {}},
                {"name": "X-Key", "in": "header", "schema": {}},
                {"name": "other", "in": "path", "schema": {}},
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object"}}}},
        },
    }}));
    let terms = ImportTerms {
        own_headers: vec!["x-key".to_owned()],
        ..terms()
    };
    let tool = imported(&description.to_string(), &terms)
        .unwrap()
        .tools
        .remove(0);
    assert_eq!(tool.description, "Short.\n\nLong.");
    let properties = tool.input_schema["properties"].as_object().unwrap();
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "body",
            "body_request",
            "filter_name_",
            "id",
            "id_query",
            "more",
            "q"
        ]
    );
    assert_eq!(
        properties["id"],
        json!({"type": "integer", "description": "Which."})
    );
    assert_eq!(
        properties["q"],
        json!({"type": "string"}),
        "the operation's own"
    );
    assert_eq!(
        tool.input_schema["required"],
        json!(["id", "q", "more", "body_request"])
    );
    let arguments = json!({
        "id": 7, "more": "m", "id_query": "x", "q": "y", "filter_name_": "z", "body": "h", "body_request": {"a": 1},
    });
    let asked = request(&tool, &arguments).unwrap();
    assert_eq!(
        asked.url.as_str(),
        "https://h.example/v1/a/7/m?filter%5Bname%5D=z&id=x&q=y"
    );
    assert_eq!(asked.headers, [("body".to_owned(), "h".to_owned())]);
    assert_eq!(asked.body.unwrap().bytes, br#"{"a":1}"#);
}

#[test]
fn more_operations_than_a_model_can_be_told_are_refused_with_advice() {
    let paths: serde_json::Map<String, Value> = (0..1_001)
        .map(|n| {
            (
                format!("/p{n}"),
                json!({"get": {"tags": [format!("t{}", n % 2)]}}),
            )
        })
        .collect();
    let description = described(&json!(paths));
    let fault = imported(&description.to_string(), &terms()).unwrap_err();
    assert_eq!(
        fault,
        OpenapiFault::TooMany {
            found: 1_001,
            most: 1_000
        }
    );
    let some = ImportTerms {
        tags: vec!["t1".to_owned()],
        ..terms()
    };
    assert_eq!(names(&description, &some).len(), 500);
}

/// YAML is 1.2: words that 1.1 reads as booleans are plain names and values.
#[test]
fn a_description_in_yaml_gives_the_tools_of_its_json() {
    let yaml = "
openapi: 3.0.3
servers: [{url: https://h.example}]
paths:
  /points:
    get:
      operationId: list
      tags: [on]
      parameters:
        - {name: x, in: query, required: true, schema: {type: number}}
        - {name: y, in: query, required: true, schema: {type: number}}
        - {name: n, in: query, schema: {type: integer, default: 1_000}}
        - {name: country, in: query, schema: {type: string, enum: [NO, SE, y, on, off, ~, 0b1, 12, 1.5, true]}}
";
    let parameters = json!([
        {"name": "x", "in": "query", "required": true, "schema": {"type": "number"}},
        {"name": "y", "in": "query", "required": true, "schema": {"type": "number"}},
        {"name": "n", "in": "query", "schema": {"type": "integer", "default": "1_000"}},
        {"name": "country", "in": "query", "schema": {"type": "string",
            "enum": ["NO", "SE", "y", "on", "off", null, "0b1", 12, 1.5, true]}},
    ]);
    let get = json!({"operationId": "list", "tags": ["on"], "parameters": parameters});
    let json = json!({"openapi": "3.0.3", "servers": [{"url": "https://h.example"}],
        "paths": {"/points": {"get": get}}});
    let of_json = imported(&json.to_string(), &terms()).unwrap();
    assert_eq!(imported(yaml, &terms()), Ok(of_json.clone()));
    let [tool] = &of_json.tools[..] else {
        panic!("{of_json:?}")
    };
    assert_eq!(tool.input_schema["required"], json!(["x", "y"]));
    let tagged = ImportTerms {
        tags: vec!["on".to_owned()],
        ..terms()
    };
    assert_eq!(imported(yaml, &tagged).unwrap().tools.len(), 1);
}

/// RFC 9110 §5.1: names of headers are equal without case, so the operation's own replaces that of its path.
#[test]
fn header_parameters_are_equal_without_case_and_others_are_not() {
    let parameter = |name: &str, location: &str, text: &str| json!({"name": name, "in": location, "description": text, "schema": {}});
    let description = described(&json!({"/a": {
        "parameters": [parameter("X-Trace", "header", "path"), parameter("q", "query", "path")],
        "get": {"parameters": [
            parameter("x-trace", "header", "own"), parameter("Q", "query", "own"),
        ]},
    }}));
    let tool = tools(&description).tools.remove(0);
    let properties = tool.input_schema["properties"].as_object().unwrap();
    let mut texts: Vec<(&str, &str)> = properties
        .iter()
        .map(|(name, schema)| (name.as_str(), schema["description"].as_str().unwrap()))
        .collect();
    texts.sort_unstable();
    assert_eq!(texts, [("Q", "own"), ("q", "path"), ("x-trace", "own")]);
    let asked = request(&tool, &json!({"x-trace": "t"})).unwrap();
    assert_eq!(asked.headers, [("x-trace".to_owned(), "t".to_owned())]);
}
