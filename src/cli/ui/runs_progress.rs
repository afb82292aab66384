//! The progress of many runs, as one line that is redrawn. Does not drive them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Instant;

use super::screen::{Screen, Style};
use super::wrap::cells;

const WIPE: &str = "\r\u{1b}[2K";
/// With this all parts of the line are shown, with 0 only those that matter most.
const MOST_PARTS: u8 = 6;

/// The line of many runs on stderr; nothing outside a terminal.
#[derive(Debug)]
pub(crate) struct RunsProgress {
    began: Instant,
    /// Number of runs by outcome.
    by_outcome: BTreeMap<String, usize>,
    /// Number of runs left without an end that wait for no person, by state.
    without_end: BTreeMap<String, usize>,
    drawn: Cell<bool>,
    /// Entries of the runs that have ended.
    entries: u64,
    /// Number of those with an outcome that had ended before.
    recorded: usize,
    screen: Screen,
    /// Number of runs awaiting approval.
    waiting: usize,
}

/// The work at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunsNow {
    /// The end that was requested of the process, such as `stopping`.
    pub(crate) ending: Option<&'static str>,
    /// Runs that have not begun, where that is known.
    pub(crate) left: Option<usize>,
    pub(crate) running: usize,
    pub(crate) waiting_requests: usize,
}

impl RunsProgress {
    pub(crate) fn new(screen: Screen) -> Self {
        Self {
            began: Instant::now(),
            by_outcome: BTreeMap::new(),
            without_end: BTreeMap::new(),
            drawn: Cell::new(false),
            entries: 0,
            recorded: 0,
            screen,
            waiting: 0,
        }
    }

    /// A run has ended with that outcome.
    pub(crate) fn ended(&mut self, outcome: &str, entries: u64) {
        count(&mut self.by_outcome, outcome);
        self.entries = self.entries.saturating_add(entries);
    }

    /// A run had ended before with that outcome.
    pub(crate) fn had_ended(&mut self, outcome: &str) {
        count(&mut self.by_outcome, outcome);
        self.recorded = self.recorded.saturating_add(1);
    }

    /// A run is left without an end, in that state.
    pub(crate) fn left(&mut self, label: &str, entries: u64) {
        count(&mut self.without_end, label);
        self.entries = self.entries.saturating_add(entries);
    }

    /// A run is left that waits for an approval.
    pub(crate) fn waits(&mut self, entries: u64) {
        self.waiting = self.waiting.saturating_add(1);
        self.entries = self.entries.saturating_add(entries);
    }

    /// Draws the line.
    pub(crate) fn show(&self, now: RunsNow) {
        if !self.screen.redraws() {
            return;
        }
        let since_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A line that wraps could not be wiped.
        let text = self.line(now, since_ms, self.screen.width() - 1);
        let text = self.screen.paint(Style::Dim, &text);
        self.screen.write_err(&format!("{WIPE}{text}"));
        self.drawn.set(true);
    }

    /// Wipes the line: something else is about to be written.
    pub(crate) fn clear(&self) {
        if self.drawn.take() {
            self.screen.write_err(WIPE);
        }
    }

    /// Replaces the line with the outcomes of all runs.
    pub(crate) fn sum_up(&self) {
        self.clear();
        let has_runs = !self.by_outcome.is_empty() || !self.without_end.is_empty();
        let has_runs = has_runs || self.waiting > 0;
        if self.screen.is_watched() && has_runs {
            self.screen.write_err(&format!("{}\n", self.done()));
        }
    }

    /// Returns how many runs have ended, and their outcomes; then the runs without an end.
    fn done(&self) -> String {
        let done = (!self.by_outcome.is_empty()).then(|| self.by_what());
        let parts = done.into_iter().chain(self.no_end());
        parts.collect::<Vec<_>>().join(" · ")
    }

    fn ended_runs(&self) -> String {
        let done: usize = self.by_outcome.values().sum();
        match self.recorded {
            0 => format!("{done} done"),
            recorded => format!("{done} done, {recorded} as recorded"),
        }
    }

