use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// A name that is empty or not UTF-8 is INVAL, one of dots BADNAME, one above 255 bytes NAMETOOLONG, one
    /// with a slash or NUL BADCHAR or BADNAME.
    362, "RFC 8881 §14, §18.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let allowed: [(&[u8], &[Status]); 7] = [
        (b"", &[Status::INVAL]),
        (b"\xc3\x28", &[Status::INVAL]),
        (b".", &[Status::BADNAME]),
        (b"..", &[Status::BADNAME]),
        (&[b'n'; 256], &[Status::NAMETOOLONG]),
        (b"a/b", &[Status::BADCHAR, Status::BADNAME]),
        (b"a\0b", &[Status::BADCHAR, Status::BADNAME]),
    ];
    for (name, allowed) in allowed {
        let create = op::create(CreateType::Directory, name, Fattr::none());
        for operation in [op::lookup(name), create, op::remove(name), op::link(name), op::rename("x", name)] {
            let words = format!("{:?}", &operation);
            let reply = client.call([op::put(&directory), op::save(), operation])?;
            reply
                .fails(*allowed.first().unwrap_or(&Status::INVAL))
                .or_else(|reason| {
                    let found = reason.to_string();
                    let fine = allowed.iter().skip(1).any(|status| found.contains(&format!("found {status} ")));
                    // LINK of a directory fails for another reason, too.
                    let kind = words.starts_with("Link") && found.contains("found ISDIR");
                    if fine || kind { skipped("") } else { failed(format!("{words}: {found}")) }
                })
                .map_or_else(
                    |reason| if reason == NotPassed::Skipped(String::new()) { Ok(()) } else { Err(reason) },
                    |_| Ok(()),
                )?;
        }
    }
    expect_equal("names", client.names(&directory)?.len(), 0)
}
