//! The gate against the grammar engine alone, and the engine against a real model where there is one.
//!
//! The model is `MONOLITH_TEST_MODEL`, a GGUF file in ChatML such as SmolLM2-135M-Instruct. Where it is not set, the tests that
//! need it say so and pass.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities};
use llguidance::{Matcher, ParserFactory};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::cache::EngineFault;
use super::engine::{Ended, Engine, Listener};
use super::gate::ENDING;
use super::llama::load;
use super::{LocalBackend, LocalOptions};
use crate::inference::{Backend, ModelFile, Timeouts};
use monolith_core::adapter::{
    Adapter, Decoded, GatePhase, LocalRequest, LocalSampling, RequestEncoder, RequestShape,
    ResponseMeta, Segment,
};
use monolith_core::contract::{
    CALL_CLOSE, CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, GateGrammar,
    GrammarLanguage, ServerCapability, ServerKind, TargetCapability, ToolCapability, Validators,
};
use monolith_core::kernel::{RunStarted, ToolExposure};
use monolith_core::message::{ObjectText, StopReason};

/// A contract behind a closed gate: one tool with a bit of everything.
pub(super) fn contract(sets: &[&str]) -> ExecutionContract {
    let schema = json!({
        "type": "object",
        "properties": {
            "filter": {"anyOf": [{"type": "null"}, {
                "type": "object",
                "properties": {"name": {"type": "string", "minLength": 2, "maxLength": 6}, "size": {"type": "number", "minimum": -3, "exclusiveMaximum": 40}},
                "required": ["size"],
                "additionalProperties": false,
            }]},
            "code": {"type": "string", "pattern": "^[a-zé]{2}(-\\d+)?[^\"]$"},
            "free": {"type": "string"},
            "kind": {"enum": ["exact", "fuzzy", 10, 1]},
            "limit": {"type": "integer", "minimum": 3, "maximum": 1234},
            "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "maxLength": 5}},
        },
        "required": ["kind", "tags"],
        "additionalProperties": false,
    });
    let file = "system: Use the tool.\ntask: Search for \"printers\".\ntool_policy: required\n\
                targets: [{provider: m, model: m, context_window: 1024}]\nproviders: {m: {type: local, file: m.gguf}}\n\
                sampling: {max_output_tokens: 200, temperature: 1.5}\ntools: {mcp: {s: {command: s}}}\n";
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let spec = ContractSpec::parse("c.yaml", file, &sets).unwrap();
    let tool = ToolCapability {
        annotations: Value::Null,
        description: "Searches.".to_owned(),
        input_schema: schema,
        name: "find".to_owned(),
        schema_tokens: 0,
    };
    let server = ServerCapability {
        available: true,
        kind: ServerKind::Stdio,
        tools: vec![tool],
    };
    let manifest = CapabilityManifest {
        servers: [("s".to_owned(), server)].into(),
        targets: vec![TargetCapability::default()],
    };
    ContractFactory.make(&spec, &manifest, None).unwrap()
}

/// A grammar over single bytes: what the engine makes of the text, without any model.
fn matcher(grammar: &str) -> Matcher {
    let bytes = ApproximateTokEnv::single_byte_env();
    let capabilities = InferenceCapabilities::default();
    let mut factory = ParserFactory::new(&bytes, capabilities, &[]).unwrap();
    factory.quiet();
    Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(grammar.to_owned())))
}

/// Follows `choices` through the masks, then what ends soonest; the text, and how much of it was still to come after them.
fn walk(matcher: &mut Matcher, choices: &[u16], budget: usize) -> (String, usize) {
    let mut bytes: Vec<u8> = Vec::new();
    let mut chosen = None;
    for step in 0..budget {
        let mask = matcher.compute_mask_or_eos().unwrap();
        let allowed: Vec<u32> = mask.iter().collect();
        assert!(!allowed.is_empty(), "nothing allowed after {bytes:?}");
        // The end of the text, then what the engine itself prefers.
        let ending = [262]
            .into_iter()
            .chain(ENDING.iter().copied().map(u32::from));
        let token = if let Some(choice) = choices.get(step) {
            allowed[usize::from(*choice) % allowed.len()]
        } else {
            chosen.get_or_insert(bytes.len());
            let soonest = ending.clone().find(|end| allowed.contains(end));
            soonest.unwrap_or(allowed[0])
        };
        let Ok(byte) = u8::try_from(token) else {
            let whole = String::from_utf8(bytes).unwrap();
            let left = whole.len() - chosen.unwrap_or(whole.len());
            return (whole, left);
        };
        matcher.consume_token(token).unwrap();
        bytes.push(byte);
    }
    panic!(
        "no end within {budget} bytes: {}",
        String::from_utf8_lossy(&bytes)
    );
}

