//! Puts the hunks of a patch into the text of a file. Sees no file.

use super::patch::{Hunk, HunkLine};
use crate::tools::builtin::file_text::split_mark;

/// An error from applying a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkFault {
    /// No line is that anchor.
    Anchor(String),
    /// The anchor occurs in these lines, and each leads to another place.
    Anchors { anchor: String, lines: Vec<usize> },
    /// Its lines occur in several places, from these lines on.
    Many(Vec<usize>),
    /// Its lines do not occur in the file after that many lines.
    Missing { behind: usize },
    /// It would change nothing.
    Unchanging,
}

/// A line of the new text.
struct Line<'t> {
    end: &'t str,
    is_added: bool,
    text: &'t str,
}

/// The text with every hunk, each behind the last one; else the number of the hunk that does not fit, counted from 1.
///
/// A new line ends as the one that it replaces, else as the line before it. A text whose last line has no end gets none.
pub(super) fn patched(text: &str, hunks: &[Hunk]) -> Result<String, (usize, HunkFault)> {
    let (mark, text) = split_mark(text);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    let mut at = 0;
    let file = |from: usize, to: usize| {
        let lines = lines.get(from..to).unwrap_or_default();
        lines.iter().copied().map(Line::of_file)
    };
    for (number, hunk) in hunks.iter().enumerate() {
        let start = place(&lines, at, hunk).map_err(|fault| (number + 1, fault))?;
        out.extend(file(at, start));
        at = start;
        // The ends of the lines that new ones replace, and how many of these there are already.
        let (mut gone, mut added) = (Vec::<&str>::new(), 0_usize);
        for line in &hunk.lines {
            match line {
                HunkLine::Added(text) => {
                    let replaced = gone.get(added).or(gone.last()).copied();
                    added += 1;
                    out.push(Line {
                        end: replaced.unwrap_or_else(|| end_near(&lines, at)),
                        is_added: true,
                        text: if out.is_empty() {
                            split_mark(text).1
                        } else {
                            text.as_str()
                        },
                    });
                }
                HunkLine::Kept(_) => {
                    out.extend(file(at, at + 1));
                    at += 1;
                    (gone, added) = (Vec::new(), 0);
                }
                HunkLine::Removed(_) => {
                    let ends = file(at, at + 1).map(|line| line.end);
                    gone.extend(ends.filter(|end| !end.is_empty()));
                    at += 1;
                }
            }
        }
    }
    out.extend(file(at, lines.len()));
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let mut whole = String::from(mark);
    let mut left = out.len();
    for line in out {
        left -= 1;
        let end = match line.end {
            // The last line of the file may have had no end, and may be followed now.
            "" if left > 0 => end_near(&lines, lines.len()),
            _ if left == 0 && is_open && line.is_added => "",
            end => end,
        };
        whole.push_str(line.text);
        whole.push_str(end);
    }
    Ok(whole)
}

impl<'t> Line<'t> {
    fn of_file(line: &'t str) -> Self {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let text = match text.strip_suffix('\r') {
            Some(text) if line.ends_with('\n') => text,
            _ => text,
        };
        Self {
            end: line.get(text.len()..).unwrap_or_default(),
            is_added: false,
            text,
        }
    }
}

/// The end of the line before a place, else of the first one behind it that has an end.
fn end_near<'t>(lines: &[&'t str], at: usize) -> &'t str {
    let (before, behind) = lines.split_at_checked(at).unwrap_or((lines, &[]));
    let near = before.iter().rev().chain(behind).copied();
    let mut ends = near.map(|line| Line::of_file(line).end);
    ends.find(|end| !end.is_empty()).unwrap_or("\n")
}

