//! Tests of gate grammars against sentences, schemas and engines.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests_recogniser::Recogniser;
use super::{CALL_CLOSE, CALL_OPEN, GateGrammar, GrammarLanguage};
use crate::contract::tests::{make, manifest, spec, tool};
use crate::contract::{ContractFactory, ExecutionContract, Terms, Validators};
use crate::message::ObjectText;

/// A contract behind a closed gate whose built-in tools have these schemas.
fn gated(schemas: &[Value]) -> ExecutionContract {
    let names = ["clock", "echo", "list_directory", "read_file"];
    let tools = names
        .iter()
        .zip(schemas)
        .map(|(name, schema)| tool(name, schema.clone()));
    let mut manifest = manifest();
    if let Some(server) = manifest.servers.get_mut("builtin") {
        server.tools = tools.collect();
    }
    let offered = names[..schemas.len()].join(", ");
    let sets = [
        format!("tools.builtin=[{offered}]"),
        "allowed_tools=null".to_owned(),
        "tools.mcp={}".to_owned(),
    ];
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let made = ContractFactory.make(&spec(&sets), &manifest, None);
    made.unwrap_or_else(|fault| panic!("{fault}"))
}

fn gbnf(terms: &Terms) -> GateGrammar {
    GateGrammar::closed(terms, GrammarLanguage::Gbnf).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The parts between the markers: name and argument text.
fn call_of(sentence: &str) -> (String, String) {
    let inner = sentence
        .strip_prefix(CALL_OPEN)
        .and_then(|s| s.strip_suffix(CALL_CLOSE));
    let call: Value = serde_json::from_str(inner.unwrap().trim()).unwrap();
    let arguments = inner.unwrap().split_once("\"arguments\":").unwrap().1;
    let arguments = arguments.trim().strip_suffix('}').unwrap();
    (
        call["name"].as_str().unwrap().to_owned(),
        arguments.to_owned(),
    )
}

fn call(name: &str, arguments: &str) -> String {
    format!("{CALL_OPEN}\n{{\"name\":\"{name}\",\"arguments\":{arguments}}}\n{CALL_CLOSE}")
}

/// A schema with a bit of everything that tools use.
fn rich() -> Value {
    json!({
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    "name": {"type": "string", "maxLength": 5},
                },
                "required": ["name"],
                "additionalProperties": false,
            },
        },
        "type": "object",
        "properties": {
            "a\"b": {"const": "x"},
            "filter": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
            "kind": {"enum": ["exact", "fuzzy", 3]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 250},
            "path": {"type": "string", "minLength": 1, "maxLength": 8},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "maxLength": 3}},
            "when": {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 4}]},
        },
        "required": ["kind", "path"],
        "additionalProperties": false,
    })
}

#[test]
fn the_grammars_of_two_tools() {
    let contract = gated(&[json!({"type": "object", "properties": {}}), rich()]);
    for language in [GrammarLanguage::Lark, GrammarLanguage::Gbnf] {
        let grammar = GateGrammar::closed(&contract, language).unwrap();
        let text = format!("closing {}\n{}", grammar.closing_bytes, grammar.text);
        insta::assert_snapshot!(language.profile().replace('/', "-"), text);
    }
}

