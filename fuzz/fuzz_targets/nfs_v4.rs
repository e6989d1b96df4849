#![no_main]
windlass_fuzz::program!("nfs_v4");
