//! Variants of the attacks on the view of a confined process (numbers 5 and 7 of issue 15): credentials that the host replaces or makes while a
//! program runs, settings that hold credentials, folders that were moved. Against the binary, as this user and as another one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::{Fixture, calls, says};
use crate::sandbox_faults::{has, sandbox};
use crate::sandbox_view::{Caller, callers};

const SECRET: &str = "canary-41c8-not-for-tools";
/// More than a run takes.
const LONGEST: Duration = Duration::from_secs(60);

/// Makes a file and moves it to its place, as programs do that write credentials; it belongs to the owner of the folder.
fn replace(path: &Path, text: &str) {
    let above = path.parent().unwrap();
    let owner = fs::metadata(above).unwrap();
    let made = above.join(".made");
    fs::write(&made, text).unwrap();
    std::os::unix::fs::chown(&made, Some(owner.uid()), Some(owner.gid())).unwrap();
    fs::rename(made, path).unwrap();
}

/// 15.5: A home that is granted for reading shows no credential, also not one that the host replaces or makes while a command runs. Settings are
/// shown as they were at the start.
#[test]
fn n5_a_credential_that_is_replaced_or_made_later_is_not_seen_in_a_granted_home() {
    if !sandbox() {
        return;
    }
    let replaced = [".pgpass", ".netrc", ".npmrc", ".config/gh/hosts.yml"];
    let made = [
        ".my.cnf",
        ".vault-token",
        ".config/git/credentials",
        ".config/op",
        ".gitconfig",
    ];
    for (caller, grant) in callers()
        .into_iter()
        .flat_map(|caller| [(caller, "user"), (caller, "'~/'")])
    {
        let fixture = Fixture::new();
        for path in &replaced[..2] {
            fixture.write(&format!("user/{path}"), "old");
        }
        fixture.write("user/.npmrc", "save-exact=true\n");
        fixture.write("user/.config/gh/hosts.yml", "old");
        fixture.write("user/.config/git/other", "other");
        fixture.write("user/src/plain", "plain");
        let all: Vec<&str> = replaced.iter().chain(&made).copied().collect();
        let tries = format!(
            "cd {}; cat {all}; cat src/plain .config/git/other .npmrc; touch src/new; ls -a",
            fixture.path("user").display(),
            all = all.join(" ")
        );
        let wait = "touch ready; while [ ! -e go ]; do sleep 0.05; done";
        let commands = format!("({tries}); {wait}; ({tries})");
        fixture.shell_lines(
            &format!("builtin: [shell], workspace: work, sandbox: {{read: [{grant}]}}"),
            &[&commands, &tries],
        );
        let user = fixture.path("user");
        let (ready, go) = (fixture.path("work/ready"), fixture.path("work/go"));
        let host = thread::spawn(move || {
            let begun = Instant::now();
            while !ready.exists() && begun.elapsed() < LONGEST {
                thread::yield_now();
            }
            for path in all {
                replace(&user.join(path), &format!("token={SECRET}\n"));
            }
            fs::write(go, "").unwrap();
        });
        let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
        host.join().unwrap();
        let said = left.printed();
        assert!(
            fixture.path("work/go").exists(),
            "{caller:?} {grant}: {said}"
        );
        for expect in ["plain", "other", "save-exact"] {
            assert!(left.out.contains(expect), "{caller:?} {grant}: {said}");
        }
        assert!(!said.contains(SECRET), "{caller:?} {grant}: {said}");
        assert!(!fixture.path("user/src/new").exists());
    }
}

