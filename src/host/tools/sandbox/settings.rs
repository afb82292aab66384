//! Settings files of git and of package managers, and the credentials in them.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Maximum size of a settings file that is shown.
const MOST_BYTES: u64 = 262_144;
/// Names of settings files in an installation.
const NAMES: [&str; 20] = [
    ".bunfig.toml",
    ".condarc",
    ".env",
    ".gitconfig",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".yarnrc",
    ".yarnrc.yml",
    "auth.json",
    "auth.toml",
    "bunfig.toml",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "gitconfig",
    "npmrc",
    "pip.conf",
    "settings.xml",
    "uv.toml",
];
/// The settings that npm ships in its own package.
const OF_NPM: &str = "lib/node_modules/npm/npmrc";
/// Folders of an installation that hold code and no settings.
const CODE: [&str; 9] = [
    ".git",
    "doc",
    "include",
    "lib",
    "lib64",
    "man",
    "node_modules",
    "share",
    "site-packages",
];
/// Folders below an installation that are searched, and entries of all of them together.
const MOST_DEPTH: usize = 6;
const MOST_ENTRIES: usize = 16_384;
/// Words by which a line holds a credential, in lower case.
const SECRET_WORDS: [&str; 19] = [
    "-----begin",
    "_auth",
    "access-key",
    "access_key",
    "accesskey",
    "api-key",
    "api_key",
    "apikey",
    "authorization",
    "bearer ",
    "extraheader",
    "passphrase",
    "passw",
    "private-key",
    "private_key",
    "privatekey",
    "secret",
    "token",
    "username",
];
/// Names of keys whose value is a credential, in lower case.
const SECRET_KEYS: [&str; 10] = [
    "auth",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "oauth",
    "otp",
    "pat",
    "pin",
    "session",
];
/// Endings of such names, as in `smtpPass`.
const SECRET_ENDINGS: [&str; 3] = ["key", "pass", "pwd"];
/// Names with one of these endings whose value is no credential: the id of a public key, and paths.
const PLAIN_KEYS: [&str; 4] = ["proxysslkey", "signingkey", "sort-key", "sslkey"];
/// Beginnings of well-known tokens, in lower case.
const TOKENS: [&str; 23] = [
    "akia",
    "asia",
    "atatt",
    "dckr_pat_",
    "eyj",
    "github_pat_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "glpat-",
    "glptt-",
    "hf_",
    "npm_",
    "pypi-",
    "rk_live_",
    "rubygems_",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
    "ya29.",
];
/// Minimum number of characters after the beginning of a token.
const TOKEN_REST: usize = 16;

/// Returns the text of a settings file; `None` if it holds a credential or cannot be read whole.
pub(super) fn text_without_credentials(path: &Path) -> Option<Vec<u8>> {
    let file = fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
    let is_whole = u64::try_from(read).is_ok_and(|read| read <= MOST_BYTES);
    let lower = text.to_lowercase();
    let is_plain = is_whole && !lower.lines().any(holds_credential);
    is_plain.then(|| text.into_bytes())
}

/// The settings files in an installation that hold credentials.
pub(super) fn secret_files(installation: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let (mut left, mut seen) = (vec![(installation.to_owned(), 0_usize)], 0_usize);
    while let Some((folder, depth)) = left.pop() {
        found.push(folder.join(OF_NPM));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                break;
            }
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder && is_one_of(&name, &NAMES) {
                found.push(entry.path());
            } else if is_folder && depth < MOST_DEPTH && !is_one_of(&name, &CODE) {
                left.push((entry.path(), depth + 1));
            }
        }
    }
    found.retain(|path| path.is_file() && text_without_credentials(path).is_none());
    found
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}

/// True if a line in lower case holds a credential.
fn holds_credential(line: &str) -> bool {
    SECRET_WORDS.iter().any(|word| line.contains(word))
        || has_user(line)
        || has_secret_key(line)
        || runs_shell(line)
        || has_token(line)
}

/// True if an address begins with a user and a password. The password may contain a slash, which no parser of addresses takes.
fn has_user(line: &str) -> bool {
    let mut hosts = line.split("://").skip(1);
    let is_user = |rest: &str| {
        let rest = rest
            .split([' ', '\t', '"', '\''])
            .next()
            .unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let port = host.split_once(':').map(|(_, port)| port);
        host.contains('@')
            || port.is_some_and(|port| {
                let is_number = port.chars().all(|digit| digit.is_ascii_digit());
                // The scope of a package follows a slash.
                let path = path.strip_prefix('@').unwrap_or(path).replace("/@", "/");
                !is_number && rest.contains('@') || path.contains('@')
            })
    };
    // The scheme of a proxy may be left out.
    hosts.any(is_user) || line.contains("proxy") && line.contains('@')
}

