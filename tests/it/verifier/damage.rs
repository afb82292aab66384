use serde_json::Value;

/// A file and the expected verdict.
#[derive(Clone)]
pub struct Case {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) holds: bool,
    /// The line of the first flaw, from 1; nothing where it shows at the end only, or depends on what is missing.
    pub(super) line: Option<u64>,
}

impl Case {
    pub fn whole(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            holds: true,
            line: None,
        }
    }

    pub fn damaged(name: String, bytes: Vec<u8>, line: impl Into<Option<u64>>) -> Self {
        Self {
            name,
            bytes,
            holds: false,
            line: line.into(),
        }
    }
}

/// The lines, each with its line feed.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|b| *b == b'\n').collect()
}

fn is_entry(line: &[u8]) -> bool {
    line.starts_with(b"{\"action\":")
}

fn is_blob(line: &[u8]) -> bool {
    line.starts_with(b"{\"blob\":")
}

fn number(index: usize) -> u64 {
    index as u64 + 1
}

/// One byte changed at places of every line: its first, its last (the line feed), and some between.
pub(super) fn changed_bytes(name: &str, bytes: &[u8]) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut begin = 0;
    for (index, line) in lines(bytes).into_iter().enumerate() {
        let step = line.len() / 11 + 1;
        let places = (0..line.len()).step_by(step).chain([line.len() - 1]);
        for (turn, at) in places.enumerate() {
            let mask = [0x01, 0x20, 0x80, 0x04][turn % 4];
            let mut changed = bytes.to_vec();
            changed[begin + at] ^= mask;
            let what = format!("{name}: byte {at} of line {} ^ {mask:#x}", index + 1);
            cases.push(Case::damaged(what, changed, number(index)));
        }
        begin += line.len();
    }
    cases
}

/// The file ends too early: within a line, or after one.
pub(super) fn cut(name: &str, bytes: &[u8]) -> Vec<Case> {
    let mut cases = vec![Case::damaged(format!("{name}: empty"), Vec::new(), None)];
    let mut begin = 0;
    for (index, line) in lines(bytes).into_iter().enumerate() {
        let what = format!("{name}: cut in line {}", index + 1);
        for kept in [1, line.len() / 2, line.len() - 1] {
            let cut = bytes[..begin + kept].to_vec();
            cases.push(Case::damaged(what.clone(), cut, number(index)));
        }
        begin += line.len();
        let rest = lines(&bytes[begin..]);
        // Bodies of requests need not be there.
        if rest.iter().any(|line| !is_blob(line)) {
            let what = format!("{name}: cut after line {}", index + 1);
            cases.push(Case::damaged(what, bytes[..begin].to_vec(), None));
        }
    }
    cases
}

/// Two lines that follow each other change places; one stands twice; one is left out.
pub(super) fn swapped(name: &str, bytes: &[u8]) -> Vec<Case> {
    let lines = lines(bytes);
    let mut cases = Vec::new();
    for index in 1..lines.len() {
        let mut swapped = lines.clone();
        swapped.swap(index - 1, index);
        let line = match (is_blob(lines[index - 1]), is_blob(lines[index])) {
            (true, true) => number(index),
            // The entries end before the seal.
            (false, true) => number(index - 2),
            (_, false) => number(index - 1),
        };
        let what = format!("{name}: lines {index} and {} swapped", index + 1);
        cases.push(Case::damaged(what, swapped.concat(), line));
    }
    for (index, line) in lines.iter().enumerate() {
        let mut twice = lines.clone();
        twice.insert(index, line);
        let what = format!("{name}: line {} twice", index + 1);
        cases.push(Case::damaged(what, twice.concat(), number(index + 1)));
        if !is_blob(line) {
            let mut without = lines.clone();
            without.remove(index);
            let what = format!("{name}: line {} left out", index + 1);
            let seal = lines.get(index + 1).is_none_or(|next| is_blob(next));
            let line = (!seal).then_some(number(index));
            cases.push(Case::damaged(what, without.concat(), line));
        }
    }
    cases
}

