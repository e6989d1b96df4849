#![no_main]
windlass_fuzz::program!("iscsi_full_feature");
