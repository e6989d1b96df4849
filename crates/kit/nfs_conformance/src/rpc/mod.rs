//! ONC RPC over TCP, RFC 5531: records, headers, credentials.

mod array_of_two;
mod boolean;
mod calls_in_one_segment;
mod closed_before_the_reply;
mod credential_length;
mod cut_compound;
mod endless_opaque;
mod flavors;
mod fragments;
mod length_announced;
mod length_of_all_fragments;
mod machine_name;
mod no_call_is_dropped;
mod null;
mod padding;
mod pause_in_a_record;
mod program_version;
mod reset_in_a_record;
mod rpc_version;
mod segments_of_one_byte;
mod seventeen_groups;
mod short_record;
mod sixteen_groups;
mod slow_reader;
mod unexpected_reply;
mod unknown_procedure;
mod unknown_program;
mod verifier;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &array_of_two::CHECK,
    &boolean::CHECK,
    &calls_in_one_segment::CHECK,
    &closed_before_the_reply::CHECK,
    &credential_length::CHECK,
    &cut_compound::CHECK,
    &endless_opaque::CHECK,
    &flavors::GSS,
    &flavors::TLS,
    &flavors::TLS_ELSEWHERE,
    &fragments::CHECK,
    &length_announced::CHECK,
    &length_of_all_fragments::CHECK,
    &machine_name::CHECK,
    &no_call_is_dropped::CHECK,
    &null::CHECK,
    &padding::CHECK,
    &pause_in_a_record::CHECK,
    &program_version::CHECK,
    &reset_in_a_record::CHECK,
    &rpc_version::CHECK,
    &segments_of_one_byte::CHECK,
    &seventeen_groups::CHECK,
    &short_record::CHECK,
    &sixteen_groups::CHECK,
    &slow_reader::CHECK,
    &unexpected_reply::CHECK,
    &unknown_procedure::CHECK,
    &unknown_program::CHECK,
    &verifier::CHECK,
];
