//! NFS: arguments and results of NFSv3, MOUNT, and of compounds and callbacks of NFSv4.
//!
//! What is decoded is written again, and decoded to the same; large messages take no more memory than
//! their bytes justify, which the program's limit checks.

use crate::input::{Reader as Input, Writer as Seed};
use crate::rpc::{there_and_back, written};
use bytes::Bytes;
use nfs::v4::attributes::Fattr;
use nfs::v4::callback::CallbackOperation;
use nfs::v4::compound::{Arguments, Call, CompoundOperation, CompoundOutcome, Reply, Results, Tag};
use nfs::v4::operations::Operation;
use nfs::{mount, v3};
use xdr::{Random, Reader, Sample};

/// Longest seed.
const MAX_BYTES: usize = 4096;

/// Input: program (bit 0 of the first byte: MOUNT) with the procedure in the other bits, and the
/// arguments or results.
pub(crate) fn run_v3(input: &[u8]) {
    let mut input = Input::new(input);
    let head = input.u8();
    let procedure = u32::from(head >> 1);
    let reader = Reader::new(Bytes::copy_from_slice(input.rest()));
    if head & 1 == 0 {
        there_and_back!(v3::Request, v3::Request::decode(procedure, &mut reader.clone()));
        there_and_back!(v3::Results, v3::Results::decode(procedure, &mut reader.clone()));
    } else {
        there_and_back!(mount::Request, mount::Request::decode(procedure, &mut reader.clone()));
        there_and_back!(mount::Results, mount::Results::decode(procedure, &mut reader.clone()));
    }
}

pub(crate) fn seeds_v3() -> Vec<Vec<u8>> {
    let random = Random::new(3);
    let mut seeds = Vec::new();
    let mut seed = |mount: u8, procedure: u32, bytes: Bytes| {
        if bytes.len() < MAX_BYTES {
            let procedure = u8::try_from(procedure).unwrap_or(0);
            seeds.push(Seed::default().u8(procedure << 1 | mount).raw(&bytes).0);
        }
    };
    for _ in 0..60 {
        let request = v3::Request::sample(&random);
        seed(0, request.procedure(), written(|writer| request.encode(writer)));
        let results = v3::Results::sample(&random);
        seed(0, results.procedure(), written(|writer| results.encode(writer)));
    }
    for _ in 0..10 {
        let results = mount::Results::sample(&random);
        seed(1, results.procedure(), written(|writer| results.encode(writer)));
    }
    seeds
}

/// Input: kind (1 byte: arguments, results, both for callbacks, attributes), and the bytes.
pub(crate) fn run_v4(input: &[u8]) {
    let mut input = Input::new(input);
    let kind = input.u8();
    let bytes = Bytes::copy_from_slice(input.rest());
    match kind % 5 {
        0 => compound::<Operation>(bytes),
        1 => results::<Operation>(bytes),
        2 => compound::<CallbackOperation>(bytes),
        3 => results::<CallbackOperation>(bytes),
        _ => attributes(bytes),
    }
}

fn compound<O: CompoundOperation + PartialEq + std::fmt::Debug>(bytes: Bytes) {
    let Ok(mut arguments) = Arguments::<O>::decode(bytes.clone()) else { return };
    let (tag, minor) = (arguments.tag.clone(), arguments.minor);
    let mut operations = Vec::new();
    while let Some(next) = arguments.next_operation() {
        let Ok(operation) = next else { break };
        operations.push(operation);
        assert!(operations.len() <= bytes.len() / 4, "more operations than the bytes can have");
    }
    assert!(arguments.next_operation().is_none(), "a compound goes on behind its end");
    let again = written(|writer| {
        let mut call = Call::start(writer, &tag, minor);
        operations.iter().for_each(|operation| call.push(writer, operation));
        call.finish(writer);
    });
    let Ok(mut again) = Arguments::<O>::decode(again) else { panic!("a compound of ours is none") };
    for operation in &operations {
        assert_eq!(again.next_operation().as_ref(), Some(&Ok(operation.clone_again(minor))));
    }
}

/// An operation, written and decoded: what is not understood has bytes to the end of its message,
/// which are padded when they are written.
trait Again: Sized {
    fn clone_again(&self, minor: u32) -> Self;
}

impl<O: CompoundOperation> Again for O {
    fn clone_again(&self, minor: u32) -> Self {
        match O::decode(minor, &mut Reader::new(written(|writer| self.encode(writer)))) {
            Ok(operation) => operation,
            Err(error) => panic!("an operation of ours is none: {error}"),
        }
    }
}

fn results<O: CompoundOperation>(bytes: Bytes)
where
    O::Outcome: PartialEq + std::fmt::Debug,
{
    let Ok(mut results) = Results::<O>::decode(Reader::new(bytes)) else { return };
    let mut outcomes = Vec::new();
    while let Some(next) = results.next_outcome() {
        let Ok(outcome) = next else { break };
        let mut again = Reader::strict(written(|writer| outcome.encode(writer)));
        assert_eq!(O::Outcome::decode(&mut again).as_ref(), Ok(&outcome));
        assert!(again.finish().is_ok());
        outcomes.push(outcome);
    }
    let again = written(|writer| {
        let mut reply = Reply::<O>::start(writer, &results.tag);
        outcomes.iter().for_each(|outcome| reply.push(writer, outcome));
        reply.finish(writer, results.status);
    });
    let Ok(again) = Results::<O>::decode(Reader::strict(again)) else { panic!("results of ours are none") };
    assert_eq!(again.status, outcomes.last().map_or(results.status, CompoundOutcome::status));
    assert_eq!(again.count as usize, outcomes.len());
}

fn attributes(bytes: Bytes) {
    let Ok(fattr) = <Fattr as xdr::Xdr>::decode(&mut Reader::new(bytes)) else { return };
    if let Ok(attributes) = fattr.attributes() {
        let again = Fattr::new(attributes.iter().cloned());
        assert_eq!(again.mask, fattr.mask);
        assert_eq!(again.attributes().as_ref(), Ok(&attributes));
    }
}

pub(crate) fn seeds_v4() -> Vec<Vec<u8>> {
    let random = Random::new(4);
    let mut seeds = Vec::new();
    for _ in 0..60 {
        seeds.push((0, compound_of::<Operation>(&random)));
        seeds.push((1, results_of::<Operation>(&random)));
    }
    for _ in 0..10 {
        seeds.push((2, compound_of::<CallbackOperation>(&random)));
        seeds.push((3, results_of::<CallbackOperation>(&random)));
        let fattr = Fattr::new((0..10).map(|_| nfs::v4::attributes::Attribute::sample(&random)));
        seeds.push((4, written(|writer| xdr::Xdr::encode(&fattr, writer))));
    }
    seeds
        .into_iter()
        .filter(|(_, bytes)| bytes.len() < MAX_BYTES)
        .map(|(kind, bytes)| Seed::default().u8(kind).raw(&bytes).0)
        .collect()
}

fn compound_of<O: CompoundOperation + Sample>(random: &Random) -> Bytes {
    written(|writer| {
        let mut call = Call::start(writer, &Tag::from("tag"), 2);
        (0..1 + random.below(3)).for_each(|_| call.push(writer, &O::sample(random)));
        call.finish(writer);
    })
}

fn results_of<O: CompoundOperation>(random: &Random) -> Bytes
where
    O::Outcome: Sample,
{
    written(|writer| {
        let mut reply = Reply::<O>::start(writer, &Tag::from("tag"));
        (0..1 + random.below(3)).for_each(|_| reply.push(writer, &O::Outcome::sample(random)));
        reply.finish(writer, Ok(()));
    })
}
