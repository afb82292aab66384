use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::paths::{Paths, Target};
use super::rust_source::{Form, SourceFile};
use super::tree::{Finding, Tree, folder_of};

/// One file of a module names what another defines.
#[derive(Debug, Clone)]
struct Arrow {
    from: String,
    to: String,
    line: usize,
    path: String,
}

/// By the file that they leave, one for each file that they reach.
type Arrows = BTreeMap<String, BTreeMap<String, Arrow>>;

/// No two files of a module, which is a folder of `src/` with all that is in it, import each other in a circle.
///
/// A file imports the file that defines what one of its `use`s or paths leads to, through re-exports and globs, in the
/// bodies of macros and the arguments of attributes too. So a `mod.rs`, which defines nothing, is never part of a
/// circle; a `foo.rs` with children is. These are no imports:
/// - the line `mod x;`,
/// - test code,
/// - methods and fields after a dot, since only the type's own file is named by its type,
/// - `Self`, and the self type of an `impl` block without a trait, since the methods of a type may lie in several files;
///   nor is the `use` that brings in the type, if the file names it nowhere else. An `impl` of a trait, the type's
///   fields, variants and functions (`Type::new()`), and all else that the block names are imports.
pub fn circles(tree: &Tree) -> Vec<Finding> {
    let arrows = arrows(tree.code());
    let mut findings = Vec::new();
    for circle in circles_of(&arrows) {
        let arrow = |arrow: &&Arrow| {
            let Arrow {
                from, line, path, ..
            } = arrow;
            format!("{from}:{line} names `{path}` of ")
        };
        let chain: Vec<String> = circle.iter().map(arrow).collect();
        let what = format!(
            "files import each other in a circle: {}{}",
            chain.concat(),
            circle[0].from
        );
        findings.push(Finding::new(&circle[0].from, circle[0].line, what));
    }
    findings
}

fn arrows(files: &[SourceFile]) -> Arrows {
    let paths = Paths::of(files);
    let mut arrows = Arrows::new();
    for file in files {
        let here = file.module();
        for name in file.shipped() {
            let imports = match &name.form {
                Form::Path | Form::Macro => true,
                Form::Use(alias) => !is_for_methods_only(file, alias),
                Form::SelfType | Form::Method | Form::Field | Form::Feature => false,
            };
            let targets = if imports {
                paths.resolve(&here, &name.segments)
            } else {
                Vec::new()
            };
            for target in targets {
                let to = match &target {
                    Target::Item(file) => *file,
                    Target::Module(module) if matches!(name.form, Form::Use(_)) => {
                        paths.file(module)
                    }
                    Target::Module(_) => continue, // a word in code that is no module there
                };
                let is_root = to.ends_with("/mod.rs") || folder_of(to).is_none();
                if to != file.path && !is_root && folder_of(to) == folder_of(&file.path) {
                    let arrow = Arrow {
                        from: file.path.clone(),
                        to: to.to_owned(),
                        line: name.line,
                        path: name.text(),
                    };
                    let from = arrows.entry(file.path.clone()).or_default();
                    from.entry(to.to_owned()).or_insert(arrow);
                }
            }
        }
    }
    arrows
}

/// True if a file uses a type only to write methods of it.
fn is_for_methods_only(file: &SourceFile, alias: &str) -> bool {
    let mut only = false;
    for name in file.shipped().filter(|name| name.segments[0] == alias) {
        match &name.form {
            Form::SelfType if name.segments.len() == 1 => only = true,
            Form::Method | Form::Field => {}
            _ => return false,
        }
    }
    only
}

/// For each arrow that lies on a circle the shortest one, the shortest circles first; none of which all arrows lie on
/// circles before it.
fn circles_of(arrows: &Arrows) -> Vec<Vec<&Arrow>> {
    let mut circles = Vec::new();
    for arrow in arrows.values().flat_map(BTreeMap::values) {
        circles.extend(way(arrows, &arrow.to, &arrow.from).map(|way| [&[arrow], &*way].concat()));
    }
    circles.sort_by_key(Vec::len);
    let mut seen = BTreeSet::new();
    circles.retain(|circle| {
        let before = seen.len();
        seen.extend(circle.iter().map(|arrow| (&arrow.from, &arrow.to)));
        seen.len() > before
    });
    circles
}

