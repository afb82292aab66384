//! Finds a tool's result that a model wrote itself: `<tool_response>` where a line begins. Takes the text in any pieces and looks
//! at each character once. Does not know what becomes of such a text.
//!
//! What a person does not see, or reads as layout, does not hide the tag: white space, invisible characters, marks of quotes,
//! lists, headings, tables and emphasis before it; white space and invisible characters within it; upper case. Code is no
//! result: a fenced block, also within a quote or a list, a line that is indented by four columns, and a line that begins with a
//! backtick.

use super::json::is_line_break;
use crate::message::is_invisible;

/// The tag's name; nothing but a tool writes it.
const NAME: &[u8] = b"tool_response";
/// The least run of one character that opens a fence.
const FENCE: usize = 3;
/// Minimum indent of a line that is code.
const CODE_COLUMN: usize = 4;

/// Looks for an invented result in a text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultScanner {
    fence: Option<Fence>,
    found: bool,
    line: Line,
    /// Length of the text that is certainly no part of an invented result, in bytes of all pieces.
    settled: usize,
    tag: Option<Tag>,
    /// Number of bytes of text taken.
    taken: usize,
}

/// A tag that may be the one: where its line begins, and how many characters of its name were read.
#[derive(Clone, Copy, Debug)]
struct Tag {
    from: usize,
    matched: usize,
}

/// A block of code that is open.
#[derive(Clone, Copy, Debug)]
struct Fence {
    before: Before,
    length: usize,
    mark: char,
}

/// The read part of a line.
#[derive(Clone, Copy, Debug)]
struct Line {
    before: Before,
    /// Its start, in bytes of all pieces.
    from: usize,
    part: Part,
}

/// The prefix of a line, before its text.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    columns: usize,
    has_marks: bool,
    is_quote: bool,
}

/// The part of a line that is read now.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// White space and marks before its text.
    Before,
    /// Digits, which are a mark if a full stop or a parenthesis follows.
    Digits,
    /// A run of backticks or tildes, and whether there is more than white space behind it, and the mark once more.
    Run {
        length: usize,
        mark: char,
        more: bool,
        over: bool,
        spoilt: bool,
    },
    /// Its text.
    Text,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            before: Before::default(),
            from: 0,
            part: Part::Before,
        }
    }
}

impl ResultScanner {
    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            if self.found {
                return;
            }
            self.tag(c);
            self.line(c);
            self.taken += c.len_utf8();
            self.settle();
        }
    }

    /// Begins a line with the text that follows, as after a call.
    pub(super) fn begin_line(&mut self) {
        self.end_line();
        self.tag = None;
        self.line = Line {
            from: self.taken,
            ..Line::default()
        };
    }

    /// True if the taken text holds an invented result, provided that nothing follows.
    pub(super) fn has_found(&self) -> bool {
        self.found || self.tag.is_some_and(|tag| tag.matched == NAME.len())
    }

    /// Returns the length of the text that is no part of an invented result, whatever follows: bytes of all pieces.
    pub(super) const fn settled(&self) -> usize {
        self.settled
    }

    /// Advances a tag, if one has begun.
    fn tag(&mut self, c: char) {
        let Some(tag) = &mut self.tag else {
            return;
        };
        let skipped = c.is_whitespace() || is_invisible(c);
        match NAME.get(tag.matched) {
            None if skipped || matches!(c, '>' | '/') => self.found = true,
            Some(_) if skipped => {}
            Some(byte) if c.eq_ignore_ascii_case(&char::from(*byte)) => tag.matched += 1,
            None | Some(_) => self.tag = None,
        }
    }

    /// Advances the line.
    fn line(&mut self, c: char) {
        if is_line_break(c) {
            self.end_line();
            self.line = Line {
                from: self.taken + c.len_utf8(),
                ..Line::default()
            };
            return;
        }
        let Line { before, from, part } = &mut self.line;
        match part {
            Part::Text => {}
            Part::Run {
                length,
                mark,
                more,
                over,
                spoilt,
            } => {
                if c == *mark && !*over {
                    *length += 1;
                } else {
                    *over = true;
                    *spoilt |= c == *mark;
                    *more |= !c.is_whitespace();
                }
            }
            Part::Digits if c.is_ascii_digit() => {}
            Part::Digits if matches!(c, '.' | ')') => {
                before.has_marks = true;
                *part = Part::Before;
            }
            Part::Before | Part::Digits if c == '`' || c == '~' => {
                *part = Part::Run {
                    length: 1,
                    mark: c,
                    more: false,
                    over: false,
                    spoilt: false,
                };
            }
            Part::Digits => *part = Part::Text,
            Part::Before if c == '\t' && !before.has_marks => {
                before.columns += CODE_COLUMN - before.columns % CODE_COLUMN;
            }
            Part::Before if c.is_whitespace() => {
                before.columns += usize::from(!before.has_marks);
            }
            Part::Before if is_invisible(c) => before.has_marks = true,
            Part::Before if matches!(c, '>' | '-' | '*' | '+' | '#' | '|' | '_' | '•') => {
                before.is_quote |= c == '>';
                before.has_marks = true;
            }
            Part::Before if c.is_ascii_digit() => *part = Part::Digits,
            Part::Before => {
                let is_code = before.columns >= CODE_COLUMN;
                *part = Part::Text;
                if c == '<' && !is_code && !self.fence.is_some_and(|fence| fence.covers(*before)) {
                    self.tag = Some(Tag {
                        from: *from,
                        matched: 0,
                    });
                }
            }
        }
    }

    /// Opens or closes a fence, where the line that ends is one.
    fn end_line(&mut self) {
        let Line { before, part, .. } = self.line;
        let is_blank = matches!(part, Part::Before) && !before.has_marks;
        if !is_blank && self.fence.is_some_and(|fence| !fence.covers(before)) {
            self.fence = None;
        }
        let Part::Run {
            length,
            mark,
            more,
            spoilt,
            ..
        } = part
        else {
            return;
        };
        if before.columns >= CODE_COLUMN {
            return;
        }
        match self.fence {
            Some(open) if mark == open.mark && length >= open.length && !more => {
                // Of a block that began a line by itself, one in a quote is a line of its code.
                if open.before.has_marks || !before.has_marks {
                    self.fence = None;
                }
            }
            // With another backtick on the line it is code within a sentence.
            None if length >= FENCE && !(mark == '`' && spoilt) => {
                self.fence = Some(Fence {
                    before,
                    length,
                    mark,
                });
            }
            Some(_) | None => {}
        }
    }

    /// Settles everything if nothing has begun; otherwise everything before that line.
    fn settle(&mut self) {
        if self.found {
            return;
        }
        self.settled = match (self.tag, self.line.part) {
            (Some(tag), _) => tag.from,
            (None, Part::Before | Part::Digits) => self.line.from,
            (None, Part::Run { .. } | Part::Text) => self.taken,
        };
    }
}

