#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{
    Address, CodeError, Fingerprint, Invitations, Joining, LIFETIME, MAX_INVITATIONS, MAX_WRONG_PROOFS, PairingCode,
    RANDOM_BYTES, Session, TooManyInvitations,
};
use crate::refusal::Code;
use crate::wire::{Join, Joined};
use random::Random;
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1000);

fn inviter() -> Fingerprint {
    Fingerprint::of(b"certificate of the inviter")
}

fn session() -> Session {
    Session { exporter: [9; 32], inviter: inviter(), joiner: Fingerprint::of(b"certificate of the joiner") }
}

fn random_bytes(random: &Random) -> [u8; RANDOM_BYTES] {
    let mut bytes = [0; RANDOM_BYTES];
    random.fill(&mut bytes);
    bytes
}

fn invite(invitations: &mut Invitations, seed: u64) -> PairingCode {
    let address: Address = "10.0.1.9:3262".parse().unwrap();
    invitations.invite(NOW, address, &inviter(), random_bytes(&Random::new(seed))).unwrap()
}

fn accept(invitations: &mut Invitations, join: &Join, session: &Session) -> Result<Joined, Code> {
    invitations.accept(NOW, join, session).map_err(|refusal| refusal.code)
}

#[test]
fn two_arrays_pair_once() {
    let mut invitations = Invitations::default();
    let printed = invite(&mut invitations, 1).to_string();
    assert_eq!(printed.len(), "WL1-10.0.1.9:3262-".len() + 26 + 1 + 24);
    let joining = Joining::new(printed.to_lowercase().parse().unwrap());
    let join = joining.join(&session()).unwrap();
    let joined = accept(&mut invitations, &join, &session()).unwrap();
    assert_eq!(joining.conclude(&session(), &joined), Ok(()));
    assert_eq!(accept(&mut invitations, &join, &session()), Err(Code::InvitationUnknown), "good once");
}

#[test]
fn codes_are_read_as_they_are_printed_and_no_typo_passes() {
    let random = Random::new(2);
    for host in ["a-b.example-1.org:1", "[fe80::1]:65535", "h:3262"] {
        let address: Address = host.parse().unwrap();
        let mut invitations = Invitations::default();
        let code = invitations.invite(NOW, address, &inviter(), random_bytes(&random)).unwrap();
        let text = code.to_string();
        assert_eq!(format!("  {text}\n").parse().as_ref(), Ok(&code));
        assert!(!format!("{code:?}").contains(&text[text.len() - 24..]), "the secret is not in a log");
        // Each letter replaced by another, two exchanged, one left out or twice.
        let letters: Vec<char> = text.chars().collect();
        for at in 0..letters.len() {
            for letter in ['7', 'K', 'X', '-', ':'] {
                let mut wrong = letters.clone();
                wrong[at] = letter;
                no_other_code(&wrong, &code);
            }
            let mut wrong = letters.clone();
            wrong.swap(at, (at + 1) % letters.len());
            no_other_code(&wrong, &code);
            let mut wrong = letters.clone();
            wrong.remove(at);
            no_other_code(&wrong, &code);
            wrong.insert(at, letters[at]);
            wrong.insert(at, letters[at]);
            no_other_code(&wrong, &code);
        }
    }
    assert_eq!("WL2-h:1-A-B".parse::<PairingCode>(), Err(CodeError::Form));
    assert_eq!("".parse::<PairingCode>(), Err(CodeError::Form));
    assert_eq!("WL1-h:1-A-B".parse::<PairingCode>(), Err(CodeError::Typo));
    assert_eq!("WL1-é".parse::<PairingCode>(), Err(CodeError::Form));
    assert_eq!("x".repeat(10_000).parse::<PairingCode>(), Err(CodeError::Form));
}

/// A text is refused, or is the same code.
fn no_other_code(letters: &[char], code: &PairingCode) {
    let text: String = letters.iter().collect();
    if let Ok(read) = text.parse::<PairingCode>() {
        assert_eq!(&read, code, "{text}");
    }
}

