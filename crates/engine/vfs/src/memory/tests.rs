//! The file system in memory keeps the contract, and the contract's tests notice each lie.

use super::{Lie, MemoryEngine, MemoryFileSystem};
use crate::contract::{Fixture, RULES, Restart, broken, check};
use crate::{FsError, Timestamp};
use std::collections::BTreeSet;
use std::panic::catch_unwind;

/// Engine in memory, which waits in each call if told to.
struct Memory(MemoryEngine);

impl Memory {
    fn new(lie: Option<Lie>) -> Self {
        let engine = MemoryEngine::new(lie);
        engine.expect_crashes();
        Self(engine)
    }

    fn stuttering() -> Self {
        let memory = Self::new(None);
        memory.0.stutter();
        memory
    }
}

impl Fixture for Memory {
    type FileSystem = MemoryFileSystem;

    fn create(&mut self) -> MemoryFileSystem {
        self.0.create(Timestamp::default())
    }

    fn foreign(&mut self) -> Option<MemoryFileSystem> {
        Some(MemoryEngine::default().create(Timestamp::default()))
    }

    fn turn(&mut self) {}

    fn leave(&mut self, bytes: u64) {
        self.0.leave(bytes);
    }

    fn restart(&mut self, file_system: MemoryFileSystem, how: Restart) -> MemoryFileSystem {
        self.0.restart(how == Restart::Crash);
        file_system
    }

    fn snapshot(&mut self, file_system: &MemoryFileSystem) -> Result<MemoryFileSystem, FsError> {
        file_system.snapshot()
    }

    fn roll_back(&mut self, file_system: &MemoryFileSystem, to: &MemoryFileSystem) {
        assert_eq!(file_system.roll_back(to), Ok(()));
    }
}

crate::contract_tests!(Memory::new(None));

mod that_waits {
    use super::Memory;

    crate::contract_tests!(Memory::stuttering());
}

/// Rule that a lie is about.
fn rule(lie: Lie) -> &'static str {
    match lie {
        Lie::ChangeTimesRepeat => "each_change_has_a_larger_change_value_and_a_later_time",
        Lie::BeforeIsAfter => "results_have_the_state_before_and_after_the_change",
        Lie::AccessIsChange => "access_is_no_change",
        Lie::FileIdsRepeat => "a_number_of_a_deleted_file_is_never_given_again",
        Lie::NamesFoldCase => "names_are_compared_byte_by_byte",
        Lie::ModeBitsIgnored => "mode_bits_protect_names",
        Lie::OpensAreNoRight => "an_open_file_is_read_and_written_whatever_its_mode",
        Lie::SetIdOutlivesWrites => "set_id_bits_do_not_outlive_a_write",
        Lie::CookiesArePositions => "a_listing_continues_behind_a_removed_entry",
        Lie::DirectoriesKeepTheirChange => "a_creation_changes_its_directory",
        Lie::SubdirectoriesAreNoLinks => "sub_directories_count_as_links",
        Lie::VerifiersIgnored => "an_exclusive_creation_is_repeated_with_its_verifier_alone",
        Lie::ExistingFileIsReset => "an_existing_file_is_opened_and_keeps_its_attributes",
        Lie::LinksUnlimited => "a_file_has_at_most_as_many_links_as_the_limit_says",
        Lie::ExpectationsIgnored => "a_change_happens_to_the_expected_file_only",
        Lie::FullDirectoriesGo => "a_directory_with_entries_is_neither_removed_nor_replaced",
        Lie::HoldsIgnored => "a_held_file_outlives_its_names",
        Lie::ReleasedFilesStay => "the_last_release_deletes_a_file_without_names",
        Lie::RestartDropsUnnamed => "a_file_without_names_outlives_a_restart_until_it_is_dropped",
        Lie::RenameToItselfUnlinks => "a_rename_between_names_of_one_file_changes_nothing",
        Lie::ReplacedFilesStay => "a_rename_replaces_what_had_the_name",
        Lie::RenameMakesCycles => "a_directory_never_moves_below_itself",
        Lie::MovedDirectoriesKeepParents => "a_moved_directory_has_its_new_parent",
        Lie::AttributesAreSetInPart => "attributes_are_set_all_or_none",
        Lie::GuardsIgnored => "a_guard_of_another_time_prevents_the_change",
        Lie::EndIsSeenOnlyBehind => "a_read_ends_with_the_file_and_says_so",
        Lie::EmptyWritesCount => "a_write_of_nothing_changes_nothing",
        Lie::FullPoolTearsWrites => "a_write_without_space_changes_nothing",
        Lie::ZerosAreStored => "grains_of_zeros_are_holes",
        Lie::TailsStay => "a_file_that_shrank_shows_no_old_bytes_when_it_grows",
        Lie::EdgesAreFreed => "deallocated_bytes_are_zero_and_the_others_stay",
        Lie::SeeksGoBack => "a_seek_finds_data_and_holes_from_its_start",
        Lie::ZeroEndsPromises => "zeroing_keeps_a_promise",
        Lie::AllocationsPromiseNothing => "an_allocated_range_is_written_in_a_full_pool",
        Lie::PromisesOutliveDeallocation => "deallocation_ends_a_promise",
        Lie::DeallocationCutsTheEnd => "deallocation_keeps_the_size",
        Lie::OverlapsAccepted => "a_clone_of_overlapping_ranges_is_refused",
        Lie::ClonesNeedNoAlignment => "a_clone_is_aligned_or_ends_with_its_source",
        Lie::ClonesSkipHoles => "a_clone_takes_holes_with_it",
        Lie::ClonesCopy => "a_clone_needs_no_space",
        Lie::ClonesTouchTheSource => "a_clone_leaves_its_source_unchanged",
        Lie::PromiseOfOneSide => "promises_hold_for_both_sides_of_a_clone",
        Lie::CopiesWipeTheRest => "a_copy_of_any_bytes_is_exact",
        Lie::SharedBytesAreFreed => "freed_bytes_are_what_a_deletion_frees",
        Lie::XattrsAreReplaced => "creation_and_replacement_are_told_apart",
        Lie::XattrsAreNoChange => "an_extended_attribute_is_a_change_of_the_file",
        Lie::VerifierStays => "the_write_verifier_changes_with_each_start_only",
        Lie::CommitsAreIgnored => "a_commit_makes_unstable_writes_durable",
        Lie::DurableIsUnstable => "a_durable_change_outlives_a_crash",
        Lie::ChangeValuesRepeat => "change_values_of_lost_changes_are_not_given_again",
        Lie::SnapshotsAreWritable => "a_snapshot_refuses_every_change",
        Lie::RollBackRestoresChangeValues => "a_roll_back_gives_no_old_value_to_other_content",
    }
}

#[test]
fn the_contract_notices_each_lie() {
    let unnoticed: Vec<&Lie> =
        Lie::ALL.iter().filter(|lie| catch_unwind(|| check(rule(**lie), Memory::new(Some(**lie)))).is_ok()).collect();
    assert_eq!(unnoticed, [] as [&Lie; 0]);
}

#[test]
fn the_list_of_broken_rules_has_those_that_a_lie_breaks() {
    assert_eq!(broken(|| Memory::new(Some(Lie::SeeksGoBack))), [rule(Lie::SeeksGoBack)]);
    let names: BTreeSet<_> = RULES.iter().collect();
    assert_eq!(names.len(), RULES.len());
}
