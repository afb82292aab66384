use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::tools::offer::{Described, Offer};

/// Most tools of one server.
pub(super) const TOOLS: usize = 1_000;
/// Most pages of one list.
pub(super) const PAGES: usize = 50;

/// One page of `tools/list` (MCP schema, `ListToolsResult`).
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    annotations: Value,
    #[serde(default)]
    description: Option<String>,
    #[serde(rename = "inputSchema")]
    input_schema: Value,
    name: String,
}

/// Where the list goes on.
pub(super) struct Next {
    /// The cursor of the next page.
    pub(super) cursor: Option<String>,
    /// Tools on this page.
    pub(super) tools: usize,
}

/// Adds a page's tools to the offer; a tool that does not decode is left out and noted, the others stay.
pub(super) fn take_page(offer: &mut Offer, prefix: &str, page: &RawValue) -> Result<Next, String> {
    let page: Page<'_> = serde_json::from_str(page.get()).map_err(|error| error.to_string())?;
    for (index, tool) in page.tools.iter().enumerate() {
        match serde_json::from_str::<Tool>(tool.get()) {
            Ok(tool) => offer.add(
                prefix,
                Described {
                    annotations: tool.annotations,
                    description: tool.description.unwrap_or_default(),
                    input_schema: tool.input_schema,
                    name: tool.name,
                },
            ),
            Err(error) => offer.leave_out(&name_of(index, tool), &error.to_string()),
        }
    }
    Ok(Next {
        cursor: page.next_cursor,
        tools: page.tools.len(),
    })
}

/// Its name, or its place on the page where it has none.
fn name_of(index: usize, tool: &RawValue) -> String {
    serde_json::from_str::<Value>(tool.get())
        .ok()
        .and_then(|tool| tool.get("name").and_then(Value::as_str).map(str::to_owned))
        .unwrap_or_else(|| format!("#{}", index + 1))
}
