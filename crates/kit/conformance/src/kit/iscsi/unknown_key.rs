use super::super::prelude::*;

check! {
    /// A key that is not known is NotUnderstood.
    153, "RFC 7143 §6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    login_with(bench, &[("X-foo", "bar")])?.expect("X-foo", "NotUnderstood")?;
    Ok(())
}
