//! Compiled argument schemas. Validates arguments; does not repair them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::compiled_schema::{ArgumentFault, Compiled, CompiledRule};
use super::schema_bounds::SchemaFault;
use super::value_bounds::StepsLeft;
use super::{FINAL_REPORT, FinalReportTerms, Terms, ToolTerms};
use crate::message::{Digest, ObjectText, RoundedValue, rounded_value};

/// The compiled input schemas of the tools a contract exposes, by exposed name.
///
/// Compiling is dear and checking is cheap, so a run compiles once; runs of one contract may share one value.
#[derive(Clone, Default)]
pub struct Validators {
    /// The schemas of the rules of `approval`; `None` of a rule about all arguments, or with a schema that does not compile.
    approval: Vec<Option<Arc<CompiledRule>>>,
    by_tool: BTreeMap<String, Arc<Compiled>>,
    /// Reasons why the other schemas are unusable, with their pins.
    faults: BTreeMap<String, (Digest, SchemaFault)>,
    /// Validator of a final report in JSON, if the contract has a schema that compiles.
    report: Option<Arc<Compiled>>,
}

impl Validators {
    /// Compiles the input schemas of all exposed tools. Where one does not compile, the reason is kept: PRECHECK refuses
    /// such a contract (`tool_faults_with`), and [`Self::validate`] refuses every call of it.
    #[must_use]
    pub fn compile(terms: &Terms) -> Self {
        Self::default().recompile(terms)
    }

    /// As [`Self::compile`]; a tool whose pin is already known here is not compiled again.
    #[must_use]
    pub fn recompile(&self, terms: &Terms) -> Self {
        let known: BTreeMap<Digest, &Arc<Compiled>> = self
            .by_tool
            .values()
            .map(|compiled| (compiled.pin, compiled))
            .collect();
        let rules = terms.approval.iter();
        let rules = rules.map(|rule| CompiledRule::of(rule).map(Arc::new));
        // A contract has one of the two.
        let form = terms.final_report.as_ref();
        let form = form.or(terms.response_format.as_ref());
        let mut found = Self {
            approval: rules.collect(),
            report: form.and_then(compile_report),
            ..Self::default()
        };
        // The arguments of a final report are validated by its content, not as arguments.
        let own = terms.session_tools.iter();
        let own = own.filter(|tool| tool.name != FINAL_REPORT);
        for tool in terms.exposed_tools().chain(own) {
            let compiled = match known.get(&tool.pin) {
                Some(compiled) => Ok(Arc::clone(compiled)),
                None => Compiled::of(&tool.input_schema, tool.pin).map(Arc::new),
            };
            match compiled {
                Ok(compiled) => {
                    found.by_tool.insert(tool.name.clone(), compiled);
                }
                Err(fault) => {
                    let known = (tool.pin, fault);
                    found.faults.insert(tool.name.clone(), known);
                }
            }
        }
        found
    }

    /// Checks the arguments of the only call of a message.
    ///
    /// # Errors
    /// The first rule of the tool's schema that they break; also where no such tool is exposed.
    pub fn validate(&self, tool: &str, arguments: &ObjectText) -> Result<(), ArgumentFault> {
        self.validate_within(tool, arguments, &mut StepsLeft::WHOLE.clone())
    }

    /// Checks the arguments of one call of a message, within the steps that the calls before it have left.
    pub(crate) fn validate_within(
        &self,
        tool: &str,
        arguments: &ObjectText,
        left: &mut StepsLeft,
    ) -> Result<(), ArgumentFault> {
        let whole = |rule: String| ArgumentFault {
            pointer: String::new(),
            rule,
        };
        let compiled = self
            .by_tool
            .get(tool)
            .ok_or_else(|| whole("no usable input schema is known for this tool".to_owned()))?;
        compiled.validate_each(&arguments.rounded(), left)
    }

