use super::rust_source::{Form, Name, SourceFile, sources};
use super::tree::{Finding, Tree, has_extension};

const MOST_LINES: usize = 500;
const AIM_LINES: usize = 400;

/// `mod.rs` and `lib.rs` begin with `//!` and hold nothing but `mod` and `use`.
pub fn module_roots(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        if !path.ends_with("/mod.rs") && path != "src/lib.rs" {
            continue;
        }
        if !text.starts_with("//!") {
            findings.push(Finding::new(
                path,
                1,
                "a module root begins with `//!` docs",
            ));
        }
        for line in SourceFile::read(path, text).logic {
            let what = "a module root holds only docs, `mod` and `use`";
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
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

/// No stubs, no panics by contract, no debugging, no test that does not run.
pub fn leftovers(tree: &Tree) -> Vec<Finding> {
    let rust = tree
        .files()
        .filter(|(path, _)| has_extension(path, &["rs"]));
    let others = rust.filter(|(path, _)| !path.starts_with("src/"));
    let others = others.map(|(path, text)| SourceFile::read(path, text));
    let mut findings = Vec::new();
    for file in sources(tree).into_iter().chain(others) {
        let shipped = file.path.starts_with("src/");
        for name in &file.names {
            let panics = shipped && !name.test && panics(name);
            let why = if panics {
                Some("nothing panics: return the error or use a total function")
            } else {
                leftover(name)
            };
            let what = why.map(|why| format!("`{}`: {why}", name.text()));
            findings.extend(what.map(|what| Finding::new(&file.path, name.line, what)));
        }
    }
    findings
}

/// What shipped code may not hold.
fn panics(name: &Name) -> bool {
    let last = name.segments.last().map_or("", String::as_str);
    let is_called = name.form == Form::Method || name.segments.len() > 1;
    is_called && matches!(last, "unwrap" | "expect")
}

/// What no code may hold, tests included, and why.
fn leftover(name: &Name) -> Option<&'static str> {
    match (&name.form, name.segments.last()?.as_str()) {
        (Form::Attribute, "ignore") => Some("a test that does not run is no test"),
        (Form::Macro, "todo" | "unimplemented") => Some("no stubs"),
        (Form::Macro, "dbg") => Some("left over from debugging"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::check;

    #[test]
    fn a_module_root_without_docs_or_with_logic_is_found() {
        let root = "src/a/mod.rs";
        check(module_roots, root, "mod b;", &[1]);
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
    fn panics_are_found_in_shipped_code_only() {
        check(
            leftovers,
            "src/a.rs",
            "fn f() {\n  g().unwrap();\n  h().expect(\"i\");\n}",
            &[2, 3],
        );
        check(
            leftovers,
            "src/a.rs",
            "#[cfg(test)] mod t { fn f() { g().unwrap() } }",
            &[],
        );
        let hidden = "fn f() {\n vec![g().unwrap()];\n h().map(Option::unwrap); }";
        check(leftovers, "src/a.rs", hidden, &[2, 3]);
        check(
            leftovers,
            "src/a.rs",
            "#[expect(b)] fn f() { g().unwrap_or(c.expect); if a.expect { b } } // .unwrap()",
            &[],
        );
        check(leftovers, "tests/a.rs", "fn f() { g().unwrap() }", &[]);
    }

    #[test]
    fn stubs_and_ignored_tests_are_found_everywhere() {
        for bad in [
            "todo!()",
            "unimplemented!(\"a\")",
            "dbg!(a)",
            "vec![dbg!(a)]",
            "#[ignore] fn g() {}",
            "#[ignore = \"slow\"] fn g() {}",
            "proptest! { #[ignore] fn g() {} }",
        ] {
            let code = format!("#[cfg(test)] mod t {{\n fn f() {{ {bad} }} }}");
            check(leftovers, "src/a.rs", &code, &[2]);
            check(leftovers, "tests/it/a.rs", &code, &[2]);
        }
    }
}