/// Lines behind the end of the run.
pub(super) fn extended(name: &str, bytes: &[u8]) -> Vec<Case> {
    let lines = lines(bytes);
    let end = number(lines.len());
    let hash = blake3::hash(b"hello");
    let blob = format!("{{\"blob\":\"{hash}\",\"bytes\":\"aGVsbG8=\"}}\n");
    let note = format!("{{\"checkpoint\":\"{hash}\"}}\n");
    let entry = lines.iter().rev().find(|line| is_entry(line)).unwrap();
    let mut cases: Vec<Case> = [
        blob.as_bytes(),
        note.as_bytes(),
        entry,
        lines[0],
        lines[1],
        b"\n",
        b" ",
        b"{}\n",
        b"null\n",
        b"\0",
        b"# the end\n",
    ]
    .into_iter()
    .map(|more| {
        let what = format!("{name}: followed by {}", String::from_utf8_lossy(more));
        Case::damaged(what, [bytes, more].concat(), end)
    })
    .collect();
    let before = [blob.as_bytes(), bytes].concat();
    cases.push(Case::damaged(format!("{name}: blob first"), before, 1));
    let marked = [b"\xef\xbb\xbf", bytes].concat();
    cases.push(Case::damaged(format!("{name}: byte order mark"), marked, 1));
    cases
}

/// The tail of another run behind the first lines of this one.
pub(super) fn spliced(name: &str, bytes: &[u8], other: &[u8]) -> Vec<Case> {
    let (ours, theirs) = (lines(bytes), lines(other));
    let both = ours.iter().zip(&theirs);
    let entries = both.take_while(|(a, b)| !is_blob(a) && !is_blob(b)).count();
    (1..entries)
        .map(|index| {
            let what = format!("{name}: another run from line {}", index + 1);
            let spliced = [ours[..index].concat(), theirs[index..].concat()].concat();
            // Without its entry 0, either the header or the entry does not belong.
            let line = (index > 1).then(|| number(index));
            Case::damaged(what, spliced, line)
        })
        .collect()
}

