//! `windlass file`: files of shares, which become volumes and are made of volumes.

use crate::client::{Client, query, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::share::parse_ids;
use api::{File, FileCreate, FileKind, FileRange, FileSet, Volume, VolumeCreate};
use hyper::Method;

/// Before the name of a volume where a file could be meant.
const VOLUME: &str = "volume:";
/// Largest part of a list.
const PART: u32 = 1000;

/// Verbs of `windlass file`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List the files of a directory
    #[command(
        after_help = "Examples:\n  windlass file list vms\n  windlass file list vms/templates --space\n  windlass file list vms@monday -o json"
    )]
    List {
        /// SHARE or SHARE/PATH; SHARE@SNAPSHOT for files as they were
        place: String,
        /// Count what deleting each file would free; takes time in proportion to what the files store
        #[arg(long)]
        space: bool,
    },
    /// Show size and space of a file
    #[command(
        after_help = "Example:\n  windlass file stat vms/a.img\n\nUNSHARED is what deleting the file would free now. SNAPSHOTS counts those of the share, which may keep its content."
    )]
    Stat {
        /// SHARE/PATH
        path: String,
    },
    /// Create a file or volume that shares the content of a file, volume or snapshot; takes no time and no space
    #[command(
        after_help = "Examples:\n  windlass file clone vms/t.img vms/a.img\n  windlass file clone vms@monday/a.img vms/restored.img\n  windlass file clone vms/t.img volume:vm1\n  windlass file clone volume:vm1 vms/vm1.img\n\nThe source may be in use: the clone has its content as of one instant. A target that exists is refused with status 4. A volume is as large as the file, rounded up to 4 KiB; what is behind the end is zero."
    )]
    Clone {
        /// SHARE/PATH, SHARE@SNAPSHOT/PATH, volume:NAME or volume:NAME@SNAPSHOT
        source: String,
        /// SHARE/PATH or volume:NAME of the new file or volume
        target: String,
        /// Owner and group of the new file [default: those of the source file, or of the directory]
        #[arg(long, value_name = "UID:GID", value_parser = parse_ids)]
        owner: Option<(u32, u32)>,
        /// Permission bits of the new file, in octal digits [default: those of the source file, or 0600]
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
    },
    /// Keep space free for a file, so that writes to it never fail for lack of space
    #[command(
        after_help = "Examples:\n  windlass file reserve vms/a.img\n  windlass file reserve vms/a.img 0+100G\n\nA file that is shorter than the range grows. Clones and snapshots do not break the promise: one that would is refused."
    )]
    Reserve {
        /// SHARE/PATH
        path: String,
        /// OFFSET+LENGTH, such as 1G+64M [default: the whole file]
        #[arg(value_name = "RANGE", value_parser = parse_range)]
        range: Option<FileRange>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Make a range of a file zero, and free its space; the size stays
    #[command(after_help = "Example:\n  windlass file punch vms/a.img 1G+64M")]
    Punch {
        /// SHARE/PATH
        path: String,
        /// OFFSET+LENGTH
        #[arg(value_name = "RANGE", value_parser = parse_range)]
        range: FileRange,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

impl Resource for File {
    const COLUMNS: &'static [Column<Self>] = &[
        column("path", |file| file.name().into()),
        column("kind", |file| kind(file).into()),
        column("size", |file| of_readable(file, Value::Bytes(file.size_bytes))),
        column("used", |file| of_readable(file, Value::Bytes(file.used_bytes))),
        column("unshared", |file| file.space.map(|space| Value::Bytes(space.unshared_bytes)).into()),
        wide("mapped", |file| file.space.map(|space| Value::Bytes(space.mapped_bytes)).into()),
        wide("promised", |file| file.space.map(|space| Value::Bytes(space.promised_bytes)).into()),
        wide("snapshots", |file| file.snapshots.map(Value::Number).into()),
        wide("owner", |file| of_readable(file, format!("{}:{}", file.owner_uid, file.owner_gid).into())),
        wide("mode", |file| of_readable(file, file.mode.as_str().into())),
        wide("links", |file| of_readable(file, Value::Number(file.links.into()))),
        wide("modified", |file| of_readable(file, format!("{:.0}", file.modified).into())),
    ];

    fn name(&self) -> String {
        if self.path.is_empty() { self.share.clone() } else { format!("{}/{}", self.share, self.path) }
    }
}

/// Value that is known unless the file cannot be read.
fn of_readable(file: &File, value: Value) -> Value {
    if file.damaged { Value::None } else { value }
}

const fn kind(file: &File) -> &'static str {
    match file.kind {
        _ if file.damaged => "damaged",
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        FileKind::Special => "special",
    }
}

/// Parses `OFFSET+LENGTH`.
fn parse_range(text: &str) -> Result<FileRange, String> {
    let (offset, length) =
        text.split_once('+').ok_or_else(|| "write OFFSET+LENGTH, such as 0+100G or 1G+64M".to_owned())?;
    let size = |text: &str| api::size::parse(text).map_err(|error| error.to_string());
    let offset_bytes = if offset.trim() == "0" { 0 } else { size(offset)? };
    Ok(FileRange { offset_bytes, length_bytes: Some(size(length)?) })
}

