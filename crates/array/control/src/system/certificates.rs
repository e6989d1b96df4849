//! Alerts for certificates that end: that of REST over TLS, and those by which channels know their peers.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::request::Request;
use crate::system::certificates_in_use::{Certificate, CertificateUse};
use jiff::{SignedDuration, Timestamp};

/// Subject of the alert about the certificate of REST: no channel has a name with blanks.
const OF_REST: &str = "REST and console";
/// Time before the end from which on it is a warning.
const WARN: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Time before the end from which on it is critical.
const CRITICAL: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Replaces the certificates in use, which the management plane has.
#[derive(Clone, Debug)]
pub struct CertificatesSet {
    /// All of them.
    pub certificates: Vec<Certificate>,
}

impl Request for CertificatesSet {
    type Reply = ();
    const NAME: &'static str = "certificates-set";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        control.certificates().0.replace(self.certificates.clone());
        Ok(())
    }
}

/// Severity of a certificate with this end, and the time from which on it has it; absent while the end is far.
fn ending(ends: Timestamp, now: Timestamp) -> Option<(Severity, Timestamp)> {
    let left = ends.duration_since(now);
    let warned = ends.saturating_sub(WARN).unwrap_or(now);
    (left <= WARN).then(|| (if left <= CRITICAL { Severity::Critical } else { Severity::Warning }, warned))
}

impl Control {
    /// Alerts for certificates that end soon, or have ended.
    pub(crate) fn certificate_alerts(&self) -> Vec<AlertView> {
        let now = self.environment().now();
        let alert = |certificate: &Certificate| {
            let Certificate { of, ends } = certificate;
            let (severity, since) = ending(*ends, now)?;
            let verb = if *ends <= now { "ended" } else { "ends" };
            let (subject, what, help) = match of {
                CertificateUse::Https => (
                    OF_REST,
                    "the certificate of REST and console".to_owned(),
                    "replace the certificate, and restart the array: hosts do not notice",
                ),
                CertificateUse::Channel(name) => (
                    name.as_str(),
                    format!("the certificate by which channel {name} knows its peer"),
                    "give the channel the new certificate of the authority, and test it",
                ),
            };
            let message = format!("{what} {verb} on {}", ends.strftime("%F"));
            Some(AlertView {
                code: "certificate-ends",
                severity,
                subject: subject.to_owned(),
                since,
                message,
                help,
                note: None,
            })
        };
        self.certificates().0.borrow().iter().filter_map(alert).collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    #[test]
    fn a_certificate_warns_for_thirty_days_and_is_critical_in_the_last_seven() {
        let day = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        let ends = day(100);
        assert_eq!(ending(ends, day(69)), None);
        assert_eq!(ending(ends, day(70)), Some((Severity::Warning, day(70))));
        assert_eq!(ending(ends, day(92)), Some((Severity::Warning, day(70))));
        assert_eq!(ending(ends, day(93)), Some((Severity::Critical, day(70))));
        assert_eq!(ending(ends, day(400)), Some((Severity::Critical, day(70))), "it has ended");
        assert_eq!(ending(Timestamp::MAX, day(0)), None);
        assert_eq!(ending(Timestamp::MIN, day(0)).map(|(severity, _)| severity), Some(Severity::Critical));
    }
}