/// The line that a hunk begins at, none before `from`.
fn place(lines: &[&str], from: usize, hunk: &Hunk) -> Result<usize, HunkFault> {
    let old = texts(hunk, |line| !matches!(line, HunkLine::Added(_)));
    let new = texts(hunk, |line| !matches!(line, HunkLine::Removed(_)));
    if old == new {
        return Err(HunkFault::Unchanging);
    }
    let is_anchor = |anchor: &str, line: &str| line.trim() == anchor.trim();
    let anchors = hunk.anchors.iter().map(|anchor| {
        let lines = lines.iter().enumerate().skip(from);
        let lines = lines.filter(|(_, line)| is_anchor(anchor, line));
        lines.map(|(at, _)| at).collect::<Vec<usize>>()
    });
    let anchors: Vec<Vec<usize>> = anchors.collect();
    let mut earliest = from;
    for (anchor, lines) in hunk.anchors.iter().zip(&anchors) {
        let found = first_from(lines, earliest);
        earliest = 1 + found.ok_or_else(|| HunkFault::Anchor(anchor.clone()))?;
    }
    if old.is_empty() && (hunk.at_end || anchors.is_empty()) {
        // Only additions, without a line that names their place.
        return Ok(lines.len());
    }
    let found = found(lines, earliest, &old, hunk.at_end);
    let Some((first, rest)) = anchors.split_first() else {
        return match found.as_slice() {
            [] => Err(HunkFault::Missing { behind: earliest }),
            [at] => Ok(*at),
            several => Err(HunkFault::Many(several.iter().map(|at| at + 1).collect())),
        };
    };
    // From each line that is the first anchor: the nearest line of each further one, and the nearest place behind it.
    let mut fits: Vec<(usize, usize)> = Vec::new();
    for &anchor in first {
        let behind = |from: usize, lines: &Vec<usize>| first_from(lines, from).map(|at| at + 1);
        let behind = rest.iter().try_fold(anchor + 1, behind);
        let place = behind.and_then(|behind| match old.as_slice() {
            [] => Some(behind),
            _ => first_from(&found, behind),
        });
        if let Some(place) = place {
            // The nearest of several lines that lead to the same place.
            let _farther = fits.pop_if(|(_, last)| *last == place);
            fits.push((anchor, place));
        }
    }
    match fits.as_slice() {
        [] => Err(HunkFault::Missing { behind: earliest }),
        [(_, at)] => Ok(*at),
        several => Err(HunkFault::Anchors {
            anchor: hunk.anchors.first().cloned().unwrap_or_default(),
            lines: several.iter().map(|(anchor, _)| anchor + 1).collect(),
        }),
    }
}

fn texts(hunk: &Hunk, is_one: impl Fn(&HunkLine) -> bool) -> Vec<&str> {
    let lines = hunk.lines.iter().filter(|line| is_one(line));
    let texts = lines.map(|line| match line {
        HunkLine::Added(text) | HunkLine::Kept(text) | HunkLine::Removed(text) => text.as_str(),
    });
    texts.collect()
}

/// The first of ascending numbers that is not less than `from`.
fn first_from(numbers: &[usize], from: usize) -> Option<usize> {
    numbers
        .get(numbers.partition_point(|at| *at < from))
        .copied()
}

/// Returns every line at which the old lines of a hunk begin.
fn found(lines: &[&str], from: usize, old: &[&str], at_end: bool) -> Vec<usize> {
    if old.is_empty() {
        return Vec::new();
    }
    let without_end = |line: &str| split_mark(line).1.trim_end_matches(['\r', '\n']).to_owned();
    let found = places(lines, from, old, at_end, without_end);
    if !found.is_empty() {
        return found;
    }
    // White space at the ends of lines is what models lose most.
    let trimmed = |line: &str| split_mark(line).1.trim_end().to_owned();
    places(lines, from, old, at_end, trimmed)
}

