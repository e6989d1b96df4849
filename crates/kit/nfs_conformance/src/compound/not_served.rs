use crate::prelude::*;

check! {
    /// Operations of pNFS, directory delegations, secret state verifiers and copies between servers are
    /// NOTSUPP.
    209, "RFC 8881 §18, RFC 7862 §13"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let minor = client.outside.minor;
    let words = |code, count: u32| op::raw(code, move |writer| (0..count).for_each(|_| writer.u32(0)));
    let purge = words(7, 2);
    let delegation = words(46, 10);
    let list = words(48, 6);
    let layout = words(50, 14);
    let secret = words(54, 2);
    let mut operations = vec![purge, delegation, list, layout, secret];
    if minor >= 2 {
        // An anonymous stateid and a name of one byte.
        operations.push(op::raw(61, |writer| {
            writer.fixed(&[0; 16]);
            writer.u32(1);
            writer.opaque(b"n");
        }));
    }
    for operation in operations {
        client.call([op::put_root(), operation])?.fails(Status::NOTSUPP)?;
    }
    Ok(())
}
