//! Contract tests of [`FileSystem`], run over every implementation. Each rule is one function, whose name
//! says it.
//!
//! An implementation's tests create a [`Fixture`] and have one test for each rule
//! (`vfs::contract_tests!`), or run them all ([`broken`]). Rules that need an engine below (a crash at any
//! point, damage) are tested with the engine; here a crash happens between two calls.

mod attributes;
mod clones;
mod content;
mod directories;
mod durability;
mod holds;
mod names;
mod permissions;
mod run;
mod snapshots;
mod space;
mod xattrs;

use crate::{FileSystem, FsError};
use run::Run;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Implementation under test.
pub trait Fixture {
    /// File system type. Clones are handles of one file system.
    type FileSystem: FileSystem + Clone + 'static;
    /// Creates a file system of the engine under test: empty, its root owned by user and group 0 with mode
    /// 0755.
    fn create(&mut self) -> Self::FileSystem;
    /// Creates a file system of the same type in another engine; `None` where only one engine exists.
    fn foreign(&mut self) -> Option<Self::FileSystem>;
    /// Runs the engine; called while a future is pending.
    fn turn(&mut self);
    /// Limits what is left for content in the engine to `bytes`, or less.
    fn leave(&mut self, bytes: u64);
    /// Restarts the engine with all of its file systems, and returns the one that `file_system` was.
    fn restart(&mut self, file_system: Self::FileSystem, how: Restart) -> Self::FileSystem;
    /// Takes a read-only snapshot.
    fn snapshot(&mut self, file_system: &Self::FileSystem) -> Result<Self::FileSystem, FsError>;
    /// Gives a file system the content of its snapshot.
    fn roll_back(&mut self, file_system: &Self::FileSystem, to: &Self::FileSystem);
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Everything was written.
    Clean,
    /// Everything that is not durable may be lost.
    Crash,
}

