//! Five buffers of all kinds of ends, freed in all orders: what becomes of their ranges and pages.
//!
//! The test of the specification (4.9): 5^5 ways for the buffers to end, at the front of the area or
//! at its back, and 120 orders to free them. All of it takes a while in a build that is not
//! optimized, so such a one takes a sample.

use alloc::vec::Vec;

use super::*;

const AREA_BYTES: u32 = 128 << 10;
const PAGE_BYTES: u32 = MemoryBudget::PAGE_BYTES;
const BUFFERS: usize = 5;
const CASES: usize = 5usize.pow(5) * 2 * 120;

/// From one case of a sample to the next; prime, so that all digits of a case's number change.
const STEP: usize = if cfg!(debug_assertions) { 151 } else { 1 };

/// Where a buffer ends that begins at `start`.
fn end(start: u32, kind: usize) -> u32 {
    const UNALIGNED: u32 = 128;
    let page_end = (start + 1).next_multiple_of(PAGE_BYTES);
    match kind {
        // In the same page, or with it.
        0 => start + UNALIGNED,
        1 => page_end,
        // In the next page, or with it.
        2 => page_end + UNALIGNED,
        3 => page_end + PAGE_BYTES,
        // Two pages on.
        _ => page_end + PAGE_BYTES + UNALIGNED,
    }
}

/// The lengths of the buffers, by the digits of `kinds`.
fn lengths(kinds: usize, from_the_back: bool) -> [u32; BUFFERS] {
    let (mut start, mut kinds) = (0, kinds);
    let mut lengths = [0; BUFFERS].map(|_: u32| {
        let end = end(start, kinds % 5);
        kinds /= 5;
        core::mem::replace(&mut start, end).abs_diff(end)
    });
    if from_the_back {
        lengths.reverse();
        // A long one in front of the others brings these to the last pages.
        lengths[0] += AREA_BYTES - start;
    }
    lengths
}

/// The order in which the buffers are freed, by its number below 120.
fn order(number: usize) -> [usize; BUFFERS] {
    let (mut left, mut number): (Vec<usize>, _) = ((0..BUFFERS).collect(), number);
    core::array::from_fn(|at| {
        let ways = BUFFERS - at;
        let picked = left.remove(number % ways);
        number /= ways;
        picked
    })
}

/// All pages of the area that memory was found for.
fn present(mapping: &Mapping) -> u32 {
    let PageCounts { in_use, idle } = mapping.page_counts();
    in_use + idle
}

fn take_all(mapping: &mut Mapping, lengths: [u32; BUFFERS]) -> [BufferReservation; BUFFERS] {
    let mut expected_start = 0;
    lengths.map(|length| {
        let sizes = Sizes { data: length.into(), ..Sizes::default() };
        let reservation = mapping.reserve(sizes, false).expect("room for five");
        assert_eq!(
            (reservation.layout.start, reservation.layout.slot_len),
            (expected_start, length)
        );
        expected_start += length;
        reservation
    })
}

fn free_all(mapping: &mut Mapping, taken: [BufferReservation; BUFFERS], order: [usize; BUFFERS]) {
    let mut taken = taken.map(Some);
    for index in order {
        mapping.abort(taken[index].take().expect("each once"));
    }
}

fn check(kinds: usize, from_the_back: bool, order: [usize; BUFFERS]) {
    let mut mapping = Mapping::new(
        MappingArea { base: 0, len_bytes: AREA_BYTES.into() },
        MemoryBudget::new(usize::MAX),
    );
    assert_eq!(mapping.ranges.free_ranges(), [(0, AREA_BYTES)]);
    let lengths = lengths(kinds, from_the_back);
    let touched = lengths.iter().sum::<u32>().div_ceil(PAGE_BYTES);

    let taken = take_all(&mut mapping, lengths);
    assert_eq!(mapping.page_counts(), PageCounts { in_use: touched, idle: 0 });
    free_all(&mut mapping, taken, order);
    assert_eq!(mapping.page_counts(), PageCounts { in_use: 0, idle: touched });
    assert_eq!(mapping.ranges.free_ranges(), [(0, AREA_BYTES)]);

    // What is idle is used again, and nothing else is needed.
    let taken = take_all(&mut mapping, lengths);
    assert_eq!(mapping.page_counts(), PageCounts { in_use: touched, idle: 0 });
    free_all(&mut mapping, taken, order);

    let mut reclaimed: Vec<u32> = core::iter::from_fn(|| mapping.pages.reclaim(0)).collect();
    reclaimed.sort_unstable();
    assert_eq!(reclaimed, (0..touched).collect::<Vec<_>>());
    assert_eq!((present(&mapping), mapping.pages_high_watermark()), (0, touched as usize));
}

#[test]
fn five_buffers_leave_one_free_range_and_idle_pages_in_any_order() {
    for case in (0..CASES).step_by(STEP) {
        check(case / 240, case % 2 == 1, order(case / 2 % 120));
    }
}

#[test]
fn every_order_is_another() {
    let orders: alloc::collections::BTreeSet<_> = (0..120).map(order).collect();
    assert_eq!(orders.len(), 120);
}
