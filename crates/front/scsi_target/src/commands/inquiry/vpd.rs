//! Vital product data pages: SPC-4 §7.8, SBC-3 §6.6. The limits are the numbers that the commands
//! enforce; the third-party copy page lists the rows of the command table.

use crate::blocks::BLOCK;
use crate::commands::{self, populate_token};
use crate::device::Invocation;
use crate::limits::{OPTIMAL_TRANSFER_BLOCKS, TokenLimits};
use crate::observed::Seen;
use crate::sense::Fault;
use block::BlockDevice;
use scsi::FieldPointer;
use scsi::inquiry::{self, Association, BlockLimitsPage, CodeSet, DesignatorType};
use scsi::opcode::{THIRD_PARTY_COPY_IN, THIRD_PARTY_COPY_OUT};
use scsi::rod_token::RodType;
use scsi::third_party_copy::CSCD_RECEIVING_LOGICAL_UNIT;
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::{U16, U32, U64};

/// Supported pages, ascending.
const PAGES: [u8; 8] = [
    inquiry::SUPPORTED_PAGES,
    inquiry::UNIT_SERIAL_NUMBER,
    inquiry::DEVICE_IDENTIFICATION,
    inquiry::EXTENDED_INQUIRY,
    inquiry::THIRD_PARTY_COPY,
    inquiry::BLOCK_LIMITS,
    inquiry::BLOCK_DEVICE_CHARACTERISTICS,
    inquiry::LOGICAL_BLOCK_PROVISIONING,
];

/// Builds a page.
pub(super) fn page<D: BlockDevice>(call: &Invocation<'_, D>, page_code: u8) -> Result<Vec<u8>, Fault> {
    Ok(match page_code {
        inquiry::SUPPORTED_PAGES => inquiry::supported_pages(&PAGES),
        inquiry::UNIT_SERIAL_NUMBER => inquiry::unit_serial_number(&call.logical_unit.serial),
        inquiry::DEVICE_IDENTIFICATION => device_identification(call),
        inquiry::EXTENDED_INQUIRY => inquiry::extended_inquiry(call.unit().device().write_cache()),
        inquiry::THIRD_PARTY_COPY => third_party_copy(call),
        inquiry::BLOCK_LIMITS => block_limits(call),
        inquiry::BLOCK_DEVICE_CHARACTERISTICS => inquiry::block_device_characteristics(),
        inquiry::LOGICAL_BLOCK_PROVISIONING => inquiry::logical_block_provisioning(),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2))),
    })
}

/// Observation that the host has read a page, for those that announce offload.
pub(super) const fn seen(page_code: u8) -> Option<Seen> {
    match page_code {
        inquiry::THIRD_PARTY_COPY => Some(Seen::THIRD_PARTY_COPY),
        inquiry::BLOCK_LIMITS => Some(Seen::BLOCK_LIMITS),
        inquiry::LOGICAL_BLOCK_PROVISIONING => Some(Seen::PROVISIONING),
        _ => None,
    }
}

fn device_identification<D: BlockDevice>(call: &Invocation<'_, D>) -> Vec<u8> {
    let port = Association::TARGET_PORT;
    let identity = call.target.identity();
    let relative = call.nexus.relative_target_port;
    let [relative_high, relative_low] = relative.to_be_bytes();
    let mut designators = call.logical_unit.designators().to_vec();
    designators.push(inquiry::designator(
        CodeSet::BINARY,
        port,
        DesignatorType::RELATIVE_TARGET_PORT,
        &[0, 0, relative_high, relative_low],
    ));
    if let Some(this) = identity.ports.iter().find(|port| port.relative_identifier == relative) {
        let [group_high, group_low] = this.group.to_be_bytes();
        let group = [0, 0, group_high, group_low];
        designators.push(inquiry::designator(CodeSet::BINARY, port, DesignatorType::TARGET_PORT_GROUP, &group));
        let name = format!("{},t,0x{:04x}", identity.name, this.portal_group_tag);
        let value = inquiry::scsi_name_string(&name);
        designators.push(inquiry::designator(CodeSet::UTF_8, port, DesignatorType::SCSI_NAME_STRING, &value));
    }
    let device = inquiry::scsi_name_string(&identity.name);
    designators.push(inquiry::designator(
        CodeSet::UTF_8,
        Association::TARGET_DEVICE,
        DesignatorType::SCSI_NAME_STRING,
        &device,
    ));
    inquiry::device_identification(&designators)
}

/// Blocks of the device's mapping unit: granularity of UNMAP and of cheap copies.
fn mapping_unit_blocks<D: BlockDevice>(call: &Invocation<'_, D>) -> u16 {
    u16::try_from(call.unit().device().limits().mapping_unit_blocks).unwrap_or(u16::MAX)
}

fn block_limits<D: BlockDevice>(call: &Invocation<'_, D>) -> Vec<u8> {
    const UGAVALID: u32 = 0x8000_0000;
    let limits = call.target.limits();
    let mapping_unit = mapping_unit_blocks(call);
    let mut page = BlockLimitsPage::empty();
    page.wsnz = u8::from(!call.logical_unit.profile.write_same_to_end);
    page.maximum_compare_and_write_length = limits.compare_and_write_blocks;
    page.optimal_transfer_length_granularity = U16::new(mapping_unit);
    page.maximum_transfer_length = U32::new(limits.transfer_blocks);
    page.optimal_transfer_length = U32::new(OPTIMAL_TRANSFER_BLOCKS.min(limits.transfer_blocks));
    page.maximum_unmap_lba_count = U32::new(limits.unmap_blocks);
    page.maximum_unmap_block_descriptor_count = U32::new(limits.unmap_descriptors);
    page.optimal_unmap_granularity = U32::new(u32::from(mapping_unit));
    page.unmap_granularity_alignment = U32::new(UGAVALID);
    page.maximum_write_same_length = U64::new(u64::from(limits.write_same_blocks));
    page.maximum_atomic_transfer_length = U32::new(limits.atomic_blocks());
    page.as_bytes().to_vec()
}

