//! The checks, where each runs, and the rules that have none.

use binder_testkit::{Driver, Stage};

/// How many numbered checks the specification has.
pub const TOTAL: u16 = 258;

/// Where a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// On the pure core and on a device.
    Both,
    /// On the pure core only.
    Core,
    /// On a device only: it is about the operating system.
    Device,
}

/// One check: a name, which is a sentence and begins with the numbers covered, and what to do.
#[derive(Clone, Copy)]
pub struct Check {
    /// For instance `c090_an_empty_call_gets_a_buffer_of_its_own`.
    pub name: &'static str,
    /// Where it runs.
    pub level: Level,
    /// The check.
    pub run: fn(&Stage),
}

impl Check {
    /// The numbers of the specification that this check covers.
    pub fn numbers(&self) -> impl Iterator<Item = u16> + use<> {
        self.name.split('_').map_while(|word| word.strip_prefix('c')?.parse().ok())
    }

    /// The name without the numbers, as a sentence.
    #[must_use]
    pub fn title(&self) -> String {
        let words = self.name.split('_').skip(self.numbers().count());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether it runs on a device.
    #[must_use]
    pub fn is_for_devices(&self) -> bool {
        self.level != Level::Core
    }

    /// Whether it runs on the core.
    #[must_use]
    pub fn is_for_the_core(&self) -> bool {
        self.level != Level::Device
    }
}

/// Declares the checks of a module: their levels and, once more, their names.
macro_rules! checks {
    ($($level:ident $name:ident),* $(,)?) => {
        /// The checks of this part.
        pub(super) const CHECKS: &[$crate::registry::Check] = &[$(
            $crate::registry::Check {
                name: stringify!($name),
                level: $crate::registry::Level::$level,
                run: $name,
            }
        ),*];
    };
}
pub(crate) use checks;

/// A check that a driver does not pass, and is not meant to.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The check.
    pub number: u16,
    /// The driver.
    pub driver: Driver,
    /// Why.
    pub reason: &'static str,
}

/// A test elsewhere that covers a number: the rule shows inside a crate only.
#[derive(Clone, Copy, Debug)]
pub struct UnitTest {
    /// The number.
    pub number: u16,
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// The test's function.
    pub test: &'static str,
}

const fn unit(number: u16, file: &'static str, test: &'static str) -> UnitTest {
    UnitTest { number, file, test }
}

const CODES: &str = "crates/binder-uapi/tests/all/codes.rs";
const HEADER: &str = "crates/binder-uapi/tests/all/header.rs";
const POOL: &str = "crates/idr/src/pool/tests.rs";
const RAW_C: &str = "tests/foreign/tests/all/raw_c.rs";
const IDENTITY: &str = "crates/binder-core/src/identity.rs";
const PID_TABLE: &str = "crates/pidns/src/table/tests.rs";
const RANGES: &str = "crates/binder-core/src/ranges.rs";
const PAGES: &str = "crates/binder-core/src/pages.rs";
const FICKLE: &str = "crates/binder-testkit/tests/all/fickle_memory.rs";
const SCHEDULES: &str = "crates/binder-testkit/tests/all/schedules.rs";

/// The numbers that unit tests cover.
pub const UNIT_TESTS: &[UnitTest] = &[
    unit(1, HEADER, "the_c_headers_agree"),
    unit(2, HEADER, "the_c_headers_agree"),
    unit(3, CODES, "codes_are_those_of_the_header"),
    unit(6, "crates/binder-uapi/src/object.rs", "type_words_are_those_of_the_header"),
    unit(8, "crates/binder-uapi/src/code.rs", "codes_that_share_a_number_have_their_own_names"),
    unit(56, POOL, "a_pool_that_empties_to_its_low_ids_has_no_memory"),
    unit(57, POOL, "memory_is_for_the_parts_of_the_range_that_have_ids"),
    unit(58, POOL, "memory_that_was_reserved_is_used_and_stays"),
    unit(59, POOL, "all_first_ids_are_used_before_the_pool_grows"),
    unit(87, PID_TABLE, "a_pid_is_the_number_in_the_readers_namespace_or_zero"),
    unit(87, RAW_C, "a_caller_that_the_server_cannot_see_has_no_number"),
    unit(87, RAW_C, "a_caller_with_the_number_of_one_that_has_ended_is_known_by_it"),
    unit(88, RAW_C, "a_caller_is_told_by_its_own_pid_and_uid"),
    unit(88, IDENTITY, "a_uid_outside_the_readers_map_is_all_ones"),
    unit(124, FICKLE, "an_object_that_changes_is_translated_as_it_was_first_read"),
    unit(124, FICKLE, "an_untranslated_object_is_never_visible"),
    unit(172, RANGES, "any_order_of_freeing_five_ranges_ends_with_one_free_range"),
    unit(176, PAGES, "a_page_shared_by_two_buffers_becomes_idle_with_the_second"),
    unit(177, PAGES, "only_idle_pages_are_reclaimed_the_longest_idle_first"),
    unit(181, RANGES, "the_ninth_range_makes_a_tree_and_the_last_one_ends_it"),
    unit(221, SCHEDULES, "a_thread_that_exits_before_it_reads_its_oneway_does_not_block_the_node"),
    unit(236, RAW_C, "a_thousand_devices_outlive_their_mount"),
    unit(245, FICKLE, "a_command_that_changes_is_obeyed_as_it_was_first_read"),
];

/// Numbers that our driver does not cover, first and last, and why. Where there are checks already,
/// they run on the kernel alone.
pub const NOT_YET: &[(u16, u16, &str)] = &[];

/// Why our driver does not pass a check yet.
#[must_use]
pub fn not_yet(check: &Check) -> Option<&'static str> {
    check.numbers().find_map(reason_for)
}

/// Why our driver does not cover a number yet.
#[must_use]
pub fn reason_for(number: u16) -> Option<&'static str> {
    let entry = NOT_YET.iter().find(|(first, last, _)| (*first..=*last).contains(&number));
    entry.map(|(_, _, reason)| *reason)
}

const MMAP_IS_UNSEEN: &str = "a file system in user space is not told of mmap";

const fn in_user_space(number: u16, reason: &'static str) -> Difference {
    Difference { number, driver: Driver::UserSpace, reason }
}

const fn in_the_kernel(number: u16, reason: &'static str) -> Difference {
    Difference { number, driver: Driver::Kernel, reason }
}

/// What drivers do otherwise.
pub const DIFFERENCES: &[Difference] = &[
    in_user_space(10, MMAP_IS_UNSEEN),
    in_user_space(11, MMAP_IS_UNSEEN),
    in_user_space(12, MMAP_IS_UNSEEN),
    in_user_space(13, MMAP_IS_UNSEEN),
    in_user_space(17, MMAP_IS_UNSEEN),
    in_the_kernel(30, "the C driver writes BR_NOOP without looking at the room"),
    in_the_kernel(38, "the C driver keeps the buffer until the file closes"),
    in_the_kernel(46, "the guest has no security module, so there are no labels"),
    in_the_kernel(148, "the C driver takes a parent at offset 0 for none"),
    in_the_kernel(222, "the C driver forgets the notices of a thread that exits"),
];

/// The accepted difference between `driver` and a check, if there is one.
#[must_use]
pub fn difference(check: &Check, driver: Driver) -> Option<&'static Difference> {
    DIFFERENCES.iter().find(|difference| {
        difference.driver == driver && check.numbers().any(|number| number == difference.number)
    })
}
