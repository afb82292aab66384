//! Bodies at and beyond the bounds: every push ends, and the verdict does not depend on where the bytes were split.

use proptest::prelude::*;

use super::test_support::{decode, stream, verdict};
use super::{Fold, VERSION};
use crate::adapter::decoder::{Decoder, Limits, MAX_BODY_BYTES};
use crate::adapter::push_decoder::PushDecoder;
use crate::adapter::{Decoded, ResponseMeta};

/// The verdict over `pieces` where a body holds `body_bytes` and a line 48 bytes.
fn within<'a>(
    body_bytes: usize,
    status: u16,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Decoded {
    let limits = Limits {
        body_bytes,
        line_bytes: 48,
    };
    let meta = ResponseMeta {
        status,
        ..ResponseMeta::default()
    };
    let mut decoder = Box::new(Decoder::<Fold>::within(limits, VERSION, meta, "asked"));
    for piece in pieces {
        decoder.push(piece);
    }
    decoder.finish()
}

#[test]
fn what_follows_done_is_no_part_of_the_message_however_long_its_line_is() {
    let whole = stream(&[r#"{"content":"x"}"#], "stop");
    let long = whole.clone() + &"x".repeat(MAX_BODY_BYTES);
    assert_eq!(verdict(&decode([long.as_bytes()])), "End: x");
    let pieces = [whole.as_bytes(), &long.as_bytes()[whole.len()..]];
    assert_eq!(verdict(&decode(pieces)), "End: x");
}

#[test]
fn a_fault_before_the_bound_is_kept_however_later_bytes_arrive() {
    let body = "data: 1\n\n: more\n: more\n";
    let check = |body_bytes: usize, expect: &str| {
        let whole = within(body_bytes, 200, [body.as_bytes()]);
        assert_eq!(verdict(&whole), expect, "{body_bytes}");
        assert_eq!(whole, within(body_bytes, 200, body.as_bytes().chunks(1)));
    };
    check(8, "TOO_LARGE ");
    check(9, "fault BODY_SHAPE ");
    check(body.len() - 1, "fault BODY_SHAPE ");
    check(body.len(), "fault BODY_SHAPE ");
}

#[test]
fn a_body_may_fill_its_bound_and_not_pass_it() {
    let body = r#"{"choices":[{"message":{"content":"x"}}]}"#;
    let check = |body_bytes: usize, expect: &str| {
        let whole = within(body_bytes, 200, [body.as_bytes()]);
        assert_eq!(verdict(&whole), expect, "{body_bytes}");
        assert_eq!(whole, within(body_bytes, 200, body.as_bytes().chunks(1)));
    };
    check(body.len(), "Unknown: x");
    check(body.len() - 1, "TOO_LARGE ");
}

/// Bytes that look like a stream, a document or an error, and bytes that look like nothing.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let words: [&[u8]; 14] = [
        b"data: [DONE]\n\n",
        b"data: {\"choices\":[]}\n\n",
        b"data: 1\n",
        b"data:",
        b": comment\n",
        b"event: error\n",
        b"error: {}\r\n",
        b"{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
        b"\xEF\xBB\xBF",
        b"\r",
        b"\n",
        b" ",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        b"\xFF{",
    ];
    let word = prop_oneof![
        4 => proptest::sample::select(words.map(<[u8]>::to_vec).to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn one_push_gives_the_verdict_of_many_at_every_bound(
        body in bodies(),
        body_bytes in 0_usize..200,
        cuts in proptest::collection::vec(0_usize..40, 0..12),
        status in prop_oneof![Just(200_u16), Just(500), Just(302)],
    ) {
        let mut rest = body.as_slice();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        let whole = within(body_bytes, status, [body.as_slice()]);
        prop_assert_eq!(&within(body_bytes, status, pieces), &whole);
        prop_assert_eq!(&within(body_bytes, status, body.chunks(1)), &whole);
    }
}
