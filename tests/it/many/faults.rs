//! Problems around many runs: names that are taken, readers that do not read, files that run out.

use std::process::{Command, Stdio};

use super::*;
use crate::fixture::says;
use crate::terminal::Terminal;

/// The same command under limits of the shell.
fn limited(bare: &Command, limits: &str) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", &format!("{limits}; exec \"$@\""), "sh"])
        .arg(bare.get_program())
        .args(bare.get_args())
        .current_dir(bare.get_current_dir().unwrap());
    for (name, value) in bare.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

#[test]
fn a_list_whose_names_are_those_of_other_runs_has_one_answer_for_each_and_leaves_no_lock() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.list(3);
    let args = ["run", "--contracts", "list.jsonl"];
    assert_eq!(ends(&fixture.ends(&args, 0).out).len(), 3);
    let args = [&args[..], &["--task", "another"]].concat();
    let taken = |text: &str| {
        let errors = documents(text).into_iter().map(|document| {
            let error = document["error"].as_str().unwrap_or_default().to_owned();
            (document["exit_code"].as_u64().unwrap(), error)
        });
        let mut errors: Vec<(u64, String)> =
            errors.filter(|(_, error)| !error.is_empty()).collect();
        errors.sort();
        errors
    };
    let ended = taken(&fixture.ends(&args, 1).out);
    assert_eq!(ended.len(), 3, "{ended:?}");
    let locks = std::fs::read_dir(fixture.path("home/runs.db.locks")).unwrap();
    let locks: Vec<_> = locks.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(locks, ["_store"]);
    // A run that is being driven has its name as one that has ended has it.
    model.set(|counts| counts.held_from = Some(counts.asked + 1));
    let line = |run: &str| {
        json!({"contract": "c.yaml", "run_id": run, "task": "another"}).to_string() + "\n"
    };
    fixture.write("twice.jsonl", &(line("r9") + &line("r0") + &line("r9")));
    let asked = model.see(|counts| counts.asked);
    // A stream is read once, so its second r9 is met only when its turn comes.
    let list = std::fs::File::open(fixture.path("twice.jsonl")).unwrap();
    let mut driving = fixture.command(&["run", "--contracts", "-", "--max-runs", "2"]);
    driving
        .stdin(list)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut driving = driving.spawn().unwrap();
    model.has(asked + 1);
    let mut printed = BufReader::new(driving.stdout.take().unwrap()).lines();
    let first = [
        printed.next().unwrap().unwrap(),
        printed.next().unwrap().unwrap(),
    ];
    model.set(|counts| counts.held_from = None);
    let rest: Vec<String> = printed.map(Result::unwrap).collect();
    assert_eq!((rest.len(), left(driving).code), (1, 1));
    let same = taken(&first.join("\n"));
    let (driven, over) = (&same[1], &same[0]);
    assert_eq!(driven.0, over.0, "{same:?}");
    let place = |error: &str| error.replace("line 3", "line 2").replace("r9", "r0");
    assert_eq!(place(&driven.1), over.1);
}

/// A list is refused as a whole, with both places: no run of it has started.
#[test]
fn a_list_with_equal_run_ids_starts_no_run() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Noon.")]);
    let line = |run: &str| format!("{{\"contract\": \"c.yaml\", \"run_id\": \"{run}\"}}\n");
    fixture.write("list.jsonl", &[line("a"), line("b"), line("a")].concat());
    let refused = fixture.ends(&["run", "--contracts", "list.jsonl"], 4);
    let why = "failed to run the list list.jsonl: lines 1 and 3 have the same run_id, a\n";
    assert!(refused.err.contains(why), "{}", refused.err);
    assert!(!fixture.path("home/runs.db").exists());
    // The lines before the first one are not part of it.
    fixture.ends(&["run", "--contracts", "list.jsonl", "--from", "2"], 0);
}

