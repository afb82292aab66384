//! The lines of a contract that grant what a program named and could not use. Reads the host's files, and starts nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::contents::{Layout, Put};
use super::layout::layout;
use super::way::{Way, words_of};
use super::{Confined, SandboxProfile};

/// Maximum number of paths that are named.
const MOST_NAMED: usize = 4;
/// Words of a program's last output that are looked at, and bytes of a path (PATH_MAX of linux/limits.h).
const MOST_WORDS: usize = 4_096;
const MOST_PATH: usize = 4_096;
/// Words of an error about a file in a read-only folder, in lower case.
const READ_ONLY: [&str; 2] = ["erofs", "read-only file system"];

/// Returns a clause for each path in the arguments and in the last words of a confined program that the host has and the sandbox does not show, or
/// shows read-only where the program wanted to write. Paths that the program alone names are not suggested if they are credentials or contain any.
pub(crate) fn missing_grants(profile: &SandboxProfile, args: &[String], said: &str) -> String {
    let mut clauses = String::new();
    let (Confined::Always(_), Ok(layout)) = (profile.confined, layout(profile)) else {
        return clauses;
    };
    let lower = said.to_lowercase();
    let is_refused = READ_ONLY.iter().any(|word| lower.contains(word));
    let of_args = args.iter().flat_map(|arg| paths(arg));
    let of_output = paths(said).take(MOST_WORDS);
    let of_output = of_output.filter(|path| is_harmless(profile, path));
    let mut named = Vec::new();
    for path in of_args.chain(of_output) {
        let path = Way::follow(&path).end;
        // A file that the program wanted to make has a folder.
        let path = match path.parent() {
            Some(above) if !path.exists() && is_harmless(profile, above) => above.to_owned(),
            _ => path,
        };
        if named.len() >= MOST_NAMED || path.parent().is_none() || !path.exists() {
            continue;
        }
        let Some(key) = missing_key(&layout, &path, is_refused) else {
            continue;
        };
        if named.contains(&path) {
            continue;
        }
        let shown = path.display();
        let _ = match key {
            "read" => write!(
                clauses,
                "; the sandbox does not show {shown}: `sandbox: {{read: [{shown}]}}` at the server shows it, `write` in place of `read` lets the server change it"
            ),
            _ => write!(
                clauses,
                "; the sandbox shows {shown} read-only: `sandbox: {{write: [{shown}]}}` at the server lets the server change it"
            ),
        };
        named.push(path);
    }
    clauses
}

/// The absolute paths in a text.
fn paths(text: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let words = words_of(text).flat_map(|word| word.split(['[', ']', '{', '}']));
    let words = words.map(|word| word.trim_end_matches(['.', '!']));
    let paths = words.filter(|word| word.starts_with('/') && word.len() < MOST_PATH);
    let paths = paths.map(PathBuf::from);
    // Every sandbox has its own.
    paths.filter(|path| !["/dev", "/proc"].iter().any(|own| path.starts_with(own)))
}

/// True if no credential lies at or below a path, and the path is not in one.
fn is_harmless(profile: &SandboxProfile, path: &Path) -> bool {
    let path = Way::follow(path).end;
    let hidden = profile.hidden.iter().chain(&profile.hidden_folders);
    let mut hidden = hidden.chain(&profile.checked).chain(&profile.home);
    !hidden.any(|hidden| {
        path.starts_with(hidden) && Some(hidden) != profile.home.as_ref()
            || hidden.starts_with(&path)
    })
}

/// The key of a sandbox that grants a path; `None` if nothing more is needed.
fn missing_key(layout: &Layout, path: &Path, is_refused: bool) -> Option<&'static str> {
    let (at, put) = path
        .ancestors()
        .find_map(|above| Some((above, layout.get(above)?)))
        .unzip();
    match put {
        Some(Put::Shown { writable: true, .. } | Put::Cache { .. }) => None,
        Some(Put::Shown { .. } | Put::Text(_)) => is_refused.then_some("write"),
        Some(Put::Folder | Put::Fresh | Put::Link(_)) if at == Some(path) => None,
        _ => Some("read"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use monolith_core::message::SandboxStrength;

    #[test]
    fn the_line_that_grants_a_path_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for made in ["user/.ssh", "user/work", "given", "other/a", "cache"] {
            fs::create_dir_all(at.join(made)).unwrap();
        }
        let confined = Confined::Always(SandboxStrength::default());
        let mut profile = SandboxProfile::bare(confined, at.join("user/work"));
        profile.home = Some(at.join("user"));
        profile.hidden_folders = vec![at.join("user/.ssh")];
        profile.read = vec![at.join("given")];
        let check = |args: &[&str], said: &str, expect: &[&str]| {
            let whole = |text: &str| text.replace('@', at.to_str().unwrap());
            let args: Vec<String> = args.iter().map(|arg| whole(arg)).collect();
            let clauses = missing_grants(&profile, &args, &whole(said));
            let expect: String = expect.iter().map(|clause| whole(clause)).collect();
            let short = clauses
                .replace(
                    " at the server shows it, `write` in place of `read` lets the server change it",
                    "",
                )
                .replace(" at the server lets the server change it", "");
            assert_eq!(short, expect);
        };
        let not_shown = "; the sandbox does not show @/other/a: `sandbox: {read: [@/other/a]}`";
        check(&["-y", "@/other/a"], "", &[not_shown]);
        check(&["--root=@/other/a"], "ENOENT: @/other/a", &[not_shown]);
        check(&[], "Error: ENOENT, open '@/other/a/new'", &[not_shown]);
        let refused = "; the sandbox shows @/given read-only: `sandbox: {write: [@/given]}`";
        check(
            &[],
            "EROFS: read-only file system, open '@/given/new'",
            &[refused],
        );
        check(&["@/given", "x 2>/dev/null"], "done", &[]);
        check(&["@/user/work", "@/none", "/"], "EROFS", &[]);
        // A program cannot make itself be granted credentials.
        check(&[], "ENOENT: @/user/.ssh/id @/user @", &[]);
        let named = "; the sandbox does not show @/user/.ssh: `sandbox: {read: [@/user/.ssh]}`";
        check(&["@/user/.ssh"], "", &[named]);
    }
}
