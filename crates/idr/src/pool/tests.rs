use alloc::string::ToString;

use super::*;

/// A pool of `len` ids, lowest first.
fn filled(len: u32) -> IdPool {
    let mut pool = IdPool::new();
    for id in 0..len {
        assert_eq!(pool.acquire_lowest(0), Ok(id));
    }
    pool
}

fn release(pool: &mut IdPool, ids: impl IntoIterator<Item = u32>) {
    for id in ids {
        assert_eq!(pool.release_id(id), Ok(()));
    }
}

#[test]
fn the_lowest_free_id_comes_first() {
    let mut pool = filled(1000);
    release(&mut pool, [700, 3, 64]);
    assert_eq!(pool.acquire_lowest(0), Ok(3));
    assert_eq!(pool.acquire_lowest(65), Ok(700));
    assert_eq!(pool.acquire_lowest(1), Ok(64));
    assert_eq!(pool.acquire_lowest(1), Ok(1000));
}

#[test]
fn a_dropped_reservation_changes_nothing() {
    let mut pool = filled(5);
    assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Some(5));
    assert_eq!((pool.len(), pool.last_id()), (5, Some(4)));
    assert!(!pool.contains(5));
    assert_eq!(pool.find_unused_id(0).map(Reservation::acquire), Some(5));
    assert_eq!((pool.len(), pool.last_id()), (6, Some(5)));
}

#[test]
fn an_owner_may_fill_its_other_fields_between_the_steps() {
    struct Owner {
        ids: IdPool,
        names: [Option<&'static str>; 2],
    }
    let mut owner = Owner { ids: IdPool::new(), names: [None; 2] };
    let reservation = owner.ids.find_unused_id(1).expect("an empty pool");
    owner.names[reservation.id() as usize] = Some("first");
    assert_eq!(reservation.acquire(), 1);
    assert_eq!(owner.names, [None, Some("first")]);
}

// C055
#[test]
fn a_full_pool_doubles() {
    let mut pool = IdPool::new();
    for id in 1..=1000 {
        assert_eq!(pool.acquire_lowest(1), Ok(id));
        assert_eq!(pool.capacity(), (id + 1).next_power_of_two().max(64), "with {id} ids");
    }
}

// C056
#[test]
fn a_pool_that_empties_to_its_low_ids_returns_to_64() {
    let mut pool = filled(128);
    for id in (16..128).rev() {
        assert_eq!(pool.release_and_shrink(id), Ok(()));
    }
    assert_eq!((pool.capacity(), pool.len()), (64, 16));
    assert_eq!(pool.acquire_lowest(0), Ok(16));
}

// C057
#[test]
fn a_pool_halves_only_if_its_highest_id_is_below_a_quarter() {
    let mut pool = filled(128);
    release(&mut pool, 33..128);
    assert_eq!((pool.last_id(), pool.shrink_request()), (Some(32), None));
    release(&mut pool, [32]);
    assert_eq!(pool.last_id(), Some(31));
    let request = pool.shrink_request().expect("31 is below a quarter of 128");
    pool.shrink(request.realloc().expect("memory"));
    assert_eq!(pool.capacity(), 64);
}

#[test]
fn a_large_pool_loses_half_at_each_shrink() {
    let mut pool = filled(4096);
    release(&mut pool, (1..4096).rev());
    for capacity in [2048, 1024, 512, 256, 128, 64] {
        let request = pool.shrink_request().expect("one id in a large pool");
        pool.shrink(request.realloc().expect("memory"));
        assert_eq!(pool.capacity(), capacity);
    }
    assert_eq!(pool.shrink_request(), None);
    assert!(pool.contains(0));
}

#[test]
fn an_empty_pool_shrinks_to_64_at_once() {
    let mut pool = filled(4096);
    release(&mut pool, 0..4095);
    assert_eq!(pool.shrink_request(), None);
    assert_eq!(pool.release_and_shrink(4095), Ok(()));
    assert_eq!(pool.capacity(), 64);
    assert_eq!(pool.shrink_request(), None);
}

// C058
#[test]
fn memory_from_before_another_grew_is_discarded() {
    let mut pool = filled(64);
    let (ours, theirs) = (pool.grow_request(), pool.grow_request());
    let realloc = |request: Option<GrowRequest>| request.expect("room").realloc().expect("memory");
    pool.grow(realloc(theirs));
    for id in 64..=128 {
        assert_eq!(pool.acquire_lowest(0), Ok(id));
    }
    pool.grow(realloc(ours));
    assert_eq!((pool.capacity(), pool.len(), pool.last_id()), (256, 129, Some(128)));
    assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Some(129));
}

#[test]
fn a_shrink_that_is_no_longer_due_is_discarded() {
    let mut pool = filled(256);
    release(&mut pool, 10..256);
    let smaller = pool.shrink_request().expect("due").realloc().expect("memory");
    assert_eq!(pool.find_unused_id(64).map(Reservation::acquire), Some(64));
    pool.shrink(smaller);
    assert_eq!((pool.capacity(), pool.last_id()), (256, Some(64)));
}

#[test]
fn a_shrink_may_be_larger_than_due_but_never_too_small_or_no_gain() {
    let memory_for = |capacity| {
        let request = ShrinkRequest { capacity };
        request.realloc().expect("memory")
    };
    let mut pool = filled(512);
    release(&mut pool, 10..512);
    pool.shrink(memory_for(128));
    assert_eq!(pool.capacity(), 512, "256 is due");
    pool.shrink(memory_for(1024));
    assert_eq!(pool.capacity(), 512, "a shrink never grows");
    release(&mut pool, 0..10);
    pool.shrink(memory_for(256));
    assert_eq!(pool.capacity(), 256, "64 is due, and 256 is a gain");
}

