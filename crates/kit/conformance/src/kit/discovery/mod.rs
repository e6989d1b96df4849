//! Discovery: commands that a host sends before it uses a logical unit: INQUIRY, capacity, mode
//! pages, LUNs, port groups.

mod ata_pass_through;
mod block_device_characteristics;
mod block_limits;
mod designators_through_both_portals;
mod extended_inquiry;
mod identity_of_two_units;
mod inquiry_of_no_unit;
mod inquiry_page_without_evpd;
mod inquiry_truncated;
mod inventory_attention;
mod log_sense_informational_exceptions;
mod logical_block_provisioning;
mod mode_pages;
mod mode_sense_all_pages;
mod permanent_loss;
mod provisioning_mode_page;
mod read_capacity_10_of_a_large_unit;
mod read_capacity_16;
mod read_capacity_16_truncated;
mod ready_of_no_unit;
mod ready_with_a_length;
mod report_luns;
mod report_luns_truncated;
mod resize_attention;
mod set_target_port_groups;
mod standard_inquiry;
mod standby_answers;
mod standby_read;
mod state_change_attention;
pub(super) mod support;
mod supported_operation_codes;
mod supported_pages;
mod target_port_groups;
mod target_port_groups_truncated;
mod unknown_mode_page;
mod unknown_operation_code;
mod unknown_page;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &ata_pass_through::CHECK,
    &block_device_characteristics::CHECK,
    &block_limits::CHECK,
    &designators_through_both_portals::CHECK,
    &extended_inquiry::CHECK,
    &identity_of_two_units::CHECK,
    &inquiry_of_no_unit::CHECK,
    &inquiry_page_without_evpd::CHECK,
    &inquiry_truncated::CHECK,
    &inventory_attention::CHECK,
    &log_sense_informational_exceptions::CHECK,
    &logical_block_provisioning::CHECK,
    &mode_pages::CHECK,
    &mode_sense_all_pages::CHECK,
    &permanent_loss::CHECK,
    &provisioning_mode_page::CHECK,
    &read_capacity_10_of_a_large_unit::CHECK,
    &read_capacity_16::CHECK,
    &read_capacity_16_truncated::CHECK,
    &ready_of_no_unit::CHECK,
    &ready_with_a_length::CHECK,
    &report_luns::CHECK,
    &report_luns_truncated::CHECK,
    &resize_attention::CHECK,
    &set_target_port_groups::CHECK,
    &standard_inquiry::CHECK,
    &standby_answers::CHECK,
    &standby_read::CHECK,
    &state_change_attention::CHECK,
    &supported_operation_codes::CHECK,
    &supported_pages::CHECK,
    &target_port_groups::CHECK,
    &target_port_groups_truncated::CHECK,
    &unknown_mode_page::CHECK,
    &unknown_operation_code::CHECK,
    &unknown_page::CHECK,
];
