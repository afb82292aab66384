//! RFC 8785: the published vectors, and the numbers of its appendix B.

use std::path::Path;

use super::record::dump;
use crate::contract::canonical;
use monolith_testkit::skipped::skip;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/jcs");

/// Checks the result of every writer of canonical text in the crate.
fn check(name: &str, input: &str, expect: &str) {
    let value: serde_json::Value = serde_json::from_str(input).unwrap();
    assert_eq!(canonical(&value), expect, "{name}");
    assert_eq!(dump(&value).unwrap(), expect, "{name}");
}

#[test]
fn the_published_vectors_have_their_canonical_form() {
    let Ok(files) = std::fs::read_dir(Path::new(VECTORS).join("input")) else {
        skip(6, "vectors", &format!("{VECTORS} is missing"));
        return;
    };
    let mut cases = 0;
    for file in files {
        let input = file.unwrap().path();
        let name = input.file_name().unwrap().to_string_lossy().into_owned();
        let read = |folder: &str, name: &str| {
            std::fs::read_to_string(Path::new(VECTORS).join(folder).join(name)).unwrap()
        };
        let bytes: Vec<u8> = read("outhex", &name.replace(".json", ".txt"))
            .split_whitespace()
            .map(|digits| u8::from_str_radix(digits, 16).unwrap())
            .collect();
        let expect = String::from_utf8(bytes).unwrap();
        check(&name, &read("input", &name), &expect);
        // A canonical text is its own canonical form.
        check(&name, &read("output", &name), &expect);
        cases += 1;
    }
    assert!(cases > 0);
    println!("{cases} vectors");
}

#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    for (bits, expect) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let written = serde_json::to_string(&f64::from_bits(bits)).unwrap();
        check(&format!("{bits:016x}"), &written, expect);
    }
}

#[test]
fn keys_are_sorted_by_their_utf_16_units() {
    // A surrogate pair begins with 0xd83d, below 0xfb33, though its character is the greater one.
    check(
        "keys",
        "{\"\u{fb33}\":1,\"\u{1f602}\":2,\"a\":3,\"\":4}",
        "{\"\":4,\"a\":3,\"\u{1f602}\":2,\"\u{fb33}\":1}",
    );
}
