//! Login phase at the target, RFC 7143 §6.3 and §10: names, authentication, operational keys, stage
//! by stage.
//!
//! [`Login`] handles one Login Request at a time and returns the response; it does not number or
//! send PDUs. Its memory is bounded by the limits of [`text`] and [`MAX_REQUESTS`].

use std::sync::Arc;

use super::directory::{Admission, Authentication, Directory, Refusal};
use super::{SessionIdentity, SessionType};
use crate::chap::{Algorithm, ChallengeSource, Credentials, MAX_BINARY_BYTES};
use crate::parameters::{Limits, Parameters};
use crate::pdu::{self, LoginRequest, LoginStatus, RESERVED_TAG};
use crate::{names, text};

/// Most Login Requests of one login; a longer login would not succeed.
const MAX_REQUESTS: u32 = 256;
/// Bytes of text in one Login Response: the MaxRecvDataSegmentLength that applies during login (RFC
/// 7143 §13.12).
const RESPONSE_TEXT_BYTES: usize = 8192;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Text and flags of a Login Response with status 0000h.
#[derive(Debug)]
pub(super) struct Reply {
    pub flags: u8,
    pub text: Vec<u8>,
}

/// Result of a Login Request.
#[derive(Debug)]
pub(super) enum Step {
    /// Send this response and wait for the next request.
    Reply(Reply),
    /// The negotiation is complete: this is the final response, to be sent when the session is
    /// open.
    Complete(Reply),
    /// The login failed.
    Fail(LoginFailure),
}

/// A Login Response that ends the login.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LoginFailure {
    pub status: LoginStatus,
    pub text: Vec<u8>,
    /// Reason for the log.
    pub reason: &'static str,
}

fn fail(status: LoginStatus, reason: &'static str) -> LoginFailure {
    LoginFailure { status, text: Vec::new(), reason }
}

/// Fields of the first request that must not change in later ones (RFC 7143 §11.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    pub initiator_task_tag: u32,
    pub isid: [u8; 6],
    pub tsih: u16,
    pub cid: u16,
}

#[derive(Debug)]
enum Chap {
    /// AuthMethod is not negotiated yet.
    Unsettled,
    /// AuthMethod=CHAP was sent; CHAP_A is expected.
    Chosen,
    /// The challenge was sent; CHAP_N and CHAP_R are expected.
    Challenged { algorithm: Algorithm, identifier: u8, challenge: [u8; crate::chap::CHALLENGE_BYTES] },
    /// Authenticated, or authentication is not required.
    Done,
}

#[derive(Debug)]
pub(super) struct Login {
    limits: Limits,
    challenges: ChallengeSource,
    constants: Option<Constants>,
    requests: u32,
    stage: u8,
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    sent: usize,
    seen: Vec<String>,
    initiator_name: Option<String>,
    initiator_alias: Option<String>,
    target_name: Option<String>,
    session_type: Option<SessionType>,
    admission: Option<Admission>,
    authenticated_as: Option<String>,
    chap: Chap,
    declared_length: bool,
    parameters: Parameters,
}

impl Login {
    pub fn new(limits: Limits, seed: [u8; 32]) -> Self {
        Self {
            limits,
            challenges: ChallengeSource::new(seed),
            constants: None,
            requests: 0,
            stage: SECURITY,
            inbound: Vec::new(),
            outbound: Vec::new(),
            sent: 0,
            seen: Vec::new(),
            initiator_name: None,
            initiator_alias: None,
            target_name: None,
            session_type: None,
            admission: None,
            authenticated_as: None,
            chap: Chap::Unsettled,
            declared_length: false,
            parameters: Parameters::default(),
        }
    }

    /// Fields that the responses repeat; zeros before the first request.
    pub fn constants(&self) -> Constants {
        self.constants.unwrap_or(Constants { initiator_task_tag: RESERVED_TAG, isid: [0; 6], tsih: 0, cid: 0 })
    }

