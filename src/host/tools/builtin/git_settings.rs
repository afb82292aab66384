//! The settings in a git `config` file, read line by line, and the list of settings that run no program. Reads no file.
//!
//! A line counts as a setting only if git cannot read it in another way: one section header or one `key = value` per line,
//! without continuation. Every other line is odd, and nobody knows its effect.

use std::borrow::Cow;

/// A line of a `config` file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// An empty line or a comment.
    Blank,
    Odd,
    Section,
    Setting {
        key: String,
        value: String,
    },
}

/// The section of a setting, in lower case, and its subsection.
type Section = Option<(String, Option<String>)>;

/// Returns the lines of a file that git reads alone, without a harmful or an odd setting. `is_inside` judges the working tree.
pub(super) fn harmless<'t>(text: &'t [u8], is_inside: &dyn Fn(&str) -> bool) -> Cow<'t, [u8]> {
    let is_kept = |(_, section, line): &(&[u8], Section, Line)| match line {
        Line::Blank | Line::Section => true,
        Line::Odd => false,
        Line::Setting { key, value } => is_harmless(section, key, value, is_inside),
    };
    let lines = lines(text);
    if lines.iter().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let kept = lines.iter().filter(|line| is_kept(line));
    let kept: Vec<&[u8]> = kept.map(|(raw, ..)| *raw).collect();
    Cow::Owned(kept.join(&b'\n'))
}

/// True if both files set the same. Addresses of submodules do not count: `git submodule update --init` writes them.
pub(super) fn are_same(one: &[u8], other: &[u8]) -> bool {
    let meaning = |text| {
        let mut lines = lines(text);
        lines.retain(|(_, section, line)| match (section, line) {
            (_, Line::Blank | Line::Section) => false,
            (Some((section, Some(_))), Line::Setting { key, value }) if section == "submodule" => {
                !(key == "active" || key == "url" && is_address(value))
            }
            _ => true,
        });
        lines
    };
    one == other || {
        let (one, other) = (meaning(one), meaning(other));
        one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| one == other)
    }
}

fn lines(text: &[u8]) -> Vec<(&[u8], Section, Line)> {
    let mut section = None;
    let lines = text.split(|byte| *byte == b'\n').map(|raw| {
        let shown = String::from_utf8_lossy(raw);
        let shown = shown.trim_matches([' ', '\t', '\r']);
        let line = if shown.is_empty() || shown.starts_with(['#', ';']) {
            Line::Blank
        } else if shown.starts_with('[') {
            section = header(shown);
            section.as_ref().map_or(Line::Odd, |_| Line::Section)
        } else {
            let setting = section.as_ref().and_then(|_| setting(shown));
            setting.map_or(Line::Odd, |(key, value)| Line::Setting { key, value })
        };
        (raw, section.clone(), line)
    });
    lines.collect()
}

/// Reads `[section]`, `[section.subsection]` or `[section "subsection"]`.
fn header(line: &str) -> Section {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let (name, subsection) = match inner.split_once([' ', '\t']) {
        Some((name, rest)) => {
            let rest = rest.trim_matches([' ', '\t']);
            let quoted = rest.strip_prefix('"')?.strip_suffix('"')?;
            (name, Some(quoted))
        }
        None => match inner.split_once('.') {
            Some((name, rest)) => (name, Some(rest).filter(|rest| rest.split('.').all(is_name))),
            None => (inner, None),
        },
    };
    let is_plain = subsection.is_none_or(|name| !name.contains(['"', '\\', '\0']));
    let is_dotted = subsection.is_none() && inner.contains('.');
    (is_name(name) && is_plain && !is_dotted)
        .then(|| (name.to_ascii_lowercase(), subsection.map(str::to_owned)))
}

/// Reads `key = value`, or a key alone, which is true.
fn setting(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=').unwrap_or((line, "true"));
    let key = key.trim_end_matches([' ', '\t']);
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_line = !line.ends_with('\\') && !line.contains('\0');
    let value = value.trim_matches([' ', '\t']);
    (is_key && is_line).then(|| (key.to_ascii_lowercase(), value.to_owned()))
}

/// True if git runs no program by a setting and writes nothing outside the workspace.
fn is_harmless(
    section: &Section,
    key: &str,
    value: &str,
    is_inside: &dyn Fn(&str) -> bool,
) -> bool {
    let Some((section, subsection)) = section else {
        return false;
    };
    if subsection.is_some() {
        return match section.as_str() {
            "branch" => match key {
                "pushremote" | "remote" => is_address(value),
                _ => BRANCH.contains(&key),
            },
            "lfs" => key == "access",
            "remote" => match key {
                "pushurl" | "url" => is_address(value),
                _ => REMOTE.contains(&key),
            },
            "submodule" => match key {
                "update" => ["checkout", "merge", "none", "rebase"].contains(&value),
                "url" => is_address(value),
                _ => ["active", "branch", "ignore", "fetchrecursesubmodules"].contains(&key),
            },
            _ => false,
        };
    }
    match (section.as_str(), key) {
        ("core", "fsmonitor") => ["false", "true"].contains(&value),
        ("core", "worktree") => is_plain(value) && is_inside(value),
        (section, key) => {
            let listed = HARMLESS.iter().find(|(name, _)| *name == section);
            listed.is_some_and(|(_, keys)| keys.contains(&key))
        }
    }
}

