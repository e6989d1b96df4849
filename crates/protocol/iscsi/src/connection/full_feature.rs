//! PDUs of the full feature phase at the target, RFC 7143 §4.2.

use super::{Connection, Directory, SessionType};
use crate::framing::Pdu;
use crate::pdu::{BasicHeader, Opcode, RejectReason};

impl Connection {
    pub(super) fn handle_full_feature(&mut self, pdu: Pdu, directory: &dyn Directory) {
        let basic = BasicHeader::from_wire(&pdu.header);
        let opcode = basic.opcode();
        let discovery = self.identity.as_ref().is_some_and(|id| id.session_type == SessionType::Discovery);
        match opcode {
            Opcode::SCSI_COMMAND | Opcode::DATA_OUT | Opcode::TASK_MANAGEMENT_REQUEST | Opcode::SNACK_REQUEST
                if discovery =>
            {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "a SCSI PDU in a discovery session");
            }
            Opcode::DATA_OUT => self.handle_data_out(&pdu),
            Opcode::SCSI_COMMAND => self.handle_command(pdu, directory),
            Opcode::NOP_OUT | Opcode::TASK_MANAGEMENT_REQUEST | Opcode::TEXT_REQUEST | Opcode::LOGOUT_REQUEST => {
                self.handle_numbered(pdu, directory);
            }
            Opcode::LOGIN_REQUEST => {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "a login request in full feature phase");
            }
            Opcode::SNACK_REQUEST => self.reject(RejectReason::SNACK_REJECT, &pdu.header),
            _ => self.reject(RejectReason::COMMAND_NOT_SUPPORTED, &pdu.header),
        }
    }
}
