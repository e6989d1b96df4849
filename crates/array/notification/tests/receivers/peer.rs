//! A receiver of one connection, with a certificate.

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Connection to a client.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Certificate for 127.0.0.1: as PEM, and as a server uses it.
pub(crate) struct Identity {
    pub(crate) ca: String,
    pub(crate) acceptor: TlsAcceptor,
}

impl Identity {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap(),
            )
            .unwrap();
        Self { ca: certificate.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

/// Listens on a free port of 127.0.0.1.
pub(crate) async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Accepts one connection, with TLS if there is an acceptor.
pub(crate) async fn accept(listener: &TcpListener, tls: Option<&TlsAcceptor>) -> Option<Box<dyn Stream>> {
    let (stream, _) = listener.accept().await.unwrap();
    match tls {
        None => Some(Box::new(stream)),
        // A client that does not trust the certificate ends the handshake.
        Some(acceptor) => Some(Box::new(acceptor.accept(stream).await.ok()?)),
    }
}

/// Everything until the client closes.
pub(crate) async fn read_to_end(mut stream: Box<dyn Stream>) -> String {
    let mut bytes = Vec::new();
    let _closed_without_notice = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}
