//! Procedures of NFSv3 over a file system in memory. The numbers are rows of the facts about the wire.

mod attributes;
mod content;
mod creation;
mod directories;
mod exports;
mod names;

use crate::testing::{Bench, bad, good};
use nfs::v3::{
    Attributes, Filehandle, NewAttributes, Request, SetAttributesArguments, Status, Time, WccAttributes, WccData,
};

/// The file F of the facts: 40 960 + 100 bytes, of mode 0644, owned by user 0.
pub(super) const F_BYTES: u64 = 40_960 + 100;

/// Content of F.
pub(super) fn content() -> Vec<u8> {
    let random = random::Random::new(100);
    std::iter::repeat_with(|| random.byte().max(1)).take(41_060).collect()
}

/// A bench with F in the root of `/s`.
pub(super) fn with_f() -> (Bench, Filehandle, Filehandle) {
    let bench = Bench::new();
    let root = bench.root(crate::testing::S);
    let f = bench.create(&root, "F");
    good!(bench.write(&f, 0, &content(), nfs::v3::Stable::FileSync), Write);
    (bench, root, f)
}

/// Request that sets attributes.
pub(super) fn set(file: &Filehandle, attributes: NewAttributes, guard: Option<Time>) -> Request {
    Request::SetAttributes(SetAttributesArguments { file: file.clone(), attributes, guard })
}

/// Sets attributes.
pub(super) fn do_set(bench: &Bench, file: &Filehandle, attributes: NewAttributes) -> WccData {
    good!(bench.v3(&set(file, attributes, None)), SetAttributes)
}

/// Checks that a request fails and says that the file is as it was.
#[track_caller]
pub(super) fn refuses_set(bench: &Bench, file: &Filehandle, attributes: NewAttributes, status: Status) {
    let before = bench.attributes(file);
    let (found, wcc) = bad!(bench.v3(&set(file, attributes, None)), SetAttributes);
    assert_eq!(found, status);
    assert_eq!(wcc, unchanged(&before));
    assert_eq!(bench.attributes(file), before);
}

/// State of a file before a change.
pub(super) fn before(attributes: &Attributes) -> Option<WccAttributes> {
    let Attributes { size_bytes, modified, changed, .. } = attributes.clone();
    Some(WccAttributes { size_bytes, modified, changed })
}

/// A file around a procedure that has not changed it.
pub(super) fn unchanged(attributes: &Attributes) -> WccData {
    WccData { before: before(attributes), after: Some(attributes.clone()) }
}

/// A file around a change between two known states.
pub(super) fn changed(from: &Attributes, to: &Attributes) -> WccData {
    WccData { before: before(from), after: Some(to.clone()) }
}

/// Order of times.
pub(super) fn at(time: &Time) -> (u32, u32) {
    (time.seconds, time.nanoseconds)
}
