use std::collections::BTreeSet;

use super::paths::{Paths, Target, from_root};
use super::rust_source::{Form, Name, SourceFile};
use super::tree::{Finding, Tree, folder_of, place_of};

/// The table of modules in docs/architecture.md: the only place where their order is written down.
#[derive(Debug)]
pub struct ModuleTable {
    modules: Vec<Module>,
}

#[derive(Debug, PartialEq, Eq)]
struct Module {
    number: usize,
    name: String,
    pure: bool,
    built: bool,
}

/// Something that code names.
enum Forbidden {
    /// A path with this prefix and more segments, or one that ends there after more than one segment.
    Path(&'static str),
    /// A segment anywhere in a path.
    Word(&'static str),
    /// A call of a macro.
    Macro(&'static str),
    /// The `cfg` of a feature.
    Feature,
}

use Forbidden::{Feature, Macro, Path, Word};

/// Names that no pure module may use outside its tests.
const IMPURE: [Forbidden; 15] = [
    Path("std::fs"),
    Path("std::env"),
    Path("std::net"),
    Path("std::process"),
    Path("std::thread"),
    Path("tokio"),
    Path("rand"),
    Path("getrandom"),
    Path("fastrand"),
    Path("reqwest"),
    Word("async"),
    Word("await"),
    Word("Instant"),
    Word("SystemTime"),
    Feature,
];

/// Names that only some places may use, a place being a module or a part of one.
struct Confined {
    names: &'static [Forbidden],
    places: &'static [&'static str],
    why: &'static str,
}

const CONFINED: [Confined; 6] = [
    Confined {
        names: &[Path("rusqlite")],
        places: &["store/sqlite/"],
        why: "only store/sqlite knows SQL",
    },
    Confined {
        names: &[Path("rmcp")],
        places: &["tools/mcp", "headend/mcp"],
        why: "only tools/mcp and headend/mcp name rmcp",
    },
    Confined {
        names: &[Path("statig")],
        places: &["kernel/"],
        why: "only kernel knows what the machine is built on",
    },
    Confined {
        names: &[Path("clap"), Path("miette")],
        places: &["cli/", "main.rs"],
        why: "only cli reads arguments and renders errors",
    },
    Confined {
        names: &[
            Macro("println"),
            Macro("eprintln"),
            Macro("print"),
            Macro("eprint"),
        ],
        places: &["cli/", "main.rs"],
        why: "only cli prints",
    },
    Confined {
        names: &[
            Word("Instant"),
            Word("SystemTime"),
            Word("JoinSet"),
            Path("std::thread"),
            Path("std::process"),
            Path("tokio::spawn"),
            Path("tokio::task"),
            Path("tokio::time"),
            Path("tokio::process"),
        ],
        places: &[
            "driver/",
            "inference/",
            "tools/",
            "store/",
            "work_tree/",
            "service/",
            "headend/",
            "cli/",
            "main.rs",
        ],
        why: "only modules that perform effects spawn and read clocks",
    },
];

impl Forbidden {
    fn is(&self, name: &Name) -> bool {
        match self {
            Path(prefix) => {
                let is_path = name.segments.len() > 1 || matches!(name.form, Form::Use(_));
                is_path && name.starts_with(prefix)
            }
            Word(word) => name.segments.iter().any(|segment| segment == word),
            Macro(word) => {
                name.form == Form::Macro && name.segments.last().is_some_and(|last| last == word)
            }
            Feature => name.form == Form::Feature,
        }
    }
}

impl ModuleTable {
    /// Reads the rows `| number | module | purpose | pure | built |`.
    ///
    /// # Errors
    /// The first row of which a cell does not have its form, or a table whose numbers do not count up from 1.
    pub fn parse(document: &str) -> Result<Self, String> {
        let mut modules = Vec::new();
        for line in document.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, number, name, _, pure, built, _] = cells.as_slice() else {
                continue;
            };
            let Ok(number) = number.parse() else {
                continue;
            };
            let yes = |cell: &str| match cell {
                "yes" => Ok(true),
                "no" | "later" => Ok(false),
                _ => Err(format!("{line}\nexpected yes, no or later, got {cell:?}")),
            };
            let name = name
                .strip_prefix('`')
                .and_then(|name| name.strip_suffix("/`"));
            modules.push(Module {
                number,
                name: name
                    .ok_or_else(|| format!("{line}\nexpected `name/`"))?
                    .to_owned(),
                pure: yes(pure)?,
                built: yes(built)?,
            });
        }
        let in_order = modules
            .iter()
            .enumerate()
            .all(|(at, module)| module.number == at + 1);
        if modules.is_empty() || !in_order {
            return Err("expected a table of modules numbered from 1".to_owned());
        }
        Ok(Self { modules })
    }

    fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }

    fn module_of(&self, path: &str) -> Option<&Module> {
        self.module(folder_of(path)?)
    }
}

/// Every folder of `src/core` and `src/host`, and every other crate, is a module that the table calls built.
pub fn folders(tree: &Tree, table: &ModuleTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut last = "";
    for (path, _) in tree.sources() {
        let Some(folder) = folder_of(path).filter(|folder| *folder != last) else {
            continue;
        };
        last = folder;
        // Test code of several crates; production code cannot depend on it.
        if folder == "testkit" {
            continue;
        }
        if !table.module(folder).is_some_and(|module| module.built) {
            let what = format!("docs/architecture.md has no built module `{folder}/`");
            findings.push(Finding::new(path, 1, what));
        }
    }
    findings
}

/// Every file of `src/` is declared by another one: what is not is never compiled.
pub fn orphans(tree: &Tree) -> Vec<Finding> {
    let files = tree.code();
    let declared: BTreeSet<Vec<String>> = files
        .iter()
        .flat_map(|file| {
            let children = file.modules.iter();
            children.map(|child| [file.module(), vec![child.clone()]].concat())
        })
        .collect();
    let orphans = files.iter().filter(|file| {
        let module = file.module();
        let is_root = file.path.ends_with("/lib.rs") || file.path == "src/main.rs";
        !is_root && !declared.contains(&module)
    });
    let found = orphans.map(|file| Finding::new(&file.path, 1, "no file declares this one"));
    found.collect()
}

/// A module names only modules with a smaller number, in its tests too.
pub fn arrows(tree: &Tree, table: &ModuleTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree.code();
    let paths = Paths::of(files);
    for file in files {
        let Some(from) = table.module_of(&file.path) else {
            continue;
        };
        for name in &file.names {
            let higher = |to: &&Module| to.number > from.number;
            if let Some(to) = targets(file, name, &paths, table).find(higher) {
                let what = format!(
                    "module {} `{}` may not name module {} `{}`: `{}`",
                    from.number,
                    from.name,
                    to.number,
                    to.name,
                    name.text()
                );
                findings.push(Finding::new(&file.path, name.line, what));
            }
        }
    }
    findings
}

/// The modules that a path names, by the words in it or by the exports of `lib.rs`.
fn targets<'m>(
    file: &SourceFile,
    name: &Name,
    paths: &Paths,
    table: &'m ModuleTable,
) -> impl Iterator<Item = &'m Module> {
    let path = from_root(&file.module(), &name.segments);
    let named = path.as_ref().and_then(|path| table.module(path.first()?));
    let exported = path.iter().filter(|_| named.is_none());
    let exported = exported.flat_map(|path| paths.resolve(&[], path));
    let exported: Vec<&Module> = exported
        .filter_map(|target| match target {
            Target::Item(file) => table.module_of(file),
            Target::Module(_) => None,
        })
        .collect();
    named.into_iter().chain(exported)
}

