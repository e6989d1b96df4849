//! NFSv3 beside NFSv4, RFC 1813: a file of the share is mounted, found and read, and is the same one.

use super::fault::{Fault, untried, wrong};
use super::primitive::{Primitive, Proof, Verdict};
use super::scratch::{KIB, Scratch, data};
use crate::verdict::Status;
use nfs::mount;
use nfs::v3::{self, DirectoryEntry, Request, Results};
use nfs_client::{ClientError, Connection};
use onc_rpc::message::{AcceptStatus, ReplyBody, VersionRange};
use onc_rpc::portmap;

const BYTES: u64 = 64 * KIB;

/// Verdict by the NULL procedure.
pub(super) async fn announced(scratch: &Scratch) -> Result<Verdict, ClientError> {
    let connection = Connection::connect(&scratch.url.server(), scratch.timeout).await?;
    Ok(match call(scratch, &connection, &Request::Null).await {
        Ok(_) => Verdict::new(Primitive::V3, Status::Supported, "NULL answered, not tried: --write-test proves it"),
        Err(ClientError::Rpc(body)) => Verdict::new(Primitive::V3, Status::NotSupported, refusal(&body)),
        Err(error @ ClientError::Malformed(_)) => Verdict::new(Primitive::V3, Status::NotSupported, error.to_string()),
        Err(error) => return Err(error),
    })
}

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let connection = Connection::connect(&scratch.url.server(), scratch.timeout).await?;
    match call(scratch, &connection, &Request::Null).await {
        Err(ClientError::Rpc(body)) => return wrong(refusal(&body)),
        answered => answered.map(drop)?,
    }
    let name = scratch.fresh("v3");
    let file = scratch.named_file(&name).await?;
    let content = data(30, BYTES);
    scratch.write(&file, 0, content.clone()).await?;
    let mut handle = mounted(scratch).await?;
    let path = scratch.url.path.iter().map(|name| name.as_bytes());
    for name in path.chain([scratch.name.as_bytes(), name.as_bytes()]) {
        let what = DirectoryEntry { directory: handle, name: name.to_vec().into() };
        handle = match call(scratch, &connection, &Request::Lookup(what)).await? {
            Results::Lookup(Ok(found)) => found.file,
            Results::Lookup(Err(failure)) => return wrong(format!("LOOKUP over NFSv3: {:?}", failure.status)),
            other => return Err(unexpected(&other).into()),
        };
    }
    let attributes = match call(scratch, &connection, &Request::GetAttributes(handle.clone())).await? {
        Results::GetAttributes(Ok(attributes)) => attributes,
        Results::GetAttributes(Err(status)) => return wrong(format!("GETATTR over NFSv3: {status:?}")),
        other => return Err(unexpected(&other).into()),
    };
    let fileid = scratch.share.attributes(&file.handle, &[20]).await?;
    if fileid != [nfs::v4::attributes::Attribute::Fileid(attributes.fileid)] || attributes.size_bytes != BYTES {
        return wrong("GETATTR over NFSv3 shows another number or size of the file than over NFSv4");
    }
    let count_bytes = u32::try_from(BYTES).unwrap_or(0);
    let arguments = v3::ReadArguments { file: handle, offset_bytes: 0, count_bytes };
    match call(scratch, &connection, &Request::Read(arguments)).await? {
        Results::Read(Ok(read)) if read.data.as_bytes() == &content => {}
        Results::Read(Ok(_)) => return wrong("READ over NFSv3 returns other data than was written over NFSv4"),
        Results::Read(Err(failure)) => return wrong(format!("READ over NFSv3: {:?}", failure.status)),
        other => return Err(unexpected(&other).into()),
    }
    Ok(Proof { reason: "mounted, and a file written over NFSv4 read over NFSv3".into(), cost: None })
}

/// Why the NULL procedure was not executed.
fn refusal(body: &ReplyBody) -> String {
    match body {
        ReplyBody::Accepted(accepted) => match &accepted.status {
            AcceptStatus::ProgramMismatch(VersionRange { low, high }) => {
                format!("the server has versions {low} to {high} of NFS")
            }
            status => format!("NULL: {status:?}"),
        },
        ReplyBody::Denied(reason) => format!("NULL: {reason:?}"),
    }
}

fn unexpected(results: &Results) -> ClientError {
    ClientError::Malformed(format!("results of another procedure: {results:?}"))
}

async fn call(scratch: &Scratch, connection: &Connection, request: &Request) -> Result<Results, ClientError> {
    let procedure = request.procedure();
    let credential = scratch.share.session().credential();
    let call = connection.call((nfs::PROGRAM, v3::VERSION, procedure), credential, |writer| request.encode(writer));
    Ok(Results::decode(procedure, &mut call.await?)?)
}

/// Handle of the share, by MOUNT at the port of the server or where the portmapper says.
async fn mounted(scratch: &Scratch) -> Result<v3::Filehandle, Fault> {
    let path = format!("/{}", scratch.url.share);
    let request = mount::Request::Mount(path.clone().into_bytes().into());
    let server = scratch.url.server();
    let reply = match mount(scratch, &server, &request).await {
        Err(ClientError::Rpc(_)) => match mount_port(scratch).await {
            Some(port) => {
                let url = nfs_client::url::Url { port, ..scratch.url.clone() };
                mount(scratch, &url.server(), &request).await?
            }
            None => return untried("no MOUNT service at the port of the server, nor a portmapper that knows one"),
        },
        reply => reply?,
    };
    match reply {
        mount::Results::Mount(Ok(mounted)) => Ok(mounted.handle),
        mount::Results::Mount(Err(status)) => wrong(format!("MNT of {path}: {status:?}")),
        other => Err(ClientError::Malformed(format!("results of another procedure: {other:?}")).into()),
    }
}

async fn mount(scratch: &Scratch, server: &str, request: &mount::Request) -> Result<mount::Results, ClientError> {
    let connection = Connection::connect(server, scratch.timeout).await?;
    let procedure = request.procedure();
    let credential = scratch.share.session().credential();
    let program = (mount::PROGRAM, mount::VERSION, procedure);
    let call = connection.call(program, credential, |writer| request.encode(writer));
    Ok(mount::Results::decode(procedure, &mut call.await?)?)
}

/// Port of MOUNT over TCP that the portmapper of the server names.
async fn mount_port(scratch: &Scratch) -> Option<u16> {
    let url = nfs_client::url::Url { port: portmap::PORT, ..scratch.url.clone() };
    let connection = Connection::connect(&url.server(), scratch.timeout).await.ok()?;
    let mapping = portmap::Mapping {
        program: mount::PROGRAM,
        version: mount::VERSION,
        protocol: portmap::Protocol::TCP,
        port: 0,
    };
    let request = portmap::Request::GetPort(mapping);
    let procedure = request.procedure();
    let credential = scratch.share.session().credential();
    let program = (portmap::PROGRAM, portmap::VERSION, procedure);
    let call = connection.call(program, credential, |writer| request.encode(writer));
    match portmap::Results::decode(procedure, &mut call.await.ok()?).ok()? {
        portmap::Results::GetPort(port) => u16::try_from(port).ok().filter(|port| *port != 0),
        _ => None,
    }
}
