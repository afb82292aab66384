//! Tests of what `glob` and `grep` look at, and of how they show it.

use std::fs;

use serde_json::{Value, json};

use super::Fixture;
use crate::tools::{ServerSpec, Withheld};

struct Search {
    fixture: Fixture,
    folder: tempfile::TempDir,
}

impl Search {
    /// A workspace at that path below a folder with these files.
    async fn of(workspace: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let names = ["glob", "grep", "list_directory", "read_file"];
        let spec = ServerSpec::Builtin {
            http_get: None,
            names: names.map(str::to_owned).to_vec(),
            shell: None,
            withheld: Withheld::default(),
        };
        let root = folder.path().join(workspace);
        let mut fixture = Fixture::bring_up([("builtin", spec)], &root).await;
        assert_eq!(fixture.faults(), Vec::<String>::new());
        fixture.limit = 1 << 20;
        Self { fixture, folder }
    }

    async fn check(&self, tool: &str, arguments: Value, expect: &str) {
        let arguments = arguments.to_string();
        let said = self.fixture.text_of(tool, &arguments).await;
        assert_eq!(said, expect, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn ignore_files_of_folders_above_count_up_to_the_repository() {
    let files = [
        // Beyond the repository.
        (".gitignore", "*.rs\n"),
        ("repo/.git/HEAD", ""),
        ("repo/.gitignore", "*.log\n/w/out\n/w/made/**\n"),
        ("repo/.ignore", "*.tmp\n!kept.log\n"),
        ("repo/w/.gitignore", "/sub/*.bin\n"),
        ("repo/w/a.log", "needle\n"),
        ("repo/w/a.rs", "needle\n"),
        ("repo/w/a.tmp", "needle\n"),
        ("repo/w/kept.log", "needle\n"),
        ("repo/w/out/b.rs", "needle\n"),
        ("repo/w/made/b.rs", "needle\n"),
        ("repo/w/sub/c.bin", "needle\n"),
        ("repo/w/sub/c.log", "needle\n"),
        ("repo/w/sub/c.rs", "needle\n"),
        // Its own repository: rules above are not its rules.
        ("repo/w/vendor/.git/HEAD", ""),
        ("repo/w/vendor/d.log", "needle\n"),
    ];
    let search = Search::of("repo/w", &files).await;
    search
        .check(
            "glob",
            json!({"pattern": "*"}),
            "a.rs\nkept.log\nsub/c.rs\nvendor/d.log",
        )
        .await;
    search
        .check(
            "grep",
            json!({"pattern": "needle", "path": "sub"}),
            "sub/c.rs:1:needle",
        )
        .await;
    search
        .check(
            "glob",
            json!({"pattern": "*", "path": "sub", "everything": true}),
            "sub/c.bin\nsub/c.log\nsub/c.rs",
        )
        .await;
    // A folder that rules leave out is searched if it is asked for.
    search
        .check("glob", json!({"pattern": "*", "path": "out"}), "out/b.rs")
        .await;
}

#[tokio::test]
async fn a_workspace_that_rules_above_leave_out_is_searched() {
    let files = [
        (".git/HEAD", ""),
        (".gitignore", "*\n"),
        ("w/a.rs", "needle\n"),
    ];
    let search = Search::of("w", &files).await;
    search.check("glob", json!({"pattern": "*"}), "a.rs").await;
}

#[tokio::test]
async fn a_name_with_brackets_is_listed_as_it_is_given() {
    let files = [
        ("[id].tsx", "needle\n"),
        ("app/[id].tsx", "needle\n"),
        ("app/i.tsx", ""),
        ("[a]/b.tsx", ""),
    ];
    let search = Search::of("", &files).await;
    search
        .check(
            "glob",
            json!({"pattern": "app/[id].tsx"}),
            "app/[id].tsx\napp/i.tsx",
        )
        .await;
    search
        .check("glob", json!({"pattern": "[a]/*"}), "./[a]/b.tsx")
        .await;
    search
        .check(
            "grep",
            json!({"pattern": "needle", "glob": "[id].tsx"}),
            "./[id].tsx:1:needle\napp/[id].tsx:1:needle",
        )
        .await;
    search
        .check(
            "list_directory",
            json!({"path": "."}),
            "./[a]/\n./[id].tsx\napp/",
        )
        .await;
    search
        .check("list_directory", json!({"path": "./[a]/"}), "b.tsx")
        .await;
    search
        .check("read_file", json!({"path": "./[id].tsx"}), "needle\n")
        .await;
}

#[tokio::test]
async fn an_absolute_path_into_the_workspace_is_searched() {
    let files = [("w/a.rs", "needle\n"), ("w/src/b.rs", "needle\n")];
    let search = Search::of("w", &files).await;
    let root = search.folder.path().canonicalize().unwrap().join("w");
    search
        .check(
            "grep",
            json!({"pattern": "needle", "path": root.join("src/b.rs")}),
            "src/b.rs:1:needle",
        )
        .await;
    search
        .check(
            "glob",
            json!({"pattern": "*", "path": root}),
            "a.rs\nsrc/b.rs",
        )
        .await;
    search
        .check("glob", json!({"pattern": root.join("*.rs")}), "a.rs")
        .await;
}

#[tokio::test]
async fn the_match_of_a_long_line_is_shown() {
    let line = format!("{}needle{}\n", "a".repeat(1_500), "b".repeat(1_500));
    let search = Search::of("", &[("min.js", &line)]).await;
    let shown = format!("[…] {}needle{} […]", "a".repeat(100), "b".repeat(394));
    search
        .check(
            "grep",
            json!({"pattern": "needle"}),
            &format!("min.js:1:{shown}"),
        )
        .await;
}

#[tokio::test]
async fn the_end_of_a_line_is_found_before_either_line_end() {
    let search = Search::of("", &[("a", "one\r\ntwo\r\n"), ("b", "one\ntwo")]).await;
    search
        .check("grep", json!({"pattern": "^two$"}), "a:2:two\nb:2:two")
        .await;
    search
        .check("grep", json!({"pattern": "one\\r"}), "a:1:one")
        .await;
}

#[tokio::test]
async fn binary_files_are_named_up_to_a_bound() {
    let names: Vec<String> = (0..12).map(|n| format!("f{n:02}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\0")).collect();
    let search = Search::of("", &files).await;
    let said = search.fixture.text_of("grep", r#"{"pattern":"x"}"#).await;
    assert_eq!(
        said,
        "[no line matches]\n[not searched, binary: f00, f01, f02, f03, f04, f05, f06, f07, f08, f09 and 2 more; give the path of one to \
         search it]"
    );
}
