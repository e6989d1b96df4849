use super::super::prelude::*;

check! {
    /// A CSCD descriptor of type E0h is not supported.
    72, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[16] = 0xE0;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x07)?;
    Ok(())
}
