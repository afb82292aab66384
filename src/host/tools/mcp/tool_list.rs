//! Reads pages of a server's tool list within bounds. Does not call tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use monolith_core::contract::check_output_schema;
use monolith_core::message::{
    Members, ObjectFault, ObjectText, Scrubber, char_prefix, exact_value, inexact_integer,
    nearest_value,
};
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, RequestMetaObject};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, UNWATCHED};
use super::pending::PendingResponse;
use super::response::NoResponse;
use crate::tools::offer::{Described, Offer};

/// Most tools of one server.
const TOOLS: usize = 1_000;
/// Most pages of one list.
const PAGES: usize = 50;

/// Maximum size of a cursor that a note quotes.
const CURSOR_BYTES: usize = 80;
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
    #[serde(borrow, default, rename = "outputSchema")]
    output_schema: Option<&'a RawValue>,
}

/// The rest of the list.
struct Next {
    /// The cursor of the next page.
    cursor: Option<String>,
    /// Tools on this page.
    tools: usize,
}

/// The error of a list of tools.
#[derive(Debug)]
pub(super) enum ListFault {
    Protocol(String),
    TooMany { limit: usize, what: &'static str },
    NoResponse(NoResponse),
}

/// Asks a server for its tools, page by page. Exposed names begin with `prefix`.
pub(super) async fn list(
    connection: &Connection,
    (prefix, scrub): (&str, &dyn Scrubber),
    until: (Instant, &CancellationToken),
) -> Result<Offer, ListFault> {
    let mut offer = Offer::default();
    let (mut cursors, mut tools) = (BTreeSet::new(), 0);
    let mut cursor = None;
    while connection.has_tools() {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let mut request = ListToolsRequest::with_param(params);
        let pending = PendingResponse::new(None);
        request.extensions.insert(pending.clone());
        let request = ClientRequest::ListToolsRequest(request);
        let meta = RequestMetaObject::new();
        let response = connection.ask(request, &pending, meta, until, UNWATCHED);
        let response = response.await.map_err(ListFault::NoResponse)?;
        let next = response
            .decode(|result| take_page(&mut offer, prefix, result, scrub))
            .map_err(|malformed| ListFault::Protocol(malformed.detail))?
            .map_err(|error| ListFault::Protocol(format!("{} ({})", error.message, error.code)))?;
        tools += next.tools;
        if tools > TOOLS {
            return Err(ListFault::TooMany {
                limit: TOOLS,
                what: "tools",
            });
        }
        let Some(next) = next.cursor else {
            break;
        };
        if next.is_empty() || cursors.contains(&next) {
            let which = if next.is_empty() {
                "is empty".to_owned()
            } else {
                let shown = char_prefix(&next, CURSOR_BYTES);
                format!("is {shown:?} again")
            };
            let page = cursors.len() + 1;
            offer.note(&scrub.owned_text(format!(
                "tools after page {page} left out: the cursor of the next page {which}"
            )));
            break;
        }
        if cursors.len() + 1 == PAGES {
            return Err(ListFault::TooMany {
                limit: PAGES,
                what: "pages",
            });
        }
        cursors.insert(next.clone());
        cursor = Some(next);
    }
    Ok(offer)
}

/// Adds the tools of a page to the offer; leaves out and notes a tool that does not decode.
fn take_page(
    offer: &mut Offer,
    prefix: &str,
    page: &RawValue,
    scrub: &dyn Scrubber,
) -> Result<Next, String> {
    let page: Page<'_> = serde_json::from_str(page.get()).map_err(|error| error.to_string())?;
    for (index, tool) in page.tools.iter().enumerate() {
        match described(tool) {
            Ok((described, output)) => {
                let name = scrub.owned_text(described.name);
                match output {
                    Ok(None) => {}
                    Ok(Some(output)) => {
                        let outputs = &mut offer.outputs;
                        outputs.entry(name.clone()).or_insert(Arc::new(output));
                    }
                    Err(reason) => offer.leave_unchecked(&name, &scrub.owned_text(reason)),
                }
                offer.add(
                    prefix,
                    Described {
                        annotations: scrubbed(described.annotations, scrub),
                        description: scrub.owned_text(described.description),
                        input_schema: scrubbed(described.input_schema, scrub),
                        name,
                    },
                );
            }
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

/// The schema of structured results of a tool, if it states one; the error text says why it cannot be used.
type Output = Result<Option<Value>, String>;

/// A tool as a page describes it, and the schema of its structured results. The schema only judges results: no pin covers it.
fn described(tool: &RawValue) -> Result<(Described, Output), String> {
    let tool: Tool<'_> = serde_json::from_str(tool.get()).map_err(|error| error.to_string())?;
    let described = Described {
        annotations: tool
            .annotations
            .map_or(Ok(Value::Null), |raw| exact("annotations", raw))?,
        description: tool.description.unwrap_or_default(),
        input_schema: exact("inputSchema", tool.input_schema)?,
        name: tool.name,
    };
    let output = tool.output_schema.map(|raw| {
        let schema = exact_value(raw.get()).map_err(|fault| fault.to_string())?;
        check_output_schema(&schema)?;
        Ok(schema)
    });
    Ok((described, output.transpose()))
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
    fn a_schema_of_results_that_cannot_be_used_is_named_and_its_tool_is_kept() {
        let check = |output: &str, expect: &str| {
            let page = format!(
                r#"{{"tools": [{{"name": "t", "inputSchema": {{"type": "object"}}, "outputSchema": {output}}}]}}"#
            );
            let page = RawValue::from_string(page).unwrap();
            let mut offer = Offer::default();
            take_page(&mut offer, "s__", &page, &NoSecrets).unwrap();
            assert_eq!((offer.tools.len(), offer.outputs.len()), (1, 0), "{output}");
            let [note] = offer.unusable.as_slice() else {
                panic!("{output}: {:?}", offer.unusable);
            };
            assert!(
                note.starts_with("results of tool \"t\" are not checked: its outputSchema")
                    && note.contains(expect),
                "{output}: {note}"
            );
        };
        check(
            r#"{"properties": {"n": {"pattern": "(?=x)"}}}"#,
            "/properties/n/pattern",
        );
        check(r#"{"type": "objekt"}"#, "/type");
        check(r#""object""#, "");
        check(r#"{"type": "object", "type": "string"}"#, "twice");
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
