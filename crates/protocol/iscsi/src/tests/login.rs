//! Login phase: stages, keys, status codes, text over several PDUs (conformance checks 150 to 157,
//! 174).

use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::pair::{INITIATOR, Pair, TARGET, TestDirectory};
use crate::connection::{self, CloseReason, Connection, SessionType};
use crate::framing::{self, Digests, Output, Pdu};
use crate::initiator::{Config, Event};
use crate::pdu::{self, LoginRequest, LoginResponse, LoginStatus, Opcode, RawHeader};

/// Target under test, which gets raw Login Requests.
pub(super) struct Raw {
    pub target: Connection,
    pub directory: TestDirectory,
    pub now: Instant,
}

impl Raw {
    pub fn new(directory: TestDirectory) -> Self {
        let now = Instant::now();
        Self { target: Connection::new(now, connection::Config::default(), [3; 32]), directory, now }
    }

    pub fn send(&mut self, header: RawHeader, text: &[u8]) -> Vec<Pdu> {
        let mut output = Output::default();
        output.push_slice(header, text, Digests::default());
        let mut input = BytesMut::new();
        while let Some(chunk) = output.next_chunk() {
            input.extend_from_slice(&chunk);
        }
        self.target.handle_input(self.now, &mut input, &self.directory);
        if matches!(self.target.poll_event(), Some(connection::Event::SessionOpening(_))) {
            assert!(self.target.accept_session(9));
        }
        let mut answers = BytesMut::new();
        while let Some(chunk) = self.target.poll_output() {
            answers.extend_from_slice(&chunk);
        }
        let mut pdus = Vec::new();
        while let Some(pdu) = framing::take_pdu(&mut answers, Digests::default(), 8192).unwrap() {
            pdus.push(pdu);
        }
        pdus
    }

    /// Sends a request; returns flags, status and text of the response.
    pub fn login(&mut self, flags: u8, text: &str) -> (u8, LoginStatus, String) {
        self.login_with(flags, text, |_| {})
    }

    pub fn login_with(
        &mut self,
        flags: u8,
        text: &str,
        change: impl FnOnce(&mut LoginRequest),
    ) -> (u8, LoginStatus, String) {
        let mut header = LoginRequest::from_wire(&pdu::blank(0x43, flags, 0));
        header.isid = [0, 2, 0x3D, 0, 0, 1];
        header.cid = 1.into();
        header.cmd_sn = 0x1000.into();
        change(&mut header);
        let pdus = self.send(header.to_wire(), text.replace(' ', "\0").as_bytes());
        let [pdu] = pdus.as_slice() else { panic!("{} answers", pdus.len()) };
        let header = LoginResponse::from_wire(&pdu.header);
        let status = LoginStatus::new(header.status_class, header.status_detail);
        (header.flags, status, String::from_utf8(pdu.data.to_vec()).unwrap().replace('\0', " "))
    }
}

const NAMES: &str =
    "InitiatorName=iqn.1994-05.com.example:host1 TargetName=iqn.2026-01.org.example:t0 SessionType=Normal ";
const DIRECT: u8 = 0x87;

#[test]
fn straight_into_full_feature_phase() {
    let mut raw = Raw::new(TestDirectory::default());
    let (flags, status, text) = raw.login(DIRECT, &format!("{NAMES}HeaderDigest=None,CRC32C X-foo=1 IFMarker=No "));
    assert_eq!((flags, status), (DIRECT, LoginStatus::SUCCESS));
    assert_eq!(
        text,
        "TargetAlias=test target TargetPortalGroupTag=1 HeaderDigest=None X-foo=NotUnderstood IFMarker=No \
         MaxRecvDataSegmentLength=262144 "
    );
    assert!(raw.target.is_full_feature());
    let identity = raw.target.identity().unwrap();
    assert_eq!(&*identity.initiator_name, INITIATOR);
    assert_eq!(identity.target_name.as_deref(), Some(TARGET));
    assert_eq!((identity.tsih, identity.cid, identity.target_portal_group_tag), (9, 1, 1));
}

/// libiscsi sends its names in the security stage and again in the operational stage.
#[test]
fn names_may_be_repeated_but_not_changed() {
    let mut raw = Raw::new(TestDirectory::default());
    let (flags, status, text) = raw.login(0x81, &format!("{NAMES}AuthMethod=CHAP,None "));
    assert_eq!((flags, status), (0x81, LoginStatus::SUCCESS));
    assert_eq!(text, "TargetAlias=test target TargetPortalGroupTag=1 AuthMethod=None ");
    let (flags, status, text) = raw.login(DIRECT, &format!("{NAMES}ImmediateData=Yes "));
    assert_eq!((flags, status), (DIRECT, LoginStatus::SUCCESS));
    assert_eq!(text, "ImmediateData=Yes MaxRecvDataSegmentLength=262144 ");

    for change in [
        "InitiatorName=iqn.1994-05.com.example:host2 ",
        "TargetName=iqn.2026-01.org.example:t1 ",
        "SessionType=Discovery ",
    ] {
        let mut raw = Raw::new(TestDirectory::default());
        raw.login(0x81, &format!("{NAMES}AuthMethod=None "));
        assert_eq!(raw.login(DIRECT, change).1, LoginStatus::INITIATOR_ERROR);
    }
}

