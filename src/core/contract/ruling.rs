//! The decision of a contract about one call before it starts: allow, ask or deny. It asks no person.

use super::approval_rule::{ApprovalAction, RulePlace};
use super::server_terms::BUILTIN;
use super::simple_command::simple_command;
use super::tool_pattern::pattern_takes;
use super::{StepsLeft, Terms, ToolTerms, Validators};
use crate::message::{ObjectText, RoundedValue};

/// The built-in shell, and the member of its arguments that holds the command.
const SHELL: &str = "shell";
const COMMAND: &str = "command";

/// The decision of a contract about one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It may start.
    Allow,
    /// A person is asked first.
    Ask(RulePlace),
    /// It is not made.
    Deny(RulePlace),
}

impl Terms {
    /// Decides about a call (semantics §6): the first matching rule of `approval` decides, then `require_approval`. A call that
    /// matches neither may start.
    ///
    /// A rule that asks or denies matches a call that it cannot judge; a rule that allows does not. A rule that allows some calls of
    /// the built-in shell takes only commands that start one program and nothing else, and judges the words of that program.
    #[must_use]
    pub(crate) fn ruling_of(
        &self,
        validators: &Validators,
        tool: &str,
        arguments: &ObjectText,
        left: &mut StepsLeft,
    ) -> Ruling {
        let rules = (0_u32..).zip(&self.approval);
        for (n, rule) in rules.filter(|(_, rule)| pattern_takes(&rule.tool, tool)) {
            let is_allowed = rule.action == ApprovalAction::Allow;
            let takes = match &rule.arguments {
                None => true,
                Some(_) if is_allowed => {
                    let judged = self.allowable(tool, arguments);
                    judged.is_some_and(|judged| validators.rule_allows(n, &judged, left))
                }
                Some(_) => validators.rule_takes(n, &arguments.rounded(), left) != Some(false),
            };
            if takes {
                let place = RulePlace::Approval(n);
                return match rule.action {
                    ApprovalAction::Allow => Ruling::Allow,
                    ApprovalAction::Ask => Ruling::Ask(place),
                    ApprovalAction::Deny => Ruling::Deny(place),
                };
            }
        }
        if self.require_approval.iter().any(|listed| listed == tool) {
            return Ruling::Ask(RulePlace::RequireApproval);
        }
        Ruling::Allow
    }

    /// The arguments that a rule may allow, as it judges them; `None` of a command of the built-in shell that is more than one program.
    fn allowable(&self, tool: &str, arguments: &ObjectText) -> Option<RoundedValue> {
        let mut judged = arguments.rounded();
        let is_shell = |pinned: &ToolTerms| pinned.origin == BUILTIN && pinned.name == SHELL;
        if !self.tool(tool).is_some_and(is_shell) {
            return Some(judged);
        }
        for value in judged.each_mut() {
            let command = value.get_mut(COMMAND)?;
            *command = simple_command(command.as_str()?)?.into();
        }
        Some(judged)
    }

