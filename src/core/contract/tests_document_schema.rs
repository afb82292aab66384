//! The JSON Schema of a stored contract. Does not validate documents.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Terms;
use super::hex_digest::HexDigest;

/// The JSON Schema of a stored contract: the terms, their id and their hash. `contracts/contract.schema.json` holds it.
#[must_use]
pub(crate) fn contract_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let hash = generator.subschema_for::<HexDigest>();
    let mut schema = generator.into_root_schema_for::<Terms>().to_value();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.extend([json!("contract_hash"), json!("contract_id")]);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let id = json!({
            "description": "`c-` and 16 hex digits of BLAKE3 over the RFC 8785 form without id and hash.",
            "type": "string",
            "pattern": "^c-[0-9a-f]{16}$",
        });
        properties.insert("contract_id".to_owned(), id);
        properties.insert("contract_hash".to_owned(), hash.to_value());
    }
    if let Value::Object(root) = &mut schema {
        root.insert(
            "title".to_owned(),
            json!("monolith execution contract, format 1"),
        );
        root.insert(
            "description".to_owned(),
            json!("What a run may do, fixed before its first inference."),
        );
    }
    schema.sort_all_objects();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::make;
    use crate::contract::tests_shipped_schema::is_shipped;

    #[test]
    fn the_shipped_schema_is_the_one_the_types_give() {
        is_shipped("contracts/contract.schema.json", &contract_schema());
    }

    #[test]
    fn a_made_contract_fits_the_schema_and_a_damaged_one_does_not() {
        let validator = jsonschema::options()
            .offline()
            .build(&contract_schema())
            .unwrap();
        let whole: Value = serde_json::from_str(&make(&[]).canonical_text()).unwrap();
        assert!(
            validator.is_valid(&whole),
            "{:?}",
            validator.validate(&whole)
        );
        let keys: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut damaged = whole.clone();
            damaged[&key] = json!({"no": "such value"});
            assert!(!validator.is_valid(&damaged), "{key}");
        }
        let mut longer = whole.clone();
        longer["more"] = json!(1);
        assert!(!validator.is_valid(&longer));
        for key in whole.as_object().unwrap().keys() {
            let mut shorter = whole.clone();
            shorter.as_object_mut().unwrap().remove(key);
            assert!(!validator.is_valid(&shorter), "{key}");
        }
    }
}
