//! The pages of docs/ that show commands, played as a person at a terminal would: every command of a page is run, and its
//! output must match the page, except for what varies (times, ids, hashes).
//!
//! - `page`: a page as files, commands and what they show.
//! - `same`: two texts compared without what varies, and which ids in them correspond.
//! - `model`: a model server on loopback that gives the answers of a page.
//! - `player`: a page, played.
//! - `named`: commands that are only named.
//!
//! `MONOLITH_BLESS=1` writes what is shown into the pages (`scripts/record-pages`). `MONOLITH_KEEP=FOLDER` keeps the folder in
//! which a page was played. `MONOLITH_REGISTRIES=1` also plays what needs the network.

mod model;
mod named;
mod page;
mod player;
mod same;

use std::collections::BTreeSet;
use std::path::Path;

use player::play;

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        /// The pages that are played.
        const PAGES: &[&str] = &[$($path),*];

        $(#[test]
        fn $name() {
            play($path);
        })*
    };
}

pages! {
    approval: "docs/recipes/approval.md",
    audit: "docs/recipes/audit.md",
    ci: "docs/recipes/ci.md",
    coder: "docs/recipes/coder.md",
    crash: "docs/recipes/crash.md",
    embedding: "docs/recipes/embedding.md",
    failure: "docs/recipes/failure.md",
    fallback: "docs/recipes/fallback.md",
    first_agent: "docs/recipes/first-agent.md",
    first_hour: "docs/first-hour.md",
    mcp: "docs/recipes/mcp.md",
    own_model: "docs/recipes/own-model.md",
    readme: "README.md",
    without_a_model: "docs/recipes/without-a-model.md",
}

#[test]
fn every_recipe_is_played() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .map(|name| format!("docs/recipes/{name}"))
        .collect();
    let played: BTreeSet<String> = PAGES
        .iter()
        .filter(|path| path.starts_with("docs/recipes/"))
        .map(|path| (*path).to_owned())
        .collect();
    assert_eq!(there, played);
}

#[test]
fn the_coding_agent_of_the_page_is_the_shipped_one() {
    let read = |path: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(root.join(path)).unwrap()
    };
    let page = page::Page::parse(&read("docs/recipes/coder.md"));
    let of_page = page.steps.iter().find_map(|step| match step {
        page::Step::File { name, text } if name == "contracts/coder.yaml" => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(of_page, Some(read("contracts/coder.yaml").as_str()));
}
