use crate::credential::user_with_groups;
use crate::prelude::*;

check! {
    /// A credential with 16 groups is accepted, and the last one counts.
    19, "RFC 5531 §8.2, appendix A"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut root, directory) = bench.place()?;
    let file = root.create_with(&directory, "f", b"content")?;
    root.set(&file.handle, [Attribute::OwnerGroup("4016".into())])?;
    root.set_mode(&file.handle, 0o640)?;
    let read = [op::put(&file.handle), op::read(&Stateid::ANONYMOUS, 0, 7)];
    let groups: Vec<_> = (4001..=4016).collect();
    bench.client_as(user_with_groups(1000, 1000, &groups))?.call(read.clone())?.ok()?;
    let fifteen = groups.get(..15).unwrap_or_default();
    bench.client_as(user_with_groups(1000, 1000, fifteen))?.call(read)?.fails(Status::ACCESS)?.done()
}
