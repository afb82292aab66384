//! The texts of entries as their columns hold them: short ones as they are, longer ones packed against a dictionary that never changes.
//! Does not know what they say.
//!
//! A packed text is a blob: a check, a byte that names the way of packing, 4 bytes with the length of the text, least first,
//! and an LZ4 block. The check is 4 bytes of the BLAKE3 hash of the rest. It is no evidence, because anyone who writes the file
//! can recompute it. It finds each byte that changed by accident in its own row, also where the change would unpack to the same
//! text.

use std::borrow::Cow;
use std::fmt::Display;

use aho_corasick::AhoCorasick;
use monolith_core::message::{Digest, amount};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::reader::SqliteReader;
use crate::store::elsewhere::MOST_PLACES;
use crate::store::{Elsewhere, HeldIn, StoreError};

/// The text that most entries are made of. A part of the format: texts packed against it cannot be read with another.
const DICTIONARY: &[u8] = include_bytes!("entry_dictionary.txt");
/// LZ4 against [`DICTIONARY`].
const LZ4: u8 = 1;
/// Shorter texts are kept as they are.
const LEAST_BYTES: usize = 64;
/// Longer texts are kept as they are, so that a small file never unpacks to more than this at once.
const MOST_BYTES: usize = 1 << 20;
/// The bytes before the LZ4 block.
const CHECK_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;

/// A text as a column holds it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept<'t> {
    Plain(Cow<'t, str>),
    Packed(Vec<u8>),
}

/// The reason for a missing text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoText {
    pub(super) expected: &'static str,
    pub(super) got: String,
}

impl<'t> Kept<'t> {
    /// The shorter of both ways to keep a text.
    pub(super) fn of(text: impl Into<Cow<'t, str>>) -> Self {
        let text = text.into();
        packed_entry_text(&text).map_or(Self::Plain(text), Self::Packed)
    }
}

/// The text packed as a column holds it; `None` if packing gains nothing, so that it is kept as it is.
#[must_use]
pub fn packed_entry_text(text: &str) -> Option<Vec<u8>> {
    if !(LEAST_BYTES..=MOST_BYTES).contains(&text.len()) {
        return None;
    }
    let length = u32::try_from(text.len()).ok()?;
    let block = lz4_flex::block::compress_with_dict(text.as_bytes(), DICTIONARY);
    let mut rest = Vec::with_capacity(1 + LENGTH_BYTES + block.len());
    rest.push(LZ4);
    rest.extend_from_slice(&length.to_le_bytes());
    rest.extend_from_slice(&block);
    let packed = [&check(&rest)[..], &rest].concat();
    (packed.len() < text.len()).then_some(packed)
}