    /// Returns how many runs have ended, and their outcomes.
    fn by_what(&self) -> String {
        let counts = self
            .by_outcome
            .iter()
            .map(|(name, n)| format!("{n} {name}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        format!("{}: {counts}", self.ended_runs())
    }

    /// The runs that have no end: those that wait for a person come first.
    fn no_end(&self) -> Vec<String> {
        let waiting = match self.waiting {
            0 => None,
            1 => Some("1 waits for approval".to_owned()),
            waiting => Some(format!("{waiting} wait for approval")),
        };
        let others = self.without_end.iter();
        let others = others.map(|(name, n)| format!("{n} {name}"));
        waiting.into_iter().chain(others).collect()
    }

    /// The line in so many cells: where they are too few, whole parts are left out, those first that matter least.
    fn line(&self, now: RunsNow, since_ms: u64, width: usize) -> String {
        let rate = self.entries.saturating_mul(1000).checked_div(since_ms);
        let lines = (0..=MOST_PARTS).rev();
        let mut lines = lines.map(|most| self.parts(now, rate.unwrap_or(0), most));
        let fits = lines.find(|text| cells(text) <= width);
        fits.unwrap_or_default()
    }

    /// The parts of the line that matter so much: 0 has what matters most.
    fn parts(&self, now: RunsNow, rate: u64, most: u8) -> String {
        let done = if most >= 5 && !self.by_outcome.is_empty() {
            self.by_what()
        } else {
            self.ended_runs()
        };
        let mut parts = vec![
            (0, now.ending.map(str::to_owned)),
            (0, Some(format!("{} running", now.running))),
            (4, Some(format!("{} waiting", now.waiting_requests))),
            (3, now.left.map(|left| format!("{left} not begun"))),
            (2, Some(done)),
        ];
        parts.extend(self.no_end().into_iter().map(|part| (1, Some(part))));
        parts.push((MOST_PARTS, Some(format!("{rate} entries/s"))));
        let parts = parts.into_iter().filter(|(rank, _)| *rank <= most);
        let parts: Vec<String> = parts.filter_map(|(_, part)| part).collect();
        parts.join(" · ")
    }
}

fn count(runs: &mut BTreeMap<String, usize>, name: &str) {
    let count = runs.entry(name.to_owned()).or_default();
    *count = count.saturating_add(1);
}

impl Drop for RunsProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_host::driver::Environment;

    #[test]
    fn the_line_counts_runs_by_what_they_came_to() {
        let screen = Screen::of_process(&Environment::new(|_| None));
        let mut progress = RunsProgress::new(screen);
        let now = |left| RunsNow {
            ending: None,
            left,
            running: 7,
            waiting_requests: 3,
        };
        assert_eq!(
            progress.line(now(None), 0, 80),
            "7 running · 3 waiting · 0 done · 0 entries/s"
        );
        progress.waits(0);
        assert_eq!(
            progress.line(now(None), 0, 80),
            "7 running · 3 waiting · 0 done · 1 waits for approval · 0 entries/s"
        );
        assert_eq!(progress.done(), "1 waits for approval");
        progress.waiting = 0;
        progress.ended("COMPLETED_WITH_TOOLS", 30);
        progress.left("suspended", 10);
        progress.ended("COMPLETED_WITH_TOOLS", 10);
        assert_eq!(
            progress.line(now(Some(4)), 2_000, 100),
            "7 running · 3 waiting · 4 not begun · 2 done: 2 COMPLETED_WITH_TOOLS · 1 suspended · 25 entries/s"
        );
        progress.had_ended("FAILED_TIMEOUT");
        assert_eq!(
            progress.done(),
            "3 done, 1 as recorded: 2 COMPLETED_WITH_TOOLS, 1 FAILED_TIMEOUT · 1 suspended"
        );
    }

    #[test]
    fn a_line_that_is_too_long_loses_whole_parts_and_never_those_that_wait_for_a_person() {
        let screen = Screen::of_process(&Environment::new(|_| None));
        let mut progress = RunsProgress::new(screen);
        progress.ended("COMPLETED_WITH_TOOLS", 30);
        progress.waits(0);
        let now = RunsNow {
            ending: Some("stopping"),
            left: Some(4),
            running: 2,
            waiting_requests: 0,
        };
        let check = |width, expect: &str| assert_eq!(progress.line(now, 1_000, width), expect);
        check(
            110,
            "stopping · 2 running · 0 waiting · 4 not begun · 1 done: 1 COMPLETED_WITH_TOOLS · 1 waits for approval",
        );
        check(
            79,
            "stopping · 2 running · 0 waiting · 4 not begun · 1 done · 1 waits for approval",
        );
        check(60, "stopping · 2 running · 1 done · 1 waits for approval");
        check(45, "stopping · 2 running · 1 waits for approval");
        check(20, "stopping · 2 running");
        check(5, "");
    }
}
