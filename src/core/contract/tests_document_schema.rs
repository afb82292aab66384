//! The JSON Schema of a stored contract. Does not validate documents.

use std::fs;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Terms;
use super::compiled_schema::HexDigest;

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

/// The file, from the folder of the package, holds this schema. `UPDATE_SCHEMAS` in the environment writes it.
#[track_caller]
pub(super) fn is_shipped(file: &str, schema: &Value) {
    let generated = serde_json::to_string_pretty(schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let shipped = fs::read_to_string(path).unwrap();
    assert!(
        shipped == generated,
        "{file} is not what the code gives: run the tests with UPDATE_SCHEMAS=1, and think of the format version",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::make;
    use crate::contract::tests_document_schema::is_shipped;

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
