//! Splits a body into the binary frames of AWS event streams, with checksums. Does not know what a frame's document means.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fold::Failure;
use crate::message::FailureCode;

/// Bytes before the headers: total length, headers' length, and their checksum.
const PRELUDE_BYTES: usize = 12;
/// The checksum at the end of a frame.
const TRAILER_BYTES: usize = 4;

/// The messages of a binary event stream (`application/vnd.amazon.eventstream`); nothing after the first fault.
#[derive(Debug)]
pub(super) struct Frames {
    /// True if the bytes were not an event stream at all.
    broken: bool,
    bytes: Vec<u8>,
    at: usize,
}

/// One message of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// An event of that type.
    Event { kind: String, payload: Vec<u8> },
    /// An error of that type.
    Exception { kind: String, payload: Vec<u8> },
}

impl Frames {
    /// The frames of `body`: as they are, or in base64 as recordings keep them.
    pub(super) fn of(body: &[u8]) -> Self {
        let text = body.trim_ascii();
        let bytes = if text.first() == Some(&b'A') {
            // A cut inside a group of four characters: what came before it counts.
            let groups = text.len() / 4 * 4;
            let whole = text.get(..groups).unwrap_or_default();
            STANDARD.decode(whole).unwrap_or_default()
        } else {
            body.to_vec()
        };
        Self {
            broken: bytes.is_empty(),
            bytes,
            at: 0,
        }
    }

    fn cut(&mut self) -> Result<Frame, FailureCode> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let prelude = rest
            .get(..PRELUDE_BYTES)
            .ok_or(FailureCode::StreamIncomplete)?;
        let total = number(prelude, 0);
        let headers_end = PRELUDE_BYTES.saturating_add(number(prelude, 4));
        if crc32(prelude.get(..8).unwrap_or_default()) != word(prelude, 8)
            || headers_end.saturating_add(TRAILER_BYTES) > total
        {
            return Err(FailureCode::BodyShape);
        }
        let frame = rest.get(..total).ok_or(FailureCode::StreamIncomplete)?;
        let payload_end = total - TRAILER_BYTES;
        let checked = frame.get(..payload_end).unwrap_or_default();
        if crc32(checked) != word(frame, payload_end) {
            return Err(FailureCode::BodyShape);
        }
        let headers = frame.get(PRELUDE_BYTES..headers_end).unwrap_or_default();
        let payload = frame
            .get(headers_end..payload_end)
            .unwrap_or_default()
            .to_vec();
        self.at += total;
        let named = |name| header(headers, name).unwrap_or_default();
        Ok(match named(b":message-type").as_str() {
            "exception" => Frame::Exception {
                kind: named(b":exception-type"),
                payload,
            },
            "error" => Frame::Exception {
                kind: named(b":error-code"),
                payload: if payload.is_empty() {
                    named(b":error-message").into_bytes()
                } else {
                    payload
                },
            },
            _ => Frame::Event {
                kind: named(b":event-type"),
                payload,
            },
        })
    }
}

impl Iterator for Frames {
    type Item = Result<Frame, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.broken) {
            return Some(Err(Failure::new(FailureCode::BodyShape, "")));
        }
        if self.at >= self.bytes.len() {
            return None;
        }
        Some(self.cut().map_err(|code| {
            self.at = self.bytes.len();
            Failure::new(code, "")
        }))
    }
}

/// The text of the header `name`; headers of other types than text end the search, since their sizes differ.
fn header(mut headers: &[u8], name: &[u8]) -> Option<String> {
    loop {
        let (length, rest) = headers.split_first()?;
        let (found, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let size = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            6 | 7 => {
                let (size, _) = rest.split_first_chunk::<2>()?;
                2 + usize::from(u16::from_be_bytes(*size))
            }
            _ => return None,
        };
        let (value, after) = rest.split_at_checked(size)?;
        if found == name {
            return String::from_utf8(value.get(2..)?.to_vec()).ok();
        }
        headers = after;
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

fn number(bytes: &[u8], at: usize) -> usize {
    usize::try_from(word(bytes, at)).unwrap_or(usize::MAX)
}

/// CRC-32 as zlib and Ethernet have it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A frame with text headers.
    pub(in crate::adapter) fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(u8::try_from(name.len()).unwrap());
            head.extend_from_slice(name.as_bytes());
            head.push(7);
            head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let total = PRELUDE_BYTES + head.len() + payload.len() + TRAILER_BYTES;
        let mut out = u32::try_from(total).unwrap().to_be_bytes().to_vec();
        out.extend_from_slice(&u32::try_from(head.len()).unwrap().to_be_bytes());
        out.extend_from_slice(&crc32(&out).to_be_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(payload.as_bytes());
        out.extend_from_slice(&crc32(&out).to_be_bytes());
        out
    }

    fn cut(body: &[u8]) -> Vec<Result<Frame, FailureCode>> {
        Frames::of(body)
            .map(|frame| frame.map_err(|failure| failure.code))
            .collect()
    }

    fn two() -> Vec<u8> {
        let mut bytes = frame(&[(":message-type", "event"), (":event-type", "a")], "{}");
        bytes.extend(frame(
            &[
                (":exception-type", "throttlingException"),
                (":message-type", "exception"),
            ],
            "{\"message\":\"slow\"}",
        ));
        bytes
    }

    #[test]
    fn frames_are_read_as_they_are_and_in_base64() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let expect = [
            Ok(Frame::Event {
                kind: "a".to_owned(),
                payload: b"{}".to_vec(),
            }),
            Ok(Frame::Exception {
                kind: "throttlingException".to_owned(),
                payload: b"{\"message\":\"slow\"}".to_vec(),
            }),
        ];
        assert_eq!(cut(&two()), expect);
        assert_eq!(cut(STANDARD.encode(two()).as_bytes()), expect);
    }

    #[test]
    fn a_cut_frame_is_incomplete_and_a_damaged_one_has_no_shape() {
        let whole = two();
        let first = usize::try_from(word(&whole, 0)).unwrap();
        for end in first + 1..whole.len() {
            assert_eq!(cut(&whole[..end])[1], Err(FailureCode::StreamIncomplete));
        }
        for at in 0..first {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            let found = cut(&damaged).remove(0);
            assert!(found.is_err(), "byte {at}: {found:?}");
        }
    }
}
