use super::super::prelude::*;

check! {
    /// A second login with the same name and ISID closes the old session first, and no command of
    /// the old one takes effect later.
    162, "RFC 7143 §6.3.5", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (url, options) = (bench.url(C)?, bench.session_options(C));
    for _ in 0..10 {
        let data = bench.pattern(2048);
        bench.cut(C);
        let mut old = Session::connect(&url, &options)?;
        old.clear_unit_attentions()?;
        old.submit(cdb::write16(lba, 2048, false), TransferRequest::Out(data.into()))?;
        let mut new = Session::connect(&url, &options)?;
        new.clear_unit_attentions()?;
        let first = new.read16(lba, 2048)?;
        let refused = matches!(old.test_unit_ready(), Err(CommandError::Session(_)));
        expect(refused, || "the old session: expected a closed connection, found an answer".into())?;
        std::thread::sleep(Duration::from_millis(20));
        expect_bytes("content after the second login", &new.read16(lba, 2048)?, &first)?;
        new.logout()?;
    }
    Ok(())
}
