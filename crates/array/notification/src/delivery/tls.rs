//! Connections over TCP, with or without TLS.

use super::described;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Connection to a peer.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to a peer. `tls`: the authorities to trust, those of the system if absent; without it there is no TLS.
pub(super) async fn connect(server: &str, port: u16, tls: Option<Option<&str>>) -> Result<Box<dyn Stream>, String> {
    let unreachable = |error: std::io::Error| format!("cannot connect to {server} port {port}: {}", described(&error));
    let stream = TcpStream::connect((server, port)).await.map_err(unreachable)?;
    let Some(ca) = tls else { return Ok(Box::new(stream)) };
    let name = ServerName::try_from(server.to_owned()).map_err(|_| format!("{server:?} is no name of a machine"))?;
    let config = config(ca).await?;
    let failed = |error: std::io::Error| format!("no TLS with {server} port {port}: {}", described(&error));
    Ok(Box::new(TlsConnector::from(config).connect(name, stream).await.map_err(failed)?))
}

/// TLS of a client that trusts these certificates, or those of the system.
async fn config(ca: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(ca) => {
            for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("ca: {error}"))?;
                roots.add(certificate).map_err(|error| format!("ca: {error}"))?;
            }
        }
        None => {
            // It reads files.
            let native = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
            let native = native.map_err(|_| "the certificates of the system cannot be read".to_owned())?;
            roots.add_parsable_certificates(native.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
