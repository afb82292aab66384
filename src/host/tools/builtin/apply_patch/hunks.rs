//! Puts the hunks of a patch into the text of a file. Sees no file.

use std::borrow::Cow;

use super::patch::{Hunk, HunkLine};

/// An error from applying a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkFault {
    /// No line is that anchor.
    Anchor(String),
    /// Its lines stand at that many places.
    Many(usize),
    /// Its lines do not stand in the file, behind that many lines.
    Missing { behind: usize },
    /// It would change nothing.
    Unchanging,
}

/// The text with every hunk, each behind the last one; else the number of the hunk that does not fit, counted from 1.
pub(super) fn patched(text: &str, hunks: &[Hunk]) -> Result<String, (usize, HunkFault)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = lines.first().copied().unwrap_or_default();
    let end = if first.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut out: Vec<Cow<'_, str>> = Vec::with_capacity(lines.len());
    let mut at = 0;
    let file = |from: usize, to: usize| {
        let lines = lines.get(from..to).unwrap_or_default();
        lines.iter().map(|line| Cow::Borrowed(*line))
    };
    for (number, hunk) in hunks.iter().enumerate() {
        let start = place(&lines, at, hunk).map_err(|fault| (number + 1, fault))?;
        out.extend(file(at, start));
        at = start;
        for line in &hunk.lines {
            match line {
                HunkLine::Added(text) => out.push(Cow::Owned(format!("{text}{end}"))),
                HunkLine::Kept(_) => {
                    out.extend(file(at, at + 1));
                    at += 1;
                }
                HunkLine::Removed(_) => at += 1,
            }
        }
    }
    out.extend(file(at, lines.len()));
    // The last line of the file may have had no end, and may be followed now.
    let last = out.len().saturating_sub(1);
    let closed = out.iter().enumerate().flat_map(|(at, line)| {
        let open = at < last && !line.ends_with('\n');
        [line.as_ref(), if open { end } else { "" }]
    });
    Ok(closed.collect())
}

/// The line that a hunk begins at, none before `from`.
fn place(lines: &[&str], from: usize, hunk: &Hunk) -> Result<usize, HunkFault> {
    let is_change = |line: &HunkLine| !matches!(line, HunkLine::Kept(_));
    if !hunk.lines.iter().any(is_change) {
        return Err(HunkFault::Unchanging);
    }
    let mut from = from;
    for anchor in &hunk.anchors {
        let rest = lines.get(from..).unwrap_or_default();
        let found = rest.iter().position(|line| line.trim() == anchor.trim());
        from += 1 + found.ok_or_else(|| HunkFault::Anchor(anchor.clone()))?;
    }
    let old = |line: &HunkLine| match line {
        HunkLine::Kept(text) | HunkLine::Removed(text) => Some(text.clone()),
        HunkLine::Added(_) => None,
    };
    let old: Vec<String> = hunk.lines.iter().filter_map(old).collect();
    if old.is_empty() {
        // Only additions: behind the anchor, or at the end of the file.
        let at_end = hunk.at_end || hunk.anchors.is_empty();
        return Ok(if at_end { lines.len() } else { from });
    }
    let without_end = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let found = places(lines, from, &old, hunk.at_end, without_end);
    let found = if found.is_empty() {
        // White space at the ends of lines is what models lose most.
        places(lines, from, &old, hunk.at_end, |line| {
            line.trim_end().to_owned()
        })
    } else {
        found
    };
    match found.as_slice() {
        [] => Err(HunkFault::Missing { behind: from }),
        [at] => Ok(*at),
        [at, ..] if !hunk.anchors.is_empty() => Ok(*at),
        several => Err(HunkFault::Many(several.len())),
    }
}

/// Every line from which on these lines stand, as `form` has both sides.
fn places(
    lines: &[&str],
    from: usize,
    old: &[String],
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
        check("a\nb", " b\n+c", &Ok("a\nb\nc\n"));
        check("a  \nb\n", " a\n-b", &Ok("a  \n"));
        check("a\n\nb\n", " a\n\n-b\n+c", &Ok("a\n\nc\n"));
    }

    #[test]
    fn a_hunk_that_fits_nowhere_or_at_several_places_is_refused() {
        check("a\n", "-b", &Err((1, HunkFault::Missing { behind: 0 })));
        check(
            "a\nb\n",
            "-b\n@@\n-a",
            &Err((2, HunkFault::Missing { behind: 2 })),
        );
        check("x\nx\n", "-x", &Err((1, HunkFault::Many(2))));
        check(
            "x\n",
            "@@ y\n-x",
            &Err((1, HunkFault::Anchor("y".to_owned()))),
        );
        check("x\n", " x", &Err((1, HunkFault::Unchanging)));
        check(
            "a\nb\n",
            "-a\n*** End of File",
            &Err((1, HunkFault::Missing { behind: 0 })),
        );
    }
}
