//! Servers that lie about a primitive.

use super::super::Primitive;
use super::verdict_of;
use crate::verdict::Status;
use nfs::v4::attributes::{Attribute, Fattr, SetAttributesArguments};
use nfs::v4::io::{Content, ReadPlusOk, SeekOk, Segment, SegmentData, SegmentHole};
use nfs::v4::offload::{CopyOk, CopyRequirements, DataBlocks, WriteResponse, WriteSameArguments};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::xattr::{ListOk, SetOption};
use nfs::v4::{ChangeInfo, Stable, Stateid};
use nfs_memory::{Lie, Setup};

/// A lie about calls and replies.
struct Changed<A, B> {
    ask: A,
    answer: B,
}

impl<A, B> Lie for Changed<A, B>
where
    A: FnMut(Operation) -> Operation,
    B: FnMut(&Operation, Outcome) -> Outcome,
{
    fn ask(&mut self, operation: Operation) -> Operation {
        (self.ask)(operation)
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        (self.answer)(asked, outcome)
    }
}

/// Another operation is executed.
fn asks(ask: fn(Operation) -> Operation) -> Setup {
    Setup::lying(move || Changed { ask, answer: |_: &Operation, outcome| outcome })
}

/// Other results are sent.
fn answers(answer: fn(&Operation, Outcome) -> Outcome) -> Setup {
    Setup::lying(move || Changed { ask: |operation| operation, answer })
}

/// Another operation is executed, and other results are sent.
fn both(ask: fn(Operation) -> Operation, answer: fn(&Operation, Outcome) -> Outcome) -> Setup {
    Setup::lying(move || Changed { ask, answer })
}

/// Nothing is executed for those operations for which `says` has results.
fn nothing(says: fn(&Operation) -> Option<Outcome>) -> Setup {
    Setup::lying(move || Changed {
        ask: move |operation: Operation| match says(&operation) {
            Some(_) => Operation::GetFilehandle,
            None => operation,
        },
        answer: move |asked: &Operation, outcome: Outcome| says(asked).unwrap_or(outcome),
    })
}

fn written(count_bytes: u64) -> WriteResponse {
    WriteResponse { callback: None, count_bytes, committed: Stable::FileSync, verifier: [0; 8] }
}

fn copied(count_bytes: u64) -> Outcome {
    let requirements = CopyRequirements { consecutive: true, synchronous: true };
    Outcome::Copy(Ok(CopyOk { response: written(count_bytes), requirements }))
}

/// Changes the attributes of a file.
fn attributes(change: fn(Attribute) -> Attribute) -> impl Fn(&Operation, Outcome) -> Outcome {
    move |_, outcome| match outcome {
        Outcome::GetAttributes(Ok(found)) => {
            let found = found.attributes().unwrap_or_default();
            Outcome::GetAttributes(Ok(Fattr::new(found.into_iter().map(change))))
        }
        other => other,
    }
}

fn invents(change: fn(Attribute) -> Attribute) -> Setup {
    Setup::lying(move || Changed { ask: |operation| operation, answer: attributes(change) })
}

fn clone_lies() -> Vec<(&'static str, Setup)> {
    vec![
        ("nothing", nothing(|asked| matches!(asked, Operation::Clone(_)).then_some(Outcome::Clone(Ok(()))))),
        (
            "half",
            asks(|operation| match operation {
                Operation::Clone(mut it) if it.count_bytes == 0 => {
                    it.count_bytes = 128 << 10;
                    Operation::Clone(it)
                }
                other => other,
            }),
        ),
        (
            "another range",
            asks(|operation| match operation {
                Operation::Clone(mut it) if it.count_bytes > 0 => {
                    it.source_offset_bytes += 4096;
                    Operation::Clone(it)
                }
                other => other,
            }),
        ),
        (
            "all of the file for a range",
            asks(|operation| match operation {
                Operation::Clone(mut it) if it.count_bytes > 0 => {
                    (it.count_bytes, it.destination_offset_bytes) = (0, 0);
                    Operation::Clone(it)
                }
                other => other,
            }),
        ),
    ]
}

