//! Texts looked for in the rows of entries and of blobs.

use aho_corasick::AhoCorasick;

use super::entry_text::text_of;
use super::reader::SqliteReader;
use crate::store::elsewhere::MOST_PLACES;
use crate::store::{Elsewhere, HeldIn, StoreError};
use monolith_core::message::Digest;

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
