use super::super::prelude::*;

check! {
    /// The obsolete IFMarker=No is answered No or Reject, never NotUnderstood.
    154, "RFC 7143 §13.25", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = login_with(bench, &[("IFMarker", "No")])?;
    let found = answer.value("IFMarker").unwrap_or("no answer");
    expect(["No", "Reject"].contains(&found), || format!("IFMarker: expected No or Reject, found {found}"))?;
    Ok(())
}
