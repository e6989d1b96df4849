//! iSCSI itself, RFC 7143: login, digests, numbering, data transfer.

mod beyond_the_window;
mod chap;
mod chap_algorithms;
mod chap_base64;
mod chap_reflected;
mod command_window;
mod data_in_segments;
mod digest_list;
mod forbidden_initiator;
mod key_twice;
mod login_of_esxi;
mod marker_keys;
mod overflow;
mod path_mtu;
mod ping;
mod redirect;
mod reinstatement;
mod send_targets;
mod shutdown;
mod silence;
mod solicited_data;
pub(super) mod support;
mod underflow;
mod unknown_key;
mod unknown_target;
mod unsolicited_data;
mod wrong_data_sequence;
mod wrong_header_digest;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &beyond_the_window::CHECK,
    &chap::CHECK,
    &chap_algorithms::CHECK,
    &chap_base64::CHECK,
    &chap_reflected::CHECK,
    &command_window::CHECK,
    &data_in_segments::CHECK,
    &digest_list::CHECK,
    &forbidden_initiator::CHECK,
    &key_twice::CHECK,
    &login_of_esxi::CHECK,
    &marker_keys::CHECK,
    &overflow::CHECK,
    &path_mtu::CHECK,
    &ping::CHECK,
    &redirect::CHECK,
    &reinstatement::CHECK,
    &send_targets::CHECK,
    &shutdown::CHECK,
    &silence::CHECK,
    &solicited_data::CHECK,
    &underflow::CHECK,
    &unknown_key::CHECK,
    &unknown_target::CHECK,
    &unsolicited_data::CHECK,
    &wrong_data_sequence::CHECK,
    &wrong_header_digest::CHECK,
];
