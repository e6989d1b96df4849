use super::super::prelude::*;

check! {
    /// An unknown key is answered NotUnderstood.
    153, "RFC 7143 §6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    login_with(bench, &[("X-foo", "bar")])?.expect("X-foo", "NotUnderstood")?;
    Ok(())
}