#[test]
fn a_message_without_calls_holds_no_marker() {
    let grammar = Recogniser::read(&GateGrammar::prose(GrammarLanguage::Gbnf).text);
    for (text, expect) in [
        ("", true),
        ("2 < 3\n", true),
        ("<tool_cal>", true),
        ("<<tool_call", true),
        ("<tool_<tool_call >", true),
        ("<tool_call>", false),
        ("a <tool_call> b", false),
        ("<<tool_call>", false),
        ("<tool_<tool_call>", false),
    ] {
        assert_eq!(grammar.accepts(text), expect, "{text:?}");
    }
    insta::assert_snapshot!(GateGrammar::prose(GrammarLanguage::Lark).text, @r"
    start: PROSE
    PROSE: /(?s:.*)/ & ~/(?s:.*)<tool_call>(?s:.*)/
    ");
}

#[test]
fn what_fits_the_schema_in_canonical_form_is_a_sentence() {
    let grammar = Recogniser::read(&gbnf(&gated(&[json!({"type": "object"}), rich()])).text);
    let check = |text: &str, expect: bool| assert_eq!(grammar.accepts(text), expect, "{text}");
    check(&call("clock", "{}"), true);
    check(&call("echo", r#"{"kind":"fuzzy","path":"p"}"#), true);
    check(&call("echo", r#"{"kind":3,"path":"\\\"é😀"}"#), true);
    check(
        &call(
            "echo",
            r#"{"a\"b":"x","filter":{"children":[{"name":""}],"name":"ab"},"kind":"exact","limit":250,"path":"p","ratio":0.25,"tags":["a","b"],"when":-17}"#,
        ),
        true,
    );
    check(
        &call(
            "echo",
            r#"{"filter":null,"kind":"exact","path":"p","ratio":1,"when":"now"}"#,
        ),
        true,
    );
    for arguments in [
        "{}",
        r#"{"path":"p","kind":"fuzzy"}"#,
        r#"{"kind":"fuzzy","path":""}"#,
        r#"{"kind":"fuzzy","path":"123456789"}"#,
        r#"{"kind":"other","path":"p"}"#,
        r#"{"kind":"fuzzy","limit":0,"path":"p"}"#,
        r#"{"kind":"fuzzy","limit":251,"path":"p"}"#,
        r#"{"kind":"fuzzy","limit":01,"path":"p"}"#,
        r#"{"kind":"fuzzy","path":"p","ratio":0}"#,
        r#"{"kind":"fuzzy","path":"p","ratio":1.5}"#,
        r#"{"kind":"fuzzy","path":"p","tags":[]}"#,
        r#"{"kind":"fuzzy","path":"p","extra":1}"#,
        r#"{"kind":"fuzzy","path":"p"},"#,
        "{\"kind\":\"fuzzy\",\"path\":\"\n\"}",
        r#"{"kind": "fuzzy","path":"p"}"#,
    ] {
        check(&call("echo", arguments), false);
    }
    check(&call("other", "{}"), false);
    check("Let me see.", false);
    check("", false);
    let two = format!("{}\n{}", call("clock", "{}"), call("clock", "{}"));
    check(&two, false);
}

#[test]
fn several_calls_in_one_message_need_the_contracts_permission() {
    let mut terms = Terms::clone(&gated(&[json!({"type": "object"})]));
    terms.parallel_tool_calls = true;
    terms.max_tool_calls_per_turn = 2;
    let grammar = Recogniser::read(&gbnf(&terms).text);
    let calls = |n: usize| vec![call("clock", "{}"); n].join("\n");
    assert_eq!(
        [1, 2, 3].map(|n| grammar.accepts(&calls(n))),
        [true, true, false]
    );
}

#[test]
fn what_no_grammar_can_express_is_refused_by_name_and_pointer() {
    let check = |member: Value, expect: &str| {
        let schema = json!({"type": "object", "properties": {"a/b": member}});
        let mut terms = Terms::clone(&gated(&[schema]));
        terms.targets.iter_mut().for_each(|target| target.left_out.clear());
        let found = GateGrammar::closed(&terms, GrammarLanguage::Lark);
        let found: Vec<String> = found.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [format!(
                "the token gate: the input schema of `clock` at {expect}"
            )]
        );
    };
    let cannot = |key: &str| {
        format!("\"/properties/a~1b/{key}\": `{key}` cannot be said in the gate's grammar")
    };
    for (pattern, why) in [
        ("^(?=a)b$", "a group that looks around or has a name"),
        ("a^b", "a sign is where it means nothing"),
        ("(a$)b", "it has an anchor inside"),
        (r"\bword", "a sign behind a backslash that is not known"),
        ("(a|b", "a bracket is not closed"),
        ("a)", "a bracket is closed that was not opened"),
        ("[z-a]", "a range without two ends in their order"),
        ("((a*)*)*", "its texts would be too long"),
        ("a{5000}", "a count is no number up to 2048"),
        (
            "^[a-z]{1,9}$",
            "it allows lengths that minLength or maxLength forbids",
        ),
    ] {
        let expect =
            format!("\"/properties/a~1b/pattern\": it cannot be said in the gate's grammar: {why}");
        check(
            json!({"type": "string", "pattern": pattern, "maxLength": 8}),
            &expect,
        );
    }
    check(json!({"not": {"type": "null"}}), &cannot("not"));
    check(
        json!({"type": "integer", "multipleOf": 5}),
        &cannot("multipleOf"),
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "null"}]}),
        &cannot("prefixItems"),
    );
    check(
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
        r#""/properties/a~1b/oneOf/0": nothing shows that its alternatives exclude each other: use anyOf"#,
    );
    check(
        json!({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}),
        r#""/properties/a~1b/allOf/1": two schemas of one object's members cannot be made one"#,
    );
    check(
        json!({"type": "number", "minimum": 0.2, "maximum": 0.8}),
        r#""/properties/a~1b": no number of at most 15 digits, 6 after the point, lies within its bounds"#,
    );
    check(
        json!({"type": "string", "minLength": 4000}),
        r#""/properties/a~1b/minLength": it is more than 2048, the most that the gate's grammar offers"#,
    );
    check(
        json!({"type": "object", "required": ["x"]}),
        r#""/properties/a~1b/required": `properties` does not say what "x" is"#,
    );
    check(
        json!({"$ref": "#/nowhere"}),
        r#""/properties/a~1b/$ref": it names nothing in this schema by a JSON pointer"#,
    );
}