    /// Checks a final report in JSON against the contract's schema; where there is none, everything fits.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn validate_report(&self, report: &Value) -> Result<(), ArgumentFault> {
        match &self.report {
            None => Ok(()),
            Some(compiled) => compiled.validate(report, &mut StepsLeft::WHOLE.clone()),
        }
    }

    /// True if the arguments fit the schema of the rule of `approval` of that number; `None` if that cannot be judged: within the steps
    /// that are left, or because a number lies between two that memory holds and only one of them fits.
    pub(super) fn rule_takes(
        &self,
        rule: u32,
        arguments: &RoundedValue,
        left: &mut StepsLeft,
    ) -> Option<bool> {
        self.rule(rule)?.takes(arguments, left)
    }

    /// True if a rule that allows takes the arguments: they fit its schema, and hold no value of another type than its keywords are about.
    pub(super) fn rule_allows(
        &self,
        rule: u32,
        arguments: &RoundedValue,
        left: &mut StepsLeft,
    ) -> bool {
        self.rule(rule)
            .is_some_and(|rule| rule.allows(arguments, left))
    }

    fn rule(&self, rule: u32) -> Option<&CompiledRule> {
        self.approval.get(usize::try_from(rule).ok()?)?.as_deref()
    }

    /// Compiles only the final report's schema.
    #[cfg(test)]
    pub(super) fn of_report(terms: &FinalReportTerms) -> Result<Self, SchemaFault> {
        match terms.schema.as_ref().and_then(Self::fault_of) {
            Some(fault) => Err(fault),
            None => Ok(Self {
                report: compile_report(terms),
                ..Self::default()
            }),
        }
    }

    /// Returns why a tool's schema is unusable; `None` if it is usable. Compiles it only if that is not known here.
    pub(super) fn fault(&self, tool: &ToolTerms) -> Option<SchemaFault> {
        let compiled = self.by_tool.get(&tool.name);
        if compiled.is_some_and(|compiled| compiled.pin == tool.pin) {
            return None;
        }
        match self.faults.get(&tool.name) {
            Some((pin, fault)) if *pin == tool.pin => Some(fault.clone()),
            _ => Self::fault_of(&tool.input_schema),
        }
    }

    /// Returns why a schema is unusable, or `None`.
    pub(super) fn fault_of(schema: &Value) -> Option<SchemaFault> {
        Compiled::of(schema, Digest::ZERO).err()
    }
}

/// Checks a task that is to be JSON, against its schema where there is one.
///
/// # Errors
/// The flaw.
pub fn check_input(schema: Option<&Value>, task: &str) -> Result<(), String> {
    let value = rounded_value(task).map_err(|fault| format!("the task is to be JSON: {fault}"))?;
    let Some(schema) = schema else {
        return Ok(());
    };
    let compiled = Compiled::of(schema, Digest::ZERO).map_err(|fault| {
        format!(
            "the input's schema cannot be used: {}: {}",
            fault.pointer, fault.rule
        )
    })?;
    let checked = compiled.validate_each(&value, &mut StepsLeft::WHOLE.clone());
    checked.map_err(|fault| {
        let pointer = if fault.pointer.is_empty() {
            "the task"
        } else {
            &fault.pointer
        };
        format!("{pointer}: {}", fault.rule)
    })
}

/// Checks that a schema of a tool's structured results can be used.
///
/// # Errors
/// The rule that it breaks, after its place.
pub fn check_output_schema(schema: &Value) -> Result<(), String> {
    let compiled = Compiled::of(schema, Digest::ZERO);
    compiled
        .map(drop)
        .map_err(|fault| match fault.pointer.as_str() {
            "" => fault.rule,
            pointer => format!("{pointer}: {}", fault.rule),
        })
}

/// Checks a tool's structured result, a JSON text, against the schema that its server stated. A schema that cannot be used takes
/// every result.
///
/// # Errors
/// The rule that it breaks, after its place.
pub fn check_output(schema: &Value, result: &str) -> Result<(), String> {
    let Ok(compiled) = Compiled::of(schema, Digest::ZERO) else {
        return Ok(());
    };
    let value = rounded_value(result).map_err(|fault| fault.to_string())?;
    let checked = compiled.validate_each(&value, &mut StepsLeft::WHOLE.clone());
    checked.map_err(|fault| match fault.pointer.as_str() {
        "" => fault.rule,
        pointer => format!("{pointer}: {}", fault.rule),
    })
}

impl fmt::Debug for Validators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pins = self
            .by_tool
            .iter()
            .map(|(name, compiled)| (name, compiled.pin));
        f.debug_map().entries(pins).finish()
    }
}

