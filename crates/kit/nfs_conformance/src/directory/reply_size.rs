use crate::prelude::*;

check! {
    /// The reply of READDIR is not longer than its maximum count.
    606, "RFC 8881 §18.23"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    for number in 0..60 {
        client.make_directory(&directory, format!("entry-{number}").as_bytes())?;
    }
    for maximum in [512, 700, 1024, 1500] {
        let reply = client.call([op::put(&directory), op::read_directory(0, [0; 8], maximum, &[1, 4, 20])])?.ok()?;
        let listed = take!(reply.last()?, Outcome::ReadDirectory);
        let mut writer = xdr::Writer::default();
        xdr::Xdr::encode(&listed, &mut writer);
        let length = writer.length_bytes();
        expect(length <= maximum as usize, || {
            format!("READDIR4resok: expected at most {maximum} bytes, found {length}")
        })?;
        expect(!listed.entries.is_empty() && !listed.eof, || "expected some of the entries".into())?;
    }
    Ok(())
}
