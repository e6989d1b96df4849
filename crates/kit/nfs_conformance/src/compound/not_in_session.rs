use crate::prelude::*;

check! {
    /// A compound that begins with PUTROOTFH is OP_NOT_IN_SESSION, with one result.
    211, "RFC 8881 §18.46.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.outside()?.call([op::put_root(), op::get_filehandle()])?.fails_at(0, &[Status::OP_NOT_IN_SESSION])?.done()
}