#[test]
fn from_security_straight_to_full_feature() {
    let mut raw = Raw::new(TestDirectory::default());
    assert_eq!(raw.login(0x83, &format!("{NAMES}AuthMethod=None ")).0, 0x83);
    assert!(raw.target.is_full_feature());
    // No value was declared, so defaults apply.
    assert_eq!(raw.target.parameters().target_max_recv_data_segment_length, 8192);
}

#[test]
fn failures_have_the_right_status() {
    let cases: &[(u8, &str, LoginStatus)] = &[
        (DIRECT, "TargetName=iqn.2026-01.org.example:t0 ", LoginStatus::MISSING_PARAMETER),
        (DIRECT, "InitiatorName=iqn.1994-05.com.example:host1 ", LoginStatus::MISSING_PARAMETER),
        (DIRECT, "InitiatorName=host1 ", LoginStatus::INITIATOR_ERROR),
        (
            DIRECT,
            "InitiatorName=iqn.1994-05.com.example:h TargetName=iqn.2026-01.org.example:t9 ",
            LoginStatus::TARGET_NOT_FOUND,
        ),
        (DIRECT, "InitiatorName=iqn.1994-05.com.example:h TargetName=t9 ", LoginStatus::TARGET_NOT_FOUND),
        (
            DIRECT,
            "InitiatorName=iqn.1994-05.com.example:stranger TargetName=iqn.2026-01.org.example:t0 ",
            LoginStatus::AUTHORIZATION_FAILURE,
        ),
        (DIRECT, "InitiatorName=iqn.1994-05.com.example:h SessionType=Copy ", LoginStatus::SESSION_TYPE_NOT_SUPPORTED),
        (DIRECT, "InitiatorName", LoginStatus::INITIATOR_ERROR),
        (DIRECT, "InitialR2T=No InitialR2T=No ", LoginStatus::INITIATOR_ERROR),
        (DIRECT, "SendTargets=All ", LoginStatus::INITIATOR_ERROR),
        (0xC7, "", LoginStatus::INITIATOR_ERROR), // T and C
        (0x84, "", LoginStatus::INITIATOR_ERROR), // next stage before the current one
        (0x86, "", LoginStatus::INITIATOR_ERROR), // reserved stage
        (0x8B, "", LoginStatus::INITIATOR_ERROR),
        (0x0C, "", LoginStatus::INITIATOR_ERROR), // starts in full feature phase
    ];
    for (flags, text, expected) in cases {
        let mut raw = Raw::new(TestDirectory::default());
        assert_eq!(raw.login(*flags, text).1, *expected, "{flags:#x} {text}");
        assert!(raw.target.is_closed());
    }
    // Conformance check 155: the same key in two requests.
    let mut raw = Raw::new(TestDirectory::default());
    assert_eq!(raw.login(0x04, &format!("{NAMES}InitialR2T=No ")).1, LoginStatus::SUCCESS);
    assert_eq!(raw.login(DIRECT, "InitialR2T=No ").1, LoginStatus::INITIATOR_ERROR);
}

#[test]
fn fixed_fields_may_not_change() {
    let changes: [fn(&mut LoginRequest); 5] = [
        |header| header.isid[5] = 2,
        |header| header.cid = 2.into(),
        |header| header.tsih = 2.into(),
        |header| header.initiator_task_tag = 2.into(),
        |header| header.flags = 0x81,
    ];
    for change in changes {
        let mut raw = Raw::new(TestDirectory::default());
        assert_eq!(raw.login(0x04, NAMES).1, LoginStatus::SUCCESS);
        assert_eq!(raw.login_with(DIRECT, "", change).1, LoginStatus::INITIATOR_ERROR);
    }
    let mut raw = Raw::new(TestDirectory::default());
    assert_eq!(raw.login_with(DIRECT, NAMES, |header| header.version_min = 1).1, LoginStatus::UNSUPPORTED_VERSION);
}

/// Conformance check 174.
#[test]
fn redirection_names_the_address() {
    let mut raw = Raw::new(TestDirectory::default());
    let text = "InitiatorName=iqn.1994-05.com.example:h TargetName=iqn.2026-01.org.example:moved ";
    let (_, status, text) = raw.login(DIRECT, text);
    assert_eq!(status, LoginStatus::TARGET_MOVED_TEMPORARILY);
    assert_eq!(text, "TargetAddress=192.0.2.9:3260 ");
}