/// Every line in another form of the same JSON, or of other text.
pub(super) fn rewritten(name: &str, bytes: &[u8]) -> Vec<Case> {
    type Rewrite = (&'static str, fn(&str) -> String);
    let rewrites: [Rewrite; 14] = [
        ("a space after the first colon", |l| {
            l.replacen(':', ": ", 1)
        }),
        ("a space before it", |l| format!(" {l}")),
        ("a space after it", |l| format!("{l} ")),
        ("a carriage return", |l| format!("{l}\r")),
        ("an empty line before it", |l| format!("\n{l}")),
        ("a comma too many", |l| l.replacen('}', ",}", 1)),
        ("a letter escaped", |l| {
            let at = l.rfind(|c: char| c.is_ascii_lowercase()).unwrap();
            format!(
                "{}\\u{:04x}{}",
                &l[..at],
                u32::from(l.as_bytes()[at]),
                &l[at + 1..]
            )
        }),
        ("a lone surrogate", |l| {
            l.replacen("\":\"", "\":\"\\ud800", 1)
        }),
        ("another key in front", |l| l.replacen('{', "{\"a\":1,", 1)),
        ("another key behind", |l| {
            format!("{},\"zz\":null}}", l.strip_suffix('}').unwrap())
        }),
        ("the last key twice", |l| {
            let (_, last) = l.rsplit_once(",\"").unwrap();
            let last = last.strip_suffix('}').unwrap();
            format!("{},\"{last}}}", l.strip_suffix('}').unwrap())
        }),
        ("a fraction", |l| l.replacen(":0,", ":0.0,", 1)),
        ("a list around it", |l| format!("[{l}]")),
        ("keys in another order", |l| {
            let value: Value = serde_json::from_str(l).unwrap();
            let members = value.as_object().unwrap().iter().rev();
            let members: Vec<String> = members
                .map(|(k, v)| {
                    format!(
                        "\"{k}\":{}",
                        serde_json_canonicalizer::to_string(v).unwrap()
                    )
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }),
    ];
    let lines = lines(bytes);
    let mut cases = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = str::from_utf8(line).unwrap().strip_suffix('\n').unwrap();
        for (what, rewrite) in &rewrites {
            let other = rewrite(text);
            if other != text {
                let mut changed = lines.clone();
                let other = format!("{other}\n");
                changed[index] = other.as_bytes();
                let what = format!("{name}: line {} with {what}", index + 1);
                cases.push(Case::damaged(what, changed.concat(), number(index)));
            }
        }
    }
    let crlf = bytes.iter().flat_map(|b| match b {
        b'\n' => b"\r\n".to_vec(),
        _ => vec![*b],
    });
    let what = format!("{name}: CRLF everywhere");
    cases.push(Case::damaged(what, crlf.collect(), 1));
    cases
}

/// Blobs that are not there, are others, or are written otherwise.
pub(super) fn blobs(name: &str, bytes: &[u8]) -> Vec<Case> {
    let lines = lines(bytes);
    let text = str::from_utf8(bytes).unwrap();
    let mut cases = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, l)| is_blob(l)) {
        let blob: Value = serde_json::from_slice(line).unwrap();
        let (hash, content) = (&blob["blob"], blob["bytes"].as_str().unwrap());
        let mut put = |what: &str, hash: &Value, content: &str| {
            let mut changed = lines.clone();
            let other = format!("{{\"blob\":{hash},\"bytes\":\"{content}\"}}\n");
            changed[index] = other.as_bytes();
            let what = format!("{name}: line {}: {what}", index + 1);
            cases.push(Case::damaged(what, changed.concat(), number(index)));
        };
        put("no bytes", hash, "");
        put("other bytes", hash, "aGVsbG8=");
        put("more padding", hash, &format!("{content}===="));
        put("a line break", hash, &format!("\\n{content}"));
        put("the other alphabet", hash, &format!("-_{}", &content[2..]));
        if let Some(bare) = content.strip_suffix("=") {
            let bare = bare.trim_end_matches('=');
            let (kept, last) = bare.split_at(bare.len() - 1);
            let padding = &content[bare.len()..];
            put("no padding", hash, bare);
            let used = char::from(last.as_bytes()[0] + 1);
            put("unused bits set", hash, &format!("{kept}{used}{padding}"));
        }
        let upper = Value::from(hash.as_str().unwrap().to_uppercase());
        put("its name in upper case", &upper, content);
        let named = |key: &str| text.contains(&format!("\"{key}\":{hash}"));
        if named("raw_hash") && !text.contains("\"gated\":true") || named("full") {
            let mut without = lines.clone();
            without.remove(index);
            let what = format!("{name}: blob of line {} missing", index + 1);
            cases.push(Case::damaged(what, without.concat(), None));
        }
    }
    cases
}

/// The first entries of a run, with the blobs that they name: what a run in progress is.
pub(super) fn in_progress(name: &str, bytes: &[u8]) -> Vec<Case> {
    let lines = lines(bytes);
    let entries = lines.iter().filter(|line| is_entry(line)).count();
    // The seal and the entry before it are written as one.
    (2..entries)
        .map(|length| {
            let kept = lines[..length].concat();
            let text = String::from_utf8(kept.clone()).unwrap();
            let named = lines.iter().filter(|line| {
                is_blob(line) && text.contains(str::from_utf8(&line[9..75]).unwrap())
            });
            let blobs: Vec<u8> = named.flat_map(|line| line.to_vec()).collect();
            let what = format!("{name}: its first {} entries", length - 1);
            Case::whole(&what, [kept, blobs].concat())
        })
        .collect()
}
