//! `windlass login`: keeps address, token and certificate of an array for later commands.

use crate::Globals;
use crate::client::{Client, presented_certificate};
use crate::error::CliError;
use crate::output::Output;
use crate::profile::{self, DEFAULT, Profile};
use crate::secret::SecretSource;
use api::Status;

/// Arguments of `windlass login`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The array: https://HOST:PORT
    url: String,
    /// SHA-256 of the array's certificate, instead of a question
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,
}

pub(crate) async fn run(arguments: &Arguments, globals: &Globals, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let presented = presented_certificate(&arguments.url, globals).await?;
    match &arguments.fingerprint {
        Some(expected) if plain(expected) == presented => {}
        Some(_) => {
            let help = "it may be another machine: compare with  openssl x509 -in STATE_DIR/tls/cert.pem -noout \
                        -fingerprint -sha256  there";
            return Err(CliError::denied(format!("the certificate of the array has SHA-256 {presented}"), help));
        }
        None => confirm(&presented, output)?,
    }
    let token = match (&globals.token, &globals.token_file) {
        (Some(token), _) => token.trim().to_owned(),
        (None, Some(file)) => secret(&SecretSource::File(file.clone()))?,
        (None, None) => secret(&SecretSource::Prompt)?,
    };
    let profile = Profile { server: arguments.url.clone(), token, certificate: presented };
    let client = Client::of_profile(&profile, globals)?;
    client.get::<Status>("/api/v1/system").await?;
    let name = globals.profile.as_deref().unwrap_or(DEFAULT);
    let path = profile::keep(name, profile)?;
    output.report(&format!("profile {name} kept in {}", path.display()));
    Ok(())
}

/// Asks whether the certificate is that of the array. `--yes` is no answer to that.
fn confirm(presented: &str, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let question = format!("Is {presented} the SHA-256 of the array's certificate?");
    if output.asks() {
        return output.confirm(&question);
    }
    Err(CliError::usage(format!("{question} Compare it and give  --fingerprint {presented}")))
}

fn secret(source: &SecretSource) -> Result<String, CliError> {
    let text = source.read("Token")?.unwrap_or_default();
    Ok(text.trim().to_owned())
}

/// Fingerprint as hexadecimal digits alone.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_ascii_lowercase()
}
