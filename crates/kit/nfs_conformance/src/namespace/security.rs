use crate::prelude::*;
use nfs::v4::names::{SecurityFlavor, SecurityStyle};

check! {
    /// SECINFO and SECINFO_NO_NAME name AUTH_SYS and leave no current handle.
    366, "RFC 8881 §18.29, §18.45"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.make_directory(&directory, b"d")?;
    for ask in
        [Operation::SecurityInformation("d".into()), Operation::SecurityInformationNoName(SecurityStyle::Current)]
    {
        let reply = client.call([op::put(&directory), ask.clone(), op::get_filehandle()])?;
        let reply = reply.fails_at(2, &[Status::NOFILEHANDLE])?;
        let flavors = match reply.result(1)? {
            Outcome::SecurityInformation(Ok(flavors)) | Outcome::SecurityInformationNoName(Ok(flavors)) => {
                flavors.clone()
            }
            found => return failed(format!("expected flavors, found {found:?}")),
        };
        expect(flavors.contains(&SecurityFlavor::Other(1)), || format!("expected AUTH_SYS, found {flavors:?}"))?;
    }
    Ok(())
}