    /// Returns the rules that can match a call of a tool, up to the first that matches all arguments.
    #[must_use]
    pub fn rules_of(&self, tool: &str) -> Vec<(RulePlace, ApprovalAction, bool)> {
        let mut found = Vec::new();
        for (n, rule) in (0_u32..).zip(&self.approval) {
            if !pattern_takes(&rule.tool, tool) {
                continue;
            }
            let some = rule.arguments.is_some();
            found.push((RulePlace::Approval(n), rule.action, some));
            if !some {
                return found;
            }
        }
        if self.require_approval.iter().any(|listed| listed == tool) {
            found.push((RulePlace::RequireApproval, ApprovalAction::Ask, false));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::make;

    fn ruling(rules: &str, listed: &str, tool: &str, arguments: &str) -> Ruling {
        let contract = make(&[
            &format!("approval={rules}"),
            &format!("require_approval={listed}"),
        ]);
        let validators = Validators::compile(&contract);
        let arguments = ObjectText::parse(arguments).unwrap();
        contract.ruling_of(&validators, tool, &arguments, &mut StepsLeft::WHOLE.clone())
    }

    #[test]
    fn the_first_rule_that_a_call_falls_under_decides() {
        let rules = "[{tool: read_file, arguments: {properties: {path: {const: secret}}}, action: deny}, \
             {tool: 'read*', action: allow}, {tool: '*', action: ask}]";
        let check = |tool: &str, arguments: &str, expect: Ruling| {
            assert_eq!(
                ruling(rules, "[]", tool, arguments),
                expect,
                "{tool} {arguments}"
            );
        };
        let place = RulePlace::Approval;
        check("read_file", r#"{"path":"secret"}"#, Ruling::Deny(place(0)));
        check("read_file", r#"{"path":"a"}"#, Ruling::Allow);
        check("list_directory", "{}", Ruling::Ask(place(2)));
    }

    #[test]
    fn the_list_of_names_asks_where_no_rule_decides() {
        let rules = "[{tool: read_file, arguments: {properties: {path: {const: a}}, required: [path]}, action: allow}]";
        let check = |arguments: &str, expect: Ruling| {
            let found = ruling(rules, "[read_file]", "read_file", arguments);
            assert_eq!(found, expect, "{arguments}");
        };
        check(r#"{"path":"a"}"#, Ruling::Allow);
        check(r#"{"path":"b"}"#, Ruling::Ask(RulePlace::RequireApproval));
        let other = ruling(rules, "[read_file]", "list_directory", "{}");
        assert_eq!(other, Ruling::Allow);
    }

    #[test]
    fn what_is_too_large_to_be_judged_is_asked_about_or_denied_and_never_allowed_by_a_rule() {
        // Nested deeper than this schema may be applied.
        let schema = "{properties: {a: {anyOf: [{$ref: '#'}, {$ref: '#'}]}}}";
        let deep = format!("{}{{}}{}", "{\"a\":".repeat(40), "}".repeat(40));
        let check = |action: &str, expect: Ruling| {
            let rules = format!(
                "[{{tool: read_file, arguments: {schema}, action: {action}}}, {{tool: '*', action: ask}}]"
            );
            assert_eq!(ruling(&rules, "[]", "read_file", &deep), expect, "{action}");
        };
        check("deny", Ruling::Deny(RulePlace::Approval(0)));
        check("ask", Ruling::Ask(RulePlace::Approval(0)));
        check("allow", Ruling::Ask(RulePlace::Approval(1)));
    }

    /// The ruling about a call of the built-in shell, or of a server's tool of that name.
    fn of_shell(origin: &str, rules: &str, arguments: &str) -> Ruling {
        let contract = make(&[&format!("approval={rules}"), "require_approval=[]"]);
        let mut terms = Terms::clone(&contract);
        for tool in terms
            .tools
            .iter_mut()
            .filter(|tool| tool.name == "read_file")
        {
            "shell".clone_into(&mut tool.name);
            origin.clone_into(&mut tool.origin);
        }
        let validators = Validators::compile(&terms);
        let arguments = ObjectText::parse(arguments).unwrap();
        terms.ruling_of(
            &validators,
            "shell",
            &arguments,
            &mut StepsLeft::WHOLE.clone(),
        )
    }

    #[test]
    fn a_rule_allows_the_shell_one_program_and_nothing_else() {
        let command = |text: &str| serde_json::json!({ "command": text }).to_string();
        let rules = |tool: &str, action: &str| {
            format!(
                "[{{tool: '{tool}', arguments: {{properties: {{command: {{pattern: '^cargo (check|test)( |$)'}}}}}}, action: {action}}}, \
                 {{tool: '*', action: ask}}]"
            )
        };
        let asked = Ruling::Ask(RulePlace::Approval(1));
        for tool in ["read_file", "*"] {
            let rules = rules(tool, "allow");
            let rules = rules.replace("read_file", "shell");
            for text in ["cargo test", "cargo  check --all", "'cargo' test \"a;b\""] {
                assert_eq!(
                    of_shell("builtin", &rules, &command(text)),
                    Ruling::Allow,
                    "{text}"
                );
            }
            for text in [
                "cargo test ; id",
                "cargo test;id",
                "cargo test && id",
                "cargo test | sh",
                "cargo test > x",
                "cargo test\nid",
                "cargo test $(id)",
                "cargo test `id`",
                "cargo test &",
                "cargo test *",
                "'cargo test' x",
                "cargo testx",
                "X=1 cargo test",
            ] {
                assert_eq!(of_shell("builtin", &rules, &command(text)), asked, "{text}");
            }
            for arguments in [
                "{}",
                r#"{"command":5}"#,
                r#"{"command":["cargo test"]}"#,
                r#"{"command":null}"#,
            ] {
                assert_eq!(of_shell("builtin", &rules, arguments), asked, "{arguments}");
            }
            // The tool of a server has its own words.
            let other = of_shell("mcp:s", &rules, &command("cargo test ; id"));
            assert_eq!(other, Ruling::Allow);
        }
        // What is denied or asked about is the text as it is.
        for (action, expect) in [
            ("deny", Ruling::Deny(RulePlace::Approval(0))),
            ("ask", Ruling::Ask(RulePlace::Approval(0))),
        ] {
            let rules = rules("shell", action);
            assert_eq!(
                of_shell("builtin", &rules, &command("cargo test ; id")),
                expect
            );
        }
        // A rule about all calls allows them all.
        let all = "[{tool: shell, action: allow}]";
        assert_eq!(of_shell("builtin", all, &command("a; b")), Ruling::Allow);
    }

    #[test]
    fn a_rule_allows_no_value_that_its_schema_cannot_look_at() {
        let rules = |schema: &str, action: &str| {
            format!(
                "[{{tool: read_file, arguments: {{properties: {{a: {schema}}}}}, action: {action}}}, {{tool: '*', action: ask}}]"
            )
        };
        let check = |schema: &str, value: &str, expect: bool| {
            let arguments = format!("{{\"a\":{value}}}");
            let found = ruling(&rules(schema, "allow"), "[]", "read_file", &arguments);
            assert_eq!(
                found == Ruling::Allow,
                expect,
                "{schema} {value}: {found:?}"
            );
        };
        check("{pattern: '^x'}", "\"xy\"", true);
        for other in ["1", "[\"xy\"]", "{}", "null", "true"] {
            check("{pattern: '^x'}", other, false);
            check("{maxLength: 5}", other, false);
            check("{not: {not: {pattern: '^x'}}}", other, false);
        }
        check("{maximum: 10}", "10", true);
        check("{maximum: 10}", "10.0", true);
        for other in ["11", "\"11\"", "[11]", "10.00000000000000000001"] {
            check("{maximum: 10}", other, false);
        }
        check("{exclusiveMaximum: 10}", "9.9", true);
        check("{minimum: 10}", "9.99999999999999999999", false);
        check("{exclusiveMinimum: 10}", "10.00000000000000000001", false);
        check("{const: 10}", "10.00000000000000000001", false);
        check("{enum: [0.1]}", "0.10000000000000000001", false);
        check("{enum: [0.1]}", "1e-1", true);
        check("{multipleOf: 0.5}", "1.50000000000000000001", false);
        check("{type: integer}", "1.00000000000000000001", false);
        check("{type: integer}", "9007199254740993.5", false);
        check(
            "{type: integer, format: int64}",
            "1234567890123456789",
            true,
        );
        check("{type: integer}", "18446744073709551616", false);
        check("{multipleOf: 2}", "4", true);
        check("{multipleOf: 2}", "18446744073709551617", false);
        check("{multipleOf: 1.5}", "9007199254740995", false);
        check("{multipleOf: 2}", "1e300", false);
        check("{maximum: 1.7976931348623157e308}", "1e400", false);
        check("{const: 1.7976931348623157e308}", "1e400", false);
        for other in ["5", "null", "[\"a\"]", "{}", "true"] {
            check("{format: email}", other, false);
            check("{contentEncoding: base64}", other, false);
            check("{contentMediaType: text/plain}", other, false);
        }
        // A rule that denies takes what one of both neighbours fits.
        let denied = |schema: &str, value: &str| {
            let arguments = format!("{{\"a\":{value}}}");
            ruling(&rules(schema, "deny"), "[]", "read_file", &arguments)
        };
        let deny = Ruling::Deny(RulePlace::Approval(0));
        assert_eq!(denied("{maximum: 10}", "10.00000000000000000001"), deny);
        assert_eq!(denied("{pattern: '^x'}", "1"), deny);
        let asked = Ruling::Ask(RulePlace::Approval(1));
        assert_eq!(denied("{minimum: 11}", "10.00000000000000000001"), asked);
        // Neighbours do not tell if a number is a multiple or a whole one.
        assert_eq!(denied("{multipleOf: 3}", "18446744073709551618"), deny);
        assert_eq!(denied("{multipleOf: 1.5}", "9007199254740993"), deny);
        assert_eq!(denied("{not: {type: integer}}", "9007199254740993.5"), deny);
        assert_eq!(
            denied("{type: integer, const: 5}", "1234567890123456789"),
            asked
        );
    }

    #[test]
    fn the_rules_of_a_tool_end_with_the_first_that_is_about_all_arguments() {
        let contract = make(&[
            "approval=[{tool: 'read*', arguments: {required: [path]}, action: allow}, {tool: '*', action: deny}]",
            "require_approval=[]",
        ]);
        let place = RulePlace::Approval;
        assert_eq!(
            contract.rules_of("read_file"),
            [
                (place(0), ApprovalAction::Allow, true),
                (place(1), ApprovalAction::Deny, false)
            ]
        );
        assert_eq!(
            contract.rules_of("list_directory"),
            [(place(1), ApprovalAction::Deny, false)]
        );
    }
}
