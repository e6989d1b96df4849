//! Common parts of the host kit's nouns: the host's identity for all of them; signals and output
//! for `windlass disk` and `windlass datastore`.

use cli::{Format, Globals};
use nfs_client::ClientError;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;
use text::terminal::{harmless, harmless_lines};
use virtual_disk::settings;
use virtual_disk::verbs::Done;
use virtual_disk::verbs::datastore::Listing;
use virtual_disk::{DiskError, Kit, KitOptions, Location, Url};

/// Exit status of a check that found something wrong, as of `windlass pool check`.
pub(crate) const FINDINGS: u8 = 9;

/// Longest CHAP secret in bytes.
const MAX_SECRET_BYTES: usize = 4096;

/// Identity of the host.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Host options")]
pub(crate) struct HostOptions {
    /// Name of the initiator; by default all hosts of the laboratory use one name and differ in
    /// their ISIDs
    #[arg(long, global = true, value_name = "NAME", value_parser = initiator::normalize_name)]
    initiator: Option<String>,
    /// CHAP secret of the user in the URL: file:PATH (its first line) or env:NAME
    #[arg(long, global = true, value_name = "SOURCE")]
    chap_secret: Option<SecretSource>,
    /// Wait at most this many seconds for each answer of the target; on datastores of disk and datastore never more
    /// than 4
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    answer_timeout: u64,
}

/// Source of a secret. The secret is never an option itself, because every process of the machine
/// can read options.
#[derive(Clone, Debug)]
enum SecretSource {
    File(PathBuf),
    Variable(String),
}

impl FromStr for SecretSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("env", name)) if !name.is_empty() => Ok(Self::Variable(name.to_owned())),
            _ => Err("write file:PATH or env:NAME".to_owned()),
        }
    }
}

impl SecretSource {
    fn read(&self) -> Result<String, DiskError> {
        let text = match self {
            Self::File(path) => std::fs::read_to_string(path)
                .map_err(|error| DiskError::File { what: format!("cannot read {}", path.display()), error })?,
            Self::Variable(name) => std::env::var(name)
                .map_err(|error| DiskError::Usage(format!("the variable {name} cannot be used: {error}")))?,
        };
        let line = text.lines().next().unwrap_or_default();
        match line.len() {
            1..=MAX_SECRET_BYTES => Ok(line.to_owned()),
            _ => Err(DiskError::Usage("the CHAP secret is empty or too long".into())),
        }
    }
}

impl HostOptions {
    /// Returns the URL with the CHAP secret of its user.
    pub(crate) fn complete(&self, url: &Url) -> Result<Url, DiskError> {
        let mut url = url.clone();
        let Some(source) = &self.chap_secret else { return Ok(url) };
        match &mut url.chap {
            None => {
                let words = format!("--chap-secret is given, and {url} names no user: iscsi://USER@HOST/…");
                return Err(DiskError::Usage(words));
            }
            Some(chap) if !chap.secret.is_empty() => {
                return Err(DiskError::Usage(format!("--chap-secret is given, and {url} has a secret of its own")));
            }
            Some(chap) => chap.secret = source.read()?,
        }
        Ok(url)
    }

    /// Returns the location with the CHAP secret of its user.
    pub(crate) fn at(&self, location: &Location) -> Result<Location, DiskError> {
        Ok(Location { url: self.complete(&location.url)?, disk: location.disk.clone() })
    }

    /// Returns the options of a kit, with this user's settings.
    pub(crate) fn kit(&self) -> Result<KitOptions, DiskError> {
        Ok(KitOptions {
            settings: settings::load()?,
            initiator_name: self.initiator.clone(),
            host: None,
            timeout: self.answer_timeout(),
            quiet: false,
        })
    }

    /// Name of the initiator, if one was given.
    pub(crate) fn initiator(&self) -> Option<&str> {
        self.initiator.as_deref()
    }

    /// An option that was given, of those for iSCSI alone.
    pub(crate) fn given_for_iscsi(&self) -> Option<&'static str> {
        match self {
            Self { initiator: Some(_), .. } => Some("--initiator"),
            Self { chap_secret: Some(_), .. } => Some("--chap-secret"),
            _ => None,
        }
    }

    /// Time limit for each answer of the target.
    pub(crate) fn answer_timeout(&self) -> Duration {
        Duration::from_secs(self.answer_timeout)
    }
}

