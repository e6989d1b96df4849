//! TLS for the management plane, with a generated certificate or the administrator's.
//!
//! The generated certificate is self-signed and stored in `STATE_DIR/tls`. It names the addresses
//! on which HTTPS is served. If names have been added, the next start renews it with the same key
//! and subject, so that `windlass --ca` with an older copy of the file accepts the new one.

use crate::TlsMode;
use crate::network::{is_name, machine_addresses};
use anyhow::{Context, anyhow, ensure};
use rcgen::{CertificateParams, DnType, KeyPair, SerialNumber, date_time_ymd};
use reactor::state_files::write_private;
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

/// Common name of a generated certificate.
const COMMON_NAME: &str = "windlass";
/// Distinguished name of a generated certificate in DER: one relative name, one attribute, 2.5.4.3,
/// UTF8String.
const DISTINGUISHED_NAME: &[u8] = b"\x30\x13\x31\x11\x30\x0f\x06\x03\x55\x04\x03\x0c\x08windlass";

/// HTTP/2 in ALPN (RFC 9113 §3.1).
pub(crate) const HTTP_2: &[u8] = b"h2";
/// HTTP/1.1 in ALPN (RFC 7301 §6).
const HTTP_1_1: &[u8] = b"http/1.1";

/// Path of the generated certificate in the state directory.
pub(crate) const CERTIFICATE_PATH: &str = "tls/cert.pem";
/// Path of the generated key in the state directory.
pub(crate) const KEY_PATH: &str = "tls/key.pem";

/// Names and addresses that a generated certificate covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Collects the machine's name, its loopback addresses, the listening address or, if that is
    /// unspecified, every address of the machine of its family, and the configured names.
    pub(crate) fn of(listen: IpAddr, configured: &[String]) -> Self {
        Self::with_addresses(listen, configured, &reachable_addresses())
    }

    fn with_addresses(listen: IpAddr, configured: &[String], machine: &[IpAddr]) -> Self {
        let host_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut names = vec!["localhost".to_owned(), host_name];
        names.extend([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(|ip| ip.to_string()));
        if listen.is_unspecified() {
            // A socket on [::] accepts IPv4 too.
            let served = machine.iter().filter(|address| listen.is_ipv6() || address.is_ipv4());
            names.extend(served.map(IpAddr::to_string));
        } else {
            names.push(listen.to_string());
        }
        names.extend(configured.iter().cloned());
        let mut seen = Vec::new();
        names.retain(|name| {
            let new = is_name(name) && !seen.contains(name);
            seen.push(name.clone());
            new
        });
        Self(names)
    }

    /// The names and addresses.
    pub(crate) fn all(&self) -> &[String] {
        &self.0
    }

    /// Returns the first name that the certificate does not cover.
    fn missing_in(&self, certificate: &CertificateDer<'_>) -> Option<&str> {
        let parsed = ParsedCertificate::try_from(certificate);
        let covers = |name: &String| {
            let name = ServerName::try_from(name.as_str());
            matches!((&parsed, name), (Ok(parsed), Ok(name)) if verify_server_name(parsed, &name).is_ok())
        };
        self.0.iter().find(|name| !covers(name)).map(String::as_str)
    }
}

/// Addresses of the machine that others reach: without loopback and link-local ones.
fn reachable_addresses() -> Vec<IpAddr> {
    let mut addresses = machine_addresses().unwrap_or_else(|error| {
        tracing::warn!(%error, "the machine's addresses are not known; name them with --http-name");
        Vec::new()
    });
    addresses.retain(|address| {
        let is_link_local = match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        !address.is_loopback() && !is_link_local
    });
    addresses
}

/// TLS settings of the server. [`TlsMode::SelfSigned`] generates the certificate at its first use.
pub(crate) fn server_config(mode: &TlsMode, state_dir: &Path, names: &Names) -> anyhow::Result<Arc<ServerConfig>> {
    let (certificate, key) = match mode {
        TlsMode::Files { certificate, key } => (certificate.clone(), key.clone()),
        TlsMode::SelfSigned { .. } => {
            let directory = state_dir.join("tls");
            let (certificate, key) = (state_dir.join(CERTIFICATE_PATH), state_dir.join(KEY_PATH));
            if !certificate.exists() || !key.exists() {
                std::fs::create_dir_all(&directory)
                    .with_context(|| format!("cannot create the directory {}", directory.display()))?;
                let generated = KeyPair::generate()?;
                write_private(&key, &generated.serialize_pem())?;
                write_private(&certificate, &generate(&generated, names)?)?;
            } else {
                renew(&certificate, &key, names)?;
            }
            (certificate, key)
        }
    };
    let chain = read_chain(&certificate)?;
    let key = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| anyhow!("cannot read the private key {}: {error}", key.display()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("the certificate {} cannot be used", certificate.display()))?;
    config.alpn_protocols = [HTTP_2, HTTP_1_1].map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

fn read_chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(|error| anyhow!("cannot read the certificate {}: {error}", path.display()))?;
    ensure!(!chain.is_empty(), "{} holds no certificate in PEM format", path.display());
    Ok(chain)
}

