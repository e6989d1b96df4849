//! What a server announces: attributes, results of CREATE_SESSION, and whether it knows an operation. The
//! operation is called on the directory of the URL, where it can do nothing.

use super::primitive::{Primitive, Verdict};
use super::scratch::Scratch;
use super::v3;
use crate::verdict::Status;
use nfs::v4::Stateid;
use nfs::v4::Status as Nfs4;
use nfs::v4::attributes::Attribute;
use nfs::v4::io::{Content, ReadArguments, SeekArguments};
use nfs::v4::offload::{CloneArguments, CopyArguments, DataBlocks, RangeArguments, WriteSameArguments};
use nfs::v4::operations::Operation;
use nfs_client::{ClientError, Compound};

/// Verdicts on all primitives.
pub(super) async fn verdicts(scratch: &Scratch) -> Result<Vec<Verdict>, ClientError> {
    let mut verdicts = Vec::new();
    for primitive in Primitive::ALL {
        let verdict = match primitive.without_minor_two(scratch.minor) {
            Some(verdict) => verdict,
            None => verdict(scratch, primitive).await?,
        };
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

async fn verdict(scratch: &Scratch, primitive: Primitive) -> Result<Verdict, ClientError> {
    let (announced, by) = match primitive {
        Primitive::Statistics => (supports(scratch, 78).await?, "supported_attrs, which has space_freed"),
        Primitive::Xattr => (has_xattrs(scratch).await?, "xattr_support"),
        Primitive::ExactlyOnce => {
            let kept = scratch.share.session().created().fore_channel.max_cached_response_bytes;
            (kept > 0, "ca_maxresponsesize_cached of CREATE_SESSION")
        }
        Primitive::V3 => return v3::announced(scratch).await,
        _ => return known(scratch, primitive).await,
    };
    Ok(match announced {
        true => {
            let reason = format!("announced, not tried ({by}): --write-test proves it");
            Verdict::new(primitive, Status::Supported, reason)
        }
        false => Verdict::new(primitive, Status::NotSupported, format!("not announced by {by}")),
    })
}

async fn supports(scratch: &Scratch, number: u32) -> Result<bool, ClientError> {
    let found = scratch.share.attributes(&scratch.directory, &[0]).await?;
    Ok(found.iter().any(|attribute| {
        matches!(attribute, Attribute::SupportedAttributes(numbers) if numbers.iter().any(|it| it == number))
    }))
}

async fn has_xattrs(scratch: &Scratch) -> Result<bool, ClientError> {
    let found = scratch.share.attributes(&scratch.directory, &[82]).await?;
    Ok(found.contains(&Attribute::XattrSupport(true)))
}

/// Verdict by the status of the operation on a directory.
async fn known(scratch: &Scratch, primitive: Primitive) -> Result<Verdict, ClientError> {
    let Some(operation) = operation(primitive) else {
        return Ok(Verdict::new(primitive, Status::Unknown, "nothing announces it"));
    };
    let name = operation.row().map_or("the operation", |row| row.name);
    let operations = [Operation::SaveFilehandle, operation];
    let called = scratch.share.session().call(&Compound::changing(operations).on(&scratch.directory)).await;
    let status = match called.and_then(nfs_client::Outcomes::finish) {
        Ok(()) => {
            let reason =
                format!("{name} of a directory succeeds, which proves nothing: --write-test tries it on a file");
            return Ok(Verdict::new(primitive, Status::Unknown, reason));
        }
        Err(ClientError::Status { status, .. }) => status,
        Err(ClientError::Rpc(_)) => Nfs4::OP_ILLEGAL,
        Err(error) => return Err(error),
    };
    Ok(match status {
        Nfs4::NOTSUPP | Nfs4::OP_ILLEGAL | Nfs4::UNION_NOTSUPP => {
            Verdict::new(primitive, Status::NotSupported, format!("the server does not know {name}: {status}"))
        }
        status => {
            let reason =
                format!("the server knows {name} ({status} for a directory), not tried: --write-test proves it");
            Verdict::new(primitive, Status::Supported, reason)
        }
    })
}

/// The operation of a primitive, in a form that does nothing to a directory.
fn operation(primitive: Primitive) -> Option<Operation> {
    let stateid = Stateid::ANONYMOUS;
    let range = RangeArguments { stateid, offset_bytes: 0, length_bytes: 4096 };
    Some(match primitive {
        Primitive::Clone => Operation::Clone(CloneArguments {
            source_stateid: stateid,
            destination_stateid: stateid,
            source_offset_bytes: 0,
            destination_offset_bytes: 0,
            count_bytes: 0,
        }),
        Primitive::Copy => Operation::Copy(Box::new(CopyArguments {
            source_stateid: stateid,
            destination_stateid: stateid,
            source_offset_bytes: 0,
            destination_offset_bytes: 0,
            count_bytes: 0,
            consecutive: true,
            synchronous: true,
            source_servers: Vec::new().into(),
        })),
        Primitive::Reserve => Operation::Allocate(range),
        Primitive::Free => Operation::Deallocate(range),
        Primitive::Seek => Operation::Seek(SeekArguments { stateid, offset_bytes: 0, what: Content::HOLE }),
        Primitive::ReadPlus => Operation::ReadPlus(ReadArguments { stateid, offset_bytes: 0, count_bytes: 4096 }),
        Primitive::WriteSame => {
            let blocks = DataBlocks {
                offset_bytes: 0,
                block_bytes: 4096,
                block_count: 1,
                number_offset_bytes: u64::MAX,
                first_number: 0,
                pattern_offset_bytes: 0,
                pattern: vec![0; 8].into(),
            };
            let stable = nfs::v4::Stable::FileSync;
            Operation::WriteSame(Box::new(WriteSameArguments { stateid, stable, blocks }))
        }
        Primitive::Statistics | Primitive::Xattr | Primitive::ExactlyOnce | Primitive::V3 => return None,
    })
}
