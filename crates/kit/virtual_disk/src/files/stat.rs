//! Space of a file, under VMware's labels: attributes size (4), space_used (45) and space_freed (78).

use super::Host;
use crate::error::DiskError;
use crate::verbs::Done;
use nfs::v4::Status;
use nfs::v4::attributes::Attribute;
use nfs_client::ClientError;
use serde_json::json;

pub(super) async fn stat(host: &Host) -> Result<Done, DiskError> {
    let found = host.share.lookup(&host.url.path).await.map_err(host.failed())?;
    let attributes = match host.share.attributes(&found.handle, &[4, 45, 78]).await {
        // A server that does not know space_freed at all.
        Err(ClientError::Status { status: Status::ATTRNOTSUPP | Status::INVAL, .. }) => {
            host.share.attributes(&found.handle, &[4, 45]).await
        }
        attributes => attributes,
    };
    let (mut capacity, mut used, mut unshared) = (None, None, None);
    for attribute in attributes.map_err(host.failed())? {
        match attribute {
            Attribute::Size(bytes) => capacity = Some(bytes),
            Attribute::SpaceUsed(bytes) => used = Some(bytes),
            Attribute::SpaceFreed(bytes) => unshared = Some(bytes),
            _ => {}
        }
    }
    host.share.session().clone().end().await.map_err(host.failed())?;
    let number =
        |value: Option<u64>| value.map_or_else(|| "not reported by the server".to_owned(), |value| value.to_string());
    let words = format!(
        "{}\nCapacity bytes: {}\nUsed bytes: {}\nUnshared bytes: {}",
        host.url,
        number(capacity),
        number(used),
        number(unshared)
    );
    let json = json!({
        "disk": host.url.to_string(),
        "capacity_bytes": capacity,
        "used_bytes": used,
        "unshared_bytes": unshared,
    });
    Ok(Done::new(words, json))
}
