//! `windlass sign-in`: browsers that are signed in.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column, wide};
use api::SignIn;

/// Verbs of `windlass sign-in`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List sign-ins, newest first
    #[command(after_help = "Example:\n  windlass sign-in list")]
    List,
    /// End a sign-in
    #[command(after_help = "Example:\n  windlass sign-in end 0190c1de-0000-7000-8000-000000000001")]
    End {
        /// Id
        id: String,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

impl Resource for SignIn {
    const WHEN_EMPTY: &'static str = "nobody is signed in";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |sign_in| sign_in.id.to_string().into()),
        column("user", |sign_in| sign_in.user.as_str().into()),
        column("from", |sign_in| sign_in.from.as_str().into()),
        column("since", |sign_in| format!("{:.0}", sign_in.since).into()),
        column("ends", |sign_in| format!("{:.0}", sign_in.ends).into()),
        wide("last-use", |sign_in| format!("{:.0}", sign_in.last_use).into()),
        wide("display", |sign_in| if sign_in.display { "yes" } else { "no" }.into()),
        wide("browser", |sign_in| sign_in.agent.as_str().into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<SignIn>("/api/v1/sign-ins").await?),
        Verb::End { id, rehearsal } => {
            let path = format!("/api/v1/sign-ins/{}", segment(id));
            if rehearsal.dry_run {
                return effect::deletions("end sign-in", [(id, path)], client, output).await;
            }
            client.delete(&path).await?;
            output.report(&format!("sign-in {id} ended"));
            Ok(())
        }
    }
}
