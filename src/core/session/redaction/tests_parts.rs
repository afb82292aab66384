//! Values of which a text has a part, or the lines apart from each other.

use serde_json::json;

use super::tests::{knowing, marker};
use crate::contract::RedactionTerms;
use crate::message::Scrubber as _;
use crate::session::Scrub;

/// A server's statement is cut to 256 bytes, so a secret may end in the middle.
#[test]
fn a_part_of_a_secret_at_the_cut_of_a_servers_words_is_taken_out() {
    use crate::adapter::{Adapter, Decoded, ResponseMeta};
    use crate::message::ServedBy;

    let secret = "correct horse battery";
    let redactor = knowing(&[secret], &RedactionTerms::default());
    let said = format!("{}{secret}", "m".repeat(246));
    let body = json!({"model": said, "system_fingerprint": said, "choices": [
        {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]});
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = Adapter::by_version("openai-chat/1")
        .unwrap()
        .decoder(meta, "asked");
    decoder.push(body.to_string().as_bytes());
    // As where the bytes have it in pieces: they show nothing themselves.
    let again = |_: &[u8]| unreachable!("nothing was taken out of the bytes");
    let scrubbed = Scrub(&redactor).response(b"{}".to_vec(), decoder.finish(), again);
    let Decoded::Message(result) = scrubbed.decoded else {
        panic!("it is a message")
    };
    let ServedBy {
        model,
        system_fingerprint,
    } = result.served_by.unwrap();
    for text in [model, system_fingerprint] {
        assert_eq!(
            text.unwrap(),
            format!("{}{}", "m".repeat(246), marker(secret))
        );
    }
}

/// A key is printed indented, and with the line ends of another system.
#[test]
fn a_value_of_several_lines_is_found_line_by_line() {
    let lines = ["MIIEvQIBADANBgkqhkiG9w0BAQ", "EFAASCBKcwggSjAgEAAoIBAQC7"];
    let boundary = ["-----BEGIN OWN KEY-----", "-----END OWN KEY-----"];
    let key = [boundary[0], lines[0], lines[1], "c2hvcnQ=", boundary[1]];
    for end in ["\n", "\r\n", "\r"] {
        let value = key.join(end);
        let redactor = knowing(&[&value], &RedactionTerms::default());
        for between in ["\n    ", "\r\n", "\n> ", "\\r\\n  ", "\", \""] {
            let text = format!("key: {}", key.join(between));
            let gone = redactor.text(&text);
            for line in lines {
                assert!(!gone.contains(line), "{end:?} {between:?}: {gone}");
            }
            assert_eq!(redactor.text(&gone), gone, "once is enough");
        }
        // As it is, it is one value.
        assert_eq!(redactor.text(&value), marker(&value));
        // What every key of its kind has is no secret, nor is a short line.
        assert_eq!(redactor.text(boundary[0]), boundary[0]);
        assert_eq!(redactor.text("c2hvcnQ="), "c2hvcnQ=");
    }
}
