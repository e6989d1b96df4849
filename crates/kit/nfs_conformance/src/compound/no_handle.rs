use crate::prelude::*;

check! {
    /// Operations without a current handle are NOFILEHANDLE.
    217, "RFC 8881 §15.1.2.5"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let stateid = Stateid::ANONYMOUS;
    for operation in [
        op::attributes(&[1]),
        op::get_filehandle(),
        op::lookup("x"),
        op::lookup_parent(),
        op::save(),
        op::read(&stateid, 0, 1),
        op::write(&stateid, 0, Stable::FileSync, b"x"),
        op::commit(0, 0),
        op::remove("x"),
        op::access(1),
        op::read_link(),
        op::read_directory(0, [0; 8], 4096, &[]),
        op::set_attributes(&stateid, Fattr::none()),
    ] {
        client.call([operation])?.fails(Status::NOFILEHANDLE)?;
    }
    Ok(())
}
