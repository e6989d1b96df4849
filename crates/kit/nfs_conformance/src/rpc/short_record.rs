use crate::prelude::*;

check! {
    /// A record that is too short for a message ends the connection.
    8, "RFC 5531 §11"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    wire.send_record(&[0; 4])?;
    wire.expect_closed(Duration::from_secs(2))
}