/// Each result line names its file and its task, whoever stated that.
#[test]
fn each_result_of_a_list_names_its_file_and_its_task() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Noon.")]);
    fixture.write(
        "list.jsonl",
        "{\"contract\": \"c.yaml\", \"run_id\": \"a\", \"task\": \"How late is it?\"}\n\
         {\"contract\": \"c.yaml\", \"run_id\": \"b\"}\n{\"contract\": \"none.yaml\", \"task\": \"x\"}\nno\n",
    );
    let ended = fixture.ends(&["run", "--contracts", "list.jsonl", "--max-runs", "1"], 1);
    let listed = documents(&ended.out)
        .into_iter()
        .map(|document| document["listed"].clone());
    let listed: Vec<Value> = listed.collect();
    let task = fixture.json(&["show", "b"]).1["conversation"][0]["content"].clone();
    assert_eq!(
        listed,
        [
            json!({"place": "line 1", "contract": "c.yaml", "task": "How late is it?"}),
            json!({"place": "line 2", "contract": "c.yaml", "task": task}),
            json!({"place": "line 3", "contract": "none.yaml", "task": "x"}),
            json!({"place": "line 4"}),
        ]
    );
}

/// A file of a folder is the place of its run, and a workflow is named as a contract is; on a terminal each line has the file and the task.
#[test]
fn each_result_of_a_folder_names_its_file_and_its_task() {
    let fixture = Fixture::new();
    let terms = "targets: [{provider: demo, model: script}]\n\
                 providers: {demo: {type: scripted, file: s.jsonl}}\n";
    fixture.write("all/a.yaml", &format!("task: hi\n{terms}"));
    fixture.write("all/a.pins.json", "{}");
    fixture.write("all/s.jsonl", &says("Noon."));
    let own = terms.replace('\n', "\n  ");
    let own = own.trim_end();
    let steps = "steps: [{id: ask, prompt: 'When?'}]";
    let workflow = format!("workflow: w\ninput: fish\ncontract:\n  {own}\n{steps}\n");
    fixture.write("all/b.yaml", &workflow);
    let args = ["run", "--contracts", "all", "--max-runs", "1"];
    let ended = fixture.ends(&args, 0);
    let listed = documents(&ended.out)
        .into_iter()
        .map(|document| document["listed"].clone());
    let listed: Vec<Value> = listed.collect();
    let [contract, workflow] = listed.as_slice() else {
        panic!("one result for each file: {}", ended.out);
    };
    assert_eq!(contract["place"], "a.yaml");
    assert_eq!(contract["task"], "hi");
    assert_eq!(workflow["place"], "b.yaml");
    assert_eq!(workflow["task"], "fish");
    for one in &listed {
        let file = one["contract"].as_str().unwrap();
        assert!(file.ends_with(one["place"].as_str().unwrap()), "{one}");
    }
    let (code, shown) = Terminal::sized(fixture.command(&args), 200).end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("a.yaml: hi"), "{shown}");
    assert!(shown.contains("b.yaml: fish"), "{shown}");
}

/// Returns the exit code of the process; kills it after a minute and returns `None`.
fn ends_soon(mut child: Child) -> Option<i32> {
    let pid = Pid::from_child(&child);
    let (ended, end) = std::sync::mpsc::channel();
    let waiting = thread::spawn(move || ended.send(child.wait().unwrap()));
    let end = end.recv_timeout(Duration::from_secs(60));
    if end.is_err() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    waiting.join().unwrap().unwrap();
    end.ok().and_then(|status| status.code())
}

#[test]
fn a_reader_that_does_not_read_keeps_no_signal_from_being_heard() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.list(2);
    // More than a pipe holds.
    fixture.write("task", &"x".repeat(200_000));
    model.set(|counts| counts.held_from = Some(2));
    let args = ["run", "--contracts", "list.jsonl", "--task", "@task"];
    let child = fixture.many(&[&args[..], &["--grace", "0"]].concat());
    model.has(2);
    let has_ended = || {
        let reader = StoreReader::open(&fixture.path("home/runs.db"));
        let rows =
            reader.and_then(|reader| reader.list_runs(9, monolith_host::store::RunFilter::Sealed));
        rows.is_ok_and(|rows| rows.len() == 1)
    };
    while !has_ended() {
        thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ends_soon(child), Some(8));
    model.set(|counts| counts.held_from = None);
    let resumed = fixture.ends(&["resume", "--all"], 0);
    assert_eq!(ends(&resumed.out).len(), 1, "{}", resumed.printed());
    fixture.all_verify(2);
}

