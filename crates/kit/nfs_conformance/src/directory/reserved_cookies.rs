use crate::prelude::*;

check! {
    /// Cookies 1 and 2 are BAD_COOKIE.
    601, "RFC 8881 §18.23.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.make_directory(&directory, b"d")?;
    for cookie in [1, 2] {
        client.call([op::put(&directory), op::read_directory(cookie, [0; 8], 4096, &[])])?.fails(Status::BAD_COOKIE)?;
    }
    Ok(())
}