/// All rules, by the module that has them: passed to a macro, behind what is in brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_rule {
    ($then:path, [$($with:tt)*]) => {
        $then! {
            [$($with)*]
            names: a_name_leads_to_its_file;
            names: names_are_compared_byte_by_byte;
            names: a_creation_changes_its_directory;
            names: each_kind_of_file_is_created_as_asked;
            names: a_name_that_exists_is_not_created_again;
            names: an_existing_file_is_opened_and_keeps_its_attributes;
            names: an_exclusive_creation_is_repeated_with_its_verifier_alone;
            names: a_link_is_another_name_of_the_file;
            names: directories_have_one_name;
            names: a_file_has_at_most_as_many_links_as_the_limit_says;
            names: a_removed_file_is_stale;
            names: a_removal_takes_only_the_kinds_it_names;
            names: a_directory_with_entries_is_neither_removed_nor_replaced;
            names: a_change_happens_to_the_expected_file_only;
            names: a_number_of_a_deleted_file_is_never_given_again;
            names: files_are_no_directories;
            names: a_symbolic_link_keeps_its_target;
            directories: a_rename_moves_the_name_and_keeps_the_file;
            directories: a_rename_replaces_what_had_the_name;
            directories: a_rename_between_names_of_one_file_changes_nothing;
            directories: a_rename_replaces_like_with_like;
            directories: a_directory_never_moves_below_itself;
            directories: a_moved_directory_has_its_new_parent;
            directories: sub_directories_count_as_links;
            directories: the_root_is_its_own_parent;
            directories: a_listing_in_pieces_has_every_entry_once;
            directories: a_listing_continues_behind_a_removed_entry;
            directories: cookies_stay_with_their_entries;
            directories: an_entry_is_listed_with_its_file;
            attributes: each_change_has_a_larger_change_value_and_a_later_time;
            attributes: results_have_the_state_before_and_after_the_change;
            attributes: access_is_no_change;
            attributes: attributes_are_set_all_or_none;
            attributes: a_guard_of_another_time_prevents_the_change;
            attributes: a_size_belongs_to_regular_files_and_has_a_limit;
            attributes: setting_nothing_changes_nothing;
            attributes: times_are_kept_as_set;
            permissions: mode_bits_protect_names;
            permissions: mode_bits_protect_content;
            permissions: an_open_file_is_read_and_written_whatever_its_mode;
            permissions: set_id_bits_do_not_outlive_a_write;
            permissions: new_files_belong_to_their_caller;
            permissions: sticky_directories_protect_the_files_of_others;
            content: content_is_what_was_written;
            content: a_read_ends_with_the_file_and_says_so;
            content: a_write_behind_the_end_leaves_zeros_between;
            content: a_write_of_nothing_changes_nothing;
            content: a_file_that_shrank_shows_no_old_bytes_when_it_grows;
            content: ranges_beyond_the_largest_file_change_nothing;
            content: a_call_that_is_too_long_changes_nothing;
            content: other_kinds_have_no_content;
            content: any_bytes_at_any_offset_equal_a_model;
            content: grains_of_zeros_are_holes;
            content: a_read_shows_holes_and_data_in_order;
            content: a_seek_finds_data_and_holes_from_its_start;
            content: deallocated_bytes_are_zero_and_the_others_stay;
            content: deallocation_keeps_the_size;
            content: zeroed_bytes_are_zero_and_the_file_grows;
            clones: a_clone_is_equal_and_independent;
            clones: a_clone_is_aligned_or_ends_with_its_source;
            clones: a_clone_lies_inside_its_source;
            clones: a_clone_of_overlapping_ranges_is_refused;
            clones: a_clone_takes_holes_with_it;
            clones: a_clone_that_ends_inside_a_grain_clears_its_rest;
            clones: a_clone_leaves_its_source_unchanged;
            clones: a_clone_needs_no_space;
            clones: a_clone_works_between_file_systems_of_one_engine;
            clones: a_source_of_another_engine_is_refused;
            clones: a_clone_of_nothing_changes_nothing;
            clones: a_copy_of_any_bytes_is_exact;
            clones: a_long_copy_between_grains_is_done_in_parts;
            space: used_bytes_are_mapped_or_promised;
            space: freed_bytes_are_what_a_deletion_frees;
            space: an_allocation_grows_the_file_and_reads_as_zeros;
            space: an_allocation_without_space_changes_nothing;
            space: an_allocated_range_is_written_in_a_full_pool;
            space: promises_hold_for_both_sides_of_a_clone;
            space: promises_hold_after_a_snapshot;
            space: zeroing_keeps_a_promise;
            space: deallocation_ends_a_promise;
            space: a_write_without_space_changes_nothing;
            space: a_full_pool_lets_files_go;
            holds: a_held_file_outlives_its_names;
            holds: the_last_release_deletes_a_file_without_names;
            holds: a_creation_can_hold_its_file;
            holds: a_file_without_names_outlives_a_restart_until_it_is_dropped;
            holds: only_regular_files_are_held;
            durability: the_write_verifier_changes_with_each_start_only;
            durability: a_durable_change_outlives_a_crash;
            durability: a_commit_makes_unstable_writes_durable;
            durability: a_durable_change_makes_earlier_ones_durable;
            durability: change_values_of_lost_changes_are_not_given_again;
            durability: an_exclusive_creation_is_repeated_after_a_restart;
            durability: directories_have_no_commit;
            snapshots: a_snapshot_keeps_what_was_there;
            snapshots: a_snapshot_refuses_every_change;
            snapshots: a_roll_back_gives_no_old_value_to_other_content;
            xattrs: a_value_is_what_was_set;
            xattrs: creation_and_replacement_are_told_apart;
            xattrs: an_extended_attribute_is_a_change_of_the_file;
            xattrs: extended_attributes_have_limits;
            xattrs: extended_attributes_belong_to_files_and_directories;
            xattrs: extended_attributes_need_permission;
        }
    };
}

macro_rules! table {
    ([] $($module:ident: $rule:ident;)*) => {
        /// Names of all rules.
        pub const RULES: &[&str] = &[$(stringify!($rule),)*];

        /// Checks one rule. Panics when it is broken, or unknown.
        pub fn check<F: Fixture>(rule: &str, fixture: F) {
            let run = Run::new(fixture);
            match rule {
                $(stringify!($rule) => $module::$rule(&run),)*
                _ => panic!("no such rule: {rule}"),
            }
        }
    };
}

for_each_rule!(table, []);

/// Checks all rules, each with its own fixture. Returns the names of those that are broken.
pub fn broken<F: Fixture>(mut fixture: impl FnMut() -> F) -> Vec<&'static str> {
    let mut holds = |rule| {
        let fixture = fixture();
        catch_unwind(AssertUnwindSafe(|| check(rule, fixture))).is_ok()
    };
    RULES.iter().copied().filter(|rule| !holds(rule)).collect()
}

/// Defines one test for each rule of the contract, over the fixture that the expression creates.
#[macro_export]
macro_rules! contract_tests {
    ($fixture:expr) => {
        $crate::for_each_rule!($crate::contract_test_of_each_rule, [$fixture]);
    };
}

/// One test for each rule.
#[doc(hidden)]
#[macro_export]
macro_rules! contract_test_of_each_rule {
    ([$fixture:expr] $($module:ident: $rule:ident;)*) => {
        $(
            #[test]
            fn $rule() {
                $crate::contract::check(stringify!($rule), $fixture);
            }
        )*
    };
}