#[test]
fn a_schema_that_unfolds_without_end_is_refused_and_one_that_refers_to_itself_is_cut_off() {
    let wide: serde_json::Map<String, Value> = (0..6)
        .map(|n| (format!("m{n}"), json!({"$ref": "#"})))
        .collect();
    let wide = json!({"type": "object", "properties": wide});
    let faults = GateGrammar::closed(&gated(&[wide]), GrammarLanguage::Lark);
    assert!(faults.is_ok_and(|grammar| grammar.text.len() < 512 * 1024));
    let steps: serde_json::Map<String, Value> = (0..12)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/s{}", n + 1)});
            let members = json!({"a": next, "b": next, "c": next});
            (
                format!("s{n}"),
                json!({"type": "object", "properties": members}),
            )
        })
        .chain([("s12".to_owned(), json!({"type": "null"}))])
        .collect();
    let bomb =
        json!({"$defs": steps, "type": "object", "properties": {"x": {"$ref": "#/$defs/s0"}}});
    let faults = GateGrammar::closed(&gated(&[bomb]), GrammarLanguage::Lark).unwrap_err();
    assert!(
        faults[0].rule.contains("parts") || faults[0].rule.contains("too many"),
        "{faults:?}"
    );
    let endless = json!({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]});
    let faults = GateGrammar::closed(&gated(&[endless]), GrammarLanguage::Lark).unwrap_err();
    assert_eq!(faults[0].rule, "no value fits it");
}

/// Shows 002/4.runtime.3, 002/4.runtime.4, 002/6.open.2, 002/7.overlays.2.
#[test]
fn a_contract_has_the_grammar_of_its_gate_where_its_profile_has_one() {
    let local = [
        "providers.demo={type: local, file: m.gguf}",
        "context_budget.context_window=4096",
    ];
    let contract = make(&local);
    assert_eq!(contract.grammar_profile.as_deref(), Some("lark/1"));
    let expect = GateGrammar::closed(&contract, GrammarLanguage::Lark).unwrap();
    assert_eq!(contract.grammar, Some(expect.text));
    let open = make(&[local[0], local[1], "token_gate=false"]);
    assert_eq!(open.grammar, None);
    assert_eq!(make(&[]).grammar_profile, None);
}

/// Regular expressions as tools have them.
fn patterns() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "^[a-z_][a-z0-9_]{0,9}$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"^(https?|ftp)://[^\s/$.?#]+\.[^\s]*$",
        "a|b+|",
        r"^\w+(\.\w+){0,3}$",
        r#"["\\\n-]{2,3}"#,
        r"^[^a-z\d]+?$",
        "^.{3}$",
        r"\S\s\D\W",
        "^é[à-ü]*$|^x$",
    ])
}

