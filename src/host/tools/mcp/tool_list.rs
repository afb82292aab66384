//! Reads pages of a server's tool list within bounds. Does not call tools.

use monolith_core::message::{
    Members, ObjectFault, ObjectText, Scrubber, char_prefix, inexact_integer, nearest_value,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::tools::offer::{Described, Offer};

/// Most tools of one server.
pub(super) const TOOLS: usize = 1_000;
/// Most pages of one list.
pub(super) const PAGES: usize = 50;

/// Prefix of the keys that `serde_json` reserves.
const RESERVED: &str = "$serde_json::private::";

/// One page of `tools/list` (MCP schema, `ListToolsResult`).
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

/// Schema and annotations stay text: a pin covers the exact text, and a parsed value has lost a duplicate key
/// and the digits of a long integer.
#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, rename = "inputSchema")]
    input_schema: &'a RawValue,
    name: String,
}

/// The rest of the list.
pub(super) struct Next {
    /// The cursor of the next page.
    pub(super) cursor: Option<String>,
    /// Tools on this page.
    pub(super) tools: usize,
}

/// Adds the tools of a page to the offer; leaves out and notes a tool that does not decode.
pub(super) fn take_page(
    offer: &mut Offer,
    prefix: &str,
    page: &RawValue,
    scrub: &dyn Scrubber,
) -> Result<Next, String> {
    let page: Page<'_> = serde_json::from_str(page.get()).map_err(|error| error.to_string())?;
    for (index, tool) in page.tools.iter().enumerate() {
        match described(tool) {
            Ok(described) => offer.add(
                prefix,
                Described {
                    annotations: scrubbed(described.annotations, scrub),
                    description: scrub.owned_text(described.description),
                    input_schema: scrubbed(described.input_schema, scrub),
                    name: scrub.owned_text(described.name),
                },
            ),
            Err(reason) => {
                let name = scrub.owned_text(name_of(index, tool));
                offer.leave_out(&name, &scrub.owned_text(reason));
            }
        }
    }
    Ok(Next {
        cursor: page.next_cursor,
        tools: page.tools.len(),
    })
}

fn described(tool: &RawValue) -> Result<Described, String> {
    let tool: Tool<'_> = serde_json::from_str(tool.get()).map_err(|error| error.to_string())?;
    Ok(Described {
        annotations: tool
            .annotations
            .map_or(Ok(Value::Null), |raw| exact("annotations", raw))?,
        description: tool.description.unwrap_or_default(),
        input_schema: exact("inputSchema", tool.input_schema)?,
        name: tool.name,
    })
}

/// Parses a text that loses nothing by parsing.
fn exact(what: &str, raw: &RawValue) -> Result<Value, String> {
    match ObjectText::parse(raw.get()) {
        // Another type is judged with the rest of the tool.
        Ok(_) | Err(ObjectFault::NotObject) => {}
        Err(fault) => return Err(format!("its {what}: {fault}")),
    }
    if let Some(integer) = inexact_integer(raw.get()) {
        let shown = char_prefix(integer, 40);
        return Err(format!(
            "its {what}: the integer {shown} has no exact canonical form, being 2^53 or more"
        ));
    }
    if has_reserved_key(&nearest_value(raw)) {
        return Err(format!("its {what}: a key in it begins with {RESERVED}"));
    }
    serde_json::from_str(raw.get()).map_err(|error| format!("its {what}: {error}"))
}

/// True if an object in it has a reserved key: read back from a contract, it would be another value.
fn has_reserved_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_reserved_key),
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| key.starts_with(RESERVED) || has_reserved_key(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Its name, or else its place on the page.
fn name_of(index: usize, tool: &RawValue) -> String {
    let members = serde_json::from_str::<Members<'_>>(tool.get());
    let members = members.map_or_else(|_| Vec::new(), |Members(members)| members);
    let name = members.into_iter().rfind(|(key, _)| key == "name");
    name.and_then(|(_, name)| serde_json::from_str(name.get()).ok())
        .unwrap_or_else(|| format!("#{}", index + 1))
}

/// Every string and every key of a value, scrubbed.
pub(super) fn scrubbed(value: Value, scrub: &dyn Scrubber) -> Value {
    match value {
        Value::String(text) => Value::String(scrub.owned_text(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| scrubbed(item, scrub))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, item)| (scrub.owned_text(key), scrubbed(item, scrub)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use monolith_core::message::NoSecrets;
    use serde_json::value::RawValue;

    use super::{Offer, take_page};

    /// Reads a tool `t` that has these members besides its name.
    fn check(members: &str, expect: Result<(), &str>) {
        let page = format!(r#"{{"tools": [{{"name": "t", {members}}}]}}"#);
        let page = RawValue::from_string(page).unwrap();
        let mut offer = Offer::default();
        take_page(&mut offer, "s__", &page, &NoSecrets).unwrap();
        let found = match (offer.tools.as_slice(), offer.unusable.as_slice()) {
            ([tool], []) if tool.name == "t" => Ok(()),
            ([], [reason]) => Err(reason.as_str()),
            other => panic!("{other:?}"),
        };
        let expect = expect.map_err(|rule| format!("tool \"t\" left out: {rule}"));
        assert_eq!(found.map_err(str::to_owned), expect);
    }

    #[test]
    fn a_tool_whose_definition_would_change_by_parsing_is_left_out_by_name() {
        let schema = r#""inputSchema": {"type": "object"}"#;
        check(schema, Ok(()));
        check(&format!(r#"{schema}, "annotations": null"#), Ok(()));
        let twice = "the same key stands twice in one object";
        check(
            r#""inputSchema": {"type": "object", "properties": {"a": {}, "a": {"type": "string"}}}"#,
            Err(&format!("its inputSchema: {twice}")),
        );
        check(
            &format!(r#"{schema}, "annotations": {{"readOnlyHint": false, "readOnlyHint": true}}"#),
            Err(&format!("its annotations: {twice}")),
        );
        let long = "has no exact canonical form, being 2^53 or more";
        for integer in [
            "9007199254740992",
            "-9223372036854775808",
            "123456789012345678901234",
        ] {
            check(
                &format!(r#""inputSchema": {{"type": "object", "maximum": {integer}}}"#),
                Err(&format!("its inputSchema: the integer {integer} {long}")),
            );
            check(
                &format!(r#"{schema}, "annotations": {{"x": {integer}}}"#),
                Err(&format!("its annotations: the integer {integer} {long}")),
            );
        }
        let form = "an integer of 2^53 or more has no exact canonical form";
        check(
            r#""inputSchema": {"type": "object", "maximum": 1e18}"#,
            Err(&format!("its inputSchema at \"/maximum\": {form}")),
        );
        check(
            r#""inputSchema": {"type": "object", "maximum": 1.7976931348623157e308}"#,
            Ok(()),
        );
        let reserved = "its inputSchema: a key in it begins with $serde_json::private::";
        for default in [
            r#"{"$serde_json::private::RawValue": "{}"}"#,
            r#"[{"a": 1, "$serde_json::private::Number": "1"}]"#,
        ] {
            let schema = format!(r#""inputSchema": {{"type": "object", "default": {default}}}"#);
            check(&schema, Err(reserved));
        }
    }
}
