//! The layout of profiles on a host of temporary folders.

use std::fs;
use std::path::{Path, PathBuf};

use super::contents::{OWNED, Put, READ_ONLY, WRITABLE, is_shown};
use super::layout::layout;
use super::profile::Cache;
use super::{Confined, SandboxProfile, contents};
use monolith_core::message::SandboxStrength;

fn profile(workspace: &Path) -> SandboxProfile {
    SandboxProfile::bare(
        Confined::Always(SandboxStrength::default()),
        workspace.to_owned(),
    )
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[test]
fn the_workspace_is_writable_and_its_repository_is_not() {
    let (_folder, at) = folder();
    fs::create_dir(at.join(".git")).unwrap();
    let layout = layout(&profile(&at)).unwrap();
    assert_eq!(layout[&at], WRITABLE);
    assert_eq!(layout[&at.join(".git")], OWNED);
    assert_eq!(layout[Path::new("/usr")], READ_ONLY);
    assert_eq!(layout[Path::new("/tmp")], Put::Fresh);
    assert!(!layout.contains_key(Path::new("/root")));
}

#[test]
fn credentials_in_a_shown_home_are_hidden_and_must_not_be_links_there() {
    let (_folder, at) = folder();
    for made in ["home/.aws", "dotfiles/ssh"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    let mut profile = profile(&at.join("home"));
    profile.home = Some(at.join("home"));
    profile.hidden_folders = vec![at.join("home/.aws"), at.join("home/.ssh")];
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("home/.aws")], Put::Folder);
    assert_eq!(shown[&at.join("home")], WRITABLE);
    // A link to nothing shows nothing.
    std::os::unix::fs::symlink("../dotfiles/none", at.join("home/.ssh")).unwrap();
    assert!(layout(&profile).is_ok());
    fs::remove_file(at.join("home/.ssh")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/ssh", at.join("home/.ssh")).unwrap();
    let fault = layout(&profile).unwrap_err();
    assert!(fault.reason.contains(".ssh is a link"), "{fault}");
}

/// A mount over a file vanishes when the host replaces the file, and covers none that is made later.
#[test]
fn a_read_only_folder_that_contains_hidden_paths_is_shown_child_by_child() {
    let (_folder, at) = folder();
    for made in ["home/.aws", "home/.config/git", "home/src/a", "work"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    for made in [
        "home/.netrc",
        "home/.config/git/config",
        "home/.npmrc",
        "home/plain",
    ] {
        fs::write(at.join(made), "[user]").unwrap();
    }
    std::os::unix::fs::symlink("src/a", at.join("home/short")).unwrap();
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.read = vec![at.join("home")];
    let hidden = [
        ".aws",
        ".netrc",
        ".pgpass",
        ".config/gh",
        ".local/share/keyrings",
        "src/a/key",
    ];
    profile.hidden_folders = hidden.map(|name| at.join("home").join(name)).into();
    profile.checked = [".npmrc", ".config/git/config", ".gitconfig"]
        .map(|name| at.join("home").join(name))
        .into();
    let shown = layout(&profile).unwrap();
    let below = shown.iter().filter_map(|(path, put)| {
        let below = path.strip_prefix(at.join("home")).ok()?.to_str()?;
        Some((below, put))
    });
    let text = Put::Text(b"[user]".to_vec());
    let link = Put::Link("src/a".into());
    let expect = [
        ("", &Put::Folder),
        (".config", &Put::Folder),
        (".config/git", &Put::Folder),
        (".config/git/config", &text),
        (".npmrc", &text),
        ("plain", &OWNED),
        ("short", &link),
        ("src", &Put::Folder),
        ("src/a", &Put::Folder),
    ];
    assert_eq!(below.collect::<Vec<_>>(), expect);
    // A path that the author names is shown, alone.
    fs::write(at.join("home/.aws/config"), "").unwrap();
    profile.read.push(at.join("home/.aws/config"));
    profile.named = profile.read.clone();
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("home/.aws/config")], OWNED);
    assert!(!shown.contains_key(&at.join("home/.aws")));
    profile.write = vec![at.join("home")];
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("home/.aws")], Put::Folder);
    assert_eq!(shown[&at.join("home/.aws/config")], OWNED);
}

