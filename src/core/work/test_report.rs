//! The number of passed and failed tests in the output of a test command. Decides nothing: the exit code does that.

/// Passed and failed tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    /// Failed tests, those included that could not begin.
    pub failed: u64,
    /// Passed tests. A skipped test is neither.
    pub passed: u64,
}

impl TestCount {
    /// Counts the tests in an output: JUnit XML, TAP, or the last lines of cargo test, nextest, pytest, unittest, jest, go test -v
    /// or mocha. None if it is none of these.
    ///
    /// ```
    /// use monolith_core::work::TestCount;
    ///
    /// let count = TestCount::in_output("test result: FAILED. 3 passed; 1 failed; 0 ignored");
    /// assert_eq!(count, Some(TestCount { failed: 1, passed: 3 }));
    /// assert_eq!(TestCount::in_output("all is well"), None);
    /// ```
    #[must_use]
    pub fn in_output(output: &str) -> Option<Self> {
        let plain = without_colours(output);
        let lines: Vec<&str> = plain.lines().collect();
        let readers = [tap, cargo, nextest, go, pytest, unittest, jest, mocha];
        junit(&plain).or_else(|| readers.iter().find_map(|read| read(&lines)))
    }

    /// Adds another count.
    const fn add(&mut self, other: Self) {
        self.failed = self.failed.saturating_add(other.failed);
        self.passed = self.passed.saturating_add(other.passed);
    }
}

/// The cases of a JUnit XML report within the output. Only tags are read: each tool has its dialect, and all have these.
fn junit(output: &str) -> Option<TestCount> {
    let start = output.find("<testsuite")?;
    let mut count = TestCount::default();
    // The verdict of the open case; none outside of one.
    let mut open: Option<Verdict> = None;
    for tag in Tags(output.get(start..)?) {
        match (tag.name, &mut open) {
            ("testcase", _) => {
                close(&mut count, open.take());
                open = Some(Verdict::Passed);
                if tag.is_empty {
                    close(&mut count, open.take());
                }
            }
            ("/testcase", _) => close(&mut count, open.take()),
            ("failure" | "error", Some(verdict)) => *verdict = Verdict::Failed,
            ("skipped", Some(verdict)) if *verdict == Verdict::Passed => {
                *verdict = Verdict::Skipped;
            }
            _ => {}
        }
    }
    Some(count)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Failed,
    Passed,
    Skipped,
}

fn close(count: &mut TestCount, verdict: Option<Verdict>) {
    let (failed, passed) = match verdict {
        Some(Verdict::Failed) => (1, 0),
        Some(Verdict::Passed) => (0, 1),
        Some(Verdict::Skipped) | None => (0, 0),
    };
    count.add(TestCount { failed, passed });
}

/// A tag with its name, a `/` before the name of an end tag.
struct Tag<'t> {
    /// True if it ends with `/>`.
    is_empty: bool,
    name: &'t str,
}

/// The tags of a text without those in comments and in character data.
struct Tags<'t>(&'t str);

impl<'t> Iterator for Tags<'t> {
    type Item = Tag<'t>;

    fn next(&mut self) -> Option<Tag<'t>> {
        loop {
            let (_, rest) = self.0.split_once('<')?;
            let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>")];
            let skipped = skipped.iter().find(|(open, _)| rest.starts_with(*open));
            if let Some((_, end)) = skipped {
                self.0 = rest.split_once(*end)?.1;
                continue;
            }
            let (tag, after) = rest.split_at_checked(tag_end(rest)?)?;
            self.0 = after;
            let name = tag.split(|c: char| c.is_whitespace()).next()?;
            return Some(Tag {
                is_empty: tag.ends_with('/'),
                name: name.strip_suffix('/').unwrap_or(name),
            });
        }
    }
}

/// The byte of the `>` that ends a tag. One in a quoted value does not.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '>' => return Some(at),
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
    }
    None
}

/// TAP 12 to 14, the tests of subtests left out. Planned tests that did not report have failed.
fn tap(lines: &[&str]) -> Option<TestCount> {
    let plan = |line: &&str| {
        let count = line.strip_prefix("1..")?;
        let digits = count.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    };
    let planned = lines.iter().find_map(plan)?;
    let mut count = TestCount::default();
    let mut reported = 0_u64;
    for line in lines {
        let (rest, is_ok) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => continue,
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            continue;
        }
        reported = reported.saturating_add(1);
        let directive = rest
            .rsplit_once('#')
            .map_or("", |(_, word)| word.trim_start());
        let has = |word: &str| {
            directive
                .get(..4)
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        // A failure that is marked `todo` is known.
        let is_counted = !has("skip");
        let failed = u64::from(is_counted && !is_ok && !has("todo"));
        let passed = u64::from(is_counted && is_ok);
        count.add(TestCount { failed, passed });
    }
    count.failed = count
        .failed
        .saturating_add(planned.saturating_sub(reported));
    Some(count)
}

/// `test result: ok. 3 passed; 0 failed; …`, one line for each binary.
fn cargo(lines: &[&str]) -> Option<TestCount> {
    let results = lines
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix("test result: "));
    sum(results.map(|line| worded(line, &["failed"])))
}

