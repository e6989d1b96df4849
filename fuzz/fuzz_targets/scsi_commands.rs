#![no_main]
windlass_fuzz::program!("scsi_commands");
