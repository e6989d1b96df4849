//! Login phase at the initiator, RFC 7143 §6.3: the security stage if CHAP is configured, then the
//! operational stage.

use super::Config;
use crate::chap::{Algorithm, ChallengeSource, MAX_BINARY_BYTES};
use crate::connection::SessionType;
use crate::framing::{Digests, Output, Pdu};
use crate::parameters::Parameters;
use crate::pdu::{self, LoginRequest, LoginResponse, LoginStatus, Opcode};
use crate::text;

/// CID of the single connection.
pub(super) const CID: u16 = 1;
/// Most Login Responses of one login; a longer login would not succeed.
const MAX_RESPONSES: u32 = 256;
/// Initiator Task Tag of the login.
const TAG: u32 = 0;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Result of a Login Response.
#[derive(Debug)]
pub(super) enum Step {
    /// The next request was queued.
    Continue,
    /// Full feature phase is reached.
    Done { tsih: u16, target_portal_group_tag: Option<u16> },
    /// The target refused the login, or failed to authenticate itself.
    Failed { status: LoginStatus, target_address: Option<String> },
    /// The target violated the protocol.
    ProtocolError(&'static str),
}

#[derive(Debug)]
enum Expect {
    AuthMethod,
    Challenge,
    /// The target's CHAP response, if mutual; then the transition.
    SecurityEnd {
        mutual: Option<Challenge>,
    },
    Operational,
}

/// Challenge for the target: algorithm, identifier, value.
type Challenge = (Algorithm, u8, Vec<u8>);

/// Key and value pairs of a response.
#[derive(Clone, Copy)]
struct Text<'a>(&'a [(&'a str, &'a str)]);

impl<'a> Text<'a> {
    /// Value of the first pair with this key.
    fn value(self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| *value)
    }
}

#[derive(Debug)]
pub(super) struct Login {
    expect: Expect,
    challenges: ChallengeSource,
    inbound: Vec<u8>,
    target_portal_group_tag: Option<u16>,
    exp_stat_sn: u32,
    responses: u32,
}

impl Login {
    pub fn new(config: &Config, seed: [u8; 32]) -> Self {
        Self {
            expect: if config.chap.is_some() { Expect::AuthMethod } else { Expect::Operational },
            challenges: ChallengeSource::new(seed),
            inbound: Vec::new(),
            target_portal_group_tag: None,
            exp_stat_sn: 0,
            responses: 0,
        }
    }

    /// Queues the first request.
    pub fn begin(&mut self, config: &Config, cmd_sn: u32, output: &mut Output) {
        let mut text = Vec::new();
        text::push(&mut text, "InitiatorName", &config.initiator_name);
        match config.session_type {
            SessionType::Discovery => text::push(&mut text, "SessionType", "Discovery"),
            SessionType::Normal => {
                text::push(&mut text, "SessionType", "Normal");
                text::push(&mut text, "TargetName", &config.target_name);
            }
        }
        if config.chap.is_some() {
            text::push(&mut text, "AuthMethod", "CHAP");
            self.send(config, SECURITY << 2, &text, cmd_sn, output);
        } else {
            push_operational(config, &mut text);
            self.send(config, pdu::TRANSIT | OPERATIONAL << 2 | FULL_FEATURE, &text, cmd_sn, output);
        }
    }

    fn send(&self, config: &Config, flags: u8, text: &[u8], cmd_sn: u32, output: &mut Output) {
        let opcode = Opcode::LOGIN_REQUEST.0 | pdu::IMMEDIATE;
        let mut header = LoginRequest::from_wire(&pdu::blank(opcode, flags, TAG));
        header.isid = config.isid;
        header.cid = CID.into();
        header.cmd_sn = cmd_sn.into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        output.push_slice(header.to_wire(), text, Digests::default());
    }

    pub fn handle(
        &mut self,
        config: &Config,
        pdu: &Pdu,
        cmd_sn: u32,
        parameters: &mut Parameters,
        output: &mut Output,
    ) -> Step {
        let header = LoginResponse::from_wire(&pdu.header);
        let status = LoginStatus::new(header.status_class, header.status_detail);
        self.responses += 1;
        if self.responses > MAX_RESPONSES {
            return Step::ProtocolError("too many login responses");
        }
        if self.inbound.len() + pdu.data.len() > text::MAX_TEXT_BYTES {
            return Step::ProtocolError("login text too long");
        }
        self.inbound.extend_from_slice(&pdu.data);
        if status == LoginStatus::SUCCESS {
            self.exp_stat_sn = header.stat_sn.get().wrapping_add(1);
            if header.flags & pdu::CONTINUE != 0 {
                self.send(config, header.flags & 0x0C, &[], cmd_sn, output);
                return Step::Continue;
            }
        }
        let inbound = std::mem::take(&mut self.inbound);
        let Ok(pairs) = text::parse(&inbound) else {
            return Step::ProtocolError("malformed login text");
        };
        let text = Text(&pairs);
        if status != LoginStatus::SUCCESS {
            return Step::Failed { status, target_address: text.value("TargetAddress").map(str::to_owned) };
        }
        if let Some(tag) = text.value("TargetPortalGroupTag") {
            match text::number(tag).and_then(|number| u16::try_from(number).ok()) {
                Some(tag) => self.target_portal_group_tag = Some(tag),
                None => return Step::ProtocolError("malformed TargetPortalGroupTag"),
            }
        }
        if !pairs.iter().all(|(key, value)| parameters.accept(key, value)) {
            return Step::ProtocolError("a key with a value that is not admissible");
        }
        self.proceed(config, &header, text, cmd_sn, output)
    }

