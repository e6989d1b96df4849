//! Space of a disk: capacity, used and unshared bytes under VMware's labels.

use super::{Done, format_name};
use crate::error::DiskError;
use crate::holds_data::unit_name;
use crate::kit::Kit;
use crate::location::Location;
use data_mover::{Device, Extent};
use serde_json::json;

fn lines(at: &Location, capacity: u64, used: Option<u64>, unshared: Option<u64>, more: &str) -> String {
    let number =
        |value: Option<u64>| value.map_or_else(|| "not reported by the array".to_owned(), |value| value.to_string());
    format!(
        "{at}\nCapacity bytes: {capacity}\nUsed bytes: {}\nUnshared bytes: {}{more}",
        number(used),
        number(unshared)
    )
}

/// Space of a disk or a logical unit. Of a disk on a datastore, used are the blocks that hold its
/// visible content, its own and those of the disks below it; unshared are its own, unless other
/// disks are based on it. Of a whole logical unit, used is what it reports as mapped; SCSI has no
/// term for unshared.
pub async fn stat(kit: &Kit, at: &Location) -> Result<Done, DiskError> {
    match &at.disk {
        Some(name) => {
            let store = kit.view(&at.url).await?;
            let found = store.stat(name).await.map_err(|error| DiskError::datastore(at, error))?;
            let (file, space) = found;
            let format = format_name(file.format);
            let more = match &file.parent {
                Some(parent) => format!("\nFormat: {format} on {}", text::terminal::harmless(parent)),
                None => format!("\nFormat: {format}"),
            };
            let words = lines(at, space.capacity_bytes, Some(space.used_bytes), Some(space.unshared_bytes), &more);
            let json = json!({
                "disk": at.to_string(),
                "format": format,
                "parent": file.parent,
                "capacity_bytes": space.capacity_bytes,
                "used_bytes": space.used_bytes,
                "unshared_bytes": space.unshared_bytes,
                "block_bytes": store.geometry().block_bytes(),
                "created": file.created,
                "modified": file.modified,
            });
            Ok(Done::new(words, json))
        }
        None => {
            let unit = kit.unit(&at.url).await?;
            let each = u64::from(unit.identity().block_bytes);
            let capacity = unit.identity().blocks.saturating_mul(each);
            let mut blocks = 0_u64;
            let mut count = |extent: Extent| {
                blocks += extent.blocks;
                !kit.mover().is_interrupted()
            };
            let complete = unit.each_mapped(0..unit.identity().blocks, &mut count).await;
            let used = match complete.map_err(|error| DiskError::device(at, error))? {
                Some(false) => {
                    return Err(DiskError::Interrupted(format!(
                        "nothing was changed; {at} was only queried for its mapped blocks"
                    )));
                }
                complete => complete.map(|_| blocks.saturating_mul(each)),
            };
            let name = unit_name(&at.url, &unit);
            let words = lines(at, capacity, used, None, &format!("\nIdentifier: {}", text::terminal::harmless(&name)));
            let json = json!({
                "disk": at.to_string(),
                "identifier": name,
                "capacity_bytes": capacity,
                "used_bytes": used,
                "unshared_bytes": null,
                "block_bytes": each,
            });
            Ok(Done::new(words, json))
        }
    }
}