/// Compiles the report's schema; `None` if there is none, or if it does not compile: PRECHECK refuses that.
fn compile_report(terms: &FinalReportTerms) -> Option<Arc<Compiled>> {
    let compiled = Compiled::of(terms.schema.as_ref()?, Digest::ZERO);
    compiled.ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::compiled_schema::MAX_RULE_BYTES;
    use crate::contract::tests::make;

    fn compile(schema: &Value) -> Validators {
        let compiled = Compiled::of(schema, Digest::ZERO);
        let compiled = compiled.unwrap_or_else(|fault| panic!("{fault:?}"));
        Validators {
            by_tool: [("t".to_owned(), Arc::new(compiled))].into(),
            ..Validators::default()
        }
    }

    fn check(schema: &Value, arguments: &str, expect: Result<(), (&str, &str)>) {
        let arguments = ObjectText::parse(arguments).unwrap();
        let found = compile(schema).validate("t", &arguments);
        let found = found
            .as_ref()
            .map_err(|f| (f.pointer.as_str(), f.rule.as_str()));
        assert_eq!(found.copied(), expect, "{schema} {arguments}");
    }

    fn refused(schema: &Value, pointer: &str, rule: &str) {
        let fault = Validators::fault_of(schema).map(|f| (f.pointer, f.rule));
        assert_eq!(
            fault,
            Some((pointer.to_owned(), rule.to_owned())),
            "{schema}"
        );
    }

    #[test]
    fn the_first_broken_rule_is_reported_with_its_pointer_and_without_the_value() {
        let schema = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "a/b~": {"type": "integer"},
                "kind": {"enum": ["x", "y"]},
                "list": {"items": {"type": "string", "maxLength": 3}},
                "path": {"type": "string"},
            },
            "additionalProperties": false,
        });
        check(&schema, r#"{"path": "p"}"#, Ok(()));
        check(
            &schema,
            "{}",
            Err(("", "required: \"path\" is a required property")),
        );
        check(
            &schema,
            r#"{"path": 5}"#,
            Err(("/path", "type: value is not of type \"string\"")),
        );
        check(
            &schema,
            r#"{"path": "", "a/b~": "secret"}"#,
            Err(("/a~1b~0", "type: value is not of type \"integer\"")),
        );
        check(
            &schema,
            r#"{"path": "", "list": ["ok", "secret"]}"#,
            Err(("/list/1", "maxLength: value is longer than 3 characters")),
        );
        check(
            &schema,
            r#"{"path": "", "kind": "z"}"#,
            Err(("/kind", "enum: value is not one of \"x\" or \"y\"")),
        );
        check(
            &schema,
            r#"{"path": "", "list": [1e400]}"#,
            Err(("/list/0", "type: value is not of type \"string\"")),
        );
        // A number that no double holds is judged as the largest that one does.
        let bounded = json!({"properties": {"n": {"maximum": 9}, "m": {"type": "integer"}}});
        check(
            &bounded,
            r#"{"n": -1e400, "m": 1e400, "o": [{"p": 1e999}]}"#,
            Ok(()),
        );
        check(
            &bounded,
            r#"{"n": 1e400}"#,
            Err(("/n", "maximum: value is greater than the maximum of 9")),
        );
        // One between two doubles is both.
        for (arguments, rule) in [
            (
                r#"{"n": 9.00000000000000000001}"#,
                "/n: maximum: value is greater than the maximum of 9",
            ),
            (
                r#"{"m": 1.00000000000000000001}"#,
                "/m: type: value is not of type \"integer\"",
            ),
        ] {
            let (pointer, rule) = rule.split_once(": ").unwrap();
            check(&bounded, arguments, Err((pointer, rule)));
        }
        check(&bounded, r#"{"n": 3.14159265358979323846}"#, Ok(()));
    }

    #[test]
    fn a_rule_is_short_however_long_the_schema_and_the_value_are() {
        let options: Vec<String> = (0..1000).map(|n| format!("option-é-{n}")).collect();
        let schema = json!({"properties": {"a": {"enum": options}}, "additionalProperties": false});
        let long = "x".repeat(10_000);
        for arguments in [
            json!({"a": long}),
            json!({(long.as_str()): 1}),
            json!({"\n\u{1b}[31m": 1}),
        ] {
            let arguments = ObjectText::parse(arguments.to_string()).unwrap();
            let fault = compile(&schema).validate("t", &arguments).unwrap_err();
            assert!(fault.rule.len() <= MAX_RULE_BYTES, "{}", fault.rule);
            assert!(!fault.rule.chars().any(char::is_control), "{}", fault.rule);
        }
    }

    #[test]
    fn a_contract_compiles_its_exposed_tools_and_reuses_what_has_the_same_pin() {
        fn shared<T: Send + Sync>(_: &T) {}
        let contract = make(&["allowed_tools=[read_file]"]);
        let validators = Validators::compile(&contract);
        shared(&validators);
        let pin = contract.tool("read_file").unwrap().pin;
        assert_eq!(
            format!("{validators:?}"),
            format!("{{\"read_file\": {pin:?}}}")
        );
        let arguments = ObjectText::parse(r#"{"path": "a"}"#).unwrap();
        assert_eq!(validators.validate("read_file", &arguments), Ok(()));
        let fault = validators
            .validate("list_directory", &arguments)
            .unwrap_err();
        assert_eq!(fault.rule, "no usable input schema is known for this tool");
        let again = validators.recompile(&make(&[]));
        assert_eq!(again.by_tool.len(), 2);
        assert!(Arc::ptr_eq(
            &again.by_tool["read_file"],
            &validators.by_tool["read_file"]
        ));
    }

    #[test]
    fn local_references_work_and_others_are_refused() {
        let tree = json!({
            "$defs": {"node": {"$anchor": "node", "type": "object", "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "left": {"$ref": "#node"},
            }}},
            "$ref": "#/$defs/node",
        });
        check(
            &tree,
            r#"{"children": [{"children": []}], "left": {}}"#,
            Ok(()),
        );
        check(
            &tree,
            r#"{"children": [{"children": 1}]}"#,
            Err((
                "/children/0/children",
                "type: value is not of type \"array\"",
            )),
        );
        let leaves = "a reference that leaves the schema";
        for target in [
            "https://example.org/s",
            "file:///etc/passwd",
            "other.json#/a",
            "urn:x",
        ] {
            refused(&json!({"$ref": target}), "/$ref", leaves);
            refused(
                &json!({"properties": {"$ref": {"$ref": target}}}),
                "/properties/$ref/$ref",
                leaves,
            );
        }
        // Data that looks like a reference is data.
        check(
            &json!({"default": {"$ref": "https://example.org"}}),
            "{}",
            Ok(()),
        );
        let dynamic = "dynamic references are not supported";
        refused(
            &json!({"items": {"$dynamicRef": "#x"}}),
            "/items/$dynamicRef",
            dynamic,
        );
        refused(
            &json!({"not": {"$id": "x"}}),
            "/not/$id",
            "an identifier inside the schema",
        );
        assert!(Validators::fault_of(&json!({"$ref": "#/nowhere"})).is_some());
        assert!(Validators::fault_of(&json!({"$schema": "https://example.org/mine"})).is_some());
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_its_place() {
        let fault = Validators::fault_of(&json!({"properties": {"a": {"type": "strin"}}})).unwrap();
        assert_eq!(fault.pointer, "/properties/a/type");
        let fault = Validators::fault_of(&json!({"properties": {"a": {"pattern": "("}}})).unwrap();
        assert_eq!(fault.pointer, "/properties/a/pattern");
    }

    #[test]
    fn recursion_that_multiplies_is_bounded_by_the_depth_of_the_arguments() {
        let nested = |depth: usize| {
            let text = format!("{}{{}}{}", "{\"a\":".repeat(depth), "}".repeat(depth));
            ObjectText::parse(text).unwrap()
        };
        let recursive =
            compile(&json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}));
        assert_eq!(recursive.validate("t", &nested(5)), Ok(()));
        let fault = recursive.validate("t", &nested(40)).unwrap_err();
        assert!(
            fault.rule.starts_with("nested deeper than"),
            "{}",
            fault.rule
        );
        // The same depth is no trouble where every member is looked at once.
        let operators = compile(&json!({"anyOf": [
            {"required": ["a"], "properties": {"a": {"$ref": "#"}}},
            {"required": ["b"], "properties": {"b": {"$ref": "#"}}},
            {"maxProperties": 0},
        ]}));
        assert_eq!(operators.validate("t", &nested(40)), Ok(()));
    }
}