fn copy_lies() -> Vec<(&'static str, Setup)> {
    let says = |asked: &Operation| match asked {
        Operation::Copy(it) => Some(copied(it.count_bytes)),
        _ => None,
    };
    vec![
        ("nothing", nothing(says)),
        (
            "half",
            both(
                |operation| match operation {
                    Operation::Copy(mut it) => {
                        it.count_bytes /= 2;
                        Operation::Copy(it)
                    }
                    other => other,
                },
                |asked, outcome| match asked {
                    Operation::Copy(it) => copied(it.count_bytes),
                    _ => outcome,
                },
            ),
        ),
        (
            "another place",
            asks(|operation| match operation {
                Operation::Copy(mut it) if it.destination_offset_bytes > 0 => {
                    it.destination_offset_bytes += 1;
                    Operation::Copy(it)
                }
                other => other,
            }),
        ),
        (
            "more than was asked for",
            answers(|_, outcome| match outcome {
                Outcome::Copy(Ok(mut it)) => {
                    it.response.count_bytes += 1;
                    Outcome::Copy(Ok(it))
                }
                other => other,
            }),
        ),
        (
            "in the background",
            answers(|_, outcome| match outcome {
                Outcome::Copy(Ok(mut it)) => {
                    it.response.callback = Some(Stateid::ANONYMOUS);
                    Outcome::Copy(Ok(it))
                }
                other => other,
            }),
        ),
    ]
}

fn zeros(stateid: Stateid, offset_bytes: u64, length_bytes: u64) -> Operation {
    let blocks = DataBlocks {
        offset_bytes,
        block_bytes: length_bytes,
        block_count: 1,
        number_offset_bytes: u64::MAX,
        first_number: 0,
        pattern_offset_bytes: 0,
        pattern: Vec::new().into(),
    };
    Operation::WriteSame(Box::new(WriteSameArguments { stateid, stable: Stable::FileSync, blocks }))
}

fn reserve_lies() -> Vec<(&'static str, Setup)> {
    let success = |asked: &Operation, outcome| match asked {
        Operation::Allocate(_) => Outcome::Allocate(Ok(())),
        _ => outcome,
    };
    vec![
        ("nothing", nothing(|asked| matches!(asked, Operation::Allocate(_)).then_some(Outcome::Allocate(Ok(()))))),
        (
            "only the size",
            both(
                |operation| match operation {
                    Operation::Allocate(it) => Operation::SetAttributes(SetAttributesArguments {
                        stateid: it.stateid,
                        attributes: Fattr::new([Attribute::Size(it.offset_bytes + it.length_bytes)]),
                    }),
                    other => other,
                },
                success,
            ),
        ),
        (
            "zeros over data",
            both(
                |operation| match operation {
                    Operation::Allocate(it) => zeros(it.stateid, it.offset_bytes, it.length_bytes),
                    other => other,
                },
                success,
            ),
        ),
        (
            "half",
            asks(|operation| match operation {
                Operation::Allocate(mut it) => {
                    it.length_bytes /= 2;
                    Operation::Allocate(it)
                }
                other => other,
            }),
        ),
    ]
}

fn free_lies() -> Vec<(&'static str, Setup)> {
    vec![
        ("nothing", nothing(|asked| matches!(asked, Operation::Deallocate(_)).then_some(Outcome::Deallocate(Ok(()))))),
        (
            "half",
            asks(|operation| match operation {
                Operation::Deallocate(mut it) => {
                    it.length_bytes /= 2;
                    Operation::Deallocate(it)
                }
                other => other,
            }),
        ),
        (
            "whole blocks only",
            asks(|operation| match operation {
                Operation::Deallocate(mut it) if it.length_bytes < 4096 => {
                    (it.offset_bytes, it.length_bytes) = (0, 4096);
                    Operation::Deallocate(it)
                }
                other => other,
            }),
        ),
        (
            "zeros that take space",
            invents(|attribute| match attribute {
                Attribute::SpaceUsed(_) => Attribute::SpaceUsed(1 << 20),
                other => other,
            }),
        ),
    ]
}

fn seek_lies() -> Vec<(&'static str, Setup)> {
    fn answered(asked: &Operation, outcome: Outcome, data: Option<u64>, hole: fn(u64) -> u64) -> Outcome {
        match (asked, outcome) {
            (Operation::Seek(it), Outcome::Seek(Ok(found))) => {
                let at = it.offset_bytes;
                let (offset_bytes, eof) = match (it.what, data) {
                    (Content::HOLE, _) => (hole(at), false),
                    (_, Some(data)) => (data, true),
                    (_, None) => (at, found.eof),
                };
                Outcome::Seek(Ok(SeekOk { eof, offset_bytes }))
            }
            (_, outcome) => outcome,
        }
    }
    vec![
        ("all data", answers(|asked, outcome| answered(asked, outcome, None, |_| 1 << 20))),
        ("all holes", answers(|asked, outcome| answered(asked, outcome, Some(0), |at| at))),
        ("holes in data", answers(|asked, outcome| answered(asked, outcome, None, |at| at + 4096))),
        (
            "no end",
            answers(|asked, outcome| match (asked, outcome) {
                (Operation::Seek(it), Outcome::Seek(Err(_))) => {
                    Outcome::Seek(Ok(SeekOk { eof: true, offset_bytes: it.offset_bytes }))
                }
                (_, outcome) => outcome,
            }),
        ),
    ]
}

