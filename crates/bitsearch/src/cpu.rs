//! Runs a search with the wide registers of the processor, if it has them.
//!
//! The searches are written once, as portable code over words that the compiler can turn into
//! vectors. With the feature `std` they are compiled a second time, for processors with AVX2, which
//! halves the time of a long scan; intrinsics would take another tenth, and a second copy of every
//! search. The choice is made at run time.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx2;

/// A search that is worth compiling for wide registers.
///
/// `run` and all that it calls should be `#[inline(always)]`: only what becomes part of the
/// function for AVX2 is compiled for it.
pub(crate) trait Search: Sized {
    type Found;

    fn run(self) -> Self::Found;
}

/// Runs `search` as fast as this processor can.
#[inline]
pub(crate) fn run<S: Search>(search: S) -> S::Found {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    let search = match avx2::run(search) {
        Ok(found) => return found,
        Err(search) => search,
    };
    run_portable(search)
}

/// Apart, so that a caller does not carry a copy of every search.
#[inline(never)]
fn run_portable<S: Search>(search: S) -> S::Found {
    search.run()
}
