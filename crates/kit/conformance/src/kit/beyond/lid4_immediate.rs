use super::super::prelude::*;
use super::support::*;

check! {
    /// With IMMED an EXTENDED COPY (LID4) is answered at once and continues; its status reports the
    /// end, and a bad list is refused at once.
    208, "SPC-4 §6.5.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 2048)?;
    let list = within(bench, lba, lba + 2048, 2048)?;
    copy4(bench, lid4(&list, 8, 0x01))?.good()?;
    let started = Instant::now();
    loop {
        let status = bench.fetch(A, token::receive(5, 8, 255), 255)?.good()?;
        match status.number(5, 1)? & 0x7F {
            0x01 => break,
            0x10..=0x12 if started.elapsed() < Duration::from_secs(10) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return failed(format!("COPY OPERATION STATUS: expected 01h in the end, found {other:02x}h")),
        }
    }
    bench.expect_content(A, lba + 2048, &data)?;
    let mut bad = lid4(&list, 8, 0x01);
    bad[48] = 0xE0;
    copy4(bench, bad)?.check_condition(0x05, 0x26, 0x07)?.done()
}