/// Renews a generated certificate that lacks a name. Other certificates are left alone.
fn renew(certificate: &Path, key: &Path, names: &Names) -> anyhow::Result<()> {
    let chain = read_chain(certificate)?;
    let Some(missing) = chain.first().and_then(|first| names.missing_in(first)) else { return Ok(()) };
    let path = certificate.display();
    if !chain.first().is_some_and(is_generated) {
        tracing::warn!(certificate = %path, missing, "the certificate was not generated by the array and lacks a name");
        return Ok(());
    }
    let pem = std::fs::read_to_string(key).with_context(|| format!("cannot read the private key {}", key.display()))?;
    let pair = KeyPair::from_pem(&pem).with_context(|| format!("cannot use the private key {}", key.display()))?;
    write_private(certificate, &generate(&pair, names)?)?;
    tracing::warn!(certificate = %path, missing, "certificate renewed with a new name, with the same key; programs other than windlass that trust a copy of it need the new file");
    Ok(())
}

/// True if issuer and subject are those that [`generate`] writes.
fn is_generated(certificate: &CertificateDer<'_>) -> bool {
    certificate.windows(DISTINGUISHED_NAME.len()).filter(|part| *part == DISTINGUISHED_NAME).count() == 2
}

/// Generates a self-signed certificate for the names, as PEM.
fn generate(key: &KeyPair, names: &Names) -> anyhow::Result<String> {
    let mut parameters = CertificateParams::new(names.0.clone())?;
    parameters.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    // Two certificates of one issuer must not share a serial number (RFC 5280 §4.1.2.2), which must
    // be positive.
    let mut serial = [0; 16];
    getrandom::fill(&mut serial).context("no random numbers from the operating system")?;
    serial[0] = serial[0] & 0x7f | 0x40;
    parameters.serial_number = Some(SerialNumber::from_slice(&serial));
    // Clients trust this file or its key; no authority can issue another certificate.
    parameters.not_before = date_time_ymd(2025, 1, 1);
    parameters.not_after = date_time_ymd(2125, 1, 1);
    Ok(parameters.self_signed(key)?.pem())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use crate::memory::TemporaryDirectory;
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::UnixTime;

    const EVERYWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

    fn machine() -> Vec<IpAddr> {
        ["192.0.2.2", "2001:db8::2"].map(|address| address.parse().unwrap()).to_vec()
    }

    fn certificate(state_dir: &Path, names: &Names) -> CertificateDer<'static> {
        server_config(&TlsMode::SelfSigned { names: Vec::new() }, state_dir, names).unwrap();
        read_chain(&state_dir.join("tls/cert.pem")).unwrap().remove(0)
    }

    /// True if a client that trusts one certificate accepts another one for the name.
    fn accepts(trusted: &CertificateDer<'static>, shown: &CertificateDer<'static>, name: &str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(shown, &[], &name, &[], UnixTime::now()).is_ok()
    }

    /// Regression: with `--http 0.0.0.0:8443` the certificate named the loopback addresses only, so
    /// other machines could not verify it, and any server that answered received the token.
    #[test]
    fn the_certificate_is_for_the_addresses_it_is_served_on() {
        let names = |listen: &str| Names::with_addresses(listen.parse().unwrap(), &[], &machine()).0;
        let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
        let all = names("::");
        assert!(["127.0.0.1", "::1", "localhost", "192.0.2.2", "2001:db8::2"].iter().all(|name| has(&all, name)));
        assert!(has(&names("0.0.0.0"), "192.0.2.2") && !has(&names("0.0.0.0"), "2001:db8::2"));
        assert!(has(&names("192.0.2.9"), "192.0.2.9") && !has(&names("192.0.2.9"), "192.0.2.2"));
        let directory = TemporaryDirectory::new();
        let all = Names::with_addresses(EVERYWHERE, &["array.example.org".to_owned()], &machine());
        let certificate = certificate(directory.path(), &all);
        assert_eq!(all.missing_in(&certificate), None);
        assert!(accepts(&certificate, &certificate, "192.0.2.2"));
        assert!(accepts(&certificate, &certificate, "array.example.org"));
        assert!(!accepts(&certificate, &certificate, "192.0.2.3"));
    }

    /// Regression: an address added to the machine later was missing until the files were deleted.
    #[test]
    fn the_certificate_is_renewed_for_a_new_name_and_only_then() {
        let directory = TemporaryDirectory::new();
        let few = Names::with_addresses(EVERYWHERE, &[], &[]);
        let first = certificate(directory.path(), &few);
        assert_eq!(certificate(directory.path(), &few), first);
        let more = Names::with_addresses(EVERYWHERE, &[], &machine());
        let second = certificate(directory.path(), &more);
        assert!(accepts(&first, &second, "192.0.2.2"), "the older copy is trusted still");
        assert_eq!(certificate(directory.path(), &few), second, "nothing is taken out");
    }

    #[test]
    fn a_certificate_of_the_administrators_is_left_alone() {
        let directory = TemporaryDirectory::new();
        let few = Names::with_addresses(EVERYWHERE, &[], &[]);
        certificate(directory.path(), &few);
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["array.example.org".to_owned()]).unwrap().self_signed(&key).unwrap();
        write_private(&directory.path().join("tls/cert.pem"), &own.pem()).unwrap();
        write_private(&directory.path().join("tls/key.pem"), &key.serialize_pem()).unwrap();
        assert_eq!(&certificate(directory.path(), &few), own.der());
    }
}
