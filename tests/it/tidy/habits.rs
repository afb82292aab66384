use super::rust_source::{RustSource, line_of, sources};
use super::tree::{Finding, Tree, has_extension};

const MOST_LINES: usize = 500;
const AIM_LINES: usize = 400;

/// What shipped code may not hold, and why.
const PANICS: [(&str, &str); 2] = [
    (
        ".unwrap()",
        "nothing panics: return the error or use a total function",
    ),
    (
        ".expect(",
        "nothing panics: return the error or use a total function",
    ),
];
/// What no code may hold, tests included.
const LEFTOVERS: [(&str, &str); 4] = [
    ("#[ignore", "a test that does not run is no test"),
    ("todo!(", "no stubs"),
    ("unimplemented!(", "no stubs"),
    ("dbg!(", "left over from debugging"),
];

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
        let code = RustSource::new(text).shipped;
        let mut at = 0;
        for item in code.split_inclusive(';') {
            let start = at + item.len() - item.trim_start().len();
            at += item.len();
            let bare = without_attributes(item.trim());
            if !bare.is_empty() && !is_declaration(bare) {
                let what = "a module root holds only docs, `mod` and `use`";
                findings.push(Finding::new(path, line_of(&code, start), what));
            }
        }
    }
    findings
}

/// Drops `#[..]` and `#![..]` from the front of an item.
fn without_attributes(item: &str) -> &str {
    let mut rest = item;
    while let Some(attribute) = rest.strip_prefix('#') {
        let mut depth = 0;
        let end = attribute.char_indices().find_map(|(at, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            (c == ']' && depth == 0).then_some(at + 1)
        });
        rest = attribute[end.unwrap_or(attribute.len())..].trim_start();
    }
    rest
}

fn is_declaration(item: &str) -> bool {
    if item == ";" {
        return true; // what an item under #[cfg(test)] leaves behind
    }
    let open = item.strip_prefix("pub").map_or(item, str::trim_start);
    let open = match open
        .strip_prefix('(')
        .and_then(|scope| scope.split_once(')'))
    {
        Some((_, rest)) => rest.trim_start(),
        None => open,
    };
    item.ends_with(';') && (open.starts_with("mod ") || open.starts_with("use "))
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
    let mut findings = Vec::new();
    let mut report = |path: &str, code: &str, rules: &[(&str, &str)]| {
        for (word, why) in rules {
            for (at, _) in code.match_indices(word) {
                let what = format!("`{word}`: {why}");
                findings.push(Finding::new(path, line_of(code, at), what));
            }
        }
    };
    for file in sources(tree) {
        report(file.path, &file.source.shipped, &PANICS);
    }
    let rust = |path: &str| has_extension(path, &["rs"]);
    for (path, text) in tree.files().filter(|(path, _)| rust(path)) {
        report(path, &RustSource::new(text).all, &LEFTOVERS);
    }
    findings
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
            "//! Room under construction.\n",
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
        check(
            leftovers,
            "src/a.rs",
            "#[expect(b)] fn f() { g().unwrap_or(1) } // .unwrap()",
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
            "#[ignore]",
            "#[ignore = \"slow\"]",
        ] {
            let code = format!("#[cfg(test)] mod t {{\n fn f() {{ {bad} }} }}");
            check(leftovers, "src/a.rs", &code, &[2]);
            check(leftovers, "tests/it/a.rs", &code, &[2]);
        }
    }
}
