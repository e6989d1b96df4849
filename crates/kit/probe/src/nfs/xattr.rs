//! Extended attributes, RFC 8276: set, replaced, listed, removed.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{Scratch, data};
use crate::verdict::timed;
use nfs::v4::xattr::SetOption;
use nfs::v4::{Filehandle, Status};
use nfs_client::ClientError;

const NAME: &str = "windlass.probe";
const OTHER: &str = "windlass.probe.other";

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let file = scratch.file("xattr").await?.handle;
    expect_status("GETXATTR of a name that was never set", share.xattr(&file, NAME).await, Status::NOXATTR)?;
    share.set_xattr(&file, NAME, data(16, 1000), SetOption::Create).await?;
    expect_value(scratch, &file, &data(16, 1000)).await?;
    let again = share.set_xattr(&file, NAME, data(17, 10), SetOption::Create).await;
    expect_status("SETXATTR that must create, of a name that exists", again, Status::EXIST)?;
    expect_value(scratch, &file, &data(16, 1000)).await?;
    share.set_xattr(&file, NAME, data(18, 20), SetOption::Replace).await?;
    expect_value(scratch, &file, &data(18, 20)).await?;
    share.set_xattr(&file, OTHER, data(19, 1), SetOption::Either).await?;
    expect_names(scratch, &file, &[NAME, OTHER]).await?;
    let cost = timed(|| scratch.wire_bytes(), async |_| share.xattr(&file, NAME).await.map(drop)).await?;
    share.remove_xattr(&file, NAME).await?;
    expect_status("GETXATTR of a name that was removed", share.xattr(&file, NAME).await, Status::NOXATTR)?;
    expect_names(scratch, &file, &[OTHER]).await?;
    Ok(Proof { reason: "set, replaced, listed and removed".into(), cost: Some(cost) })
}

async fn expect_value(scratch: &Scratch, file: &Filehandle, expected: &[u8]) -> Result<(), Fault> {
    let found = scratch.share.xattr(file, NAME).await?;
    if found == expected { Ok(()) } else { wrong("GETXATTR returns another value than was set") }
}

async fn expect_names(scratch: &Scratch, file: &Filehandle, expected: &[&str]) -> Result<(), Fault> {
    let found = scratch.share.xattr_names(file).await?;
    let mut names: Vec<_> = found.iter().map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()).collect();
    names.sort();
    if names == expected { Ok(()) } else { wrong(format!("LISTXATTRS: expected {expected:?}, found {names:?}")) }
}

fn expect_status<T>(what: &str, found: Result<T, ClientError>, expected: Status) -> Result<(), Fault> {
    match found {
        Err(ClientError::Status { status, .. }) if status == expected => Ok(()),
        Err(error @ ClientError::Status { status: Status::NOTSUPP | Status::OP_ILLEGAL, .. }) => Err(error.into()),
        Err(ClientError::Status { status, .. }) => wrong(format!("{what}: expected {expected}, found {status}")),
        Err(error) => Err(error.into()),
        Ok(_) => wrong(format!("{what}: expected {expected}, found success")),
    }
}
