use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The text that varies from run to run. An `id` may be typed in a later command.
static VARIES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<date>\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?)?)",
        r"|(?P<time>(?:\d[\d,]*\.\d+|\d[\d,]*) ?(?:ms|s)\b)",
        r"|(?P<bar>^ms .*$|[\u2800-\u28ff])",
        r"|(?P<key>\b[0-9A-Za-z+/]{43}=|\+A[0-9A-Za-z+/]{43}\b)",
        r"|process (?P<process>\d+)|^\$ kill .*?(?P<kill>\d+)",
        r"|(?P<id>\b[0-9a-f]{4,64}\b)",
    ))
    .unwrap()
});

const IDS: [&str; 4] = ["id", "key", "process", "kill"];

/// The time of an entry, which is not shown if it is zero.
static TOOK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r",? \+[\d.,]+ m?s\b").unwrap());

/// A line without what varies, and with one space where there are more.
fn masked(line: &str) -> String {
    let line = TOOK.replace(line, "");
    let masked = VARIES.replace_all(&line, |found: &Captures| {
        if found.name("process").is_some() {
            "process ~".to_owned()
        } else {
            "~".to_owned()
        }
    });
    masked.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The ids of a line, in their order.
fn ids(line: &str) -> Vec<&str> {
    let names = |found: Captures<'_>| {
        IDS.iter()
            .find_map(|name| found.name(name))
            .map(|id| id.range())
    };
    VARIES
        .captures_iter(line)
        .filter_map(names)
        .map(|range| &line[range])
        .collect()
}

/// The ids in this run of a page, by those that the page shows.
#[derive(Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    fn learn(&mut self, page: &str, shown: &str) {
        for (page, shown) in ids(page).into_iter().zip(ids(shown)) {
            self.0.insert(page.to_owned(), shown.to_owned());
        }
    }

    /// A line of the page as it is in this run.
    pub fn here(&self, line: &str) -> String {
        let mut out = line.to_owned();
        for id in ids(line) {
            if let Some(name) = self.of(id) {
                out = out.replace(id, &name);
            }
        }
        out
    }

    fn of(&self, id: &str) -> Option<String> {
        let whole = self.0.get(id).cloned();
        whole.or_else(|| {
            // A run may be named by the beginning of its id.
            let (_, name) = self.0.iter().find(|(page, _)| page.starts_with(id))?;
            name.get(..id.len()).map(str::to_owned)
        })
    }
}

/// Compares what a page says with what was shown, learns which ids stand for which, and gives the lines as they should stand on
/// the page. `…` alone on a line stands for any lines, at the end of a line for any rest.
///
/// # Errors
/// The first line of the page that was not shown.
pub fn compare(
    page: &[String],
    shown: &[String],
    names: &mut Names,
) -> Result<Vec<String>, String> {
    let mut fits = vec![Vec::new(); page.len() + 1];
    fits[0] = vec![0];
    for (at, line) in page.iter().enumerate() {
        let Some(&first) = fits[at].first() else {
            break;
        };
        fits[at + 1] = if line == "…" {
            (first..=shown.len()).collect()
        } else {
            let fit = |from: &&usize| {
                shown
                    .get(**from)
                    .is_some_and(|shown| fits_line(line, shown))
            };
            fits[at].iter().filter(fit).map(|from| from + 1).collect()
        };
    }
    // From the end back: one way in which every line of the page has its line.
    let mut end = shown.len();
    let whole = fits[page.len()].contains(&end);
    let mut lines = Vec::new();
    for (at, line) in page.iter().enumerate().rev() {
        if !whole {
            break;
        }
        if line == "…" {
            end = fits[at]
                .iter()
                .copied()
                .filter(|from| *from <= end)
                .max()
                .unwrap_or(0);
            lines.push("…".to_owned());
        } else {
            end -= 1;
            names.learn(line, &shown[end]);
            let kept = line.ends_with('…') && !shown[end].ends_with('…');
            lines.push(if kept {
                names.here(line)
            } else {
                shown[end].clone()
            });
        }
    }
    if whole {
        lines.reverse();
        return Ok(lines);
    }
    for line in page {
        if let Some(shown) = shown.iter().find(|shown| fits_line(line, shown)) {
            names.learn(line, shown);
        }
    }
    let missing = fits
        .iter()
        .position(Vec::is_empty)
        .map_or("the end", |at| page[at - 1].as_str());
    Err(format!(
        "not shown: {missing:?}\nwhat was shown:\n{}",
        shown.join("\n")
    ))
}

fn fits_line(page: &str, shown: &str) -> bool {
    let (page, shown) = (masked(page), masked(shown));
    let beginning = page
        .strip_suffix('…')
        .is_some_and(|begin| shown.starts_with(begin));
    page == shown || beginning
}

/// The end of a line that does not vary.
pub fn constant_end(line: &str) -> &str {
    let end = VARIES.find_iter(line).last().map_or(0, |found| found.end());
    line[end..].trim()
}

/// Returns the terminal's output as lines: without escapes, and without overdrawn text.
pub fn lines_of(shown: &str) -> Vec<String> {
    static ESCAPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]").unwrap());
    let line = |line: &str| {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit("\u{1b}[2K").next().unwrap_or_default();
        let line = line.rsplit('\r').next().unwrap_or_default();
        ESCAPE.replace_all(line, "").trim_end().to_owned()
    };
    let mut lines: Vec<String> = shown.split('\n').map(line).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, shown: &str, expect: Option<&str>) {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let result = compare(&lines(page), &lines(shown), &mut Names::default());
        let expect = expect.map(lines);
        assert_eq!(result.ok(), expect, "{page:?} {shown:?}");
    }

    #[test]
    fn what_varies_may_differ_and_nothing_else() {
        check(
            "run d58b  0.064s  x",
            "run 9f01 12.1s x",
            Some("run 9f01 12.1s x"),
        );
        check(
            "begun 2026-11-22 23:09:14 UTC",
            "begun 2027-01-01 00:00:00 UTC",
            Some("begun 2027-01-01 00:00:00 UTC"),
        );
        check(
            "4eed8869  +7 tokens, +3 ms  a",
            "b6e1aab2  +7 tokens  a",
            Some("b6e1aab2  +7 tokens  a"),
        );
        check("3 calls", "4 calls", None);
        check("a\nb", "a", None);
        check("a", "a\nb", None);
        check("a\n…\nd", "a\nb\nc\nd", Some("a\n…\nd"));
        check("…\nd", "d\nc\nd", Some("…\nd"));
        check("a\n…", "a", Some("a\n…"));
        check("a\n…\nd", "a\nb", None);
        check("the beg…", "the beginning", Some("the beg…"));
    }

    #[test]
    fn a_later_command_names_what_was_shown() {
        let mut names = Names::default();
        let (page, shown) = (
            "run d58b521fb3c104eb (process 17)",
            "run 0123456789abcdef (process 4242)",
        );
        compare(&[page.to_owned()], &[shown.to_owned()], &mut names).unwrap();
        assert_eq!(names.here("$ monolith show d58b"), "$ monolith show 0123");
        assert_eq!(names.here("$ kill 17"), "$ kill 4242");
    }

    #[test]
    fn what_was_drawn_over_is_not_read() {
        assert_eq!(
            lines_of("wait\r\u{1b}[2Kdone\u{1b}[0m \r\nend\r\n"),
            ["done", "end"]
        );
    }
}