/// Pure modules name no clock, no I/O, no randomness, no environment, and have no feature flags.
pub fn purity(tree: &Tree, table: &ModuleTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.code() {
        let Some(module) = table.module_of(&file.path).filter(|module| module.pure) else {
            continue;
        };
        for name in file.shipped() {
            if IMPURE.iter().any(|impure| impure.is(name)) {
                let what = format!(
                    "pure module `{}` may not name `{}`",
                    module.name,
                    name.text()
                );
                findings.push(Finding::new(&file.path, name.line, what));
            }
        }
    }
    findings
}

/// Some paths and macros belong to one module, or to few.
pub fn confinement(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.code() {
        let place = place_of(&file.path).unwrap_or(&file.path);
        let abroad: Vec<&Confined> = CONFINED
            .iter()
            .filter(|rule| !rule.places.iter().any(|home| place.starts_with(home)))
            .collect();
        for name in file.shipped() {
            for rule in &abroad {
                if rule.names.iter().any(|confined| confined.is(name)) {
                    let what = format!("{}: `{}`", rule.why, name.text());
                    findings.push(Finding::new(&file.path, name.line, what));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::check;

    const TABLE: &str = "\
| # | module | purpose | pure | built |
|---|---|---|---|---|
| 1 | `low/` | below | yes | yes |
| 2 | `high/` | above | no | yes |
| 3 | `new/` | to come | no | later |
";

    fn table() -> ModuleTable {
        ModuleTable::parse(TABLE).unwrap()
    }

    #[test]
    fn a_table_with_a_gap_or_an_unknown_mark_is_refused() {
        assert!(ModuleTable::parse("no table").is_err());
        assert!(ModuleTable::parse(&TABLE.replace("| 2 |", "| 4 |")).is_err());
        assert!(ModuleTable::parse(&TABLE.replace("later", "soon")).is_err());
        assert!(ModuleTable::parse(&TABLE.replace("`low/`", "low")).is_err());
    }

    #[test]
    fn an_arrow_upwards_is_found_however_it_is_written() {
        let arrows = |tree: &Tree| arrows(tree, &table());
        let low = "src/low/thing.rs";
        check(arrows, low, "use crate::high::A;", &[1]);
        check(arrows, low, "\nuse crate::{low::B, high::{A, C}};", &[2, 2]);
        check(arrows, low, "use crate::high;", &[1]);
        check(arrows, low, "fn f() { crate::high::a() }", &[1]);
        check(arrows, low, "use super::super::high::A;", &[1]);
        check(arrows, "src/low/mod.rs", "use super::high::A;", &[1]);
        let hidden = "fn f() {\n vec![matches!(x, crate::high::A)];\n}\n#[serde(with = \"crate::high::a\")]\nstruct B;";
        check(arrows, low, hidden, &[2, 4]);
        check(
            arrows,
            low,
            "#[cfg(test)]\nmod tests { use crate::high::A; }",
            &[2],
        );
    }

    #[test]
    fn an_arrow_upwards_by_the_facade_is_found() {
        let root = ("src/lib.rs", "mod high;\npub use high::A;");
        let high = ("src/high/mod.rs", "mod a;\npub use a::A;");
        let a = ("src/high/a.rs", "pub struct A;");
        let found = |text| {
            let low = ("src/low/thing.rs", text);
            arrows(&Tree::of(&[root, high, a, low]), &table()).len()
        };
        assert_eq!(found("use crate::A;"), 1);
    }

    #[test]
    fn an_arrow_to_another_crate_is_found() {
        let high = ("src/host/high/mod.rs", "pub struct A;");
        let found = |text| {
            let low = ("src/core/low/thing.rs", text);
            arrows(&Tree::of(&[high, low]), &table()).len()
        };
        assert_eq!(found("use monolith_host::high::A;"), 1);
        assert_eq!(found("use monolith_core::low::A;"), 0);
    }

    #[test]
    fn arrows_downwards_and_inside_a_module_are_allowed() {
        let arrows = |tree: &Tree| arrows(tree, &table());
        check(
            arrows,
            "src/high/a.rs",
            "use crate::low::B; use crate::high::C;",
            &[],
        );
        check(
            arrows,
            "src/low/a.rs",
            "use super::high::A; // crate::high::A",
            &[],
        );
        check(arrows, "src/lib.rs", "pub use crate::high::A;", &[]);
    }

    #[test]
    fn a_folder_that_is_no_built_module_is_found() {
        let folders = |tree: &Tree| folders(tree, &table());
        check(folders, "src/other/mod.rs", "", &[1]);
        check(folders, "src/new/mod.rs", "", &[1]);
        check(folders, "src/low/mod.rs", "", &[]);
        check(folders, "src/core/low/mod.rs", "", &[]);
        check(folders, "src/core/other/mod.rs", "", &[1]);
        check(folders, "src/lib.rs", "", &[]);
    }

    #[test]
    fn a_file_that_is_not_declared_is_found() {
        let found = |root, module| {
            let files = [
                ("src/lib.rs", root),
                ("src/low/mod.rs", module),
                ("src/low/a.rs", ""),
                ("src/main.rs", ""),
            ];
            let findings = orphans(&Tree::of(&files));
            findings
                .into_iter()
                .map(|finding| finding.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("mod low;", "#[cfg(test)]\nmod a;"),
            Vec::<String>::new()
        );
        assert_eq!(found("mod low;", "// mod a;"), ["src/low/a.rs"]);
        assert_eq!(found("", "mod a;"), ["src/low/mod.rs"]);
    }

    #[test]
    fn impure_names_are_found_in_pure_modules_only() {
        let purity = |tree: &Tree| purity(tree, &table());
        for bad in [
            "async fn f() {}",
            "fn f() { x.await }",
            "use std::{fmt, fs};",
            "use std::time::{Duration, Instant};",
            "fn f() { std::env::var(x) }",
            "use tokio::sync::Mutex;",
            "fn f() { rand::random() }",
            "#[cfg(feature = \"x\")] fn f() {}",
            "#[cfg_attr(any(unix, feature = \"x\"), y)] fn f() {}",
            "fn f() { cfg!(feature = \"x\") }",
            "fn f() { vec![std::env::var(x)] }",
            "use tokio as t;",
        ] {
            check(purity, "src/low/a.rs", bad, &[1]);
            check(purity, "src/high/a.rs", bad, &[]);
            check(
                purity,
                "src/low/a.rs",
                &format!("#[cfg(test)] mod tests {{ {bad} }}"),
                &[],
            );
        }
        check(
            purity,
            "src/low/a.rs",
            "use std::time::Duration; fn rand() {}",
            &[],
        );
    }

    #[test]
    fn confined_names_are_found_outside_their_places() {
        for (bad, home) in [
            ("use rusqlite::Connection;", "src/store/sqlite/a.rs"),
            (
                "fn f() { matches!(x, rusqlite::Error::A) }",
                "src/store/sqlite/a.rs",
            ),
            ("use rmcp::model;", "src/tools/mcp/a.rs"),
            ("use statig::blocking;", "src/kernel/a.rs"),
            ("#[derive(clap::Parser)] struct A;", "src/cli/a.rs"),
            ("fn f() { println!(\"a\") }", "src/cli/a.rs"),
            ("fn f() { std::eprintln![\"a\"] }", "src/cli/a.rs"),
            ("fn f() { tokio::spawn(x) }", "src/driver/a.rs"),
            ("fn f() { std::time::Instant::now() }", "src/inference/a.rs"),
        ] {
            check(confinement, home, bad, &[]);
            check(confinement, "src/adapter/a.rs", bad, &[1]);
            check(
                confinement,
                "src/adapter/a.rs",
                &format!("#[cfg(test)] mod t {{ {bad} }}"),
                &[],
            );
        }
        check(confinement, "src/tools/rest.rs", "use rmcp::model;", &[1]);
        check(
            confinement,
            "src/adapter/a.rs",
            "fn print() {} // println!",
            &[],
        );
    }
}