#[test]
fn settings_of_the_system_that_not_everybody_may_read_are_not_shown() {
    let (_folder, at) = folder();
    let mut profile = profile(&at);
    let is_visible = |profile: &SandboxProfile, path: &str| {
        let layout = layout(profile).unwrap();
        let mut above = Path::new(path).ancestors();
        let found = above.find_map(|above| Some((above, layout.get(above)?)));
        found.is_some_and(|(_, put)| matches!(put, Put::Shown { .. }))
    };
    assert!(is_visible(&profile, "/etc/passwd"));
    // A path that this user cannot read needs no mount.
    if fs::File::open("/etc/shadow").is_ok() {
        assert!(!is_visible(&profile, "/etc/shadow"));
        profile.named = vec!["/etc/shadow".into()];
        profile.read = profile.named.clone();
        assert!(is_visible(&profile, "/etc/shadow"));
    }
}

#[test]
fn credentials_in_a_cache_are_left_out_of_it() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("home/.uv")).unwrap();
    fs::create_dir_all(at.join("work")).unwrap();
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.hidden_folders = vec![at.join("home/.uv/credentials")];
    profile.caches = vec![Cache {
        has_programs: true,
        path: at.join("home/.uv"),
    }];
    let expect = Put::Cache {
        absent: vec![at.join("home/.uv/credentials")],
        has_programs: true,
    };
    assert_eq!(layout(&profile).unwrap()[&at.join("home/.uv")], expect);
}

#[test]
fn settings_of_an_installation_that_hold_credentials_are_not_shown() {
    let (_folder, at) = folder();
    let npmrc = "home/.nvm/versions/node/v22/etc/npmrc";
    fs::create_dir_all(at.join(npmrc).parent().unwrap()).unwrap();
    fs::create_dir_all(at.join("work")).unwrap();
    fs::write(at.join(npmrc), "//localhost/:_authToken=x").unwrap();
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.programs = vec![at.join("home/.nvm")];
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("home/.nvm")], Put::Folder);
    assert!(!shown.contains_key(&at.join(npmrc)));
    fs::write(at.join(npmrc), "save-exact=true").unwrap();
    assert_eq!(layout(&profile).unwrap()[&at.join("home/.nvm")], READ_ONLY);
}

#[test]
fn settings_that_hold_credentials_are_not_shown() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("home/work")).unwrap();
    let cases = [
        ("plain", "[user]\n\tname = A\n\temail = a@localhost\n", true),
        ("npm", "//localhost/:_authToken=npm_x\n", false),
        (
            "pip",
            "[global]\naddress = https://me:pw@host/simple\n",
            false,
        ),
        (
            "git",
            "[http]\n\textraHeader = AUTHORIZATION: basic x\n",
            false,
        ),
        ("index", "address = https://host/a@b/simple\n", true),
        ("binary", "\u{0}\n", true),
    ];
    let mut profile = profile(&at.join("home/work"));
    profile.home = Some(at.join("home"));
    for (name, text, _) in cases {
        fs::write(at.join("home").join(name), text).unwrap();
        profile.settings.push(at.join("home").join(name));
    }
    fs::write(at.join("home/other"), b"\xff").unwrap();
    profile.settings.push(at.join("home/other"));
    let shown = layout(&profile).unwrap();
    for (name, _, expect) in cases {
        assert_eq!(
            shown.contains_key(&at.join("home").join(name)),
            expect,
            "{name}"
        );
    }
    assert!(!shown.contains_key(&at.join("home/other")));
    profile.workspace = at.join("home");
    let shown = layout(&profile).unwrap();
    assert!(!shown.contains_key(&at.join("home/plain")));
}

#[test]
fn a_stated_socket_is_shown_and_every_other_one_is_masked() {
    use std::os::unix::net::UnixListener;
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("work/deep")).unwrap();
    let (stated, other) = (at.join("stated"), at.join("work/deep/other"));
    let _listeners = [&stated, &other].map(|path| UnixListener::bind(path).unwrap());
    let mut profile = profile(&at.join("work"));
    let shown = layout(&profile).unwrap();
    assert!(!shown.contains_key(&other) && !shown.contains_key(&stated));
    profile.sockets = vec![stated.clone()];
    profile.masked = contents::bound();
    assert!(profile.masked.contains(&other));
    let shown = layout(&profile).unwrap();
    let nothing = Put::Text(Vec::new());
    assert_eq!((&shown[&stated], &shown[&other]), (&OWNED, &nothing));
    profile.masked.clear();
    assert_eq!(layout(&profile).unwrap(), shown);
}