/// 15.7: Settings that hold credentials are not shown, wherever git or a package manager keeps them. Other programs of the server cannot read how
/// its sandbox is made up.
#[test]
fn n7_settings_with_credentials_and_the_profile_are_not_shown() {
    if !sandbox() || !has("python3") {
        return;
    }
    let secret = [
        (".npmrc", "//localhost/:key=SECRET\n"),
        (
            ".gitconfig",
            "[credential]\n\thelper = \"!f() { echo SECRET; }; f\"\n",
        ),
        (".pip/pip.conf", "[global]\nproxy = me:SECRET@proxy:80\n"),
        (
            ".config/uv/uv.toml",
            "index = \"https://me:SECRET@host/\"\n",
        ),
        (
            ".nvm/versions/node/v22/etc/npmrc",
            "//localhost/:_authToken=SECRET\n",
        ),
        (
            ".nvm/versions/node/v22/lib/node_modules/npm/npmrc",
            "_auth=SECRET\n",
        ),
        (
            ".pyenv/versions/3/pip.conf",
            "[global]\naddress = https://me:SECRET@host/\n",
        ),
        (".local/share/uv/credentials/host", "SECRET"),
    ];
    let plain = [
        (".config/git/config", "[user]\n\tname = Somebody\n"),
        (".nvm/versions/node/v22/bin/node", "a program"),
        (".local/share/uv/tools/t", "a tool"),
    ];
    for caller in callers() {
        let fixture = Fixture::new();
        for (path, text) in secret {
            let text = text.replace("SECRET", SECRET);
            fixture.write(&format!("user/{path}"), &text);
        }
        let mut line = "cd ~ || exit\n".to_owned();
        for (path, _) in secret.iter().chain(&plain) {
            line.extend(["cat ", path, "; "]);
        }
        for (path, text) in plain {
            fixture.write(&format!("user/{path}"), text);
        }
        line += "echo more > .local/share/uv/tools/u; cat .local/share/uv/tools/u; cd -; \
                 cat /proc/*/cmdline /proc/*/environ | tr '\\0' '\\n' > cmdlines";
        for more in ["", ", sandbox: {}"] {
            fixture.server_line(&line, more);
            let left = fixture.run_as(caller, &["run", "c.yaml"], &[]);
            assert_eq!(left.code, 0, "{}", left.printed());
            let seen = fixture.read("work/seen");
            assert!(!seen.contains(SECRET), "{caller:?}{more}: {seen}");
            for expect in ["Somebody", "a program", "a tool", "more"] {
                assert!(seen.contains(expect), "{caller:?}{more} {expect}: {seen}");
            }
            let cmdlines = fixture.read("work/cmdlines");
            assert!(cmdlines.contains("before.sh"), "{cmdlines}");
            for kept in ["hidden_folders", "credentials"] {
                assert!(!cmdlines.contains(kept), "{cmdlines}");
            }
        }
    }
}

/// 15.7: Of an installation in the home or elsewhere only the code is shown, and a granted home shows no credentials of other programs.
#[test]
fn n7_no_credentials_beside_programs_and_in_a_granted_home_are_shown() {
    if !sandbox() || !has("python3") {
        return;
    }
    // Each with a folder `bin` in `PATH`, or none.
    let secret = [
        ("user/.fly", "config.yml"),
        ("user/.pulumi", "credentials.json"),
        ("user/.cabal", "config"),
        ("user/.foundry", "keystores/k"),
        ("user/.railway", "config.json"),
        ("user/.wasmer", "wasmer.toml"),
        ("user/.composer", "auth.json"),
        ("user/.gem", "credentials"),
        ("opt/cargo", "credentials.toml"),
        ("", "user/.yarnrc.yml"),
        ("", "user/.bunfig.toml"),
        ("", "user/.config/pnpm/rc"),
        ("", "user/.cargo/config.toml"),
        ("", "user/.m2/settings.xml"),
        ("", "user/.config/microsoft-edge/Cookies"),
        ("", "user/.var/app/org.mozilla.firefox/.mozilla/key4.db"),
        ("", "user/snap/firefox/common/.mozilla/key4.db"),
        ("", "user/.thunderbird/logins.json"),
        ("", "user/.cache/huggingface/token"),
        ("", "user/.config/github-copilot/hosts.json"),
        ("", "user/.local/share/opencode/auth.json"),
        ("", "user/.local/share/fish/fish_history"),
        ("", "user/.authinfo"),
        ("", "user/.databrickscfg"),
    ];
    // Not known as credentials, so a grant of the home shows them.
    let beside = [("user/dotfiles", "secrets.env"), ("opt/box", "db.env")];
    let all = secret.iter().chain(&beside);
    for caller in callers() {
        let fixture = Fixture::new();
        let mut search = vec![];
        for (index, (folder, path)) in all.clone().enumerate() {
            let text = format!("token: {SECRET} <password>{index}");
            fixture.write(&Path::new(folder).join(path).display().to_string(), &text);
            if !folder.is_empty() {
                fixture.write(&format!("{folder}/bin/tool"), "");
                fixture.write(&format!("{folder}/lib/code"), &format!("code {index}\n"));
                search.push(fixture.path(&format!("{folder}/bin")));
            }
        }
        let own = std::env::var_os("PATH").unwrap();
        search.extend(std::env::split_paths(&own));
        let search = std::env::join_paths(search).unwrap().into_string().unwrap();
        let search = [("PATH", search)];
        let whole = fixture.path("");
        let whole = whole.display();
        let line = format!(
            "cat {whole}/opt/*/lib/code {whole}/user/.*/lib/code; grep -rs --exclude-dir=work {SECRET} {whole}"
        );
        for (more, is_granted) in [("", false), (", sandbox: {read: [user]}", true)] {
            fixture.server_line(&line, more);
            let left = fixture.run_as(caller, &["run", "c.yaml"], &search);
            assert_eq!(left.code, 0, "{}", left.printed());
            let seen = fixture.read("work/seen");
            assert!(seen.contains("code 8"), "{caller:?}{more}: {seen}");
            let seen: Vec<&str> = seen.lines().filter(|line| line.contains(SECRET)).collect();
            // The list of what is granted has only the file that no rule knows.
            let known: &[&str] = if is_granted { &["dotfiles"] } else { &[] };
            let is_known = |line: &&str| known.iter().any(|known| line.contains(known));
            assert!(seen.iter().all(is_known), "{caller:?}{more}: {seen:?}");
            assert_eq!(seen.len(), known.len(), "{caller:?}{more}: {seen:?}");
        }
    }
}

