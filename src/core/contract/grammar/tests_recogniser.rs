//! Reads GBNF text as a llama-server does, and decides whether a text is a sentence of it; also makes sentences.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
enum Node {
    Alt(Vec<Node>),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Name(String),
    Repeat(Box<Node>, usize, usize),
    Seq(Vec<Node>),
    Text(Vec<char>),
}

/// A grammar that was read.
#[derive(Debug)]
pub(super) struct Recogniser(BTreeMap<String, Node>);

impl Recogniser {
    pub(super) fn read(text: &str) -> Self {
        let rule = |line: &str| {
            let (name, body) = line.split_once(" ::= ").expect("a rule on each line");
            let mut signs: Vec<char> = body.chars().rev().collect();
            let node = alternatives(&mut signs);
            assert!(signs.is_empty(), "left over in {line}: {signs:?}");
            (name.to_owned(), node)
        };
        Self(text.lines().map(rule).collect())
    }

    /// True if the whole text is a sentence.
    pub(super) fn accepts(&self, text: &str) -> bool {
        let signs: Vec<char> = text.chars().collect();
        let ends = self.ends(&self.0["root"], &signs, 0);
        ends.contains(&signs.len())
    }

    fn ends(&self, node: &Node, text: &[char], at: usize) -> BTreeSet<usize> {
        match node {
            Node::Text(literal) => {
                let fits = text[at..].starts_with(literal);
                fits.then_some(at + literal.len()).into_iter().collect()
            }
            Node::Class { negated, ranges } => {
                let inside = |sign: &char| ranges.iter().any(|(a, b)| (*a..=*b).contains(sign));
                let fits = text.get(at).is_some_and(|sign| inside(sign) != *negated);
                fits.then_some(at + 1).into_iter().collect()
            }
            Node::Name(name) => self.ends(&self.0[name], text, at),
            Node::Alt(parts) => {
                let ends = parts.iter().map(|part| self.ends(part, text, at));
                ends.flatten().collect()
            }
            Node::Seq(parts) => parts.iter().fold([at].into(), |ends, part| {
                let next = |at: &usize| self.ends(part, text, *at);
                ends.iter().flat_map(next).collect()
            }),
            Node::Repeat(inner, least, most) => {
                let mut current: BTreeSet<usize> = [at].into();
                let mut ends = BTreeSet::new();
                for n in 0..=*most {
                    if n >= *least {
                        ends.extend(current.iter().copied());
                    }
                    let next = |at: &usize| self.ends(inner, text, *at);
                    current = current.iter().flat_map(next).collect();
                    if current.is_empty() {
                        break;
                    }
                }
                ends
            }
        }
    }

    /// A sentence, made of `choices` as long as there are any and of last alternatives and least counts then; and how many of
    /// its bytes were written when the last choice was made.
    pub(super) fn sentence(&self, choices: &[u8]) -> (String, usize) {
        let mut writer = SentenceWriter {
            choices: choices.iter().copied(),
            chosen: None,
            out: String::new(),
        };
        self.write(&self.0["root"], &mut writer);
        let chosen = writer.chosen.unwrap_or(writer.out.len());
        (writer.out, chosen)
    }

    fn write(&self, node: &Node, writer: &mut SentenceWriter<impl Iterator<Item = u8>>) {
        match node {
            Node::Text(literal) => writer.out.extend(literal),
            Node::Class { negated, ranges } => {
                let choice = writer.choose();
                writer.out.push(pick(*negated, ranges, choice));
            }
            Node::Name(name) => self.write(&self.0[name], writer),
            Node::Alt(parts) => {
                let last = parts.len() - 1;
                let at = writer
                    .choose()
                    .map_or(last, |c| usize::from(c) % parts.len());
                self.write(&parts[at], writer);
            }
            Node::Seq(parts) => parts.iter().for_each(|part| self.write(part, writer)),
            Node::Repeat(inner, least, most) => {
                let more = writer.choose().map_or(0, |c| {
                    // Now and then as many as there may be.
                    let many = if c == 255 {
                        usize::MAX
                    } else {
                        usize::from(c % 7)
                    };
                    many.min(most - least)
                });
                for n in 0..least + more {
                    // Without choices nothing more is begun.
                    if n >= *least && writer.chosen.is_some() {
                        break;
                    }
                    self.write(inner, writer);
                }
            }
        }
    }
}

/// A writer of sentences.
struct SentenceWriter<C> {
    choices: C,
    chosen: Option<usize>,
    out: String,
}

