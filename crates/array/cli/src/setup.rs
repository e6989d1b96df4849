//! `windlass setup`: the first administrator of an array.

use crate::client::Client;
use crate::error::CliError;
use crate::output::Output;
use crate::secret::SecretSource;
use crate::user::password;
use api::{SetupCode, SetupRun, SetupState};

/// Verbs of `windlass setup`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Show if the array still needs its first administrator
    #[command(after_help = "Example:\n  windlass setup show")]
    Show,
    /// Make a set-up code for `POST /api/v1/setup`, accepted for an hour
    #[command(after_help = "Example:\n  windlass setup code")]
    Code,
    /// Create the first administrator
    #[command(
        after_help = "Examples:\n  windlass setup run anna\n  windlass setup run anna --password file:/root/anna"
    )]
    Run {
        /// Name of the administrator
        name: String,
        /// Source of the password: prompt, - (standard input), file:PATH, env:NAME
        #[arg(long, value_name = "SOURCE", default_value = "prompt")]
        password: SecretSource,
        /// Source of the set-up code; not needed on the array's machine
        #[arg(long, value_name = "SOURCE")]
        code: Option<SecretSource>,
    },
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Show => {
            let state = client.get::<SetupState>("/api/v1/setup").await?;
            if output.is_document() {
                return output.document(&state);
            }
            output.text(if state.needed {
                "the array is without an administrator; create one:  windlass setup run NAME\n"
            } else {
                "the array is set up\n"
            })
        }
        Verb::Code => {
            let code = client.post::<SetupCode>("/api/v1/setup/code", &serde_json::json!({})).await?.body;
            if output.is_document() {
                return output.document(&code);
            }
            output.text(&format!("{}\n", code.code))?;
            output.report(&format!("accepted until {:.0}", code.expires));
            Ok(())
        }
        Verb::Run { name, password: source, code } => {
            let code = code.as_ref().map(|code| code.read("Set-up code")).transpose()?.flatten();
            let run = SetupRun { code, user: name.clone(), password: password(source)? };
            client.submit("/api/v1/setup", &run).await?;
            output.report(&format!("admin {name} created"));
            Ok(())
        }
    }
}
