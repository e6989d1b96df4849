//! A replica as a device of hosts, and as one of its group.

use super::{Rig, read, write};
use crate::{Catalog, CatalogChange};
use block::{BlockDevice, BlockError, Extent, Lba};
use bytes::Bytes;

#[test]
fn the_device_of_a_replica_is_read_only_unless_its_group_opened_it() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let id = rig.pool.with_core(|core| core.last_object_id());
    rig.run(write(&volume, 0, 16, 1)).unwrap();
    let pool = rig.pool.clone();
    rig.run(async move { pool.commit(vec![CatalogChange::SetReplica { id, enabled: true }]).await }).unwrap();
    assert!(volume.read_only() && rig.pool.object(id).is_some_and(|info| info.is_replica));
    assert_eq!(rig.run(write(&volume, 0, 16, 2)), Err(BlockError::ReadOnly));
    let other = rig.volume(4096);
    let (copy, source) = (volume.clone(), other.clone());
    assert_eq!(
        rig.run(async move { copy.copy_from(&source, Extent::new(0, 8), Lba(0)).await }).map(drop),
        Err(BlockError::ReadOnly)
    );
    let group = rig.pool.volume_as_group(id);
    assert!(!group.read_only());
    rig.run(write(&group, 0, 8, 2)).unwrap();
    let (copy, source) = (group.clone(), other.clone());
    rig.run(async move { copy.copy_from(&source, Extent::new(8, 8), Lba(8)).await }).unwrap();
    let expected: Vec<u8> = [2, 0].into_iter().flat_map(|byte| [byte; 4096]).collect();
    assert_eq!(rig.run(read(&volume, 0, 16)), Ok(Bytes::from(expected)));
}
