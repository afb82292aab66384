use super::rust_source::{NamedPath, SourceFile, line_of, paths, sources};
use super::tree::{Finding, Tree};

/// The table of rooms in docs/architecture.md: the only place where their order is written down.
#[derive(Debug)]
pub struct RoomTable {
    rooms: Vec<Room>,
}

#[derive(Debug, PartialEq, Eq)]
struct Room {
    number: usize,
    name: String,
    pure: bool,
    built: bool,
}

/// Something that code names.
enum Name {
    /// A path that begins so and goes on, or ends there after more than one segment.
    Path(&'static str),
    /// A segment anywhere in a path.
    Word(&'static str),
    /// A call of a macro.
    Macro(&'static str),
}

use Name::{Macro, Path, Word};

/// What no pure room may name outside its tests.
const IMPURE: [Name; 14] = [
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
];

/// What only some places may name, a place being a room or a part of one.
struct Confined {
    names: &'static [Name],
    places: &'static [&'static str],
    why: &'static str,
}

const CONFINED: [Confined; 6] = [
    Confined {
        names: &[Path("rusqlite")],
        places: &["store/"],
        why: "only store knows SQL",
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
            "headend/",
            "cli/",
            "main.rs",
        ],
        why: "only rooms that perform effects spawn and read clocks",
    },
];

impl Name {
    fn is_in(&self, path: &NamedPath) -> bool {
        match self {
            Path(prefix) => path.segments.len() > 1 && path.starts_with(prefix),
            Word(word) => path.segments.iter().any(|segment| segment == word),
            Macro(name) => path.bang && path.segments.last().is_some_and(|last| last == name),
        }
    }
}

impl RoomTable {
    /// Reads the rows `| number | room | purpose | pure | built |`.
    ///
    /// # Errors
    /// The first row of which a cell does not have its form, or a table whose numbers do not count up from 1.
    pub fn parse(document: &str) -> Result<Self, String> {
        let mut rooms = Vec::new();
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
            rooms.push(Room {
                number,
                name: name
                    .ok_or_else(|| format!("{line}\nexpected `name/`"))?
                    .to_owned(),
                pure: yes(pure)?,
                built: yes(built)?,
            });
        }
        let in_order = rooms
            .iter()
            .enumerate()
            .all(|(at, room)| room.number == at + 1);
        if rooms.is_empty() || !in_order {
            return Err("expected a table of rooms numbered from 1".to_owned());
        }
        Ok(Self { rooms })
    }

    fn room(&self, name: &str) -> Option<&Room> {
        self.rooms.iter().find(|room| room.name == name)
    }

    fn room_of(&self, path: &str) -> Option<&Room> {
        self.room(folder_of(path)?)
    }
}

/// The folder of `src/` in which a file lies.
fn folder_of(path: &str) -> Option<&str> {
    Some(path.strip_prefix("src/")?.split_once('/')?.0)
}

/// Every folder of `src/` is a room that the table calls built.
pub fn folders(tree: &Tree, table: &RoomTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut last = "";
    for (path, _) in tree.sources() {
        let Some(folder) = folder_of(path).filter(|folder| *folder != last) else {
            continue;
        };
        last = folder;
        if !table.room(folder).is_some_and(|room| room.built) {
            let what = format!("docs/architecture.md has no built room `{folder}/`");
            findings.push(Finding::new(path, 1, what));
        }
    }
    findings
}

/// A room names only rooms with a smaller number, in its tests too.
pub fn arrows(tree: &Tree, table: &RoomTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in sources(tree) {
        let Some(from) = table.room_of(file.path) else {
            continue;
        };
        for path in paths(&file.source.all) {
            let target = target_room(&file, &path).and_then(|name| table.room(name));
            if let Some(to) = target.filter(|to| to.number > from.number) {
                let what = format!(
                    "room {} `{}` may not name room {} `{}`: `{}`",
                    from.number,
                    from.name,
                    to.number,
                    to.name,
                    path.text()
                );
                findings.push(Finding::new(file.path, path.line, what));
            }
        }
    }
    findings
}

