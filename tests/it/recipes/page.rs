use std::ops::Range;

/// A page of Markdown, line by line, and what is done with its fences from top to bottom.
pub struct Page {
    pub lines: Vec<String>,
    pub steps: Vec<Step>,
}

pub enum Step {
    /// A fence whose first line is a comment with the name of a file.
    File { name: String, text: String },
    /// A fence of commands, each with what it shows.
    Console {
        commands: Vec<Command>,
        /// True if the command before it is still running, in another terminal.
        second: bool,
        needs: Needs,
    },
    /// The rest of the output of a command that was running meanwhile.
    Rest { shown: Range<usize> },
}

/// One command. Ranges are of the page's lines.
pub struct Command {
    pub typed: Range<usize>,
    pub shown: Range<usize>,
}

/// The requirements for playing a fence, as the sentence before it states them.
#[derive(Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// "Needs `npx` and the network:", "Needs `git` and the sandbox:"
    Programs {
        names: Vec<String>,
        network: bool,
        sandbox: bool,
    },
    /// "…; the tests do not run this:"
    Person,
}

const LANGUAGES: [&str; 9] = [
    "console", "json", "json5", "mermaid", "python", "rust", "text", "toml", "yaml",
];

impl Page {
    pub fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut steps = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some(language) = lines[at].strip_prefix("```") else {
                at += 1;
                continue;
            };
            let length = lines[at + 1..].iter().position(|line| line == "```");
            let body = at + 1..at + 1 + length.expect("every fence ends");
            assert!(
                LANGUAGES.contains(&language),
                "line {}: a fence of {language:?} would not be played",
                at + 1
            );
            let before = sentence_before(&lines[..at]);
            at = body.end + 1;
            steps.extend(step(&lines, language, body, &before));
        }
        Self { lines, steps }
    }

    pub fn text(&self, range: &Range<usize>) -> String {
        self.lines[range.clone()].join("\n")
    }
}

fn step(lines: &[String], language: &str, body: Range<usize>, before: &str) -> Option<Step> {
    let text = &lines[body.clone()];
    if language == "console" {
        return Some(Step::Console {
            commands: commands(lines, body),
            second: before.contains("second terminal"),
            needs: needs(before),
        });
    }
    if language == "text" && before.contains("first terminal") {
        return Some(Step::Rest { shown: body });
    }
    let name = file_name(text.first()?)?;
    Some(Step::File {
        name: name.to_owned(),
        text: format!("{}\n", text.join("\n")),
    })
}

/// `# agent.yaml` and `// main.rs` name a file.
fn file_name(line: &str) -> Option<&str> {
    let name = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("// "))?;
    let (stem, extension) = name.rsplit_once('.')?;
    let plain = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "-_/".contains(c))
    };
    (plain(stem) && plain(extension)).then_some(name)
}

fn commands(lines: &[String], body: Range<usize>) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut at = body.start;
    while at < body.end {
        let begin = at;
        if lines[at].starts_with("$ ") {
            while lines[at].ends_with('\\') {
                at += 1;
            }
            at += 1;
            commands.push(Command {
                typed: begin..at,
                shown: at..at,
            });
        } else {
            at += 1;
            let last = commands.last_mut().expect("a console begins with `$ `");
            last.shown.end = at;
        }
    }
    commands
}

/// The paragraph that leads to a fence, on one line.
fn sentence_before(lines: &[String]) -> String {
    let end = lines.iter().rposition(|line| !line.is_empty());
    let lines = &lines[..end.map_or(0, |end| end + 1)];
    let begin = lines.iter().rposition(String::is_empty);
    lines[begin.map_or(0, |begin| begin + 1)..].join(" ")
}

fn needs(before: &str) -> Needs {
    if before.contains("the tests do not run this") {
        return Needs::Person;
    }
    let Some((_, rest)) = before.split_once("Needs `") else {
        return Needs::Nothing;
    };
    let sentence = rest.split(['.', ';', ':']).next().unwrap_or_default();
    let names = sentence.split('`').step_by(2).map(str::to_owned);
    Needs::Programs {
        names: names.filter(|name| !name.contains(' ')).collect(),
        network: sentence.contains("the network"),
        sandbox: sentence.contains("the sandbox"),
    }
}

#[test]
fn a_page_is_read_as_a_person_reads_it() {
    let text = "# T\n\n```yaml\n# a.yaml\ntask: x\n```\n\nThen:\n\n```console\n$ one \\\n  more\nshown\n$ two\n```\n\n\
                In a second terminal:\n\n```console\n$ kill\n```\n\nThe first terminal goes on:\n\n```text\nend\n```\n\n\
                Needs `npx`, `node`\nand the network:\n\n```console\n$ npx\n```\n";
    let page = Page::parse(text);
    let [file, first, second, rest, npx] = page.steps.as_slice() else {
        panic!("{} steps", page.steps.len());
    };
    assert!(
        matches!(file, Step::File { name, text } if name == "a.yaml" && text == "# a.yaml\ntask: x\n")
    );
    let Step::Console {
        commands,
        second: false,
        needs: Needs::Nothing,
    } = first
    else {
        panic!("the first is a console");
    };
    assert_eq!(commands.len(), 2);
    assert_eq!(page.text(&commands[0].typed), "$ one \\\n  more");
    assert_eq!(page.text(&commands[0].shown), "shown");
    assert_eq!(page.text(&commands[1].shown), "");
    assert!(matches!(second, Step::Console { second: true, .. }));
    assert!(matches!(rest, Step::Rest { shown } if page.text(shown) == "end"));
    let names = vec!["npx".to_owned(), "node".to_owned()];
    let expect = Needs::Programs {
        names,
        network: true,
        sandbox: false,
    };
    assert!(matches!(npx, Step::Console { needs, .. } if *needs == expect));
    assert_eq!(
        needs("It costs money; the tests do not run this:"),
        Needs::Person
    );
}