/// The first concealed socket takes its folder apart, and the others are entries of the layout then.
#[test]
fn every_other_socket_of_a_folder_is_absent_too() {
    use std::os::unix::net::UnixListener;
    let (_folder, at) = folder();
    for made in ["work", "run/deep", "home"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    let others = [
        "run/a",
        "run/b",
        "run/c",
        "run/deep/d",
        "run/deep/e",
        "home/f",
        "home/g",
    ];
    let paths: Vec<PathBuf> = others.iter().map(|name| at.join(name)).collect();
    let stated = at.join("run/stated");
    let all = paths.iter().chain([&stated]);
    let _listeners: Vec<UnixListener> = all.map(|path| UnixListener::bind(path).unwrap()).collect();
    fs::write(at.join("run/plain"), "").unwrap();
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.sockets = vec![stated.clone()];
    profile.read = ["run", "home"].map(|name| at.join(name)).into();
    for masked in [contents::bound(), Vec::new()] {
        profile.masked = masked;
        let shown = layout(&profile).unwrap();
        for path in &paths {
            assert!(!is_shown(&shown, path), "{}", path.display());
        }
        for path in [&stated, &at.join("run/plain")] {
            assert_eq!(shown[path], OWNED);
        }
    }
}

#[test]
fn a_state_folder_around_the_workspace_stays_hidden_when_the_home_is_shown_child_by_child() {
    use std::os::unix::net::UnixListener;
    let (_folder, at) = folder();
    for made in ["home/state/demo/work", "home/state/keys", "home/.ssh"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    let names = ["home/one", "home/two", "home/state/three"];
    let _listeners = names.map(|name| UnixListener::bind(at.join(name)).unwrap());
    let workspace = at.join("home/state/demo/work");
    let mut profile = profile(&workspace);
    profile.home = Some(at.join("home"));
    profile.hidden = vec![at.join("home/state")];
    profile.hidden_folders = vec![at.join("home/.ssh")];
    profile.open = vec![at.join("home/state/demo")];
    profile.read = vec![at.join("home")];
    for sockets in [Vec::new(), vec![at.join("home/one")]] {
        profile.sockets = sockets;
        let shown = layout(&profile).unwrap();
        assert_eq!(shown[&workspace], WRITABLE);
        for hidden in [
            "home/state",
            "home/state/keys",
            "home/state/three",
            "home/.ssh",
        ] {
            assert!(!is_shown(&shown, &at.join(hidden)), "{hidden}");
        }
    }
}

#[test]
fn of_an_installation_only_the_code_is_shown_unless_it_is_granted() {
    let (_folder, at) = folder();
    for made in [
        "work",
        "home/.fly/bin",
        "home/.fly/lib",
        "home/.fly/keystores",
    ] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    for made in ["config.yml", "VERSION", "keystores/k"] {
        fs::write(at.join("home/.fly").join(made), "").unwrap();
    }
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.prefixes = vec![at.join("home/.fly")];
    let check = |profile: &SandboxProfile, expect: bool| {
        let shown = layout(profile).unwrap();
        for code in ["bin", "lib", "VERSION"] {
            let path = at.join("home/.fly").join(code);
            assert!(is_shown(&shown, &path), "{code}");
        }
        for private in ["config.yml", "keystores", "made-later"] {
            let path = at.join("home/.fly").join(private);
            let is_shown = is_shown(&shown, &path);
            assert_eq!(is_shown, expect, "{private}");
        }
    };
    check(&profile, false);
    for grant in ["home/.fly", "home", ""] {
        profile.read = vec![at.join(grant)];
        check(&profile, true);
    }
}

#[test]
fn a_home_in_a_folder_that_may_be_read_is_shown_without_its_credentials() {
    let (_folder, at) = folder();
    for made in ["homes/me/.ssh", "homes/me/src", "work"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("homes/me"));
    profile.hidden_folders = vec![at.join("homes/me/.ssh")];
    profile.read = vec![at.join("homes")];
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("homes/me/src")], OWNED);
    assert_eq!(shown[&at.join("homes/me")], Put::Folder);
    assert!(!shown.contains_key(&at.join("homes/me/.ssh")));
}

