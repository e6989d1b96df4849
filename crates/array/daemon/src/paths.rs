//! Names of files in the state directory that more than one module knows.

/// Name of the administrative socket in the state directory.
pub(crate) const SOCKET_NAME: &str = "windlass.sock";
