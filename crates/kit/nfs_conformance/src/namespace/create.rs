use crate::prelude::*;
use nfs::v4::Device;
use nfs::v4::names::CreateType;

check! {
    /// CREATE makes directories, links and special files; the new object becomes current, and the change of the
    /// directory is atomic.
    368, "RFC 8881 §18.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let device = Device { major: 5, minor: 1 };
    for (kind, wanted) in [
        (CreateType::Directory, FileType::Directory),
        (CreateType::Link("target".into()), FileType::Link),
        (CreateType::Fifo, FileType::Fifo),
        (CreateType::Socket, FileType::Socket),
        (CreateType::Block(device.clone()), FileType::Block),
        (CreateType::Character(device), FileType::Character),
    ] {
        let before = client.facts(&directory)?.change;
        let create = op::create(kind, format!("{wanted:?}"), Fattr::new([Attribute::Mode(0o640)]));
        let reply = client.call([op::put(&directory), create, op::get_filehandle()])?.ok()?;
        let created = take!(reply.result(1)?, Outcome::Create);
        let found = client.facts(&take!(reply.last()?, Outcome::GetFilehandle))?;
        expect_equal("type", found.kind, wanted)?;
        expect_equal("attributes that were set", created.set.contains(33), true)?;
        expect(created.change.before != created.change.after, || "change: expected another value after".into())?;
        if !created.change.atomic {
            return differs("change_info4: expected atomic values, found others");
        }
        expect_equal("change before", created.change.before, before)?;
        expect_equal("change after", client.facts(&directory)?.change, created.change.after)?;
    }
    Ok(())
}