    /// Negotiated parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Identity of the session. Valid once the login is complete.
    pub fn identity(&self) -> SessionIdentity {
        let constants = self.constants();
        SessionIdentity {
            initiator_name: Arc::from(self.initiator_name.as_deref().unwrap_or_default()),
            initiator_alias: self.initiator_alias.clone(),
            isid: constants.isid,
            requested_tsih: constants.tsih,
            tsih: 0,
            cid: constants.cid,
            session_type: self.session_type.unwrap_or(SessionType::Normal),
            target_name: self.target_name.as_deref().map(Arc::from),
            target_portal_group_tag: self.admission.as_ref().map_or(0, |admission| admission.target_portal_group_tag),
            authenticated_as: self.authenticated_as.clone(),
        }
    }

    /// Handles one Login Request and returns its result.
    pub fn handle(&mut self, header: &LoginRequest, data: &[u8], directory: &dyn Directory) -> Step {
        match self.step(header, data, directory) {
            Ok(step) => step,
            Err(failure) => Step::Fail(failure),
        }
    }

    fn step(&mut self, header: &LoginRequest, data: &[u8], directory: &dyn Directory) -> Result<Step, LoginFailure> {
        let current = header.flags >> 2 & 3;
        let next = header.flags & 3;
        let transit = header.flags & pdu::TRANSIT != 0;
        let continued = header.flags & pdu::CONTINUE != 0;
        self.check_header(header, current)?;
        if transit && (continued || next <= current || next == 2) {
            return Err(fail(LoginStatus::INITIATOR_ERROR, "T bit with C bit or with an invalid next stage"));
        }
        if self.inbound.len() + data.len() > text::MAX_TEXT_BYTES {
            return Err(fail(LoginStatus::INITIATOR_ERROR, "login text too long"));
        }
        self.inbound.extend_from_slice(data);
        if continued {
            return Ok(Step::Reply(Reply { flags: self.stage << 2, text: Vec::new() }));
        }
        if self.sent < self.outbound.len() {
            if !self.inbound.is_empty() {
                return Err(fail(LoginStatus::INITIATOR_ERROR, "text before the end of a continued response"));
            }
            return Ok(self.reply(transit, next));
        }
        let inbound = std::mem::take(&mut self.inbound);
        let pairs =
            text::parse(&inbound).map_err(|_malformed| fail(LoginStatus::INITIATOR_ERROR, "malformed login text"))?;
        self.outbound.clear();
        self.sent = 0;
        self.handle_pairs(&pairs, directory)?;
        Ok(self.reply(transit, next))
    }

    fn check_header(&mut self, header: &LoginRequest, current: u8) -> Result<(), LoginFailure> {
        let constants = Constants {
            initiator_task_tag: header.initiator_task_tag.get(),
            isid: header.isid,
            tsih: header.tsih.get(),
            cid: header.cid.get(),
        };
        self.requests += 1;
        match self.constants {
            None => {
                self.constants = Some(constants);
                if header.version_min > 0 {
                    return Err(fail(LoginStatus::UNSUPPORTED_VERSION, "no common version"));
                }
                if !matches!(current, SECURITY | OPERATIONAL) {
                    return Err(fail(LoginStatus::INITIATOR_ERROR, "login starts in an invalid stage"));
                }
                self.stage = current;
            }
            Some(first) if first != constants => {
                return Err(fail(LoginStatus::INITIATOR_ERROR, "task tag, ISID, TSIH or CID changed during login"));
            }
            Some(_) => {}
        }
        if current != self.stage {
            return Err(fail(LoginStatus::INITIATOR_ERROR, "current stage differs from the stage agreed"));
        }
        if self.requests > MAX_REQUESTS {
            return Err(fail(LoginStatus::INITIATOR_ERROR, "too many login requests"));
        }
        Ok(())
    }

