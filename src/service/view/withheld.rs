//! The texts that the token gate held back. They are evidence, and no answers.

use std::collections::BTreeMap;

use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Recorded;
use monolith_core::kernel::EventKind;
use monolith_core::replay::BlobSource;
use monolith_core::transcript::SealedEntry;

/// A text that was held back.
#[derive(Clone, Debug)]
pub struct WithheldText {
    /// Length of the text.
    pub bytes: u64,
    /// The text, as far as it is kept.
    pub text: KeptText,
}

/// A text that a transcript names.
#[derive(Clone, Debug)]
pub enum KeptText {
    /// The text.
    Here(String),
    /// The text was erased.
    Erased,
    /// The file was exported without it.
    NotExported,
}

/// Returns each text that a run or a file held back, by the number of the entry that names it.
///
/// # Errors
///
/// The run cannot be read.
pub fn withheld_texts(
    service: &Service,
    asked: &str,
) -> Result<BTreeMap<u64, WithheldText>, ServiceError> {
    let mut fault = None;
    let texts = service.source(asked)?.each_entry_with_blobs(
        |_, _| BTreeMap::new(),
        |texts, entry, blobs| match text_of(entry, blobs) {
            Ok(text) => texts.extend(text.map(|text| (entry.seq, text))),
            Err(flaw) => fault = fault.take().or(Some(flaw)),
        },
    )?;
    fault.map_or(Ok(texts), Err)
}

fn text_of(
    entry: &SealedEntry,
    blobs: &dyn BlobSource,
) -> Result<Option<WithheldText>, ServiceError> {
    let decoded = Recorded::decode(entry)?.into_event();
    let Some(EventKind::InferenceReturned(returned)) = decoded.map(|event| event.event) else {
        return Ok(None);
    };
    let withheld = returned.result.withheld.filter(|held| !held.blank);
    Ok(withheld.map(|withheld| WithheldText {
        bytes: withheld.bytes,
        text: match blobs.blob(withheld.hash) {
            Some(text) => KeptText::Here(String::from_utf8_lossy(&text).into_owned()),
            None if blobs.erased(withheld.hash) => KeptText::Erased,
            None => KeptText::NotExported,
        },
    }))
}
