//! A text without its escapes, with the origin of each byte. Does not know secrets.

use std::borrow::Cow;
use std::ops::Range;

/// A text with its escapes undone, which knows where in the text each byte came from.
///
/// It keeps its offset at every [`MARK_EVERY`] bytes and continues from there. A text of only escapes therefore costs little
/// more memory than one without any.
#[derive(Debug)]
pub(super) struct View<'t> {
    source: &'t [u8],
    bytes: Cow<'t, [u8]>,
    /// Encoding; `None` for the text as it is.
    escaping: Option<Escaping>,
    /// In order.
    marks: Vec<Mark>,
}

/// A place behind an escape, in the view and in the text.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: usize,
    from: usize,
}

/// Bytes of the text between two marks, at least.
const MARK_EVERY: usize = 64;

/// Maximum depth of escapings to look into, in any order of the two: JSON within JSON within JSON, and an address in it.
pub(super) const DEPTH: usize = 3;

/// A view of a text behind up to [`DEPTH`] escapings.
#[derive(Debug)]
pub(super) struct UnescapedView<'u> {
    /// The view that this is one of; none of the text itself.
    outer: Option<&'u Self>,
    pub(super) view: View<'u>,
}

impl UnescapedView<'_> {
    /// Visits the text as it is and every view of it. The first two, the text and its JSON unescaped, come with their own view behind
    /// JSON's escapes: what is found in them may end within an escape.
    pub(super) fn each(text: &[u8], visit: &mut dyn FnMut(&UnescapedView<'_>, Option<&View<'_>>)) {
        let plain = UnescapedView {
            outer: None,
            view: View::plain(text),
        };
        plain.descend((DEPTH, 2), visit);
    }

    /// Visits this and what is below it: so many escapings deep, and with a view behind JSON's escapes so deep.
    fn descend(
        &self,
        (left, with_inner): (usize, usize),
        visit: &mut dyn FnMut(&UnescapedView<'_>, Option<&View<'_>>),
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
                UnescapedView { outer, view }.descend((left, with_inner), visit);
            }
        }
    }

    /// Returns the place in the text of these bytes of the view.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let at = self.view.origin(range);
        self.outer.map_or(at.clone(), |outer| outer.origin(&at))
    }
}

/// An encoding that replaces bytes of a text by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escaping {
    /// RFC 8259 §7: `\n`, `\/`, `\u00e9`. What is no escape stays as it is.
    Json,
    /// RFC 3986 §2.1: `%2F`.
    Percent,
    /// A line break and the blanks behind it, in place of nothing: how base64 is broken into lines.
    Lines,
}

/// Some bytes that stay as they are, and the escape that follows them; without one where the text ends.
struct Step<'t> {
    plain: &'t [u8],
    escape: Option<(usize, EscapeValue)>,
}

/// The bytes of an escape, at most four.
#[derive(Clone, Copy, Default)]
struct EscapeValue {
    bytes: [u8; 4],
    len: usize,
}

impl EscapeValue {
    fn of_char(code: u32) -> Self {
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut bytes = [0; 4];
        let len = c.encode_utf8(&mut bytes).len();
        Self { bytes, len }
    }

    fn of_byte(byte: u8) -> Self {
        let bytes = [byte, 0, 0, 0];
        Self { bytes, len: 1 }
    }
}

impl Escaping {
    const fn may_begin(self, byte: u8) -> bool {
        match self {
            Self::Json => byte == b'\\',
            Self::Percent => byte == b'%',
            Self::Lines => matches!(byte, b'\r' | b'\n'),
        }
    }

    /// The escape that `text` begins with: its length, and its bytes.
    fn escape(self, text: &[u8]) -> Option<(usize, EscapeValue)> {
        match self {
            Self::Json => json_escape(text).map(|(len, code)| (len, EscapeValue::of_char(code))),
            Self::Percent => hex(text.get(1..3)?)
                .and_then(|code| u8::try_from(code).ok())
                .map(|byte| (3, EscapeValue::of_byte(byte))),
            Self::Lines => {
                let gap = |byte: &&u8| matches!(byte, b'\r' | b'\n' | b' ' | b'\t');
                Some((text.iter().take_while(gap).count(), EscapeValue::default()))
            }
        }
    }

    /// The text up to its first escape, and that escape.
    fn step(self, text: &[u8]) -> Step<'_> {
        let mut at = 0;
        while let Some(next) = text.get(at..) {
            let Some(plain) = next.iter().position(|byte| self.may_begin(*byte)) else {
                break;
            };
            let rest = next.get(plain..).unwrap_or_default();
            if let Some(escape) = self.escape(rest) {
                let plain = text.get(..at + plain).unwrap_or_default();
                return Step {
                    plain,
                    escape: Some(escape),
                };
            }
            at += plain + 1;
        }
        Step {
            plain: text,
            escape: None,
        }
    }
}

impl<'t> View<'t> {
    /// The text as it is.
    pub(super) const fn plain(text: &'t [u8]) -> Self {
        Self {
            source: text,
            bytes: Cow::Borrowed(text),
            escaping: None,
            marks: Vec::new(),
        }
    }

