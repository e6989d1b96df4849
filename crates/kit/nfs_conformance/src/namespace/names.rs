use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// A name that is empty or not UTF-8 is INVAL, one of dots BADNAME, one above 255 bytes NAMETOOLONG, one
    /// with a slash or NUL BADCHAR or BADNAME.
    362, "RFC 8881 §14, §18.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let allowed: [(&[u8], &[Status]); 7] = [
        (b"", &[Status::INVAL]),
        (b".", &[Status::BADNAME]),
        (b"..", &[Status::BADNAME]),
        (&[b'n'; 256], &[Status::NAMETOOLONG]),
        (b"a/b", &[Status::BADCHAR, Status::BADNAME]),
        (b"a\0b", &[Status::BADCHAR, Status::BADNAME]),
        (b"\xc3\x28", &[Status::INVAL]),
    ];
    for (name, allowed) in allowed {
        let create = op::create(CreateType::Directory, name, Fattr::none());
        for operation in [op::lookup(name), create, op::remove(name), op::link(name), op::rename("x", name)] {
            let reply = client.call([op::put(&directory), op::save(), operation.clone()])?;
            if name == b"\xc3\x28" && reply.status() != Err(Status::INVAL) {
                return differs(format!("a name without UTF-8: expected INVAL, found {}", reply.found()));
            }
            // LINK of a directory fails for that reason, too.
            let kind = matches!(operation, Operation::Link(_)) && reply.status() == Err(Status::ISDIR);
            if !kind {
                reply.fails_with(allowed).map_err(|reason| NotPassed::Failed(format!("{operation:?}: {reason}")))?;
            }
        }
    }
    expect_equal("names", client.names(&directory)?.len(), 0)
}