fn third_party_copy<D: BlockDevice>(call: &Invocation<'_, D>) -> Vec<u8> {
    let copy = &call.target.limits().copy;
    let mut commands = Vec::new();
    for opcode in [THIRD_PARTY_COPY_OUT, THIRD_PARTY_COPY_IN] {
        let rows = commands::commands().filter(|row| row.opcode == opcode);
        let mut service_actions: Vec<u8> = rows.filter_map(|row| row.service_action).collect();
        service_actions.sort_unstable();
        commands.push(opcode);
        commands.push(u8::try_from(service_actions.len()).unwrap_or(u8::MAX));
        commands.extend_from_slice(&service_actions);
    }
    let supported_commands = with_length(&commands);

    let mut parameters = vec![0; 4];
    parameters.extend_from_slice(&copy.maximum_cscd_count.to_be_bytes());
    parameters.extend_from_slice(&copy.maximum_segment_count.to_be_bytes());
    parameters.extend_from_slice(&copy.maximum_descriptor_list_length.to_be_bytes());
    parameters.resize(0x1c, 0); // no inline data

    let [high, low] = CSCD_RECEIVING_LOGICAL_UNIT.to_be_bytes();
    let cscd_ids = [0, 2, high, low];

    let mut general = u32::from(copy.total_concurrent_copies).to_be_bytes().to_vec();
    general.extend_from_slice(&u32::from(copy.maximum_concurrent_copies).to_be_bytes());
    general.extend_from_slice(&copy.maximum_segment_length.to_be_bytes());
    general.push(copy.data_segment_granularity);
    general.resize(0x20, 0);

    let tokens = &call.target.limits().tokens;
    let mut rod_limits = vec![0; 6];
    rod_limits.extend_from_slice(&tokens.ranges.to_be_bytes());
    rod_limits.extend_from_slice(&tokens.maximum_inactivity_s.to_be_bytes());
    rod_limits.extend_from_slice(&tokens.default_inactivity_s.to_be_bytes());
    rod_limits.extend_from_slice(&tokens.blocks.to_be_bytes());
    // The optimal size is the maximum: longer transfers are always better.
    rod_limits.extend_from_slice(&tokens.blocks.to_be_bytes());

    let mut held = copy.held_data_limit.to_be_bytes().to_vec();
    held.push(copy.held_data_granularity);
    held.resize(0x1c, 0);

    inquiry::third_party_copy(&[
        inquiry::third_party_copy_descriptor(0x0000, &rod_limits),
        inquiry::third_party_copy_descriptor(0x0001, &supported_commands),
        inquiry::third_party_copy_descriptor(0x0004, &parameters),
        inquiry::third_party_copy_descriptor(0x0008, &with_length(copy.implemented_descriptors)),
        inquiry::third_party_copy_descriptor(0x000c, &cscd_ids),
        inquiry::third_party_copy_descriptor(0x0106, &rod_token_features(tokens, mapping_unit_blocks(call))),
        inquiry::third_party_copy_descriptor(0x0108, &supported_rod_types()),
        inquiry::third_party_copy_descriptor(0x8001, &general),
        inquiry::third_party_copy_descriptor(0xc001, &held),
    ])
}

/// ROD Token Features (SPC-4 §7.8.17.8): only tokens of this copy manager, their lifetimes, and the
/// limits of a ROD of blocks.
fn rod_token_features(tokens: &TokenLimits, granularity: u16) -> Vec<u8> {
    let bytes = (tokens.blocks * BLOCK).to_be_bytes();
    let mut features = vec![0; 12];
    features.extend_from_slice(&0u32.to_be_bytes()); // no minimum lifetime
    features.extend_from_slice(&tokens.lifetime_s.to_be_bytes());
    features.extend_from_slice(&tokens.maximum_inactivity_s.to_be_bytes());
    features.resize(42, 0);
    features.extend_from_slice(&0x30u16.to_be_bytes());
    // Block ROD device type specific features: device type 00h.
    features.extend_from_slice(&[0, 0, 0, 0x2c, 0, 0]);
    features.extend_from_slice(&granularity.to_be_bytes());
    // MAXIMUM bytes in a ROD; OPTIMAL bytes in a transfer, to a token and from a token.
    for _ in 0..4 {
        features.extend_from_slice(&bytes);
    }
    features.resize(44 + 0x30, 0);
    features
}

/// Supported ROD Types (SPC-4 §7.8.17.9): point-in-time tokens are created and accepted, the zero
/// token is only accepted.
fn supported_rod_types() -> Vec<u8> {
    const TOKEN_OUT: u8 = 0x01;
    const TOKEN_IN: u8 = 0x02;
    let rows = [(populate_token::ROD_TYPE, TOKEN_OUT | TOKEN_IN), (RodType::BLOCK_ZERO, TOKEN_IN)];
    let mut types = vec![0; 2];
    types.extend_from_slice(&u16::try_from(rows.len() * 64).unwrap_or(u16::MAX).to_be_bytes());
    for (rod_type, flags) in rows {
        types.extend_from_slice(&rod_type.0.to_be_bytes());
        types.extend_from_slice(&[flags, 0, 0, 0]);
        types.resize(types.len() + 56, 0);
    }
    types
}

/// Prefixes a list with its one-byte length.
fn with_length(list: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(list.len()).unwrap_or(u8::MAX)];
    bytes.extend_from_slice(list);
    bytes
}
