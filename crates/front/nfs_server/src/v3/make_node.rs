//! MKNOD, RFC 1813 §3.3.11.

use super::context::Context;
use super::creation::{self, special};
use super::failure::Outcome;
use nfs::v3::{self, CreateOk, MakeNode, MakeNodeArguments, Status, WccData};
use vfs::{Device, FileSystem, NewKind};

/// Creates a special file. `BADTYPE`: a kind that another procedure creates.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &MakeNodeArguments,
) -> Outcome<CreateOk, WccData> {
    creation::create(context, &arguments.entry, async |_, _| match &arguments.what {
        MakeNode::Regular | MakeNode::Directory | MakeNode::Link => Err(Status::BADTYPE.into()),
        MakeNode::Block(new) => special(NewKind::BlockDevice(device(&new.device)), &new.attributes),
        MakeNode::Character(new) => special(NewKind::CharacterDevice(device(&new.device)), &new.attributes),
        MakeNode::Socket(attributes) => special(NewKind::Socket, attributes),
        MakeNode::Fifo(attributes) => special(NewKind::Fifo, attributes),
    })
    .await
}

const fn device(device: &v3::Device) -> Device {
    Device { major: device.major, minor: device.minor }
}
