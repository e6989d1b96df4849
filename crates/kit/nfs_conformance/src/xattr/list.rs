use crate::prelude::*;
use nfs::v4::xattr::SetOption;

check! {
    /// LISTXATTRS names each attribute once; a fresh file has none.
    724, "RFC 8276 §8.4.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let mut names = Vec::new();
    for count in 0..3 {
        let reply = client.call([op::put(&file.handle), op::list_xattrs(0, 8192)])?.optional()?.ok()?;
        let listed = take!(reply.last()?, Outcome::ListXattrs);
        let mut found: Vec<_> = listed.names.iter().map(|name| name.to_vec()).collect();
        found.sort();
        expect_equal("names and eof", (found, listed.eof), (names.clone(), true))?;
        let name = format!("key-{count}").into_bytes();
        client.call([op::put(&file.handle), op::set_xattr(SetOption::Create, &name, b"v")])?.ok()?;
        names.push(name);
    }
    Ok(())
}