/// Changes the segments of READ_PLUS.
fn segments(change: fn(Vec<Segment>) -> Vec<Segment>) -> Setup {
    Setup::lying(move || Changed {
        ask: |operation| operation,
        answer: move |_: &Operation, outcome| match outcome {
            Outcome::ReadPlus(Ok(ReadPlusOk { eof, segments })) => {
                Outcome::ReadPlus(Ok(ReadPlusOk { eof, segments: change(segments.0).into() }))
            }
            other => other,
        },
    })
}

fn read_plus_lies() -> Vec<(&'static str, Setup)> {
    vec![
        (
            "holes as data",
            segments(|segments| {
                let data = segments.into_iter().map(|segment| match segment {
                    Segment::Hole(SegmentHole { offset_bytes, length_bytes }) => {
                        let data = vec![0; usize::try_from(length_bytes).unwrap()].into();
                        Segment::Data(SegmentData { offset_bytes, data })
                    }
                    data => data,
                });
                data.collect()
            }),
        ),
        (
            "data as holes",
            segments(|segments| {
                let holes = segments.into_iter().map(|segment| match segment {
                    Segment::Data(SegmentData { offset_bytes, data }) => {
                        Segment::Hole(SegmentHole { offset_bytes, length_bytes: data.len() as u64 })
                    }
                    hole => hole,
                });
                holes.collect()
            }),
        ),
        (
            "a segment less",
            segments(|mut segments| {
                segments.pop();
                segments
            }),
        ),
        (
            "a hole without end",
            segments(|mut segments| {
                if let Some(Segment::Hole(hole)) = segments.last_mut() {
                    hole.length_bytes = u64::MAX;
                }
                segments
            }),
        ),
    ]
}

fn write_same_lies() -> Vec<(&'static str, Setup)> {
    let says = |asked: &Operation| match asked {
        Operation::WriteSame(it) => {
            Some(Outcome::WriteSame(Ok(written(it.blocks.block_bytes * it.blocks.block_count))))
        }
        _ => None,
    };
    vec![
        ("nothing", nothing(says)),
        (
            "no numbers",
            asks(|operation| match operation {
                Operation::WriteSame(mut it) => {
                    it.blocks.number_offset_bytes = u64::MAX;
                    Operation::WriteSame(it)
                }
                other => other,
            }),
        ),
        (
            "the pattern at another place",
            asks(|operation| match operation {
                Operation::WriteSame(mut it) => {
                    it.blocks.pattern_offset_bytes += 8;
                    Operation::WriteSame(it)
                }
                other => other,
            }),
        ),
        (
            "half",
            both(
                |operation| match operation {
                    Operation::WriteSame(mut it) => {
                        it.blocks.block_count /= 2;
                        Operation::WriteSame(it)
                    }
                    other => other,
                },
                |asked, outcome| match asked {
                    Operation::WriteSame(it) => {
                        Outcome::WriteSame(Ok(written(it.blocks.block_bytes * it.blocks.block_count)))
                    }
                    _ => outcome,
                },
            ),
        ),
    ]
}

fn statistics_lies() -> Vec<(&'static str, Setup)> {
    vec![
        (
            "nothing is shared",
            answers(|_, outcome| match outcome {
                Outcome::GetAttributes(Ok(found)) => {
                    let mut found = found.attributes().unwrap_or_default();
                    if let [Attribute::SpaceUsed(used), Attribute::SpaceFreed(freed)] = &mut found[..] {
                        *freed = *used;
                    }
                    Outcome::GetAttributes(Ok(Fattr::new(found)))
                }
                other => other,
            }),
        ),
        (
            "all is shared",
            invents(|attribute| match attribute {
                Attribute::SpaceFreed(_) => Attribute::SpaceFreed(0),
                other => other,
            }),
        ),
        (
            "nothing is used",
            invents(|attribute| match attribute {
                Attribute::SpaceUsed(_) => Attribute::SpaceUsed(0),
                other => other,
            }),
        ),
        (
            "half of it",
            invents(|attribute| match attribute {
                Attribute::SpaceFreed(bytes) => Attribute::SpaceFreed(bytes / 2),
                other => other,
            }),
        ),
    ]
}

