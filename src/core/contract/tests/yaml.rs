//! Documents in YAML as values: the core schema of YAML 1.2, aliases, merges, and texts that have no value.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::contract::yaml::{YamlFault, yaml_value};

/// Maximum nesting of a document.
const MAX_DEPTH: usize = 64;

#[test]
fn plain_scalars_have_the_types_of_the_core_schema() {
    let check = |text: &str, expect: Value| {
        assert_eq!(
            yaml_value(&format!("a: {text}")),
            Ok(json!({"a": expect})),
            "{text}"
        );
    };
    let texts = "y Y n N yes Yes YES no No NO on On ON off Off OFF 1_000 0b11 \
        0X1F 0O7 12:30:45 2020-01-01 3.1.0 inf nan nULL tRUE 0x -0x1 =";
    for word in texts.split(' ') {
        check(word, json!(word));
    }
    for (text, expect) in [
        ("true", json!(true)),
        ("False", json!(false)),
        ("~", Value::Null),
        ("NULL", Value::Null),
        ("", Value::Null),
        ("12", json!(12)),
        ("-12", json!(-12)),
        ("+12", json!(12)),
        ("0123", json!(123)),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("18446744073709551615", json!(u64::MAX)),
        ("1.5e3", json!(1500.0)),
        ("3.0", json!(3.0)),
        (".5", json!(0.5)),
        ("'no'", json!("no")),
        ("\"12\"", json!("12")),
        ("!!str 12", json!("12")),
        ("! 12", json!("12")),
        ("!!int '12'", json!(12)),
        ("!local 12", json!(12)),
    ] {
        check(text, expect);
    }
    assert_eq!(yaml_value(""), Ok(Value::Null));
    assert_eq!(yaml_value("# only a comment\n"), Ok(Value::Null));
    assert_eq!(
        yaml_value("{\"a\": [1, \"y\"]}"),
        Ok(json!({"a": [1, "y"]}))
    );
    assert_eq!(
        yaml_value("y: 1\n200: 2\ntrue: 3\n"),
        Ok(json!({"y": 1, "200": 2, "true": 3})),
        "a key is a text, however it is written"
    );
}

#[test]
fn aliases_repeat_and_merges_add_what_is_not_stated() {
    let text = "a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, y: 3}\nd: {'<<': 1}\ne: {<<: [{x: 4}, *a]}\n&k f: *k\n";
    let expect = json!({
        "a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"y": 3, "x": 1}, "d": {"<<": 1},
        "e": {"x": 4, "y": 2}, "f": "f",
    });
    assert_eq!(yaml_value(text), Ok(expect));
}

#[test]
fn a_text_without_a_value_is_refused_with_its_place() {
    let check = |text: &str, expect: &str| {
        assert_eq!(
            yaml_value(text).unwrap_err().to_string(),
            expect,
            "{text:?}"
        );
    };
    check("a: 1\nb: 2\na: 3", "a key occurs twice at line 3, column 1");
    check(
        "a: .inf",
        "a number that JSON does not have at line 1, column 4",
    );
    check(
        "a: 1e999",
        "a number that JSON does not have at line 1, column 4",
    );
    check("? [a]\n: b", "a key is not a text at line 1, column 3");
    check(
        "a: 1\n---\nb: 2",
        "a second document begins at line 2, column 1",
    );
    check(
        "a: &a [*a]",
        "an alias is part of the value that it names at line 1, column 8",
    );
    check(
        "<<: 1",
        "`<<` takes a mapping, or a list of mappings at line 1, column 5",
    );
    assert!(matches!(yaml_value("a: ["), Err(YamlFault::Syntax { .. })));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for n in 1..=MAX_DEPTH {
        writeln!(chain, "a{n}: &a{n} [*a{}]", n - 1).unwrap();
    }
    assert_eq!(
        yaml_value(&chain),
        Err(YamlFault::TooLarge),
        "deep by aliases"
    );
    let mut many = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let of = vec![format!("*a{}", n - 1); 8].join(", ");
        writeln!(many, "a{n}: &a{n} [{of}]").unwrap();
    }
    assert_eq!(
        yaml_value(&many),
        Err(YamlFault::TooLarge),
        "wide by aliases"
    );
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), "*a, ".repeat(80));
    assert_eq!(
        yaml_value(&long),
        Err(YamlFault::TooLarge),
        "long by aliases"
    );
}