impl<C: Iterator<Item = u8>> SentenceWriter<C> {
    fn choose(&mut self) -> Option<u8> {
        let choice = self.choices.next();
        if choice.is_none() {
            self.chosen.get_or_insert(self.out.len());
        }
        choice
    }
}

fn pick(negated: bool, ranges: &[(char, char)], choice: Option<u8>) -> char {
    let choice = u32::from(choice.unwrap_or(b'a'));
    if negated {
        // Signs of one to four bytes, those that are dear in JSON among them.
        let signs = [
            'a', ' ', '}', '<', ',', ']', '\'', '/', 'é', '\u{2028}', '\u{fffd}', '😀', '0', ':',
            '{',
        ];
        let inside = |sign: &char| !ranges.iter().any(|(a, b)| (*a..=*b).contains(sign));
        let open: Vec<char> = signs.into_iter().filter(inside).collect();
        return open[choice as usize % open.len()];
    }
    let size = |(a, b): &(char, char)| u32::from(*b) - u32::from(*a) + 1;
    let mut at = choice % ranges.iter().map(size).sum::<u32>();
    for range in ranges {
        if at < size(range) {
            return char::from_u32(u32::from(range.0) + at).expect("a range of signs");
        }
        at -= size(range);
    }
    unreachable!("within the sum")
}

fn alternatives(signs: &mut Vec<char>) -> Node {
    let mut parts = vec![sequence(signs)];
    while signs.last() == Some(&'|') {
        signs.pop();
        parts.push(sequence(signs));
    }
    if parts.len() == 1 {
        parts.remove(0)
    } else {
        Node::Alt(parts)
    }
}

fn sequence(signs: &mut Vec<char>) -> Node {
    let mut parts = Vec::new();
    loop {
        let node = match signs.last() {
            Some(' ') => {
                signs.pop();
                continue;
            }
            None | Some('|' | ')') => return Node::Seq(parts),
            Some('"') => text(signs),
            Some('[') => class(signs),
            Some('(') => {
                signs.pop();
                let inner = alternatives(signs);
                assert_eq!(signs.pop(), Some(')'));
                inner
            }
            Some(_) => {
                let mut name = String::new();
                while let Some(sign) = signs.pop_if(|s| s.is_ascii_alphanumeric() || *s == '-') {
                    name.push(sign);
                }
                assert!(!name.is_empty(), "no part: {signs:?}");
                Node::Name(name)
            }
        };
        let node = if signs.pop_if(|sign| *sign == '{').is_some() {
            let mut counts = String::new();
            while let Some(sign) = signs.pop_if(|sign| *sign != '}') {
                counts.push(sign);
            }
            assert_eq!(signs.pop(), Some('}'));
            let (least, most) = counts.split_once(',').expect("two counts");
            Node::Repeat(
                Box::new(node),
                least.parse().unwrap(),
                most.parse().unwrap(),
            )
        } else {
            node
        };
        parts.push(node);
    }
}

fn text(signs: &mut Vec<char>) -> Node {
    assert_eq!(signs.pop(), Some('"'));
    let mut literal = Vec::new();
    loop {
        match signs.pop().expect("an end of the text") {
            '"' => return Node::Text(literal),
            '\\' => literal.push(escaped(signs)),
            sign => literal.push(sign),
        }
    }
}

fn class(signs: &mut Vec<char>) -> Node {
    assert_eq!(signs.pop(), Some('['));
    let negated = signs.pop_if(|sign| *sign == '^').is_some();
    let mut ranges = Vec::new();
    let one = |signs: &mut Vec<char>| match signs.pop().expect("an end of the class") {
        '\\' => escaped(signs),
        sign => sign,
    };
    while signs.last() != Some(&']') {
        let from = one(signs);
        let to = if signs.pop_if(|sign| *sign == '-').is_some() {
            one(signs)
        } else {
            from
        };
        ranges.push((from, to));
    }
    signs.pop();
    Node::Class { negated, ranges }
}

fn escaped(signs: &mut Vec<char>) -> char {
    match signs.pop().expect("something escaped") {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        kind @ ('x' | 'u' | 'U') => {
            let digits = match kind {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let code: String = (0..digits).map(|_| signs.pop().unwrap()).collect();
            char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
        }
        sign @ ('"' | '\\' | '[' | ']' | '^' | '-') => sign,
        other => panic!("GBNF knows no \\{other}"),
    }
}
