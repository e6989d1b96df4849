//! Path MTU: the MTU itself is set on hosts and switches, but a session can request the resulting
//! segment size of TCP. Every transfer below takes many segments, and none ends at the boundary of
//! one.

use super::super::prelude::*;
use crate::initiator::SessionOptions;

check! {
    /// Paths with an MTU of 9000 and of 1500 both work.
    173, "RFC 7143 §4.2", needs: [Writes]
}

/// Size of the IP and TCP headers in bytes, with timestamps.
const HEADERS: u16 = 52;

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = bench.url(A)?;
    for mtu in [9000, 1500] {
        let base = bench.session_options(A);
        let initiator_name = format!("{}-mtu{mtu}", base.initiator_name);
        let options = SessionOptions { initiator_name, maximum_segment: Some(mtu - HEADERS), ..base };
        let mut session = Session::connect(&url, &options)?;
        session.clear_unit_attentions()?;
        let (lba, data) = (bench.scratch(2048)?, bench.pattern(2048));
        session.write16(lba, data.clone().into())?;
        let read = session.read16(lba, 2048)?;
        expect(read[..] == data[..], || {
            format!("1 MiB with an MTU of {mtu}: expected the written data, found other data")
        })?;
        session.logout()?;
    }
    Ok(())
}
