//! Runs a search with the wide registers of the processor, if it has them.
//!
//! The searches are written once, as portable code over words that the compiler can turn into
//! vectors. Here they are compiled a second time for processors with AVX2, which halves the time of
//! a long scan; intrinsics would take another tenth and a second copy of every search. The choice
//! is made at run time, and the call of what it chose is the only `unsafe` of the crate.

#![cfg_attr(
    all(feature = "std", target_arch = "x86_64"),
    expect(unsafe_code, reason = "a function for AVX2 can be called safely only by its like")
)]

/// A search that is worth compiling for wide registers.
///
/// `run` and all that it calls should be `#[inline(always)]`: only what becomes part of the
/// function for AVX2 is compiled for it.
pub(crate) trait Search {
    type Found;

    fn run(self) -> Self::Found;
}

/// Runs `search` as fast as this processor can.
#[inline]
pub(crate) fn run<S: Search>(search: S) -> S::Found {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: a safe function with `target_feature` has one demand, that the processor has
        // these features, and it was asked for each of them on the lines above.
        return unsafe { run_with_avx2(search) };
    }
    search.run()
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_with_avx2<S: Search>(search: S) -> S::Found {
    search.run()
}