    fn handle_pairs(&mut self, pairs: &[(&str, &str)], directory: &dyn Directory) -> Result<(), LoginFailure> {
        for (index, (key, _)) in pairs.iter().enumerate() {
            if pairs.iter().take(index).any(|(earlier, _)| earlier == key) {
                return Err(fail(LoginStatus::INITIATOR_ERROR, "a key was sent twice"));
            }
        }
        let mut security = Vec::new();
        let mut operational = Vec::new();
        for &(key, value) in pairs {
            match key {
                "InitiatorName" | "TargetName" | "SessionType" | "InitiatorAlias" => self.declare(key, value)?,
                "AuthMethod" | "CHAP_A" | "CHAP_N" | "CHAP_R" | "CHAP_I" | "CHAP_C" => security.push((key, value)),
                "SendTargets" | "TargetAlias" | "TargetAddress" | "TargetPortalGroupTag" => {
                    return Err(fail(LoginStatus::INITIATOR_ERROR, "a key that an initiator may not send in login"));
                }
                _ => {
                    if self.seen.iter().any(|seen| seen == key) {
                        return Err(fail(LoginStatus::INITIATOR_ERROR, "a key was sent twice"));
                    }
                    if self.seen.len() >= text::MAX_PAIRS {
                        return Err(fail(LoginStatus::INITIATOR_ERROR, "too many keys"));
                    }
                    self.seen.push(key.to_owned());
                    operational.push((key, value));
                }
            }
        }
        if self.admission.is_none() {
            self.admit(directory)?;
        }
        if self.stage == SECURITY {
            self.handle_security(&security)?;
        } else if !security.is_empty() {
            return Err(fail(LoginStatus::INITIATOR_ERROR, "a security key outside the security stage"));
        } else if !matches!(self.chap, Chap::Done) {
            if self.chap_required() {
                return Err(fail(LoginStatus::AUTHENTICATION_FAILURE, "the initiator left out authentication"));
            }
            self.chap = Chap::Done;
        }
        self.parameters.answer_all(&self.limits, &operational, &mut self.outbound);
        if self.stage == OPERATIONAL && !self.declared_length {
            self.declared_length = true;
            let length = self.limits.max_recv_data_segment_length;
            self.parameters.declare_target_segment(length);
            text::push(&mut self.outbound, "MaxRecvDataSegmentLength", &length.to_string());
        }
        Ok(())
    }

    /// Records a name or the session type. Repetition with the same value is permitted: libiscsi
    /// sends names in both stages.
    fn declare(&mut self, key: &str, value: &str) -> Result<(), LoginFailure> {
        let changed = || fail(LoginStatus::INITIATOR_ERROR, "a name or session type changed during login");
        let settle = |place: &mut Option<String>, value: String| match place {
            Some(old) if *old != value => Err(changed()),
            _ => {
                *place = Some(value);
                Ok(())
            }
        };
        let name = |value: &str| {
            names::normalize(value).map_err(|_| fail(LoginStatus::INITIATOR_ERROR, "a name is not an iSCSI name"))
        };
        let late = self.admission.is_some();
        match key {
            "InitiatorName" => settle(&mut self.initiator_name, name(value)?),
            "TargetName" => {
                if late && self.target_name.is_none() {
                    return Err(changed());
                }
                // RFC 7143 does not distinguish an unknown target from a malformed name; 0203h
                // helps the user more.
                let name = names::normalize(value)
                    .map_err(|_| fail(LoginStatus::TARGET_NOT_FOUND, "the target name is not an iSCSI name"))?;
                settle(&mut self.target_name, name)
            }
            "InitiatorAlias" => {
                self.initiator_alias = Some(value.chars().take(255).collect());
                Ok(())
            }
            _ => {
                let session_type = match value {
                    "Normal" => SessionType::Normal,
                    "Discovery" => SessionType::Discovery,
                    _ => {
                        return Err(fail(LoginStatus::SESSION_TYPE_NOT_SUPPORTED, "unknown session type"));
                    }
                };
                if late && self.session_type.unwrap_or(SessionType::Normal) != session_type {
                    return Err(changed());
                }
                self.session_type = Some(session_type);
                Ok(())
            }
        }
    }

