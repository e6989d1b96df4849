//! Calls of ONC RPC, RFC 5531.

use super::kit::{Kit, decoded};
use crate::Answer;
use bytes::Bytes;
use onc_rpc::auth::{AuthStat, AuthSys, Flavor, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Accepted, Call, Rejection, ReplyBody, VersionRange};
use xdr::Writer;

/// A NULL call, changed.
fn call(change: impl FnOnce(&mut Call)) -> Bytes {
    let (credential, verifier) = (OpaqueAuth::none(), OpaqueAuth::none());
    let mut call =
        Call { xid: 77, program: nfs::PROGRAM, version: nfs::v4::VERSION, procedure: 0, credential, verifier };
    change(&mut call);
    let mut writer = Writer::default();
    call.encode(&mut writer);
    writer.into_bytes()
}

fn answer(record: Bytes) -> ReplyBody {
    decoded(Kit::new().send(record)).0
}

fn accepted(status: AcceptStatus) -> ReplyBody {
    ReplyBody::Accepted(Accepted { verifier: OpaqueAuth::none(), status })
}

fn denied(status: AuthStat) -> ReplyBody {
    ReplyBody::Denied(Rejection::AuthError(status))
}

fn sys(groups: usize) -> OpaqueAuth {
    let content = AuthSys { stamp: 1, machine_name: "c".into(), uid: 0, gid: 0, gids: vec![5; groups].into() };
    OpaqueAuth::sys(&content)
}

#[test]
fn null_is_answered_with_nothing() {
    assert_eq!(answer(call(|_| {})), accepted(AcceptStatus::Success));
    assert_eq!(answer(call(|call| call.credential = sys(16))), accepted(AcceptStatus::Success));
}

#[test]
fn a_record_that_is_no_call_gets_no_reply() {
    let kit = Kit::new();
    let mut reply = call(|_| {}).to_vec();
    reply[7] = 1;
    let accepted = [&reply[..8], &[0; 16]].concat();
    assert!(matches!(kit.send(accepted.into()), Answer::BackChannel { .. }));
    assert_eq!(kit.send(Bytes::from_static(&[0, 0, 0, 1])), Answer::Close);
    reply[7] = 2;
    assert_eq!(kit.send(reply.into()), Answer::Close);
}

#[test]
fn other_versions_of_rpc_are_denied() {
    let mut record = call(|_| {}).to_vec();
    record[11] = 3;
    let versions = VersionRange { low: 2, high: 2 };
    assert_eq!(answer(record.into()), ReplyBody::Denied(Rejection::RpcMismatch(versions)));
}

#[test]
fn programs_versions_and_procedures_that_there_are_not_are_refused() {
    assert_eq!(answer(call(|call| call.program = 100_999)), accepted(AcceptStatus::ProgramUnavailable));
    for version in [2, 5] {
        let body = answer(call(|call| call.version = version));
        let range = VersionRange { low: 4, high: 4 };
        assert_eq!(body, accepted(AcceptStatus::ProgramMismatch(range)), "{version}");
    }
    assert_eq!(answer(call(|call| call.procedure = 2)), accepted(AcceptStatus::ProcedureUnavailable));
}

#[test]
fn credentials_and_verifiers_are_checked() {
    assert_eq!(answer(call(|call| call.credential = sys(17))), denied(AuthStat::BADCRED));
    for flavor in [6, 99] {
        let credential = OpaqueAuth { flavor: Flavor(flavor), body: Vec::new().into() };
        assert_eq!(answer(call(|call| call.credential = credential)), denied(AuthStat::BADCRED), "{flavor}");
    }
    assert_eq!(answer(call(|call| call.verifier = sys(0))), denied(AuthStat::BADVERF));
}

#[test]
fn a_probe_for_tls_is_answered_without_an_offer() {
    assert_eq!(answer(call(|call| call.credential = OpaqueAuth::tls())), accepted(AcceptStatus::Success));
    let elsewhere = |call: &mut Call| {
        call.credential = OpaqueAuth::tls();
        call.procedure = 1;
    };
    assert_eq!(answer(call(elsewhere)), denied(AuthStat::BADCRED));
}
