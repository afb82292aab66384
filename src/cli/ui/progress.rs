//! The progress of reading a file, as one line that is redrawn. Does not read the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::screen::{Screen, Style};
use super::wrap::cut;

/// Minimum interval between redraws.
const EVERY_MS: u128 = 100;
/// Cells of the bar.
const WIDTH: usize = 24;
const MIB: u64 = 1 << 20;

/// A line on stderr that shows how much of a file is here; nothing if no person watches.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    drawn: Option<Instant>,
    /// Bytes that were here at the beginning.
    first: Option<u64>,
    screen: Screen,
    total: u64,
    what: String,
}

impl Progress {
    /// The line of a file of so many bytes.
    pub(crate) fn new(screen: Screen, what: String, total: u64) -> Self {
        Self {
            began: Instant::now(),
            drawn: None,
            first: None,
            screen,
            total,
            what,
        }
    }

    /// So many bytes are here.
    pub(crate) fn at(&mut self, have: u64) {
        let first = *self.first.get_or_insert(have);
        let due = self
            .drawn
            .is_none_or(|drawn| drawn.elapsed().as_millis() >= EVERY_MS);
        if !self.screen.redraws() || !(due || have == self.total) {
            return;
        }
        self.drawn = Some(Instant::now());
        let since_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let text = line(&self.what, first, have, self.total, since_ms);
        // A line that wraps could not be wiped.
        let text = cut(&text, self.screen.width() - 1);
        let text = self.screen.paint(Style::Dim, &text);
        self.screen.write_err(&format!("\r\u{1b}[2K{text}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            self.screen.write_err("\r\u{1b}[2K");
        }
    }
}

/// Shows of each large file that is read how far that has come.
pub(crate) fn watched(screen: Screen) -> impl Fn(&Path, u64, u64) + Send + Sync + 'static {
    let shown: Mutex<Option<(PathBuf, Progress)>> = Mutex::default();
    move |path, have, total| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if have >= total {
            // What is over goes from the screen.
            *shown = None;
            return;
        }
        if shown.as_ref().is_none_or(|(of, _)| of != path) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let progress =
                Progress::new(screen, monolith_service::text::escape::line(&name), total);
            *shown = Some((path.to_owned(), progress));
        }
        if let Some((_, progress)) = shown.as_mut() {
            progress.at(have);
        }
    }
}

fn line(what: &str, first: u64, have: u64, total: u64, since_ms: u64) -> String {
    let share = |of: u64| have.saturating_mul(of).checked_div(total).unwrap_or(of);
    let full = usize::try_from(share(WIDTH as u64)).map_or(WIDTH, |full| full.min(WIDTH));
    let bar = "█".repeat(full) + &"░".repeat(WIDTH - full);
    let rate = have
        .saturating_sub(first)
        .saturating_mul(1000)
        .checked_div(since_ms)
        .unwrap_or(0);
    let left = total.saturating_sub(have).checked_div(rate);
    let left = left.map_or(String::new(), |left| format!("  {left} s left"));
    format!(
        "{what}  {bar} {:>3} %  {} of {} MiB  {}.{} MiB/s{left}",
        share(100),
        have / MIB,
        total / MIB,
        rate / MIB,
        rate % MIB * 10 / MIB,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_share_size_rate_and_time_left() {
        let check = |first, have, total, ms, expect: &str| {
            assert_eq!(line("m", first, have, total, ms), expect);
        };
        let full = "█".repeat(WIDTH);
        let half = "█".repeat(WIDTH / 2) + &"░".repeat(WIDTH / 2);
        check(
            0,
            50 * MIB,
            100 * MIB,
            4000,
            &format!("m  {half}  50 %  50 of 100 MiB  12.5 MiB/s  4 s left"),
        );
        // What was here before is not counted as fetched now.
        check(
            50 * MIB,
            50 * MIB,
            100 * MIB,
            10,
            &format!("m  {half}  50 %  50 of 100 MiB  0.0 MiB/s"),
        );
        check(
            0,
            0,
            0,
            0,
            &format!("m  {full} 100 %  0 of 0 MiB  0.0 MiB/s"),
        );
    }
}
