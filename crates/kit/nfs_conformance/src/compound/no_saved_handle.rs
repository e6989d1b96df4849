use crate::prelude::*;

check! {
    /// RENAME, LINK, CLONE, COPY and RESTOREFH without a saved handle are NOFILEHANDLE.
    218, "RFC 8881 §15.1.2.5, RFC 7862 §15.2, §15.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let any = Stateid::ANONYMOUS;
    let mut operations = vec![op::rename("a", "b"), op::link("a"), op::restore()];
    if client.outside.minor >= 2 {
        operations.extend([op::clone(&any, &any, 0, 0, 0), op::copy(&any, &any, 0, 0, 0)]);
    }
    for operation in operations {
        let reply = client.call([op::put(&directory), operation])?;
        match reply.status() {
            Err(Status::NOTSUPP) => {}
            _ => reply.fails(Status::NOFILEHANDLE).map(drop)?,
        }
    }
    Ok(())
}