#[test]
fn addresses_are_a_host_and_a_port() {
    for good in ["h:1", "10.0.0.1:3262", "[::1]:3262", "a.b-c:9"] {
        assert_eq!(good.parse::<Address>().unwrap().as_str(), good);
    }
    for bad in ["", "h", "h:", ":1", "h:0", "h:65536", "h:+1", "h:01", "h h:1", "::1:3262", "[h]:1", "-h:1", "h;rm:1"] {
        assert!(bad.parse::<Address>().is_err(), "{bad}");
    }
}

#[test]
fn a_proof_belongs_to_its_session_certificates_and_role() {
    let other = Fingerprint::of(b"another certificate");
    let others = [
        Session { exporter: [8; 32], ..session() },
        Session { joiner: other, ..session() },
        Session { inviter: session().joiner, joiner: session().inviter, ..session() },
    ];
    for other in others {
        let mut invitations = Invitations::default();
        let joining = Joining::new(invite(&mut invitations, 3));
        let join = joining.join(&session()).unwrap();
        assert_eq!(accept(&mut invitations, &join, &other), Err(Code::WrongProof));
        let joined = accept(&mut invitations, &join, &session()).unwrap();
        assert!(joining.conclude(&other, &joined).is_err());
    }
}

#[test]
fn a_proof_cannot_be_sent_back_to_its_maker() {
    let mut invitations = Invitations::default();
    let joining = Joining::new(invite(&mut invitations, 4));
    let join = joining.join(&session()).unwrap();
    let reflected = Joined { proof: join.proof };
    assert_eq!(joining.conclude(&session(), &reflected).unwrap_err().code, Code::WrongProof);
}

#[test]
fn a_joiner_sends_nothing_to_another_array() {
    let joining = Joining::new(invite(&mut Invitations::default(), 5));
    let stranger = Session { inviter: Fingerprint::of(b"in the middle"), ..session() };
    let refusal = joining.join(&stranger).unwrap_err();
    assert_eq!(refusal.code, Code::WrongCertificate);
    assert!(refusal.sentence.contains("10.0.1.9:3262"), "{refusal}");
}

#[test]
fn five_wrong_proofs_end_an_invitation_and_no_other() {
    let mut invitations = Invitations::default();
    let (code, other) = (invite(&mut invitations, 6), invite(&mut invitations, 7));
    let good = Joining::new(code).join(&session()).unwrap();
    let bad = Join { proof: [0; 32], ..good.clone() };
    for _ in 0..MAX_WRONG_PROOFS {
        assert_eq!(accept(&mut invitations, &bad, &session()), Err(Code::WrongProof));
    }
    assert_eq!(accept(&mut invitations, &good, &session()), Err(Code::InvitationUnknown));
    let unknown = Join { handle: "ZZZZ".to_owned(), ..good };
    for _ in 0..100 {
        assert_eq!(accept(&mut invitations, &unknown, &session()), Err(Code::InvitationUnknown));
    }
    let join = Joining::new(other).join(&session()).unwrap();
    assert!(accept(&mut invitations, &join, &session()).is_ok());
}

#[test]
fn invitations_end_after_fifteen_minutes_and_are_few() {
    let mut invitations = Invitations::default();
    let join = Joining::new(invite(&mut invitations, 8)).join(&session()).unwrap();
    let late = invitations.accept(NOW + LIFETIME, &join, &session());
    assert_eq!(late.unwrap_err().code, Code::InvitationUnknown);
    (0..MAX_INVITATIONS as u64).for_each(|seed| drop(invite(&mut invitations, 100 + seed)));
    let again = |invitations: &mut Invitations, now| {
        invitations.invite(now, "h:1".parse().unwrap(), &inviter(), random_bytes(&Random::new(9)))
    };
    assert_eq!(again(&mut invitations, NOW).err(), Some(TooManyInvitations));
    assert!(again(&mut invitations, NOW + LIFETIME).is_ok());
    assert_eq!(invitations.len(), 1);
}
