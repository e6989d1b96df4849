//! The map: pages, the trees that they form, and the changes that live operations and replay share.

pub(crate) mod assign;
pub(crate) mod page;
pub(crate) mod tree;