/// The shortest way from one file to another.
fn way<'a>(arrows: &'a Arrows, from: &'a str, to: &str) -> Option<Vec<&'a Arrow>> {
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = BTreeSet::new();
    while let Some((end, way)) = ways.pop_front() {
        if end == to {
            return Some(way);
        }
        for (next, arrow) in arrows.get(end).into_iter().flatten() {
            if seen.insert(next) {
                ways.push_back((next, [&*way, &[arrow]].concat()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files below `src/m/`, and where the circles begin.
    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("src/m/{path}"), *text))
            .collect();
        let files = files.iter().map(|(path, text)| (&**path, *text));
        let files: Vec<(&str, &str)> = files.chain([("src/lib.rs", "mod m;")]).collect();
        let findings = circles(&Tree::of(&files));
        let found: Vec<String> = findings
            .iter()
            .map(|f| format!("{}:{}", f.path, f.line))
            .collect();
        let expect: Vec<String> = expect.iter().map(|e| format!("src/m/{e}")).collect();
        assert_eq!(found, expect, "{files:#?}\n{findings:#?}");
    }

    /// `a.rs` defines `A` and imports `B` of `b.rs`; the text of `b.rs` is given.
    fn check_back(b: &str, expect: &[&str]) {
        let root = ("mod.rs", "mod a; mod b; pub use a::A; pub use b::B;");
        let a = (
            "a.rs",
            "use super::b::B;\npub struct A(B);\nimpl A { pub const C: u8 = 1; }",
        );
        check(&[root, a, ("b.rs", b)], expect);
    }

    #[test]
    fn two_files_that_import_each_other_are_found_however_it_is_written() {
        for back in [
            "use super::a::A;",
            "use crate::m::a::A;",
            "use crate::m::A;",
            "use super::A as Other;",
            "use super::{self, A};",
            "use super::a;",
            "use super::a::*;",
            "use super::*; fn f(a: A) {}",
            "use crate::m as n; fn f(a: n::A) {}",
            "fn f(a: &super::A) {}",
            "fn f() { super::super::m::A::C }",
            "fn f() { use super::A; }",
            "fn f() { println!(\"{}\", vec![super::A::C]) }",
            "fn f() { matches!(x, super::A { .. }) }",
            "mod inner { use super::super::A; }",
            "#[derive(C)] #[serde(with = \"super::A\")] struct D;",
            "#[arg(value_parser = super::A::C)] struct D;",
            "use super::A; impl A { fn f() { A::C } }",
            "use super::A; impl Clone for A {}",
            "macro_rules! m { () => { $crate::m::A } }",
        ] {
            check_back(&format!("pub struct B;\n{back}"), &["a.rs:1"]);
        }
    }

    #[test]
    fn methods_of_one_type_may_lie_in_several_files() {
        check_back(
            "use super::A;\nimpl A { fn f(&self) -> Self { self.g() } }\npub struct B;",
            &[],
        );
        check_back(
            "impl super::A { fn f(&self) { let super_a = self.a(); } }\npub struct B;",
            &[],
        );
        check_back(
            "#[cfg(test)] mod tests { use super::super::A; }\npub struct B;",
            &[],
        );
        check_back("/// [`super::A`]\npub struct B; // super::A", &[]);
    }

    #[test]
    fn a_longer_circle_is_found() {
        let a = ("a.rs", "\nuse super::b::B;\npub struct A;");
        let b = ("b.rs", "use super::c::C;\npub struct B;");
        let c = ("c.rs", "use crate::m::A;\npub struct C;");
        let root = ("mod.rs", "mod a; mod b; mod c; pub use a::*;");
        check(&[root, a, b, c], &["a.rs:2"]);
        check(&[root, a, b, ("c.rs", "pub struct C;")], &[]);
    }

    #[test]
    fn a_circle_through_folders_is_found() {
        let root = ("mod.rs", "mod a; mod d; pub use a::*;");
        let d = ("d/mod.rs", "mod e; pub use e::E;");
        let e = ("d/e.rs", "use super::super::a::A;\npub struct E;");
        check(
            &[root, ("a.rs", "pub struct A(super::d::E);"), d, e],
            &["a.rs:1"],
        );
    }

    #[test]
    fn a_file_and_its_own_child_may_not_import_each_other() {
        let root = ("mod.rs", "mod a;");
        let child = ("a/b.rs", "use super::A;\npub struct B;");
        check(
            &[
                root,
                ("a.rs", "mod b;\npub use b::B;\npub struct A;"),
                child,
            ],
            &["a.rs:2"],
        );
        check(&[root, ("a.rs", "mod b;\npub struct A;"), child], &[]);
    }

    #[test]
    fn what_a_macro_defines_belongs_to_the_file_that_calls_it() {
        let root = ("mod.rs", "mod a; mod b; pub use a::A;");
        let a = ("a.rs", "ids! { A }\nuse super::b::B;");
        check(
            &[root, a, ("b.rs", "use super::A;\npub struct B;")],
            &["a.rs:2"],
        );
    }
}
