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
    delegation: "docs/recipes/delegation.md",
    embedding: "docs/recipes/embedding.md",
    failure: "docs/recipes/failure.md",
    fallback: "docs/recipes/fallback.md",
    first_agent: "docs/recipes/first-agent.md",
    first_hour: "docs/first-hour.md",
    mcp: "docs/recipes/mcp.md",
    own_model: "docs/recipes/own-model.md",
    readme: "README.md",
    rest: "docs/recipes/rest.md",
    without_a_model: "docs/recipes/without-a-model.md",
    work_item: "docs/recipes/work-item.md",
    workflow: "docs/recipes/workflow.md",
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
fn the_readme_is_short_says_what_is_not_proven_and_names_what_others_do_better() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.lines().count() < 120);
    for page in ["docs/proven.md", "docs/platforms.md", "docs/recipes/"] {
        assert!(readme.contains(&format!("]({page}")), "{page}");
    }
    let rows = readme.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let lost = cells.filter(|cells| cells[2].starts_with('–'));
    assert!(lost.count() > 0, "a row that others win");
    let models = std::fs::read_to_string(root.join("docs/models.md")).unwrap();
    assert!(models.contains("](retries.md)"));
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