fn check_call(text: &str, contract: &ExecutionContract) {
    let inner = text.strip_prefix("<tool_call>\n{\"name\":\"s__find\",\"arguments\":");
    let arguments = inner.and_then(|inner| inner.strip_suffix(&format!("}}\n{CALL_CLOSE}")));
    let arguments =
        ObjectText::parse(arguments.unwrap_or_else(|| panic!("no call: {text}"))).unwrap();
    let validators = Validators::compile(contract);
    assert_eq!(validators.validate("s__find", &arguments), Ok(()), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_the_engine_lets_through_a_closed_gate_validates_and_ends_within_its_reserve(
        choices in proptest::collection::vec(any::<u16>(), 0..160),
    ) {
        let contract = contract(&[]);
        let grammar = GateGrammar::closed(&contract, GrammarLanguage::Lark).unwrap();
        let (text, left) = walk(&mut matcher(&grammar.text), &choices, 2000);
        check_call(&text, &contract);
        prop_assert!(left as u64 <= grammar.closing_bytes, "{left} > {}: {text}", grammar.closing_bytes);
    }
}

#[test]
fn the_engine_reads_both_grammars_and_refuses_what_they_refuse() {
    let takes = |grammar: &str, text: &str| {
        let tokens: Vec<u32> = text.bytes().map(u32::from).collect();
        let mut matcher = matcher(grammar);
        let taken = matcher.try_consume_tokens(&tokens).unwrap();
        taken == tokens.len() && matcher.is_accepting().unwrap()
    };
    let closed = GateGrammar::closed(&contract(&[]), GrammarLanguage::Lark)
        .unwrap()
        .text;
    let call = |arguments: &str| {
        format!("<tool_call>\n{{\"name\":\"s__find\",\"arguments\":{arguments}}}\n{CALL_CLOSE}")
    };
    for (text, expect) in [
        (call(r#"{"kind":"fuzzy","tags":["a"]}"#), true),
        (call(r#"{"code":"éb-12\n","kind":10,"tags":[""]}"#), true),
        (call(r#"{"code":"ab\"","kind":10,"tags":[""]}"#), false),
        (
            call(
                r#"{"filter":{"name":"ab","size":-2.5},"kind":1,"limit":1234,"tags":["é\"","b","c"]}"#,
            ),
            true,
        ),
        (call(r#"{"kind":"other","tags":["a"]}"#), false),
        (call(r#"{"kind":1,"limit":1235,"tags":["a"]}"#), false),
        (
            call(r#"{"filter":{"size":40},"kind":1,"tags":["a"]}"#),
            false,
        ),
        (call(r#"{"kind":1,"tags":[]}"#), false),
        (call("{}"), false),
        ("I would".to_owned(), false),
    ] {
        assert_eq!(takes(&closed, &text), expect, "{text}");
    }
    let prose = GateGrammar::prose(GrammarLanguage::Lark).text;
    for (text, expect) in [
        ("", true),
        ("a\n<tool_cal> b", true),
        ("a <tool_call>", false),
        ("<<tool_call>{", false),
    ] {
        assert_eq!(takes(&prose, text), expect, "{text}");
    }
}

#[test]
fn llama_cpp_reads_the_strict_grammar_and_takes_what_it_takes() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let takes = |grammar: &str, text: &str| {
        let mut sampler = LlamaSampler::grammar(&model, grammar, "root").unwrap();
        let tokens = model.vocab().tokenize(text.as_bytes(), false, false);
        // Asked first: a token that is not allowed would be fatal to accept.
        tokens.into_iter().all(|token| {
            let candidate = LlamaTokenData::new(token, 0.0, 0.0);
            let mut candidates = LlamaTokenDataArray::new(vec![candidate], false);
            candidates.apply_sampler(&mut sampler);
            let allowed = candidates.data[0].logit().is_finite();
            if allowed {
                sampler.accept(token);
            }
            allowed
        })
    };
    let closed = GateGrammar::closed(&contract(&[]), GrammarLanguage::Gbnf)
        .unwrap()
        .text;
    let call = |arguments: &str| {
        format!("<tool_call>\n{{\"name\":\"s__find\",\"arguments\":{arguments}}}\n{CALL_CLOSE}")
    };
    for (text, expect) in [
        (
            call(
                r#"{"filter":{"name":"ab","size":-2.5},"kind":1,"limit":1234,"tags":["é\"","b","c"]}"#,
            ),
            true,
        ),
        (
            call(r#"{"free":"it's [all] {right}","kind":"fuzzy","tags":[""]}"#),
            true,
        ),
        (call(r#"{"kind":1,"limit":1235,"tags":["a"]}"#), false),
        (call("{}"), false),
        ("I would".to_owned(), false),
    ] {
        assert_eq!(takes(&closed, &text), expect, "{text}");
    }
    let prose = GateGrammar::prose(GrammarLanguage::Gbnf).text;
    for (text, expect) in [("a\n<tool_cal> b", true), ("a <tool_call>", false)] {
        assert_eq!(takes(&prose, text), expect, "{text}");
    }
}

/// The model to test with, or none with a word about it.
pub(super) fn model_file() -> Option<PathBuf> {
    let found = std::env::var_os("MONOLITH_TEST_MODEL").map(PathBuf::from);
    if found.is_none() {
        println!("skipped: MONOLITH_TEST_MODEL names no GGUF file");
    }
    found
}

pub(super) fn options(path: &Path, reuse: bool) -> LocalOptions {
    LocalOptions {
        context_window: 1024,
        file: ModelFile::open(path).unwrap(),
        logits_mask: None,
        reuse,
        template: None,
        threads: 1,
        trial: None,
    }
}

pub(super) fn request(segments: Vec<Segment>, seed: u64) -> LocalRequest {
    LocalRequest {
        chat: None,
        closing_tokens: 0,
        gate: GatePhase::Open,
        grammar: None,
        max_tokens: 12,
        sampling: LocalSampling {
            repeat_penalty: Some(1.1),
            seed,
            temperature: Some(0.8),
            top_p: Some(0.95),
        },
        segments,
    }
}

pub(super) fn turns(texts: &[&str]) -> Vec<Segment> {
    let one = |text: &&str| {
        [
            Segment::Control("<|im_start|>".to_owned()),
            Segment::Text((*text).to_owned()),
            Segment::Control("<|im_end|>".to_owned()),
        ]
    };
    texts.iter().flat_map(one).collect()
}

/// Gathers text, and stops after so many pieces.
#[derive(Default)]
struct TextCollector {
    pieces: usize,
    stop_after: Option<usize>,
    text: String,
}

impl Listener for TextCollector {
    fn waits(&self) -> bool {
        self.stop_after.is_none_or(|most| self.pieces < most)
    }

    fn text(&mut self, text: &str) {
        self.pieces += 1;
        self.text.push_str(text);
    }
}

pub(super) fn infer(engine: &mut Engine<'_>, request: &LocalRequest) -> (String, Ended) {
    let mut collector = TextCollector::default();
    let ended = engine.infer(request, &mut collector).unwrap();
    (collector.text, ended)
}

#[test]
fn what_is_kept_between_requests_changes_no_byte() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let mut conversation = vec!["system\nBe brief.", "user\nName a colour and an animal."];
    let engine = |reuse| Engine::new(&model, &options(&path, reuse), Arc::default()).unwrap();
    let mut keeping = engine(true);
    let (first, ended) = infer(&mut keeping, &request(turns(&conversation), 3));
    assert!(ended.usage.output > 0 && !first.is_empty());
    let answer = format!("assistant\n{first}");
    conversation.extend([answer.as_str(), "user\nAnother one."]);
    let again = request(turns(&conversation), 3);
    let kept = infer(&mut keeping, &again);
    assert_eq!(kept, infer(&mut engine(false), &again), "kept or not");
    assert_eq!(kept, infer(&mut keeping, &again), "asked twice");
    assert_ne!(
        kept.0,
        infer(&mut keeping, &request(turns(&conversation), 4)).0,
        "another seed"
    );
}

#[test]
fn a_gate_that_cannot_be_kept_is_a_fault_and_nothing_is_written() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let mut engine = Engine::new(&model, &options(&path, true), Arc::default()).unwrap();
    let mut broken = request(turns(&["user\nHi"]), 1);
    let mut fails = |request: &LocalRequest, expect: &str| {
        let mut collector = TextCollector::default();
        let fault = engine.infer(request, &mut collector).unwrap_err();
        let EngineFault::Failed(reason) = fault else {
            panic!("{fault:?}")
        };
        assert!(reason.contains(expect), "{reason}");
        assert_eq!(collector.text, "");
    };
    broken.gate = GatePhase::Closed;
    fails(&broken, "a phase that needs a grammar has none");
    broken.grammar = Some("start: nowhere".to_owned());
    fails(&broken, "the grammar does not compile");
    broken.grammar = Some("start: /a/ & ".to_owned());
    fails(&broken, "the grammar does not compile");
}

#[test]
fn a_cancelled_answer_ends_between_two_tokens_and_a_prompt_too_long_is_refused() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let mut engine = Engine::new(&model, &options(&path, true), Arc::default()).unwrap();
    let mut collector = TextCollector {
        stop_after: Some(3),
        ..TextCollector::default()
    };
    let request_of = |text: &str| request(turns(&[text]), 1);
    let mut counts = request_of("user\nCount to a hundred.");
    counts.segments.extend([
        Segment::Control("<|im_start|>".to_owned()),
        Segment::Text("assistant\none, two, three, four, five,".to_owned()),
    ]);
    let fault = engine.infer(&counts, &mut collector);
    assert_eq!((fault, collector.pieces), (Err(EngineFault::Cancelled), 3));
    let long = format!("user\n{}", "many words ".repeat(800));
    let fault = engine.infer(&request_of(&long), &mut TextCollector::default());
    assert!(matches!(fault, Err(EngineFault::Overflow(_))), "{fault:?}");
    // The engine continues after both.
    let (_, ended) = infer(&mut engine, &request_of("user\nHi"));
    assert!(ended.usage.input > 0);
}

/// One answer behind the closed gate, through the backend and the adapter.
pub(super) async fn gated(backend: &Backend, contract: &ExecutionContract) -> Decoded {
    let adapter = Adapter::of_target(contract, 0).unwrap();
    let mut encoder = RequestEncoder::new(contract, 0).unwrap();
    let opening = RunStarted::opening(&contract.system, "Search for \"printers\".");
    let conversation: Vec<_> = opening.into_iter().map(Arc::new).collect();
    let tools = ToolExposure::Forced;
    let body = encoder.encode(
        &conversation,
        &RequestShape {
            closing: false,
            without_state: false,
            xml: None,
            notices: &[],
            tools,
        },
    );
    let timeouts = Timeouts {
        cancel: CancellationToken::new(),
        idle: std::time::Duration::from_secs(600),
    };
    let mut reply = backend
        .send(
            &adapter.path(&contract.targets[0]),
            &[],
            body.bytes,
            &timeouts,
        )
        .await
        .unwrap();
    let meta = ResponseMeta {
        status: reply.head().status,
        ..ResponseMeta::default()
    };
    let mut decoder = adapter.decoder(meta, "m");
    while let Some(chunk) = reply.chunk().await.unwrap() {
        decoder.push(&chunk);
    }
    decoder.finish()
}

#[tokio::test]
async fn a_closed_gate_gives_one_valid_call_for_every_seed_even_with_hardly_any_tokens() {
    let Some(path) = model_file() else { return };
    let backend = Backend::Local(LocalBackend::new(options(&path, true)));
    assert!(
        backend
            .probe(&[], &CancellationToken::new())
            .await
            .responsive
    );
    for (seed, tokens) in [(1, 200), (2, 200), (3, 140), (4, 140)] {
        let sets = [
            format!("sampling.seed={seed}"),
            format!("sampling.max_output_tokens={tokens}"),
        ];
        let contract = contract(&[&sets[0], &sets[1]]);
        let Decoded::Message(result) = gated(&backend, &contract).await else {
            panic!("no message")
        };
        assert_eq!(result.stop, StopReason::End);
        let message = result.canonical_message.unwrap();
        assert_eq!(
            (message.content.as_str(), message.tool_calls.len()),
            ("", 1)
        );
        let call = &message.tool_calls[0];
        let validators = Validators::compile(&contract);
        assert_eq!(validators.validate(&call.name, &call.arguments), Ok(()));
    }
}

/// A model and its threads are what the engine shares; this fails to compile where they cannot be.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<LlamaModel>();
};
