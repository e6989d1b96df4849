use super::super::prelude::*;

check! {
    /// A list that ends inside a descriptor is refused with PARAMETER LIST LENGTH ERROR.
    68, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let list = nothing(bench)?;
    for length in [40, list.len() - 4] {
        copy(bench, A, list[..length].to_vec())?.check_condition(0x05, 0x1A, 0x00)?;
    }
    Ok(())
}
