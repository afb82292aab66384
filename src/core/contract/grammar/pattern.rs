//! Regular expressions of `pattern`, as far as a grammar can express them. Does not match texts.

use super::expr::Expr;

/// Offered count of an unbounded repetition.
const ENDLESS: u32 = 32;
/// The largest count of a repetition.
const MAX_COUNT: u32 = 2048;
/// The most bytes of a text: all of them may still have to come when a message has to end.
const MAX_BYTES: u64 = 2048;
/// Maximum nesting of groups.
const MAX_DEPTH: usize = 16;
const LAST: u32 = 0x0010_FFFF;

/// The reason that an expression is unsupported.
type Refusal = &'static str;

/// A part of an expression, with the fewest and the most characters of its texts.
struct Part {
    expr: Expr,
    least: u32,
    most: u32,
}

/// The JSON strings whose text an expression matches as a whole, with the fewest and the most characters of the text.
///
/// An expression without anchors matches more texts; these are enough.
pub(super) fn pattern(text: &str) -> Result<(Expr, u32, u32), Refusal> {
    let mut reader = Reader {
        depth: 0,
        signs: text.chars().rev().collect(),
    };
    let Part { expr, least, most } = reader.alternatives()?;
    if !reader.signs.is_empty() {
        return Err("a bracket is closed that was not opened");
    }
    let quote = || Expr::literal("\"");
    let whole = Expr::seq(vec![quote(), expr, quote()]).lexeme();
    if whole.longest() > MAX_BYTES {
        return Err("its texts would be too long");
    }
    Ok((whole, least, most))
}

struct Reader {
    depth: usize,
    /// The rest, the next sign last.
    signs: Vec<char>,
}

/// Characters as ranges, sorted and apart from one another.
#[derive(Clone, Debug, Default)]
struct Set(Vec<(u32, u32)>);

impl Reader {
    fn eat(&mut self, sign: char) -> bool {
        self.signs.pop_if(|next| *next == sign).is_some()
    }

    fn alternatives(&mut self) -> Result<Part, Refusal> {
        let mut parts = vec![self.sequence()?];
        while self.eat('|') {
            parts.push(self.sequence()?);
        }
        let least = parts.iter().map(|part| part.least).min().unwrap_or(0);
        let most = parts.iter().map(|part| part.most).max().unwrap_or(0);
        let expr = Expr::alt(parts.into_iter().map(|part| part.expr).collect());
        Ok(Part { expr, least, most })
    }

    fn sequence(&mut self) -> Result<Part, Refusal> {
        if self.depth == 0 {
            self.eat('^');
        }
        let (mut exprs, mut least, mut most) = (Vec::new(), 0_u32, 0_u32);
        loop {
            match self.signs.last() {
                None | Some('|' | ')') => break,
                Some('$') => {
                    self.signs.pop();
                    if self.depth > 0 || !matches!(self.signs.last(), None | Some('|')) {
                        return Err("it has an anchor inside");
                    }
                }
                Some(_) => {
                    let atom = self.atom()?;
                    let part = self.repeated(atom)?;
                    least = least.saturating_add(part.least);
                    most = most.saturating_add(part.most);
                    exprs.push(part.expr);
                }
            }
        }
        let expr = Expr::seq(exprs);
        Ok(Part { expr, least, most })
    }

    fn atom(&mut self) -> Result<Part, Refusal> {
        match self.signs.pop() {
            Some('(') => self.group(),
            Some('[') => self.class()?.part(),
            Some('.') => Set::of(&[(10, 10), (13, 13), (0x2028, 0x2029)])
                .complement()
                .part(),
            Some('\\') => self.escape()?.0.part(),
            Some('^' | '$' | '*' | '+' | '?' | '{' | '}' | ']') | None => {
                Err("a sign is where it means nothing")
            }
            Some(sign) => Set::one(sign).part(),
        }
    }

    fn group(&mut self) -> Result<Part, Refusal> {
        if self.eat('?') && !self.eat(':') {
            return Err("a group that looks around or has a name");
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("its groups nest too deeply");
        }
        let inner = self.alternatives()?;
        self.depth -= 1;
        if !self.eat(')') {
            return Err("a bracket is not closed");
        }
        if inner.most == 0 {
            return Err("a group matches nothing");
        }
        Ok(inner)
    }

    fn repeated(&mut self, part: Part) -> Result<Part, Refusal> {
        let (low, high) = match self.signs.last() {
            Some('*') => (0, ENDLESS),
            Some('+') => (1, ENDLESS),
            Some('?') => (0, 1),
            Some('{') => return self.counted(part),
            _ => return Ok(part),
        };
        self.signs.pop();
        self.times(part, low, high)
    }

    fn counted(&mut self, part: Part) -> Result<Part, Refusal> {
        self.signs.pop();
        let mut counts = String::new();
        while let Some(sign) = self.signs.pop_if(|s| s.is_ascii_digit() || *s == ',') {
            counts.push(sign);
        }
        if !self.eat('}') {
            return Err("a count is not closed");
        }
        let number = |text: &str| {
            let number = text.parse::<u32>().ok().filter(|count| *count <= MAX_COUNT);
            number.ok_or("a count is no number up to 2048")
        };
        let (low, high) = match counts.split_once(',') {
            None => (number(&counts)?, number(&counts)?),
            Some((low, "")) => (number(low)?, number(low)?.max(ENDLESS)),
            Some((low, high)) => (number(low)?, number(high)?),
        };
        self.times(part, low, high)
    }

