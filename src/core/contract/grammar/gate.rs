//! The grammar of the token gate: calls only. Does not know engines.

use std::fmt;

use serde_json::Value;

use super::compiler::{Compiler, Limits};
use super::expr::{ClosingCost, Expr};
use super::print::GrammarLanguage;
use super::print::{self, prose};
use crate::contract::schema_bounds::SchemaFault;
use crate::contract::{FINAL_REPORT, TermFault, Terms, WireNames};

/// The start of a call in the model's text.
pub const CALL_OPEN: &str = "<tool_call>";
/// The end of a call in the model's text.
pub const CALL_CLOSE: &str = "</tool_call>";

/// The longest grammar in bytes.
const MAX_TEXT_BYTES: usize = 512 * 1024;
/// The optional report members that a closing turn omits: a model that has to end should report what it found.
const OPTIONAL_OF_REPORT: [&str; 2] = ["encoding", "metadata"];
/// The most calls of one message behind a closed gate.
const MAX_CALLS: u64 = 8;

/// A grammar of one phase of the token gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateGrammar {
    /// The most bytes, and so tokens, that ending the message may still take at any point of it, where every choice that
    /// can end something does.
    pub closing_bytes: u64,
    /// The grammar.
    pub text: String,
}

/// The reason that no grammar can be made of a tool's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarFault {
    /// RFC 6901, into the tool's input schema.
    pub pointer: String,
    /// The unsupported rule.
    pub rule: String,
    /// The exposed name.
    pub tool: String,
}

impl fmt::Display for GrammarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer,
            rule,
            tool,
        } = self;
        write!(
            f,
            "the token gate: the input schema of `{tool}` at {pointer:?}: {rule}"
        )
    }
}

/// A server unfolds every repetition into rules, and asks the whole vocabulary of each: there bounds are dear.
const fn limits_of(language: GrammarLanguage) -> Limits {
    match language {
        GrammarLanguage::Lark => Limits {
            array_items: 64,
            string_characters: 2048,
        },
        GrammarLanguage::Gbnf => Limits {
            array_items: 16,
            string_characters: 256,
        },
    }
}

impl GateGrammar {
    /// The grammar of the closed phase: calls of exposed tools and nothing else. The session's own tools prove nothing, so none
    /// of them opens the gate.
    ///
    /// # Errors
    /// Every tool whose schema cannot be compiled; also where no tool is exposed, for no call can then be made.
    pub fn closed(terms: &Terms, language: GrammarLanguage) -> Result<Self, Vec<GrammarFault>> {
        let names = WireNames::of(terms);
        let tools: Vec<(String, &Value)> = terms
            .exposed_tools()
            .filter(|tool| !tool.is_of_session())
            .map(|tool| (names.wire(&tool.name), &tool.input_schema))
            .collect();
        Self::of_calls(&tools, calls_at_once(terms), language)
    }

