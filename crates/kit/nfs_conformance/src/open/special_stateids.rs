use crate::prelude::*;

check! {
    /// Special stateids that do not exist, and the current one where there is none, are BAD_STATEID.
    467, "RFC 8881 §8.2.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    for (seqid, byte) in [(u32::MAX, 0), (2, 0), (1, 0xff), (1, 0)] {
        let stateid = Stateid { seqid, other: [byte; 12] };
        client.call([op::put(&file.handle), op::read(&stateid, 0, 1)])?.fails(Status::BAD_STATEID)?;
    }
    Ok(())
}
