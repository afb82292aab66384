use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::{env, fs};

use super::Verdict;
use super::damage::Case;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("verifier/verify.py")
}

/// The folder with the packages that verify.py needs, installed once; or why there is none.
static PACKAGES: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| install("verifier", &script().with_file_name("requirements.txt")));

/// Installs what a file of requirements pins, once for each content of it; returns the folder for `PYTHONPATH`.
pub fn install(name: &str, pins: &Path) -> Result<PathBuf, String> {
    let tag = Command::new("python3")
        .args(["-c", "import sys; print(sys.implementation.cache_tag)"])
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(tag) = tag else {
        assert!(
            env::var_os("CI").is_none(),
            "CI is set, and there is no python3"
        );
        return Err("there is no python3".to_owned());
    };
    let version = blake3::hash(&fs::read(pins).unwrap()).to_hex();
    let tag = String::from_utf8_lossy(&tag.stdout).trim().to_owned();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let ready = home.join(format!("{name}-{tag}-{}", &version[..16]));
    if ready.is_dir() {
        return Ok(ready);
    }
    fs::create_dir_all(home).unwrap();
    // Installed aside and renamed: a second process finds all of it, or installs for itself.
    let fresh = tempfile::tempdir_in(home).unwrap();
    let pip = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--only-binary=:all:"])
        .args(["--disable-pip-version-check", "--root-user-action=ignore"])
        .arg("--target")
        .arg(fresh.path().join("packages"))
        .arg("--requirement")
        .arg(pins)
        .output()
        .map_err(|e| e.to_string())?;
    if !pip.status.success() {
        let said = String::from_utf8_lossy(&pip.stderr).trim().to_owned();
        return Err(format!("pip cannot install what {name} needs: {said}"));
    }
    if let Err(e) = fs::rename(fresh.path().join("packages"), &ready) {
        assert!(ready.is_dir(), "{}: {e}", ready.display());
    }
    Ok(ready)
}

/// Returns verify.py's verdict on each case; `None` if it cannot run here.
pub(super) fn verdicts(cases: &[Case], options: &[&str]) -> Option<Vec<Verdict>> {
    if let Err(reason) = &*PACKAGES {
        println!("skipped {} cases: {reason}", cases.len());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..cases.len()).map(|n| format!("{n}.jsonl")).collect();
    for (name, case) in names.iter().zip(cases) {
        fs::write(folder.path().join(name), &case.bytes).unwrap();
    }
    let files = names.iter().map(String::as_str);
    let arguments: Vec<&str> = options.iter().copied().chain(files).collect();
    let output = verify_py(folder.path(), &arguments)?;
    let stdout = String::from_utf8(output.stdout).unwrap();
    let said: BTreeMap<&str, &str> = stdout.lines().filter_map(|l| l.split_once(": ")).collect();
    let verdicts: Vec<Verdict> = names
        .iter()
        .map(|name| {
            let Some(said) = said.get(name.as_str()) else {
                let stderr = String::from_utf8_lossy(&output.stderr);
                panic!("verify.py says nothing of {name}: {stderr}");
            };
            verdict(said)
        })
        .collect();
    let all_hold = verdicts.iter().all(|verdict| verdict.holds);
    assert_eq!(output.status.code(), Some(if all_hold { 0 } else { 7 }));
    Some(verdicts)
}

/// Runs verify.py in a folder; `None` if it cannot run here.
pub fn verify_py(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let packages = match &*PACKAGES {
        Ok(packages) => packages,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let output = Command::new("python3")
        .arg(script())
        .args(arguments)
        .current_dir(folder)
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    Some(output.unwrap())
}

/// `verified at level L0`, `NOT VERIFIED at line 3: hash …` or `NOT VERIFIED at the end: …`.
fn verdict(said: &str) -> Verdict {
    let holds = said.starts_with("verified at level ");
    let place = said.strip_prefix("NOT VERIFIED at ");
    assert!(holds != place.is_some(), "{said}");
    let line = place
        .and_then(|place| place.strip_prefix("line "))
        .and_then(|place| place.split_once(':'))
        .map(|(line, _)| line.parse().unwrap());
    Verdict {
        holds,
        line,
        said: said.to_owned(),
    }
}

/// An invalid key is an input error of verify.py, and no verdict: one line on stderr.
#[test]
fn a_key_that_is_none_is_named_in_one_line() {
    let Ok(packages) = &*PACKAGES else {
        println!("skipped 5 cases: verify.py cannot run here");
        return;
    };
    let small = "x+4b0f3a6e+AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for key in ["", "x", "x+y", "local+00000000+AAAA", small] {
        let output = Command::new("python3")
            .arg(script())
            .args([&format!("--key={key}"), "none.jsonl"])
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            matches!(lines[..], [line] if line.starts_with("--key: no public key as ")),
            "{key:?}: {said}"
        );
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(1), &b""[..])
        );
    }
}