    fn admit(&mut self, directory: &dyn Directory) -> Result<(), LoginFailure> {
        let Some(initiator_name) = &self.initiator_name else {
            return Err(fail(LoginStatus::MISSING_PARAMETER, "InitiatorName is missing"));
        };
        let session_type = *self.session_type.get_or_insert(SessionType::Normal);
        let target_name = match session_type {
            SessionType::Discovery => None,
            SessionType::Normal => Some(
                self.target_name
                    .as_deref()
                    .ok_or_else(|| fail(LoginStatus::MISSING_PARAMETER, "TargetName is missing"))?,
            ),
        };
        let admission = directory.admit(initiator_name, target_name).map_err(|refusal| match refusal {
            Refusal::Status(status) => fail(status, "refused by access rules"),
            Refusal::Moved { address, permanently } => {
                let mut failure = fail(LoginStatus::TARGET_MOVED_TEMPORARILY, "redirected");
                if permanently {
                    failure.status = LoginStatus::TARGET_MOVED_PERMANENTLY;
                }
                text::push(&mut failure.text, "TargetAddress", &address);
                failure
            }
        })?;
        if session_type == SessionType::Normal {
            if let Some(alias) = &admission.target_alias {
                text::push(&mut self.outbound, "TargetAlias", alias);
            }
            let tag = admission.target_portal_group_tag.to_string();
            text::push(&mut self.outbound, "TargetPortalGroupTag", &tag);
        }
        self.admission = Some(admission);
        Ok(())
    }

    fn chap_required(&self) -> bool {
        matches!(&self.admission, Some(Admission { authentication: Authentication::Chap { .. }, .. }))
    }

    fn handle_security(&mut self, pairs: &[(&str, &str)]) -> Result<(), LoginFailure> {
        let value = |key: &str| pairs.iter().find(|(k, _)| *k == key).map(|(_, value)| *value);
        let only = |keys: &[&str]| pairs.iter().all(|(key, _)| keys.contains(key));
        let unexpected = || fail(LoginStatus::INITIATOR_ERROR, "a security key out of turn");
        match &self.chap {
            Chap::Done | Chap::Unsettled if pairs.is_empty() => Ok(()),
            Chap::Done => Err(unexpected()),
            Chap::Unsettled => {
                if !only(&["AuthMethod"]) {
                    return Err(unexpected());
                }
                let wanted = if self.chap_required() { "CHAP" } else { "None" };
                if !value("AuthMethod").unwrap_or_default().split(',').any(|method| method == wanted) {
                    return Err(fail(LoginStatus::AUTHENTICATION_FAILURE, "no common authentication method"));
                }
                text::push(&mut self.outbound, "AuthMethod", wanted);
                self.chap = if self.chap_required() { Chap::Chosen } else { Chap::Done };
                Ok(())
            }
            Chap::Chosen => {
                let Some(offer) = value("CHAP_A").filter(|_| only(&["CHAP_A"])) else {
                    return Err(unexpected());
                };
                self.send_challenge(offer)
            }
            &Chap::Challenged { algorithm, identifier, challenge } => {
                let (Some(name), Some(response)) = (value("CHAP_N"), value("CHAP_R")) else {
                    return Err(unexpected());
                };
                if !only(&["CHAP_N", "CHAP_R", "CHAP_I", "CHAP_C"]) {
                    return Err(unexpected());
                }
                let ours = self.check_response(algorithm, identifier, &challenge, name, response)?;
                match (value("CHAP_I"), value("CHAP_C")) {
                    (None, None) => {}
                    (Some(their_identifier), Some(their_challenge)) => {
                        self.answer_challenge(algorithm, &challenge, &ours, their_identifier, their_challenge)?;
                    }
                    _ => return Err(unexpected()),
                }
                self.authenticated_as = Some(name.to_owned());
                self.chap = Chap::Done;
                Ok(())
            }
        }
    }

