//! Runs a search with the wide registers of the processor, if it has them.
//!
//! The searches are written once, as portable code over words that the compiler can turn into
//! vectors. With the feature `std` they are compiled a second time, for processors with AVX2, which
//! halves the time of a long scan. Where portable words cannot say what a vector can do, a search
//! asks its [`Cpu`]. The choice is made at run time. There is nothing to choose on 64-bit ARM: every such
//! processor has NEON, so the portable words are compiled for it in the first place; what searches
//! written for it by hand would gain was not measured.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx2;

/// A search that is worth compiling for wide registers.
///
/// `run` and all that it calls should be `#[inline(always)]`: only what becomes part of the
/// function for AVX2 is compiled for it.
pub(crate) trait Search: Sized {
    type Found;

    fn run<C: Cpu>(self, cpu: C) -> Self::Found;
}

/// How many words are asked about together.
pub(crate) const BLOCK: usize = 32;

/// What processors do in ways of their own.
pub(crate) trait Cpu: Copy {
    /// Whether any lane of `L` neighbouring bits is clear, of those that begin at multiples of `L`.
    #[inline(always)]
    fn has_clear_lane<const L: usize>(self, block: &[u64; BLOCK]) -> bool {
        let lowest = const { lowest_of_lanes::<L>() };
        // Four words make a register.
        let mut borrowed = [0; 4];
        for words in block.as_chunks::<4>().0 {
            for (borrowed, word) in borrowed.iter_mut().zip(words) {
                // Cheaper than to ask which: where a lane is clear, the borrow may claim the lanes
                // above it, too.
                *borrowed |= word.wrapping_sub(lowest) & !word;
            }
        }
        borrowed.iter().fold(0, |any, word| any | word) & lowest << (L - 1) != 0
    }
}

/// The lowest bit of every lane of a word.
pub(crate) const fn lowest_of_lanes<const L: usize>() -> u64 {
    let mut lanes = 1;
    let mut width = L;
    while width < 64 {
        lanes |= lanes << width;
        width *= 2;
    }
    lanes
}

/// Any processor.
#[derive(Clone, Copy)]
struct Portable;

impl Cpu for Portable {}

/// Runs `search` as fast as this processor can.
#[inline]
pub(crate) fn run<S: Search>(search: S) -> S::Found {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if let Some(cpu) = avx2::Avx2::detect() {
        return cpu.run(search);
    }
    run_portable(search)
}

/// Apart, so that a caller does not carry a copy of every search.
#[inline(never)]
fn run_portable<S: Search>(search: S) -> S::Found {
    search.run(Portable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every lane alone, clear between others that are as nearly clear as can be.
    fn check<const L: usize>(cpu: impl Cpu) {
        let lowest = lowest_of_lanes::<L>();
        for nearly in [lowest, lowest << (L - 1), u64::MAX] {
            let mut block = [nearly; BLOCK];
            assert!(!cpu.has_clear_lane::<L>(&block), "{L} {nearly:x}");
            for lane in 0..64 / L {
                let bits = u64::MAX >> (64 - L) << (lane * L);
                for word in [0, 1, 2, 3, 5, BLOCK - 1] {
                    block[word] = nearly & !bits;
                    assert!(cpu.has_clear_lane::<L>(&block), "{L} {nearly:x} {word} {lane}");
                    block[word] = nearly;
                }
            }
        }
    }

    #[test]
    fn clear_lanes_are_seen_by_every_processor() {
        check::<8>(Portable);
        check::<16>(Portable);
        check::<32>(Portable);
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let Some(cpu) = avx2::Avx2::detect() {
            check::<8>(cpu);
            check::<16>(cpu);
            check::<32>(cpu);
        }
    }
}
