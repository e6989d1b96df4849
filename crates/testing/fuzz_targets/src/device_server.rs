//! SCSI: the device server with whole commands, and parameter data with its own decoders.

pub(crate) mod commands;
pub(crate) mod transport_id;
