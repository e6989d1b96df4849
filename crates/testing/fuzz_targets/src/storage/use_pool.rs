//! Opens a pool and uses it as an array would after a start. For any disk content the result is a
//! working pool, or an error that describes the defect.

use super::base::{BLOCK, options};
use bytes::Bytes;
use media::{LocalMedia, SimDisk};
use pool::{BlockNumber, ByteRange, CatalogChange, CheckOptions, Core, ObjectId, ObjectKind, Operation};

/// Most turns of background work for one operation: more than any needs on a pool this small.
const TURNS: usize = 20_000;
const OBJECTS: usize = 6;

type Pool = Core<LocalMedia<SimDisk>>;

/// Way of opening the pool, and operations on it.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// Rebuild the space map.
    pub repair: bool,
    /// Verify everything first.
    pub check: bool,
    /// Read, write, clone, delete.
    pub operate: bool,
}

impl Plan {
    /// Decodes a byte of the input.
    pub fn new(bits: u8) -> Self {
        Self { repair: bits & 1 != 0, check: bits & 2 != 0, operate: bits & 4 == 0 }
    }
}

/// Opens the pool on the disk and uses it; then opens it once more.
pub(super) fn use_pool(disk: &SimDisk, plan: Plan) {
    let Some(mut core) = open(disk, plan.repair, 2) else { return };
    if plan.check {
        check(&mut core);
    }
    if plan.operate {
        operate(&mut core);
    }
    // The checkpoint may fail: a disk can be so defective that nothing can be written.
    let written = core.checkpoint();
    drop(core);
    if written.is_ok()
        && let Some(mut core) = open(disk, false, 3)
        && plan.check
    {
        check(&mut core);
    }
}

fn open(disk: &SimDisk, repair: bool, incarnation: u64) -> Option<Pool> {
    let media = LocalMedia::open(disk.clone()).ok()?;
    let _shown = pool::show_root(media.root());
    if repair {
        let (core, _, _) = Core::open_repairing(media, options(incarnation), 16 << 20, &mut |_| {}).ok()?;
        return Some(core);
    }
    Some(Core::open(media, options(incarnation), &mut |_| {}).ok()?.0)
}

fn check(core: &mut Pool) {
    let options = CheckOptions { data: true, ..CheckOptions::default() };
    let _report = core.check_with(options, &mut |_| {});
}

fn run(core: &mut Pool, operation: Operation) {
    let shown = format!("{operation:.0?}");
    let id = core.submit(operation);
    for _ in 0..TURNS {
        while let Some((found, _)) = core.poll_finished() {
            if found == id {
                return;
            }
        }
        if core.stopped().is_some() && core.poll_finished().is_none() {
            return;
        }
        core.pump(8);
    }
    panic!("an operation never finishes: {}", shown.chars().take(200).collect::<String>());
}

fn operate(core: &mut Pool) {
    let ids: Vec<ObjectId> = core.object_ids().into_iter().take(OBJECTS).collect();
    for &object in &ids {
        let Some(info) = core.object(object) else { continue };
        let blocks = info.size_bytes / BLOCK as u64;
        for block in [0, 255, 65_535].into_iter().filter(|block| block + 2 <= blocks) {
            let offset = block * BLOCK as u64;
            run(core, Operation::Read { object, offset, length: 2 * BLOCK });
            if info.kind == ObjectKind::Volume {
                let data = Bytes::from(vec![0x77; BLOCK + 512]);
                run(core, Operation::Write { object, offset, data, forced: true });
                let ranges = vec![ByteRange::new(offset, 512), ByteRange::new(offset + BLOCK as u64, BLOCK as u64)];
                run(core, Operation::Zero { object, ranges, forced: false });
            }
        }
        run(core, Operation::Unique { objects: vec![object] });
    }
    if let (Some(&source), Some(&destination)) = (ids.first(), ids.last()) {
        run(
            core,
            Operation::Clone {
                source,
                source_offset: 0,
                destination,
                destination_offset: 4 * BLOCK as u64,
                length: 300 * BLOCK as u64,
            },
        );
        let id = core.new_object_id();
        run(
            core,
            Operation::Catalog(vec![
                CatalogChange::CloneObject { source, id, kind: ObjectKind::Snapshot },
                CatalogChange::DeleteObject { id: destination },
                CatalogChange::PutDocument { key: "a".into(), value: Bytes::from_static(b"b") },
            ]),
        );
        run(core, Operation::Verify { object: source, offset: 0, anew: true });
        for base in [None, ids.get(1).copied()] {
            let Ok(difference) = core.begin_difference(base, id) else { continue };
            for from in [0, 300, 70_000].map(BlockNumber::new) {
                run(core, Operation::DifferenceStep { difference, from });
            }
            core.end_difference(difference);
        }
    }
    run(core, Operation::CheckStep);
    for _ in 0..50 {
        core.pump(64);
    }
    let _incidents = core.take_incidents();
    let _space = core.space();
}
