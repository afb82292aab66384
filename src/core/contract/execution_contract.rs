//! The immutable contract, its id and hash. Does not know how it is performed.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::{Terms, ToolTerms, Validators};
use crate::message::{Digest, JsonSize};

/// The immutable contract of a run (002 §4.1). Made only by the factory, or read back from its own canonical text.
///
/// ```
/// use monolith_core::contract::ExecutionContract;
/// # use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
///
/// # let spec = ContractSpec::parse("c.yaml", "
/// # task: How late is it?
/// # tool_policy: forbidden
/// # targets: [{provider: demo, model: canned, context_window: 8192}]
/// # providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
/// # ", &[])?;
/// # let targets = vec![TargetCapability::default()];
/// # let manifest = CapabilityManifest { targets, ..CapabilityManifest::default() };
/// # let contract = ContractFactory.make(&spec, &manifest, None)?;
/// let stored = contract.canonical_text();
/// let read = ExecutionContract::decode(&stored)?;
/// assert_eq!(read, contract);
/// assert!(read.contract_id().starts_with("c-"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionContract {
    contract_hash: Digest,
    contract_id: String,
    terms: Terms,
    validators: CompiledOnce,
}

/// The compiled argument schemas of the terms, compiled when they are first needed: runs of one contract share them. No part of what the contract
/// says.
#[derive(Clone, Default)]
struct CompiledOnce(OnceLock<Arc<Validators>>);

impl PartialEq for CompiledOnce {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CompiledOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompiledOnce")
    }
}

/// Reasons that a text is not a stored contract.
#[derive(Debug, thiserror::Error)]
pub enum ContractDecodeError {
    /// It is not JSON, or not of the contract's shape: an unknown or a missing field.
    #[error("the contract does not decode: {0}")]
    Shape(#[from] serde_json::Error),
    /// It is larger than any contract.
    #[error("the contract {0}")]
    TooLarge(String),
    /// It has no `contract_id` or `contract_hash` of the right form.
    #[error("the contract has no valid {field}")]
    Provenance {
        /// The field that is missing or malformed.
        field: &'static str,
    },
}

impl ExecutionContract {
    /// Seals terms: derives the id and the hash. Only the factory calls this.
    pub(in crate::contract) fn seal(terms: Terms) -> Self {
        let contract_id = derive_id(&terms);
        let contract_hash = derive_hash(&terms, &contract_id);
        Self {
            contract_hash,
            contract_id,
            terms,
            validators: CompiledOnce::default(),
        }
    }

    /// The same with the schemas that were compiled of these terms.
    pub(in crate::contract) fn seal_with(terms: Terms, validators: Validators) -> Self {
        Self {
            validators: CompiledOnce(OnceLock::from(Arc::new(validators))),
            ..Self::seal(terms)
        }
    }

    /// The same contract, with what a recorded one says of the tokens of definitions that are in both, where both are counted alike:
    /// a build without the tokenizer has only that.
    #[must_use]
    pub fn counted_as(self, recorded: &Self) -> Self {
        if self.tokenizer.is_none() || !self.counting().is_like(&recorded.counting()) {
            return self;
        }
        let mut terms = self.terms;
        for tool in terms.tools.iter_mut().chain(&mut terms.session_tools) {
            if let Some(was) = recorded.defined_as(tool) {
                tool.schema_tokens = was.schema_tokens;
            }
        }
        Self::seal(terms)
    }

    /// The tool of this contract that has the same definition.
    pub(crate) fn defined_as(&self, tool: &ToolTerms) -> Option<&ToolTerms> {
        let mut tools = self.tools.iter().chain(&self.session_tools);
        tools.find(|known| known.name == tool.name && known.pin == tool.pin)
    }

    /// Seals terms as they are, for tests of other modules.
    #[cfg(test)]
    pub(crate) fn of_terms(terms: Terms) -> Self {
        Self::seal(terms)
    }

    /// Reads a contract back from its stored form. The hash in it is not checked here: PRECHECK does that.
    ///
    /// # Errors
    /// [`ContractDecodeError`] where the text is not of the contract's shape.
    pub fn decode(text: &str) -> Result<Self, ContractDecodeError> {
        check_document_size(text).map_err(ContractDecodeError::TooLarge)?;
        let mut value: Value = serde_json::from_str(text)?;
        let mut take = |field: &'static str| {
            value
                .as_object_mut()
                .and_then(|map| map.remove(field))
                .and_then(|v| v.as_str().map(str::to_owned))
                .ok_or(ContractDecodeError::Provenance { field })
        };
        let contract_id = take("contract_id")?;
        let contract_hash =
            take("contract_hash")?
                .parse()
                .map_err(|_| ContractDecodeError::Provenance {
                    field: "contract_hash",
                })?;
        Ok(Self {
            contract_hash,
            contract_id,
            terms: serde_json::from_value(value)?,
            validators: CompiledOnce::default(),
        })
    }

    /// `c-` and the first 16 hex digits of BLAKE3 over the RFC 8785 form without id and hash.
    #[must_use]
    pub fn contract_id(&self) -> &str {
        &self.contract_id
    }

