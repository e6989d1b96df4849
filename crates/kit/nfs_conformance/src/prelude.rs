//! Names that nearly every check uses.

pub(crate) use crate::bench::Bench;
pub(crate) use crate::check::{check, checks};
pub(crate) use crate::client::Client;
pub(crate) use crate::file::Opened;
pub(crate) use crate::harness::Remembered;
pub(crate) use crate::operations as op;
pub(crate) use crate::reply::{Reply, take};
pub(crate) use nfs::v4::attributes::{Attribute, Fattr};
pub(crate) use nfs::v4::operations::{Operation, Outcome};
pub(crate) use nfs::v4::{Bitmap, FileType, Stable, Stateid, Status};
pub(crate) use std::time::{Duration, Instant};
pub(crate) use verdict::{NotPassed, Verdict, differs, expect, expect_bytes, expect_equal, failed, skipped};