/// Every line from which on these lines stand, as `form` has both sides.
fn places(
    lines: &[&str],
    from: usize,
    old: &[&str],
    at_end: bool,
    form: impl Fn(&str) -> String,
) -> Vec<usize> {
    let old: Vec<String> = old.iter().map(|line| form(line)).collect();
    let rest = lines.get(from..).unwrap_or_default();
    let rest: Vec<String> = rest.iter().map(|line| form(line)).collect();
    let windows = rest.windows(old.len()).enumerate();
    let fits = windows.filter(|(_, window)| *window == old.as_slice());
    let fits = fits.map(|(at, _)| from + at);
    fits.filter(|at| !at_end || at + old.len() == lines.len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin::apply_patch::patch::{Wanted, read};

    /// The text with the hunks of an update, or how many hunks fit before the one that does not.
    fn check(text: &str, update: &str, expect: &Result<&str, (usize, HunkFault)>) {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{update}\n*** End Patch\n");
        let wanted = read(&patch).unwrap();
        let [Wanted::Update { hunks, .. }] = wanted.as_slice() else {
            panic!("{wanted:?}");
        };
        let got = patched(text, hunks);
        assert_eq!(got.as_deref(), expect.as_deref(), "{update}");
    }

    #[test]
    fn hunks_go_where_their_lines_stand() {
        check("a\nb\nc\n", " a\n-b\n+B\n c", &Ok("a\nB\nc\n"));
        check("a\nb\na\nc\n", "@@\n-b\n@@\n-a\n+x", &Ok("a\nx\nc\n"));
        check("f\nx\ng\nx\n", "@@ g\n-x\n+y", &Ok("f\nx\ng\ny\n"));
        check(
            "m\nf\nx\nm\nf\nx\n",
            "@@ x\n@@ f\n-x",
            &Ok("m\nf\nx\nm\nf\n"),
        );
        check("a\n", "+b", &Ok("a\nb\n"));
        check("a\nb\n", "@@ a\n+x", &Ok("a\nx\nb\n"));
        check("x\nx\n", "-x\n+y\n*** End of File", &Ok("x\ny\n"));
        check("", "+a", &Ok("a\n"));
    }

    #[test]
    fn a_file_keeps_its_line_ends() {
        check("a\r\nb\r\n", " a\n-b\n+B", &Ok("a\r\nB\r\n"));
        check("a\nb", "-a\n+A", &Ok("A\nb"));
        check("a  \nb\n", " a\n-b", &Ok("a  \n"));
        check("a\n\nb\n", " a\n\n-b\n+c", &Ok("a\n\nc\n"));
        // Of mixed ends those around the lines count, and not those of the first line.
        check("a\nb\r\nc\r\n", "-b\n+B\n+x", &Ok("a\nB\r\nx\r\nc\r\n"));
        check("a\r\nb\nc\r\n", " b\n+x", &Ok("a\r\nb\nx\nc\r\n"));
        check("a\r\nb\n", "-a\n-b\n+A\n+B", &Ok("A\r\nB\n"));
        check("a\nb\r\n", "+x\n b", &Ok("a\nx\nb\r\n"));
        check("a\r\n", "+x\n a", &Ok("x\r\na\r\n"));
    }

    #[test]
    fn a_last_line_without_an_end_has_none_after() {
        check("a\nb", "-b\n+B", &Ok("a\nB"));
        check("a\nb", " b\n+c", &Ok("a\nb\nc"));
        check("a\r\nb", "+c", &Ok("a\r\nb\r\nc"));
        check("a\nb", "-b", &Ok("a\n"));
        check("a", "-a\n+A", &Ok("A"));
        check("a\nb\n", "-b\n+B", &Ok("a\nB\n"));
    }

    #[test]
    fn a_byte_order_mark_stays() {
        check("\u{feff}a\nb\n", "-a\n+A", &Ok("\u{feff}A\nb\n"));
        check(
            "\u{feff}a\nb\n",
            "-\u{feff}a\n+\u{feff}A",
            &Ok("\u{feff}A\nb\n"),
        );
        check("\u{feff}a\n", "+x\n a", &Ok("\u{feff}x\na\n"));
    }

    #[test]
    fn an_anchor_that_stands_twice_is_refused_with_both_lines() {
        let twice = |anchor: &str, lines: &[usize]| {
            let (anchor, lines) = (anchor.to_owned(), lines.to_vec());
            Err((1, HunkFault::Anchors { anchor, lines }))
        };
        check("f\nx\nf\nx\n", "@@ f\n-x", &twice("f", &[1, 3]));
        check("f\nx\nf\nx\n", "@@ f\n+y", &twice("f", &[1, 3]));
        // Both lead to the one place, or a line above tells which is meant.
        check("f\ny\nf\nx\n", "@@ f\n-x", &Ok("f\ny\nf\n"));
        check(
            "c\nf\nx\nd\nf\nx\n",
            "@@ d\n@@ f\n-x",
            &Ok("c\nf\nx\nd\nf\n"),
        );
        check(
            "c\nf\nx\nd\nf\nx\n",
            "@@ c\n@@ f\n-x",
            &Ok("c\nf\nd\nf\nx\n"),
        );
    }

    #[test]
    fn a_hunk_that_fits_nowhere_or_at_several_places_is_refused() {
        check("a\n", "-b", &Err((1, HunkFault::Missing { behind: 0 })));
        check(
            "a\nb\n",
            "-b\n@@\n-a",
            &Err((2, HunkFault::Missing { behind: 2 })),
        );
        check("x\nx\n", "-x", &Err((1, HunkFault::Many(vec![1, 2]))));
        check(
            "x\n",
            "@@ y\n-x",
            &Err((1, HunkFault::Anchor("y".to_owned()))),
        );
        check("x\n", " x", &Err((1, HunkFault::Unchanging)));
        check("x\n", "-x\n+x", &Err((1, HunkFault::Unchanging)));
        check(
            "a\nb\n",
            "-a\n*** End of File",
            &Err((1, HunkFault::Missing { behind: 0 })),
        );
    }
}
