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
    assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Ok(5));
    assert_eq!((pool.len(), pool.last_id()), (5, Some(4)));
    assert!(!pool.contains(5));
    assert_eq!(pool.find_unused_id(0).and_then(Reservation::acquire), Ok(5));
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
    assert_eq!(reservation.acquire(), Ok(1));
    assert_eq!(owner.names, [None, Some("first")]);
}

// C055
#[test]
fn a_thousand_ids_come_in_order() {
    let mut pool = IdPool::new();
    for id in 1..=1000 {
        assert_eq!(pool.acquire_lowest(1), Ok(id));
    }
    assert_eq!((pool.len(), pool.last_id()), (1000, Some(1000)));
}

// C056
#[test]
fn a_pool_that_empties_to_its_low_ids_has_no_memory() {
    let mut pool = filled(1024);
    release(&mut pool, (129..1024).rev());
    assert_eq!((pool.heap_bytes(), pool.last_id()), (128, Some(128)));
    // A hole of its own goes with the tree.
    release(&mut pool, [7, 128]);
    assert_eq!((pool.heap_bytes(), pool.len()), (0, 127));
    assert_eq!([7, 128].map(|_| pool.acquire_lowest(0)), [Ok(7), Ok(128)]);
}

// C057
#[test]
fn memory_is_for_the_parts_of_the_range_that_have_ids() {
    let mut pool = IdPool::new();
    let mut ids = alloc::vec::Vec::new();
    for nth in 1..=48 {
        ids.push(nth * (IdPool::MAX_IDS / 48) - 1);
        assert_eq!(pool.acquire_lowest(ids[nth as usize - 1]), Ok(ids[nth as usize - 1]));
    }
    assert!(pool.heap_bytes() <= 512 + 48 * 1_680, "{} bytes for 48 ids", pool.heap_bytes());
    release(&mut pool, ids.iter().copied().skip(1));
    assert!(pool.heap_bytes() <= 512 + 1_680, "{} bytes for one id", pool.heap_bytes());
    assert_eq!(pool.find_unused_id(ids[0]).map(|found| found.id()), Ok(ids[0] + 1));
    release(&mut pool, [ids[0]]);
    assert_eq!(pool.heap_bytes(), 0);
}

#[test]
fn the_highest_id_of_all_comes_and_goes_without_a_word_read_twice() {
    let mut pool = IdPool::new();
    let last = IdPool::MAX_IDS - 1;
    for first in [0, 5, 70, 5_000, 300_000, 20_000_000] {
        assert_eq!(pool.acquire_lowest(first), Ok(first));
        assert_eq!(pool.acquire_lowest(last), Ok(last));
        assert_eq!(pool.acquire_lowest(last), Err(AcquireError::Exhausted { start: last }));
        release(&mut pool, [last]);
        assert_eq!(pool.last_id(), Some(first));
    }
}

// C059
#[test]
fn all_first_ids_are_used_before_the_pool_grows() {
    let mut pool = IdPool::new();
    for id in 1..512 {
        assert_eq!(pool.acquire_lowest(1), Ok(id));
    }
    assert_eq!(pool.find_unused_id(1).map(|found| found.id()), Ok(512));
    assert_eq!(pool.acquire_lowest(0), Ok(0));
    assert_eq!((pool.heap_bytes(), pool.len()), (0, 512));
    assert_eq!(pool.acquire_lowest(0), Ok(512));
}

#[test]
fn what_is_not_in_use_cannot_be_released() {
    let mut pool = filled(600);
    // A hole of its own, and one in the bitmap.
    release(&mut pool, [7, 100]);
    let before = alloc::format!("{pool:?}");
    for id in [7, 100, 600, 1_023, 1_024, 1 << 30, u32::MAX] {
        assert_eq!(pool.release_id(id), Err(NotInUse { id }));
    }
    assert_eq!(alloc::format!("{pool:?}"), before);
    assert_eq!([0, 0, 0].map(|start| pool.acquire_lowest(start)), [Ok(7), Ok(100), Ok(600)]);
    assert_eq!(NotInUse { id: 7 }.to_string(), "id 7 is not in use");
}

#[test]
fn a_start_may_be_anywhere() {
    let mut pool = IdPool::new();
    assert_eq!(pool.acquire_lowest(5000), Ok(5000));
    assert_eq!((pool.len(), pool.last_id()), (1, Some(5000)));
    assert_eq!(pool.acquire_lowest(0), Ok(0));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn a_hole_is_found_beyond_any_number_of_full_words() {
    let mut pool = filled(300_000);
    assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Ok(300_000));
    for hole in [0, 63, 64, 4_095, 4_096, 262_143, 262_144, 299_999] {
        release(&mut pool, [hole]);
        assert_eq!(pool.find_unused_id(0).map(|found| found.id()), Ok(hole));
        assert_eq!(pool.find_unused_id(hole).map(|found| found.id()), Ok(hole));
        assert_eq!(pool.find_unused_id(hole + 1).map(|found| found.id()), Ok(300_000));
        assert_eq!(pool.acquire_lowest(0), Ok(hole));
    }
}

#[test]
fn a_start_that_no_pool_reaches_is_refused_and_costs_nothing() {
    let mut pool = filled(3);
    for start in [1 << 30, u32::MAX] {
        assert_eq!(pool.acquire_lowest(start), Err(AcquireError::Exhausted { start }));
    }
    assert_eq!((pool.heap_bytes(), pool.len()), (0, 3));
    let message = AcquireError::Exhausted { start: 1 << 30 }.to_string();
    assert_eq!(message, "no id is free from 1073741824 on, 1073741823 is the highest there is");
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn an_id_takes_a_quarter_of_a_byte_at_most() {
    let mut pool = IdPool::new();
    assert_eq!(pool.heap_bytes(), 0);
    for ids in 1..=300_000 {
        assert_eq!(pool.acquire_lowest(0), Ok(ids - 1));
        if ids >= 1_000 && (ids % 997 == 0 || (ids - 1) % 64 == 0) {
            let bytes = pool.heap_bytes();
            assert!(bytes * 4 <= ids as usize, "{bytes} bytes for {ids}");
        }
    }
    let bytes = IdPool::with_capacity(10_000_000).expect("memory").heap_bytes();
    assert!(bytes * 4 <= 10_000_000, "{bytes} bytes");
}

// C058
#[test]
fn memory_that_was_reserved_is_used_and_stays() {
    for ids in [0, 512, 513, 1_000, 10_000, 300_000] {
        let mut pool = IdPool::with_capacity(ids).expect("memory");
        let bytes = pool.heap_bytes();
        for id in (0..ids).step_by(63) {
            assert_eq!(pool.acquire_lowest(id), Ok(id));
        }
        assert_eq!(pool.heap_bytes(), bytes, "{ids}");
        pool.retain(|_| false);
        assert_eq!(pool.heap_bytes(), bytes, "{ids}");
        assert_eq!((pool.drain().count(), pool.heap_bytes()), (0, 0));
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
    assert_eq!(pool.find_unused_id(3).and_then(Reservation::acquire), Ok(7));
    assert_eq!(pool.acquire_lowest(0), Ok(1));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn a_hole_before_the_start_is_not_found() {
    for words in [1, 2, 63, 64, 65, 128, 4_096, 8_192] {
        let len = words * 64;
        let mut pool = filled(len);
        release(&mut pool, [0]);
        assert_eq!(pool.acquire_lowest(len - 1), Ok(len));
    }
}
