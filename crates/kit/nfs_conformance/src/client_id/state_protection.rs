use crate::prelude::*;
use nfs::v4::session::{
    ClientOwner, ExchangeIdArguments, ProtectedOperations, SsvParameters, StateProtected, StateProtection,
};

check! {
    /// State protection that AUTH_SYS cannot have is refused, or answered with SP4_NONE.
    245, "RFC 8881 §18.35.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let operations = ProtectedOperations { must_enforce: Bitmap::EMPTY, must_allow: Bitmap::EMPTY };
    let (hashes, ciphers) = (Vec::new().into(), Vec::new().into());
    let secret = SsvParameters { operations: operations.clone(), hashes, ciphers, window: 1, handles: 1 };
    for protection in [StateProtection::MachineCredential(operations), StateProtection::Ssv(Box::new(secret))] {
        let owner = ClientOwner { verifier: [1; 8], owner: bench.owner().into() };
        let arguments = ExchangeIdArguments { owner, flags: 0, protection, implementation: None };
        let reply = outside.call([Operation::ExchangeId(Box::new(arguments))])?;
        match reply.results.last() {
            Some(Outcome::ExchangeId(Ok(found))) => {
                expect_equal("protection", found.protection.clone(), StateProtected::None)?
            }
            _ => drop(reply.fails_with(&[
                Status::INVAL,
                Status::NOTSUPP,
                Status::ENCR_ALG_UNSUPP,
                Status::HASH_ALG_UNSUPP,
            ])?),
        }
    }
    Ok(())
}
