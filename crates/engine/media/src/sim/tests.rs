#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use super::*;

fn quiet(seed: u64) -> SimOptions {
    SimOptions { delay: 0, reorder: false, ..SimOptions::new(seed, 1000) }
}

fn filled(blocks: usize, mark: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(blocks);
    buffer.fill(mark);
    buffer
}

/// Executes everything queued and returns the results in the order of completion.
fn drain(disk: &mut SimDisk) -> Vec<Completion> {
    let mut all = Vec::new();
    while disk.outstanding() > 0 {
        disk.wait();
        all.extend(disk.poll());
    }
    all
}

fn write(disk: &mut SimDisk, block: u64, mark: u8) {
    disk.write(0, block, filled(1, mark), false);
    assert!(drain(disk).remove(0).result.is_ok());
}

fn flush(disk: &mut SimDisk) -> Result<Done, MediaError> {
    disk.flush(0);
    drain(disk).remove(0).result
}

/// Mark of a block whose bytes are all equal.
fn mark(disk: &SimDisk, block: u64) -> u8 {
    let content = disk.peek(block).0;
    assert!(content.iter().all(|&byte| byte == content[0]), "torn");
    content[0]
}

fn all_lost(disk: &SimDisk) -> SimDisk {
    disk.crashed_copy(|_| Fate::Lost)
}

#[test]
fn an_unflushed_write_may_be_lost_and_a_flushed_one_not() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 5, 1);
    assert_eq!((mark(&disk, 5), mark(&all_lost(&disk), 5)), (1, 0));
    flush(&mut disk).unwrap();
    write(&mut disk, 5, 2);
    assert_eq!((mark(&disk, 5), mark(&all_lost(&disk), 5)), (2, 1));
    assert_eq!(mark(&disk.crashed_copy(|_| Fate::Applied), 5), 2);
}

#[test]
fn a_durable_write_needs_no_flush_and_is_not_undone_by_one() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 5, 1);
    disk.write(0, 5, filled(1, 2), true);
    assert_eq!(disk.pending_writes().len(), 2);
    drain(&mut disk);
    assert_eq!(mark(&all_lost(&disk), 5), 2);
    assert_eq!(mark(&disk.crashed_copy(|_| Fate::Applied), 5), 2);
    flush(&mut disk).unwrap();
    assert_eq!(mark(&all_lost(&disk), 5), 2);
}

#[test]
fn a_flush_covers_only_what_completed_before_it_was_requested() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 1, 1);
    disk.write(0, 2, filled(1, 2), false);
    disk.flush(0); // the write of block 2 is in flight
    drain(&mut disk);
    let after = all_lost(&disk);
    assert_eq!((mark(&after, 1), mark(&after, 2)), (1, 0));
    assert_eq!(disk.pending_writes(), [PendingWrite { id: 2, block: 2, blocks: 1, completed: true }]);
}

#[test]
fn writes_of_one_block_keep_their_order_over_a_crash() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 1, 1);
    write(&mut disk, 1, 2);
    let first = disk.pending_writes()[0].id;
    assert_eq!(mark(&disk.crashed_copy(|_| Fate::Applied), 1), 2);
    assert_eq!(mark(&disk.crashed_copy(|write| [Fate::Lost, Fate::Applied][usize::from(write.id == first)]), 1), 1);
}

#[test]
fn torn_writes_mix_old_and_new_at_their_grain() {
    let mut disk = SimDisk::new(quiet(3));
    disk.write(0, 0, filled(8, 1), true);
    drain(&mut disk);
    disk.write(0, 0, filled(8, 2), false);
    for completed in [false, true] {
        assert_eq!(disk.pending_writes()[0].completed, completed);
        let (mut block_patterns, mut sector_patterns, mut lengths) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for _ in 0..300 {
            let torn = disk.crashed_copy(|_| Fate::TornBlocks);
            block_patterns.insert((0..8).map(|block| mark(&torn, block)).collect::<Vec<_>>());
            let sectors = |disk: &SimDisk| -> Vec<u8> {
                let content: Vec<u8> = (0..8).flat_map(|block| disk.peek(block).0).collect();
                content
                    .chunks(512)
                    .map(|sector| {
                        assert!(sector.iter().all(|byte| *byte == sector[0]));
                        sector[0]
                    })
                    .collect()
            };
            sector_patterns.insert(sectors(&disk.crashed_copy(|_| Fate::TornSectors)));
            let prefix = sectors(&disk.crashed_copy(|_| Fate::Prefix));
            assert!(prefix.is_sorted_by(|a, b| a >= b));
            lengths.insert(prefix.iter().filter(|&&sector| sector == 2).count());
        }
        assert!(block_patterns.len() > 100 && sector_patterns.len() > 250, "{}", block_patterns.len());
        assert!(lengths.len() > 50, "{}", lengths.len());
        drain(&mut disk);
    }
}

