//! Reading a document.

use crate::check;
use crate::document::{Configuration, FORMAT, Format, MAX_OBJECTS};
use crate::entries::{
    Access, Channel, Export, Host, HostGroup, Pool, PortGroup, Portal, QosPolicy, Schedule, Share, Token, User, Volume,
};
use crate::error::Invalid;
use api::MAX_DOCUMENT_BYTES;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A document as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    pool: Option<Pool>,
    portal: Option<Vec<Portal>>,
    port_group: Option<Vec<PortGroup>>,
    qos_policy: Option<Vec<QosPolicy>>,
    volume: Option<Vec<Volume>>,
    share: Option<Vec<Share>>,
    host: Option<Vec<Host>>,
    host_group: Option<Vec<HostGroup>>,
    access: Option<Vec<Access>>,
    export: Option<Vec<Export>>,
    schedule: Option<Vec<Schedule>>,
    channel: Option<Vec<Channel>>,
    user: Option<Vec<User>>,
    token: Option<Vec<Token>>,
}

impl Configuration {
    /// Reads a document, and checks that it does not contradict itself.
    ///
    /// # Errors
    ///
    /// The document is too large, has too many objects, has an unknown or missing field or a wrong value, two objects
    /// of one name, or a reference to an object of a kind that it has and that it does not name.
    pub fn read(text: &str, format: Format) -> Result<Self, Invalid> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(Invalid::new("", format!("the document is larger than {MAX_DOCUMENT_BYTES} bytes")));
        }
        let document: Document = parse(text, format)?;
        if document.format != FORMAT {
            let reason = format!("{} is not a known form of documents: this array reads {FORMAT}", document.format);
            return Err(Invalid::new("format", reason));
        }
        let mut configuration = Self::default();
        let pool = document.pool.map(|pool| vec![pool]);
        configuration.add_if(pool)?;
        configuration.add_if(document.portal)?;
        configuration.add_if(document.port_group)?;
        configuration.add_if(document.qos_policy)?;
        configuration.add_if(document.volume)?;
        configuration.add_if(document.share)?;
        configuration.add_if(document.host)?;
        configuration.add_if(document.host_group)?;
        configuration.add_if(document.access)?;
        configuration.add_if(document.export)?;
        configuration.add_if(document.schedule)?;
        configuration.add_if(document.channel)?;
        configuration.add_if(document.user)?;
        configuration.add_if(document.token)?;
        if configuration.len() > MAX_OBJECTS {
            return Err(Invalid::new("", format!("the document has more than {MAX_OBJECTS} objects")));
        }
        check::values(&configuration)?;
        Ok(configuration)
    }
}

fn parse<T: DeserializeOwned>(text: &str, format: Format) -> Result<T, Invalid> {
    match format {
        Format::Toml => toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes().get(..at).map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
            unread(error.message(), line)
        }),
        Format::Json => {
            serde_json::from_str(text).map_err(|error| unread(&error.to_string(), Some(error.line().max(1))))
        }
    }
}

/// Error of a parser. It quotes the field that it means.
fn unread(message: &str, line: Option<usize>) -> Invalid {
    let is_of_field = message.contains(" field `");
    let field = message.split('`').nth(1).filter(|_| is_of_field).unwrap_or_default().to_owned();
    Invalid { field, line, reason: message.trim().replace('\n', " ") }
}