    /// BLAKE3 over the RFC 8785 form of everything but the hash itself, as stated in the document.
    #[must_use]
    pub const fn contract_hash(&self) -> Digest {
        self.contract_hash
    }

    /// The compiled schemas of its tools and of its report.
    pub fn validators(&self) -> &Arc<Validators> {
        let compile = || Arc::new(Validators::compile(&self.terms));
        self.validators.0.get_or_init(compile)
    }

    /// Computes the hash again; it differs from [`Self::contract_hash`] exactly if the document was changed.
    #[must_use]
    pub fn rehash(&self) -> Digest {
        derive_hash(&self.terms, &self.contract_id)
    }

    /// The document in RFC 8785 form, id and hash included.
    #[must_use]
    pub fn canonical_text(&self) -> String {
        let mut value = value_of(&self.terms);
        insert(&mut value, "contract_id", &self.contract_id);
        insert(&mut value, "contract_hash", &self.contract_hash.to_string());
        canonical(&value)
    }
}

impl Deref for ExecutionContract {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// RFC 8785 text of a JSON value.
#[must_use]
pub(crate) fn canonical(value: &Value) -> String {
    // A Value holds only string keys and finite numbers, the two things this can fail on.
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}

fn value_of(terms: &Terms) -> Value {
    // Terms hold string keys and no map with other keys: serialising them into a Value cannot fail.
    serde_json::to_value(terms).unwrap_or(Value::Null)
}

fn insert(value: &mut Value, key: &str, text: &str) {
    if let Some(map) = value.as_object_mut() {
        map.insert(key.to_owned(), Value::String(text.to_owned()));
    }
}

fn derive_id(terms: &Terms) -> String {
    let digest = Digest::of(canonical(&value_of(terms)).as_bytes());
    format!("c-{}", digest.short(16))
}

fn derive_hash(terms: &Terms, contract_id: &str) -> Digest {
    let mut value = value_of(terms);
    insert(&mut value, "contract_id", contract_id);
    Digest::of(canonical(&value).as_bytes())
}

/// The longest document of a contract in bytes. A line that holds one has a little more.
const MAX_BYTES: usize = (32 << 20) - 1024;
/// The most members of objects and items of lists in it: each takes far more memory than its text.
const MAX_VALUES: u64 = (1 << 18) - 16;
/// Their maximum nesting depth.
const MAX_DEPTH: u64 = 127;

/// Checks the document of a contract against its limits, before anything is built from it; the error names the exceeded one.
pub(crate) fn check_document_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err(format!(
            "has {} bytes, at most {MAX_BYTES} are allowed",
            text.len()
        ));
    }
    let JsonSize { depth, values } = JsonSize::of(text);
    if values > MAX_VALUES {
        return Err(format!(
            "has {values} members and items, at most {MAX_VALUES} are allowed"
        ));
    }
    if depth > MAX_DEPTH {
        return Err(format!(
            "is {depth} levels deep, at most {MAX_DEPTH} are allowed"
        ));
    }
    Ok(())
}

/// A value as its RFC 8785 text would be read back: the same whether it comes from a server, from the author or from a stored
/// contract, down to the order of keys and the type of numbers.
pub(super) fn settled(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(settled).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // RFC 8785 §3.2.3: by UTF-16 code units.
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name.clone(), settled(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        // The type of a number is that of its text: 1.0 is 1.
        Value::Number(_) => serde_json::from_str(&canonical(value)).unwrap_or(Value::Null),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_back(value: &Value) -> Value {
        serde_json::from_str(&canonical(value)).unwrap()
    }

    fn check(value: &Value) {
        let settled = settled(value);
        assert_eq!(settled, read_back(value));
        // Equality of mappings does not see their order.
        assert_eq!(settled.to_string(), read_back(value).to_string());
    }

    #[test]
    fn numbers_get_the_type_of_their_text_and_keys_their_order() {
        check(&json!({"b": 1.0, "a": [1e21, 1e300, -0.0, 0.1], "A": {"é": 1, "z": 2}}));
        check(&json!({"\u{10000}": 1, "\u{ffff}": 2, "": 3}));
        check(&json!([
            u64::MAX,
            i64::MIN,
            9_007_199_254_740_993_u64,
            123_456_789.0
        ]));
        assert_eq!(
            settled(&json!({"b": 1.0, "a": 2})).to_string(),
            r#"{"a":2,"b":1}"#
        );
    }

    proptest! {
        #[test]
        fn any_value_is_settled_as_its_text_is_read_back(
            keys in proptest::collection::vec(any::<String>(), 0..6),
            number in any::<f64>().prop_filter("JSON has only finite ones", |n| n.is_finite()),
            whole in any::<i64>(),
        ) {
            let leaves = [json!(number), json!(whole), json!(null), json!("x")];
            let members = keys.into_iter().zip(leaves.into_iter().cycle());
            let inner = Value::Object(members.collect());
            check(&json!([inner.clone(), {"z": inner, "a": number}]));
        }
    }
}
