use super::super::prelude::*;

check! {
    /// SendTargets=All lists the target with its portals.
    163, "RFC 7143 §4.3, Appendix C", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = bench.url(A)?;
    let targets = Session::discover(&url, &bench.session_options(A))?;
    let Some(target) = targets.iter().find(|target| target.name == url.target) else {
        return failed(format!("expected {} in the list, found {targets:?}", url.target));
    };
    let mut portals = vec![url.port];
    if bench.options().second_portal.is_some() {
        portals.push(bench.url(A2)?.port);
    }
    for port in portals {
        let there = target.addresses.iter().any(|address| address.contains(&format!(":{port},")));
        expect(there, || format!("expected a portal with port {port}, found {:?}", target.addresses))?;
    }
    Ok(())
}
