//! TLS for the management plane: a certificate of our own, or the administrator's.

use crate::TlsMode;
use crate::state_dir::write_private;
use anyhow::{Context, anyhow};
use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

/// The server's TLS settings. With [`TlsMode::SelfSigned`] the certificate is made at the first use and kept in `STATE_DIR/tls`.
pub(crate) fn server_config(mode: &TlsMode, state_dir: &Path, listen: IpAddr) -> anyhow::Result<Arc<ServerConfig>> {
    let (certificate, key) = match mode {
        TlsMode::Files { certificate, key } => (certificate.clone(), key.clone()),
        TlsMode::SelfSigned => {
            let directory = state_dir.join("tls");
            let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
            if !certificate.exists() || !key.exists() {
                std::fs::create_dir_all(&directory)
                    .with_context(|| format!("cannot make the directory {}", directory.display()))?;
                let (certificate_pem, key_pem) = make_certificate(listen)?;
                write_private(&key, &key_pem)?;
                write_private(&certificate, &certificate_pem)?;
            }
            (certificate, key)
        }
    };
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| anyhow!("cannot read the certificate {}: {error}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| anyhow!("cannot read the private key {}: {error}", key.display()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("the certificate {} cannot be used", certificate.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A self-signed certificate for this machine, and its key, as PEM.
fn make_certificate(listen: IpAddr) -> anyhow::Result<(String, String)> {
    let mut names = vec!["localhost".to_owned()];
    let host_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if !host_name.is_empty() && host_name != "localhost" && host_name.is_ascii() {
        names.push(host_name);
    }
    let mut parameters = CertificateParams::new(names)?;
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if !listen.is_unspecified() && !addresses.contains(&listen) {
        addresses.push(listen);
    }
    parameters.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
    parameters.distinguished_name.push(DnType::CommonName, "windlass");
    // Trust comes from having this very file; there is nobody to renew it.
    parameters.not_before = date_time_ymd(2025, 1, 1);
    parameters.not_after = date_time_ymd(2125, 1, 1);
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}
