use std::ops::Range;

use super::tree::Tree;

/// Rust source with everything blanked out that only looks like code. Line breaks stay, so lines keep their
/// numbers.
pub struct RustSource {
    /// Without comments and without the insides of literals.
    pub all: String,
    /// The same without the items under `#[cfg(test)]`.
    pub shipped: String,
}

/// A Rust file of `src/`.
pub struct SourceFile<'t> {
    pub path: &'t str,
    pub source: RustSource,
}

/// A path such as `std::fs::read`, with `use` groups multiplied out, and the line it stands on.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub segments: Vec<String>,
    pub line: usize,
    /// Whether it calls a macro.
    pub bang: bool,
}

/// The Rust files of `src/`. Of a file that is declared under `#[cfg(test)]`, nothing is shipped.
pub fn sources(tree: &Tree) -> Vec<SourceFile<'_>> {
    let parsed = tree
        .sources()
        .map(|(path, text)| (path, RustSource::new(text)));
    let mut files: Vec<_> = parsed
        .map(|(path, source)| SourceFile { path, source })
        .collect();
    let tests: Vec<String> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        let module = format!("{}/", module_folder(file.path));
        if tests.iter().any(|test| module.starts_with(test)) {
            file.source.shipped = blank(
                &file.source.all,
                std::slice::from_ref(&(0..file.source.all.len())),
            );
        }
    }
    files
}

/// The folder in which a file's own modules lie.
fn module_folder(path: &str) -> &str {
    let roots = ["/mod.rs", "/lib.rs", "/main.rs", ".rs"];
    roots
        .iter()
        .find_map(|root| path.strip_suffix(root))
        .unwrap_or(path)
}

/// The module folders, each with a `/` at its end, that a file declares under `#[cfg(test)]`.
fn test_modules(file: &SourceFile) -> Vec<String> {
    let folder = module_folder(file.path);
    let code = &file.source.all;
    let items = test_items(code).into_iter().map(|range| &code[range]);
    items
        .filter_map(|item| item.strip_suffix(';')?.rsplit_once("mod "))
        .map(|(_, name)| format!("{folder}/{}/", name.trim()))
        .collect()
}

impl RustSource {
    pub fn new(text: &str) -> Self {
        let all = blank(text, &literals_and_comments(text));
        let shipped = blank(&all, &test_items(&all));
        Self { all, shipped }
    }
}

impl NamedPath {
    /// Whether the path is `prefix` or begins with it.
    pub fn starts_with(&self, prefix: &str) -> bool {
        let mut segments = self.segments.iter();
        prefix
            .split("::")
            .all(|p| segments.next().is_some_and(|s| s == p))
    }

    pub fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// The line of a byte offset, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|b| *b == b'\n').count()
}

/// Every path that blanked code names. A single identifier is a path of one segment.
pub fn paths(code: &str) -> Vec<NamedPath> {
    let tokens = tokens(code);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = path_at(&tokens, at, &[], &mut paths).max(at + 1);
    }
    paths
}

/// Reads one path that begins at `at`, its group included; answers where it ends.
fn path_at(
    tokens: &[(usize, &str)],
    mut at: usize,
    prefix: &[String],
    paths: &mut Vec<NamedPath>,
) -> usize {
    let mut segments = prefix.to_vec();
    let Some(&(line, first)) = tokens.get(at) else {
        return at;
    };
    if first == "::" {
        at += 1;
    }
    while let Some(&(_, token)) = tokens.get(at) {
        if token == "{" && at > 0 && tokens[at - 1].1 == "::" {
            at += 1;
            while tokens.get(at).is_some_and(|(_, t)| *t != "}") {
                at = path_at(tokens, at, &segments, paths);
                let more = |(_, t): &(usize, &str)| !matches!(*t, "," | "}");
                at += tokens[at.min(tokens.len())..]
                    .iter()
                    .take_while(|t| more(t))
                    .count();
                at += usize::from(tokens.get(at).is_some_and(|(_, t)| *t == ","));
            }
            return at + 1;
        }
        if !is_word(token) && token != "*" {
            break;
        }
        segments.push(token.to_owned());
        at += 1;
        if tokens.get(at).is_none_or(|(_, t)| *t != "::") {
            break;
        }
        at += 1;
    }
    if segments.len() > prefix.len() {
        let bang = tokens.get(at).is_some_and(|(_, t)| *t == "!")
            && tokens
                .get(at + 1)
                .is_some_and(|(_, t)| matches!(*t, "(" | "[" | "{"));
        paths.push(NamedPath {
            segments,
            line,
            bang,
        });
    }
    at
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let len = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(len);
        if first == '\n' {
            line += 1;
        } else if !first.is_whitespace() {
            tokens.push((line, token));
        }
        rest = after;
    }
    tokens
}

