#![no_main]
windlass_fuzz::program!("onc_rpc");
