//! A contract's rules that allow calls, deny them or ask a person. Plain data; which rule a call falls under is judged by
//! `ruling`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The action of a rule on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAction {
    /// It may start.
    Allow,
    /// A person is asked first.
    Ask,
    /// It is not made, and the model learns of that.
    Deny,
}

/// One rule about calls: which, and what is done with them. The first rule that a call falls under decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// The action for such a call.
    pub action: ApprovalAction,
    /// JSON Schema of the arguments that the rule is about; left out where it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Exposed name of a tool; `*` stands for any characters.
    pub tool: String,
}

/// The place in a contract that says that a person is asked about a call, or that it is denied.
///
/// ```
/// use monolith_core::contract::RulePlace;
///
/// let place: RulePlace = serde_json::from_str(r#"{"approval":2}"#)?;
/// assert_eq!(place.to_string(), "approval.2");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RulePlace {
    /// A rule of `approval`, by its number from 0.
    Approval(u32),
    /// A rule of `flow`, by its number from 0.
    Flow(u32),
    /// The list `require_approval`.
    RequireApproval,
}

impl ApprovalAction {
    /// As a contract writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for RulePlace {
    /// The place as messages about contracts write places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approval(n) => write!(f, "approval.{n}"),
            Self::Flow(n) => write!(f, "flow.{n}"),
            Self::RequireApproval => f.write_str("require_approval"),
        }
    }
}
