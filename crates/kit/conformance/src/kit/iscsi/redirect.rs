use super::super::prelude::*;

check! {
    /// A redirected login gets status 0101h and an address, and succeeds there.
    174, "RFC 7143 §11.13.5", needs: [SecondPortal, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let portal = format!("{}:{}", url.host, url.port);
    bench.cut(A);
    bench.hook(&["redirect", &portal])?;
    let outcome = Session::connect(&url, &options);
    bench.hook(&["no-redirect", &portal])?;
    let Err(SessionError::Login { status, target_address: Some(address) }) = outcome else {
        return failed("login: expected status 0101h with TargetAddress, found otherwise");
    };
    expect_equal("login status class and detail", (status.class(), status.detail()), (1, 1))?;
    let address = address.split(',').next().unwrap_or_default();
    let moved: Url = format!("iscsi://{address}/{}/{}", url.target, url.lun)
        .parse()
        .map_err(|error| NotPassed::Failed(format!("TargetAddress {address}: {error}")))?;
    Session::connect(&Url { chap: url.chap, ..moved }, &options)?.logout()?;
    Ok(())
}
