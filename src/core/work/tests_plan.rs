//! The file of items: every field, the rules between items, and levels (004 "Input: WorkItem", "Dependency Resolution").

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

fn parse(text: &str) -> Result<WorkPlan, String> {
    let no_pattern = |text: &str| (text == "[").then(|| "it has no end".to_owned());
    let plan = WorkPlan::parse("w.yaml", text, &|agent| agent == "agent-1", &no_pattern);
    plan.map_err(|errors| errors.to_string())
}

fn plan(text: &str) -> WorkPlan {
    parse(text).expect("a plan")
}

/// Items by id and dependencies.
fn items(of: &[(&str, &str)]) -> String {
    let item = |(id, needs): &(&str, &str)| {
        format!("- {{id: {id}, agent_id: agent-1, description: do it, dependencies: [{needs}]}}\n")
    };
    format!("items:\n{}", of.iter().map(item).collect::<String>())
}

fn level_ids(plan: &WorkPlan) -> Vec<Vec<&str>> {
    let id = |item: usize| plan.items[item].id.as_str();
    let levels = plan.levels().into_iter();
    levels
        .map(|level| level.into_iter().map(id).collect())
        .collect()
}

const EXAMPLE: &str = "
id: work-item-1
agent_id: agent-1
description: Implement KnowledgeStore contract
dependencies: []
constraints: {max_files: 5, max_tool_ops: 20, max_delta_size: 50, timeout_ms: 60000}
budget: {time_estimate_ms: 30000, complexity: medium}
output_files: [/docs/contracts/KnowledgeStore.contract.md]
test_command: node validate-contract.mjs KnowledgeStore
";

/// 004/10.usage.1
#[test]
fn the_usage_example_of_004_is_read() {
    let plan = plan(EXAMPLE);
    let [item] = plan.items.as_slice() else {
        panic!("one item");
    };
    assert_eq!(item.id, "work-item-1");
    assert_eq!(item.agent_id, "agent-1");
    assert_eq!(item.constraints.max_files, 5);
    assert_eq!(item.constraints.max_tool_ops, 20);
    assert_eq!(item.constraints.max_delta_size, 50);
    assert_eq!(item.constraints.timeout_ms, 60_000);
    assert_eq!(item.budget.time_estimate_ms, 30_000);
    assert_eq!(item.budget.complexity, Complexity::Medium);
    let output = "docs/contracts/KnowledgeStore.contract.md";
    assert_eq!(item.output_files[0].to_string(), output);
    let command = "node validate-contract.mjs KnowledgeStore";
    assert_eq!(item.test_command.as_deref(), Some(command));
}

#[test]
fn camel_case_and_snake_case_give_the_same_item() {
    let camel = EXAMPLE
        .replace("agent_id", "agentId")
        .replace("max_files", "maxFiles")
        .replace("max_tool_ops", "maxToolOps")
        .replace("max_delta_size", "maxDeltaSize")
        .replace("timeout_ms", "timeoutMs")
        .replace("time_estimate_ms", "timeEstimateMs")
        .replace("output_files", "outputFiles")
        .replace("test_command", "testCommand");
    assert_eq!(plan(&camel), plan(EXAMPLE));
}

#[test]
fn a_key_in_both_spellings_is_refused() {
    let text = format!("{EXAMPLE}testCommand: make test\n");
    let error = "w.yaml:10:1: test_command: the key `test_command` occurs twice \
                     (camelCase and snake_case are the same key)";
    assert_eq!(parse(&text), Err(error.to_owned()));
}

/// 004/2.budget.1
#[test]
fn json_is_read_as_yaml_is() {
    let text = r#"{"id": "w", "agent_id": "agent-1", "description": "do it"}"#;
    assert_eq!(plan(text).items[0].constraints, Constraints::default());
}

#[test]
fn a_key_that_no_item_has_is_refused_with_a_suggestion() {
    let error = parse(&EXAMPLE.replace("max_files", "max_file")).expect_err("an error");
    let rule = "constraints.max_file: unknown key `max_file` (did you mean `max_files`?)";
    assert!(error.ends_with(rule), "{error}");
}

/// 004/2.budget.3
#[test]
fn every_word_of_a_file_is_a_value() {
    let with = |key: &str, word: &str| {
        let text = format!("{{id: w, agent_id: agent-1, description: do it, {key}: {word}}}");
        plan(&text).items.remove(0)
    };
    assert_eq!(with("tool_errors", "fail").tool_errors, ToolErrors::Fail);
    assert_eq!(with("tool_errors", "allow").tool_errors, ToolErrors::Allow);
    assert_eq!(with("on_conflict", "fail").on_conflict, OnConflict::Fail);
    assert_eq!(
        with("on_conflict", "serialize").on_conflict,
        OnConflict::Serialize
    );
    let complexity = |word: &str| {
        with("budget", &format!("{{complexity: {word}}}"))
            .budget
            .complexity
    };
    assert_eq!(complexity("low"), Complexity::Low);
    assert_eq!(complexity("medium"), Complexity::Medium);
    assert_eq!(complexity("high"), Complexity::High);
}

