#![no_main]
windlass_fuzz::program!("iscsi_initiator");
