//! Codes in headers: numbers with names, so that an unknown one survives decoding.

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident: $repr:ty { $($(#[$code_doc:meta])* $code:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$code_doc])* pub const $code: Self = Self($value);)*
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match *self {
                    $(Self::$code => f.write_str(stringify!($code)),)*
                    Self(other) => write!(f, concat!(stringify!($name), "({:#x})"), other),
                }
            }
        }
    };
}

codes! {
    /// Byte 0 of a header without the I bit (RFC 7143 §11.2.1.2).
    Opcode: u8 {
        /// NOP-Out.
        NOP_OUT = 0x00;
        /// SCSI Command.
        SCSI_COMMAND = 0x01;
        /// SCSI Task Management Function Request.
        TASK_MANAGEMENT_REQUEST = 0x02;
        /// Login Request.
        LOGIN_REQUEST = 0x03;
        /// Text Request.
        TEXT_REQUEST = 0x04;
        /// SCSI Data-Out.
        DATA_OUT = 0x05;
        /// Logout Request.
        LOGOUT_REQUEST = 0x06;
        /// SNACK Request.
        SNACK_REQUEST = 0x10;
        /// NOP-In.
        NOP_IN = 0x20;
        /// SCSI Response.
        SCSI_RESPONSE = 0x21;
        /// SCSI Task Management Function Response.
        TASK_MANAGEMENT_RESPONSE = 0x22;
        /// Login Response.
        LOGIN_RESPONSE = 0x23;
        /// Text Response.
        TEXT_RESPONSE = 0x24;
        /// SCSI Data-In.
        DATA_IN = 0x25;
        /// Logout Response.
        LOGOUT_RESPONSE = 0x26;
        /// Ready To Transfer.
        R2T = 0x31;
        /// Asynchronous Message.
        ASYNC_MESSAGE = 0x32;
        /// Reject.
        REJECT = 0x3F;
    }
}

codes! {
    /// Reason of a Reject (RFC 7143 §11.17.1).
    RejectReason: u8 {
        /// The data digest does not match.
        DATA_DIGEST_ERROR = 0x02;
        /// A SNACK cannot be honoured.
        SNACK_REJECT = 0x03;
        /// The PDU violates the protocol.
        PROTOCOL_ERROR = 0x04;
        /// The PDU type is not supported.
        COMMAND_NOT_SUPPORTED = 0x05;
        /// Too many immediate commands.
        IMMEDIATE_COMMAND_REJECT = 0x06;
        /// The Initiator Task Tag is in use.
        TASK_IN_PROGRESS = 0x07;
        /// A Data-ACK is not valid.
        INVALID_DATA_ACK = 0x08;
        /// A field has a value that is not allowed.
        INVALID_PDU_FIELD = 0x09;
        /// No Target Transfer Tag is available.
        LONG_OPERATION_REJECT = 0x0A;
        /// The target waits for a logout.
        WAITING_FOR_LOGOUT = 0x0C;
    }
}

codes! {
    /// Status class (high byte) and detail (low byte) of a Login Response (RFC 7143 §11.13.5).
    LoginStatus: u16 {
        /// Login proceeds.
        SUCCESS = 0x0000;
        /// The target has moved temporarily; `TargetAddress` gives its address.
        TARGET_MOVED_TEMPORARILY = 0x0101;
        /// The target has moved permanently; `TargetAddress` gives its address.
        TARGET_MOVED_PERMANENTLY = 0x0102;
        /// The initiator violated the protocol.
        INITIATOR_ERROR = 0x0200;
        /// Authentication failed.
        AUTHENTICATION_FAILURE = 0x0201;
        /// The initiator may not use the target.
        AUTHORIZATION_FAILURE = 0x0202;
        /// There is no such target.
        TARGET_NOT_FOUND = 0x0203;
        /// The target was removed.
        TARGET_REMOVED = 0x0204;
        /// No common version.
        UNSUPPORTED_VERSION = 0x0205;
        /// The session cannot take another connection.
        TOO_MANY_CONNECTIONS = 0x0206;
        /// A needed key is missing.
        MISSING_PARAMETER = 0x0207;
        /// The connection cannot be part of the session.
        CANNOT_INCLUDE_IN_SESSION = 0x0208;
        /// The target does not support the session type.
        SESSION_TYPE_NOT_SUPPORTED = 0x0209;
        /// No session has this TSIH.
        SESSION_DOES_NOT_EXIST = 0x020A;
        /// The request is not allowed during login.
        INVALID_DURING_LOGIN = 0x020B;
        /// The target failed.
        TARGET_ERROR = 0x0300;
        /// The service is not available at present.
        SERVICE_UNAVAILABLE = 0x0301;
        /// The target is out of resources.
        OUT_OF_RESOURCES = 0x0302;
    }
}