    /// The text with every escape undone; none if there is no escape.
    pub(super) fn unescaped(source: &'t [u8], escaping: Escaping) -> Option<Self> {
        let mut step = escaping.step(source);
        step.escape?;
        let mut bytes = Vec::with_capacity(source.len());
        let mut marks = vec![Mark::default()];
        let mut from = 0;
        loop {
            bytes.extend_from_slice(step.plain);
            from += step.plain.len();
            let Some((len, undoing)) = step.escape else {
                break;
            };
            bytes.extend(undoing.bytes.into_iter().take(undoing.len));
            from += len;
            if marks
                .last()
                .is_none_or(|last| from - last.from >= MARK_EVERY)
            {
                let at = bytes.len();
                marks.push(Mark { at, from });
            }
            step = escaping.step(source.get(from..).unwrap_or_default());
        }
        bytes.shrink_to_fit();
        Some(Self {
            source,
            bytes: Cow::Owned(bytes),
            escaping: Some(escaping),
            marks,
        })
    }

    /// True if this is the text as it is.
    pub(super) const fn is_plain(&self) -> bool {
        self.escaping.is_none()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the place in the text where these bytes of the view came from, whole escapes included.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.raw(range.start, false)..self.raw(range.end, true)
    }

    /// A range of the text that cuts no escape: one that begins or ends within an escape takes the whole of it.
    pub(super) fn widened(&self, range: Range<usize>) -> Range<usize> {
        let around = |at: usize| {
            let near = self.mark_before(|mark| mark.from < at);
            let mut escapes = self.steps(near).filter_map(|(begin, step)| {
                let (len, _) = step.escape?;
                let from = begin.from + step.plain.len();
                Some(from..from + len)
            });
            let escape = escapes.find(|escape| at < escape.end)?;
            (escape.start < at).then_some(escape)
        };
        let start = around(range.start).map_or(range.start, |escape| escape.start);
        let end = around(range.end).map_or(range.end, |escape| escape.end);
        start..end
    }

    /// The offset in the text of a byte of the view; as an end, the end of the byte before it.
    fn raw(&self, at: usize, is_end: bool) -> usize {
        let near = self.mark_before(|mark| if is_end { mark.at < at } else { mark.at <= at });
        for (begin, step) in self.steps(near) {
            let Some((len, undoing)) = step.escape else {
                return begin.from + (at - begin.at);
            };
            let escape = begin.at + step.plain.len();
            let from = begin.from + step.plain.len();
            let is_before = if is_end { at <= escape } else { at < escape };
            if is_before {
                return begin.from + (at - begin.at);
            }
            if at < escape + undoing.len {
                return if is_end { from + len } else { from };
            }
        }
        at
    }

    /// The last mark of those, which come first.
    fn mark_before(&self, is_before: impl Fn(&Mark) -> bool) -> Mark {
        let behind = self.marks.partition_point(is_before);
        let last = behind.checked_sub(1).and_then(|n| self.marks.get(n));
        last.copied().unwrap_or_default()
    }

    /// The steps from there on, each with where it begins. None in a text as it is.
    fn steps(&self, from: Mark) -> impl Iterator<Item = (Mark, Step<'t>)> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let begin = next?;
            let step = self.escaping?.step(self.source.get(begin.from..)?);
            next = step.escape.map(|(len, undoing)| Mark {
                at: begin.at + step.plain.len() + undoing.len,
                from: begin.from + step.plain.len() + len,
            });
            Some((begin, step))
        })
    }
}

/// The length of the escape that `text` begins with, and its character.
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

fn hex(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let all = text.bytes().all(|b| b.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unescapes `text`, finds `word` in it, and returns the original range of the text.
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
            let view = View::unescaped(text.as_bytes(), Escaping::Lines).unwrap();
            let bytes = String::from_utf8_lossy(view.bytes()).into_owned();
            let at = bytes.find(word).unwrap();
            let range = view.origin(&(at..at + word.len()));
            assert_eq!(&text[range], expect, "{text:?}");
        };
        check("ab\ncd\r\n  ef", "bcde", "b\ncd\r\n  e");
        check("ab\ncd\r\n  ef", "cd", "cd");
        check("\nab\n\n", "ab", "ab");
        assert!(View::unescaped(b"a b", Escaping::Lines).is_none());
    }

    #[test]
    fn a_match_far_behind_in_a_text_of_escapes_has_the_right_range() {
        for (escaping, escape, undone) in [
            (Escaping::Json, r"\u00e9", "é"),
            (Escaping::Json, r"\n", "\n"),
            (Escaping::Percent, "%2F", "/"),
            (Escaping::Lines, "\r\n", ""),
        ] {
            let text = format!("{}key{}", escape.repeat(1_000), escape.repeat(1_000));
            let view = View::unescaped(text.as_bytes(), escaping).unwrap();
            let at = 1_000 * undone.len();
            assert_eq!(&view.bytes()[at..at + 3], b"key");
            let from = 1_000 * escape.len();
            let (origin, key) = (view.origin(&(at..at + 3)), from..from + 3);
            assert_eq!(origin, key, "{escape}");
            assert_eq!(view.widened(key.clone()), key, "{escape}");
            if escaping != Escaping::Lines {
                let within = view.widened(from - 1..from + 4);
                assert_eq!(
                    within,
                    from - escape.len()..from + 3 + escape.len(),
                    "{escape}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_is_nothing_but_escapes_takes_no_more_memory_than_half_of_it_again() {
        for escape in [r"\n", r"\u0041", r"\ud83d\ude00"] {
            let text = escape.repeat(10_000);
            let view = View::unescaped(text.as_bytes(), Escaping::Json).unwrap();
            let held = view.bytes().len() + view.marks.len() * size_of::<Mark>();
            assert!(
                held * 2 <= text.len() * 3,
                "{escape}: {held} for {}",
                text.len()
            );
        }
    }

    #[test]
    fn a_text_without_escapes_has_no_other_view() {
        assert!(View::unescaped(b"abc", Escaping::Json).is_none());
        assert!(View::unescaped(b"100%", Escaping::Percent).is_none());
    }
}
