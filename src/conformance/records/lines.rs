//! A file of records, read line by line in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use monolith_core::message::BOM;

use super::{JudgedRecord, RecordFault, RecordRule, RecordedResponse};

/// The most bytes of a line that is read: the largest body that is judged, escaped, and the rest of the line.
const MAX_LINE_BYTES: u64 = 160 * 1024 * 1024;
const GZIP: &[u8] = &[0x1F, 0x8B];

/// The result of one line that is not blank.
pub(crate) type JudgedLine = Result<JudgedRecord, RecordFault>;

/// A file that could be read only in part: it is damaged, or the medium is.
#[derive(Debug, thiserror::Error)]
#[error("after line {after}: {source}")]
pub struct RecordsReadError {
    /// The last line that was read whole; 0 where none was.
    pub after: u64,
    /// The system's error.
    pub source: io::Error,
}

/// The lines of a file of records, judged one at a time: memory does not grow with the file.
pub struct RecordLines<'r> {
    line: u64,
    most: u64,
    over: bool,
    strict: bool,
    text: Box<dyn BufRead + 'r>,
}

impl<'r> RecordLines<'r> {
    /// Reads from `bytes`; their beginning shows whether they are compressed. `strict`: as a contract with `strict_mode` judges.
    ///
    /// # Errors
    /// [`RecordsReadError`] where not even the beginning can be read.
    pub fn of(bytes: impl Read + 'r, strict: bool) -> Result<Self, RecordsReadError> {
        let mut bytes = BufReader::new(bytes);
        let opening = bytes
            .fill_buf()
            .map_err(|source| RecordsReadError { after: 0, source })?;
        let text: Box<dyn BufRead + 'r> = if opening.starts_with(GZIP) {
            Box::new(BufReader::new(MultiGzDecoder::new(bytes)))
        } else {
            Box::new(bytes)
        };
        Ok(Self {
            line: 0,
            most: MAX_LINE_BYTES,
            over: false,
            strict,
            text,
        })
    }

    /// Reads the next line into `line`, at most one byte more than is allowed of it; false at the end.
    fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let mut bounded = self.text.by_ref().take(self.most.saturating_add(1));
        if bounded.read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        if is_longer(line, self.most) && line.last() != Some(&b'\n') {
            self.text.skip_until(b'\n')?;
        }
        Ok(true)
    }

    fn judge(&self, line: &[u8]) -> Option<JudgedLine> {
        let refuse = |rule| {
            Some(Err(RecordFault {
                line: self.line,
                rule,
            }))
        };
        if is_longer(line, self.most) {
            return refuse(RecordRule::TooLong(self.most));
        }
        let line = match self.line {
            1 => line.strip_prefix(BOM).unwrap_or(line),
            _ => line,
        };
        let text = match std::str::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => return None,
            Ok(text) => text,
            Err(fault) => return refuse(RecordRule::Encoding(fault.valid_up_to())),
        };
        match RecordedResponse::parse(self.line, text) {
            Ok(record) => Some(Ok(record.judge(self.strict))),
            Err(rule) => refuse(rule),
        }
    }
}

fn is_longer(line: &[u8], most: u64) -> bool {
    u64::try_from(line.len()).is_ok_and(|length| length > most)
}

impl Iterator for RecordLines<'_> {
    type Item = Result<JudgedLine, RecordsReadError>;

    /// The next line that is not blank. A line that breaks a rule is an item like any other; nothing follows a file's end
    /// or its first unreadable place.
    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        while !self.over {
            match self.read_line(&mut line) {
                Ok(true) => {}
                Ok(false) => self.over = true,
                Err(source) => {
                    self.over = true;
                    let after = self.line;
                    return Some(Err(RecordsReadError { after, source }));
                }
            }
            if !self.over {
                self.line += 1;
                if let Some(judged) = self.judge(&line) {
                    return Some(Ok(judged));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const RECORD: &str = r#"{"id":"a","proto":"openai-chat","status":500,"response":"down"}"#;

    fn judged(bytes: &[u8], most: u64) -> Vec<String> {
        let mut lines = RecordLines::of(bytes, true).unwrap();
        lines.most = most;
        let told = |line: Result<JudgedLine, RecordsReadError>| match line {
            Ok(Ok(record)) => format!("{} {:?}", record.id, record.failure_code),
            Ok(Err(fault)) => fault.to_string(),
            Err(fault) => fault.to_string(),
        };
        lines.map(told).collect()
    }

    fn check(bytes: &[u8], expect: &[&str]) {
        assert_eq!(judged(bytes, MAX_LINE_BYTES), expect);
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_faulty_line_costs_no_other() {
        let text = format!("\u{feff}{RECORD}\n\n  \r\nnonsense\n{RECORD}");
        let expect = [
            "a Some(\"model\")",
            "line 4: not a record: it is no JSON object",
            "a Some(\"model\")",
        ];
        check(text.as_bytes(), &expect);
        check(&packed(&text), &expect);
        check(b"", &[]);
    }

    #[test]
    fn parts_of_a_compressed_file_follow_each_other() {
        let mut bytes = packed(&format!("{RECORD}\n"));
        bytes.extend(packed(&format!("{RECORD}\n")));
        check(&bytes, &["a Some(\"model\")", "a Some(\"model\")"]);
    }

    #[test]
    fn a_damaged_file_is_judged_as_far_as_it_can_be_read() {
        let noise =
            (0..4000_u32).map(|n| format!("{{\"id\":\"{:x}\"", n.wrapping_mul(2_654_435_761)));
        let noise = noise.collect::<Vec<_>>().join("\n");
        let text = format!("{RECORD}\n{noise}");
        let bytes = packed(&text);
        let found = judged(&bytes[..bytes.len() / 2], MAX_LINE_BYTES);
        assert_eq!(found[0], "a Some(\"model\")");
        assert!(matches!(found.len(), 100..), "{}", found.len());
        let last = found.last().unwrap();
        assert!(last.starts_with("after line "), "{last}");
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_passed() {
        let text = format!("{RECORD}{}\n{RECORD}\n", " ".repeat(40));
        let most = u64::try_from(RECORD.len()).unwrap() + 1;
        let long = format!("line 1: longer than {most} bytes");
        assert_eq!(
            judged(text.as_bytes(), most),
            [long.as_str(), "a Some(\"model\")"]
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        check(b"{\"id\":\"\xff\"}\n", &["line 1: not UTF-8 at byte 7"]);
    }
}
