//! The JSON Schema of the file of pins, `NAME.pins.json`. Does not validate documents.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::pinned_offers::{Document, FORMAT};

/// The JSON Schema of a file of pins. `contracts/pins.schema.json` holds it.
#[must_use]
pub fn pins_schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Document>().to_value();
    if let Some(format) = schema.pointer_mut("/properties/format") {
        *format = json!({"description": "The format of this file.", "const": FORMAT});
    }
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("monolith pins, format 1"));
        root.insert(
            "description".to_owned(),
            json!(
                "What tool servers offered when their pins were taken. monolith contract pin writes it."
            ),
        );
    }
    schema.sort_all_objects();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::{manifest, spec};
    use crate::contract::tests_shipped_schema::is_shipped;
    use crate::contract::{ContractFactory, PinnedOffers};

    #[test]
    fn the_shipped_schema_is_the_one_the_types_give() {
        is_shipped("contracts/pins.schema.json", &pins_schema());
    }

    #[test]
    fn what_is_written_fits_the_schema_and_what_is_not_read_does_not() {
        let validator = jsonschema::options()
            .offline()
            .build(&pins_schema())
            .unwrap();
        let spec = spec(&["tools.mcp.web={url: 'http://h/'}"]);
        let contract = ContractFactory.make(&spec, &manifest(), None).unwrap();
        let written: Value = serde_json::from_str(&PinnedOffers::of(&contract).text()).unwrap();
        let server = written["servers"].as_object().unwrap().values().next();
        assert!(server.is_some_and(|tools| !tools.as_array().unwrap().is_empty()));
        assert!(validator.is_valid(&written));
        let damaged = |pointer: &str, value: Value| {
            let mut damaged = written.clone();
            *damaged.pointer_mut(pointer).unwrap() = value;
            damaged
        };
        for wrong in [
            damaged("/format", json!("monolith-pins/2")),
            damaged("/servers", json!([])),
            damaged("", json!({"format": FORMAT})),
            damaged("", json!({"format": FORMAT, "more": 1, "servers": {}})),
            damaged("/servers", json!({"web": [{"name": "search"}]})),
        ] {
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    }
}
