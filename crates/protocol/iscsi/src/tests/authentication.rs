//! CHAP, one-way and mutual (conformance checks 158 to 161).

use super::login::Raw;
use super::pair::{INITIATOR, Pair, TARGET, TestDirectory};
use crate::chap::{Algorithm, Credentials};
use crate::connection::{self, CloseReason};
use crate::initiator::{Chap, Config, Event};
use crate::pdu::LoginStatus;
use crate::text;

const USER: (&str, &str) = ("esx01", "initiator-secret");
const ARRAY: (&str, &str) = ("array", "target-secret-01");

fn config(own: (&str, &str), target: Option<(&str, &str)>, algorithms: &[Algorithm]) -> Config {
    let credentials = |(name, secret): (&str, &str)| Credentials::new(name, secret);
    let chap = Chap { own: credentials(own), target: target.map(credentials), algorithms: algorithms.to_vec() };
    Config { chap: Some(chap), ..Config::new(INITIATOR, TARGET) }
}

fn outcome(config: Config, directory: TestDirectory) -> Result<Option<String>, LoginStatus> {
    let mut pair = Pair::with(config, connection::Config::default(), directory);
    pair.drive();
    match pair.events.as_slice() {
        [Event::LoggedIn { .. }] => Ok(pair.target.identity().unwrap().authenticated_as.clone()),
        [Event::LoginFailed { status, .. }] => Err(*status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_way_with_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let directory = TestDirectory::chap(&[("other", "another-secret!"), USER], None);
        assert_eq!(outcome(config(USER, None, &[algorithm]), directory), Ok(Some("esx01".into())), "{algorithm:?}");
    }
}

#[test]
fn wrong_name_or_secret() {
    for own in [("esx01", "wrong-secret-00"), ("esx02", USER.1), ("esx01", "")] {
        let failed = outcome(config(own, None, &[Algorithm::Md5]), TestDirectory::chap(&[USER], None));
        assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
    }
    // Valid secret of another user.
    let directory = TestDirectory::chap(&[USER, ("esx02", "secret-of-esx02")], None);
    let failed = outcome(config(("esx01", "secret-of-esx02"), None, &[Algorithm::Md5]), directory);
    assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
}

#[test]
fn mutual() {
    for algorithm in Algorithm::ALL {
        let directory = TestDirectory::chap(&[USER], Some(ARRAY));
        assert!(outcome(config(USER, Some(ARRAY), &[algorithm]), directory).is_ok(), "{algorithm:?}");
    }
    // The initiator detects a target that does not know the secret.
    let directory = TestDirectory::chap(&[USER], Some(("array", "not-the-secret!")));
    let failed = outcome(config(USER, Some(ARRAY), &[Algorithm::Md5]), directory);
    assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
    // The target has no credentials.
    let failed = outcome(config(USER, Some(ARRAY), &[Algorithm::Md5]), TestDirectory::chap(&[USER], None));
    assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
    // Same secret in both directions.
    let same = ("array", USER.1);
    let failed = outcome(config(USER, Some(same), &[Algorithm::Md5]), TestDirectory::chap(&[USER], Some(same)));
    assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
}

#[test]
fn authentication_cannot_be_left_out() {
    let failed = outcome(Config::new(INITIATOR, TARGET), TestDirectory::chap(&[USER], None));
    assert_eq!(failed, Err(LoginStatus::AUTHENTICATION_FAILURE));
    let discovery = outcome(Config::discovery(INITIATOR), TestDirectory::chap(&[USER], None));
    assert_eq!(discovery, Err(LoginStatus::AUTHENTICATION_FAILURE));
    for (flags, text) in [(0x81, "AuthMethod=None "), (0x81, ""), (0x83, ""), (0x81, "AuthMethod=KRB5,SRP ")] {
        let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
        let text = format!("InitiatorName={INITIATOR} TargetName={TARGET} {text}");
        assert_eq!(raw.login(flags, &text).1, LoginStatus::AUTHENTICATION_FAILURE, "{text}");
    }
}

/// Logs in up to the challenge; returns algorithm, identifier and challenge.
fn challenged(raw: &mut Raw, algorithms: &str) -> (String, u8, Vec<u8>) {
    let names = format!("InitiatorName={INITIATOR} TargetName={TARGET} ");
    assert_eq!(raw.login(0x81, &format!("{names}AuthMethod=CHAP,None ")).0, 0x00, "no transition yet");
    let (flags, _, answer) = raw.login(0x00, &format!("CHAP_A={algorithms} "));
    assert_eq!(flags, 0x00);
    let value = |key: &str| answer.split(' ').find_map(|pair| pair.strip_prefix(key)).unwrap().to_owned();
    let identifier = value("CHAP_I=").parse().unwrap();
    (value("CHAP_A="), identifier, text::binary(&value("CHAP_C="), 1024).unwrap())
}

/// Conformance checks 159 and 160.
#[test]
fn first_common_algorithm_and_base64() {
    let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
    let (algorithm, identifier, challenge) = challenged(&mut raw, "99,7,5");
    assert_eq!((algorithm.as_str(), challenge.len()), ("7", 32));
    let response = Algorithm::Sha256.response(identifier, USER.1.as_bytes(), &challenge);
    let (flags, status, _) = raw.login(0x81, &format!("CHAP_N=esx01 CHAP_R={} ", base64(&response)));
    assert_eq!((flags, status), (0x81, LoginStatus::SUCCESS));
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("0b");
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// Conformance check 161.
#[test]
fn reflected_challenge() {
    let mut raw = Raw::new(TestDirectory::chap(&[USER], Some(ARRAY)));
    let (_, identifier, challenge) = challenged(&mut raw, "5");
    let response = Algorithm::Md5.response(identifier, USER.1.as_bytes(), &challenge);
    let reply = format!(
        "CHAP_N=esx01 CHAP_R={} CHAP_I={identifier} CHAP_C={} ",
        text::binary_text(&response),
        text::binary_text(&challenge)
    );
    assert_eq!(raw.login(0x81, &reply).1, LoginStatus::AUTHENTICATION_FAILURE);
    let closed = raw.target.poll_event();
    assert!(closed.is_none_or(|event| matches!(event, connection::Event::Closed(CloseReason::LoginFailed(..)))));
}

#[test]
fn out_of_turn() {
    let names = format!("InitiatorName={INITIATOR} TargetName={TARGET} ");
    let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
    assert_eq!(raw.login(0x00, &format!("{names}CHAP_A=5 ")).1, LoginStatus::INITIATOR_ERROR);
    let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
    raw.login(0x00, &format!("{names}AuthMethod=CHAP "));
    assert_eq!(raw.login(0x00, "CHAP_N=esx01 CHAP_R=0x00 ").1, LoginStatus::INITIATOR_ERROR);
    let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
    raw.login(0x00, &format!("{names}AuthMethod=CHAP "));
    assert_eq!(raw.login(0x00, "CHAP_A=9 ").1, LoginStatus::AUTHENTICATION_FAILURE);
    for reply in ["CHAP_N=esx01 ", "CHAP_R=0x00 ", "CHAP_N=esx01 CHAP_R=0x00 AuthMethod=None "] {
        let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
        challenged(&mut raw, "5");
        assert_eq!(raw.login(0x81, reply).1, LoginStatus::INITIATOR_ERROR, "{reply}");
    }
    for reply in ["CHAP_N=esx01 CHAP_R=zz ", "CHAP_N=esx01 CHAP_R=0x ", "CHAP_N=esx01 CHAP_R=0x00 "] {
        let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
        challenged(&mut raw, "5");
        assert_eq!(raw.login(0x81, reply).1, LoginStatus::AUTHENTICATION_FAILURE, "{reply}");
    }
    // A challenge must be answered before the stage ends.
    let mut raw = Raw::new(TestDirectory::chap(&[USER], None));
    challenged(&mut raw, "5");
    assert_eq!(raw.login(0x83, "").1, LoginStatus::INITIATOR_ERROR);
}

/// Challenges that a target refuses in mutual CHAP: its own challenge in any notation, and values
/// that are not a challenge.
#[test]
fn mutual_challenges_that_are_refused() {
    let ours = |challenge: &[u8]| text::binary_text(challenge);
    type Answer = fn(&[u8]) -> String;
    let cases: [(&str, Answer, LoginStatus); 8] = [
        ("CHAP_I=7 CHAP_C=", |challenge| text::binary_text(challenge), LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_I=7 CHAP_C=", base64, LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_I=7 CHAP_C=", |_| "0x".into(), LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_I=7 CHAP_C=", |_| format!("0x{}", "ab".repeat(1025)), LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_I=256 CHAP_C=", |_| "0x0123456789abcdef".into(), LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_I=7 CHAP_C=", |_| "0123456789abcdef".into(), LoginStatus::AUTHENTICATION_FAILURE),
        ("CHAP_C=", |_| "0x0123456789abcdef".into(), LoginStatus::INITIATOR_ERROR),
        ("CHAP_I=7 CHAP_C=", |_| "0x0123456789abcdef".into(), LoginStatus::SUCCESS),
    ];
    for (keys, challenge, expected) in cases {
        let mut raw = Raw::new(TestDirectory::chap(&[USER], Some(ARRAY)));
        let (_, identifier, sent) = challenged(&mut raw, "7");
        let response = ours(&Algorithm::Sha256.response(identifier, USER.1.as_bytes(), &sent));
        let (_, status, answer) =
            raw.login(0x81, &format!("CHAP_N=esx01 CHAP_R={response} {keys}{} ", challenge(&sent)));
        assert_eq!(status, expected, "{keys}{}", challenge(&sent));
        // The target sends no value derived from its secret before the initiator is authenticated,
        // or for such a challenge.
        assert_eq!(answer.contains("CHAP_R="), expected == LoginStatus::SUCCESS);
    }
    let mut raw = Raw::new(TestDirectory::chap(&[USER], Some(ARRAY)));
    challenged(&mut raw, "7");
    let (_, status, answer) = raw.login(0x81, "CHAP_N=esx01 CHAP_R=0x00 CHAP_I=7 CHAP_C=0x0123456789abcdef ");
    assert_eq!(status, LoginStatus::AUTHENTICATION_FAILURE);
    assert!(!answer.contains("CHAP_R="));
}
