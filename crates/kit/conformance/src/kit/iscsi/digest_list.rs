use super::super::prelude::*;

check! {
    /// HeaderDigest=None,CRC32C is answered with the first of them.
    151, "RFC 7143 §13.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    login_with(bench, &[("HeaderDigest", "None,CRC32C")])?.expect("HeaderDigest", "None")?;
    Ok(())
}