#[test]
fn text_may_span_requests() {
    let mut raw = Raw::new(TestDirectory::default());
    let (first, second) = NAMES.split_at(30);
    assert_eq!(raw.login(0x44, first), (0x04, LoginStatus::SUCCESS, String::new()));
    let (flags, status, _) = raw.login(DIRECT, second);
    assert_eq!((flags, status), (DIRECT, LoginStatus::SUCCESS));
}

#[test]
fn a_long_answer_spans_responses() {
    let mut raw = Raw::new(TestDirectory::default());
    let keys: String = (0..200).map(|i| format!("X-{i:060}=1 ")).collect();
    let (first, second) = keys.split_at(8000);
    assert_eq!(raw.login(0x44, NAMES).0, 0x04);
    assert_eq!(raw.login(0x44, first).0, 0x04);
    let (flags, status, text) = raw.login(DIRECT, second);
    assert_eq!((flags, status, text.len()), (0x44, LoginStatus::SUCCESS, 8192));
    let (flags, _, rest) = raw.login(DIRECT, "");
    assert_eq!(flags, DIRECT);
    assert_eq!(format!("{text}{rest}").matches("=NotUnderstood ").count(), 200);
}

#[test]
fn endless_text_is_cut_off() {
    let mut raw = Raw::new(TestDirectory::default());
    let text = "x".repeat(8192);
    for round in 0.. {
        let (_, status, _) = raw.login(0x44, &text);
        if status != LoginStatus::SUCCESS {
            assert_eq!((round, status), (8, LoginStatus::INITIATOR_ERROR));
            break;
        }
    }
    let mut raw = Raw::new(TestDirectory::default());
    let rounds = (0..).find(|_| raw.login(0x04, NAMES).1 != LoginStatus::SUCCESS).unwrap();
    assert_eq!(rounds, 256);
}

#[test]
fn only_login_requests_during_login() {
    let mut raw = Raw::new(TestDirectory::default());
    let pdus = raw.send(pdu::blank(Opcode::SCSI_COMMAND.0, 0x80, 1), b"");
    let header = LoginResponse::from_wire(&pdus[0].header);
    assert_eq!(LoginStatus::new(header.status_class, header.status_detail), LoginStatus::INVALID_DURING_LOGIN);
    assert!(raw.target.is_closed());
}

#[test]
fn login_has_a_deadline() {
    let mut raw = Raw::new(TestDirectory::default());
    raw.login(0x04, NAMES);
    assert_eq!(raw.target.poll_timeout(), Some(raw.now + Duration::from_secs(15)));
    raw.target.handle_timeout(raw.now + Duration::from_secs(15));
    assert!(matches!(raw.target.poll_event(), Some(connection::Event::Closed(CloseReason::LoginTimeout))));
    assert_eq!(raw.target.poll_timeout(), None);
}

/// Bug: when the previous session had not ended in time, the initiator got no response, only the
/// end of the connection.
#[test]
fn a_login_that_waits_too_long_for_the_session_before_it_is_refused() {
    let mut pair = Pair::with(Config::new(INITIATOR, TARGET), connection::Config::default(), TestDirectory::default());
    pair.accept = false;
    pair.drive();
    let due = pair.target.poll_timeout().unwrap();
    pair.target.handle_timeout(due);
    pair.drive();
    let expected = Event::LoginFailed { status: LoginStatus::SERVICE_UNAVAILABLE, target_address: None };
    assert_eq!(pair.events, [expected]);
    assert!(!pair.target.accept_session(1), "too late");
}

#[test]
fn the_shell_may_refuse_the_session() {
    let mut pair = Pair::with(Config::new(INITIATOR, TARGET), connection::Config::default(), TestDirectory::default());
    pair.accept = false;
    pair.drive();
    let identity = pair.opened.clone().unwrap();
    assert_eq!((identity.session_type, identity.tsih), (SessionType::Normal, 0));
    pair.target.reject_login(LoginStatus::OUT_OF_RESOURCES);
    pair.drive();
    let expected = Event::LoginFailed { status: LoginStatus::OUT_OF_RESOURCES, target_address: None };
    assert_eq!(pair.events, [expected]);
    assert!(!pair.target.accept_session(1), "too late");
}

#[test]
fn every_split_of_a_login() {
    for step in 1..200 {
        let mut pair =
            Pair::with(Config::new(INITIATOR, TARGET), connection::Config::default(), TestDirectory::default());
        pair.step = step;
        pair.drive();
        let expected = Event::LoggedIn { tsih: 7, target_portal_group_tag: Some(1) };
        assert_eq!(pair.events, [expected], "step {step}");
    }
}
