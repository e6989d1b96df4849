use crate::prelude::*;

check! {
    /// Ten thousand calls have as many replies.
    39, "RFC 8881 §2.9.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for _ in 0..100 {
        bench.check_stopped()?;
        let calls: Vec<_> = (0..100)
            .map(|call| match call % 3 {
                0 => vec![op::put_root()],
                1 => vec![op::raw(0, |_| {})],
                _ => Vec::new(),
            })
            .collect();
        outside.call_all(&calls)?;
    }
    Ok(())
}
