//! Rules of docs/architecture.md and of the project's habits that a program can check.
//!
//! The rules read the working tree; none of them knows the library. Every finding names file, line and rule. Each rule
//! has samples that it must find fault with, so that it cannot rot into always passing.
//!
//! - `tree`: the files that belong to the project.
//! - `rust_source`: a Rust file as syn reads it: what it names and what it defines.
//! - `paths`: a path followed to the file that defines what it names.
//! - `modules`: the table of modules, which arrows it allows, what pure modules and single modules may name.
//! - `circles`: files of a module that import each other in a circle.
//! - `layers`: the layers of `src/cli`, and what a command may name of another.
//! - `habits`: shape of `mod.rs`, length of files, tests that do not run. What clippy finds is left to it (Cargo.toml, clippy.toml).
//! - `sentences`: code that compares a text with a sentence, in place of an enum.
//! - `text`: white space, width, links, paths and hosts of one machine.

mod circles;
mod habits;
mod layers;
mod modules;
mod paths;
mod rust_source;
mod sentences;
mod text;
mod tree;

use std::sync::LazyLock;

use modules::ModuleTable;
use tree::{Finding, Tree};

/// Runs one rule over the project's own tree.
fn clean(rule: impl Fn(&Tree) -> Vec<Finding>) {
    static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::load().unwrap());
    let findings = rule(&TREE);
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
}

fn table(tree: &Tree) -> ModuleTable {
    ModuleTable::parse(tree.text("docs/architecture.md").unwrap()).unwrap()
}

#[test]
fn modules_import_only_modules_with_a_smaller_number() {
    clean(|tree| modules::arrows(tree, &table(tree)));
}

#[test]
fn every_folder_of_src_is_a_built_module_of_the_table() {
    clean(|tree| modules::folders(tree, &table(tree)));
}

#[test]
fn pure_modules_name_nothing_impure() {
    clean(|tree| modules::purity(tree, &table(tree)));
}

#[test]
fn what_belongs_to_one_module_is_named_only_there() {
    clean(modules::confinement);
}

#[test]
fn files_of_a_module_do_not_import_each_other_in_a_circle() {
    clean(circles::circles);
}

#[test]
fn the_layers_of_the_command_line_name_only_lower_ones() {
    clean(layers::layers);
}

#[test]
fn module_roots_hold_docs_and_declarations_only() {
    clean(habits::module_roots);
}

#[test]
fn source_files_say_what_they_know() {
    clean(habits::module_docs);
}

#[test]
fn source_files_are_short() {
    clean(habits::length);
}

#[test]
fn no_code_recognises_our_own_sentences() {
    clean(sentences::sentences);
}

#[test]
fn every_test_runs() {
    clean(habits::ignored_tests);
}

#[test]
fn every_source_file_is_part_of_the_crate() {
    clean(modules::orphans);
}

#[test]
fn white_space_is_plain() {
    clean(text::white_space);
}

#[test]
fn prose_of_documents_is_wrapped() {
    clean(text::width);
}

#[test]
fn paragraphs_for_users_are_short() {
    clean(text::paragraphs);
}

#[test]
fn links_in_documents_lead_somewhere() {
    clean(text::links);
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    clean(text::machine);
}
