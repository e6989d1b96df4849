//! POST requests over HTTP/1.1 or HTTPS. Redirections are not followed: they could lead anywhere.

use super::{described, tls};
use crate::notice::Message;
use crate::render::{Sender, webhook, word};
use api::WebhookSettings;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;

/// Largest part of an answer that is read.
const MAX_ANSWER_BYTES: usize = 4096;

/// Sends a message. A status of 2xx is its acceptance.
pub(super) async fn send(
    settings: &WebhookSettings,
    channel: &str,
    message: &Message,
    sender: &Sender,
) -> Result<String, String> {
    let uri: Uri = settings.url.parse().map_err(|_| "the URL cannot be read".to_owned())?;
    let (host, is_tls) = (uri.host().unwrap_or_default(), uri.scheme_str() == Some("https"));
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let body = webhook::body(sender, message, settings.body, channel);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::post(path)
        .header(header::HOST, uri.authority().map_or(host, |authority| authority.as_str()))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, format!("windlass/{}", sender.version))
        .header("Windlass-Message", word(message.id));
    if let Some(signature) = settings.secret.as_ref().and_then(|key| webhook::signature(key, Timestamp::now(), &body)) {
        request = request.header("Windlass-Signature", signature);
    }
    let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
    let stream = tls::connect(host.trim_matches(['[', ']']), port, is_tls.then_some(settings.ca.as_deref())).await?;
    let broken = |error: hyper::Error| described(&error);
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let exchange = async {
        let response = requests.send_request(request).await.map_err(broken)?;
        let status = response.status();
        // Of a longer answer nothing is shown but its status, which has decided.
        let answer = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
        let answer = answer.map(|body| body.to_bytes()).unwrap_or_default();
        let words = String::from_utf8_lossy(&answer);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = format!("HTTP {status} {words}");
        if status.is_success() { Ok(words) } else { Err(words) }
    };
    // Both end together: the connection is not left to a task that nothing ends.
    tokio::select! {
        result = exchange => result,
        () = drive(connection) => Err("the connection ended before an answer".to_owned()),
    }
}

/// Moves the bytes of a connection, for ever: its end reaches the exchange as an error or an answer.
async fn drive<T>(connection: http1::Connection<T, Full<Bytes>>)
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let _also_an_error_of_the_exchange = connection.await;
    std::future::pending::<()>().await;
}