    fn times(&mut self, part: Part, low: u32, high: u32) -> Result<Part, Refusal> {
        // A lazy repetition has the same texts.
        self.eat('?');
        if matches!(self.signs.last(), Some('*' | '+' | '?' | '{')) {
            return Err("a repetition of a repetition without brackets");
        }
        if low > high || high == 0 {
            return Err("a count that nothing fits");
        }
        Ok(Part {
            least: part.least.saturating_mul(low),
            most: part.most.saturating_mul(high),
            expr: part.expr.repeat(low, high),
        })
    }

    /// A class behind its opening bracket.
    fn class(&mut self) -> Result<Set, Refusal> {
        let negated = self.eat('^');
        let mut ranges = Vec::new();
        let mut ascii = false;
        loop {
            let (low, single) = match self.signs.pop() {
                None => return Err("a class is not closed"),
                Some(']') => break,
                Some('[') => return Err("a class within a class"),
                Some('\\') => {
                    let (set, single) = self.escape()?;
                    ascii |= single.is_none();
                    ranges.extend(set.0);
                    (single, single.is_some())
                }
                Some(sign) => {
                    ranges.push((u32::from(sign), u32::from(sign)));
                    (Some(sign), true)
                }
            };
            let next = self
                .signs
                .len()
                .checked_sub(2)
                .and_then(|at| self.signs.get(at));
            if self.signs.last() == Some(&'-') && next != Some(&']') {
                self.signs.pop();
                let high = match self.signs.pop() {
                    Some('\\') => self.escape()?.1,
                    other => other,
                };
                match (low, high) {
                    (Some(low), Some(high)) if single && low <= high => {
                        ranges.push((u32::from(low), u32::from(high)));
                    }
                    _ => return Err("a range without two ends in their order"),
                }
            }
        }
        let set = Set::of(&ranges);
        Ok(match (negated, ascii) {
            (false, _) => set,
            (true, false) => set.complement(),
            // Engines disagree on what a shorthand means beyond ASCII.
            (true, true) => set.complement().ascii(),
        })
    }

    /// Reads the escape after a backslash: its characters, and the single one if it is one.
    fn escape(&mut self) -> Result<(Set, Option<char>), Refusal> {
        let digits: &[(u32, u32)] = &[(48, 57)];
        let words: &[(u32, u32)] = &[(48, 57), (65, 90), (95, 95), (97, 122)];
        let spaces: &[(u32, u32)] = &[(9, 13), (32, 32)];
        let sign = self.signs.pop().ok_or("it ends with a backslash")?;
        let set = match sign {
            'd' => Set::of(digits),
            'w' => Set::of(words),
            's' => Set::of(spaces),
            'D' => Set::of(digits).complement().ascii(),
            'W' => Set::of(words).complement().ascii(),
            'S' => Set::of(spaces).complement().ascii(),
            _ => {
                let one = match sign {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    'f' => '\u{c}',
                    sign if sign.is_ascii_punctuation() || sign == ' ' => sign,
                    _ => return Err("a sign behind a backslash that is not known"),
                };
                return Ok((Set::one(one), Some(one)));
            }
        };
        Ok((set, None))
    }
}

impl Set {
    fn of(ranges: &[(u32, u32)]) -> Self {
        let mut ranges = ranges.to_vec();
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some((_, end)) if low <= end.saturating_add(1) => *end = high.max(*end),
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }

    fn one(sign: char) -> Self {
        Self(vec![(u32::from(sign), u32::from(sign))])
    }

    fn complement(&self) -> Self {
        let mut next = 0;
        let mut ranges = Vec::new();
        for (low, high) in &self.0 {
            if next < *low {
                ranges.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self(ranges)
    }

    /// Without what lies between two of the others.
    fn without(&self, other: &[(u32, u32)]) -> Self {
        let outside = Self::of(&[self.complement().0, other.to_vec()].concat());
        outside.complement()
    }

    fn ascii(&self) -> Self {
        self.without(&[(128, LAST)])
    }

    fn has(&self, sign: char) -> bool {
        let sign = u32::from(sign);
        self.0
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&sign))
    }

    /// One character of the set as a JSON string writes it.
    fn part(&self) -> Result<Part, Refusal> {
        // Controls, quote, backslash, and what is no character.
        let plain = self.without(&[(0, 31), (34, 34), (92, 92), (127, 127), (0xD800, 0xDFFF)]);
        let mut forms = Vec::new();
        match plain.0.as_slice() {
            [] => {}
            [(low, high)] if low == high => {
                let sign = char::from_u32(*low).unwrap_or(' ');
                forms.push(Expr::literal(sign.to_string()));
            }
            ranges => {
                let shown: String = ranges.iter().map(|range| shown(*range)).collect();
                forms.push(Expr::Class(shown.into()));
            }
        }
        let escaped = [
            ('"', "\\\""),
            ('\\', "\\\\"),
            ('\u{8}', "\\b"),
            ('\u{c}', "\\f"),
            ('\n', "\\n"),
            ('\r', "\\r"),
            ('\t', "\\t"),
        ];
        let escaped = escaped.into_iter().filter(|(sign, _)| self.has(*sign));
        forms.extend(escaped.map(|(_, text)| Expr::literal(text)));
        if forms.is_empty() {
            return Err("a class of which nothing can be written");
        }
        Ok(Part {
            expr: Expr::alt(forms),
            least: 1,
            most: 1,
        })
    }
}

/// A range as both languages read it between brackets.
fn shown((low, high): (u32, u32)) -> String {
    let sign = |code: u32| match char::from_u32(code) {
        Some(sign) if sign.is_ascii_alphanumeric() => sign.to_string(),
        _ if code < 0x100 => format!("\\x{code:02X}"),
        _ if code < 0x1_0000 => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    };
    if low == high {
        sign(low)
    } else {
        format!("{}-{}", sign(low), sign(high))
    }
}
