//! Certificates in use and their ends, which the array shows as alerts: that of REST over TLS as it was read at the
//! start, and those of authorities that channels trust.

use crate::notices::Desk;
use api::ChannelSettings;
use control::{Certificate, CertificateUse, CertificatesSet};
use jiff::Timestamp;
use notification::Notices;
use reactor::ArrayHandle;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use x509_parser::pem::Pem;

/// Time between two looks at the channels.
const INTERVAL: Duration = Duration::from_secs(10);

/// Ends of the certificates in a text in PEM format; what cannot be read is left out.
fn ends(pem: &[u8]) -> Vec<Timestamp> {
    let certificates = Pem::iter_from_buffer(pem).filter_map(Result::ok);
    let end = |pem: Pem| {
        let seconds = pem.parse_x509().ok()?.validity().not_after.timestamp();
        // The end of a certificate that ends after all times that can be written is the last of them.
        Some(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
    };
    certificates.filter_map(end).collect()
}

/// End of a certificate with those of the authorities between it and the root, in a file: the first of them.
pub(crate) fn end_of_chain(path: &Path) -> Option<Timestamp> {
    ends(&std::fs::read(path).ok()?).into_iter().min()
}

/// End of the trust in certificates of authorities: the last of them, since each is enough.
fn end_of_trust(pem: &str) -> Option<Timestamp> {
    ends(pem.as_bytes()).into_iter().max()
}

/// Certificates in use. `https`: the end of that of REST over TLS.
fn in_use(https: Option<Timestamp>, notices: &Notices) -> Vec<Certificate> {
    let https = https.map(|ends| Certificate { of: CertificateUse::Https, ends });
    let channels = notices.channels().into_iter().filter(|channel| channel.enabled).filter_map(|channel| {
        let (ChannelSettings::Email(api::EmailSettings { ca, .. })
        | ChannelSettings::Webhook(api::WebhookSettings { ca, .. })
        | ChannelSettings::Syslog(api::SyslogSettings { ca, .. })) = &channel.settings;
        let ends = end_of_trust(ca.as_deref()?)?;
        Some(Certificate { of: CertificateUse::Channel(channel.name.clone()), ends })
    });
    https.into_iter().chain(channels).collect()
}

/// Tells the array of the certificates in use, until it is aborted. `https`: the end of that of REST over TLS.
pub(crate) async fn follow(https: Option<Timestamp>, desk: Arc<Desk>, array: ArrayHandle) {
    let mut told = Vec::new();
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let certificates = desk.see(|notices| in_use(https, notices));
        // An array that does not answer is told again.
        if certificates != told && array.call(CertificatesSet { certificates: certificates.clone() }).await.is_ok() {
            told = certificates;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use notification::NewChannel;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use serde_json::json;
    use uuid::Uuid;

    fn certificate(year: i32) -> String {
        let mut parameters = CertificateParams::new(vec!["authority.example.org".to_owned()]).unwrap();
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(year, 6, 1);
        parameters.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    /// Fails if only the first certificate of a file were read, or the wrong one of several decided.
    #[test]
    fn a_chain_ends_with_its_first_and_trust_with_its_last_certificate() {
        let june = |year: i16| format!("{year}-06-01T00:00:00Z").parse::<Timestamp>().unwrap();
        let pem = certificate(2030) + &certificate(2028) + &certificate(2032);
        let directory = crate::memory::TemporaryDirectory::new();
        let path = directory.path().join("chain.pem");
        std::fs::write(&path, &pem).unwrap();
        assert_eq!(end_of_chain(&path), Some(june(2028)));
        assert_eq!(end_of_trust(&pem), Some(june(2032)));
        assert_eq!((end_of_trust("no certificate"), end_of_chain(Path::new("/nowhere"))), (None, None));

        let mut notices = Notices::default();
        for (number, ca) in [(1, None), (2, Some(pem))] {
            let settings = json!({ "kind": "syslog", "server": "192.0.2.1", "ca": ca });
            let new = NewChannel {
                id: Uuid::from_u128(number),
                name: format!("log{number}"),
                settings: serde_json::from_value(settings).unwrap(),
                min_severity: api::Severity::Warning,
                codes: Vec::new(),
                quiet_hours: None,
                enabled: true,
            };
            let changes = notices.create_channel(new, june(2027)).unwrap();
            changes.into_iter().for_each(|change| notices.apply(change));
        }
        let found = in_use(Some(june(2029)), &notices);
        let named = |name: &str| CertificateUse::Channel(name.to_owned());
        let expected = [(CertificateUse::Https, june(2029)), (named("log2"), june(2032))];
        assert_eq!(found, expected.map(|(of, ends)| Certificate { of, ends }));
    }
}