#[test]
fn a_list_whose_results_nobody_reads_any_more_is_suspended() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.list(300);
    let args = ["run", "--contracts", "list.jsonl", "--max-runs", "2"];
    let args = [&args[..], &["--durability", "normal"]].concat();
    let open = || {
        let reader = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
        reader
            .list_runs(999, monolith_host::store::RunFilter::All)
            .unwrap()
            .len()
    };
    let mut child = fixture.many(&args);
    drop(child.stdout.take());
    let left = left(child);
    assert!([8, 9].contains(&left.code), "{}", left.code);
    assert!(
        left.err.contains("write the results: Broken pipe"),
        "{}",
        left.err
    );
    assert!(left.err.contains("monolith resume --all"), "{}", left.err);
    let first = open();
    assert!(first < 300, "all were begun");
    if cfg!(target_os = "linux") {
        fixture.write(
            "list.jsonl",
            &lines(600)
                .split_inclusive('\n')
                .skip(300)
                .collect::<String>(),
        );
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = fixture.command(&args).stdout(full).output().unwrap();
        assert!([8, 9].contains(&output.status.code().unwrap()));
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("write the results: No space left"), "{err}");
        assert!(open() < first + 300, "all were begun");
    }
}

#[test]
fn tool_servers_that_hang_keep_no_other_run_from_beginning() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    let hang = "tools: {mcp: {s: {command: sh, args: ['-c', 'exec sleep 600']}}}\n";
    fixture.write("hang.yaml", &model.contract(hang));
    fixture.write("c.yaml", &model.contract(ECHO));
    let hanging = json!({"contract": "hang.yaml"}).to_string() + "\n";
    fixture.write("list.jsonl", &(hanging.repeat(20) + &lines(1)));
    let mut child = fixture.many(&["run", "--contracts", "list.jsonl", "--max-runs", "21"]);
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = ends(&printed.next().unwrap().unwrap());
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    let rest = printed.map(Result::unwrap).count();
    child.wait().unwrap();
    assert_eq!(first["r0"].1, 0);
    assert_eq!(rest, 20);
}

#[test]
fn a_run_that_cannot_be_read_is_a_result_of_its_own() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 1));
    let asks = format!("{ECHO}require_approval: [clock]\n");
    fixture.write("c.yaml", &model.contract(&asks));
    fixture.list(1);
    fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let damage = "UPDATE runs SET head_hash = x'00'";
    assert_eq!(store.execute(damage, []).unwrap(), 1);
    drop(store);
    let left = fixture.ends(&["resume", "--all"], 1);
    let documents = documents(&left.out);
    assert_eq!(documents.len(), 1, "{}", left.printed());
    let error = documents[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("run r0: ") && error.contains("head_hash"),
        "{error}"
    );
}

/// It has not failed: it stays suspended, and what refused it is not recorded.
#[test]
fn a_run_whose_file_has_changed_is_not_resumed_and_says_what_helps() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 1));
    let asks = format!("{ECHO}require_approval: [clock]\n");
    let before = model.contract(&asks);
    fixture.write("c.yaml", &before);
    fixture.list(1);
    fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
    // Its answer is there: it would go on.
    fixture.answers("deny", "r0");
    fixture.write("c.yaml", &before.replace("max_turns: 20", "max_turns: 19"));
    let help = "restore the file as it was when the run started, or name a copy of it with";
    let alone = fixture.run(&["resume", "r0", "--no-wait"]).err;
    assert!(alone.contains(help), "{alone}");
    let (_, shown) = Terminal::sized(fixture.command(&["resume", "--all"]), 400).end();
    assert!(shown.contains("not resumed"), "{shown}");
    assert!(shown.contains(&format!("        {help}")), "{shown}");
    assert!(!shown.contains("broken off"), "{shown}");
    assert!(!shown.contains("--why"), "{shown}");
}

