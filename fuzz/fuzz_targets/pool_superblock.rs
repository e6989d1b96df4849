#![no_main]
windlass_fuzz::program!("pool_superblock");
