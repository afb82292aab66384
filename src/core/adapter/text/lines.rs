//! Separates prose from code in Markdown and finds tags that begin a line. Does not know what a tag means.

use crate::adapter::json::is_line_break;

/// The least run of one character that opens a fence.
const FENCE: usize = 3;
/// Minimum indent of a line that is code.
const CODE_COLUMN: usize = 4;

/// True if the text after `before` begins a line, white space aside.
pub(super) fn begins_a_line(before: &str) -> bool {
    let trimmed = before.trim_end();
    trimmed.is_empty()
        || before
            .get(trimmed.len()..)
            .is_some_and(|space| space.contains(is_line_break))
}

/// Finds where `tag` first begins a line of `text` that is no code.
pub(super) fn first_in_prose(text: &str, tag: &str) -> Option<usize> {
    ProseScanner::default().first(text, tag, LineStart::New)
}

/// The beginning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStart {
    /// A line.
    New,
    /// The rest of one on which a call ended.
    AfterCall,
}

/// Separates prose from code as Markdown does: a fenced block is code, and so is a line that is indented by four columns.
#[derive(Debug, Default)]
pub(super) struct ProseScanner {
    /// The character and the length of the fence that is open.
    fence: Option<(char, usize)>,
}

impl ProseScanner {
    /// Reads the next piece up to where `tag` first begins a line outside of code; all of it where none does. The rest of a
    /// line on which a call ended counts as one, however far it is indented, and neither opens nor closes a fence.
    pub(super) fn first(&mut self, piece: &str, tag: &str, start: LineStart) -> Option<usize> {
        let mut at = 0;
        let mut start = start;
        for line in piece.split_inclusive(is_line_break) {
            let trimmed = line.trim_start();
            let is_whole = std::mem::replace(&mut start, LineStart::New) == LineStart::New;
            let indent = line.get(..line.len() - trimmed.len()).unwrap_or_default();
            let is_code = is_whole && columns(indent) >= CODE_COLUMN;
            if self.fence.is_none() && !is_code && trimmed.starts_with(tag) {
                return Some(at + indent.len());
            }
            if is_whole && !is_code {
                self.pass(trimmed);
            }
            at += line.len();
        }
        None
    }

    /// Opens or closes a fence, where the line is one.
    fn pass(&mut self, line: &str) {
        let Some(mark @ ('`' | '~')) = line.chars().next() else {
            return;
        };
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        match self.fence {
            Some((open, least)) if mark == open && length >= least && rest.trim().is_empty() => {
                self.fence = None;
            }
            // With another backtick on the line it is code within a sentence.
            None if length >= FENCE && !(mark == '`' && rest.contains(mark)) => {
                self.fence = Some((mark, length));
            }
            Some(_) | None => {}
        }
    }
}

/// Returns the columns that white space indents: a tab advances to the next multiple of four.
fn columns(indent: &str) -> usize {
    indent.chars().fold(0, |column, c| match c {
        '\t' => column - column % CODE_COLUMN + CODE_COLUMN,
        c if is_line_break(c) => 0,
        _ => column + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<usize>) {
        assert_eq!(first_in_prose(text, "<f"), expect, "{text:?}");
    }

    #[test]
    fn a_tag_counts_where_it_begins_a_line_that_is_no_code() {
        check("<f", Some(0));
        check("a <f\n   <f", Some(8));
        check("a\r<f", Some(2));
        check("a\u{2028}<f", Some(4));
        check("    <f", None);
        check(" \t<f", None);
        check("```\n<f\n```\n<f", Some(11));
        check("~~~ python\n<f\n```\n~~\n<f\n~~~~ \n <f", Some(31));
        check("````\n```\n<f", None);
        check("``` not\n``` \n<f", Some(13));
        check("```code``` and\n<f", Some(15));
        check("a ``` b\n<f", Some(8));
        check("    ```\n<f", Some(8));
        check("``\n<f", Some(3));
        check("```\n<f", None);
    }

    #[test]
    fn a_fence_goes_on_through_the_pieces_of_a_text() {
        let mut prose = ProseScanner::default();
        assert_eq!(prose.first("```\n", "<f", LineStart::New), None);
        assert_eq!(prose.first(" <f\n<f", "<f", LineStart::AfterCall), None);
        let rest = "```\n```\n      <f";
        assert_eq!(prose.first(rest, "<f", LineStart::AfterCall), None);
        let mut prose = ProseScanner::default();
        assert_eq!(prose.first("     <f", "<f", LineStart::AfterCall), Some(5));
    }
}