#[test]
fn a_crash_takes_everything_in_flight_and_switches_the_disk_off() {
    let mut fates = BTreeSet::new();
    for seed in 0..200 {
        let mut disk = SimDisk::new(quiet(seed));
        disk.write(1, 1, filled(1, 1), false);
        disk.submit();
        disk.write(2, 2, filled(1, 1), true); // requests may start before they are submitted
        let after = disk.crash();
        fates.insert((after.peek(1).0[0], after.peek(2).0[0]));
        disk.write(3, 3, filled(1, 1), true);
        disk.read(4, 1000, filled(1, 1));
        disk.submit();
        disk.wait();
        assert!(disk.poll().is_none() && disk.outstanding() == 0);
        assert_eq!((mark(&after, 3), after.counters().crashes), (0, 1));
    }
    assert_eq!(fates.len(), 4);
}

#[test]
fn the_same_seed_gives_the_same_story() {
    let run = |seed| {
        let mut disk = SimDisk::new(SimOptions { story_length: 10_000, ..SimOptions::new(seed, 1000) });
        let mut polls = Vec::new();
        for round in 0..50 {
            for block in 0..8 {
                disk.write(block, block * 2, filled(2, round), block == 3);
                disk.read(100 + block, block, Buffer::zeroed(1));
                disk.discard(200 + block, 100 + block, 50);
            }
            disk.flush(300);
            disk.submit();
            for _ in 0..20 {
                polls.push(disk.poll().map(|completion| completion.ticket));
            }
        }
        let after = disk.crash();
        let content: Vec<u8> = (0..200).flat_map(|block| after.peek(block).0).collect();
        (polls, content, after.story())
    };
    assert!(run(1) == run(1));
    assert!(run(1) != run(2));
    assert!(run(1).2.ends_with("crash\n"));
}

#[test]
fn completions_come_in_any_order_and_number() {
    let (mut orders, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..200 {
        let mut disk = SimDisk::new(SimOptions::new(seed, 1000));
        (0..3).for_each(|ticket| disk.read(ticket, ticket, Buffer::zeroed(1)));
        assert!(disk.poll().is_none(), "not submitted");
        disk.submit();
        let now = std::iter::from_fn(|| disk.poll()).take(3).count();
        numbers.insert(now);
        let mut disk = SimDisk::new(SimOptions::new(seed, 1000));
        (0..3).for_each(|ticket| disk.read(ticket, ticket, Buffer::zeroed(1)));
        orders.insert(drain(&mut disk).iter().map(|completion| completion.ticket).collect::<Vec<_>>());
    }
    assert_eq!((orders.len(), numbers.len()), (6, 4));
}

#[test]
fn an_immediate_disk_completes_in_the_call() {
    let mut disk = SimDisk::new(SimOptions::immediate(1, 1000));
    disk.write(7, 1, filled(1, 1), false);
    disk.read(8, 1, Buffer::zeroed(1));
    assert_eq!(disk.poll().unwrap().ticket, 7);
    let Ok(Done::Read(buffer)) = disk.poll().unwrap().result else { panic!("not read") };
    assert_eq!(buffer[0], 1);
}

#[test]
fn faults_strike_when_and_where_they_are_told() {
    let mut disk = SimDisk::new(quiet(1));
    let outcome = |disk: &mut SimDisk, block| {
        disk.write(0, block, filled(2, 9), false);
        drain(disk).remove(0).result.is_ok()
    };
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::Error).on_blocks(10..11).after(1));
    assert!(outcome(&mut disk, 11) && outcome(&mut disk, 9) && outcome(&mut disk, 8));
    assert!(!outcome(&mut disk, 10));
    assert!(outcome(&mut disk, 10));
    disk.plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error));
    for _ in 0..3 {
        disk.read(0, 0, Buffer::zeroed(1));
        let error = drain(&mut disk).remove(0).result.unwrap_err();
        assert_eq!(error.to_string(), "read of 1 blocks at block 0 failed: Input/output error (simulated)");
    }
    disk.clear_faults();
    disk.read(0, 0, Buffer::zeroed(1));
    assert!(drain(&mut disk).remove(0).result.is_ok());
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::Error));
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::ErrorAfterEffect));
    disk.write(0, 20, filled(1, 1), false);
    disk.write(0, 21, filled(1, 1), false);
    assert!(drain(&mut disk).iter().all(|completion| completion.result.is_err()));
    assert_eq!((mark(&disk, 20), mark(&disk, 21), disk.counters().faults), (0, 1, 6));
}

#[test]
fn lost_and_misdirected_writes_succeed_elsewhere() {
    let mut disk = SimDisk::new(quiet(1));
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::Lost));
    write(&mut disk, 1, 1);
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::Misdirected { blocks: 5 }));
    write(&mut disk, 2, 2);
    assert_eq!((mark(&disk, 1), mark(&disk, 2), mark(&disk, 7)), (0, 0, 2));
}

