use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A server that remembers no client has no grace period.
    745, "RFC 8881 §8.4.2.1"; choice, needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    bench.restart(Remembered::Nobody)?;
    let mut other = bench.client()?;
    let open = super::open(share_access::BOTH, share_deny::BOTH);
    other.call([op::put(&file.handle), open])?.ok()?.done()
}
