//! The writes of SQLite, read from its write-ahead log. No other process disturbs this count.

use std::fs;
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Commits and frames in the log of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub commits: u64,
    /// Pages, each with its header in the log.
    pub pages: u64,
}

/// Returns the contents of the log of `database` since its last restart.
pub fn written(database: &Path) -> Written {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    let bytes = fs::read(path).unwrap_or_default();
    let mut written = Written::default();
    if bytes.len() < HEADER {
        return written;
    }
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (page, salt) = (word(8) as usize, &bytes[16..24]);
    for frame in bytes[HEADER..].chunks_exact(FRAME_HEADER + page) {
        // What an earlier round of the log left has another salt.
        if &frame[8..16] != salt {
            break;
        }
        written.pages += 1;
        written.commits += u64::from(frame[4..8] != [0; 4]);
    }
    written
}