impl LoginStatus {
    /// Creates a status from Status-Class and Status-Detail.
    pub const fn new(class: u8, detail: u8) -> Self {
        Self(u16::from_be_bytes([class, detail]))
    }

    /// Status-Class: 0 success, 1 redirection, 2 initiator error, 3 target error.
    pub const fn class(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Status-Detail.
    pub const fn detail(self) -> u8 {
        self.0.to_be_bytes()[1]
    }
}

codes! {
    /// Task management function (RFC 7143 §11.5.1).
    TaskManagementFunction: u8 {
        /// ABORT TASK.
        ABORT_TASK = 1;
        /// ABORT TASK SET.
        ABORT_TASK_SET = 2;
        /// CLEAR ACA.
        CLEAR_ACA = 3;
        /// CLEAR TASK SET.
        CLEAR_TASK_SET = 4;
        /// LOGICAL UNIT RESET.
        LOGICAL_UNIT_RESET = 5;
        /// TARGET WARM RESET.
        TARGET_WARM_RESET = 6;
        /// TARGET COLD RESET.
        TARGET_COLD_RESET = 7;
        /// TASK REASSIGN.
        TASK_REASSIGN = 8;
        /// QUERY TASK (RFC 7144 §6.2).
        QUERY_TASK = 9;
        /// QUERY TASK SET.
        QUERY_TASK_SET = 10;
        /// I_T NEXUS RESET.
        I_T_NEXUS_RESET = 11;
        /// QUERY ASYNCHRONOUS EVENT.
        QUERY_ASYNCHRONOUS_EVENT = 12;
    }
}

codes! {
    /// Response to a task management function (RFC 7143 §11.6.1).
    TaskManagementResponse: u8 {
        /// Function complete.
        COMPLETE = 0;
        /// Task does not exist.
        TASK_DOES_NOT_EXIST = 1;
        /// LUN does not exist.
        LUN_DOES_NOT_EXIST = 2;
        /// Task still allegiant.
        TASK_STILL_ALLEGIANT = 3;
        /// Task allegiance reassignment not supported.
        REASSIGN_NOT_SUPPORTED = 4;
        /// Task management function not supported.
        NOT_SUPPORTED = 5;
        /// Function authorization failed.
        AUTHORIZATION_FAILED = 6;
        /// Function succeeded: the queried task or event exists (RFC 7144 §6.3).
        SUCCEEDED = 7;
        /// Function rejected.
        REJECTED = 255;
    }
}

codes! {
    /// Reason of a Logout Request (RFC 7143 §11.14.1).
    LogoutReason: u8 {
        /// Close the session.
        CLOSE_SESSION = 0;
        /// Close the connection.
        CLOSE_CONNECTION = 1;
        /// Remove the connection for recovery.
        REMOVE_FOR_RECOVERY = 2;
    }
}

codes! {
    /// Response to a Logout Request (RFC 7143 §11.15.1).
    LogoutResponseCode: u8 {
        /// Connection or session closed.
        CLOSED = 0;
        /// CID not found.
        CID_NOT_FOUND = 1;
        /// Connection recovery is not supported.
        RECOVERY_NOT_SUPPORTED = 2;
        /// Cleanup failed.
        CLEANUP_FAILED = 3;
    }
}

codes! {
    /// Event of an Asynchronous Message (RFC 7143 §11.9.1).
    AsyncEvent: u8 {
        /// A SCSI asynchronous event; the data segment has sense data.
        SCSI_EVENT = 0;
        /// The target requests a logout within Parameter3 seconds.
        LOGOUT_REQUESTED = 1;
        /// The target will drop connection Parameter1.
        CONNECTION_DROPPED = 2;
        /// The target will drop all connections of the session.
        SESSION_DROPPED = 3;
        /// The target requests parameter negotiation.
        NEGOTIATION_REQUESTED = 4;
        /// All active tasks of a logical unit are being terminated.
        TASKS_TERMINATED = 5;
    }
}

codes! {
    /// Task attribute of a SCSI Command, byte 1 bits 2-0 (RFC 7143 §11.3.1).
    TaskAttribute: u8 {
        /// Untagged; treated as simple.
        UNTAGGED = 0;
        /// SIMPLE.
        SIMPLE = 1;
        /// ORDERED.
        ORDERED = 2;
        /// HEAD OF QUEUE.
        HEAD_OF_QUEUE = 3;
        /// ACA.
        ACA = 4;
    }
}
