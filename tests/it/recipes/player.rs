use std::ops::Range;
use std::path::Path;
use std::process::Command as Process;

use super::model::Models;
use super::page::{Command, Needs, Page, Step};
use super::same::{Names, compare, constant_end, lines_of};
use crate::fixture::{Fixture, monolith, shell_word};
use crate::sandbox_faults::LACKING;
use crate::terminal::Terminal;

/// The question to a person at a terminal, who answers in the same line.
const QUESTION: &str = "[y/N]";
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Plays a page: it fails where a command fails, or shows something else than the page says.
pub fn play(path: &str) {
    let bless = std::env::var_os("MONOLITH_BLESS").is_some();
    let file = Path::new(ROOT).join(path);
    let page = Page::parse(&std::fs::read_to_string(&file).unwrap());
    let stem = file.file_stem().unwrap().to_string_lossy().to_lowercase();
    let answers = Path::new(ROOT).join(format!("tests/fixtures/recipes/{stem}.jsonl"));
    let answers = std::fs::read_to_string(answers).unwrap_or_default();
    let mut player = Player {
        changes: Vec::new(),
        fixture: folder(&stem),
        flaws: Vec::new(),
        models: Models::giving(&answers),
        names: Names::default(),
        page: &page,
        played: 0,
        skipped: Vec::new(),
    };
    player.steps();
    println!(
        "{path}: {} commands run, {} not",
        player.played,
        player.skipped.len()
    );
    for (command, why) in &player.skipped {
        println!("  not run, {why}: {command}");
    }
    if let Some(kept) = std::env::var_os("MONOLITH_KEEP") {
        player.keep(Path::new(&kept));
    }
    if bless {
        std::fs::write(&file, player.blessed()).unwrap();
    } else {
        let flaws = player.flaws.join("\n\n");
        assert!(
            flaws.is_empty(),
            "{path} is not up to date (scripts/record-pages):\n{flaws}"
        );
    }
    assert!(player.played > 0, "{path}: no command of it was run");
}

/// A home with a folder `agent` to stand in, and the programs that pages name.
fn folder(stem: &str) -> Fixture {
    let fixture = Fixture::new();
    let host = Path::new(env!("CARGO_BIN_EXE_monolith")).with_file_name("examples/host");
    // `cargo run` inside a test would wait for the build that started it.
    let cargo = format!(
        "#!/bin/sh\ncase \"$*\" in\n'run --example host') exec {} ;;\n\
         'run -- '*) shift 2; exec monolith \"$@\" ;;\nesac\nexit 101\n",
        shell_word(host)
    );
    fixture.write("bin/cargo", &cargo);
    let made = Process::new("chmod")
        .arg("+x")
        .arg(fixture.path("bin/cargo"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_monolith"), fixture.path("bin/monolith"))
        .unwrap();
    for name in ["agent", "tmp"] {
        std::fs::create_dir_all(fixture.path(name)).unwrap();
    }
    if stem == "readme" {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            std::fs::copy(Path::new(ROOT).join(name), fixture.path("agent").join(name)).unwrap();
        }
    }
    fixture
}

struct Player<'p> {
    /// Lines of the page, and what should stand there.
    changes: Vec<(Range<usize>, Vec<String>)>,
    fixture: Fixture,
    flaws: Vec<String>,
    models: Models,
    names: Names,
    page: &'p Page,
    played: usize,
    skipped: Vec<(String, String)>,
}

/// A command that has shown all that the page says so far, and has not ended.
struct Running {
    command: String,
    terminal: Terminal,
    shown: Range<usize>,
    /// The texts that it has shown, in this order.
    waits: Vec<String>,
}