/// `Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped`.
fn nextest(lines: &[&str]) -> Option<TestCount> {
    let line = lines.iter().rev().find_map(|line| {
        let rest = line.trim_start().strip_prefix("Summary [")?;
        rest.split_once("run: ").map(|(_, counts)| counts)
    })?;
    Some(worded(line, &["failed", "timed", "exec"]))
}

/// `--- PASS: TestX (0.00s)` of `go test -v`; the lines of subtests are indented.
fn go(lines: &[&str]) -> Option<TestCount> {
    if !lines.iter().any(|line| line.starts_with("=== RUN ")) {
        return None;
    }
    let number = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count() as u64;
    Some(TestCount {
        failed: number("--- FAIL: "),
        passed: number("--- PASS: "),
    })
}

/// `=== 2 failed, 3 passed, 1 error in 0.12s ===`, or the same without `=` under `-q`.
fn pytest(lines: &[&str]) -> Option<TestCount> {
    let line = lines.iter().rev().find_map(|line| {
        let line = line.trim_matches(['=', ' ']);
        let (counts, time) = line.rsplit_once(" in ")?;
        let is_time = time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('s');
        let words = [
            "passed",
            "failed",
            "error",
            "skipped",
            "xfailed",
            "deselected",
            "warning",
        ];
        let is_count = |part: &str| {
            let (number, word) = part.trim().split_once(' ')?;
            let is_known = words.iter().any(|known| word.starts_with(known));
            number.parse::<u64>().ok().filter(|_| is_known)
        };
        let is_summary = is_time && counts.split(',').all(|part| is_count(part).is_some());
        is_summary.then_some(counts)
    })?;
    Some(worded(line, &["failed", "error", "errors"]))
}

/// `Ran 3 tests in 0.1s` of Python's unittest, then `OK`, or `FAILED (failures=1, errors=1)`.
fn unittest(lines: &[&str]) -> Option<TestCount> {
    let at = lines.iter().rposition(|line| line.starts_with("Ran "))?;
    let (ran, rest) = lines.get(at)?.strip_prefix("Ran ")?.split_once(' ')?;
    let ran = ran
        .parse::<u64>()
        .ok()
        .filter(|_| rest.starts_with("test"))?;
    let mut verdicts = lines.iter().skip(at).skip(1);
    let verdict = verdicts.find(|line| !line.trim().is_empty())?;
    let starts = ["OK", "FAILED", "NO TESTS RAN"];
    if !starts.iter().any(|start| verdict.starts_with(start)) {
        return None;
    }
    let counts = verdict.split_once('(').map_or("", |(_, counts)| counts);
    let counts = counts.trim_end().trim_end_matches(')').split(", ");
    let (mut failed, mut other) = (0_u64, 0_u64);
    for (word, number) in counts.filter_map(|part| part.split_once('=')) {
        let number = number.parse::<u64>().unwrap_or_default();
        let sum = match word {
            "failures" | "errors" | "unexpected successes" => &mut failed,
            _ => &mut other,
        };
        *sum = sum.saturating_add(number);
    }
    Some(TestCount {
        failed,
        passed: ran.saturating_sub(failed).saturating_sub(other),
    })
}

/// `Tests:       1 failed, 2 skipped, 3 passed, 6 total`.
fn jest(lines: &[&str]) -> Option<TestCount> {
    let line = lines.iter().rev().find_map(|line| {
        let counts = line.trim_start().strip_prefix("Tests:")?;
        counts.trim_end().ends_with(" total").then_some(counts)
    })?;
    Some(worded(line, &["failed"]))
}