fn blank(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        out.push_str(&text[done..range.start]);
        let spaces = text[range.clone()].bytes();
        out.extend(spaces.map(|b| if b == b'\n' { '\n' } else { ' ' }));
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Where comments and the insides of string and character literals lie, in order.
fn literals_and_comments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            at + rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            at + block_comment(rest)
        } else if let Some(len) = raw_string(rest).filter(|_| at == 0 || !is_name(bytes[at - 1])) {
            at + len
        } else if bytes[at] == b'"' {
            at + quoted(rest, b'"')
        } else if bytes[at] == b'\'' && is_char_literal(rest) {
            at + quoted(rest, b'\'')
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        ranges.push(at..end);
        at = end;
    }
    ranges
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    for (at, pair) in rest.as_bytes().windows(2).enumerate() {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 2;
        }
    }
    rest.len()
}

/// The length of a raw string that begins here, `r` or `br` included.
fn raw_string(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = body.bytes().take_while(|b| *b == b'#').count();
    let inside = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside
        .find(&close)
        .map_or(inside.len(), |at| at + close.len());
    Some(rest.len() - inside.len() + end)
}

fn quoted(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    matches!(
        (chars.next(), chars.next()),
        (Some('\\'), _) | (Some(_), Some('\''))
    )
}

/// Where the items under `#[cfg(test)]` lie, in order, each with its attributes.
fn test_items(code: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        let end = item_end(code, start + MARK.len());
        ranges.push(start..end);
        from = end;
    }
    ranges
}

/// The end of the item that begins at `at`: its `;` or `,`, or the brace that closes it.
fn item_end(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(at) {
        match byte {
            b'{' | b'(' | b'[' | b'<' => depth += 1,
            b'>' if matches!(code.as_bytes()[offset - 1], b'-' | b'=') => {}
            b'}' | b')' | b']' | b'>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return offset + 1;
                }
            }
            b';' | b',' if depth == 0 => return offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_paths(code: &str, expect: &[(usize, &str)]) {
        let found: Vec<(usize, String)> = paths(&RustSource::new(code).all)
            .iter()
            .filter(|path| path.segments.len() > 1)
            .map(|path| (path.line, path.text()))
            .collect();
        let expect: Vec<(usize, String)> = expect.iter().map(|&(l, p)| (l, p.to_owned())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn groups_are_multiplied_out() {
        check_paths(
            "use std::{fs, io::{self, Read as R}};\nlet x = ::a::b(c::d);\nuse e::*;",
            &[
                (1, "std::fs"),
                (1, "std::io::self"),
                (1, "std::io::Read"),
                (2, "a::b"),
                (2, "c::d"),
                (3, "e::*"),
            ],
        );
    }

    #[test]
    fn a_block_after_a_path_is_no_group() {
        check_paths(
            "match a::b { c::d => e::f }",
            &[(1, "a::b"), (1, "c::d"), (1, "e::f")],
        );
    }

    #[test]
    fn comments_and_literals_are_blank() {
        let code = concat!(
            "a::b // c::d\n/* e::f /* g::h */ i::j */ \"k::l \\\" m::n\" r#\"o::p \" q::r\"# '\"' ",
            "'\\'' x::<'a>() b\"s::t\" y::z"
        );
        check_paths(code, &[(1, "a::b"), (2, "y::z")]);
    }

    #[test]
    fn test_items_are_not_shipped() {
        let code = "fn a() {}\n#[cfg(test)]\n#[x(y)]\nmod tests { fn b() { {} } }\nfn c() {}\n\
                    #[cfg(test)] mod more;\nfn d() {}";
        let source = RustSource::new(code);
        let words: Vec<&str> = source.shipped.split_whitespace().collect();
        assert_eq!(words.join(" "), "fn a() {} fn c() {} fn d() {}");
        assert_eq!(source.shipped.lines().count(), code.lines().count());
    }

    #[test]
    fn a_file_declared_for_tests_is_not_shipped() {
        let tree = Tree::of(&[
            ("src/a/mod.rs", "mod b;\n#[cfg(test)]\nmod tests;"),
            ("src/a/b.rs", "#[cfg(test)] mod more;\nfn b() {}"),
            ("src/a/b/more.rs", "fn more() {}"),
            ("src/a/tests.rs", "mod deep;"),
            ("src/a/tests/deep.rs", "fn deep() {}"),
        ]);
        let shipping: Vec<&str> = sources(&tree)
            .iter()
            .filter(|file| !file.source.shipped.trim().is_empty())
            .map(|file| file.path)
            .collect();
        assert_eq!(shipping, ["src/a/mod.rs", "src/a/b.rs"]);
    }
}
