//! Tests of the oddities of YAML that are refused, and of bounds.

use super::tests::{DEMO, parse, rules, small};

/// Each fault as `line:column rule`; where the file gives no tree, one is all there is.
#[test]
fn the_oddities_of_yaml_are_reported_at_their_positions() {
    let check = |text: &str, expect: &[&str]| {
        let errors = parse(text).unwrap_err().errors;
        let reported: Vec<String> = errors
            .iter()
            .map(|e| format!("{}:{} {}", e.line, e.column, e.rule))
            .collect();
        assert_eq!(reported, expect, "{text:?}");
    };
    check("task: a\n\ttools: b\n", &["2:1 a tab cannot indent"]);
    check("task: |\n\ta\n", &["2:1 a tab cannot indent"]);
    check("tools: {}\n\tmax_turns: 1\n", &["2:1 a tab cannot indent"]);
    check(
        "tools:\n  mcp: {}\n  \tb: 1\n",
        &["3:3 a tab cannot indent"],
    );
    check(
        "task: 'abc\n",
        &["1:7 the quote is not closed, or its text goes on without indentation"],
    );
    check(
        "task: \"abc\nsystem: x\n",
        &["1:7 the quote is not closed, or its text goes on without indentation"],
    );
    check("task: [1\n", &["1:7 unclosed bracket '['"]);
    check(
        "task: a\n  b: c\n",
        &["2:4 mapping values are not allowed in this context"],
    );
    check(
        "task: a: b\n",
        &["1:8 mapping values are not allowed in this context"],
    );
    check(
        "a: *nope\n",
        &["1:4 while parsing node, found unknown anchor"],
    );
    let twice = "2:1 the key `task` occurs twice";
    let missing = "1:1 the key `targets` is missing";
    check("task: a\ntask: b\n", &[missing, twice]);
    check("task: a\r\ntask: b\r\n", &[missing, twice]);
    check("\u{feff}task: a\ntask: b\n", &[missing, twice]);
    check(
        "{\"task\": \"x\", \"task\": \"y\"}",
        &[missing, "1:15 the key `task` occurs twice"],
    );
    let anchors = "anchors are not allowed in a contract file";
    let tags = "tags are not allowed in a contract file";
    let aliases = "aliases are not allowed in a contract file";
    check("task: &x a\n", &[missing, &format!("1:7 {anchors}")]);
    check("task: !!str a\n", &[missing, &format!("1:7 {tags}")]);
    check(
        "task: &x !!str a\n",
        &[missing, &format!("1:7 {anchors}"), &format!("1:10 {tags}")],
    );
    // A bomb of aliases is refused, never unfolded.
    check(
        "metadata: {a: &a [x, x], b: &b [*a, *a], c: [*b, *b]}\n",
        &[
            missing,
            "1:12 unknown key `a`",
            &format!("1:15 {anchors}"),
            "1:26 unknown key `b`",
            &format!("1:29 {anchors}"),
            &format!("1:33 {aliases}"),
            &format!("1:37 {aliases}"),
            "1:42 unknown key `c`",
            &format!("1:46 {aliases}"),
            &format!("1:50 {aliases}"),
        ],
    );
    check(
        "task: a\n---\ntask: b\n",
        &[missing, "2:1 a contract file holds one document"],
    );
    check(
        "max_turns: x\r\n",
        &[missing, "1:12 expected a whole number, got `x`"],
    );
    check(
        &small("tools: {mcp: {fs: {command: x, args: {a: b}}}}"),
        &["3:38 expected a list, got a mapping"],
    );
    check(
        &small("sampling:\n  temperature:\n    - warm"),
        &["5:5 expected a finite number, got a list"],
    );
}

#[test]
fn a_long_list_of_keys_is_written_out_once() {
    let shown = parse("a: 1\nb: 2\n").unwrap_err().to_string();
    assert_eq!(shown.matches("known keys: ").count(), 1, "{shown}");
    assert_eq!(shown.matches("(as above)").count(), 1, "{shown}");
}

/// Together they are one expression: one that does not compile would find nothing.
#[test]
fn headers_that_are_secret_are_bounded() {
    let headers = |count: usize, bytes: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("{n:0>bytes$}")).collect();
        parse(&format!("{DEMO}redact: {{headers: {names:?}}}\n"))
    };
    assert_eq!(rules(headers(100, 256)), [] as [&str; 0]);
    for refused in [headers(101, 10), headers(2, 257)] {
        let rule = "redact.headers: at most 100 headers of at most 256 bytes";
        assert_eq!(rules(refused), [rule]);
    }
}
