use crate::prelude::*;

check! {
    /// A stateid with other bits, of another client or of another file is BAD_STATEID.
    457, "RFC 8881 §8.2.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    let other = client.create_with(&directory, "g", b"x")?;
    let mut flipped = file.stateid;
    flipped.other.iter_mut().for_each(|byte| *byte ^= 0x5a);
    for stateid in [&flipped, &other.stateid] {
        client.call([op::put(&file.handle), op::read(stateid, 0, 1)])?.fails(Status::BAD_STATEID)?;
    }
    let mut stranger = bench.client()?;
    stranger.call([op::put(&file.handle), op::read(&file.stateid, 0, 1)])?.fails(Status::BAD_STATEID)?.done()
}
