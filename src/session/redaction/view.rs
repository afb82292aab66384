use std::borrow::Cow;
use std::ops::Range;

/// A text with its escapes undone, which knows where in the text each byte came from.
#[derive(Debug)]
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// For each escape: where its bytes begin here, and where the escape begins and ends in the text. In order.
    escapes: Vec<Escape>,
}

#[derive(Clone, Copy, Debug)]
struct Escape {
    at: usize,
    from: usize,
    len: usize,
    to: usize,
}

/// How many escapings deep a text is looked into, in any order of the two: JSON within JSON within JSON, and an address in it.
pub(super) const DEPTH: usize = 3;

/// A view of a text behind up to [`DEPTH`] escapings.
#[derive(Debug)]
pub(super) struct Undone<'u> {
    /// The view that this is one of; none of the text itself.
    outer: Option<&'u Self>,
    pub(super) view: View<'u>,
}

impl Undone<'_> {
    /// Visits the text as it is and every view of it. The first two, the text and what its JSON says, come with their own view behind
    /// JSON's escapes: what is found in them may end within an escape.
    pub(super) fn each(text: &[u8], visit: &mut dyn FnMut(&Undone<'_>, Option<&View<'_>>)) {
        let plain = Undone {
            outer: None,
            view: View::plain(text),
        };
        plain.descend((DEPTH, 2), visit);
    }

    /// Visits this and what is below it: so many escapings deep, and with a view behind JSON's escapes so deep.
    fn descend(
        &self,
        (left, with_inner): (usize, usize),
        visit: &mut dyn FnMut(&Undone<'_>, Option<&View<'_>>),
    ) {
        let Some(left) = left.checked_sub(1) else {
            visit(self, None);
            return;
        };
        let json = View::unescaped(self.view.bytes(), Escaping::Json);
        visit(self, json.as_ref().filter(|_| with_inner > 0));
        let percent = View::unescaped(self.view.bytes(), Escaping::Percent);
        let below = [(json, with_inner.saturating_sub(1)), (percent, 0)];
        for (view, with_inner) in below {
            let outer = Some(self);
            if let Some(view) = view {
                Undone { outer, view }.descend((left, with_inner), visit);
            }
        }
    }

    /// Where in the text these bytes of the view came from.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let at = self.view.origin(range);
        self.outer.map_or(at.clone(), |outer| outer.origin(&at))
    }
}

/// How a text may be escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escaping {
    /// RFC 8259 §7: `\n`, `\/`, `\u00e9`. What is no escape stays as it is.
    Json,
    /// RFC 3986 §2.1: `%2F`.
    Percent,
}

impl<'t> View<'t> {
    /// The text as it is.
    pub(super) const fn plain(text: &'t [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(text),
            escapes: Vec::new(),
        }
    }

    /// The text with every escape undone; none where there is no escape.
    pub(super) fn unescaped(text: &[u8], escaping: Escaping) -> Option<View<'static>> {
        let lead = match escaping {
            Escaping::Json => b'\\',
            Escaping::Percent => b'%',
        };
        if !text.contains(&lead) {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut escapes = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = rest.iter().position(|byte| *byte == lead);
            let plain = plain.unwrap_or(rest.len());
            out.extend_from_slice(rest.get(..plain).unwrap_or_default());
            at += plain;
            let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let undone = match escaping {
                Escaping::Json => json_escape(rest),
                Escaping::Percent => percent_escape(rest),
            };
            if let Some((len, c)) = undone {
                let begin = out.len();
                if let (Escaping::Percent, Ok(byte)) = (escaping, u8::try_from(c)) {
                    out.push(byte);
                } else {
                    let c = char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER);
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                escapes.push(Escape {
                    at: begin,
                    from: at,
                    len: out.len() - begin,
                    to: at + len,
                });
                at += len;
            } else {
                out.push(lead);
                at += 1;
            }
        }
        (!escapes.is_empty()).then_some(View {
            bytes: Cow::Owned(out),
            escapes,
        })
    }

    /// The text without its line breaks and the blanks behind them, as base64 is broken into lines; none where there is no break.
    pub(super) fn unbroken(text: &[u8]) -> Option<View<'static>> {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        if !text.iter().any(is_break) {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut escapes = Vec::new();
        let mut from = 0;
        while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
            let plain = rest.iter().position(is_break).unwrap_or(rest.len());
            out.extend_from_slice(rest.get(..plain).unwrap_or_default());
            let gap = rest.iter().skip(plain);
            let gap = gap.take_while(|byte| is_break(byte) || matches!(byte, b' ' | b'\t'));
            let (begin, to) = (from + plain, from + plain + gap.count());
            escapes.push(Escape {
                at: out.len(),
                from: begin,
                len: 0,
                to,
            });
            from = to;
        }
        Some(View {
            bytes: Cow::Owned(out),
            escapes,
        })
    }

    /// Whether this is the text as it is.
    pub(super) const fn is_plain(&self) -> bool {
        self.escapes.is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text these bytes of the view came from, whole escapes included.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.raw(range.start, false)..self.raw(range.end, true)
    }

    /// A range of the text that cuts no escape: one that begins or ends within an escape takes the whole of it.
    pub(super) fn widened(&self, range: Range<usize>) -> Range<usize> {
        let around = |at: usize| {
            let behind = self.escapes.partition_point(|e| e.from < at);
            let escape = behind.checked_sub(1).and_then(|n| self.escapes.get(n))?;
            (at < escape.to).then_some(*escape)
        };
        let start = around(range.start).map_or(range.start, |escape| escape.from);
        let end = around(range.end).map_or(range.end, |escape| escape.to);
        start..end
    }

    /// Where in the text a byte of the view begins, or, as an end, where what stands before it ends.
    fn raw(&self, at: usize, is_end: bool) -> usize {
        let behind = self
            .escapes
            .partition_point(|e| if is_end { e.at < at } else { e.at <= at });
        let Some(escape) = behind.checked_sub(1).and_then(|n| self.escapes.get(n)) else {
            return at;
        };
        let end = escape.at + escape.len;
        if at >= end {
            escape.to + (at - end)
        } else if is_end {
            escape.to
        } else {
            escape.from
        }
    }
}

