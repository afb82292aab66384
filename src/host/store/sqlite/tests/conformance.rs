//! The suite of every store, on SQLite.

use std::cell::Cell;

use super::open;
use crate::store::conformance::conforms;

#[test]
fn sqlite_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    conforms(&|| {
        number.set(number.get() + 1);
        open(&folder.path().join(format!("{}.db", number.get())))
    });
}