/// Keys of `branch.NAME`.
const BRANCH: [&str; 6] = [
    "description",
    "gh-merge-base",
    "github-pr-owner-number",
    "merge",
    "rebase",
    "vscode-merge-base",
];
/// Keys of `remote.NAME`.
const REMOTE: [&str; 11] = [
    "fetch",
    "followremotehead",
    "gh-resolved",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "skipfetchall",
    "tagopt",
];
/// Keys of sections without a subsection.
const HARMLESS: [(&str, &[&str]); 18] = [
    ("author", &["email", "name"]),
    ("commit", &["cleanup", "gpgsign", "status", "verbose"]),
    ("committer", &["email", "name"]),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "fscache",
            "hidedotfiles",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "untrackedcache",
            "whitespace",
        ],
    ),
    (
        "extensions",
        &[
            "compatobjectformat",
            "noop",
            "objectformat",
            "partialclone",
            "preciousobjects",
            "refstorage",
            "relativeworktrees",
            "worktreeconfig",
        ],
    ),
    (
        "fetch",
        &["parallel", "prune", "prunetags", "recursesubmodules"],
    ),
    ("gc", &["auto", "autodetach", "pruneexpire"]),
    ("index", &["sparse", "threads", "version"]),
    ("init", &["defaultbranch", "defaultobjectformat"]),
    ("lfs", &["repositoryformatversion"]),
    ("maintenance", &["auto", "strategy"]),
    ("merge", &["conflictstyle", "ff", "renames"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("receive", &["denycurrentbranch", "denynonfastforwards"]),
    ("rerere", &["autoupdate", "enabled"]),
    (
        "submodule",
        &[
            "active",
            "alternateerrorstrategy",
            "alternatelocation",
            "recurse",
        ],
    ),
    ("user", &["email", "name", "useconfigonly"]),
];

/// True if git reads the value as written.
fn is_plain(value: &str) -> bool {
    !value.contains(['"', '\\', '#', ';'])
}

/// True for the address of a repository, or the name of a remote, that no transport helper handles (`ext::COMMAND`).
fn is_address(value: &str) -> bool {
    let has_helper = value.split_once("::").is_some_and(|(helper, _)| {
        let mut bytes = helper.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    is_plain(value) && !has_helper && !value.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        let kept = harmless(text.as_bytes(), &|path| !path.starts_with('/'));
        String::from_utf8(kept.into_owned()).unwrap()
    }

    #[test]
    fn the_settings_that_git_itself_writes_stay() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = https://a.example/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[core]\r\n\tworktree = ../../../sub\r\n[submodule \"a/b\"]\r\n\tactive = true\r\n\turl = git@a.example:b\r\n",
            "# a comment \\\n[user]\n name = A B ; C\n email=a@b.example\n[remote.x]\n url = ssh://[::1]/a\n",
            "[extensions]\n\tworktreeConfig\n[core]\n\tfsmonitor = true\n",
        ] {
            assert_eq!(kept(text), text);
        }
    }

    #[test]
    fn every_other_setting_goes() {
        for line in [
            "[core]\nhooksPath = x",
            "[core]\nfsmonitor = ./x",
            "[core]\nworktree = /home",
            "[core]\nworktree = \"/home\"",
            "[core] sshCommand = x",
            "[core]sshCommand = x",
            "[CORE]\nSSHCOMMAND = x",
            "[alias]\nst = !x",
            "[include]\npath = x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[filter \"x\"]\nclean = x",
            "[remote \"x\"]\nurl = ext::sh -c x",
            "[remote \"x\"]\nurl = \"ext::sh -c x\"",
            "[remote \"x\"]\nuploadpack = x",
            "[branch \"x\"]\nremote = fd::1",
            "[submodule \"x\"]\nupdate = !x",
            "[gc]\nrecentObjectsHook = x",
            "[user \"x\"]\nname = a\\\n[core]",
            "[user]\nname = a \\\n",
            "[user] [core]\nhooksPath = x",
            "hooksPath = x",
            "\u{feff}[core]\nhooksPath = x",
        ] {
            let settings = |text: &str| {
                let lines = lines(text.as_bytes()).into_iter();
                let set =
                    lines.filter(|(.., line)| matches!(line, Line::Odd | Line::Setting { .. }));
                set.count()
            };
            let whole = format!("{line}\n[core]\nbare = true\n");
            assert_eq!(settings(&kept(&whole)), 1, "{line}: {:?}", kept(&whole));
        }
    }

    #[test]
    fn a_setting_without_its_section_goes_with_it() {
        let text = "[user]\n[core] x\nname = a\n[core]\nbare = true";
        assert_eq!(kept(text), "[user]\n[core]\nbare = true");
    }

    #[test]
    fn only_addresses_of_submodules_may_differ() {
        let before = b"[core]\n\tbare = false\n[alias]\n\tupdate = !x\n";
        let check = |more: &str, expected: bool| {
            let after = format!("{}{more}", String::from_utf8_lossy(before));
            assert_eq!(are_same(before, after.as_bytes()), expected, "{more}");
        };
        check(
            "[submodule \"a\"]\n\tactive = true\n\turl = https://a.example\n",
            true,
        );
        check("[submodule \"a\"]\n\turl = ext::x\n", false);
        check("[submodule \"a\"]\n\tupdate = !x\n", false);
        check("[core]\n\thooksPath = x\n", false);
        let moved = b"[core]\n\tbare = false\n[submodule \"a\"]\n\tupdate = !x\n";
        assert!(!are_same(before, moved));
    }
}
