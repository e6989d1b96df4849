use super::super::prelude::*;

check! {
    /// A segment descriptor of type 03h is not supported.
    73, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[48] = 0x03;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x09)?;
    Ok(())
}
