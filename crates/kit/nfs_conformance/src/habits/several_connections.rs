use crate::prelude::*;

check! {
    /// One session is used over four connections at a time, any slot over any of them.
    796, "RFC 8881 §2.10.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let others =
        [client.outside.clone(), client.outside.reconnect()?, client.outside.reconnect()?, client.outside.reconnect()?];
    for (sequence, outside) in (1..=16).zip(others.iter().cycle()) {
        for slot in 1..4 {
            let first = Operation::Sequence(client.sequence(slot, sequence, false));
            outside.call([first, op::put_root(), op::get_filehandle()])?.ok()?;
        }
    }
    Ok(())
}