/// Result to print.
pub(crate) enum Shown {
    /// Outcome of a verb, with the work that it took.
    Done(Done),
    /// A list.
    List(Listing),
    /// Text, its JSON form, and the exit status.
    Text(String, Value, u8),
}

/// Runs a verb with a kit and prints its result. `datastores`: whether the verb may mount a
/// datastore.
pub(crate) fn run(
    globals: &Globals,
    options: Result<KitOptions, DiskError>,
    datastores: bool,
    work: impl AsyncFnOnce(&Kit) -> Result<Shown, DiskError>,
) -> ExitCode {
    if !matches!(globals.output, Format::Table | Format::Wide | Format::Json | Format::Yaml) {
        return fail(&DiskError::Usage(
            "disks and datastores are printed as a table, as JSON (-o json) or as YAML (-o yaml)".into(),
        ));
    }
    let options = match options {
        Ok(options) => KitOptions { quiet: globals.quiet, ..options },
        Err(error) => return fail(&error),
    };
    let (result, spent) = virtual_disk::run(&options, datastores, work);
    match result {
        Ok(Shown::Done(done)) => {
            let printed = crate::print(&match globals.output {
                Format::Json | Format::Yaml => {
                    let mut value = done.json;
                    if let Some(fields) = value.as_object_mut() {
                        fields.insert("spent".into(), spent.json());
                    }
                    crate::document(globals.output, &value)
                }
                _ if globals.quiet && done.failed.is_none() => String::new(),
                _ => harmless_lines(&format!("{}\n{}", done.words, spent.table(globals.bytes))),
            });
            done.failed.as_ref().map_or(printed, fail)
        }
        Ok(Shown::List(listing)) => {
            let printed = crate::print(&list(globals, &listing));
            match &listing.failed {
                None => printed,
                Some(error) => fail(error),
            }
        }
        Ok(Shown::Text(words, value, status)) => {
            let printed = crate::print(&match globals.output {
                Format::Json | Format::Yaml => crate::document(globals.output, &value),
                _ => harmless_lines(&format!("{words}\n")),
            });
            if status == 0 { printed } else { ExitCode::from(status) }
        }
        Err(error) => {
            if matches!(error, DiskError::Interrupted(_)) && !globals.quiet {
                let _closed = write!(io::stderr(), "{}", spent.table(globals.bytes));
            }
            fail(&error)
        }
    }
}

fn list(globals: &Globals, listing: &Listing) -> String {
    if globals.output.is_document() {
        return crate::document(globals.output, &listing.json);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    if !globals.no_headers {
        rows.push(listing.headings.iter().map(|heading| (*heading).to_owned()).collect());
    }
    rows.extend(listing.rows.iter().map(|row| row.iter().map(|cell| harmless(cell)).collect()));
    let mut out = columns(&rows);
    for note in &listing.notes {
        out += &format!("{}\n", harmless(note));
    }
    out
}

/// Formats rows as columns that are two spaces apart.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    text::columns::lines(&[], rows).into_iter().map(|line| line + "\n").collect()
}

/// Prints an error with its code and help, and returns its exit status.
pub(crate) fn fail(error: &DiskError) -> ExitCode {
    failed(&error.to_string(), error.code(), error.exit_status(), error.help().as_deref())
}

/// Prints an error of a session with an NFS server, and returns its exit status.
pub(crate) fn nfs_failure(on: &impl std::fmt::Display, error: &ClientError) -> ExitCode {
    fail(&DiskError::nfs(on, error.clone()))
}

/// Prints the outcome of work on files.
pub(crate) fn finish(globals: &Globals, result: Result<Done, DiskError>) -> ExitCode {
    match result {
        Ok(done) => crate::print(&match globals.output {
            Format::Json | Format::Yaml => crate::document(globals.output, &done.json),
            _ => harmless_lines(&format!("{}\n", done.words)),
        }),
        Err(error) => fail(&error),
    }
}

/// Prints an error with its code and, if there is one, its help; returns the exit status.
pub(crate) fn failed(words: &str, code: &str, status: u8, help: Option<&str>) -> ExitCode {
    let help = help.map(|help| format!("\nhelp: {}", harmless(help))).unwrap_or_default();
    // The name of an object in the message may contain control sequences for the terminal.
    let _closed = writeln!(io::stderr(), "error: {} (code: {code}){help}", harmless_lines(words));
    ExitCode::from(status)
}