    /// The grammar of a closing turn that offers the final report and nothing else: that report, in its format, with neither
    /// metadata nor an encoding. None if these terms offer something else.
    ///
    /// # Errors
    /// The report's schema cannot be compiled.
    pub(crate) fn report(
        terms: &Terms,
        language: GrammarLanguage,
    ) -> Option<Result<Self, Vec<GrammarFault>>> {
        let mut offered = terms.exposed_tools();
        let report = offered
            .next()
            .filter(|tool| tool.is_of_session() && tool.name == FINAL_REPORT)?;
        if offered.next().is_some() {
            return None;
        }
        let mut schema = report.input_schema.clone();
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            properties.retain(|name, _| !OPTIONAL_OF_REPORT.contains(&name.as_str()));
        }
        Some(Self::of_calls(
            &[(FINAL_REPORT.to_owned(), &schema)],
            1,
            language,
        ))
    }

    /// The grammar of 1 to `most` calls of tools by their names and schemas.
    fn of_calls(
        tools: &[(String, &Value)],
        most: u32,
        language: GrammarLanguage,
    ) -> Result<Self, Vec<GrammarFault>> {
        let mut rules = Vec::new();
        let mut closings: Vec<ClosingCost> = Vec::new();
        let mut calls = Vec::new();
        let mut faults = Vec::new();
        for (name, schema) in tools {
            let (kept_rules, kept_closings) = (rules.clone(), closings.clone());
            let mut compiler = Compiler::new(schema, limits_of(language), rules, closings);
            match compiler.arguments() {
                Ok(arguments) => {
                    let head = Expr::literal(format!("{name}\",\"arguments\":"));
                    calls.push(Expr::seq(vec![head, arguments]));
                    (rules, closings) = (compiler.rules, compiler.closings);
                }
                Err(SchemaFault { pointer, rule }) => {
                    let tool = name.clone();
                    faults.push(GrammarFault {
                        pointer,
                        rule,
                        tool,
                    });
                    (rules, closings) = (kept_rules, kept_closings);
                }
            }
        }
        if faults.is_empty() && calls.is_empty() {
            faults.push(no_tool());
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let call = Expr::seq(vec![
            Expr::literal(format!("{CALL_OPEN}\n{{\"name\":\"")),
            Expr::alt(calls),
            Expr::literal(format!("}}\n{CALL_CLOSE}")),
        ]);
        closings.push(call.closing(&closings));
        rules.push(call);
        let call = Expr::Rule(rules.len() - 1);
        let start = match most {
            1 => call,
            most => {
                let next = Expr::seq(vec![Expr::literal("\n"), call.clone()]);
                Expr::seq(vec![call, next.repeat(0, most - 1)])
            }
        };
        let closing_bytes = start.closing(&closings).rest;
        let text = print::grammar(language, &rules, &start);
        if text.len() > MAX_TEXT_BYTES {
            let rule = format!("the grammar of all tools is longer than {MAX_TEXT_BYTES} bytes");
            return Err(vec![whole(&rule)]);
        }
        Ok(Self {
            closing_bytes,
            text,
        })
    }

    /// The grammar of a message without calls: any text in which no call begins.
    #[must_use]
    pub fn prose(language: GrammarLanguage) -> Self {
        Self {
            closing_bytes: 0,
            text: prose(language, CALL_OPEN),
        }
    }
}

/// Returns the error of a grammar without any exposed tool.
fn no_tool() -> GrammarFault {
    whole("no tool is exposed")
}

/// True if the profile check of these terms must wait for missing tools that a server may offer: the gate's grammar is made of
/// them, and only their absence speaks against it. `fault` is the check's finding, if any.
pub fn gate_awaits_tools(terms: &Terms, fault: Option<&str>) -> bool {
    let language = terms.grammar_profile.as_deref();
    let is_made = language.and_then(GrammarLanguage::by_profile).is_some();
    let only_missing = fault.is_none_or(|fault| fault == no_tool().to_string());
    terms.needs_grammar() && is_made && only_missing
}

fn whole(rule: &str) -> GrammarFault {
    GrammarFault {
        pointer: String::new(),
        rule: rule.to_owned(),
        tool: "*".to_owned(),
    }
}

fn calls_at_once(terms: &Terms) -> u32 {
    if terms.parallel_tool_calls {
        let most = terms.max_tool_calls_per_turn.clamp(1, MAX_CALLS);
        u32::try_from(most).unwrap_or(1)
    } else {
        1
    }
}

/// Returns the errors that keep the grammar of a contract's closed gate from being made or from ending in time; empty is good.
pub(in crate::contract) fn grammar_faults(terms: &Terms) -> Vec<TermFault> {
    let Some(language) = terms
        .grammar_profile
        .as_deref()
        .and_then(GrammarLanguage::by_profile)
    else {
        return Vec::new();
    };
    if !terms.needs_grammar() {
        return Vec::new();
    }
    let grammar = match GateGrammar::closed(terms, language) {
        Ok(grammar) => grammar,
        Err(faults) => {
            let faults = faults.iter().map(ToString::to_string);
            return faults.map(TermFault::elsewhere).collect();
        }
    };
    let too_short = |(n, target): (usize, &crate::contract::TargetTerms)| {
        let most = target.sampling.max_output_tokens;
        let needed = grammar.closing_bytes.saturating_add(1);
        (needed > most).then(|| {
            let path = format!("targets.{n}.sampling.max_output_tokens");
            let text = format!(
                "the token gate: ending a call may take {needed} tokens, but {path} is {most}"
            );
            TermFault::at(path, text)
        })
    };
    terms
        .targets
        .iter()
        .enumerate()
        .filter_map(too_short)
        .collect()
}
