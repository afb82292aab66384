#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| monolith_fuzz::contract(data));