#[test]
fn the_keys_beyond_004_are_kept() {
    let text = "{id: w, agent_id: agent-1, description: do it, excludes: [a], include_ignored: [b], \
                    allow_external: [c], max_copy_bytes: 7, input_files: [d], sandbox: {network: on}}";
    let item = plan(text).items.remove(0);
    assert_eq!(
        (item.excludes, item.include_ignored),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(
        (item.allow_external, item.max_copy_bytes),
        (vec!["c".to_owned()], 7)
    );
    assert_eq!(item.input_files[0].to_string(), "d");
    assert_eq!(item.sandbox, Some(json!({"network": "on"})));
}

/// 004/2.item.2
#[test]
fn an_agent_is_in_the_file_or_registered() {
    let with = |agent: &str| {
        let text = "agents: {writer: writer.yaml}\nwork_tree: tree\nitems:\n- {id: w, description: do it, agent_id: ";
        parse(&format!("{text}{agent}}}\n"))
    };
    let read = with("writer").expect("a plan");
    assert_eq!(read.agents["writer"], "writer.yaml");
    assert_eq!(read.work_tree.as_deref(), Some("tree"));
    assert!(with("agent-1").is_ok());
    let error = with("writr").expect_err("an error");
    let rule = "items.0.agent_id: no agent `writr` is registered (did you mean `writer`?)";
    assert!(error.ends_with(rule), "{error}");
}

#[test]
fn a_path_that_leads_out_of_the_tree_is_refused_at_its_place() {
    let text = EXAMPLE.replace("/docs/contracts", "/../contracts");
    let error = parse(&text).expect_err("an error");
    assert!(
        error.starts_with("w.yaml:8:16: output_files.0: a path has no `.` or `..`"),
        "{error}"
    );
}

#[test]
fn a_path_that_no_tree_has_is_refused_at_its_place() {
    for path in ["/.git/config", "sub/.GIT", ".monolith-scratch/x"] {
        let text = EXAMPLE.replace("/docs/contracts/KnowledgeStore.contract.md", path);
        let error = parse(&text).expect_err("an error");
        let rule = "w.yaml:8:16: output_files.0: repositories and scratch trees are no part";
        assert!(error.starts_with(rule), "{error}");
    }
}

#[test]
fn a_text_that_is_no_pattern_is_refused_at_its_place() {
    for (key, value, rule) in [
        (
            "excludes",
            "['*.o', '[']",
            "excludes.1: `[` is no pattern: it has no end",
        ),
        (
            "include_ignored",
            "['[']",
            "include_ignored.0: `[` is no pattern: it has no end",
        ),
        (
            "allow_external",
            "[gh__*, '']",
            "allow_external.1: `` is no pattern: no tool has",
        ),
        (
            "allow_external",
            "[' x']",
            "allow_external.0: ` x` is no pattern: no tool has",
        ),
    ] {
        let error = parse(&format!("{EXAMPLE}{key}: {value}\n")).expect_err("an error");
        assert!(error.starts_with("w.yaml:10:"), "{error}");
        assert!(error.contains(rule), "{error}");
    }
    plan(&format!("{EXAMPLE}allow_external: ['*', http_get]\n"));
}

#[test]
fn a_key_that_a_file_of_one_item_does_not_have_is_refused_with_all_that_it_has() {
    let error = parse(&format!("{EXAMPLE}zzqqzzqqzz: 1\n")).expect_err("an error");
    for name in ["agents", "work_tree", "description"] {
        assert!(
            error.contains(&format!("{name},")) || error.contains(&format!("{name})")),
            "{error}"
        );
    }
    let error = parse(&format!("{EXAMPLE}worktree: x\n")).expect_err("an error");
    assert!(error.contains("did you mean `work_tree`?"), "{error}");
    let error = parse(&format!("{EXAMPLE}work_tree: ''\n")).expect_err("an error");
    assert!(
        error.contains("work_tree: expected a text that is not blank"),
        "{error}"
    );
}

#[test]
fn the_schema_takes_the_paths_that_an_item_may_name() {
    let schema = crate::contract::work_file_schema();
    let schema = jsonschema::options().offline().build(&schema).unwrap();
    let check = |path: &str, is_taken: bool| {
        let item = json!({
            "id": "w", "agent_id": "agent-1", "description": "do it", "output_files": [path],
        });
        assert_eq!(schema.is_valid(&item), is_taken, "{path}");
        assert_eq!(parse(&item.to_string()).is_ok(), is_taken, "{path}");
    };
    for path in [
        "a",
        "/a/b",
        "./a",
        "/./a",
        ".a/..b/c.",
        "a b/%/ü",
        ".gitignore",
    ] {
        check(path, true);
    }
    for path in [
        "",
        "/",
        "./",
        "a/",
        "//a",
        "a//b",
        ".",
        "..",
        "/..",
        "a/../b",
        "a/.",
        "././a",
        ".git",
        "a/.Git/b",
        "/.monolith-scratch",
    ] {
        check(path, false);
    }
}

/// 004/2.item.1
#[test]
fn ids_are_unique_and_name_files() {
    let error = parse(&items(&[("a", ""), ("a", "")])).expect_err("an error");
    assert!(
        error.contains("items.1.id: the item `a` is defined twice"),
        "{error}"
    );
    let error = parse(&items(&[("a/b", "")])).expect_err("an error");
    assert!(
        error.contains("items.0.id: expected 1 to 64 letters"),
        "{error}"
    );
}

/// 004/2.item.3
#[test]
fn blank_texts_and_empty_lists_are_refused() {
    let error = parse(&EXAMPLE.replace("Implement KnowledgeStore contract", "' '"));
    assert!(error.is_err_and(|error| error.contains("description: expected a text")));
    let error = parse("items: []");
    assert!(error.is_err_and(|error| error.contains("expected 1 to 1000 items, got 0")));
    let error = parse(&EXAMPLE.replace("60000", "0"));
    assert!(error.is_err_and(|error| error.contains("constraints.timeout_ms: out of range")));
}

/// 004/7.levels.1
#[test]
fn a_circle_is_named() {
    let error = parse(&items(&[("a", "c"), ("b", "a"), ("c", "b"), ("d", "a")]));
    let error = error.expect_err("an error");
    let rule = "items.0.dependencies: these items wait for each other: a → c → b → a \
                    (remove one of the dependencies)";
    assert!(error.ends_with(rule), "{error}");
    let error = parse(&items(&[("a", "a")])).expect_err("an error");
    assert!(
        error.contains("these items wait for each other: a → a"),
        "{error}"
    );
}

#[test]
fn a_dependency_twice_is_refused_and_one_outside_the_file_is_kept() {
    let error = parse(&items(&[("a", ""), ("b", "a, a")])).expect_err("an error");
    assert!(
        error.contains("items.1.dependencies.1: it depends on `a` twice"),
        "{error}"
    );
    let plan = plan(&items(&[("a", "earlier"), ("b", "a")]));
    assert_eq!(plan.external(), BTreeSet::from(["earlier"]));
    assert_eq!(level_ids(&plan), [["a"], ["b"]]);
}

#[test]
fn an_item_that_reconciles_nothing_is_refused() {
    let text = "items: [{id: a, agent_id: agent-1, description: do it, reconciles: true}]";
    let error = parse(text).expect_err("an error");
    assert!(
        error.contains("items.0.reconciles: an item that reconciles needs dependencies"),
        "{error}"
    );
    let text = items(&[("a", ""), ("b", "a")]);
    let plan = plan(&text.replace("dependencies: [a]", "dependencies: [a], reconciles: true"));
    assert!(!plan.items[0].reconciles && plan.items[1].reconciles);
    let text = serde_json::to_string(&plan.items[0]).expect("JSON");
    assert!(!text.contains("reconciles"), "{text}");
}

/// 004/7.levels.2, 004/7.levels.4, 004/7.levels.5, 004/7.levels.6
#[test]
fn the_levels_are_those_of_the_example_in_004() {
    let plan = plan(&items(&[
        ("agent-0", "agent-1, agent-2, agent-3, agent-4, agent-5"),
        ("agent-4", "agent-1, agent-2, agent-3"),
        ("agent-5", "agent-1"),
        ("agent-3", ""),
        ("agent-2", ""),
        ("agent-1", ""),
    ]));
    let levels = [
        vec!["agent-1", "agent-2", "agent-3"],
        vec!["agent-4", "agent-5"],
        vec!["agent-0"],
    ];
    assert_eq!(level_ids(&plan), levels);
}

/// 004/2.budget.2, 004/2.budget.3
#[test]
fn the_hardest_and_longest_items_of_a_level_begin_first() {
    let item = |id: &str, budget: &str| {
        format!("- {{id: {id}, agent_id: agent-1, description: do it, budget: {{{budget}}}}}\n")
    };
    let text = [
        item("a", "complexity: low"),
        item("b", "time_estimate_ms: 1"),
        item("c", "time_estimate_ms: 2"),
        item("d", "complexity: high"),
    ];
    assert_eq!(
        level_ids(&plan(&format!("items:\n{}", text.concat()))),
        [["d", "c", "b", "a"]]
    );
}
