//! A key that is not known is NotUnderstood.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 153,
    name: "iscsi/unknown_key",
    section: "RFC 7143 §6.1",
    asks: "A key that is not known is NotUnderstood.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    login_with(bench, &[("X-foo", "bar")])?.expect("X-foo", "NotUnderstood")?;
    Ok(())
}