#[test]
fn a_pattern_is_a_sentence_exactly_where_it_matches_as_a_whole() {
    let check = |pattern: &str, text: &str, expect: bool| {
        let schema = json!({"type": "object", "properties": {"p": {"type": "string", "pattern": pattern}}, "required": ["p"]});
        let recogniser = Recogniser::read(&gbnf(&gated(&[schema])).text);
        let arguments = json!({"p": text}).to_string();
        assert_eq!(
            recogniser.accepts(&call("clock", &arguments)),
            expect,
            "{pattern} {text}"
        );
    };
    for (pattern, yes, no) in [
        ("^[a-z_]+$", "ab_c", "aB"),
        (r"^\d{4}-\d{2}$", "2026-11", "2026-1"),
        ("^(a|bc){2}$", "abc", "a"),
        (r#"^["\\]$"#, "\"", "a"),
        (r#"^["\\]$"#, "\\", "\\\\"),
        ("^[^x]$", "\n", "x"),
        ("^.$", "😀", "\n"),
        ("^[à-ü]$", "é", "e"),
        ("^a?b*?c+$", "bbc", "ab"),
        ("^x$|^y$", "y", "xy"),
        (r"^[\w.-]+$", "a.b-c", "a b"),
    ] {
        check(pattern, yes, true);
        check(pattern, no, false);
    }
}

/// Schemas of the kinds that a grammar can express.
fn schemas() -> impl Strategy<Value = Value> {
    let bounds = (-1200_i64..1200, 0_i64..1200);
    let leaf = prop_oneof![
        (0_u32..3, 0_u32..6).prop_map(|(least, more)| json!({"type": "string", "minLength": least, "maxLength": least + more})),
        bounds.clone().prop_map(|(low, more)| json!({"type": "integer", "minimum": low, "maximum": low + more})),
        bounds.prop_map(|(low, more)| json!({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + more + 1})),
        patterns().prop_map(|text| json!({"type": "string", "pattern": text})),
        Just(json!({"type": ["boolean", "null"]})),
        Just(json!({"type": "number"})),
        Just(json!({"enum": ["a", 1, 10, null, {"k": []}]})),
        Just(json!({"const": "\u{7f}\\\"é"})),
        Just(json!({"type": "object", "additionalProperties": {"type": "integer"}})),
        Just(json!({})),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let members = proptest::collection::vec((inner.clone(), any::<bool>()), 1..5);
        prop_oneof![
            members.prop_map(|members| {
                let named = |(n, (schema, _)): (usize, &(Value, bool))| (format!("m{n}"), schema.clone());
                let properties: serde_json::Map<String, Value> = members.iter().enumerate().map(named).collect();
                let required: Vec<String> = members
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, needed))| *needed)
                    .map(|(n, _)| format!("m{n}"))
                    .collect();
                json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
            }),
            (inner.clone(), 0_u32..3, 0_u32..3).prop_map(|(item, least, more)| {
                json!({"type": "array", "items": item, "minItems": least, "maxItems": least + more})
            }),
            proptest::collection::vec(inner, 1..4).prop_map(|any| json!({"anyOf": any})),
        ]
    })
}

fn tools() -> impl Strategy<Value = Vec<Value>> {
    let members = proptest::collection::vec((schemas(), any::<bool>()), 0..4);
    let one = members.prop_map(|members| {
        let properties: serde_json::Map<String, Value> = members
            .iter()
            .enumerate()
            .map(|(n, (s, _))| (format!("p{n}"), s.clone()))
            .collect();
        let required: Vec<String> = members
            .iter()
            .enumerate()
            .filter(|(_, (_, needed))| *needed)
            .map(|(n, _)| format!("p{n}"))
            .collect();
        json!({"type": "object", "properties": properties, "required": required})
    });
    proptest::collection::vec(one, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Both ways: what the grammar makes validates, and it accepts what it made; ending never takes more than is reserved.
    #[test]
    fn every_sentence_is_a_call_that_validates(
        schemas in tools(),
        seeds in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 6),
    ) {
        let contract = gated(&schemas);
        let validators = Validators::compile(&contract);
        let grammar = gbnf(&contract);
        let recogniser = Recogniser::read(&grammar.text);
        for choices in seeds {
            let (sentence, chosen) = recogniser.sentence(&choices);
            let (name, arguments) = call_of(&sentence);
            let arguments = ObjectText::parse(arguments).unwrap();
            prop_assert_eq!(validators.validate(&name, &arguments), Ok(()), "{}", sentence);
            let left = (sentence.len() - chosen) as u64;
            prop_assert!(left <= grammar.closing_bytes, "{} > {}: {}", left, grammar.closing_bytes, sentence);
            if sentence.len() < 600 {
                prop_assert!(recogniser.accepts(&sentence), "{}", sentence);
            }
        }
    }

    #[test]
    fn a_whole_number_is_a_sentence_exactly_within_its_bounds(
        low in -3000_i64..3000,
        more in 0_i64..5000,
        near in -40_i64..40,
    ) {
        let high = low + more;
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": low, "maximum": high}}, "required": ["n"]});
        let recogniser = Recogniser::read(&gbnf(&gated(&[schema])).text);
        for number in [low + near, high + near, i64::midpoint(low, high), -low, 0] {
            let sentence = call("clock", &format!("{{\"n\":{number}}}"));
            prop_assert_eq!(recogniser.accepts(&sentence), (low..=high).contains(&number), "{}", sentence);
        }
    }
}