/// 15.8: Of a granted folder with several sockets only the stated one is reached, by servers and by commands.
#[test]
fn n8_every_other_socket_of_a_granted_folder_is_masked() {
    if !sandbox() || !has("python3") {
        return;
    }
    for (caller, folder) in callers()
        .into_iter()
        .flat_map(|caller| [(caller, "run"), (caller, "user")])
    {
        let fixture = Fixture::new();
        fs::create_dir_all(fixture.path(folder)).unwrap();
        let names = ["allowed", "one", "two", "three"];
        let _listeners = names.map(|name| {
            let path = fixture.path(&format!("{folder}/{name}.sock"));
            std::os::unix::net::UnixListener::bind(path).unwrap()
        });
        fixture.write(
            "work/connect.py",
            "import socket, sys\nfor path in sys.argv[1:]:\n    try:\n        socket.socket(socket.AF_UNIX).connect(path); print('reached', path)\n    except OSError as fault: print(fault)\n",
        );
        let at = fixture.path(folder);
        let at = at.display();
        let grants =
            format!("sandbox: {{network: off, sockets: ['{at}/allowed.sock'], read: ['{at}']}}");
        let line = format!(
            "python3 connect.py {at}/*.sock {}",
            names.map(|name| format!("{at}/{name}.sock")).join(" ")
        );
        fixture.server_line(&line, &format!(", {grants}"));
        let left = fixture.run_as(caller, &["run", "c.yaml"], &[]);
        assert_eq!(left.code, 0, "{}", left.printed());
        let by_server = fixture.read("work/seen");
        fixture.shell_lines(
            &format!("builtin: [shell], workspace: work, {grants}"),
            &[&line],
        );
        let left = fixture.run_as(caller, &["run", "--json", "c.yaml"], &[]);
        assert_eq!(left.code, 0, "{}", left.printed());
        for said in [by_server, left.out] {
            assert!(
                said.contains("/allowed.sock"),
                "{caller:?} {folder}: {said}"
            );
            for masked in &names[1..] {
                let reached = format!("reached {at}/{masked}");
                assert!(!said.contains(&reached), "{caller:?} {folder}: {said}");
            }
        }
    }
}

/// 15.7: A server that root starts reads no file of `/etc` that only root may read.
#[test]
fn n7_a_server_of_root_reads_no_private_file_of_the_system() {
    let private = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers"];
    let here = private
        .iter()
        .filter(|path| fs::read(path).is_ok_and(|text| !text.is_empty()));
    let here: Vec<&str> = here.copied().collect();
    if !sandbox() || !has("python3") || here.is_empty() {
        println!("skipped 1 case: this user can read no private file of the system");
        return;
    }
    let fixture = Fixture::new();
    let line = format!(
        "for path in {} /etc/ssl/private/* /etc/ssh/ssh_host_*_key; do head -c 1 $path && echo \"read $path\"; done; head -c 9 /etc/passwd; \
         ls -L /etc/ssl/certs /etc/resolv.conf > /dev/null && echo usable",
        here.join(" ")
    );
    for more in ["", ", sandbox: {}"] {
        fixture.server_line(&line, more);
        let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &[]);
        assert_eq!(left.code, 0, "{}", left.printed());
        let seen = fixture.read("work/seen");
        assert!(seen.contains("root:") && !seen.contains("read /"), "{seen}");
    }
    // What the author names is shown.
    fixture.server_line(&line, &format!(", sandbox: {{read: [{}]}}", here[0]));
    let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &[]);
    assert_eq!(left.code, 0, "{}", left.printed());
    let seen = fixture.read("work/seen");
    assert!(seen.contains(&format!("read {}", here[0])), "{seen}");
}