/// The length of the escape that `text` begins with, and the character that it stands for.
fn json_escape(text: &[u8]) -> Option<(usize, u32)> {
    let c = match text.get(1)? {
        b'"' => b'"',
        b'\\' => b'\\',
        b'/' => b'/',
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let high = hex(text.get(2..6)?)?;
            if !(0xd800..0xdc00).contains(&high) {
                return Some((6, high));
            }
            let low = text.get(6..12).filter(|rest| rest.starts_with(b"\\u"));
            let low = low.and_then(|rest| hex(rest.get(2..)?));
            return match low {
                Some(low @ 0xdc00..0xe000) => {
                    Some((12, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
                }
                _ => Some((6, high)),
            };
        }
        _ => return None,
    };
    Some((2, c.into()))
}

fn percent_escape(text: &[u8]) -> Option<(usize, u32)> {
    Some((3, hex(text.get(1..3)?)?))
}

fn hex(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let all = text.bytes().all(|b| b.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unescapes `text`, finds `word` in it, and says what of the text that is.
    fn check(escaping: Escaping, text: &str, word: &str, expect: &str) {
        let view = View::unescaped(text.as_bytes(), escaping).unwrap();
        let bytes = view.bytes();
        let at = bytes.windows(word.len()).position(|w| w == word.as_bytes());
        let at = at.unwrap_or_else(|| panic!("{word} is not in {bytes:?}"));
        let range = view.origin(&(at..at + word.len()));
        assert_eq!(&text[range], expect, "{text}");
    }

    #[test]
    fn what_is_found_behind_an_escape_is_the_whole_escape() {
        check(Escaping::Json, r"a\/b\u0063d", "a/bcd", r"a\/b\u0063d");
        check(Escaping::Json, r"xx\u0063\u0064yy", "cd", r"\u0063\u0064");
        check(Escaping::Json, r"\\\nabc\\", "abc", "abc");
        check(Escaping::Json, r"x\ud83d\ude00y", "😀y", r"\ud83d\ude00y");
        check(Escaping::Json, r"a\qb\tc", r"a\qb", r"a\qb");

        check(Escaping::Percent, "a%2Fb%zz", "a/b%", "a%2Fb%");
    }

    #[test]
    fn what_is_found_over_line_breaks_begins_and_ends_with_its_own_bytes() {
        let check = |text: &str, word: &str, expect: &str| {
            let view = View::unbroken(text.as_bytes()).unwrap();
            let bytes = String::from_utf8_lossy(view.bytes()).into_owned();
            let at = bytes.find(word).unwrap();
            let range = view.origin(&(at..at + word.len()));
            assert_eq!(&text[range], expect, "{text:?}");
        };
        check("ab\ncd\r\n  ef", "bcde", "b\ncd\r\n  e");
        check("ab\ncd\r\n  ef", "cd", "cd");
        check("\nab\n\n", "ab", "ab");
        assert!(View::unbroken(b"a b").is_none());
    }

    #[test]
    fn a_text_without_escapes_has_no_other_view() {
        assert!(View::unescaped(b"abc", Escaping::Json).is_none());
        assert!(View::unescaped(b"100%", Escaping::Percent).is_none());
    }
}
