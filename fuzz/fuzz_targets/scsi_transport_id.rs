#![no_main]
windlass_fuzz::program!("scsi_transport_id");
