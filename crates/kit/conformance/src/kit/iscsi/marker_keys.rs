//! The obsolete IFMarker=No is answered No or Reject, never NotUnderstood.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 154,
    name: "iscsi/marker_keys",
    section: "RFC 7143 §13.25",
    asks: "The obsolete IFMarker=No is answered No or Reject, never NotUnderstood.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = login_with(bench, &[("IFMarker", "No")])?;
    let found = answer.value("IFMarker").unwrap_or("no answer");
    expect(["No", "Reject"].contains(&found), || format!("IFMarker: expected No or Reject, found {found}"))?;
    Ok(())
}
