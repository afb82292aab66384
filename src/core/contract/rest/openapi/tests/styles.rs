//! Tests of parameter styles: the tables of OpenAPI and of RFC 6570.

use serde_json::{Value, json};

use super::{operation, request, url};

/// A parameter named `color`, its value, and the text in its place of the address.
fn check(location: &str, style: &str, explode: bool, value: &Value, expect: &str) {
    let parameter = json!({
        "name": "color", "in": location, "style": style, "explode": explode, "required": true, "schema": {},
        "allowEmptyValue": location == "query",
    });
    let path = if location == "path" {
        "/a/X{color}"
    } else {
        "/a/X"
    };
    let tool = operation(path, "get", &json!({"parameters": [parameter]}));
    let asked = url(&tool, &json!({"color": value}));
    let got = asked.strip_prefix("https://h.example/v1/a/X").unwrap();
    let expect = match location {
        "query" if !expect.is_empty() => format!("?{expect}"),
        _ => expect.to_owned(),
    };
    assert_eq!(got, expect, "{style} {explode} {value}");
}

/// OpenAPI 3.1.1 §4.8.12.4: the table of examples, a row each. What it calls "n/a" is not here.
/// 001/6.openapi.4
#[test]
fn every_row_of_the_table_of_openapi_is_written_so() {
    let empty = json!("");
    let one = json!("blue");
    let list = json!(["blue", "black", "brown"]);
    let members = json!({"R": 100, "G": 200, "B": 150});
    for (location, style, explode, expect) in [
        (
            "path",
            "matrix",
            false,
            [
                ";color",
                ";color=blue",
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ],
        ),
        (
            "path",
            "matrix",
            true,
            [
                ";color",
                ";color=blue",
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ],
        ),
        (
            "path",
            "label",
            false,
            [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
        ),
        (
            "path",
            "label",
            true,
            [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
        ),
        (
            "path",
            "simple",
            false,
            ["", "blue", "blue,black,brown", "R,100,G,200,B,150"],
        ),
        (
            "path",
            "simple",
            true,
            ["", "blue", "blue,black,brown", "R=100,G=200,B=150"],
        ),
        (
            "query",
            "form",
            false,
            [
                "color=",
                "color=blue",
                "color=blue,black,brown",
                "color=R,100,G,200,B,150",
            ],
        ),
        (
            "query",
            "form",
            true,
            [
                "color=",
                "color=blue",
                "color=blue&color=black&color=brown",
                "R=100&G=200&B=150",
            ],
        ),
    ] {
        for (value, expect) in [&empty, &one, &list, &members].into_iter().zip(expect) {
            check(location, style, explode, value, expect);
        }
    }
    for (style, value, expect) in [
        ("spaceDelimited", &list, "color=blue%20black%20brown"),
        (
            "spaceDelimited",
            &members,
            "color=R%20100%20G%20200%20B%20150",
        ),
        ("pipeDelimited", &list, "color=blue%7Cblack%7Cbrown"),
        (
            "pipeDelimited",
            &members,
            "color=R%7C100%7CG%7C200%7CB%7C150",
        ),
    ] {
        check("query", style, false, value, expect);
    }
    check(
        "query",
        "deepObject",
        true,
        &members,
        "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
    );
}

/// RFC 6570 §3.2.2, §3.2.5, §3.2.7, §3.2.8: its examples, the variable named `color` in place of its names.
#[test]
fn the_examples_of_the_templates_of_addresses_are_written_so() {
    let list = json!(["red", "green", "blue"]);
    let keys = json!({"semi": ";", "dot": ".", "comma": ","});
    for (style, explode, value, expect) in [
        ("simple", false, json!("Hello World!"), "Hello%20World%21"),
        ("simple", false, json!("50%"), "50%25"),
        ("simple", false, keys.clone(), "semi,%3B,dot,.,comma,%2C"),
        ("simple", true, keys.clone(), "semi=%3B,dot=.,comma=%2C"),
        ("label", false, json!("fred"), ".fred"),
        ("label", false, list.clone(), ".red,green,blue"),
        ("label", true, list.clone(), ".red.green.blue"),
        ("label", false, keys.clone(), ".semi,%3B,dot,.,comma,%2C"),
        ("label", true, keys.clone(), ".semi=%3B.dot=..comma=%2C"),
        ("label", false, json!([]), ""),
        ("label", true, json!({}), ""),
        ("matrix", false, json!("1024"), ";color=1024"),
        ("matrix", false, json!("/foo/bar"), ";color=%2Ffoo%2Fbar"),
        ("matrix", false, list.clone(), ";color=red,green,blue"),
        (
            "matrix",
            false,
            keys.clone(),
            ";color=semi,%3B,dot,.,comma,%2C",
        ),
        ("matrix", true, keys.clone(), ";semi=%3B;dot=.;comma=%2C"),
        ("matrix", true, json!([]), ""),
    ] {
        check("path", style, explode, &value, expect);
    }
    for (explode, value, expect) in [
        (false, keys.clone(), "color=semi,%3B,dot,.,comma,%2C"),
        (true, keys, "semi=%3B&dot=.&comma=%2C"),
        (true, list, "color=red&color=green&color=blue"),
    ] {
        check("query", "form", explode, &value, expect);
    }
}

/// OpenAPI 3.1.1 §4.8.12.2.1: what holds where nothing is said.
#[test]
fn a_parameter_without_a_style_has_that_of_its_place() {
    let tool = operation(
        "/{id}",
        "get",
        &json!({"parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {}},
            {"name": "q", "in": "query", "schema": {}},
            {"name": "X-List", "in": "header", "schema": {}},
            {"name": "session", "in": "cookie", "schema": {}},
            {"name": "theme", "in": "cookie", "schema": {}},
        ]}),
    );
    let arguments = json!({
        "id": ["a", "b"], "q": ["1", "2"], "X-List": ["x", "y"], "session": "a;b", "theme": "dark",
    });
    let asked = request(&tool, &arguments).unwrap();
    assert_eq!(asked.url.as_str(), "https://h.example/v1/a,b?q=1&q=2");
    let headers = [("X-List", "x,y"), ("Cookie", "session=a%3Bb; theme=dark")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(asked.headers, headers);
    let asked = request(
        &tool,
        &json!({"id": 7, "X-List": {"R": 1, "G": 2}, "q": null}),
    )
    .unwrap();
    assert_eq!(asked.url.as_str(), "https://h.example/v1/7");
    assert_eq!(asked.headers, [("X-List".to_owned(), "R,1,G,2".to_owned())]);
}

#[test]
fn reserved_characters_are_let_through_where_the_description_says_so_and_end_no_value() {
    let asked = |reserved: bool, explode: bool, value: Value| {
        let parameter = json!({"name": "to", "in": "query", "allowReserved": reserved, "explode": explode, "schema": {}});
        let tool = operation("/a", "get", &json!({"parameters": [parameter]}));
        url(&tool, &json!({"to": value}))
    };
    let value = json!("/b?c=d&e#f+g,h[i]");
    assert_eq!(
        asked(true, true, value.clone()),
        "https://h.example/v1/a?to=/b?c=d%26e%23f%2Bg,h%5Bi%5D"
    );
    assert_eq!(
        asked(false, true, value),
        "https://h.example/v1/a?to=%2Fb%3Fc%3Dd%26e%23f%2Bg%2Ch%5Bi%5D"
    );
    assert_eq!(
        asked(true, false, json!(["a,b", "c"])),
        "https://h.example/v1/a?to=a%2Cb,c"
    );
}

#[test]
fn a_parameter_with_a_media_type_is_json() {
    let parameter = json!({"name": "filter", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}});
    let tool = operation("/a", "get", &json!({"parameters": [parameter]}));
    assert_eq!(
        url(&tool, &json!({"filter": {"a": ["x", 1]}})),
        "https://h.example/v1/a?filter=%7B%22a%22%3A%5B%22x%22%2C1%5D%7D"
    );
}

/// OpenAPI 3.1.1 §4.8.12.2: a value is written in the media type that the description names.
/// 001/6.openapi.4
#[test]
fn a_parameter_with_a_media_type_that_is_no_json_is_its_text() {
    let check = |content: Value, location: &str, given: Value, expect: &str| {
        let parameter = json!({"name": "q", "in": location, "required": true, "content": content});
        let path = if location == "path" { "/a/{q}" } else { "/a" };
        let tool = operation(path, "get", &json!({"parameters": [parameter]}));
        assert_eq!(url(&tool, &json!({"q": given})), expect, "{parameter}");
        tool.input_schema["properties"]["q"].clone()
    };
    let of = |media_type: &str, schema: Value| json!({media_type: {"schema": schema}});
    let text = json!({"type": "string"});
    let plain = of("text/plain", text.clone());
    let at = |rest: &str| format!("https://h.example/v1/a{rest}");
    let schema = check(plain.clone(), "query", json!("abc d"), &at("?q=abc%20d"));
    assert_eq!(schema, text);
    check(plain, "path", json!("a/b"), &at("/a%2Fb"));
    let number = of("text/plain; charset=utf-8", json!({"type": "integer"}));
    // A number is written out.
    let schema = check(number, "query", json!(7), &at("?q=7"));
    assert_eq!(schema, json!({"type": "integer"}));
    // What monolith does not write is written by the model.
    let xml = of("application/xml", json!({"type": "object"}));
    let schema = check(xml, "query", json!("<a/>"), &at("?q=%3Ca%2F%3E"));
    let expect = json!({"type": "string", "description": "Written as application/xml."});
    assert_eq!(schema, expect);
}
