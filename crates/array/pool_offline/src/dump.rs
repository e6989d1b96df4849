//! `windlass pool dump FILE STRUCTURE`: shows structures of a closed pool as text or JSON, for
//! experts. The file is not changed.

use std::fmt::{Display, Formatter};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use media::{BlockAddress, FoundCopy, LocalMedia, OpenOptions, Overlay, Span};
use pool::{Core, ObjectId, Options, PoolError, Shown};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::command::{OutputFormat, print, report_error};
use crate::error::CheckError;
use crate::{EXIT_CLEAN, EXIT_FAILED};

/// Arguments of `windlass pool dump`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct DumpArguments {
    /// File or device; the first one if the pool has several
    pub file: PathBuf,
    /// Structure to show
    #[command(subcommand)]
    pub what: DumpWhat,
}

/// Structure to show.
#[derive(Subcommand, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpWhat {
    /// The four superblock copies
    Superblock,
    /// The root in force
    Root,
    /// Objects, keys of documents and detached trees of the last checkpoint
    Objects,
    /// Frames and records of the log since the last checkpoint
    Log {
        /// Maximum number of records to show
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
    /// A map page
    Page {
        /// Number of the block in the pool
        address: u64,
    },
    /// A block of the data area: its use, reference count and content
    Block {
        /// Number of the block in the pool
        address: u64,
    },
    /// An object: its map pages, and the blocks of its content
    Object {
        /// Number of the object
        id: u64,
        /// Maximum number of pages and runs to show
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
}

/// Structure as a JSON value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Dump(pub Value);

/// Runs the command on the standard streams.
pub fn main_dump(arguments: &DumpArguments, format: OutputFormat) -> ExitCode {
    ExitCode::from(run_dump(arguments, format, &mut io::stdout().lock(), &mut io::stderr().lock()))
}

/// Runs the command and returns its exit status.
pub fn run_dump(arguments: &DumpArguments, format: OutputFormat, output: &mut dyn Write, errors: &mut dyn Write) -> u8 {
    match dump(&arguments.file, arguments.what) {
        Ok(dump) => print(&dump, format, EXIT_CLEAN, output, errors),
        Err(error) => match report_error(&error, errors) {
            EXIT_CLEAN => EXIT_FAILED,
            status => status,
        },
    }
}

/// Returns the structure `what` of the pool in `path`, which is opened read-only.
pub fn dump(path: &Path, what: DumpWhat) -> Result<Dump, CheckError> {
    let name = || path.display().to_string();
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let mut disk = Span::open(path, &open)?;
    if what == DumpWhat::Superblock {
        return Ok(Dump(Value::Array(LocalMedia::find_copies(&mut disk).iter().map(copy).collect())));
    }
    let damaged = |reason| CheckError::Interrupted { path: name(), reason };
    let mut media = LocalMedia::open(disk).map_err(|reason| CheckError::NoPool { path: name(), reason })?;
    if what == DumpWhat::Root {
        let root = media.root().to_vec();
        let shown = pool::show_root(&root).map_err(|reason| damaged(PoolError::Damaged(reason)))?;
        return Ok(Dump(value(shown)));
    }
    if let DumpWhat::Log { limit } = what {
        return pool::show_log(&mut media, limit).map(|shown| Dump(value(shown))).map_err(damaged);
    }
    let mut core = Core::load_for_dump(Overlay::new(media), Options::default())
        .map_err(|reason| CheckError::Unrecoverable { path: name(), reason })?;
    if let DumpWhat::Page { address } | DumpWhat::Block { address } = what
        && !core.has_block(BlockAddress::new(address))
    {
        let what = format!("there is no block {address} in the data area");
        return Err(CheckError::NotThere { path: name(), what });
    }
    let shown = match what {
        DumpWhat::Page { address } => core.show_page_at(BlockAddress::new(address)),
        DumpWhat::Block { address } => core.show_block(BlockAddress::new(address)),
        DumpWhat::Object { id, limit } => core.show_object(ObjectId(id), limit),
        DumpWhat::Superblock | DumpWhat::Root | DumpWhat::Log { .. } | DumpWhat::Objects => Ok(core.show_objects()),
    };
    shown.map(|shown| Dump(value(shown))).map_err(|error| match (what, error) {
        (_, PoolError::NoSuchObject(id)) => {
            CheckError::NotThere { path: name(), what: format!("there is no object {id}") }
        }
        (DumpWhat::Page { address }, PoolError::Damaged(reason)) => {
            CheckError::NoPage { path: name(), address, reason }
        }
        (_, error) => damaged(error),
    })
}

pub(crate) fn copy(copy: &FoundCopy) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("copy", copy.index.into());
    put("block", copy.block.into());
    put("state", copy.state.as_str().into());
    if let Some(found) = &copy.fields {
        let [incompatible, read_only_compatible, compatible] = found.features;
        put("uuid", uuid::Uuid::from_bytes(found.uuid).to_string().into());
        put("block_count", found.block_count.into());
        put("log_first_block", found.log_first_block.into());
        put("log_blocks", found.log_blocks.into());
        put("incompatible_features", format!("{incompatible:#x}").into());
        put("read_only_compatible_features", format!("{read_only_compatible:#x}").into());
        put("compatible_features", format!("{compatible:#x}").into());
        put("root_version", found.root_version.into());
        put("root_bytes", found.root.len().into());
        let members = found.members.iter().map(|member| {
            let uuid = uuid::Uuid::from_bytes(member.uuid).to_string();
            serde_json::json!({ "uuid": uuid, "blocks": member.blocks })
        });
        put("members", members.collect());
    }
    Value::Object(fields)
}

pub(crate) fn value(shown: Shown) -> Value {
    match shown {
        Shown::Text(text) => text.into(),
        Shown::Number(number) => number.into(),
        Shown::Flag(flag) => flag.into(),
        Shown::List(list) => list.into_iter().map(value).collect(),
        Shown::Fields(fields) => {
            Value::Object(fields.into_iter().map(|(name, shown)| (name.to_owned(), value(shown))).collect())
        }
    }
}

impl Display for Dump {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        show(&self.0, 0, f)
    }
}

/// Writes each field on a line; an object of plain values only is one line.
fn show(value: &Value, indent: usize, f: &mut Formatter<'_>) -> std::fmt::Result {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if indent > 0 && fields.values().all(is_plain) => {
            let words: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect();
            writeln!(f, "{pad}{}", words.join(", "))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match is_plain(value) {
            true => writeln!(f, "{pad}{name:<20} {}", plain(value)),
            false => {
                writeln!(f, "{pad}{name}:")?;
                show(value, indent + 2, f)
            }
        }),
        Value::Array(list) => list.iter().try_for_each(|item| {
            show(item, indent.max(2), f)?;
            if indent == 0 { writeln!(f) } else { Ok(()) }
        }),
        plain_value => writeln!(f, "{pad}{}", plain(plain_value)),
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().all(Value::is_number) || list.is_empty(),
        Value::Object(_) => false,
        _ => true,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => (if *flag { "yes" } else { "no" }).to_owned(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
