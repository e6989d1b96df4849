//! Names of the array's objects for the completion of a shell: it asks the array that the environment names, or the one
//! on this machine. Without an answer in time there are no names, and nothing is said.

use crate::Globals;
use crate::client::{Client, query, with_limit};
use clap::Parser;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use serde::Deserialize;
use std::ffi::OsStr;
use std::time::Duration;

/// Longest wait for the array.
const PATIENCE: Duration = Duration::from_millis(300);
/// Most names.
const MOST: u32 = 200;

/// Objects that arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noun {
    Pool,
    Volume,
    Share,
    Snapshot,
    Host,
    HostGroup,
    Schedule,
    Qos,
    Trash,
    Job,
    User,
    Token,
}

impl Noun {
    /// Noun of a command, or of the argument with this name.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "pool" => Self::Pool,
            "volume" | "volumes" => Self::Volume,
            "share" => Self::Share,
            "snapshot" => Self::Snapshot,
            "host" | "hosts" => Self::Host,
            "host-group" | "group" => Self::HostGroup,
            "schedule" => Self::Schedule,
            "qos" => Self::Qos,
            "trash" => Self::Trash,
            "job" => Self::Job,
            "user" => Self::User,
            "token" => Self::Token,
            _ => return None,
        })
    }

    /// Path of the list of those with a text in their name.
    fn path(self, text: &str) -> String {
        let (path, searched) = match self {
            Self::Pool => ("/api/v1/pools", false),
            Self::Volume => ("/api/v1/volumes", true),
            Self::Share => ("/api/v1/shares", true),
            Self::Snapshot => ("/api/v1/snapshots", true),
            Self::Host => ("/api/v1/hosts", true),
            Self::HostGroup => ("/api/v1/host-groups", true),
            Self::Schedule => ("/api/v1/schedules", false),
            Self::Qos => ("/api/v1/qos-policies", false),
            Self::Trash => ("/api/v1/trash", true),
            Self::Job => ("/api/v1/jobs", false),
            Self::User => ("/api/v1/users", false),
            Self::Token => ("/api/v1/tokens", false),
        };
        match searched {
            true => with_limit(&format!("{path}{}", query(&[("q", Some(text).filter(|text| !text.is_empty()))])), MOST),
            false => path.to_owned(),
        }
    }
}

/// An object of any list, as far as its name goes.
#[derive(Deserialize)]
struct Named {
    id: Option<serde_json::Value>,
    name: Option<String>,
    volume: Option<String>,
}

impl Named {
    fn text(self, noun: Noun) -> Option<String> {
        match noun {
            Noun::Job => self.id?.as_str().map(str::to_owned),
            Noun::Snapshot => Some(format!("{}@{}", self.volume?, self.name?)),
            _ => self.name,
        }
    }
}

/// Adds the names of objects to the arguments of a command line that take one.
pub fn with_names(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|noun| {
        let of = Noun::of(noun.get_name());
        noun.mut_subcommands(|verb| {
            let makes = matches!(verb.get_name(), "create" | "clone");
            verb.mut_args(|argument| match noun_of(of, makes, argument.get_id().as_str()) {
                Some(noun) => argument.add(ArgValueCompleter::new(move |word: &OsStr| candidates(noun, word))),
                None => argument,
            })
        })
    })
}

/// Kind of objects that an argument names, of a verb of `noun` that makes a new object or does not.
fn noun_of(noun: Option<Noun>, makes: bool, argument: &str) -> Option<Noun> {
    match argument {
        "name" | "names" | "item" | "items" | "id" | "ids" if !makes => noun,
        "name" | "names" | "item" | "items" | "id" | "ids" => None,
        "source" => Some(Noun::Snapshot),
        other => Noun::of(other),
    }
}

fn candidates(noun: Noun, word: &OsStr) -> Vec<CompletionCandidate> {
    let Some(word) = word.to_str() else { return Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return Vec::new() };
    let found = runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(noun, word)).await });
    let names = found.ok().flatten().unwrap_or_default();
    names.into_iter().filter(|name| name.starts_with(word)).map(CompletionCandidate::new).collect()
}

/// Names with a text in them; nothing if the array does not answer.
async fn ask(noun: Noun, text: &str) -> Option<Vec<String>> {
    // The options of the line that is being typed are not known here; the environment is.
    #[derive(Parser)]
    struct Environment {
        #[command(flatten)]
        globals: Globals,
    }
    let Environment { globals } = Environment::try_parse_from(["windlass"]).ok()?;
    let client = Client::new(&globals).ok()?;
    let found: api::List<Named> = client.get(&noun.path(text)).await.ok()?;
    Some(found.items.into_iter().filter_map(|item| item.text(noun)).collect())
}

#[cfg(test)]
mod tests {
    use super::{Noun, noun_of};

    #[test]
    fn arguments_name_what_their_command_is_about() {
        for (noun, makes, argument, expected) in [
            ("volume", false, "name", Some(Noun::Volume)),
            ("volume", true, "name", None),
            ("host-group", false, "names", Some(Noun::HostGroup)),
            ("access", false, "volume", Some(Noun::Volume)),
            ("access", false, "group", Some(Noun::HostGroup)),
            ("volume", true, "source", Some(Noun::Snapshot)),
            ("portal", false, "id", None),
            ("volume", false, "size", None),
        ] {
            assert_eq!(noun_of(Noun::of(noun), makes, argument), expected, "{noun} {argument}");
        }
    }

    #[test]
    fn what_is_typed_is_part_of_the_path_as_it_is() {
        assert_eq!(Noun::Volume.path("a&b"), "/api/v1/volumes?q=a%26b&limit=200");
        assert_eq!(Noun::Volume.path(""), "/api/v1/volumes?limit=200");
        assert_eq!(Noun::User.path("x"), "/api/v1/users");
    }
}
