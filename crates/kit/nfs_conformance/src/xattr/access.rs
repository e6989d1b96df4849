use crate::credential::user;
use crate::prelude::*;

check! {
    /// ACCESS knows the permissions of extended attributes: those of reading and of writing.
    734, "RFC 8276 §8.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.set(&file.handle, [Attribute::Owner("1000".into())])?;
    for (mode, wanted) in [(0o600, 0x1c0), (0o400, 0x140), (0o200, 0x080)] {
        client.set_mode(&file.handle, mode)?;
        let reply = bench.client_as(user(1000))?.call([op::put(&file.handle), op::access(0x1ff)])?;
        let found = take!(reply.ok()?.last()?, Outcome::Access);
        if found.supported & 0x1c0 == 0 {
            return skipped("the server does not support extended attributes, which are optional");
        }
        expect_equal(&format!("access of mode {mode:o}"), found.access & 0x1c0, wanted)?;
    }
    Ok(())
}
