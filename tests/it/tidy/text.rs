use super::tree::{Finding, Tree, has_extension};

/// The extensions of files that people write by hand; data and snapshots keep the bytes they have.
const WRITTEN: [&str; 6] = ["rs", "md", "toml", "yaml", "yml", "sh"];

/// Beginnings of paths that exist on one machine only. Put together here, so that this file does not hold them.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
    concat!("/", "Users/"),
];
/// Hosts and settings of package registries.
const REGISTRIES: [&str; 8] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("registry", ".npmjs"),
    concat!("proxy", ".golang.org"),
    concat!("index", "-url"),
    concat!("replace", "-with"),
    concat!("find", "-links"),
];

/// No tabs, no white space at the end of a line, no CRLF, a line feed at the end.
pub fn white_space(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let written = |path: &str| has_extension(path, &WRITTEN) || path.starts_with(".ci/");
    for (path, text) in tree.files().filter(|(path, _)| written(path)) {
        for (at, line) in text.split('\n').enumerate() {
            let bare = line.strip_suffix('\r').unwrap_or(line);
            let mut report = |what| findings.push(Finding::new(path, at + 1, what));
            if bare.len() < line.len() {
                report("CRLF");
            }
            if bare.contains('\t') {
                report("tab");
            }
            if bare.trim_end() != bare {
                report("white space at the end of the line");
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(Finding::new(
                path,
                text.lines().count(),
                "no line feed at the end",
            ));
        }
    }
    findings
}

/// Maximum number of characters in a line of prose.
const WIDTH: usize = 100;

/// Prose of README.md and docs/ is wrapped (`scripts/wrap-docs`); tables, code, and a line with a long piece of code are not.
pub fn width(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let wrapped = |path: &str| {
        has_extension(path, &["md"]) && (path.starts_with("docs/") || path == "README.md")
    };
    for (path, text) in tree.files().filter(|(path, _)| wrapped(path)) {
        let mut fenced = false;
        for (at, line) in text.lines().enumerate() {
            let bare = line.trim_start();
            fenced ^= bare.starts_with("```");
            let code = line.split('`').skip(1).step_by(2);
            let long_code = code.map(|code| code.chars().count()).max() > Some(WIDTH - 20);
            if !fenced && !bare.starts_with('|') && !long_code && line.chars().count() > WIDTH {
                findings.push(Finding::new(path, at + 1, "longer than 100 columns"));
            }
        }
    }
    findings
}

/// Maximum number of lines in a paragraph for users.
const PARAGRAPH: usize = 4;
/// The pages for auditors and builders, who need every detail in its place.
const DENSE: [&str; 3] = ["docs/architecture.md", "docs/audit/", "docs/design/"];

/// README.md and the pages for users have short paragraphs. An item of a list is one.
pub fn paragraphs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let for_users = |path: &str| {
        let dense = DENSE.iter().any(|dense| path.starts_with(dense));
        has_extension(path, &["md"]) && (path.starts_with("docs/") || path == "README.md") && !dense
    };
    for (path, text) in tree.files().filter(|(path, _)| for_users(path)) {
        let (mut fenced, mut lines) = (false, 0);
        for (at, line) in text.lines().enumerate() {
            let bare = line.trim_start();
            fenced ^= bare.starts_with("```");
            let numbered = bare.trim_start_matches(|c: char| c.is_ascii_digit());
            let item = bare.starts_with("- ")
                || (numbered.len() < bare.len() && numbered.starts_with(". "));
            lines = match bare {
                _ if fenced => 0,
                "" => 0,
                _ if bare.starts_with(['|', '#', '<']) || bare.starts_with("```") => 0,
                _ if item => 1,
                _ => lines + 1,
            };
            if lines == PARAGRAPH + 1 {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    "a paragraph of more than four lines",
                ));
            }
        }
    }
    findings
}

