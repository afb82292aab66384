//! The output for a person, on terminals of several widths, with colours and without, and the output for a pipe.
//!
//! No line is wider than its terminal, a colour is the only escape besides the wiping of a line, a pipe gets none, and a narrow
//! terminal shows the same words. `*.txt` next to this file has the words of each surface and, where nothing in it depends on a
//! clock or a path, its lines at each width. `MONOLITH_BLESS=1` rewrites them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use crate::fixture::{Fixture, Left, calls, says};
use crate::terminal::Terminal;

#[cfg(unix)]
mod work;
mod workflow;

const WIDTHS: [u16; 5] = [40, 60, 80, 120, 200];
/// Wipes the line that the cursor stands in.
const WIPE: &str = "\r\u{1b}[2K";

/// One thing that monolith shows.
struct Surface<'t> {
    name: &'static str,
    args: &'t [&'t str],
    code: i32,
    /// The texts to wait for, and to type then.
    typed: &'t [(&'t str, &'t str)],
    /// True if its lines are always the same.
    is_fixed: bool,
    /// True if each width shows the same words. An excerpt of a file shows what fits.
    is_whole: bool,
    /// True if its colours are kept.
    is_painted: bool,
}

impl<'t> Surface<'t> {
    const fn fixed(name: &'static str, args: &'t [&'t str], code: i32) -> Self {
        Self {
            name,
            args,
            code,
            typed: &[],
            is_fixed: true,
            is_whole: true,
            is_painted: false,
        }
    }

    const fn moving(name: &'static str, args: &'t [&'t str], code: i32) -> Self {
        Self {
            is_fixed: false,
            ..Self::fixed(name, args, code)
        }
    }

    const fn painted(self) -> Self {
        Self {
            is_painted: true,
            ..self
        }
    }

    /// Looks at it in every way; `fixture` prepares a new folder for each.
    #[track_caller]
    fn check(&self, fixture: impl Fn() -> Fixture) {
        let mut kept = String::new();
        let mut words: Option<String> = None;
        for width in WIDTHS {
            let place = fixture();
            let plain = self.raw(&place, width, false);
            let rest = plain.replace(WIPE, "");
            assert!(
                !rest.contains('\u{1b}'),
                "{} at {width}: {rest:?}",
                self.name
            );
            let lines = lines(&plain);
            self.fit(&lines, width);
            let seen = steady(&lines.concat(), &place);
            if self.is_whole {
                let words = words.get_or_insert(seen.clone());
                assert_eq!(words, &seen, "{} at {width}", self.name);
            }
            if self.is_fixed || width == WIDTHS[4] {
                let lines = steady_lines(&lines, &place, self.is_fixed);
                let _ = writeln!(kept, "== {width} columns\n{}\n", lines.join("\n"));
            }
        }
        let widths = if self.is_painted {
            &[60, 80, 200][..]
        } else {
            &[80]
        };
        let colour = Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        for width in widths.iter().copied() {
            let place = fixture();
            let coloured = self.raw(&place, width, true);
            let stripped = colour.replace_all(&coloured, "");
            let rest = stripped.replace(WIPE, "");
            assert!(
                !rest.contains('\u{1b}'),
                "{} at {width}: {rest:?}",
                self.name
            );
            self.fit(&lines(&stripped), width);
            let seen = steady(&lines(&stripped).concat(), &place);
            if let Some(words) = &words {
                assert_eq!(words, &seen, "{} with colours", self.name);
            }
            if self.is_painted && width != 80 && (self.is_fixed || width == WIDTHS[4]) {
                let lines = steady_lines(&lines(&coloured), &place, self.is_fixed);
                let lines = lines.join("\n").replace('\u{1b}', "␛");
                let _ = writeln!(kept, "== {width} columns, in colour\n{lines}\n");
            }
        }
        // Where a person is asked on a terminal, a pipe would wait for another one.
        let more: &[&str] = if self.typed.is_empty() {
            &[]
        } else {
            &["--no-wait"]
        };
        let left = fixture().run(&[self.args, more].concat());
        assert!(
            !left.printed().contains('\u{1b}'),
            "{} in a pipe: {}",
            self.name,
            left.printed()
        );
        keep(self.name, &kept);
    }

    /// No line is wider than the terminal. It breaks what is copied itself, and copies it as one line.
    #[track_caller]
    fn fit(&self, lines: &[String], width: u16) {
        for line in lines {
            let cells = line.width();
            assert!(
                cells <= usize::from(width) || is_copied(line),
                "{} at {width}, {cells} cells: {line}",
                self.name
            );
        }
    }

    fn raw(&self, fixture: &Fixture, width: u16, has_colour: bool) -> String {
        let mut command: Command = fixture.command(self.args);
        command.env_remove("NO_COLOR");
        if !has_colour {
            command.env("NO_COLOR", "1");
        }
        let mut terminal = Terminal::sized(command, width);
        for (until, keys) in self.typed {
            terminal.until(until).types(keys);
        }
        let (code, shown) = terminal.end();
        assert_eq!(code, self.code, "{} at {width}: {shown}", self.name);
        shown
    }
}

/// Compares what is shown of a surface with what was.
#[track_caller]
fn keep(name: &str, shown: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens");
    let path: PathBuf = folder.join(format!("{name}.txt"));
    if std::env::var_os("MONOLITH_BLESS").is_some() {
        std::fs::write(path, shown).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(kept, shown, "{name}: MONOLITH_BLESS=1 writes it anew");
}

/// The lines that stay on the screen, without the space at their ends.
fn lines(shown: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for (at, piece) in shown.replace("\r\n", "\n").split(WIPE).enumerate() {
        if at > 0
            && let Some(line) = all.last_mut()
        {
            line.clear();
        }
        for (n, line) in piece.split('\n').enumerate() {
            if n > 0 {
                all.push(String::new());
            }
            if let Some(last) = all.last_mut() {
                last.push_str(line);
            }
        }
    }
    // Only a slow machine shows how long a start took.
    let all = all.iter().filter(|line| !line.contains("ready after "));
    let mut all: Vec<String> = all.map(|line| line.trim_end().to_owned()).collect();
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

/// True if it is a command, or ends with a hash or a key: copied text keeps its line.
fn is_copied(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches("= ");
    let starts = ["cargo ", "monolith ", "python3 -m "];
    let ends = Regex::new(
        "(^|[ :])\"?([0-9a-f]{32,}|[a-z]+\\+[0-9a-f]+\\+[A-Za-z0-9+/=]{32,})\"?[,.;:]?$",
    );
    starts.iter().any(|word| text.starts_with(word)) || ends.unwrap().is_match(text)
}

/// The words without any space: what a clock, a key or a folder gives is always the same.
fn steady(text: &str, fixture: &Fixture) -> String {
    // A dot stands between two commands that are on one line.
    let is_kept = |c: &char| !c.is_whitespace() && *c != '·';
    let text: String = text.chars().filter(is_kept).collect();
    let text = replaced(&text, fixture);
    let text = Regex::new("[0-9]+ms").unwrap().replace_all(&text, "0ms");
    Regex::new("[0-9]+\\.[0-9]{3}s")
        .unwrap()
        .replace_all(&text, "0.000s")
        .into_owned()
}

/// The same of lines. Where lines are `fixed`, each is as long as it was.
fn steady_lines(lines: &[String], fixture: &Fixture, fixed: bool) -> Vec<String> {
    let time = Regex::new(" *[0-9]+\\.[0-9]{3}s").unwrap();
    let took = Regex::new("[0-9]+ ms").unwrap();
    let aligned = |found: &regex::Captures<'_>| format!("{:>1$}", "0.000s", found[0].len());
    let steady = lines.iter().map(|line| {
        let line = replaced(line, fixture);
        if fixed {
            return time.replace_all(&line, aligned).into_owned();
        }
        let line = time.replace_all(&line, "0.000s");
        took.replace_all(&line, "0 ms").into_owned()
    });
    steady.collect()
}

fn replaced(text: &str, fixture: &Fixture) -> String {
    let mut text = text.to_owned();
    let folder = fixture.path("");
    for path in [folder.canonicalize().unwrap(), folder] {
        let path = path.display().to_string();
        text = text.replace(path.trim_end_matches('/'), "FOLDER");
    }
    let date = "[0-9]{4}-[0-9]{2}-[0-9]{2} ?[0-9]{2}:[0-9]{2}:[0-9]{2}";
    let zeros = |found: &regex::Captures<'_>| -> String {
        let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
        found[0].chars().map(digit).collect()
    };
    let text = Regex::new(date).unwrap().replace_all(&text, zeros);
    let receipt = Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    let text = receipt.replace_all(&text, "RECEIPT");
    // The trees of a work item, and the run of its agent.
    let of_item = Regex::new("((?:before|after) *)[0-9a-f]{12}|(run *)[0-9a-f]{16}(\\.1)").unwrap();
    let text = of_item.replace_all(&text, "${1}${2}0${3}");
    // The head of a workflow, and the milliseconds that it was driven.
    let moving = Regex::new("(entries *head *)[0-9a-f]{16}|(ms *)[0-9,]+( *of)").unwrap();
    moving.replace_all(&text, "${1}${2}0${3}").into_owned()
}

const LONG: &str = "Read what the folder holds, compare it with what the task of yesterday said of it, and write down in one sentence \
                    which of both is right; 漢字 stand here because they are two cells wide 漢字漢字漢字漢字漢字漢字漢字.";

/// A folder with a contract, and a script that calls a tool twice and answers.
fn asking(more: &str) -> Fixture {
    let fixture = Fixture::new();
    let call = calls("echo", &format!("{{\"text\":\"{LONG}\"}}"));
    fixture.script(
        &format!("tools: {{builtin: [echo, read_file]}}\nsampling: {{stream: false}}\n{more}"),
        &[
            &call,
            &calls("read_file", "{\"path\":\"no-such-file\"}"),
            &says("It is right."),
        ],
    );
    let text = fixture.read("c.yaml").replace(
        "task: hi",
        &format!("task: {}", serde_json::Value::from(LONG)),
    );
    fixture.write("c.yaml", &text);
    fixture
}

/// A folder with a recorded run.
fn recorded() -> Fixture {
    let fixture = Fixture::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1/batch.parallel.jsonl");
    std::fs::copy(golden, fixture.path("run.jsonl")).unwrap();
    fixture
}

#[test]
fn a_run_as_it_happens() {
    Surface::moving("run", &["run", "c.yaml", "--run-id", "nightly-build"], 0)
        .painted()
        .check(|| asking(""));
}

/// An answer keeps its lines; nothing else is wider than the terminal.
#[test]
fn a_run_that_fails_and_what_to_do_next() {
    let args = ["run", "c.yaml", "--run-id", "nightly-build"];
    Surface::moving("run_failed", &args, 1).painted().check(|| {
        let fixture = Fixture::new();
        fixture.script(
            "tool_policy: required\ntools: {builtin: [echo]}\n",
            &[&says("No.")],
        );
        fixture
    });
}

#[test]
fn a_question_for_an_approval() {
    let question = Surface {
        typed: &[("[y/N] ", "y\n")],
        ..Surface::moving(
            "approval",
            &["run", "c.yaml", "--run-id", "nightly-build"],
            0,
        )
    };
    question.check(|| asking("require_approval: [echo]\n"));
}

#[test]
fn the_calls_that_wait_for_a_person() {
    // A narrow terminal shows less of the arguments.
    let inbox = Surface {
        is_whole: false,
        ..Surface::fixed("approvals", &["approvals"], 0)
    };
    inbox.check(|| {
        let fixture = asking("require_approval: [echo]\n");
        fixture.ends(
            &["run", "c.yaml", "--no-wait", "--run-id", "nightly-build"],
            8,
        );
        fixture
    });
}

#[test]
fn a_recorded_run() {
    // A narrow terminal shows neither hashes nor where an entry came from.
    let show = Surface {
        is_whole: false,
        ..Surface::fixed("show", &["show", "run.jsonl"], 0).painted()
    };
    show.check(recorded);
    let why = Surface {
        is_whole: false,
        ..Surface::fixed("show_why", &["show", "run.jsonl", "--why"], 0)
    };
    why.check(recorded);
}

#[test]
fn the_runs_of_a_store() {
    let list = Surface {
        is_whole: false,
        ..Surface::fixed("list", &["list"], 0).painted()
    };
    list.check(|| {
        let fixture = asking("");
        fixture.ok(&["run", "c.yaml", "--run-id", "nightly-build"]);
        fixture.ok(&["run", "c.yaml", "--task", "Short.", "--run-id", "r2"]);
        fixture
    });
    Surface::moving("list_empty", &["list"], 0).check(Fixture::new);
}

#[test]
fn a_contract() {
    Surface::fixed("tools", &["tools", "c.yaml"], 0).check(|| asking(""));
    Surface::fixed("contract_show", &["contract", "show", "c.yaml"], 0).check(|| asking(""));
    Surface::moving("contract_check", &["contract", "check", "c.yaml"], 0).check(|| asking(""));
}

#[test]
fn what_is_wrong_with_a_file() {
    let faulty = || {
        let fixture = asking("");
        let text = fixture.read("c.yaml");
        fixture.write("c.yaml", &format!("{text}metadata: {{漢字漢字漢字: 1, another_key_that_is_long: 2, nonsense: {{}}}}\nmax_turn: 3\n"));
        fixture
    };
    let file = Surface {
        is_whole: false,
        ..Surface::fixed("error_contract", &["contract", "check", "c.yaml"], 4)
    };
    file.check(faulty);
    Surface::fixed(
        "error_no_contract",
        &["run", "What does this folder hold?"],
        4,
    )
    .check(Fixture::new);
    Surface::fixed("error_no_run", &["show", "nope"], 4).check(|| {
        let fixture = asking("");
        fixture.ok(&["run", "c.yaml"]);
        fixture
    });
    Surface::fixed("error_usage", &["run", "--no-such-option"], 4).check(Fixture::new);
}

/// The findings depend on this machine: the kept file has only the subjects of the checks, and that each verdict has its
/// colour.
#[test]
fn a_checkup() {
    let row =
        Regex::new("(?m)^(\u{1b}\\[[0-9]+m)?(ok     |missing|wrong  )(?:\u{1b}\\[0m)?  (.{18})  ")
            .unwrap();
    let looked_at = |has_colour: bool| {
        let fixture = Fixture::new();
        let mut command = fixture.command(&["doctor"]);
        command.env_remove("NO_COLOR");
        if !has_colour {
            command.env("NO_COLOR", "1");
        }
        let (_, shown) = Terminal::sized(command, WIDTHS[4]).end();
        // What was looked for stood where the first row is now.
        let shown = shown.rsplit(WIPE).next().unwrap_or_default();
        let rows = row.captures_iter(shown).map(|found| {
            let colour = match (has_colour, found[2].trim_end()) {
                (false, _) => None,
                (true, "ok") => Some("\u{1b}[32m"),
                (true, "missing") => Some("\u{1b}[2m"),
                (true, _) => Some("\u{1b}[31m"),
            };
            assert_eq!(found.get(1).map(|code| code.as_str()), colour, "{shown:?}");
            found[3].trim_end().to_owned()
        });
        rows.collect::<Vec<_>>()
    };
    let names = looked_at(false);
    assert_eq!(names, looked_at(true));
    keep("doctor", &format!("{}\n", names.join("\n")));
    for width in WIDTHS {
        let fixture = Fixture::new();
        let mut command = fixture.command(&["doctor"]);
        command.env("NO_COLOR", "1");
        let (_, shown) = Terminal::sized(command, width).end();
        assert!(!shown.replace(WIPE, "").contains('\u{1b}'), "{shown:?}");
        for line in lines(&shown) {
            let fits = line.width() <= usize::from(width);
            assert!(fits || is_copied(&line), "{width}: {line}");
        }
    }
    assert!(!printed_of(&["doctor"]).contains('\u{1b}'));
}

fn printed_of(args: &[&str]) -> String {
    let left: Left = Fixture::new().run(args);
    left.printed()
}

/// The editor of the line moves the cursor; monolith's other output does not.
#[test]
fn a_conversation() {
    let escapes = Regex::new("\r?\u{1b}\\[[0-9;?]*([A-Za-z])").unwrap();
    let run = Regex::new("run [0-9a-f]{16}").unwrap();
    for width in WIDTHS {
        let fixture = asking("");
        let mut command = fixture.command(&["chat", "c.yaml"]);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::sized(command, width);
        terminal.until("> ").types("Go on.\r");
        terminal.until("It is right.").until("> ").types("/help\r");
        terminal.until("Ctrl-C").until("> ").types("/tools\r");
        terminal.until("read_file").until("> ").types("/quit\r");
        let (code, shown) = terminal.end();
        assert_eq!(code, 0, "{shown}");
        for found in escapes.captures_iter(&shown) {
            assert_ne!(&found[1], "m", "a colour: {shown:?}");
        }
        let all = lines(&escapes.replace_all(&shown, "\n"));
        for line in &all {
            assert!(line.width() <= usize::from(width), "{width}: {line}");
        }
        if width == WIDTHS[4] {
            // What is typed is drawn with every key.
            let typed = ["Go on.", "/help", "/tools", "/quit"];
            let is_typed = |line: &&String| {
                line.starts_with('>') || typed.iter().any(|typed| typed.starts_with(line.trim()))
            };
            let kept: Vec<String> = all.iter().filter(|line| !is_typed(line)).cloned().collect();
            let kept = steady_lines(&kept, &fixture, false).join("\n");
            let kept = run.replace_all(&kept, "run 0000000000000000");
            keep("chat", &format!("== {width} columns\n{kept}\n"));
        }
    }
}
