use super::super::prelude::*;

check! {
    /// LIST ID USAGE 11b with a list identifier is refused.
    65, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[0] = 5;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x00)?;
    Ok(())
}