/// True if the last part of a key's name marks a secret, as in `//registry/:key=` and `key: `.
fn has_secret_key(line: &str) -> bool {
    let separators = line.match_indices(['=', ':']);
    // A public key may be written as `signingkey = key::ssh-rsa …`.
    let separators =
        separators.filter(|(at, _)| !line.get(at + 1..).is_some_and(|rest| rest.starts_with(':')));
    let mut names = separators.filter_map(|(at, _)| line.get(..at));
    names.any(|name| {
        let name = name.trim_end().trim_end_matches(['"', '\'']);
        let last = name.rsplit([
            ':', '.', ' ', '\t', '[', '{', ',', '/', '?', '&', '"', '\'', '=',
        ]);
        last.into_iter().next().is_some_and(is_secret_key)
    })
}

fn is_secret_key(name: &str) -> bool {
    let is_ending = SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    SECRET_KEYS.contains(&name) || is_ending && !PLAIN_KEYS.contains(&name)
}

/// True if a credential helper of git is more than one program with arguments.
fn runs_shell(line: &str) -> bool {
    let command = line.split_once('!').filter(|_| line.contains("helper"));
    command.is_some_and(|(_, command)| command.contains(['$', ';', '|', '&', '(', '<', '>', '=']))
}

fn has_token(line: &str) -> bool {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || "_-".contains(*c);
    TOKENS.iter().any(|beginning| {
        let mut rests = line.split(beginning).skip(1);
        rests.any(|rest| rest.chars().take_while(is_part).count() >= TOKEN_REST)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_credential_hides_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("settings");
        let check = |text: &str, is_plain: bool| {
            fs::write(&at, text).unwrap();
            let found = text_without_credentials(&at);
            assert_eq!(found.is_some(), is_plain, "{text}");
        };
        for plain in [
            "[user]\n\tname = A\n\temail = a@localhost\n\tsigningkey = 0123456789ABCDEF\n",
            "[credential]\n\thelper = store\n",
            "[credential \"https://github.com\"]\n\thelper = \"!/usr/bin/gh auth git-credential\"\n",
            "registry=https://host/npm/a@b/\nsave-exact=true\n//host/:keyfile=key.pem\n",
            "[http]\n\tcookieFile = ~/.gitcookies\n",
            "[global]\naddress = https://host/simple\n",
            "@scope:registry=https://host:4873/@scope/x/\n",
            "[http]\n\tsslKey = /etc/key.pem\n[sendemail]\n\tsmtpUser = me\n",
            "[user]\n\tsigningkey = key::ssh-rsa AAAA\n",
        ] {
            check(plain, true);
        }
        for secret in [
            "//localhost/:_authToken=npm_x",
            "_password=\"eA==\"",
            "key=\"-----BEGIN PRIVATE KEY-----\\nX\"",
            "//registry/:key=abc",
            "[github]\n\toauth=abc",
            "[global]\naddress = https://me:pw@host/simple\n",
            "[http]\n\textraHeader = AUTHORIZATION: basic x\n",
            "[credential]\n\thelper = \"!f() { echo PAT=x; }; f\"\n",
            "[url \"https://ghp@host/\"]\n\tinsteadOf = https://host/\n",
            "https-proxy=me:pw@host:8080",
            "x = ghp_0123456789abcdefABCD",
            "[sendemail]\n\tsmtpPass = x\n",
            "[gitlab]\n\taccesskey = x\n",
            "[aws]\n\tid = AKIAABCDEFGHIJKLMNOP\n",
            "address = https://u:a/b@host/simple",
            "address = https://u:1/b@host/simple",
            "registry = {url = \"https://r\", key = \"x\"}",
            ":rubygems_api_key: x",
            "db_pwd: x",
            "address = https://host/?key=x",
        ] {
            check(secret, false);
        }
        fs::write(&at, b"\xff").unwrap();
        assert_eq!(text_without_credentials(&at), None);
        fs::write(&at, vec![b'x'; 300_000]).unwrap();
        assert_eq!(text_without_credentials(&at), None);
    }

    #[test]
    fn settings_of_an_installation_are_found_where_managers_put_them() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("versions/node/v22/etc/npmrc", "_authToken=x"),
            ("lib/node_modules/npm/npmrc", "_authToken=x"),
            (
                "versions/node/v22/lib/node_modules/npm/npmrc",
                "_authToken=x",
            ),
            ("versions/3.12/pip.conf", "address = https://a:b@host"),
            ("plain/npmrc", "save-exact=true"),
            ("lib/node_modules/other/.npmrc", "_authToken=x"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut found = secret_files(folder.path());
        found.sort();
        let expect = [
            "lib/node_modules/npm/npmrc",
            "versions/3.12/pip.conf",
            "versions/node/v22/etc/npmrc",
            "versions/node/v22/lib/node_modules/npm/npmrc",
        ];
        assert_eq!(found, expect.map(|path| folder.path().join(path)));
    }
}
