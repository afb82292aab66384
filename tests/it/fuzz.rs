//! The seeds of the fuzz targets, played through the same functions that the targets call.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use monolith_core::adapter::Adapter;

#[path = "../../fuzz/src/lib.rs"]
mod entry;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz")
        .join(name)
}

#[test]
fn every_seed_is_played_through_its_target() {
    let mut played = BTreeSet::new();
    for (name, target) in entry::TARGETS {
        for seed in fs::read_dir(folder("seeds").join(name)).unwrap() {
            let path = seed.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            assert!(bytes.len() <= 32 * 1024, "{} is too large", path.display());
            target(&bytes);
            // What a fuzzer does first: cut it, and flip a bit.
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
                target(&bytes[..at]);
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                target(&flipped);
            }
            played.insert(name);
        }
    }
    assert_eq!(played.len(), entry::TARGETS.len());
}

#[test]
fn every_decoder_has_a_target_and_every_target_its_file_and_seeds() {
    let names: BTreeSet<&str> = entry::TARGETS.iter().map(|(name, _)| *name).collect();
    for adapter in Adapter::all() {
        let name = format!("decode_{}", adapter.proto().replace('-', "_"));
        assert!(names.contains(name.as_str()), "no fuzz target {name}");
    }
    let stems = |folder_name: &str| -> BTreeSet<String> {
        let files = fs::read_dir(folder(folder_name)).unwrap();
        let stem =
            |path: std::path::PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        files.map(|file| stem(file.unwrap().path())).collect()
    };
    let expected: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(stems("fuzz_targets"), expected);
    assert_eq!(stems("seeds"), expected);
}
