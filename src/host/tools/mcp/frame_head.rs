//! Finds the id and kind of a JSON-RPC frame as it arrives. Does not build the frame.

/// Longest token that is kept: `jsonrpc` with every letter as `\u006a` has 42 bytes, and an id that rmcp gives at most 19 digits.
const TOKEN_BYTES: usize = 48;
/// 2^53: from there on, not every whole number is a double.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// The id of the request that a JSON-RPC frame answers, found without decoding the frame.
///
/// Reads bytes as they arrive and keeps a few of them. So it works on a frame that is too large to keep or broken further on.
#[derive(Debug, Default)]
pub(super) struct FrameHead {
    depth: usize,
    escaped: bool,
    id: Id,
    in_string: bool,
    /// The token is a string.
    is_text: bool,
    kind: Kind,
    member: Member,
    stage: Stage,
    token: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Id {
    #[default]
    Unknown,
    Number(i64),
    /// No id of ours: a text, or a number that is no whole one.
    Foreign,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Only white space so far.
    #[default]
    Before,
    /// Inside the outermost object.
    Inside,
    /// After it, or no object at all.
    Over,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Response,
    /// It names a method, so it is a request or a notification, with any other members.
    Message,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Member {
    #[default]
    Name,
    Id,
    Other,
}

impl FrameHead {
    /// Reads a whole frame.
    pub(super) fn of(frame: &[u8]) -> Self {
        let mut head = Self::default();
        head.feed(frame);
        head
    }

    /// Reads on.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.stage {
                Stage::Before => self.begin(*byte),
                Stage::Inside => self.step(*byte),
                Stage::Over => return,
            }
        }
    }

    /// The id of the request that this answers, where it is an answer and has a numeric id.
    pub(super) fn answered_id(&self) -> Option<i64> {
        match self.id {
            Id::Number(id) if self.kind == Kind::Response => Some(id),
            Id::Number(_) | Id::Foreign | Id::Unknown => None,
        }
    }

    /// True for an answer to a request that we never made: our ids are numbers, and "7" is not 7 (JSON-RPC 2.0 §5), though rmcp
    /// takes one for the other.
    pub(super) fn answers_unknown_request(&self) -> bool {
        self.id == Id::Foreign && self.kind == Kind::Response
    }

    /// True for an answer, to whatever request.
    pub(super) fn is_answer(&self) -> bool {
        self.kind == Kind::Response
    }

    /// True for an answer without the id of a request.
    pub(super) fn is_answer_without_id(&self) -> bool {
        self.id == Id::Unknown && self.is_answer()
    }

    fn begin(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.stage = Stage::Inside;
                self.depth = 1;
            }
            // White space, and the bytes of a byte order mark.
            b' ' | b'\t' | b'\r' | 0xEF | 0xBB | 0xBF => {}
            _ => self.stage = Stage::Over,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
                return;
            }
            self.keep(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.is_text |= self.depth == 1;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                    self.stage = Stage::Over;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.end_name(),
            b',' if self.depth == 1 => self.end_member(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_name(&mut self) {
        // A name may be written with escapes, and rmcp undoes them (RFC 8259 §8.3).
        let name = [b"\"", self.token.as_slice(), b"\""].concat();
        let name: String = serde_json::from_slice(&name).unwrap_or_default();
        self.member = match name.as_str() {
            "id" => Member::Id,
            "method" => {
                self.kind = Kind::Message;
                Member::Other
            }
            "result" | "error" | "jsonrpc" => {
                if self.kind == Kind::Unknown {
                    self.kind = Kind::Response;
                }
                Member::Other
            }
            _ => Member::Other,
        };
        self.is_text = false;
        self.token.clear();
    }

    /// The id that the token is. 7.0 and 7e0 are 7: JSON has one type of numbers.
    fn id_of_token(&self) -> Id {
        let number = std::str::from_utf8(&self.token).ok().and_then(whole_number);
        match number {
            _ if self.is_text => Id::Foreign,
            Some(number) => Id::Number(number),
            None if self.token == b"null" => Id::Unknown,
            None => Id::Foreign,
        }
    }

    fn end_member(&mut self) {
        if self.member == Member::Id {
            let id = self.id_of_token();
            if id == Id::Foreign || self.id == Id::Unknown {
                self.id = id;
            }
        }
        self.member = Member::Name;
        self.is_text = false;
        self.token.clear();
    }
}

/// The whole number that a JSON number equals.
fn whole_number(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = serde_json::from_str(text).ok()?;
    let is_whole = number.fract() == 0.0 && number.abs() < FIRST_INEXACT;
    is_whole.then(|| format!("{number:.0}").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::FrameHead;

    fn check(frame: &str, expect: Option<i64>) {
        let whole = FrameHead::of(frame.as_bytes());
        let mut bytewise = FrameHead::default();
        frame
            .as_bytes()
            .chunks(1)
            .for_each(|byte| bytewise.feed(byte));
        assert_eq!(whole.answered_id(), expect, "{frame}");
        assert_eq!(bytewise.answered_id(), expect, "byte by byte: {frame}");
    }

    #[test]
    fn a_response_is_known_by_its_id_at_any_position() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some(7));
        check(r#" {"result":{"id":9,"x":["}",{"id":8}]},"id":7}"#, Some(7));
        check(r#"{"id":7,"id":8,"result":1}"#, Some(7));
        check(r#"{"\u0069d":7,"result":1}"#, Some(7));
        check(r#"{"id":7.0,"result":1}"#, Some(7));
        check(r#"{"result":1,"id":70e-1}"#, Some(7));
    }

    #[test]
    fn a_text_is_no_number_of_ours() {
        let stranger = |frame: &str| {
            check(frame, None);
            FrameHead::of(frame.as_bytes()).answers_unknown_request()
        };
        assert!(stranger(r#"{"id": "7", "error": {}}"#));
        assert!(stranger(r#"{"result": {}, "id":"7"}"#));
        assert!(stranger(r#"{"id":"7","id":7,"result":1}"#));
        assert!(stranger(r#"{"\u0069d":"7","result":1}"#));
        assert!(stranger(
            r#"{"\u0069\u0064":"7","\u0072\u0065\u0073\u0075\u006c\u0074":1}"#
        ));
        assert!(stranger(r#"{"id":7.5,"result":1}"#));
        assert!(stranger(r#"{"id":1e300,"result":1}"#));
        assert!(!stranger(r#"{"id":null,"error":{}}"#));
        assert!(!stranger(r#"{"id":"7","method":"ping"}"#));
        assert!(!stranger(r#"{"id":"7","result":1,"m\u0065thod":"ping"}"#));
    }

    #[test]
    fn a_broken_answer_is_still_an_answer() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#, Some(7));
        check(r#"{"id":7,"result":}}}}"#, Some(7));
        check(r#"{"id":7,"result":1} and more"#, Some(7));
    }

    #[test]
    fn what_is_no_answer_has_no_id() {
        check("", None);
        check("listening on 7", None);
        check(r#"log {"jsonrpc":"2.0","id":7,"result":1}"#, None);
        check(r#"[{"jsonrpc":"2.0","id":7,"result":1}]"#, None);
        check(r#"{"id":7,"level":"info"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, None);
        let without_id = r#"{"jsonrpc":"2.0","id":null,"error":{}}"#;
        check(without_id, None);
        assert!(FrameHead::of(without_id.as_bytes()).is_answer_without_id());
        check(r#"{"jsonrpc":"2.0","id":7.5,"result":1}"#, None);
        check(r#"{"jsonrpc":"2.0","id":{"id":7},"result":1}"#, None);
        check(
            r#"{"jsonrpc":"2.0","id":777777777777777777777777777,"result":1}"#,
            None,
        );
    }
}
