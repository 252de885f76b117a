//! Searches with AVX2, whose calls are the only `unsafe` of the crate.

#![expect(unsafe_code, reason = "a function for AVX2 can be called safely only by its like")]

use core::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_min_epu8,
    _mm256_min_epu16, _mm256_min_epu32, _mm256_set_epi64x, _mm256_setzero_si256,
    _mm256_testz_si256,
};
use core::sync::atomic::{AtomicU8, Ordering};
use std::is_x86_feature_detected;

use crate::cpu::{BLOCK, Cpu, Search};

/// A processor with AVX2 and what comes with it: there is a value only where that was detected.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Whether this processor has AVX2: not asked yet, or one of the other two.
static DETECTED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const LACKING: u8 = 1;
const PRESENT: u8 = 2;

impl Avx2 {
    /// Asks whether this processor can do it all.
    #[inline(always)]
    pub(super) fn detect() -> Option<Self> {
        // One answer to five questions; a thread that comes too early asks again.
        match DETECTED.load(Ordering::Relaxed) {
            PRESENT => Some(Self(())),
            LACKING => None,
            _ => detect_anew(),
        }
    }

    /// Runs `search`, compiled for such a processor.
    #[inline(always)]
    pub(super) fn run<S: Search>(self, search: S) -> S::Found {
        // SAFETY: `run_with_avx2` is a safe function with `target_feature`, so all that its call asks
        // for is a processor with these features, and `self` exists only if each was detected.
        unsafe { run_with_avx2(self, search) }
    }
}

#[cold]
fn detect_anew() -> Option<Avx2> {
    let is_present = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    DETECTED.store(if is_present { PRESENT } else { LACKING }, Ordering::Relaxed);
    is_present.then_some(Avx2(()))
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_with_avx2<S: Search>(cpu: Avx2, search: S) -> S::Found {
    search.run(cpu)
}

impl Cpu for Avx2 {
    #[inline(always)]
    fn has_clear_lane<const L: usize>(self, block: &[u64; BLOCK]) -> bool {
        // SAFETY: `has_clear_lane` is a safe function with `target_feature`, so all that its call asks
        // for is a processor with AVX2, and `self` exists only if that was detected.
        unsafe { has_clear_lane::<L>(block) }
    }
}

/// The least lane tells, and a register takes the least of all of its lanes in one step.
#[inline]
#[target_feature(enable = "avx2")]
fn has_clear_lane<const L: usize>(block: &[u64; BLOCK]) -> bool {
    let (registers, _) = block.as_chunks::<4>();
    // Two, for each step waits for the one before.
    let (mut even, mut odd) = (load(registers[0]), load(registers[1]));
    for pair in registers[2..].as_chunks::<2>().0 {
        even = least::<L>(even, load(pair[0]));
        odd = least::<L>(odd, load(pair[1]));
    }
    let least = least::<L>(even, odd);
    let zero = _mm256_setzero_si256();
    let clear = match L {
        8 => _mm256_cmpeq_epi8(least, zero),
        16 => _mm256_cmpeq_epi16(least, zero),
        _ => _mm256_cmpeq_epi32(least, zero),
    };
    _mm256_testz_si256(clear, clear) == 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: [u64; 4]) -> __m256i {
    let [a, b, c, d] = words.map(u64::cast_signed);
    _mm256_set_epi64x(d, c, b, a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn least<const L: usize>(a: __m256i, b: __m256i) -> __m256i {
    const { assert!(L == 8 || L == 16 || L == 32, "lanes of a register") };
    match L {
        8 => _mm256_min_epu8(a, b),
        16 => _mm256_min_epu16(a, b),
        _ => _mm256_min_epu32(a, b),
    }
}
