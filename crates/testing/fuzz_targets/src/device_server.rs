//! SCSI: the device server by whole commands, and the parameter data that has its own decoders.

pub(crate) mod commands;
pub(crate) mod transport_id;
