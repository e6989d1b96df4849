#![no_main]
windlass_fuzz::program!("replication_target");
