//! RECEIVE ROD TOKEN INFORMATION (84h/07h) and REPORT ALL ROD TOKENS (84h/08h), SPC-4 §6.24 and §6.25.

use super::receive_copy_results::STATUS_LID4;
use crate::command::Command;
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::rod_token;
use unit::ReservationClass;

pub(super) const COMMAND: Command = Command {
    name: "RECEIVE ROD TOKEN INFORMATION",
    service_action: Some(service_action::RECEIVE_ROD_TOKEN_INFORMATION),
    cdb_usage: &hex!("84 07 ffffffff 00000000 ffffffff 00 00"),
    reservation_class: ReservationClass::Read, // permission to read the data is permission to have its token
    ..STATUS_LID4
};

pub(super) const ALL: Command = Command {
    name: "REPORT ALL ROD TOKENS",
    service_action: Some(service_action::REPORT_ALL_ROD_TOKENS),
    cdb_usage: &hex!("84 08 0000000000000000 ffffffff 00 00"),
    ..STATUS_LID4
};

/// Returns progress or result of the operation with this list identifier, and the token that it
/// created.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let record = call.nexus.copies.get(call.cdb.be32::<2>());
    let record = record.ok_or(Fault::InvalidFieldInCdb(FieldPointer::cdb(2)))?;
    let descriptors = rod_token::token_descriptors(record.token().as_ref());
    Ok(Reply::parameter_data(record.information(&descriptors), call.cdb.be32::<10>()))
}

/// Returns the first bytes of each token of the initiator; tokens of other initiators are hidden.
pub(super) fn all<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let tokens = call.target.tokens().of_initiator(&call.nexus.initiator);
    let data = rod_token::all_tokens(tokens.iter().map(|token| token.bytes()));
    Ok(Reply::parameter_data(data, call.cdb.be32::<10>()))
}