/// `3 passing (5ms)`, and `1 failing` where some failed.
fn mocha(lines: &[&str]) -> Option<TestCount> {
    let number = |word: &str| {
        let mut lines = lines.iter().rev();
        lines.find_map(|line| {
            let (number, rest) = line.trim().split_once(' ')?;
            let (first, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let is_one = first == word && (rest.is_empty() || rest.starts_with('('));
            number.parse::<u64>().ok().filter(|_| is_one)
        })
    };
    Some(TestCount {
        passed: number("passing")?,
        failed: number("failing").unwrap_or_default(),
    })
}

/// The counts of a line such as `3 passed, 1 failed`: the number before the word `passed` and those before the words of failures.
fn worded(line: &str, failures: &[&str]) -> TestCount {
    let words: Vec<&str> = line
        .split([' ', ',', ';'])
        .filter(|word| !word.is_empty())
        .collect();
    let mut count = TestCount::default();
    for (number, word) in words.iter().zip(words.iter().skip(1)) {
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        if *word == "passed" {
            count.passed = count.passed.saturating_add(number);
        } else if failures.contains(word) {
            count.failed = count.failed.saturating_add(number);
        }
    }
    count
}

/// The sum of all counts; none without one.
fn sum(counts: impl Iterator<Item = TestCount>) -> Option<TestCount> {
    counts.reduce(|mut sum, count| {
        sum.add(count);
        sum
    })
}

/// The text without the escape sequences of terminals.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| ('@'..='~').contains(&c));
        rest = end
            .and_then(|end| after.get(end.saturating_add(1)..))
            .unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passed and failed tests.
    fn check(output: &str, expect: Option<(u64, u64)>) {
        let count = TestCount::in_output(output).map(|count| (count.passed, count.failed));
        assert_eq!(count, expect, "{output}");
    }

    #[test]
    fn every_binary_of_cargo_test_counts() {
        let one = "running 4 tests\ntest a ... ok\n\ntest result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; \
                   5 filtered out; finished in 0.00s\n";
        check(one, Some((3, 1)));
        check(
            &format!("{one}test result: ok. 4 passed; 0 failed; 0 ignored\n"),
            Some((7, 1)),
        );
    }

    #[test]
    fn the_summary_of_nextest_counts_also_in_colour() {
        let summary = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.044s] \u{1b}[1m6\u{1b}[0m tests run: 3 \u{1b}[32mpassed\u{1b}[0m \
                       (1 slow), 1 failed, 1 timed out, 1 exec failed, 7 skipped";
        check(summary, Some((3, 3)));
        check(
            "Summary [   0.1s] 2 tests run: 2 passed, 0 skipped",
            Some((2, 0)),
        );
    }

    #[test]
    fn the_last_line_of_pytest_counts_with_and_without_its_frame() {
        check(
            "..F\n==== 1 failed, 2 passed, 1 skipped, 1 error in 0.12s ====\n",
            Some((2, 2)),
        );
        check("...\n3 passed in 0.01s\n", Some((3, 0)));
        check("5 passed, 2 warnings in 61.20s (0:01:01)", Some((5, 0)));
        check("it passed in 3s", None);
    }

    #[test]
    fn the_last_lines_of_unittest_count() {
        let ran = "..F.\n------\nRan 9 tests in 0.002s\n\n";
        check(&format!("{ran}OK\n"), Some((9, 0)));
        check(
            &format!("{ran}OK (skipped=2, expected failures=1)\n"),
            Some((6, 0)),
        );
        let failed = "FAILED (failures=1, errors=2, skipped=3, unexpected successes=1)\n";
        check(&format!("{ran}{failed}"), Some((2, 4)));
        check("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", Some((0, 0)));
        check("Ran 9 tests in 0.002s\n\nkilled\n", None);
        check("Ran 3 miles\nOK\n", None);
    }

    #[test]
    fn the_line_of_jest_counts() {
        let output = "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 3 passed, 6 total\nTime: 1s\n";
        check(output, Some((3, 1)));
        check("Tests: none", None);
    }

    #[test]
    fn top_level_tests_of_go_count_if_it_names_them_all() {
        let output = "=== RUN   TestA\n=== RUN   TestA/x\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\n=== RUN   TestB\n\
                      --- FAIL: TestB (0.00s)\nFAIL\n";
        check(output, Some((1, 1)));
        check("--- FAIL: TestB (0.00s)\nFAIL\texample.org/b\t0.1s\n", None);
    }

    #[test]
    fn the_last_lines_of_mocha_count() {
        check(
            "  suite\n    ✓ works\n\n  3 passing (5ms)\n  1 pending\n  2 failing\n\n  1) x:\n",
            Some((3, 2)),
        );
        check("  3 passing (5ms)\n", Some((3, 0)));
    }

    #[test]
    fn tap_counts_known_failures_and_skipped_tests_as_neither() {
        let output = "TAP version 13\n1..6\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no disk\nnot ok 4 - d # TODO later\n    ok 1 - sub\nok\n";
        // The sixth did not report.
        check(output, Some((2, 2)));
        check("ok then\n", None);
    }

    /// 004/3.metrics.5, 004/3.metrics.6
    #[test]
    fn an_output_of_no_known_runner_has_no_counts() {
        check("", None);
        check("12 apples passed the check\n", None);
    }

    #[test]
    fn cases_pass_unless_they_hold_a_failure_an_error_or_a_skip() {
        let report = r#"noise < before
<?xml version="1.0"?>
<testsuites><testsuite name="a > b" tests="5">
  <testcase name="one"/>
  <testcase name="two"><system-out>fine</system-out></testcase>
  <testcase name="three"><failure message="x > y">no</failure></testcase>
  <testcase name="four"><error/></testcase>
  <testcase name="five"><skipped/></testcase>
</testsuite></testsuites>"#;
        check(report, Some((2, 2)));
    }

    #[test]
    fn tags_in_comments_and_character_data_are_no_tags() {
        let report = "<testsuite><!-- <testcase/> --><testcase><system-out><![CDATA[<failure/>]]></system-out>\
                      </testcase></testsuite>";
        check(report, Some((1, 0)));
    }

    #[test]
    fn a_case_with_a_failure_and_an_error_counts_once() {
        check(
            "<testsuite><testcase><failure/><error/></testcase></testsuite>",
            Some((0, 1)),
        );
    }

    #[test]
    fn no_report_has_no_count_and_a_cut_one_ends_early() {
        check("<html>", None);
        check(
            "<testsuite><testcase name=\"a\"/><testcase na",
            Some((1, 0)),
        );
    }
}