/// The first segment that a path names below the root of the crate, where it is known to begin there.
fn target_room<'p>(file: &SourceFile, path: &'p NamedPath) -> Option<&'p str> {
    let ups = path.segments.iter().take_while(|s| *s == "super").count();
    let from_root = match path.segments.first().map(String::as_str) {
        Some("crate" | "monolith") => 1,
        // `src/a/mod.rs` is one level below the root, `src/a/b.rs` two.
        Some("super") => {
            let parts = file.path.matches('/').count();
            let depth = parts - usize::from(file.path.ends_with("/mod.rs"));
            if ups < depth {
                return None;
            }
            ups
        }
        _ => return None,
    };
    path.segments.get(from_root).map(String::as_str)
}

/// Pure rooms name no clock, no I/O, no randomness, no environment, and have no feature flags.
pub fn purity(tree: &Tree, table: &RoomTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in sources(tree) {
        let Some(room) = table.room_of(file.path).filter(|room| room.pure) else {
            continue;
        };
        let code = &file.source.shipped;
        let mut report = |line, what: &str| {
            let what = format!("pure room `{}` may not name `{what}`", room.name);
            findings.push(Finding::new(file.path, line, what));
        };
        for path in paths(code) {
            if IMPURE.iter().any(|name| name.is_in(&path)) {
                report(path.line, &path.text());
            }
        }
        for flag in ["cfg(feature", "cfg_attr(feature", "cfg!(feature"] {
            for (at, _) in code.match_indices(flag) {
                report(line_of(code, at), flag);
            }
        }
    }
    findings
}

/// Some paths and macros belong to one room, or to few.
pub fn confinement(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in sources(tree) {
        let place = file.path.strip_prefix("src/").unwrap_or(file.path);
        let abroad: Vec<&Confined> = CONFINED
            .iter()
            .filter(|rule| !rule.places.iter().any(|home| place.starts_with(home)))
            .collect();
        for path in paths(&file.source.shipped) {
            for rule in &abroad {
                if rule.names.iter().any(|name| name.is_in(&path)) {
                    let what = format!("{}: `{}`", rule.why, path.text());
                    findings.push(Finding::new(file.path, path.line, what));
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
| # | room | purpose | pure | built |
|---|---|---|---|---|
| 1 | `low/` | below | yes | yes |
| 2 | `high/` | above | no | yes |
| 3 | `new/` | to come | no | later |
";

    fn table() -> RoomTable {
        RoomTable::parse(TABLE).unwrap()
    }

    #[test]
    fn a_table_with_a_gap_or_an_unknown_mark_is_refused() {
        assert!(RoomTable::parse("no table").is_err());
        assert!(RoomTable::parse(&TABLE.replace("| 2 |", "| 4 |")).is_err());
        assert!(RoomTable::parse(&TABLE.replace("later", "soon")).is_err());
        assert!(RoomTable::parse(&TABLE.replace("`low/`", "low")).is_err());
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
        check(
            arrows,
            low,
            "#[cfg(test)]\nmod tests { use crate::high::A; }",
            &[2],
        );
    }

    #[test]
    fn arrows_downwards_and_inside_a_room_are_allowed() {
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
    fn a_folder_that_is_no_built_room_is_found() {
        let folders = |tree: &Tree| folders(tree, &table());
        check(folders, "src/other/mod.rs", "", &[1]);
        check(folders, "src/new/mod.rs", "", &[1]);
        check(folders, "src/low/mod.rs", "", &[]);
        check(folders, "src/lib.rs", "", &[]);
    }

    #[test]
    fn impure_names_are_found_in_pure_rooms_only() {
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
            ("use rusqlite::Connection;", "src/store/a.rs"),
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
