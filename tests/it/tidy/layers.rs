use std::collections::BTreeSet;

use super::paths::from_root;
use super::rust_source::SourceFile;
use super::tree::{Finding, Tree};

/// The layers of `src/cli`, the lowest first. Files outside them are the program, which may name everything.
const LAYERS: [&str; 3] = ["ui", "context", "commands"];

/// A layer of `src/cli` names itself and lower ones; a command names of another command only what that one's `mod.rs` exports.
pub fn layers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree.code();
    let modules: BTreeSet<Vec<String>> = files.iter().map(SourceFile::module).collect();
    let is_module = |module: &[String]| modules.contains(module);
    for file in files {
        let here = file.module();
        let Some(layer) = layer_of(&here) else {
            continue;
        };
        for name in &file.names {
            let Some(path) = from_root(&here, &name.segments) else {
                continue;
            };
            if path.first().is_none_or(|module| module != "cli") || path.len() < 2 {
                continue;
            }
            let what = match layer_of(&path) {
                None => Some(format!("`cli/{}` may not name the program", LAYERS[layer])),
                Some(to) if to > layer => Some(format!(
                    "`cli/{}` may not name `cli/{}`",
                    LAYERS[layer], LAYERS[to]
                )),
                Some(_) if is_foreign(&here, &path, is_module) => {
                    Some("of another command only what its mod.rs exports may be named".to_owned())
                }
                Some(_) => None,
            };
            findings.extend(what.map(|what| {
                Finding::new(&file.path, name.line, format!("{what}: `{}`", name.text()))
            }));
        }
    }
    findings.extend(files.iter().filter_map(open_folder));
    findings
}

fn layer_of(module: &[String]) -> Option<usize> {
    let [cli, layer, ..] = module else {
        return None;
    };
    let at = LAYERS.iter().position(|name| name == layer);
    at.filter(|_| cli == "cli")
}

/// True if a path leads into a file of another command.
fn is_foreign(here: &[String], path: &[String], is_module: impl Fn(&[String]) -> bool) -> bool {
    let is_command = |module: &[String]| module.len() > 3 && module[1] == "commands";
    is_command(path) && path.len() > 4 && path[2] != here[2] && is_module(&path[..4])
}

/// The files of a command are its own: its `mod.rs` declares none of them for others.
fn open_folder(file: &SourceFile) -> Option<Finding> {
    let module = file.module();
    let is_command = module.len() == 3 && module[..2] == ["cli", "commands"];
    let open = file.open_modules.first().filter(|_| is_command)?;
    let what = format!("a command keeps its files to itself: `mod {open}` is not private");
    Some(Finding::new(&file.path, 1, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "//! A command.\nmod run;\npub use run::r;";

    fn check_file(path: &str, text: &str, expect: usize) {
        let files = [
            ("src/cli/commands/one/mod.rs", COMMAND),
            ("src/cli/commands/one/run.rs", "pub fn r() {}"),
            ("src/cli/commands/two/mod.rs", COMMAND),
            ("src/cli/ui/escape.rs", "pub fn e() {}"),
            ("src/cli/context/app.rs", "pub struct App;"),
            ("src/cli/program.rs", "pub fn main() {}"),
            (path, text),
        ];
        let findings = layers(&Tree::of(&files));
        assert_eq!(findings.len(), expect, "{path}: {text}\n{findings:#?}");
    }

    #[test]
    fn a_layer_names_only_itself_and_lower_ones() {
        let ui = "src/cli/ui/a.rs";
        check_file(ui, "use super::escape::e;", 0);
        check_file(ui, "use monolith_core::view::RunView;", 0);
        check_file(ui, "use crate::context::app::App;", 1);
        check_file(ui, "fn f() { crate::commands::one::r() }", 1);
        check_file(ui, "use super::super::program::main;", 1);
        let context = "src/cli/context/a.rs";
        check_file(context, "use crate::ui::escape::e;", 0);
        check_file(context, "use crate::commands::one::r;", 1);
        let command = "src/cli/commands/two/a.rs";
        check_file(command, "use crate::{context::app::App, ui::escape};", 0);
        check_file(command, "use crate::program::main;", 1);
        check_file("src/cli/program.rs", "use super::commands::one::r;", 0);
    }

    #[test]
    fn a_command_knows_no_file_of_another_one() {
        let command = "src/cli/commands/two/a.rs";
        check_file(command, "use crate::commands::one::r;", 0);
        check_file(command, "use crate::commands::one::run::r;", 1);
        check_file(command, "use super::super::one::run::r;", 1);
        check_file("src/cli/commands/one/a.rs", "use super::run::r;", 0);
        check_file(
            "src/cli/commands/three/mod.rs",
            "//! d\npub(crate) mod run;",
            1,
        );
    }
}
