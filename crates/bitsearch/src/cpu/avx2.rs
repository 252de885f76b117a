//! Searches with AVX2. What is called for it is the only `unsafe` of the crate.

#![expect(unsafe_code, reason = "a function for AVX2 can be called safely only by its like")]

use std::is_x86_feature_detected;

use crate::cpu::Search;

/// Runs `search`, or gives it back if this processor lacks something.
#[inline(always)]
pub(super) fn run<S: Search>(search: S) -> Result<S::Found, S> {
    let is_supported = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    if !is_supported {
        return Err(search);
    }
    // SAFETY: `run_with_avx2` is a safe function with `target_feature`, so all that its call asks
    // for is a processor with these features, and each of them was detected above.
    Ok(unsafe { run_with_avx2(search) })
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_with_avx2<S: Search>(search: S) -> S::Found {
    search.run()
}
