//! How far many runs have come, as one line that is drawn again. Does not drive them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Instant;

use super::screen::{Screen, Style};
use super::wrap::cut;

const WIPE: &str = "\r\u{1b}[2K";

/// The line of many runs on stderr; nothing outside a terminal.
#[derive(Debug)]
pub(in crate::cli) struct RunsProgress {
    began: Instant,
    /// How many runs came to each outcome.
    by_outcome: BTreeMap<String, usize>,
    /// How many were left without an end, by how they are.
    without_end: BTreeMap<String, usize>,
    drawn: Cell<bool>,
    /// Entries of the runs that have ended.
    entries: u64,
    screen: Screen,
}

/// What goes on at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct RunsNow {
    /// Runs that have not begun, where that is known.
    pub(in crate::cli) left: Option<usize>,
    pub(in crate::cli) running: usize,
    pub(in crate::cli) waiting_requests: usize,
}

impl RunsProgress {
    pub(in crate::cli) fn new(screen: Screen) -> Self {
        Self {
            began: Instant::now(),
            by_outcome: BTreeMap::new(),
            without_end: BTreeMap::new(),
            drawn: Cell::new(false),
            entries: 0,
            screen,
        }
    }

    /// A run has ended with that outcome, or is left so.
    pub(in crate::cli) fn ended(&mut self, label: &str, has_ended: bool, entries: u64) {
        let runs = if has_ended {
            &mut self.by_outcome
        } else {
            &mut self.without_end
        };
        let count = runs.entry(label.to_owned()).or_default();
        *count = count.saturating_add(1);
        self.entries = self.entries.saturating_add(entries);
    }

    /// Draws the line.
    pub(in crate::cli) fn show(&self, now: RunsNow) {
        if !self.screen.is_watched() {
            return;
        }
        let since_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A line that wraps could not be wiped.
        let text = cut(&self.line(now, since_ms), self.screen.width() - 1);
        let text = self.screen.paint(Style::Dim, &text);
        self.screen.write_err(&format!("{WIPE}{text}"));
        self.drawn.set(true);
    }

    /// Wipes the line: something else is about to be written.
    pub(in crate::cli) fn clear(&self) {
        if self.drawn.take() {
            self.screen.write_err(WIPE);
        }
    }

    /// Leaves in the place of the line what all runs came to.
    pub(in crate::cli) fn sum_up(&self) {
        self.clear();
        let has_runs = !self.by_outcome.is_empty() || !self.without_end.is_empty();
        if self.screen.is_watched() && has_runs {
            self.screen.write_err(&format!("{}\n", self.done()));
        }
    }

    /// How many runs have ended, and what they came to; then those that have no end.
    fn done(&self) -> String {
        let counts = |runs: &BTreeMap<String, usize>| -> Vec<String> {
            runs.iter().map(|(name, n)| format!("{n} {name}")).collect()
        };
        let done: usize = self.by_outcome.values().sum();
        let mut parts = counts(&self.without_end);
        if done > 0 {
            let outcomes = counts(&self.by_outcome).join(", ");
            parts.insert(0, format!("{done} done: {outcomes}"));
        } else if parts.is_empty() {
            parts.push("0 done".to_owned());
        }
        parts.join(" · ")
    }

    fn line(&self, now: RunsNow, since_ms: u64) -> String {
        let left = now
            .left
            .map_or(String::new(), |left| format!(" · {left} not begun"));
        let rate = self.entries.saturating_mul(1000).checked_div(since_ms);
        format!(
            "{} running · {} waiting{left} · {} · {} entries/s",
            now.running,
            now.waiting_requests,
            self.done(),
            rate.unwrap_or(0),
        )
    }
}

impl Drop for RunsProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Environment;

    #[test]
    fn the_line_counts_runs_by_what_they_came_to() {
        let screen = Screen::of_process(&Environment::new(|_| None));
        let mut progress = RunsProgress::new(screen);
        let now = |left| RunsNow {
            left,
            running: 7,
            waiting_requests: 3,
        };
        assert_eq!(
            progress.line(now(None), 0),
            "7 running · 3 waiting · 0 done · 0 entries/s"
        );
        progress.ended("waiting for approval", false, 0);
        assert_eq!(
            progress.line(now(None), 0),
            "7 running · 3 waiting · 1 waiting for approval · 0 entries/s"
        );
        progress.without_end.clear();
        progress.ended("COMPLETED_WITH_TOOLS", true, 30);
        progress.ended("suspended", false, 10);
        progress.ended("COMPLETED_WITH_TOOLS", true, 10);
        assert_eq!(
            progress.line(now(Some(4)), 2_000),
            "7 running · 3 waiting · 4 not begun · 2 done: 2 COMPLETED_WITH_TOOLS · 1 suspended · 25 entries/s"
        );
    }
}