/// 15.5: A folder that an earlier run could write, and that was moved since, is still one in which a link may be planted.
#[test]
fn n5_a_link_in_a_folder_that_was_moved_is_refused() {
    if !sandbox() {
        return;
    }
    for caller in callers() {
        let fixture = Fixture::new();
        fixture.write("notes/id", SECRET);
        fixture.shell_lines(
            "builtin: [shell], workspace: work",
            &["mkdir a; ln -s ../../notes a/out; echo made"],
        );
        let run: &[&str] = &["run", "--json", "c.yaml"];
        assert_eq!(fixture.run_as(caller, run, &[]).code, 0);
        if fs::metadata(fixture.path("work"))
            .unwrap()
            .created()
            .is_err()
        {
            println!("skipped 1 case: this file system keeps no time of birth");
            return;
        }
        fs::rename(fixture.path("work"), fixture.path("moved")).unwrap();
        fixture.shell_lines(
            "builtin: [shell], workspace: data, sandbox: {read: [../moved/a/out]}",
            &["cat ../../notes/id"],
        );
        for file in ["c.yaml", "s.jsonl"] {
            fixture.write(&format!("later/{file}"), &fixture.read(file));
        }
        fs::create_dir_all(fixture.path("later/data")).unwrap();
        let left = fixture.run_as(caller, &["run", "--json", "later/c.yaml"], &[]);
        let said = left.printed();
        assert_eq!(left.code, 4, "{said}");
        assert!(said.contains("moved/a/out, which a confined"), "{said}");
        assert!(!said.contains(SECRET), "{said}");
    }
}

/// A home that was granted once by mistake takes its programs out of `PATH`; the note names the way out.
#[test]
fn a_folder_of_path_that_an_earlier_run_could_write_is_named_with_the_way_out() {
    if !sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("user/bin/tool", "");
    let search = std::env::var("PATH").unwrap();
    let search = format!("{}:{search}", fixture.path("user/bin").display());
    let search = [("PATH", search)];
    let check = |sandbox: &str, expect: &str| {
        let tools = format!("builtin: [shell], workspace: work, sandbox: {{{sandbox}}}");
        fixture.shell_lines(&tools, &["true"]);
        let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &search);
        assert_eq!(left.code, 0, "{}", left.printed());
        let words: Vec<&str> = left.err.split_whitespace().collect();
        let said = words.join(" ");
        match expect {
            "" => assert!(!said.contains("is left out"), "{said}"),
            expect => assert!(said.contains(expect), "{said}"),
        }
    };
    check("", "");
    check(
        "write: [user]",
        "because a confined program may write there",
    );
    let record = fixture.path("home/granted-folders");
    let way_out = format!("delete {}", record.display());
    check("", &way_out);
    fs::remove_file(record).unwrap();
    check("", "");
}

/// 15.7: A server that ends because it does not see a path is reported with the line that grants the path; one whose sandbox cannot be set up with
/// what is wrong.
#[test]
fn a_server_that_misses_a_path_is_reported_with_the_line_that_grants_it() {
    if !sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("other/list", "");
    fs::create_dir_all(fixture.path("work")).unwrap();
    fs::create_dir_all(fixture.path("user")).unwrap();
    let check = |workspace: &str, line: &str, expect: &str| {
        let args = json!(["-c", line]);
        let tools = format!(
            "tools: {{workspace: {workspace}, mcp: {{odd: {{command: sh, args: {args}}}}}}}\n"
        );
        fixture.script(&tools, &[&calls("odd__hello", "{}"), &says("Done.")]);
        let left = fixture.run_as(Caller::This, &["run", "c.yaml"], &[]);
        assert_eq!(left.code, 3, "{}", left.printed());
        let words: Vec<&str> = left.err.split_whitespace().collect();
        let said = words.join(" ");
        assert!(said.contains(expect), "{expect}: {said}");
        assert!(!said.contains("starts and ends"), "{said}");
    };
    let at = |path: &str| {
        fixture
            .path(path)
            .canonicalize()
            .unwrap()
            .display()
            .to_string()
    };
    let whole = at("");
    let whole = whole.trim_end_matches('/');
    check(
        "work",
        &format!("ls {whole} || exit 3"),
        &format!("the sandbox does not show {whole}: `sandbox: {{read: [{whole}]}}`"),
    );
    let other = at("other");
    check(
        "work",
        &format!("touch {other}/list || exit 3"),
        &format!("`sandbox: {{write: [{other}/list]}}`"),
    );
    let state: PathBuf = fixture.path("home/inner");
    fs::create_dir_all(state).unwrap();
    check(
        "home/inner",
        "true",
        "which is monolith's own state; set `tools.workspace` to a folder outside of it",
    );
}
