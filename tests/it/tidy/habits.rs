use super::rust_source::SourceFile;
use super::tree::{Finding, Tree, has_extension};

const MOST_LINES: usize = 500;
const AIM_LINES: usize = 400;

/// `mod.rs` and `lib.rs` hold nothing but docs, `mod` and `use`.
pub fn module_roots(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        if !path.ends_with("/mod.rs") && !path.ends_with("/lib.rs") {
            continue;
        }
        for line in SourceFile::read(path, text).logic {
            let what = "a module root holds only docs, `mod` and `use`";
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

/// A file of `src/` begins with what it knows.
pub fn module_docs(tree: &Tree) -> Vec<Finding> {
    let without = tree.sources().filter(|(_, text)| !text.starts_with("//!"));
    let found = without.map(|(path, _)| Finding::new(path, 1, "a file begins with `//!` docs"));
    found.collect()
}

/// A file of `src/` is at most 500 lines long.
pub fn length(tree: &Tree) -> Vec<Finding> {
    let long = |(path, text): (&str, &str)| {
        let lines = text.lines().count();
        (lines > MOST_LINES).then(|| {
            let what = format!(
                "{lines} lines, at most {MOST_LINES}: past about {AIM_LINES} there is a noun inside that wants \
                 its own file"
            );
            Finding::new(path, lines, what)
        })
    };
    tree.sources().filter_map(long).collect()
}

/// A test that does not run is no test. Stubs, panics and what is left over from debugging are for clippy to find.
pub fn ignored_tests(tree: &Tree) -> Vec<Finding> {
    let mark = concat!("#[", "ignore");
    let rust = tree
        .files()
        .filter(|(path, _)| has_extension(path, &["rs"]));
    let lines = rust.flat_map(|(path, text)| {
        text.lines()
            .zip(1..)
            .map(move |(line, at)| (path, line, at))
    });
    let ignored = lines.filter(|(_, line, _)| line.trim_start().starts_with(mark));
    let found =
        ignored.map(|(path, _, at)| Finding::new(path, at, "a test that does not run is no test"));
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::check;

    #[test]
    fn a_file_without_docs_is_found() {
        check(module_docs, "src/a/mod.rs", "mod b;", &[1]);
        check(module_docs, "src/a/b.rs", "/// F.\nfn f() {}\n", &[1]);
        check(module_docs, "src/a/b.rs", "//! B.\n\nfn f() {}\n", &[]);
        check(module_docs, "tests/it/b.rs", "fn f() {}\n", &[]);
    }

    #[test]
    fn a_module_root_with_logic_is_found() {
        let root = "src/a/mod.rs";
        check(module_roots, root, "//! A.\n\nfn f() {}\n", &[3]);
        check(
            module_roots,
            root,
            "//! A.\nmod b;\nconst C: u8 = 1;\n",
            &[3],
        );
        check(module_roots, root, "//! A.\nmod b { fn f() {} }\n", &[2]);
        check(module_roots, "src/lib.rs", "//! A.\npub struct A;\n", &[2]);
    }

    #[test]
    fn docs_declarations_and_test_modules_make_a_module_root() {
        let root = "//! A.\n#![expect(x, reason = \"y\")]\n\n/// B.\n#[doc(hidden)]\npub(crate) mod b;\nmod c;\n\
                    pub use b::{B, C};\n#[cfg(test)]\nmod tests { fn f() {} }\n";
        check(module_roots, "src/a/mod.rs", root, &[]);
        check(
            module_roots,
            "src/a/mod.rs",
            "//! Under construction.\n",
            &[],
        );
        check(module_roots, "src/a/b.rs", "fn f() {}", &[]);
    }

    #[test]
    fn the_line_after_the_last_allowed_one_is_too_many() {
        check(length, "src/a.rs", &"\n".repeat(MOST_LINES), &[]);
        check(
            length,
            "src/a.rs",
            &"\n".repeat(MOST_LINES + 1),
            &[MOST_LINES + 1],
        );
        check(length, "tests/a.rs", &"\n".repeat(MOST_LINES + 1), &[]);
    }

    #[test]
    fn a_test_that_does_not_run_is_found() {
        let text = concat!("#[test]\n#[", "ignore = \"slow\"]\nfn f() {}\n");
        check(ignored_tests, "src/a.rs", text, &[2]);
        check(ignored_tests, "tests/it/a.rs", text, &[2]);
        check(ignored_tests, "docs/a.md", text, &[]);
        check(ignored_tests, "src/a.rs", "#[test]\nfn ignore() {}\n", &[]);
    }
}