#[test]
fn a_lying_flush_makes_nothing_durable_and_a_failed_one_never_will() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 1, 1);
    disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Lost));
    flush(&mut disk).unwrap();
    assert_eq!(mark(&all_lost(&disk), 1), 0);
    flush(&mut disk).unwrap();
    assert_eq!(mark(&all_lost(&disk), 1), 1);
    write(&mut disk, 2, 2);
    disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error));
    flush(&mut disk).unwrap_err();
    flush(&mut disk).unwrap();
    assert_eq!((mark(&disk, 2), mark(&all_lost(&disk), 2)), (2, 0));
    assert_eq!(mark(&disk.crashed_copy(|_| Fate::Applied), 2), 2);
}

#[test]
fn discarded_blocks_read_as_anything_the_options_allow() {
    let outcomes = |discard| -> BTreeSet<&str> {
        let mut disk = SimDisk::new(SimOptions { discard, ..quiet(4) });
        disk.write(0, 0, filled(200, 1), true);
        drain(&mut disk);
        disk.discard(0, 0, 200);
        drain(&mut disk);
        let lost = all_lost(&disk);
        assert!((0..200).all(|block| mark(&lost, block) == 1), "a discard is volatile");
        let kind = |block| match disk.peek(block).0 {
            content if content == [1; 4096] => "old",
            content if content == [0; 4096] => "zeros",
            _ => "garbage",
        };
        (0..200).map(kind).collect()
    };
    assert_eq!(outcomes(DiscardOutcome::Old), ["old"].into());
    assert_eq!(outcomes(DiscardOutcome::Zeros), ["zeros"].into());
    assert_eq!(outcomes(DiscardOutcome::Garbage), ["garbage"].into());
    assert_eq!(outcomes(DiscardOutcome::Any), ["old", "zeros", "garbage"].into());
}

#[test]
fn rot_and_damage_reach_what_is_stored() {
    let mut disk = SimDisk::new(quiet(1));
    disk.write(0, 1, filled(1, 7), true);
    drain(&mut disk);
    write(&mut disk, 2, 8);
    disk.damage(1, |content| content[100] = 0);
    disk.damage(2, |content| content[100] = 0);
    assert_eq!((disk.peek(1).0[100], disk.peek(2).0[100]), (0, 0));
    assert_eq!(all_lost(&disk).peek(1).0[100], 0);
    flush(&mut disk).unwrap();
    assert_eq!(all_lost(&disk).peek(2).0[100], 0);
    let before = disk.peek(1).0;
    disk.rot(1, 1);
    let flipped: u32 = before.iter().zip(disk.peek(1).0).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!(flipped, 1);
}

#[test]
fn the_device_can_shrink_and_grow() {
    let mut disk = SimDisk::new(quiet(1));
    write(&mut disk, 900, 1);
    disk.resize(800);
    disk.read(0, 900, Buffer::zeroed(1));
    assert!(drain(&mut disk).remove(0).result.unwrap_err().to_string().contains("beyond the end"));
    disk.resize(1 << 40);
    assert_eq!((mark(&disk, 900), disk.block_count()), (0, 1 << 40));
    write(&mut disk, (1 << 40) - 1, 3);
    disk.discard(0, 0, 1 << 40); // the cost depends on the stored content, not on the length
    drain(&mut disk);
}

/// Random requests and crashes against a model that knows the marks that each block may hold.
#[test]
fn after_a_crash_each_block_holds_something_written_since_it_was_durable() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut disk = SimDisk::new(SimOptions { torn_blocks: true, torn_sectors: false, ..SimOptions::new(seed, 64) });
        // Marks that each block may hold after a crash; the first one is durable for certain.
        let mut possible: Vec<Vec<u8>> = vec![vec![0]; 64];
        let mut next_mark = 0;
        for _ in 0..6 {
            // Overlapping writes in flight are not ordered, so each request completes before the
            // next one starts, except the last ones.
            for _ in 0..40 {
                let block = random.below(61);
                next_mark = next_mark % 250 + 1;
                match random.below(5) {
                    0 => {
                        flush(&mut disk).unwrap();
                        possible.iter_mut().for_each(|marks| *marks = vec![*marks.last().unwrap()]);
                    }
                    1 => {
                        disk.write(0, block, filled(1, next_mark), true);
                        drain(&mut disk);
                        possible[usize::try_from(block).unwrap()] = vec![next_mark];
                    }
                    _ => {
                        disk.write(0, block, filled(3, next_mark), false);
                        drain(&mut disk);
                        (block..block + 3).for_each(|at| possible[usize::try_from(at).unwrap()].push(next_mark));
                    }
                }
            }
            for (block, marks) in (0..).zip(&possible) {
                assert_eq!(mark(&disk, block), *marks.last().unwrap());
            }
            disk = disk.crash();
            for (block, marks) in (0..).zip(&mut possible) {
                let found = mark(&disk, block);
                assert!(marks.contains(&found), "seed {seed} block {block}: {found} of {marks:?}");
                *marks = vec![found];
            }
        }
    }
}
