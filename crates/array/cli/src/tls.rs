//! Trusted certificates: those of the system's authorities, of one file, one by its SHA-256, or any.

use crate::error::CliError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    WantsVerifier,
};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Returns the TLS settings of a client.
pub(crate) fn client_config(ca: Option<&Path>, insecure: bool) -> Result<Arc<ClientConfig>, CliError> {
    if insecure {
        return custom_config(None);
    }
    let builder = builder(Arc::new(ring::default_provider()))?;
    Ok(Arc::new(builder.with_root_certificates(roots(ca)?).with_no_client_auth()))
}

/// Returns the TLS settings of a client that trusts one certificate, by its SHA-256.
pub(crate) fn pinned_config(certificate: &str) -> Result<Arc<ClientConfig>, CliError> {
    custom_config(Some(certificate.to_owned()))
}

/// Settings of a client that trusts the certificate with this SHA-256, or any.
fn custom_config(pinned: Option<String>) -> Result<Arc<ClientConfig>, CliError> {
    let provider = Arc::new(ring::default_provider());
    let builder = builder(Arc::clone(&provider))?;
    let verifier = Arc::new(Custom { provider, pinned });
    Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

fn builder(provider: Arc<CryptoProvider>) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, CliError> {
    let builder = ClientConfig::builder_with_provider(provider);
    builder.with_safe_default_protocol_versions().map_err(|error| CliError::failed(error.to_string()))
}

/// SHA-256 of a certificate, hexadecimal.
pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the certificates in `ca`, or those of the system.
fn roots(ca: Option<&Path>) -> Result<RootCertStore, CliError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let unusable = |why: String| CliError::failed(format!("cannot use the certificate {}: {why}", path.display()));
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("there is none in it".to_owned()));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    Ok(roots)
}

/// Verifier that accepts one certificate, or any (`--insecure`). The handshake still proves that its
/// owner has the key.
#[derive(Debug)]
struct Custom {
    provider: Arc<CryptoProvider>,
    /// SHA-256 of the certificate; absent: any.
    pinned: Option<String>,
}

impl ServerCertVerifier for Custom {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.pinned {
            Some(pinned) if fingerprint(end_entity) != *pinned => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