impl Fence {
    /// True if a line with this prefix is still inside: a block in a quote ends with the quote, one in a list with the first
    /// line without indent.
    const fn covers(self, before: Before) -> bool {
        if self.before.is_quote {
            before.is_quote
        } else {
            !self.before.has_marks || before.has_marks || before.columns > 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one piece, and character by character with nothing released that may be a part of it.
    #[track_caller]
    fn check(text: &str, expect: bool) {
        let mut whole = ResultScanner::default();
        whole.push(text);
        assert_eq!(whole.has_found(), expect, "{text:?}");
        let mut parts = ResultScanner::default();
        for (at, c) in text.char_indices() {
            parts.push(c.encode_utf8(&mut [0; 4]));
            let end = at + c.len_utf8();
            assert!(parts.settled() <= end, "{text:?} at {at}");
            let tag = text.to_ascii_lowercase().find("<tool_response");
            if let Some(tag) = tag.filter(|_| expect) {
                assert!(parts.settled() <= tag, "{text:?} at {at}");
            }
        }
        assert_eq!(parts.has_found(), expect, "{text:?} in parts");
        assert_eq!(parts.settled(), whole.settled(), "{text:?}");
    }

    #[test]
    fn a_result_is_found_whatever_a_person_does_not_see_or_reads_as_layout() {
        for before in [
            "",
            "  ",
            "\u{200b}",
            "\u{feff}",
            "- ",
            "* ",
            "+ ",
            "1. ",
            "12) ",
            "> ",
            ">",
            "> > - ",
            "- 1. ",
            "**",
            "## ",
            "| ",
            "• ",
            " \u{2060} > ",
            "a\n",
            "a\r\n\r\n",
            "a\u{2028}",
            "\u{200b}    ",
        ] {
            for tag in [
                "<tool_response>",
                "<TOOL_RESPONSE>",
                "<Tool_Response>",
                "<tool_response >",
                "<tool_response\n>",
                "< tool_response>",
                "<\ntool_response\r\n>",
                "<tool\u{200b}_response>",
                "<tool_response name=\"f\">",
                "<tool_response/>",
                "<tool_response",
            ] {
                let text = format!("{before}{tag}");
                let mut scanner = ResultScanner::default();
                scanner.push(&text);
                assert!(scanner.has_found(), "{text:?}");
                check(&text, true);
                check(&format!("Well:\n{text}"), true);
            }
        }
    }

    #[test]
    fn talk_and_code_are_no_result() {
        for text in [
            "The tag <tool_response> holds a result.",
            "`<tool_response>` holds it",
            "- `<tool_response>`",
            "    <tool_response>",
            "\t<tool_response>",
            "```\n<tool_response>\n```",
            "~~~ xml\n- <tool_response>\n~~~",
            "> ```\n> <tool_response>\n> ```",
            "- ```\n  <tool_response>\n  ```",
            "````\n```\n<tool_response>\n````",
            "```\n> ```\n<tool_response>\n```",
            "<tool_responses>",
            "<tool_call>",
            "<tool\n<tool",
            "</tool_response>",
            "< b and tool_response>",
            "1 <tool_response>",
            "",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn code_ends_where_its_block_does() {
        for text in [
            "```\n```\n<tool_response>",
            "> ```\n<tool_response>",
            "- ```\n<tool_response>",
            "- ```\n  a\n  ```\n  <tool_response>",
            "```a``` b\n<tool_response>",
            "``\n<tool_response>",
            "~~~\n```\n~~~\n<tool_response>",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_is_released_before_the_end_is_no_part_of_a_tag() {
        let settled = |text: &str| {
            let mut scanner = ResultScanner::default();
            scanner.push(text);
            scanner.settled()
        };
        assert_eq!(settled("abc"), 3);
        assert_eq!(settled("abc\n"), 4);
        assert_eq!(settled("abc\n  > "), 4);
        assert_eq!(settled("abc\n<tool"), 4);
        assert_eq!(settled("abc\n<tool_\n\n"), 4);
        assert_eq!(settled("abc\n<toll"), 9);
        assert_eq!(settled("abc\n<tool_response>{}\nmore\n"), 4);
    }
}
