//! The entries of an installation that hold code. An installation may lie in a folder that also holds settings, keys and data of its program.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of entries of an installation that are shown.
const MOST_ENTRIES: usize = 4_096;
/// Folders of an installation that hold no code, in lower case. Nor do folders whose names begin with a dot.
const PRIVATE: [&str; 29] = [
    "account",
    "accounts",
    "auth",
    "backup",
    "backups",
    "cert",
    "certs",
    "config",
    "configs",
    "configuration",
    "cred",
    "credential",
    "credentials",
    "creds",
    "keys",
    "keystore",
    "keystores",
    "log",
    "logs",
    "private",
    "run",
    "secret",
    "secrets",
    "sessions",
    "token",
    "tokens",
    "var",
    "wallet",
    "wallets",
];
/// Files beside the folders of an installation that its programs read.
const FILES: [&str; 16] = [
    "VERSION",
    "composer.json",
    "deno.json",
    "deno.jsonc",
    "deno.lock",
    "go.env",
    "go.mod",
    "jsconfig.json",
    "package.json",
    "pyproject.toml",
    "pyvenv.cfg",
    "release",
    "setup.cfg",
    "tsconfig.json",
    "version",
    "version.txt",
];
/// Endings of files that hold code.
const CODE: [&str; 24] = [
    "class", "cjs", "dat", "dll", "dylib", "exe", "jar", "js", "jsx", "lua", "mjs", "mts", "node",
    "pak", "php", "pl", "py", "pyc", "rb", "sh", "so", "ts", "tsx", "wasm",
];

/// The entries of an installation that hold code. Entries that are made later are not among them.
pub(super) fn code_of(prefix: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(prefix).into_iter().flatten().flatten();
    let code = entries.filter(|entry| {
        // A link is judged by what it leads to.
        let is_folder = fs::metadata(entry.path()).is_ok_and(|found| found.is_dir());
        is_code(&entry.file_name(), is_folder)
    });
    code.take(MOST_ENTRIES).map(|entry| entry.path()).collect()
}

fn is_code(name: &OsStr, is_folder: bool) -> bool {
    let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
        return false;
    };
    if is_folder {
        return !PRIVATE.contains(&name.to_lowercase().as_str());
    }
    let ending = Path::new(name).extension().and_then(OsStr::to_str);
    // As in `libx.so.6`.
    let is_library = name.contains(".so.");
    FILES.contains(&name) || is_library || ending.is_some_and(|ending| CODE.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_shown_and_settings_and_keys_are_not() {
        let check = |names: &[&str], is_folder: bool, expect: bool| {
            for name in names {
                assert_eq!(is_code(OsStr::new(name), is_folder), expect, "{name}");
            }
        };
        let folders = [
            "bin", "lib", "lib64", "share", "etc", "conf", "jmods", "versions", "src", "Cellar",
        ];
        check(&folders, true, true);
        let private = ["keystores", "config", "Credentials", ".config", ".git"];
        check(&private, true, false);
        let files = [
            "pyvenv.cfg",
            "VERSION",
            "release",
            "package.json",
            "index.js",
        ];
        check(&files, false, true);
        check(&["libx.so", "libx.so.6"], false, true);
        let others = [
            "config",
            "config.yml",
            "credentials.toml",
            "auth.json",
            "secrets.env",
            "db.env",
            "wasmer.toml",
            ".env",
            "id_rsa",
            "secret.txt",
        ];
        check(&others, false, false);
    }
}