fn xattr_lies() -> Vec<(&'static str, Setup)> {
    let info = ChangeInfo { atomic: true, before: 1, after: 2 };
    vec![
        (
            "nothing",
            nothing(|asked| {
                let info = ChangeInfo { atomic: true, before: 1, after: 2 };
                matches!(asked, Operation::SetXattr(_)).then_some(Outcome::SetXattr(Ok(info)))
            }),
        ),
        (
            "replaced where it had to be created",
            asks(|operation| match operation {
                Operation::SetXattr(mut it) => {
                    it.option = SetOption::Either;
                    Operation::SetXattr(it)
                }
                other => other,
            }),
        ),
        (
            "no names",
            answers(|_, outcome| match outcome {
                Outcome::ListXattrs(Ok(_)) => {
                    Outcome::ListXattrs(Ok(ListOk { cookie: 0, names: Vec::new().into(), eof: true }))
                }
                other => other,
            }),
        ),
        (
            "kept where it had to be removed",
            Setup::lying(move || Changed {
                ask: |operation| match operation {
                    Operation::RemoveXattr(_) => Operation::GetFilehandle,
                    other => other,
                },
                answer: move |asked: &Operation, outcome| match asked {
                    Operation::RemoveXattr(_) => Outcome::RemoveXattr(Ok(info.clone())),
                    _ => outcome,
                },
            }),
        ),
    ]
}

/// How a server treats a repeated call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    /// Executes it again, and sends the new results.
    New,
    /// Executes it again, and sends the old results.
    Old,
    /// Executes a call with any sequence id, but repetitions properly.
    AnyTurn,
}

/// A server whose slots forget. The proof uses the highest slot.
struct Forgetful {
    repeated: Repeated,
    /// Sequence ids of the last call in the slot: as the client sent it, and as it was executed.
    last: Option<(u32, u32)>,
    /// Whether the present call is a repetition in the slot, or a first call in it.
    present: Option<bool>,
    /// Last results of REMOVE and CREATE in the slot.
    kept: Option<Outcome>,
}

impl Lie for Forgetful {
    fn ask(&mut self, operation: Operation) -> Operation {
        let Operation::Sequence(mut it) = operation else { return operation };
        self.present = None;
        if it.slot == super::super::SLOTS - 1 {
            let (last, executed) = self.last.unwrap_or((it.sequence - 1, it.sequence - 1));
            let again = it.sequence == last;
            self.present = Some(again);
            let now = match self.repeated {
                Repeated::AnyTurn if again => executed,
                Repeated::New | Repeated::Old if it.sequence > last + 1 => executed + 2,
                _ => executed + 1,
            };
            self.last = Some((it.sequence, now));
            it.sequence = now;
        }
        Operation::Sequence(it)
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        match (asked, outcome, self.present) {
            (Operation::Sequence(it), Outcome::Sequence(Ok(mut found)), Some(_)) => {
                found.sequence = it.sequence;
                Outcome::Sequence(Ok(found))
            }
            (Operation::Create(_) | Operation::Remove(_), outcome, Some(again)) => {
                if again && self.repeated == Repeated::Old {
                    return self.kept.clone().unwrap_or(outcome);
                }
                self.kept = Some(outcome.clone());
                outcome
            }
            (_, outcome, _) => outcome,
        }
    }
}

fn exactly_once_lies() -> Vec<(&'static str, Setup)> {
    let forgetful = |repeated| Setup::lying(move || Forgetful { repeated, last: None, present: None, kept: None });
    vec![
        ("executed again", forgetful(Repeated::New)),
        ("executed again, with the old reply", forgetful(Repeated::Old)),
        ("executed out of turn", forgetful(Repeated::AnyTurn)),
    ]
}

fn lies_of(primitive: Primitive) -> Vec<(&'static str, Setup)> {
    match primitive {
        Primitive::Clone => clone_lies(),
        Primitive::Copy => copy_lies(),
        Primitive::Reserve => reserve_lies(),
        Primitive::Free => free_lies(),
        Primitive::Seek => seek_lies(),
        Primitive::ReadPlus => read_plus_lies(),
        Primitive::WriteSame => write_same_lies(),
        Primitive::Statistics => statistics_lies(),
        Primitive::Xattr => xattr_lies(),
        Primitive::ExactlyOnce => exactly_once_lies(),
        Primitive::V3 => vec![("none", Setup { v3: false, ..Setup::default() })],
    }
}

#[test]
fn every_proof_notices_every_liar() {
    for primitive in Primitive::ALL {
        let honest = verdict_of(primitive, Setup::default());
        assert_eq!(honest.status, Status::Supported, "{}: {}", primitive.name(), honest.reason);
        for (lie, setup) in lies_of(primitive) {
            let verdict = verdict_of(primitive, setup);
            let told = format!("{}, {lie}: {}", primitive.name(), verdict.reason);
            assert_eq!(verdict.status, Status::NotSupported, "{told}");
            println!("{told}");
        }
    }
}
