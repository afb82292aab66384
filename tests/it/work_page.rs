//! docs/audit/work-items.md against the tests: it names each test of work items, and no test that does not exist.
//!
//! A name is `module::test`, or a file and the name of its test. `each test of` a module names them all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::corpus::root;
use super::session_contract::{rust_files, tests_in};

/// The folders of work items, each with the prefix of its modules.
const FOLDERS: [(&str, &str); 3] = [
    ("src/core/work", ""),
    ("src/host/work_tree", "work_tree::"),
    ("tests/it/work", "work::"),
];

fn tests_of(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap();
    let tests = tests_in(&text).into_iter();
    tests.map(|(name, _)| name.to_owned()).collect()
}

/// The tests of each module.
fn modules() -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (folder, prefix) in FOLDERS {
        for path in rust_files(&root().join(folder)) {
            let module = path.file_stem().unwrap().to_string_lossy();
            let tests = modules.entry(format!("{prefix}{module}")).or_default();
            tests.extend(tests_of(&path));
        }
    }
    modules
}

/// The names on the page that are no tests, and the tests that it does not name.
fn faults(page: &str) -> Vec<String> {
    let known = modules();
    let mut unnamed = known.clone();
    let mut faults = Vec::new();
    for line in page.lines() {
        let parts: Vec<&str> = line.split('`').collect();
        let mut file = None;
        for pair in parts.chunks_exact(2) {
            let (before, name) = (pair[0], pair[1]);
            let is_group = before.ends_with("test of ") || before.ends_with("tests of ");
            let is_known = if let Some(file) = file.take() {
                tests_of(&root().join(file)).contains(name)
            } else if Path::new(name).extension().is_some_and(|it| it == "rs") {
                file = Some(name);
                true
            } else if is_group {
                unnamed.remove(name);
                known.get(name).is_some_and(|tests| !tests.is_empty())
            } else if let Some((module, test)) = name.rsplit_once("::") {
                if let Some(tests) = unnamed.get_mut(module) {
                    tests.remove(test);
                }
                let tests = known.get(module);
                test.is_empty() || tests.is_some_and(|tests| tests.contains(test))
            } else {
                true
            };
            if !is_known {
                faults.push(format!("no test: {name}"));
            }
        }
    }
    for (module, tests) in unnamed {
        faults.extend(
            tests
                .iter()
                .map(|test| format!("not named: {module}::{test}")),
        );
    }
    faults
}

#[test]
fn the_page_on_work_items_names_each_test_and_no_other() {
    let page = fs::read_to_string(root().join("docs/audit/work-items.md")).unwrap();
    let faults = faults(&page);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_name_that_is_no_test_and_a_test_without_a_name_are_found() {
    let path = "path::a_path_stays_below_its_root";
    let unnamed = format!("not named: {path}");
    assert!(faults("").contains(&unnamed));
    let file = "`src/core/work/path.rs`";
    for page in [
        format!("| a | `{path}` |"),
        "| a | each test of `path` |".to_owned(),
    ] {
        assert!(!faults(&page).contains(&unnamed), "{page}");
    }
    let is_no_test = |page: String, name: &str| {
        assert!(
            faults(&page).contains(&format!("no test: {name}")),
            "{page}"
        );
    };
    is_no_test("| a | `path::nothing` |".to_owned(), "path::nothing");
    is_no_test("| a | each test of `nothing` |".to_owned(), "nothing");
    is_no_test(format!("| a | {file}: `nothing` |"), "nothing");
}
