//! HeaderDigest=None,CRC32C is answered with the first of them.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 151,
    name: "iscsi/digest_list",
    section: "RFC 7143 §13.1",
    asks: "HeaderDigest=None,CRC32C is answered with the first of them.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    login_with(bench, &[("HeaderDigest", "None,CRC32C")])?.expect("HeaderDigest", "None")?;
    Ok(())
}
