use crate::credential::user;
use crate::prelude::*;

check! {
    /// LOOKUP without search permission is ACCESS.
    361, "RFC 8881 §18.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let inner = client.make_directory(&directory, b"d")?;
    client.create(&inner, "f")?;
    client.set_mode(&inner, 0o600)?;
    bench.client_as(user(1000))?.call([op::put(&inner), op::lookup("f")])?.fails(Status::ACCESS)?.done()
}
