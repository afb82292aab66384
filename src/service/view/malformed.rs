//! Tool output that is no result of the tool's protocol. The model does not get it: it is evidence, and replaces what the model
//! was sent instead.

use std::collections::BTreeMap;

use crate::error::ServiceError;
use crate::source::{Recorded, Source};
use monolith_core::kernel::EventKind;
use monolith_core::message::{CallSeq, ToolOutcome};
use monolith_core::view::RunView;

/// Returns each such result by the id of its call: its flaw, and the text that came, as far as it is kept.
pub(super) fn malformed(
    view: &RunView,
    source: impl FnOnce() -> Result<Source, ServiceError>,
) -> Result<BTreeMap<String, String>, ServiceError> {
    let found = view.calls().iter().filter_map(|(seq, call)| {
        let detail = call.executions.last()?.malformed()?;
        Some((*seq, (call.id.clone(), detail.to_owned())))
    });
    let found = found.collect::<BTreeMap<CallSeq, (String, String)>>();
    if found.is_empty() {
        return Ok(BTreeMap::new());
    }
    let came = source()?.each_entry_with_blobs(
        |_, _| BTreeMap::new(),
        |came, entry, blobs| {
            let Ok(decoded) = Recorded::decode(entry) else {
                return;
            };
            let event = decoded.into_event().map(|event| event.event);
            let Some(EventKind::ToolReturned(returned)) = event else {
                return;
            };
            let text = match &returned.outcome {
                ToolOutcome::Malformed { raw_hash, .. } => raw_hash.map(|raw| {
                    blobs.blob(raw).map_or_else(
                        || "(what came is not kept here)".to_owned(),
                        |raw| String::from_utf8_lossy(&raw).into_owned(),
                    )
                }),
                _ => None,
            };
            came.extend(text.map(|text| (returned.call, text)));
        },
    )?;
    let texts = found.into_iter().map(|(seq, (id, detail))| {
        let text = came.get(&seq).map(|came| format!("\n{came}"));
        let text = format!("malformed: {detail}{}", text.unwrap_or_default());
        (id, text)
    });
    Ok(texts.collect())
}
