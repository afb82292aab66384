//! Tests of bodies, and of what no argument can do to a request (fault S8).

use serde_json::{Value, json};

use super::{described, operation, request, tool, url};

/// The media type and the text of the body of a `POST`.
fn body(media_type: &str, content: &Value, value: &Value) -> (String, String) {
    let operation = operation(
        "/a",
        "post",
        &json!({"requestBody": {"content": {media_type: content}}}),
    );
    let body = request(&operation, &json!({"body": value}))
        .unwrap()
        .body
        .unwrap();
    (body.media_type, String::from_utf8(body.bytes).unwrap())
}

#[test]
fn a_body_is_written_in_its_media_type() {
    let any = json!({"schema": {"type": "object"}});
    let value =
        json!({"name": "a&b=c d", "tags": ["x", "y"], "at": {"lat": 1.5}, "none": null, "n": 7});
    let own = |media_type: &str| body(media_type, &any, &value);
    let json = value.to_string();
    assert_eq!(
        own("application/json"),
        ("application/json".to_owned(), json.clone())
    );
    assert_eq!(
        own("application/merge-patch+json").0,
        "application/merge-patch+json"
    );
    assert_eq!(own("*/*"), ("application/json".to_owned(), json));
    // OpenAPI 3.1.1 §4.8.14.4: objects in JSON, a list as its items.
    assert_eq!(
        own("application/x-www-form-urlencoded"),
        (
            "application/x-www-form-urlencoded".to_owned(),
            "name=a%26b%3Dc%20d&tags=x&tags=y&at=%7B%22lat%22%3A1.5%7D&n=7".to_owned(),
        )
    );
    let text = body("application/xml", &json!({}), &json!("<a/>"));
    assert_eq!(text, ("application/xml".to_owned(), "<a/>".to_owned()));
    let bytes = json!({"schema": {"type": "string", "format": "binary"}});
    let bytes = body("application/octet-stream", &bytes, &json!("a\nb"));
    assert_eq!(
        bytes,
        ("application/octet-stream".to_owned(), "a\nb".to_owned())
    );
    // A form that is no object is written by the model.
    let raw = json!({"schema": {"type": "string"}});
    let raw = body("application/x-www-form-urlencoded", &raw, &json!("a=1&b=2"));
    assert_eq!(raw.1, "a=1&b=2");
}

/// OpenAPI 3.1.1 §4.8.15: what an encoding says of members of a form.
#[test]
fn members_of_a_form_are_written_as_their_encoding_says() {
    let content = json!({
        "schema": {"type": "object"},
        "encoding": {
            "ids": {"style": "pipeDelimited", "explode": false},
            "at": {"style": "deepObject", "explode": true},
            "to": {"allowReserved": true},
        },
    });
    let value = json!({"ids": [1, 2], "at": {"x": 1}, "to": "a/b", "list": [{"k": 1}, {"k": 2}]});
    assert_eq!(
        body("application/x-www-form-urlencoded", &content, &value).1,
        "ids=1%7C2&at%5Bx%5D=1&to=a/b&list=%7B%22k%22%3A1%7D&list=%7B%22k%22%3A2%7D"
    );
}

