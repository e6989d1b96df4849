//! Handles and names, RFC 8881 §4 and §18.

mod access;
mod across_shares;
mod bad_handle;
mod case;
mod create;
mod create_attributes;
mod create_refused;
mod exclusive_race;
mod handle;
mod link;
mod lookup_in_no_directory;
mod missing_name;
mod names;
mod parent;
mod read_link;
mod remove;
mod remove_denied_file;
mod remove_open_file;
mod removed_file;
mod rename_directory;
mod rename_over;
mod rename_refused;
mod rename_to_itself;
mod root;
mod search_permission;
mod security;
mod verify;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &access::CHECK,
    &across_shares::CHECK,
    &bad_handle::CHECK,
    &case::CHECK,
    &create::CHECK,
    &create_attributes::CHECK,
    &create_refused::CHECK,
    &exclusive_race::CHECK,
    &handle::CHECK,
    &link::CHECK,
    &lookup_in_no_directory::CHECK,
    &missing_name::CHECK,
    &names::CHECK,
    &parent::CHECK,
    &read_link::CHECK,
    &remove::CHECK,
    &remove_denied_file::CHECK,
    &remove_open_file::CHECK,
    &removed_file::CHECK,
    &rename_directory::CHECK,
    &rename_over::CHECK,
    &rename_refused::CHECK,
    &rename_to_itself::CHECK,
    &root::CHECK,
    &search_permission::CHECK,
    &security::CHECK,
    &verify::CHECK,
];
