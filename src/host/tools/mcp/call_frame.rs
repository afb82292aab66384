//! Encodes a call with its arguments byte for byte. Does not send it.

use std::collections::BTreeMap;
use std::io;

use rmcp::model::ClientJsonRpcMessage;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Value>,
    method: Option<&'a Value>,
    params: BTreeMap<&'a str, Box<RawValue>>,
}

/// A call as rmcp would write it, but with that text as its arguments, byte for byte.
pub(super) fn encode(item: &ClientJsonRpcMessage, arguments: String) -> io::Result<Vec<u8>> {
    let arguments = RawValue::from_string(arguments)?;
    let frame = serde_json::to_value(item)?;
    let mut params = BTreeMap::new();
    if let Some(members) = frame.get("params").and_then(Value::as_object) {
        for (name, value) in members {
            params.insert(name.as_str(), to_raw_value(value)?);
        }
    }
    params.insert("arguments", arguments);
    Ok(serde_json::to_vec(&Call {
        jsonrpc: "2.0",
        id: frame.get("id"),
        method: frame.get("method"),
        params,
    })?)
}
