//! How a digest is written, for the JSON Schema. Knows no digest.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// How a [`Digest`](crate::message::Digest) is written, for the JSON Schema.
pub(super) struct HexDigest;

impl JsonSchema for HexDigest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HexDigest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}
