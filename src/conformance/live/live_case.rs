//! The cases that are asked of a real endpoint, as their file has them.

use monolith_core::contract::{ContractSpec, ProviderType};
use monolith_core::kernel::AgentOutcome;
use monolith_core::session::RedactionKey;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::CaseError;

const FILE: &str = "live/cases.yaml";
const TEXT: &str = include_str!("cases.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LiveFile {
    base: Map<String, Value>,
    cases: Vec<LiveCase>,
}

/// One case against a real endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LiveCase {
    /// Its number and name.
    pub(super) case: String,
    /// Its purpose, as a sentence.
    pub(super) name: String,
    contract: Map<String, Value>,
    /// True if a result must have been cut when a call was executed.
    #[serde(default)]
    pub(super) cut: bool,
    /// True if it needs the tool that never answers.
    #[serde(default)]
    slow: bool,
    /// The case that differs only in how responses arrive.
    #[serde(default)]
    pub(super) twin: Option<String>,
    pub(super) reached: Vec<AgentOutcome>,
    pub(super) allowed: Vec<AgentOutcome>,
}

/// The cases and what each contract starts from.
#[derive(Debug)]
pub(super) struct LiveCases {
    base: Value,
    pub(super) cases: Vec<LiveCase>,
}

impl LiveCases {
    /// The cases that this build carries.
    pub(super) fn built_in() -> Result<Self, CaseError> {
        let file: LiveFile = serde_saphyr::from_str(TEXT).map_err(|fault| {
            let line = fault.location().map(|location| location.line());
            CaseError::new(FILE, line, fault.without_snippet().to_string())
        })?;
        Ok(Self {
            base: Value::Object(file.base),
            cases: file.cases,
        })
    }

    /// The contract of a case, with that endpoint as its one target.
    pub(super) fn spec(
        &self,
        case: &LiveCase,
        target: &LiveTarget,
    ) -> Result<ContractSpec, CaseError> {
        let mut keys = self.base.clone();
        lay_over(&mut keys, &Value::Object(case.contract.clone()));
        let mut provider = json!({"type": target.provider.as_str()});
        if let Some(provider) = provider.as_object_mut() {
            if target.provider != ProviderType::Scripted {
                provider.insert("base_url".to_owned(), json!(target.base_url));
            }
            if let Some(variable) = &target.api_key_env {
                provider.insert("api_key_env".to_owned(), json!(variable));
            }
        }
        let window = target.context_window;
        let timeout = target.timeout_ms;
        let endpoint = json!({
            "providers": {"live": provider},
            "targets": [{"provider": "live", "model": target.model, "model_profile_id": "unknown", "context_window": window}],
            "llm_timeout_ms": timeout,
            "step_timeout_ms": timeout.saturating_mul(2),
            "total_timeout_ms": timeout.saturating_mul(6),
            "tools": {"workspace": "."},
        });
        lay_over(&mut keys, &endpoint);
        if case.slow
            && let Some((command, args)) = target.slow_tool.split_first()
        {
            let server = json!({"tools": {"mcp": {"slow": {"command": command, "args": args}}}});
            lay_over(&mut keys, &server);
        }
        ContractSpec::parse(FILE, &keys.to_string(), &[]).map_err(|errors| {
            let faults = errors
                .errors
                .iter()
                .map(|fault| format!("{}: {}", fault.path, fault.rule));
            let rule = format!("{}: {}", case.case, faults.collect::<Vec<_>>().join("; "));
            CaseError::new(FILE, None, rule)
        })
    }
}

/// Lays `over` onto `under`: mappings key by key, anything else as a whole.
fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// The endpoint that is asked, and how long.
#[derive(Clone, Debug)]
pub struct LiveTarget {
    /// The variable that holds the key, where one is needed.
    pub api_key_env: Option<String>,
    /// The address below which the protocol's paths lie.
    pub base_url: String,
    /// The window to be assumed, in tokens.
    pub context_window: u64,
    /// The model's name at the server.
    pub model: String,
    /// The wire protocol.
    pub provider: ProviderType,
    /// The key for the runs' salts.
    pub redaction_key: RedactionKey,
    /// The command, with its arguments, of a tool server on its standard streams that offers `wait` and never answers a call.
    pub slow_tool: Vec<String>,
    /// Maximum time without data, in milliseconds.
    pub timeout_ms: u64,
}

#[cfg(test)]
mod tests {
    use monolith_core::session::RedactionKey;

    use super::*;

    #[test]
    fn every_case_gives_a_contract_file_without_fault() {
        let target = LiveTarget {
            api_key_env: None,
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            context_window: 4096,
            model: "m".to_owned(),
            provider: ProviderType::Openai,
            redaction_key: RedactionKey::new([7; 32]),
            slow_tool: vec!["monolith".to_owned(), "__slow-tool".to_owned()],
            timeout_ms: 1000,
        };
        let cases = LiveCases::built_in().unwrap();
        assert_eq!(cases.cases.len(), 7);
        for case in &cases.cases {
            let spec = cases.spec(case, &target).unwrap();
            assert_eq!(spec.tools.servers.len(), usize::from(case.slow));
            assert!(!case.reached.is_empty());
            assert!(
                !case
                    .reached
                    .iter()
                    .any(|class| case.allowed.contains(class))
            );
            if let Some(twin) = &case.twin {
                assert!(cases.cases.iter().any(|other| other.case == *twin));
            }
        }
    }
}