#[cfg(unix)]
#[test]
fn an_answer_that_cannot_be_taken_is_named_and_the_run_waits_on() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 1));
    let asks = format!("{ECHO}require_approval: [clock]\n");
    fixture.write("c.yaml", &model.contract(&asks));
    fixture.list(1);
    fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
    std::fs::create_dir_all(fixture.path("home/runs.db.answers/r0")).unwrap();
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(fixture.path("home/runs.db.answers"), owner_only).unwrap();
    let left = fixture.ends(&["resume", "--all"], 8);
    let warned = left.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        warned.contains("warning: run r0: no answer is taken: failed to"),
        "{warned}"
    );
}

#[cfg(unix)]
#[test]
fn a_line_takes_nothing_from_the_list_that_it_stands_in() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    fixture.write("c.yaml", &model.contract(ECHO));
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let line = json!({"contract": name}).to_string() + "\n";
        let mut command = fixture.command(&["run", "--contracts", "-", "--max-runs", "1"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let list = line + &json!({"contract": "c.yaml"}).to_string();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(list.as_bytes())
            .unwrap();
        let left = left(child);
        let documents = documents(&left.out);
        assert_eq!((documents.len(), left.code), (2, 1), "{}", left.out);
        let expect = format!("line 1: the contract of a run is a file, and {name} is none");
        assert_eq!(documents[0]["error"], expect);
        assert_eq!(documents[1]["exit_code"], 0);
    }
    let left = fixture.ends(&["run", "--contracts", "-", "--task", "-"], 4);
    assert!(
        left.err.contains("the list of runs is read from there"),
        "{}",
        left.err
    );
}

