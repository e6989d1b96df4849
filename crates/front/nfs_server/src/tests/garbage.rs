//! Whatever a peer sends: no panic, and a reply that can be decoded.

use super::kit::{Kit, compound_results, decoded, go};
use crate::Answer;
use nfs::v4::operations::Operation;
use nfs::v4::{Filehandle, Status};
use onc_rpc::message::{AcceptStatus, Accepted, ReplyBody};
use random::Random;
use xdr::Sample;

fn kit() -> Kit {
    let kit = Kit::new();
    kit.file("f", &[1; 9000]);
    kit.directory("s", "d");
    kit.minor.set(2);
    kit
}

/// Checks that an answer is one that a client understands. Returns the status of the compound.
fn check(answer: Answer) -> Option<Result<(), Status>> {
    if !matches!(answer, Answer::Reply(_)) {
        return None;
    }
    match decoded(answer) {
        (ReplyBody::Accepted(Accepted { status: AcceptStatus::Success, .. }), reader) => {
            if reader.remaining_bytes() == 0 {
                return Some(Ok(()));
            }
            Some(compound_results(reader).0)
        }
        _ => None,
    }
}

/// Operation with arguments made up; names and handles are often those of files that exist.
fn operation(random: &Random, handles: &[Filehandle]) -> Operation {
    let names = ["f", "d", "s", "new", ".", "a/b", ""];
    match random.below(8) {
        0 => Operation::PutFilehandle(handles[random.index(handles.len())].clone()),
        1 => Operation::Lookup(names[random.index(names.len())].into()),
        2 => Operation::SaveFilehandle,
        3 => Operation::Remove(names[random.index(names.len())].into()),
        _ => Operation::sample(random),
    }
}

#[test]
fn made_up_compounds_get_replies() {
    let mut done = 0;
    for seed in 0..400 {
        let (kit, random) = (kit(), Random::new(seed));
        if random.chance(20) {
            kit.engine.stutter();
        }
        kit.minor.set(1 + u32::from(random.chance(80)));
        let handles = ["", "s", "s/f", "s/d"].map(|path| kit.handle(path));
        for _ in 0..10 {
            let mut operations = vec![kit.next_sequence()];
            if random.chance(80) {
                operations.extend(go(["", "s", "s/f", "s/d"][random.index(4)]));
            }
            operations.extend((0..random.below(8)).map(|_| operation(&random, &handles)));
            let status = check(kit.send(kit.call(1, &kit.arguments(b"tag", &operations))));
            assert_ne!(status, Some(Err(Status::SERVERFAULT)), "{operations:?}");
            done += usize::from(status == Some(Ok(())));
            // Names that are gone come back, so that later compounds find something.
            let _ = kit.create("s", "d", nfs::v4::names::CreateType::Directory);
        }
    }
    assert!(done > 300, "{done}");
}

#[test]
fn damaged_calls_get_replies_or_none() {
    for seed in 0..3000 {
        let (kit, random) = (kit(), Random::new(seed));
        let handles = ["s", "s/f"].map(|path| kit.handle(path));
        let mut operations = vec![kit.next_sequence()];
        operations.extend(go("s/f"));
        operations.extend((0..random.below(6)).map(|_| operation(&random, &handles)));
        let mut record = kit.call(1, &kit.arguments(b"tag", &operations)).to_vec();
        for _ in 0..=random.below(4) {
            // Behind the transaction id, which the kit compares.
            let at = 4 + random.index(record.len() - 4);
            record[at] = [0, 1, 0xff, random.byte()][random.index(4)];
        }
        if random.chance(30) {
            record.truncate(4 + random.index(record.len() - 4));
        }
        check(kit.send(record.into()));
    }
}

#[test]
fn random_bytes_get_replies_or_none() {
    let kit = kit();
    for seed in 0..3000 {
        let random = Random::new(seed);
        let mut bytes = vec![0; random.index(400)];
        random.fill(&mut bytes);
        let mut record = kit.call(1, &bytes).to_vec();
        if random.chance(20) {
            record = bytes;
            record.splice(0..0, [0, 0, 0, 77]);
        }
        check(kit.send(record.into()));
    }
}