impl Player<'_> {
    fn steps(&mut self) {
        let mut running: Option<Running> = None;
        let page = self.page;
        for (at, step) in page.steps.iter().enumerate() {
            match step {
                Step::File { name, text } => {
                    let text = self.models.here(text);
                    self.fixture.write(&format!("agent/{name}"), &text);
                }
                Step::Console {
                    commands, needs, ..
                } => {
                    let unbuilt = || self.unbuilt(commands);
                    if let Some(why) = lacks(needs).or_else(unbuilt) {
                        let skipped = commands
                            .iter()
                            .map(|command| (page.text(&command.typed), why.clone()));
                        self.skipped.extend(skipped);
                        continue;
                    }
                    let stays = matches!(
                        page.steps.get(at + 1),
                        Some(Step::Console { second: true, .. })
                    );
                    for (n, command) in commands.iter().enumerate() {
                        if stays && n + 1 == commands.len() {
                            running = Some(self.leave_running(command));
                        } else {
                            self.run(command);
                        }
                    }
                }
                Step::Rest { shown } => {
                    let running = running.take().expect("a command is running");
                    self.rest(running, shown);
                }
            }
        }
        assert!(running.is_none(), "a command of the page never ends");
    }

    /// `cargo test` builds the examples, `cargo test --test it` does not.
    fn unbuilt(&self, commands: &[Command]) -> Option<String> {
        let example = |command: &Command| self.page.text(&command.typed).contains("--example host");
        let built = Path::new(env!("CARGO_BIN_EXE_monolith")).with_file_name("examples/host");
        (commands.iter().any(example) && !built.is_file())
            .then(|| "the example is not built".to_owned())
    }

    fn start(&mut self, command: &Command) -> (String, Terminal) {
        self.played += 1;
        let typed = self.names.here(&self.page.text(&command.typed));
        let line = self.models.here(typed.trim_start_matches("$ "));
        // The variables of others are taken out there.
        let process = monolith(&self.fixture.path("agent"), &[]);
        let mut bash = Process::new("bash");
        for (name, value) in process.get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.fixture.path("bin")).chain(std::env::split_paths(&paths));
        bash.args(["-c", &format!("{line}\nexit $?")])
            .current_dir(self.fixture.path("agent"))
            .env("HOME", self.fixture.path(""))
            .env("MONOLITH_HOME", self.fixture.path("state"))
            .env("NO_COLOR", "1")
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("TMPDIR", self.fixture.path("tmp"));
        // What varies must not decide where a line is broken.
        (typed, Terminal::sized(bash, 1_000))
    }

    fn run(&mut self, command: &Command) {
        let (typed, mut terminal) = self.start(command);
        for line in &self.page.lines[command.shown.clone()] {
            if let Some((_, answer)) = line.split_once(QUESTION)
                && !answer.is_empty()
            {
                terminal
                    .until(QUESTION)
                    .types(&format!("{}\n", answer.trim()));
            }
        }
        let (code, shown) = terminal.end();
        let shown = self.read(&shown);
        assert_eq!(code, 0, "{typed}: {}", shown.join("\n"));
        self.changes.push((
            command.typed.clone(),
            typed.lines().map(str::to_owned).collect(),
        ));
        self.judge(&typed, &command.shown, &shown);
    }

    fn leave_running(&mut self, command: &Command) -> Running {
        let (typed, mut terminal) = self.start(command);
        let lines = &self.page.lines[command.shown.clone()];
        let after = lines
            .iter()
            .rposition(|line| line == "…")
            .map_or(0, |at| at + 1);
        let waits = lines[after..]
            .iter()
            .map(|line| constant_end(line).to_owned());
        let waits: Vec<String> = waits.filter(|end| !end.is_empty()).collect();
        for end in &waits {
            terminal.until(end);
        }
        self.changes.push((
            command.typed.clone(),
            typed.lines().map(str::to_owned).collect(),
        ));
        Running {
            command: typed,
            shown: command.shown.clone(),
            terminal,
            waits,
        }
    }

    fn rest(&mut self, running: Running, rest: &Range<usize>) {
        let (_, shown) = running.terminal.end();
        let mut at = 0;
        for end in &running.waits {
            at += shown[at..].find(end).expect("it was waited for") + end.len();
        }
        let (before, after) = shown.split_at(at);
        let before = self.read(before);
        self.judge(&running.command, &running.shown, &before);
        let after = self.read(after.trim_start());
        self.judge(&running.command, rest, &after);
    }

    /// Returns the terminal's output in the form that a page has.
    fn read(&self, shown: &str) -> Vec<String> {
        let folder = self.fixture.path("");
        let folder = folder.display().to_string();
        let shown = shown.replace(folder.trim_end_matches('/'), "~");
        let lines = lines_of(&self.models.on_page(&shown));
        let killed = |line: String| {
            let by_shell = line.contains(": line 1: ") && line.contains(" Killed ");
            if by_shell { "Killed".to_owned() } else { line }
        };
        // Only a slow machine shows how long a start took, and only one without control groups what a limit is of.
        let lines = lines.into_iter().filter(|line| {
            let of_machine = [
                "ready after ",
                "note: the shell: memory_mb limits each process",
            ];
            !of_machine.iter().any(|begin| line.starts_with(begin))
        });
        lines.map(killed).collect()
    }

    fn judge(&mut self, command: &str, at: &Range<usize>, shown: &[String]) {
        let page = &self.page.lines[at.clone()];
        let lines = match compare(page, shown, &mut self.names) {
            Ok(lines) => lines,
            Err(flaw) => {
                self.flaws
                    .push(format!("line {}: {command}: {flaw}", at.start + 1));
                shown.to_vec()
            }
        };
        self.changes.push((at.clone(), lines));
    }

    /// The page with what was shown.
    fn blessed(&mut self) -> String {
        let mut lines = self.page.lines.clone();
        self.changes.sort_by_key(|(at, _)| (at.start, at.end));
        for (at, new) in self.changes.drain(..).rev() {
            lines.splice(at, new);
        }
        format!("{}\n", lines.join("\n"))
    }

    fn keep(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        for entry in std::fs::read_dir(self.fixture.path("agent")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
}

/// Returns why a fence cannot be played here.
fn lacks(needs: &Needs) -> Option<String> {
    match needs {
        Needs::Nothing => None,
        Needs::Person => Some("as the page says".to_owned()),
        Needs::Programs {
            names,
            network,
            sandbox,
        } => {
            if *network && std::env::var_os("MONOLITH_REGISTRIES").is_none() {
                return Some("it needs the network".to_owned());
            }
            if *sandbox && let Some(lacking) = LACKING.as_ref() {
                return Some(format!("it needs the sandbox: {lacking}"));
            }
            let missing = names.iter().find(|name| !there(name))?;
            Some(format!("{missing} is not here"))
        }
    }
}

fn there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}