// C059
#[test]
fn all_64_first_ids_are_used_before_the_pool_grows() {
    let mut pool = IdPool::new();
    for id in 1..64 {
        assert_eq!(pool.acquire_lowest(1), Ok(id));
    }
    assert!(pool.find_unused_id(1).is_none());
    assert_eq!(pool.find_unused_id(0).map(Reservation::acquire), Some(0));
    assert!(pool.find_unused_id(0).is_none());
    assert_eq!((pool.capacity(), pool.len()), (64, 64));
}

#[test]
fn the_capacity_stays_below_two_to_the_31() {
    assert_eq!(doubled(64), Some(128));
    assert_eq!(doubled(1 << 29), Some(1 << 30));
    assert_eq!(doubled(1 << 30), None);
}

#[test]
fn what_is_not_in_use_cannot_be_released() {
    let mut pool = filled(300);
    // A hole of its own, and one in the bitmap.
    release(&mut pool, [7, 100]);
    let before = alloc::format!("{pool:?}");
    for id in [7, 100, 300, 511, 512, 1 << 30, u32::MAX] {
        assert_eq!(pool.release_id(id), Err(NotInUse { id }));
        assert_eq!(pool.release_and_shrink(id), Err(NotInUse { id }));
    }
    assert_eq!(alloc::format!("{pool:?}"), before);
    assert_eq!([0, 0, 0].map(|start| pool.acquire_lowest(start)), [Ok(7), Ok(100), Ok(300)]);
    assert_eq!(NotInUse { id: 7 }.to_string(), "id 7 is not in use");
}

#[test]
fn a_start_beyond_the_capacity_grows_the_pool_to_it() {
    let mut pool = IdPool::new();
    assert!(pool.find_unused_id(5000).is_none());
    assert_eq!(pool.acquire_lowest(5000), Ok(5000));
    assert_eq!((pool.capacity(), pool.len()), (8192, 1));
    assert_eq!(pool.acquire_lowest(0), Ok(0));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn a_hole_is_found_beyond_any_number_of_full_words() {
    let mut pool = filled(300_000);
    assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Some(300_000));
    for hole in [0, 63, 64, 4_095, 4_096, 262_143, 262_144, 299_999] {
        release(&mut pool, [hole]);
        assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Some(hole));
        assert_eq!(pool.find_unused_id(hole).map(|found| found.id()), Some(hole));
        assert_eq!(pool.find_unused_id(hole + 1).map(|found| found.id()), Some(300_000));
        assert_eq!(pool.acquire_lowest(0), Ok(hole));
    }
}

#[test]
fn a_start_that_no_pool_reaches_is_refused_and_costs_nothing() {
    let mut pool = filled(3);
    for start in [1 << 30, u32::MAX] {
        assert_eq!(pool.acquire_lowest(start), Err(AcquireError::Exhausted { start }));
    }
    assert_eq!((pool.capacity(), pool.len()), (64, 3));
    let message = AcquireError::Exhausted { start: 1 << 30 }.to_string();
    assert_eq!(message, "no id is free from 1073741824 on, 1073741823 is the highest there is");
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn an_id_takes_a_quarter_of_a_byte_at_most() {
    assert_eq!(IdPool::new().heap_bytes(), 0);
    for ids in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let bytes = IdPool::with_capacity(ids).expect("memory").heap_bytes();
        assert!(bytes * 4 <= ids as usize, "{bytes} bytes for {ids}");
    }
}

#[test]
fn a_capacity_that_is_known_before_needs_no_growth() {
    for (ids, capacity) in [(0, 64), (64, 64), (65, 128), (1000, 1024)] {
        let pool = IdPool::with_capacity(ids).expect("memory");
        assert_eq!((pool.capacity(), pool.len()), (capacity, 0));
    }
    let too_many = IdPool::with_capacity((1 << 30) + 1);
    assert_eq!(too_many.err(), Some(AcquireError::TooLarge { ids: (1 << 30) + 1 }));
    let message = AcquireError::TooLarge { ids: u32::MAX }.to_string();
    assert_eq!(message, "room for 4294967295 ids was asked for, a pool has at most 1073741824");
}

#[test]
fn a_search_from_above_does_not_hide_what_is_free_below() {
    let mut pool = IdPool::new();
    assert_eq!(pool.acquire_lowest(5), Ok(5));
    for id in [0, 1, 2, 3, 4, 6] {
        assert_eq!(pool.acquire_lowest(0), Ok(id));
    }
    release(&mut pool, [1]);
    assert_eq!(pool.find_unused_id(3).map(Reservation::acquire), Some(7));
    assert_eq!(pool.acquire_lowest(0), Ok(1));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn a_hole_before_the_start_is_not_found() {
    for words in [1, 2, 63, 64, 65, 128, 4_096, 8_192] {
        let len = words * 64;
        let mut pool = filled(len);
        release(&mut pool, [0]);
        if len == pool.capacity() {
            assert!(pool.find_unused_id(len - 1).is_none(), "of {len}");
        }
        assert_eq!(pool.acquire_lowest(len - 1), Ok(len));
    }
}

#[test]
fn memory_that_was_prepared_says_for_how_many_ids() {
    let mut pool = filled(64);
    let larger = pool.grow_request().unwrap().realloc();
    assert_eq!(alloc::format!("{larger:?}"), "Ok(Larger(Bitmap { capacity: 128, .. }))");
    pool.grow(larger.unwrap());
    release(&mut pool, 0..64);
    let smaller = pool.shrink_request().unwrap().realloc();
    assert_eq!(alloc::format!("{smaller:?}"), "Ok(Smaller(Bitmap { capacity: 64, .. }))");
}