#[test]
fn parts_are_a_member_each_and_nothing_in_one_ends_it() {
    let content = json!({
        "schema": {"type": "object", "properties": {
            "file": {"type": "string", "format": "binary"},
            "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        }},
        "encoding": {"page": {"contentType": "text/html, text/plain"}},
    });
    let value = json!({"note": "a", "file": "x\r\n--b\r\n", "files": ["1", "2"], "meta": {"k": 1}, "page": "<p>", "a\"\r\nb": "v"});
    let (media_type, text) = body("multipart/form-data", &content, &value);
    let boundary = media_type
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    assert!(boundary.len() <= 70, "RFC 2046 §5.1.1: {boundary}");
    let end = format!("\r\n--{boundary}--\r\n");
    let parts = text.strip_prefix(&format!("--{boundary}\r\n")).unwrap();
    let parts = parts.strip_suffix(&end).unwrap();
    let parts: Vec<&str> = parts.split(&format!("\r\n--{boundary}\r\n")).collect();
    assert_eq!(
        parts,
        [
            "Content-Disposition: form-data; name=\"note\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\na",
            "Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b\r\n",
            "Content-Disposition: form-data; name=\"files\"; filename=\"files\"\r\nContent-Type: application/octet-stream\r\n\r\n1",
            "Content-Disposition: form-data; name=\"files\"; filename=\"files\"\r\nContent-Type: application/octet-stream\r\n\r\n2",
            "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"k\":1}",
            "Content-Disposition: form-data; name=\"page\"\r\nContent-Type: text/html\r\n\r\n<p>",
            "Content-Disposition: form-data; name=\"a%22%0D%0Ab\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nv",
        ]
    );
}

/// OpenAPI 3.1.1 §4.8.15: a part has the type that its encoding says, and what it holds is of that type.
#[test]
fn a_part_of_another_type_than_json_is_the_text_that_the_model_writes() {
    let content = json!({
        "schema": {"type": "object", "properties": {
            "m": {"type": "object"}, "all": {"type": "array", "items": {"type": "object"}},
            "both": {"type": "object"}, "n": {"type": "integer"},
        }},
        "encoding": {
            "m": {"contentType": "application/xml"}, "all": {"contentType": "application/xml"},
            "both": {"contentType": "text/csv, application/json"}, "n": {"contentType": "text/plain"},
            "open": {"contentType": "application/xml"},
        },
    });
    let operation = operation(
        "/a",
        "post",
        &json!({"requestBody": {"content": {"multipart/form-data": content}}}),
    );
    let text = json!({"type": "string", "description": "Written as application/xml."});
    assert_eq!(
        operation.input_schema["properties"]["body"]["properties"],
        json!({"m": text, "all": {"type": "array", "items": text}, "both": {"type": "object"}, "n": {"type": "integer"}})
    );
    let value = json!({"m": "<a/>", "all": ["<b/>"], "both": {"k": 1}, "n": 7});
    let (_, text) = body("multipart/form-data", &content, &value);
    for part in [
        "Content-Type: application/xml\r\n\r\n<a/>\r\n",
        "Content-Type: application/xml\r\n\r\n<b/>\r\n",
        "Content-Type: application/json\r\n\r\n{\"k\":1}\r\n",
        "Content-Type: text/plain\r\n\r\n7\r\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What the schema does not say is refused when it comes.
    let fault = request(&operation, &json!({"body": {"open": {"k": 1}}})).unwrap_err();
    let said =
        "the argument `body.open` is to be written in a type that is no JSON: give it as a text";
    assert_eq!(fault.to_string(), said);
}

#[test]
fn of_several_types_the_body_has_the_one_that_a_model_writes_best() {
    let chosen = |types: &[&str]| {
        let content: serde_json::Map<String, Value> = types
            .iter()
            .map(|name| ((*name).to_owned(), json!({})))
            .collect();
        let tool = operation("/a", "post", &json!({"requestBody": {"content": content}}));
        request(&tool, &json!({"body": {}}))
            .unwrap()
            .body
            .unwrap()
            .media_type
    };
    assert_eq!(
        chosen(&["application/xml", "application/json"]),
        "application/json"
    );
    assert_eq!(
        chosen(&["*/*", "application/vnd.a+json"]),
        "application/vnd.a+json"
    );
    assert_eq!(
        chosen(&["text/plain", "application/x-www-form-urlencoded"]),
        "application/x-www-form-urlencoded"
    );
    assert_eq!(chosen(&["image/png", "text/csv"]), "text/csv");
}

/// OpenAPI 3.0.4 §4.7.10: such a body is ignored. 3.1 permits it.
#[test]
fn a_body_that_http_gives_no_meaning_counts_in_the_version_that_permits_it() {
    let asked = |version: &str| {
        let mut description = described(&json!({"/a": {"delete": {
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        }}}));
        description["openapi"] = json!(version);
        request(&tool(&description), &json!({"body": {"a": 1}}))
            .unwrap()
            .body
            .is_some()
    };
    assert!(!asked("3.0.3"));
    assert!(asked("3.1.0"));
}

/// Fault S8: `../` in a parameter of the path.
#[test]
fn s8_a_parameter_of_the_path_leads_to_no_other_place() {
    let parameter = json!({"name": "id", "in": "path", "required": true, "schema": {}});
    let tool = operation(
        "/items/{id}/notes",
        "get",
        &json!({"parameters": [parameter]}),
    );
    for (id, expect) in [
        ("../../admin", "..%2F..%2Fadmin"),
        ("..\\..\\admin", "..%5C..%5Cadmin"),
        ("%2e%2e/%2e%2e", "%252e%252e%2F%252e%252e"),
        ("a?b=c#d", "a%3Fb%3Dc%23d"),
        ("x/../..", "x%2F..%2F.."),
        ("https://evil.example/", "https%3A%2F%2Fevil.example%2F"),
        ("\r\nHost: evil", "%0D%0AHost%3A%20evil"),
    ] {
        let asked = url(&tool, &json!({"id": id}));
        assert_eq!(asked, format!("https://h.example/v1/items/{expect}/notes"));
    }
    for id in [
        json!(".."),
        json!("."),
        json!(""),
        json!([]),
        json!({}),
        json!([""]),
    ] {
        let said = url(&tool, &json!({"id": id}));
        assert!(
            said.contains("neither empty nor made of dots"),
            "{id}: {said}"
        );
    }
    let said = url(&tool, &json!({}));
    assert_eq!(said, "the argument `id` is needed in the address");
    let label =
        json!({"name": "id", "in": "path", "required": true, "style": "label", "schema": {}});
    let label = operation("/items/{id}", "get", &json!({"parameters": [label]}));
    for id in [".", ""] {
        let said = url(&label, &json!({"id": id}));
        assert!(said.contains("made of dots"), "{id:?}: {said}");
    }
    // What the description itself has there.
    let climbing = operation("/items/%2e%2e/{id}", "get", &json!({}));
    let said = url(&climbing, &json!({"id": "a"}));
    assert!(said.contains("leads elsewhere"), "{said}");
}

/// Fault S8: CRLF in a parameter of the headers.
#[test]
fn s8_a_parameter_of_the_headers_adds_no_line() {
    let header = json!({"name": "X-Id", "in": "header", "schema": {}});
    let tool = operation("/a", "get", &json!({"parameters": [header]}));
    for value in [
        json!("a\r\nX-Admin: 1"),
        json!(["a", "b\nc"]),
        json!({"k": "\0"}),
        json!({"a\rb": 1}),
    ] {
        let fault = request(&tool, &json!({"X-Id": value})).unwrap_err();
        assert!(fault.to_string().contains("control character"), "{fault}");
    }
    let cookie = json!({"name": "c", "in": "cookie", "schema": {}});
    let tool = operation("/a", "get", &json!({"parameters": [cookie]}));
    let asked = request(&tool, &json!({"c": "a\r\nb; d=e"})).unwrap();
    assert_eq!(asked.headers[0].1, "c=a%0D%0Ab%3B%20d%3De");
}

/// Fault S8: one value of the query is never a second pair.
#[test]
fn s8_no_value_of_the_query_adds_a_pair() {
    for style in ["form", "spaceDelimited", "pipeDelimited", "deepObject"] {
        for explode in [true, false] {
            for reserved in [true, false] {
                let parameter = json!({
                    "name": "q", "in": "query", "style": style, "explode": explode, "allowReserved": reserved, "schema": {},
                });
                let fixed = json!({"name": "role", "in": "query", "schema": {}});
                let tool = operation("/a", "get", &json!({"parameters": [parameter, fixed]}));
                let evil = "x&role=admin#f";
                for value in [
                    json!(evil),
                    json!([evil]),
                    json!({"k": evil}),
                    json!({evil: "k"}),
                ] {
                    let asked = request(&tool, &json!({"q": value, "role": "guest"})).unwrap();
                    let roles: Vec<String> = asked
                        .url
                        .query_pairs()
                        .filter(|(name, _)| name == "role")
                        .map(|(_, value)| value.into_owned())
                        .collect();
                    assert_eq!(
                        roles,
                        ["guest"],
                        "{style} {explode} {reserved}: {}",
                        asked.url
                    );
                    assert_eq!(asked.url.fragment(), None);
                }
            }
        }
    }
}