#[test]
fn caches_and_programs_of_the_home_are_shown_unless_the_program_may_write_them() {
    let (_folder, at) = folder();
    for made in ["home/.npm", "home/.bun/bin", "home/.pyenv/bin", "work"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    let mut profile = profile(&at.join("work"));
    profile.home = Some(at.join("home"));
    profile.caches = [(".npm", false), (".bun", true)]
        .map(|(name, has_programs)| Cache {
            has_programs,
            path: at.join("home").join(name),
        })
        .into();
    profile.programs = ["home/.bun", "home/.pyenv", "home/none"]
        .map(|path| at.join(path))
        .into();
    profile.links = vec![(at.join("home/short"), at.join("home/.pyenv"))];
    let shown = layout(&profile).unwrap();
    assert_eq!(shown[&at.join("home")], Put::Fresh);
    assert_eq!(
        shown[&at.join("home/.npm")],
        Put::Cache {
            absent: Vec::new(),
            has_programs: false
        }
    );
    assert_eq!(
        shown[&at.join("home/.bun")],
        Put::Cache {
            absent: Vec::new(),
            has_programs: true
        }
    );
    assert_eq!(shown[&at.join("home/.pyenv")], READ_ONLY);
    assert_eq!(
        shown[&at.join("home/short")],
        Put::Link(at.join("home/.pyenv"))
    );
    assert!(!shown.contains_key(&at.join("home/none")));
    profile.workspace = at.join("home");
    let shown = layout(&profile).unwrap();
    let below = shown
        .keys()
        .filter(|path| path.starts_with(at.join("home")));
    assert_eq!(below.count(), 1);
}

#[test]
fn the_root_of_all_files_is_refused_with_the_way_out() {
    let (_folder, at) = folder();
    for (read, write) in [("/", "/usr"), ("/usr", "/")] {
        let mut profile = profile(&at);
        profile.read = vec![read.into()];
        profile.write = vec![write.into()];
        let fault = layout(&profile).unwrap_err();
        assert!(fault.reason.contains("say `sandbox: off`"), "{fault}");
    }
}

#[test]
fn a_guarded_file_in_a_writable_folder_is_read_only_and_cannot_be_moved() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("work/a/b")).unwrap();
    for file in ["work/a/b/settings", "beside"] {
        fs::write(at.join(file), "").unwrap();
    }
    let mut profile = profile(&at.join("work"));
    profile.guarded = ["work/a/b/settings", "work/a/none", "beside"]
        .map(|path| at.join(path))
        .into();
    let layout = layout(&profile).unwrap();
    assert_eq!(layout[&at.join("work/a/b/settings")], OWNED);
    assert_eq!(layout[&at.join("work/a")], WRITABLE);
    assert_eq!(layout[&at.join("work/a/b")], WRITABLE);
    assert!(!layout.contains_key(&at.join("beside")));
    assert!(!layout.contains_key(&at.join("work/a/none")));
}

#[test]
fn a_repository_that_is_a_link_is_refused() {
    let (_folder, at) = folder();
    std::os::unix::fs::symlink("elsewhere", at.join(".git")).unwrap();
    let fault = layout(&profile(&at)).unwrap_err();
    assert!(fault.reason.contains("is a link"), "{fault}");
}

#[test]
fn what_is_hidden_in_the_workspace_cannot_be_moved_either() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("a/b/state")).unwrap();
    let mut profile = profile(&at);
    profile.hidden = vec![at.join("a/b/state"), at.join("none")];
    profile.read = vec![at.join("a/b/state/inner")];
    let layout = layout(&profile).unwrap();
    for folder in ["a", "a/b"] {
        assert_eq!(layout[&at.join(folder)], WRITABLE, "{folder}");
    }
    assert_eq!(layout[&at.join("a/b/state")], Put::Folder);
    assert!(!layout.contains_key(&at.join("a/b/state/inner")));
    assert!(!layout.contains_key(&at.join("none")));
}

#[test]
fn a_workspace_in_what_is_hidden_must_be_opened() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("state/demo/work")).unwrap();
    let mut profile = profile(&at.join("state/demo/work"));
    profile.hidden = vec![at.join("state")];
    assert!(layout(&profile).is_err());
    profile.open = vec![at.join("state/demo")];
    assert!(layout(&profile).is_ok());
}

#[test]
fn a_hidden_file_with_a_second_name_is_refused() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("work")).unwrap();
    fs::create_dir_all(at.join("keys")).unwrap();
    fs::write(at.join("keys/local.key"), "secret").unwrap();
    let mut profile = profile(&at.join("work"));
    profile.hidden = vec![at.join("keys")];
    assert!(layout(&profile).is_ok());
    fs::hard_link(at.join("keys/local.key"), at.join("work/other")).unwrap();
    let fault = layout(&profile).unwrap_err();
    assert!(fault.reason.contains("second name"), "{fault}");
}
