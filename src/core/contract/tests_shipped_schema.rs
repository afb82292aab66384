//! For tests: whether a schema under `contracts/` is the one that the code gives.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The file, from the folder of the package, holds this schema. `UPDATE_SCHEMAS` in the environment writes it.
#[track_caller]
pub(super) fn is_shipped(file: &str, schema: &Value) {
    let generated = serde_json::to_string_pretty(schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let shipped = fs::read_to_string(path).unwrap();
    assert!(
        shipped == generated,
        "{file} is not what the code gives: run the tests with UPDATE_SCHEMAS=1, and think of the format version",
    );
}