    /// Takes the step that follows a complete and successful response.
    fn proceed(
        &mut self,
        config: &Config,
        header: &LoginResponse,
        answer: Text<'_>,
        cmd_sn: u32,
        output: &mut Output,
    ) -> Step {
        let transit = header.flags & pdu::TRANSIT != 0;
        let next = header.flags & 3;
        let mut text = Vec::new();
        let flags = match std::mem::replace(&mut self.expect, Expect::Operational) {
            Expect::AuthMethod => {
                let Some(chap) = config.chap.as_ref().filter(|_| answer.value("AuthMethod") == Some("CHAP")) else {
                    return Step::ProtocolError("the target did not choose CHAP");
                };
                let numbers: Vec<String> = chap.algorithms.iter().map(|a| a.number().to_string()).collect();
                text::push(&mut text, "CHAP_A", &numbers.join(","));
                self.expect = Expect::Challenge;
                SECURITY << 2
            }
            Expect::Challenge => {
                let challenge = (answer.value("CHAP_A"), answer.value("CHAP_I"), answer.value("CHAP_C"));
                let Some(response) = self.answer_challenge(config, challenge) else {
                    return Step::ProtocolError("malformed CHAP challenge");
                };
                text = response;
                pdu::TRANSIT | SECURITY << 2 | OPERATIONAL
            }
            Expect::SecurityEnd { mutual } => {
                if mutual.is_some_and(|challenge| !is_proven(config, &challenge, answer)) {
                    return Step::Failed { status: LoginStatus::AUTHENTICATION_FAILURE, target_address: None };
                }
                if !transit || next != OPERATIONAL {
                    return Step::ProtocolError("the target does not leave the security stage");
                }
                push_operational(config, &mut text);
                pdu::TRANSIT | OPERATIONAL << 2 | FULL_FEATURE
            }
            Expect::Operational if transit && next == FULL_FEATURE => {
                let target_portal_group_tag = self.target_portal_group_tag;
                return Step::Done { tsih: header.tsih.get(), target_portal_group_tag };
            }
            Expect::Operational => pdu::TRANSIT | OPERATIONAL << 2 | FULL_FEATURE,
        };
        self.send(config, flags, &text, cmd_sn, output);
        Step::Continue
    }

    fn answer_challenge(
        &mut self,
        config: &Config,
        (algorithm, identifier, challenge): (Option<&str>, Option<&str>, Option<&str>),
    ) -> Option<Vec<u8>> {
        let chap = config.chap.as_ref()?;
        let algorithm = Algorithm::from_text(algorithm?).filter(|a| chap.algorithms.contains(a))?;
        let identifier = u8::try_from(text::number(identifier?)?).ok()?;
        let challenge = text::binary(challenge?, MAX_BINARY_BYTES)?;
        let response = algorithm.response(identifier, &chap.own.secret, &challenge);
        let mut text = Vec::new();
        text::push(&mut text, "CHAP_N", &chap.own.name);
        text::push(&mut text, "CHAP_R", &text::binary_text(&response));
        let mut mutual = None;
        if chap.target.is_some() {
            let (identifier, challenge) = self.challenges.challenge();
            text::push(&mut text, "CHAP_I", &identifier.to_string());
            text::push(&mut text, "CHAP_C", &text::binary_text(&challenge));
            mutual = Some((algorithm, identifier, challenge.to_vec()));
        }
        self.expect = Expect::SecurityEnd { mutual };
        Some(text)
    }
}

/// Whether the target has answered its challenge.
fn is_proven(config: &Config, (algorithm, identifier, challenge): &Challenge, answer: Text<'_>) -> bool {
    let Some(target) = config.chap.as_ref().and_then(|chap| chap.target.as_ref()) else { return false };
    let response = answer.value("CHAP_R").and_then(|text| text::binary(text, MAX_BINARY_BYTES));
    answer.value("CHAP_N") == Some(&target.name)
        && response.is_some_and(|response| algorithm.verify(*identifier, &target.secret, challenge, &response))
}

fn push_operational(config: &Config, text: &mut Vec<u8>) {
    text::push(text, "HeaderDigest", &config.header_digest);
    text::push(text, "DataDigest", &config.data_digest);
    text::push(text, "MaxRecvDataSegmentLength", &config.max_recv_data_segment_length.to_string());
    if config.session_type == SessionType::Normal {
        text::push(text, "InitialR2T", text::boolean_word(config.initial_r2t));
        text::push(text, "ImmediateData", text::boolean_word(config.immediate_data));
        text::push(text, "MaxBurstLength", &config.max_burst_length.to_string());
        text::push(text, "FirstBurstLength", &config.first_burst_length.to_string());
        text::push(text, "MaxOutstandingR2T", &config.max_outstanding_r2t.to_string());
        text::push(text, "MaxConnections", "1");
        text::push(text, "DataPDUInOrder", "Yes");
        text::push(text, "DataSequenceInOrder", "Yes");
    }
    text::push(text, "DefaultTime2Wait", "2");
    text::push(text, "DefaultTime2Retain", "0");
    text::push(text, "ErrorRecoveryLevel", "0");
    for (key, value) in &config.more_keys {
        text::push(text, key, value);
    }
}