impl ToSql for Kept<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Plain(text) => ValueRef::Text(text.as_bytes()),
            Self::Packed(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The text that a column holds.
pub(super) fn text_of(value: ValueRef<'_>) -> Result<Cow<'_, str>, NoText> {
    match value {
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(fault) => Err(no_text("UTF-8 throughout", fault)),
        },
        ValueRef::Blob(bytes) => unpacked(bytes).map(Cow::Owned),
        other => Err(no_text("a text", other.data_type())),
    }
}

fn unpacked(packed: &[u8]) -> Result<String, NoText> {
    const EXPECTED: &str = "a text or a packed text";
    let refuse = |got: &str| no_text(EXPECTED, got);
    let too_short = || no_text(EXPECTED, amount(packed.len(), "byte"));
    let (stated, rest) = packed
        .split_first_chunk::<CHECK_BYTES>()
        .ok_or_else(too_short)?;
    let (way, after) = rest.split_first().ok_or_else(too_short)?;
    let (length, block) = after
        .split_first_chunk::<LENGTH_BYTES>()
        .ok_or_else(too_short)?;
    if check(rest) != *stated {
        return Err(refuse("bytes that are not those of their check"));
    }
    if *way != LZ4 {
        return Err(refuse("a way of packing that this build does not know"));
    }
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MOST_BYTES {
        return Err(refuse("a length that no packed text has"));
    }
    let mut text = vec![0; length];
    let unpacked = lz4_flex::block::decompress_into_with_dict(block, &mut text, DICTIONARY)
        .map_err(|fault| no_text(EXPECTED, fault))?;
    if unpacked != length {
        return Err(refuse("a text of another length than it states"));
    }
    String::from_utf8(text).map_err(|fault| no_text("UTF-8 throughout", fault.utf8_error()))
}

fn check(rest: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = Digest::of(rest);
    let (check, _) = digest
        .as_bytes()
        .split_first_chunk()
        .unwrap_or((&[0; CHECK_BYTES], &[]));
    *check
}

fn no_text(expected: &'static str, got: impl Display) -> NoText {
    let got = got.to_string();
    NoText { expected, got }
}

impl SqliteReader {
    /// The entries and the blobs in which a text is found.
    pub(super) fn holding(
        &self,
        texts: &AhoCorasick,
        except: Digest,
    ) -> Result<Vec<Elsewhere>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Elsewhere>> {
            let mut found = Vec::new();
            let mut entries = self.conn.prepare(
                "SELECT r.run_id, e.seq, e.event, e.action FROM entries e \
                 JOIN runs r ON r.id = e.run ORDER BY r.id, e.seq",
            )?;
            let mut rows = entries.query([])?;
            while let (Some(row), true) = (rows.next()?, found.len() < MOST_PLACES) {
                // What does not read back holds nothing that can be read.
                let holds =
                    |value| text_of(value).is_ok_and(|text| texts.is_match(text.as_bytes()));
                if holds(row.get_ref(2)?) || holds(row.get_ref(3)?) {
                    let seq = row.get::<_, i64>(1)?;
                    found.push(Elsewhere {
                        run_id: row.get(0)?,
                        place: HeldIn::Entry(u64::try_from(seq).unwrap_or_default()),
                    });
                }
            }
            let mut blobs = self.conn.prepare(
                "SELECT r.run_id, b.hash, b.bytes FROM blobs b JOIN run_blobs l ON l.hash = b.hash \
                 JOIN runs r ON r.id = l.run WHERE b.hash <> ?1 ORDER BY r.id, b.hash",
            )?;
            let mut rows = blobs.query([except.as_bytes()])?;
            while let (Some(row), true) = (rows.next()?, found.len() < MOST_PLACES) {
                if texts.is_match(&row.get::<_, Vec<u8>>(2)?) {
                    found.push(Elsewhere {
                        run_id: row.get(0)?,
                        place: HeldIn::Blob(Digest::from_bytes(row.get(1)?)),
                    });
                }
            }
            Ok(found)
        };
        read().map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(text: &str) -> Vec<u8> {
        match Kept::of(text) {
            Kept::Plain(text) => panic!("{text} is not packed"),
            Kept::Packed(bytes) => bytes,
        }
    }

    fn read_back(text: &str) -> String {
        let kept = Kept::of(text);
        let value = match &kept {
            Kept::Plain(text) => ValueRef::Text(text.as_bytes()),
            Kept::Packed(bytes) => ValueRef::Blob(bytes),
        };
        text_of(value).unwrap().into_owned()
    }

    const COMMON: &str = r#"{"adapter_version":"openai-chat/1","attempt":1,"conversation_digest":"bbfbdd920f470b3eed0c0064d137ef0be42faf6759cb3f7d189e9789806e4165","counters":{"calls":50,"cost_micro_usd":0,"executed":50,"executed_ok":50,"format_retries":0,"inferences":50,"resumes":0,"tokens_cache_read":0,"tokens_in":5000,"tokens_out":1000,"turns":50},"from":"OBSERVE","kind":"transition","model_fingerprint":"openai:m","model_profile_id":"unknown","seq":250,"state_digest":"7c5a71943d6d34ccf6f362089da8525d01348fe8912b883bf2aeb8f8c1850135","step_id":50,"target":0,"to":"COMMIT"}"#;

    #[test]
    fn a_common_action_takes_less_than_half() {
        let packed = kept(COMMON);
        assert!(packed.len() * 2 < COMMON.len(), "{}", packed.len());
        assert_eq!(read_back(COMMON), COMMON);
    }

    /// Texts were packed against it: another one needs another number for its way of packing.
    #[test]
    fn the_dictionary_is_that_of_its_number() {
        let digest = Digest::of(DICTIONARY).to_string();
        assert_eq!(
            digest,
            "be83bb3847a1f296fd3e8cc69c8da44bc65fb5ba659627f8cde6f36bb3cd586e"
        );
    }

    #[test]
    fn what_does_not_gain_is_kept_as_it_is() {
        let long = "ab".repeat(MOST_BYTES);
        for text in ["", "null", r#"{"at_ms":1}"#, &long] {
            assert_eq!(Kept::of(text), Kept::Plain(text.into()));
        }
    }

    #[test]
    fn a_packed_text_that_is_changed_or_cut_is_refused_wherever_that_is() {
        let packed = kept(COMMON);
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(text_of(ValueRef::Blob(&changed)).is_err(), "{at}");
            assert!(text_of(ValueRef::Blob(&packed[..at])).is_err(), "{at}");
        }
    }

    /// Anyone who writes the file can recompute a check.
    #[test]
    fn a_packed_text_of_a_size_or_a_way_that_it_cannot_have_is_refused() {
        let remade = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut rest = kept(COMMON).split_off(CHECK_BYTES);
            change(&mut rest);
            let packed = [&check(&rest)[..], &rest].concat();
            text_of(ValueRef::Blob(&packed)).map(drop).unwrap_err().got
        };
        let sized = |length: u32| {
            remade(&|rest| rest[1..=LENGTH_BYTES].copy_from_slice(&length.to_le_bytes()))
        };
        assert_eq!(sized(u32::MAX), "a length that no packed text has");
        assert_eq!(sized(1 << 20), "a text of another length than it states");
        assert!(!sized(3).is_empty());
        let way = remade(&|rest| rest[0] = 2);
        assert_eq!(way, "a way of packing that this build does not know");
        let no_utf8 = [&[0xff; 80][..], b"{}"].concat();
        let block = lz4_flex::block::compress_with_dict(&no_utf8, DICTIONARY);
        let fault = remade(&|rest| {
            rest.truncate(1);
            rest.extend_from_slice(&82_u32.to_le_bytes());
            rest.extend_from_slice(&block);
        });
        assert!(fault.starts_with("invalid utf-8"), "{fault}");
    }

    proptest! {
        #[test]
        fn every_text_is_read_back(text in "(\\PC|[a-z\":,{}]){0,400}") {
            prop_assert_eq!(read_back(&text), text);
        }

        #[test]
        fn no_bytes_do_harm(rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let packed = [&check(&rest)[..], &rest].concat();
            drop(text_of(ValueRef::Blob(&packed)));
            drop(text_of(ValueRef::Blob(&rest)));
        }
    }
}
