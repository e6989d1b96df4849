//! Headers and credentials against bytes by hand, after RFC 5531 §9 and appendix A, RFC 1833 and
//! RFC 9289; and made-up values there and back.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use bytes::Bytes;
use hex_literal::hex;
use xdr::{Random, Reader, Sample, Writer, Xdr};

use crate::auth::{AuthStat, AuthSys, Credential, Flavor, OpaqueAuth};
use crate::message::*;
use crate::{CallError, portmap, rpcbind};

fn written(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

fn message(bytes: &[u8]) -> Result<Message, HeaderError> {
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    let message = Message::decode(&mut reader)?;
    reader.finish()?;
    Ok(message)
}

fn call(bytes: &[u8]) -> Call {
    match message(bytes) {
        Ok(Message::Call(call)) => call,
        other => panic!("{other:?}"),
    }
}

fn authenticate(call: &Call) -> Result<Credential, AuthStat> {
    call.authenticate()
}

/// NULL of NFSv4 with AUTH_NONE.
const NULL: [u8; 40] =
    hex!("00000001 00000000 00000002 000186a3 00000004 00000000 00000000 00000000 00000000 00000000");

fn with_auth(procedure: u32, credential: OpaqueAuth, verifier: OpaqueAuth) -> Call {
    Call { procedure, credential, verifier, ..call(&NULL) }
}

#[test]
fn a_call_has_the_bytes_of_the_standard() {
    let null = call(&NULL);
    let none = OpaqueAuth::none();
    assert_eq!(
        null,
        Call { xid: 1, program: 100_003, version: 4, procedure: 0, credential: none.clone(), verifier: none }
    );
    assert_eq!(written(|writer| null.encode(writer)), &NULL[..]);
    assert_eq!(authenticate(&null), Ok(Credential::None));
}

#[test]
fn an_auth_sys_credential_has_the_bytes_of_the_standard() {
    let content = AuthSys { stamp: 0x5f, machine_name: "pve1".into(), uid: 1000, gid: 100, gids: vec![4, 24].into() };
    let bytes = hex!("00000001 00000020 0000005f 00000004 70766531 000003e8 00000064 00000002 00000004 00000018");
    let credential = OpaqueAuth::sys(&content);
    assert_eq!(written(|writer| credential.encode(writer)), &bytes[..]);
    assert_eq!(authenticate(&with_auth(1, credential, OpaqueAuth::none())), Ok(Credential::Sys(content)));
}

#[test]
fn replies_have_the_bytes_of_the_standard() {
    let range = VersionRange { low: 3, high: 4 };
    let cases = [
        (Reply::accepted(7, AcceptStatus::Success), &hex!("00000007 00000001 00000000 00000000 00000000 00000000")[..]),
        (
            Reply::accepted(7, AcceptStatus::ProgramUnavailable),
            &hex!("00000007 00000001 00000000 00000000 00000000 00000001"),
        ),
        (
            Reply::accepted(7, AcceptStatus::ProgramMismatch(range)),
            &hex!("00000007 00000001 00000000 00000000 00000000 00000002 00000003 00000004"),
        ),
        (
            Reply::accepted(7, AcceptStatus::ProcedureUnavailable),
            &hex!("00000007 00000001 00000000 00000000 00000000 00000003"),
        ),
        (
            Reply::accepted(7, AcceptStatus::GarbageArguments),
            &hex!("00000007 00000001 00000000 00000000 00000000 00000004"),
        ),
        (Reply::accepted(7, AcceptStatus::SystemError), &hex!("00000007 00000001 00000000 00000000 00000000 00000005")),
        (
            Reply::denied(7, Rejection::RpcMismatch(VersionRange { low: 2, high: 2 })),
            &hex!("00000007 00000001 00000001 00000000 00000002 00000002"),
        ),
        (
            Reply::denied(7, Rejection::AuthError(AuthStat::TOOWEAK)),
            &hex!("00000007 00000001 00000001 00000001 00000005"),
        ),
    ];
    for (reply, bytes) in cases {
        assert_eq!(written(|writer| reply.encode(writer)), bytes);
        assert_eq!(message(bytes).unwrap(), Message::Reply(reply));
    }
}

/// Fact 11.
#[test]
fn another_version_of_rpc_is_denied_with_the_range() {
    let mut bytes = NULL;
    bytes[11] = 3;
    let reason = Rejection::RpcMismatch(VersionRange { low: 2, high: 2 });
    assert_eq!(message(&bytes), Err(HeaderError::Denied { xid: 1, reason }));
    bytes[7] = 2;
    assert!(matches!(message(&bytes), Err(HeaderError::Malformed(error)) if error.what == "rpc_msg.mtype"));
}

/// Facts 12, 13 and 14.
#[test]
fn programs_and_versions_that_are_not_served() {
    let programs =
        Programs(&[(100_003, VersionRange { low: 3, high: 4 }), (100_005, VersionRange { low: 3, high: 3 })]);
    assert_eq!(programs.check(100_003, 3), Ok(()));
    assert_eq!(programs.check(100_003, 4), Ok(()));
    assert_eq!(programs.check(100_999, 1), Err(AcceptStatus::ProgramUnavailable));
    for version in [0, 2, 5, u32::MAX] {
        let range = VersionRange { low: 3, high: 4 };
        assert_eq!(programs.check(100_003, version), Err(AcceptStatus::ProgramMismatch(range)));
    }
    let range = VersionRange { low: 3, high: 3 };
    assert_eq!(programs.check(100_005, 1), Err(AcceptStatus::ProgramMismatch(range)));
}

fn sys(groups: u32, name_bytes: usize) -> OpaqueAuth {
    // Written by hand, as the limits hold only for what is decoded.
    let body = written(|writer| {
        writer.u32(0);
        writer.opaque(&vec![b'x'; name_bytes]);
        writer.u64(0);
        writer.u32(groups);
        (0..groups).for_each(|group| writer.u32(group));
    });
    OpaqueAuth { flavor: Flavor::SYS, body: body.into() }
}

/// Facts 19, 20 and 21.
#[test]
fn auth_sys_within_and_beyond_its_limits() {
    let none = OpaqueAuth::none;
    for (groups, name, served) in [(0, 0, true), (16, 4, true), (17, 4, false), (16, 255, true), (0, 256, false)] {
        let outcome = authenticate(&with_auth(1, sys(groups, name), none()));
        match outcome {
            Ok(Credential::Sys(content)) if served => {
                assert_eq!((content.gids.len(), content.machine_name.len()), (groups as usize, name));
            }
            Err(AuthStat::BADCRED) if !served => {}
            other => panic!("{groups} groups, a name of {name} bytes: {other:?}"),
        }
    }
    let whole = sys(3, 5);
    for length in 0..whole.body.len() {
        let cut = OpaqueAuth { flavor: Flavor::SYS, body: whole.body[..length].into() };
        assert_eq!(authenticate(&with_auth(1, cut, none())), Err(AuthStat::BADCRED), "{length}");
    }
    let longer = OpaqueAuth { flavor: Flavor::SYS, body: [&whole.body[..], &[0; 4]].concat().into() };
    assert_eq!(authenticate(&with_auth(1, longer, none())), Err(AuthStat::BADCRED));
}

/// Facts 23 and 26; RFC 5531 §10: a server may refuse flavors.
#[test]
fn flavors_and_verifiers_that_are_refused() {
    let odd = OpaqueAuth { flavor: Flavor::NONE, body: "x".into() };
    assert_eq!(authenticate(&with_auth(1, odd.clone(), OpaqueAuth::none())), Err(AuthStat::BADCRED));
    for verifier in [odd, sys(0, 0)] {
        for credential in [OpaqueAuth::none(), sys(1, 1), OpaqueAuth::tls()] {
            assert_eq!(authenticate(&with_auth(0, credential, verifier.clone())), Err(AuthStat::BADVERF));
        }
    }
    for flavor in [Flavor::SHORT, Flavor::DH, Flavor::RPCSEC_GSS, Flavor(99)] {
        let credential = OpaqueAuth { flavor, body: "abcd".into() };
        assert_eq!(authenticate(&with_auth(0, credential, OpaqueAuth::none())), Err(AuthStat::BADCRED));
    }
}

/// Fact 25.
#[test]
fn a_credential_above_400_bytes_is_denied() {
    let header = &NULL[..24];
    let long = [header, &hex!("00000001 00000194"), &[0; 404], &hex!("00000000 00000000")].concat();
    let reason = Rejection::AuthError(AuthStat::BADCRED);
    assert_eq!(message(&long), Err(HeaderError::Denied { xid: 1, reason }));
    let long = [header, &hex!("00000000 00000000 00000000 00000191"), &[0; 404]].concat();
    let reason = Rejection::AuthError(AuthStat::BADVERF);
    assert_eq!(message(&long), Err(HeaderError::Denied { xid: 1, reason }));
}

/// Facts 27 and 28; RFC 9289 §4.1.
#[test]
fn a_probe_for_tls_is_answered_in_the_verifier() {
    let mut bytes = NULL;
    bytes[27] = 7;
    let probe = call(&bytes);
    assert_eq!(probe.credential, OpaqueAuth::tls());
    assert_eq!(authenticate(&probe), Ok(Credential::TlsProbe));
    assert_eq!(authenticate(&Call { procedure: 1, ..probe }), Err(AuthStat::BADCRED));
    let offer = OpaqueAuth::tls_answer(true);
    assert_eq!(written(|writer| offer.encode(writer)), &hex!("00000000 00000008 5354415254544c53")[..]);
    assert!(offer.offers_tls());
    assert_eq!(OpaqueAuth::tls_answer(false), OpaqueAuth::none());
    assert!(!OpaqueAuth::none().offers_tls());
}

#[test]
fn a_header_that_ends_early_is_malformed_or_denied() {
    let full = Call { credential: sys(2, 3), ..call(&NULL) };
    let bytes = written(|writer| full.encode(writer));
    for length in 0..bytes.len() {
        match message(&bytes[..length]) {
            Err(HeaderError::Malformed(_)) => assert!(length < 24),
            Err(HeaderError::Denied { reason: Rejection::AuthError(status), .. }) => {
                let expected = if length < bytes.len() - 8 { AuthStat::BADCRED } else { AuthStat::BADVERF };
                assert_eq!(status, expected, "{length}");
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn headers_survive_the_way_there_and_back() {
    for seed in 0..2000 {
        let random = Random::new(seed);
        let sample = Call {
            xid: u32::sample(&random),
            program: u32::sample(&random),
            version: u32::sample(&random),
            procedure: u32::sample(&random),
            credential: OpaqueAuth::sample(&random),
            verifier: OpaqueAuth::sample(&random),
        };
        assert_eq!(call(&written(|writer| sample.encode(writer))), sample, "seed {seed}");
        let reply = Reply { xid: 5, body: ReplyBody::sample(&random) };
        assert_eq!(message(&written(|writer| reply.encode(writer))).unwrap(), Message::Reply(reply), "seed {seed}");
    }
}

/// RFC 1833 §3.1.
#[test]
fn portmap_has_the_bytes_of_the_standard() {
    let mapping = |program, version, protocol, port| portmap::Mapping { program, version, protocol, port };
    let request = portmap::Request::GetPort(mapping(100_003, 3, portmap::Protocol::TCP, 0));
    let bytes = hex!("000186a3 00000003 00000006 00000000");
    assert_eq!(written(|writer| request.encode(writer)), &bytes[..]);
    assert_eq!((request.procedure(), request.name()), (3, "GETPORT"));
    let mut reader = Reader::new(Bytes::copy_from_slice(&bytes));
    assert_eq!(portmap::Request::decode(3, &mut reader), Ok(request));

    let entries =
        vec![mapping(100_003, 4, portmap::Protocol::TCP, 2049), mapping(100_005, 3, portmap::Protocol::UDP, 2049)];
    let results = portmap::Results::Dump(entries.into());
    let bytes = hex!(
        "00000001 000186a3 00000004 00000006 00000801"
        "00000001 000186a5 00000003 00000011 00000801 00000000"
    );
    assert_eq!(written(|writer| results.encode(writer)), &bytes[..]);
    let mut reader = Reader::new(Bytes::copy_from_slice(&bytes));
    assert_eq!(portmap::Results::decode(4, &mut reader), Ok(results));
}

/// RFC 1833 §2.1.
#[test]
fn rpcbind_has_the_bytes_of_the_standard() {
    let binding = rpcbind::Binding {
        program: 100_003,
        version: 3,
        network_id: "tcp".into(),
        address: "10.0.0.1.8.1".into(),
        owner: "".into(),
    };
    let request = rpcbind::Request::GetAddress(binding);
    let bytes = hex!("000186a3 00000003 00000003 74637000 0000000c 31302e302e302e312e382e31 00000000");
    assert_eq!(written(|writer| request.encode(writer)), &bytes[..]);
    for version in [3, 4] {
        let mut reader = Reader::strict(Bytes::copy_from_slice(&bytes));
        assert_eq!(rpcbind::Request::decode_version(version, 3, &mut reader), Ok(request.clone()));
    }
    let mut reader = Reader::new(Bytes::copy_from_slice(&bytes));
    let unavailable = CallError::ProcedureUnavailable { procedure: 9 };
    assert_eq!(rpcbind::Request::decode_version(3, 9, &mut reader), Err(unavailable));
    assert_eq!(unavailable.status(), AcceptStatus::ProcedureUnavailable);
    assert!(rpcbind::Request::decode_version(4, 9, &mut reader).is_ok());
    let error = rpcbind::Request::decode_version(4, 9, &mut reader).unwrap_err();
    assert_eq!(error.status(), AcceptStatus::GarbageArguments);
}

/// Fact 57; RFC 5665 §5.2.3.
#[test]
fn universal_addresses() {
    for (text, address) in
        [("10.1.2.3.8.1", "10.1.2.3:2049"), ("::1.0.111", "[::1]:111"), ("2001:db8::1.255.255", "[2001:db8::1]:65535")]
    {
        let address: std::net::SocketAddr = address.parse().unwrap();
        assert_eq!(rpcbind::universal_address(address), text);
        assert_eq!(rpcbind::parse_universal_address(text), Some(address));
    }
    for text in ["", ".", "10.1.2.3", "10.1.2.3.8", "10.1.2.3.256.1", "10.1.2.3.+8.1", "10.1.2.3.8.", "host.8.1"] {
        assert_eq!(rpcbind::parse_universal_address(text), None, "{text}");
    }
    assert_eq!(rpcbind::tcp_network_id("::1".parse().unwrap()), "tcp6");
}

#[test]
fn portmap_and_rpcbind_survive_the_way_there_and_back() {
    for seed in 0..1000 {
        let random = Random::new(seed);
        macro_rules! there_and_back {
            ($($type:ty),*) => {$(
                let value = <$type>::sample(&random);
                let mut reader = Reader::strict(written(|writer| value.encode(writer)));
                assert_eq!(<$type>::decode(value.procedure(), &mut reader), Ok(value), "seed {seed}");
                reader.finish().unwrap();
            )*};
        }
        there_and_back!(portmap::Request, portmap::Results, rpcbind::Request, rpcbind::Results);
    }
}
