use crate::credential::user;
use crate::prelude::*;

check! {
    /// ACCESS follows the permission bits of the caller.
    392, "RFC 8881 §18.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.set(&file.handle, [Attribute::Owner("1000".into()), Attribute::OwnerGroup("1000".into())])?;
    for (mode, wanted) in [(0o400, 0x01), (0o600, 0x0d), (0o700, 0x2d), (0o077, 0)] {
        client.set_mode(&file.handle, mode)?;
        let reply = bench.client_as(user(1000))?.call([op::put(&file.handle), op::access(0x3f)])?.ok()?;
        let found = take!(reply.last()?, Outcome::Access);
        expect_equal(&format!("access of mode {mode:o}"), found.access & 0x2d, wanted)?;
        expect(found.supported & 0x2d == 0x2d, || format!("supported: found {:#x}", found.supported))?;
    }
    Ok(())
}
