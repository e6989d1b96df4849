//! The catalog: objects and documents, their changes, and their stored form.

pub(crate) mod changes;
pub(crate) mod object;
pub(crate) mod root;
pub(crate) mod stream;
