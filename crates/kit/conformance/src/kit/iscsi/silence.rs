use super::super::prelude::*;

check! {
    /// After a time without traffic pings are answered and the session still exists (30 s when
    /// thorough).
    176, "RFC 7143 §11.18", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.session(A)?;
    std::thread::sleep(Duration::from_secs(if bench.options().thorough { 30 } else { 2 }));
    bench.session(A)?.ping(bytes::Bytes::new())?;
    bench.ask(A, cdb::test_unit_ready())?.good()?;
    Ok(())
}