/// A link in a document at the root or in docs/ leads to a file of the repository, or out of it by a URL.
pub fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let document = |path: &str| {
        has_extension(path, &["md"]) && (path.starts_with("docs/") || !path.contains('/'))
    };
    for (path, text) in tree.files().filter(|(path, _)| document(path)) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in link_targets(text) {
            let found = resolve(folder, target).is_some_and(|file| tree.has(&file));
            if !found {
                let what = format!("the link leads nowhere: {target}");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` outside code, without URLs and without the part after `#`.
fn link_targets(text: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for (open, _) in line.match_indices("](") {
            let in_code = line[..open].matches('`').count() % 2 == 1;
            let target = line[open + 2..]
                .split([')', ' ', '#'])
                .next()
                .unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !elsewhere && !in_code {
                targets.push((at + 1, target));
            }
        }
    }
    targets
}

/// The path from the root that `target` means in a document of `folder`; `None` if it leaves the root.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let (mut parts, target) = match target.strip_prefix('/') {
        Some(from_root) => (Vec::new(), from_root),
        None => (
            folder.split('/').filter(|part| !part.is_empty()).collect(),
            target,
        ),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// No absolute path of a developer's machine and no package registry in any file but the lock file.
pub fn machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| !path.ends_with("Cargo.lock"))
    {
        for (at, line) in text.lines().enumerate() {
            for name in MACHINE_PATHS {
                let absolute = |(at, _): (usize, &str)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.~/$}".contains(c))
                };
                if line.match_indices(name).any(absolute) {
                    findings.push(Finding::new(
                        path,
                        at + 1,
                        format!("path of one machine: {name}"),
                    ));
                }
            }
            for name in REGISTRIES {
                if line.contains(name) {
                    findings.push(Finding::new(
                        path,
                        at + 1,
                        format!("package registry: {name}"),
                    ));
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

    #[test]
    fn white_space_that_shows_only_in_diffs_is_found() {
        check(white_space, "a.md", "a\n\tb\nc \nd\r\ne\n", &[2, 3, 4]);
        check(white_space, ".ci/run", "a \n", &[1]);
        check(white_space, "src/a.rs", "a\nb", &[2]);
        check(white_space, "data/a.txt", "\ta \r\n", &[]);
    }

    #[test]
    fn a_long_line_of_prose_is_found() {
        let (long, code) = ("word ".repeat(21), "c".repeat(90));
        let text = format!("{long}\n| {long}|\n```\n{long}\n```\na long word `{code}`\n- {long}\n");
        check(width, "docs/a/b.md", &text, &[1, 7]);
        check(width, "README.md", &text, &[1, 7]);
        check(width, "CHANGELOG.md", &text, &[]);
        check(width, "docs/a.md", &"é".repeat(100), &[]);
    }

    #[test]
    fn a_long_paragraph_for_users_is_found() {
        let four = "a\nb\nc\nd\n";
        let text = format!("{four}\n- {four}1. {four}\n{four}e\nf\n\n```\n{four}e\n```\n| {four}");
        check(paragraphs, "docs/a.md", &text, &[19]);
        check(paragraphs, "docs/recipes/a.md", &text, &[19]);
        check(paragraphs, "docs/audit/a.md", &text, &[]);
        check(paragraphs, "docs/design/a.md", &text, &[]);
    }

    #[test]
    fn a_link_to_no_file_is_found() {
        check(
            links,
            "docs/a.md",
            "[a](a.md)\n[b](b.md#x) [c](../docs/c.md)\n",
            &[2, 2],
        );
        check(links, "README.md", "[out](../a.md)\n", &[1]);
        let fine =
            "[u](https://example.org/a) [h](#here) [r](../README.md) `[x](y)`\n```\n[z](z)\n```\n";
        let tree = Tree::of(&[
            ("docs/a.md", fine),
            ("README.md", "[d](docs/) [a](docs/a.md#b)\n"),
        ]);
        assert_eq!(links(&tree), []);
    }

    #[test]
    fn paths_and_registries_of_one_machine_are_found() {
        for name in MACHINE_PATHS {
            check(machine, "a.txt", &format!("\nsee {name}x"), &[2]);
            check(
                machine,
                "a.txt",
                &format!("src{name}x and ${{HOME}}{name}x"),
                &[],
            );
        }
        for name in REGISTRIES {
            check(machine, "docs/a.md", &format!("\n{name}"), &[2]);
            check(machine, "Cargo.lock", name, &[]);
        }
    }
}
