//! EXTENDED COPY (83h) and RECEIVE COPY RESULTS (84h), SPC-4 §6.3 and §6.24.

mod abort;
mod cut_list;
mod destination_beyond_the_end;
mod destination_count;
mod destination_reserved;
mod destination_written_later;
mod excessive_list;
mod full_pool;
mod hidden_unit;
mod holes;
mod identifier_without_usage;
mod index_without_descriptor;
mod large_segments;
mod list_identifier_usage;
mod many_at_once;
mod no_blocks;
mod no_list;
mod obsolete_unit_type;
mod one_descriptor;
mod operating_parameters;
mod operating_parameters_truncated;
mod other_service_action;
mod overlap;
mod receiver_reserved;
mod reserved_usage;
mod second_segment_fails;
mod sent_to_destination;
mod sent_to_source;
mod source_beyond_the_end;
mod source_written_later;
mod status;
mod status_of_no_list;
pub(super) mod support;
mod too_many_cscd_descriptors;
mod too_many_segments;
mod two_equal_descriptors;
mod unknown_cscd_type;
mod unknown_designator;
mod unknown_results;
mod unknown_segment_type;
mod wrong_block_length;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &abort::CHECK,
    &cut_list::CHECK,
    &destination_beyond_the_end::CHECK,
    &destination_count::CHECK,
    &destination_reserved::CHECK,
    &destination_written_later::CHECK,
    &excessive_list::CHECK,
    &full_pool::CHECK,
    &hidden_unit::CHECK,
    &holes::CHECK,
    &identifier_without_usage::CHECK,
    &index_without_descriptor::CHECK,
    &large_segments::CHECK,
    &list_identifier_usage::CHECK,
    &many_at_once::CHECK,
    &no_blocks::CHECK,
    &no_list::CHECK,
    &obsolete_unit_type::CHECK,
    &one_descriptor::CHECK,
    &operating_parameters::CHECK,
    &operating_parameters_truncated::CHECK,
    &other_service_action::CHECK,
    &overlap::CHECK,
    &receiver_reserved::CHECK,
    &reserved_usage::CHECK,
    &second_segment_fails::CHECK,
    &sent_to_destination::CHECK,
    &sent_to_source::CHECK,
    &source_beyond_the_end::CHECK,
    &source_written_later::CHECK,
    &status::CHECK,
    &status_of_no_list::CHECK,
    &too_many_cscd_descriptors::CHECK,
    &too_many_segments::CHECK,
    &two_equal_descriptors::CHECK,
    &unknown_cscd_type::CHECK,
    &unknown_designator::CHECK,
    &unknown_results::CHECK,
    &unknown_segment_type::CHECK,
    &wrong_block_length::CHECK,
];
