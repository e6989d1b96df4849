//! Check of the two copies of the header: both have to be whole and identical. A datastore that has
//! lost the first copy can be viewed by the second.

use super::Report;
use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::Header;
use crate::geometry::{Geometry, HEADER};
use crate::sector::{self, Loaded};
use data_mover::{DataMover, Device, Extent};
use std::rc::Rc;

/// Sectors searched for the second header: 256 MiB, the metadata of some hundred thousand files.
const SEARCHED: u64 = 1 << 19;
/// Sectors read by one READ.
const STEP: u64 = 1024;

impl<D: Device> Datastore<D> {
    pub(super) async fn check_headers(&self, report: &mut Report) -> Result<(), DatastoreError> {
        let mut whole: Vec<Loaded<Header>> = Vec::new();
        for (what, lba) in [("the header", HEADER), ("the second header", self.store.geometry.second_header())] {
            let image = self.store.read(Extent { lba, blocks: 1 }).await?;
            match sector::decode::<Header>(lba, image) {
                Ok(header) if header.version > 0 => whole.push(header),
                Ok(_) => report.problem(format!("{what}, sector {lba}: missing")),
                Err(DatastoreError::Damaged { what: why, .. }) => {
                    report.problem(format!("{what}, sector {lba}: {why}"));
                }
                Err(error) => return Err(error),
            }
        }
        match whole.as_slice() {
            [first, second] if first.image != second.image => {
                report.problem(format!("the second header, sector {}, differs from the first", second.lba));
            }
            [one] => report.problem(format!("only the header in sector {} is intact", one.lba)),
            _ => {}
        }
        Ok(())
    }

    /// Opens a datastore for a check, like [`Self::view`]. Uses the second header when the first
    /// one is missing or damaged.
    pub async fn view_to_check(device: Rc<D>, mover: Rc<DataMover>) -> Result<Rc<Self>, DatastoreError> {
        match Self::view(device.clone(), mover.clone()).await {
            Err(error @ (DatastoreError::NoDatastore | DatastoreError::Damaged { .. })) => {
                match second_header(&*device).await? {
                    Some((header, geometry)) => Ok(Self::view_by(device, mover, header, geometry)),
                    None => Err(error),
                }
            }
            seen => seen,
        }
    }
}

/// Searches for a header that lies where its own numbers place the second copy.
async fn second_header<D: Device>(device: &D) -> Result<Option<(Header, Geometry)>, DatastoreError> {
    let blocks = device.identity().blocks;
    let end = blocks.min(SEARCHED);
    if device.identity().block_bytes as usize != sector::SECTOR_BYTES {
        return Ok(None);
    }
    for first in (0..end).step_by(STEP as usize) {
        let data = device.read(Extent { lba: first, blocks: STEP.min(end - first) }).await?;
        for (lba, start) in (first..).zip((0..data.len()).step_by(sector::SECTOR_BYTES)) {
            let image = data.slice(start..data.len().min(start + sector::SECTOR_BYTES));
            if let Ok(found) = sector::decode::<Header>(lba, image)
                && found.version > 0
                && let Ok(geometry) = Geometry::of(&found.value, blocks)
                && geometry.second_header() == lba
            {
                return Ok(Some((found.value, geometry)));
            }
        }
    }
    Ok(None)
}