/// Servers that no other run uses, because they are a run's own or because each is another one.
#[cfg(target_os = "linux")]
#[test]
fn runs_wait_where_files_would_run_out_for_their_tool_servers() {
    let script = "echo $$ >> starts; exec sleep 600";
    for shared in [false, true] {
        let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
        let server = json!({"command": "sh", "args": ["-c", script], "shared": shared});
        let hang = format!("tools: {{workspace: ., mcp: {{s: {server}}}}}\n");
        fixture.write("hang.yaml", &model.contract(&hang));
        fixture.write("c.yaml", &model.contract(ECHO));
        let hanging = |n: usize| {
            let other = format!("tools.mcp.s.args=['-c', '{script}', '{n}']");
            json!({"contract": "hang.yaml", "set": [other]}).to_string() + "\n"
        };
        let hanging: String = (0..20).map(hanging).collect();
        fixture.write("list.jsonl", &(hanging + &lines(1)));
        let args = ["run", "--contracts", "list.jsonl", "--max-runs", "21"];
        let bare = fixture.command(&[&args[..], &["--max-inferences", "1"]].concat());
        // Enough for 21 runs and two servers.
        let mut limited = limited(&bare, "ulimit -n 292");
        let mut child = limited.stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = ends(&printed.next().unwrap().unwrap());
        let starts = || std::fs::read_to_string(fixture.path("starts")).unwrap_or_default();
        while starts().lines().count() < 2 {
            thread::yield_now();
        }
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let rest = printed.map(Result::unwrap).count();
        child.wait().unwrap();
        let starts = starts().lines().count();
        assert_eq!(
            (first["r0"].1, starts, rest),
            (0, 2, 20),
            "shared: {shared}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_list_whose_store_can_write_no_more_begins_no_further_run() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("Done.")]);
    fixture.write("list.jsonl", &lines(1_000));
    let program = fixture.command(&["run", "--contracts", "list.jsonl", "--max-runs", "4"]);
    // Half a megabyte, or one: the unit differs between shells.
    let limit = "trap '' XFSZ; ulimit -f 1024";
    let left = Left::from(limited(&program, limit).output().unwrap());
    assert_eq!(left.code, 1, "{}", left.err);
    let err = left.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(err.contains("it stopped after an earlier error"), "{err}");
    assert!(
        err.contains("not started: the rest of the list, from line "),
        "{err}"
    );
    let results = documents(&left.out);
    assert!(results.len() < 1_000, "{}", results.len());
    assert!(results[0]["success"] == true, "{}", results[0]);
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_the_first_line_that_has_not_begun_is_named() {
    // Its tool server never answers, so its run is brought up until it is interrupted.
    let hang = "tools: {workspace: ., mcp: {s: {command: sh, args: ['-c', 'echo >> starts; exec sleep 600']}}}\n";
    let hanging = || json!({"contract": "hang.yaml"}).to_string() + "\n";
    let unnamed = || json!({"contract": "c.yaml"}).to_string() + "\n";
    let check = |list: String, asked: usize, next: &str| {
        let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
        model.set(|counts| counts.held_from = Some(1));
        fixture.write("hang.yaml", &model.contract(hang));
        fixture.write("c.yaml", &model.contract(ECHO));
        fixture.write("list.jsonl", &list);
        let child = fixture.many(&["run", "--contracts", "list.jsonl", "--max-runs", "2"]);
        model.has(asked);
        while !fixture.path("starts").exists() {
            thread::yield_now();
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        model.set(|counts| counts.held_from = None);
        let left = left(child);
        assert_eq!(left.code, 1, "{}", left.printed());
        let from = "monolith run --contracts list.jsonl --max-runs 2 --from";
        let expect = format!("not started: the rest of the list, from line {next}");
        let expect = expect.replace("; ", &format!("; {from} "));
        assert!(left.err.contains(&expect), "{expect}: {}", left.err);
    };
    let named = lines(1);
    check(
        named.clone() + &hanging() + &named.replace("r0", "r1"),
        1,
        "2 on; 2 starts it\n",
    );
    // Every line is open, and none has begun.
    check(hanging() + &hanging(), 0, "1 on; 1 starts it\n");
    // One behind it has begun: a list from there on begins it again, unless it has a name.
    check(hanging() + &named, 1, "1 on; 1 starts it\n");
    let again = "1 on; 1 starts it, and repeats later runs that started without a run_id\n";
    check(hanging() + &unnamed(), 1, again);
}

#[cfg(unix)]
#[test]
fn on_a_terminal_ctrl_c_says_first_that_the_runs_end_for_good_and_the_summary_how_to_continue() {
    for (is_twice, class, expect) in [(true, "INTERRUPTED", 1), (false, "COMPLETED_CHAT_ONLY", 0)] {
        let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
        model.set(|counts| counts.held_from = Some(1));
        fixture.write("c.yaml", &model.contract(ECHO));
        fixture.list(2);
        let mut terminal = Terminal::start(fixture.command(&["run", "--contracts", "list.jsonl"]));
        model.has(2);
        terminal.signal("INT").until("ending the runs for good");
        if is_twice {
            terminal.signal("INT").until("ending the runs at once");
        } else {
            model.set(|counts| counts.held_from = None);
        }
        let (code, shown) = terminal.end();
        model.set(|counts| counts.held_from = None);
        assert_eq!(code, expect, "{shown}");
        assert!(shown.contains(&format!("2 done: 2 {class}")), "{shown}");
        // Runs whose answer was under way have completed: nothing of them was stopped.
        let examples = shown.matches("monolith continue r").count();
        assert_eq!(examples, usize::from(is_twice), "{shown}");
        assert_eq!(shown.contains("the stopped runs"), is_twice, "{shown}");
        assert!(!shown.contains("--why"), "{shown}");
        fixture.ok(&["continue", "r0", "go on"]);
    }
}
