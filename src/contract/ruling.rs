//! What a contract says of one call before it may start: it may, a person is asked, or it is denied. Asks no person.

use super::approval_rule::{ApprovalAction, RulePlace};
use super::tool_pattern::pattern_takes;
use super::{StepsLeft, Terms, Validators};
use crate::message::ObjectText;

/// What a contract says of one call.
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
    /// What is done with a call (semantics §6): the first rule of `approval` that it falls under decides, then `require_approval`;
    /// a call under neither may start.
    ///
    /// Arguments that no rule can judge within the steps that are left fall under a rule that asks or denies, and under none that
    /// allows: what is too large to be looked at is not let through for it.
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
            let takes = match &rule.arguments {
                None => Some(true),
                Some(_) => validators.rule_takes(n, arguments, left),
            };
            let place = RulePlace::Approval(n);
            match rule.action {
                ApprovalAction::Allow if takes == Some(true) => return Ruling::Allow,
                ApprovalAction::Ask if takes != Some(false) => return Ruling::Ask(place),
                ApprovalAction::Deny if takes != Some(false) => return Ruling::Deny(place),
                ApprovalAction::Allow | ApprovalAction::Ask | ApprovalAction::Deny => {}
            }
        }
        if self.require_approval.iter().any(|listed| listed == tool) {
            return Ruling::Ask(RulePlace::RequireApproval);
        }
        Ruling::Allow
    }

    /// What may be done with the calls of a tool, whatever their arguments: the rules that it falls under, up to the first that is
    /// about all arguments.
    #[must_use]
    pub(crate) fn rules_of(&self, tool: &str) -> Vec<(RulePlace, ApprovalAction, bool)> {
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
