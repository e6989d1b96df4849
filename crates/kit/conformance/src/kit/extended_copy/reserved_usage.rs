use super::super::prelude::*;

check! {
    /// LIST ID USAGE 01b is refused.
    66, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[1] = 0x08;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x00)?;
    Ok(())
}