/// Share and path of `SHARE/PATH`.
fn split(text: &str) -> (&str, &str) {
    let (share, path) = text.split_once('/').unwrap_or((text, ""));
    (share, path.trim_matches('/'))
}

/// Path of the files of a share.
fn files(share: &str) -> String {
    format!("/api/v1/shares/{}/files", segment(share))
}

/// Path of one file.
fn resource(text: &str) -> Result<String, CliError> {
    match split(text) {
        ("", _) | (_, "") => Err(CliError::usage(format!("{text:?} names no file: write SHARE/PATH"))),
        (share, path) => Ok(format!("{}/{}", files(share), segment(path))),
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { place, space } => {
            let (share, path) = split(place);
            let path = (!path.is_empty()).then_some(path);
            let limit = PART.to_string();
            let parameters = [("path", path), ("space", space.then_some("true")), ("limit", Some(limit.as_str()))];
            output.list(&client.list::<File>(&format!("{}{}", files(share), query(&parameters))).await?)
        }
        Verb::Stat { path } => output.show(&client.get::<File>(&resource(path)?).await?),
        Verb::Clone { source, target, owner, mode } => {
            clone(source, target, *owner, mode.as_ref(), client, output).await
        }
        Verb::Reserve { path, range, rehearsal } => {
            let set = FileSet { reserve: Some(range.unwrap_or_default()), punch: None };
            if rehearsal.dry_run {
                return change(&format!("reserve file {path}"), path, &set, client, output).await;
            }
            output.made("file", &client.patch::<File>(&resource(path)?, &set).await?, true)
        }
        Verb::Punch { path, range, rehearsal } => {
            let set = FileSet { reserve: None, punch: Some(*range) };
            if rehearsal.dry_run {
                return change(&format!("punch file {path}"), path, &set, client, output).await;
            }
            let resource = resource(path)?;
            let question = format!(
                "make {} from byte {} of file {path} zero?",
                output.size(range.length_bytes.unwrap_or_default()),
                range.offset_bytes
            );
            output.confirm_for(&resource, client, &question).await?;
            output.made("file", &client.patch::<File>(&resource, &set).await?, true)
        }
    }
}

/// Shows what a change of a file would do.
async fn change(
    what: &str,
    path: &str,
    set: &FileSet,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    effect::one(what, (Method::PATCH, &resource(path)?, Some(set)), client, output).await
}

/// Creates a file or a volume.
async fn clone(
    source: &str,
    target: &str,
    owner: Option<(u32, u32)>,
    mode: Option<&String>,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let (from_volume, to_volume) = (source.strip_prefix(VOLUME), target.strip_prefix(VOLUME));
    match (from_volume, to_volume) {
        (Some(volume), Some(name)) => {
            Err(CliError::usage(format!("for a volume of a volume, use:  windlass volume clone {volume} {name}")))
        }
        (None, Some(_)) if owner.is_some() || mode.is_some() => {
            Err(CliError::usage("--owner and --mode are about a new file, not about a volume".to_owned()))
        }
        (None, Some(name)) => {
            let create =
                VolumeCreate { name: name.to_owned(), source_file: Some(source.to_owned()), ..VolumeCreate::default() };
            let answer = client.post::<Volume>("/api/v1/volumes", &create).await?;
            output.made("volume", &answer.body, answer.created)?;
            output.warnings(&answer.body.warnings);
            Ok(())
        }
        (volume, None) => {
            resource(target)?;
            let (share, path) = split(target);
            let create = FileCreate {
                path: path.to_owned(),
                source_file: volume.is_none().then(|| source.to_owned()),
                source_volume: volume.map(str::to_owned),
                owner_uid: owner.map(|(uid, _)| uid),
                owner_gid: owner.map(|(_, gid)| gid),
                mode: mode.cloned(),
            };
            let answer = client.post::<File>(&files(share), &create).await?;
            output.made("file", &answer.body, answer.created)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_an_offset_and_a_length() {
        let range = |offset_bytes, length| Ok(FileRange { offset_bytes, length_bytes: Some(length) });
        assert_eq!(parse_range("1G+64M"), range(1 << 30, 64 << 20));
        assert_eq!(parse_range("0+512"), range(0, 512));
        for wrong in ["1G", "+1G", "1G+", "1G-2G", "1G+x"] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn slashes_of_a_path_stay_in_its_segment() {
        let path = |text| resource(text).map_err(|_| ());
        assert_eq!(path("vms/dir/a b.img"), Ok("/api/v1/shares/vms/files/dir%2Fa%20b.img".to_owned()));
        assert_eq!(path("vms@monday/a"), Ok("/api/v1/shares/vms@monday/files/a".to_owned()));
        assert!([path("vms"), path("vms/"), path("/a"), path("")].iter().all(Result::is_err));
    }
}
