//! One target for libFuzzer, the one that `HQ_FUZZ_TARGET` names; `cargo xtask deep fuzz` builds and runs it.

#![no_main]
#![allow(unsafe_code, missing_docs, reason = "the macro exports a C function, without documentation")]

use std::sync::OnceLock;

use hq_fuzz::{Target, check, memory::Counting, named};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static COUNTING: Counting = Counting;

struct Chosen(Target);

fn chosen() -> Target {
    let name = std::env::var("HQ_FUZZ_TARGET").unwrap_or_default();
    // libFuzzer knows no other way to refuse.
    named(&name).unwrap_or_else(|| panic!("HQ_FUZZ_TARGET={name:?} is no target"))
}

fuzz_target!(|bytes: &[u8]| {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    check(&CHOSEN.get_or_init(|| Chosen(chosen())).0, bytes);
});
