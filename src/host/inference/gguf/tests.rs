//! Tests of the GGUF header reader on small and damaged files.

use std::path::Path;

use super::*;

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// A small file: four metadata entries, one tensor of 64 numbers.
fn sample() -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(3_u32.to_le_bytes());
    out.extend(1_u64.to_le_bytes());
    out.extend(4_u64.to_le_bytes());
    text(&mut out, "general.architecture");
    out.extend(8_u32.to_le_bytes());
    text(&mut out, "llama");
    text(&mut out, "llama.context_length");
    out.extend(4_u32.to_le_bytes());
    out.extend(8192_u32.to_le_bytes());
    text(&mut out, "tokenizer.ggml.tokens");
    out.extend(9_u32.to_le_bytes());
    out.extend(8_u32.to_le_bytes());
    out.extend(2_u64.to_le_bytes());
    text(&mut out, "a");
    text(&mut out, "b");
    text(&mut out, "flag");
    out.extend(7_u32.to_le_bytes());
    out.push(1);
    text(&mut out, "weight");
    out.extend(2_u32.to_le_bytes());
    out.extend(32_u64.to_le_bytes());
    out.extend(2_u64.to_le_bytes());
    out.extend(2_u32.to_le_bytes());
    out.extend(0_u64.to_le_bytes());
    let data = out.len().next_multiple_of(32) + 36;
    out.resize(data, 0);
    out
}

fn parse(bytes: &[u8]) -> Result<ModelHeader, HeaderFault> {
    ModelHeader::parse(bytes, bytes.len() as u64)
}

#[test]
fn a_header_describes_the_model() {
    let header = parse(&sample()).unwrap();
    assert_eq!(header.architecture, "llama");
    assert_eq!(header.context_length, Some(8192));
    assert_eq!(header.vocabulary, Some(2));
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let whole = sample();
    for cut in 0..whole.len() {
        let fault = parse(&whole[..cut]).unwrap_err();
        let expect = cut < 4;
        assert_eq!(
            fault == HeaderFault::NotGguf,
            expect,
            "cut at {cut}: {fault}"
        );
        if !expect {
            assert!(
                matches!(fault, HeaderFault::CutOff { .. }),
                "cut at {cut}: {fault}"
            );
        }
    }
}

#[test]
fn absurd_counts_are_refused_before_anything_is_read_for_them() {
    let huge = u64::MAX.to_le_bytes();
    for (at, expect) in [
        (
            8,
            "the number of tensors at byte 8 is 18446744073709551615, more than 65536",
        ),
        (
            16,
            "the number of metadata entries at byte 16 is 18446744073709551615, more than 65536",
        ),
        (
            24,
            "the length of a string at byte 24 is 18446744073709551615, more than 1024",
        ),
    ] {
        let mut bytes = sample();
        bytes[at..at + 8].copy_from_slice(&huge);
        assert_eq!(parse(&bytes).unwrap_err().to_string(), expect);
    }
    let mut bytes = sample();
    let at = bytes.windows(6).position(|w| w == b"weight").unwrap() + 6 + 4;
    bytes[at..at + 8].copy_from_slice(&huge);
    assert!(matches!(parse(&bytes), Err(HeaderFault::CutOff { .. })));
}

/// llama.cpp asserts these, and an assertion there ends the process.
#[test]
fn sizes_that_would_abort_the_engine_are_refused_by_name() {
    let check = |rest: &str, number: u32, expect: Option<&str>| {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        text(&mut bytes, &format!("llama.{rest}"));
        bytes.extend(4_u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        let fault = parse(&bytes).err().map(|fault| fault.to_string());
        assert_eq!(fault.as_deref(), expect);
    };
    check("block_count", 1, None);
    check("block_count", 512, None);
    check("block_count", 0, Some("at byte 49: a model without layers"));
    check(
        "block_count",
        u32::MAX,
        Some("the number of layers at byte 49 is 4294967295, more than 512"),
    );
    check("expert_count", 1024, None);
    check(
        "expert_count",
        1025,
        Some("the number of experts at byte 50 is 1025, more than 1024"),
    );
    check("block_count.more", u32::MAX, None);
}

#[test]
fn what_is_no_model_is_refused_by_what_it_is() {
    assert_eq!(parse(b"PK\x03\x04 and more"), Err(HeaderFault::NotGguf));
    assert_eq!(parse(b"GGUF\x09\0\0\0"), Err(HeaderFault::Version(9)));
    let fault = ModelHeader::read(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(matches!(fault, HeaderFault::Unreadable(_)), "{fault}");
    let fault = ModelHeader::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "it cannot be read: it is a folder, not a file"
    );
}