    fn send_challenge(&mut self, offer: &str) -> Result<(), LoginFailure> {
        let Some(Admission { authentication: Authentication::Chap { algorithms, .. }, .. }) = &self.admission else {
            return Err(fail(LoginStatus::TARGET_ERROR, "CHAP without credentials"));
        };
        let algorithm = offer
            .split(',')
            .filter_map(Algorithm::from_text)
            .find(|algorithm| algorithms.contains(algorithm))
            .ok_or_else(|| fail(LoginStatus::AUTHENTICATION_FAILURE, "no common CHAP algorithm"))?;
        let (identifier, challenge) = self.challenges.challenge();
        text::push(&mut self.outbound, "CHAP_A", &algorithm.number().to_string());
        text::push(&mut self.outbound, "CHAP_I", &identifier.to_string());
        text::push(&mut self.outbound, "CHAP_C", &text::binary_text(&challenge));
        self.chap = Chap::Challenged { algorithm, identifier, challenge };
        Ok(())
    }

    /// Checks the response. Returns the secret that the initiator has proved to know.
    fn check_response(
        &self,
        algorithm: Algorithm,
        identifier: u8,
        challenge: &[u8],
        name: &str,
        response: &str,
    ) -> Result<Vec<u8>, LoginFailure> {
        let failed = || fail(LoginStatus::AUTHENTICATION_FAILURE, "wrong CHAP name or response");
        let Some(Admission { authentication: Authentication::Chap { accepted, .. }, .. }) = &self.admission else {
            return Err(fail(LoginStatus::TARGET_ERROR, "CHAP without credentials"));
        };
        let response = text::binary(response, MAX_BINARY_BYTES).ok_or_else(failed)?;
        // All secrets are tried, so that the time does not reveal which names exist.
        let mut proven = None;
        for Credentials { name: known, secret } in accepted {
            if algorithm.verify(identifier, secret, challenge, &response) && known == name {
                proven = Some(secret.clone());
            }
        }
        proven.ok_or_else(failed)
    }

    fn answer_challenge(
        &mut self,
        algorithm: Algorithm,
        our_challenge: &[u8],
        their_secret: &[u8],
        identifier: &str,
        challenge: &str,
    ) -> Result<(), LoginFailure> {
        let failed = |reason| fail(LoginStatus::AUTHENTICATION_FAILURE, reason);
        let Some(Admission { authentication: Authentication::Chap { own: Some(own), .. }, .. }) = &self.admission
        else {
            return Err(failed("mutual CHAP is not set up"));
        };
        let identifier = text::number(identifier)
            .and_then(|number| u8::try_from(number).ok())
            .ok_or_else(|| failed("malformed CHAP_I"))?;
        let challenge = text::binary(challenge, MAX_BINARY_BYTES).ok_or_else(|| failed("malformed CHAP_C"))?;
        if challenge == our_challenge {
            return Err(failed("the challenge was reflected"));
        }
        if own.secret == their_secret {
            return Err(failed("the same secret in both directions"));
        }
        let response = algorithm.response(identifier, &own.secret, &challenge);
        text::push(&mut self.outbound, "CHAP_N", &own.name);
        text::push(&mut self.outbound, "CHAP_R", &text::binary_text(&response));
        Ok(())
    }

    /// Returns the next piece of `outbound`; with the last one, the stage transition.
    fn reply(&mut self, transit: bool, next: u8) -> Step {
        let rest = self.outbound.get(self.sent..).unwrap_or_default();
        let piece = rest.get(..RESPONSE_TEXT_BYTES).unwrap_or(rest).to_vec();
        self.sent += piece.len();
        let mut flags = self.stage << 2;
        if self.sent < self.outbound.len() {
            flags |= pdu::CONTINUE;
            return Step::Reply(Reply { flags, text: piece });
        }
        let settled = match self.chap {
            Chap::Done => true,
            Chap::Unsettled => !self.chap_required(),
            Chap::Chosen | Chap::Challenged { .. } => false,
        };
        if transit && self.chap_required() && matches!(self.chap, Chap::Unsettled) {
            return Step::Fail(fail(LoginStatus::AUTHENTICATION_FAILURE, "the initiator left out authentication"));
        }
        if !(transit && settled) {
            return Step::Reply(Reply { flags, text: piece });
        }
        self.chap = Chap::Done;
        self.stage = next;
        flags |= pdu::TRANSIT | next;
        let reply = Reply { flags, text: piece };
        if next == FULL_FEATURE { Step::Complete(reply) } else { Step::Reply(reply) }
    }
}
