use crate::prelude::*;

check! {
    /// READDIR names each entry once, none of them `.` or `..`, under cookies above 2.
    600, "RFC 8881 §18.23"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let mut wanted = Vec::new();
    for number in 0..300 {
        let name = format!("entry-{number:03}").into_bytes();
        client.make_directory(&directory, &name)?;
        wanted.push(name);
    }
    expect_equal("names", client.names(&directory)? == wanted, true)?;
    let (mut cookie, mut verifier, mut names) = (0, [0; 8], Vec::new());
    for _ in 0..1000 {
        let reply = client.call([op::put(&directory), op::read_directory(cookie, verifier, 1024, &[20])])?.ok()?;
        let listed = take!(reply.last()?, Outcome::ReadDirectory);
        names.extend(listed.entries.iter().map(|entry| entry.name.to_vec()));
        if listed.eof {
            break;
        }
        let Some(last) = listed.entries.last() else { return failed("expected entries or eof, found neither") };
        expect(last.cookie > 2, || format!("cookie: expected more than 2, found {}", last.cookie))?;
        (cookie, verifier) = (last.cookie, listed.verifier);
    }
    names.sort();
    expect_equal("names in pieces of 1 KiB", names == wanted, true)
}
