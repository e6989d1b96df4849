use crate::prelude::*;
use nfs::v4::Time;
use nfs::v4::attributes::SetTime;

check! {
    /// SETATTR of a time with 10^9 nanoseconds is INVAL.
    554, "RFC 8881 §18.30"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let time = |nanoseconds| Attribute::TimeModifySet(SetTime::ClientTime(Time { seconds: 1, nanoseconds }));
    client.set(&file.handle, [time(999_999_999)])?;
    let set = op::set_attributes(&Stateid::ANONYMOUS, Fattr::new([time(1_000_000_000)]));
    client.call([op::put(&file.handle), set])?.fails(Status::INVAL)?;
    expect_equal("time_modify", client.facts(&file.handle)?.modified, Time { seconds: 1, nanoseconds: 999_999_999 })
}
