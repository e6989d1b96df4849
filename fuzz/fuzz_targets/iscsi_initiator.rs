#![no_main]
windlass_fuzz::program!("initiator");
