//! Hostile input: the code that each fuzz target runs on its bytes, and its seeds.
//!
//! The targets are in the workspace, and not under `fuzz/`, so that an ordinary `cargo test` runs
//! every seed and every input that once caused a crash (`fuzz/regressions/NAME/`). `fuzz/` only
//! connects them to libFuzzer. A target accepts any bytes and must return: it panics when the array
//! would have, or when a rule that it checks itself is violated.
//!
//! Decoders of whole messages get the bytes unchanged. State machines get them as a list of steps
//! (`input::Reader`), so that a change of one byte is a change of one step. On-disk structures get
//! them as a list of changes to a valid image whose checksums are then corrected, because otherwise
//! only the checksums would be tested.
#![forbid(unsafe_code)]

mod array;
mod documents;
mod input;
mod nfs;
mod replication;
mod rpc;

mod device_server;
mod storage;
mod transport;

/// Fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name, which is also that of the program in `fuzz/fuzz_targets/` and of the directory in
    /// `fuzz/regressions/`.
    pub name: &'static str,
    /// Description for `--list`.
    pub what: &'static str,
    /// Longest useful input, in bytes.
    pub max_bytes: usize,
    /// Runs the target on an input.
    pub run: fn(&[u8]),
    /// Seeds.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    Target {
        name: "documents",
        what: "documents of the array's state and REST request bodies",
        max_bytes: 8192,
        run: documents::run,
        seeds: documents::seeds,
    },
    Target {
        name: "iscsi_framing",
        what: "PDU framing in both directions: lengths, additional headers, digests",
        max_bytes: 4096,
        run: transport::framing::run,
        seeds: transport::framing::seeds,
    },
    Target {
        name: "iscsi_full_feature",
        what: "the full-feature state machine of a target with logical units",
        max_bytes: 2048,
        run: transport::full_feature::run,
        seeds: transport::full_feature::seeds,
    },
    Target {
        name: "iscsi_initiator",
        what: "the initiator, against a target that lies",
        max_bytes: 2048,
        run: transport::initiator::run,
        seeds: transport::initiator::seeds,
    },
    Target {
        name: "iscsi_login",
        what: "the login state machine, with CHAP in one and both directions",
        max_bytes: 2048,
        run: transport::login::run,
        seeds: transport::login::seeds,
    },
    Target {
        name: "iscsi_text",
        what: "text keys, values, names, and the negotiation of parameters",
        max_bytes: 4096,
        run: transport::text::run,
        seeds: transport::text::seeds,
    },
    Target {
        name: "nfs_v3",
        what: "arguments and results of NFSv3 and MOUNT",
        max_bytes: 4096,
        run: nfs::run_v3,
        seeds: nfs::seeds_v3,
    },
    Target {
        name: "nfs_v4",
        what: "compounds, callbacks and attributes of NFSv4, in both directions",
        max_bytes: 4096,
        run: nfs::run_v4,
        seeds: nfs::seeds_v4,
    },
    Target {
        name: "onc_rpc",
        what: "records, headers and credentials of ONC RPC, portmap and rpcbind",
        max_bytes: 4096,
        run: rpc::run,
        seeds: rpc::seeds,
    },
    Target {
        name: "pool_image",
        what: "a pool whose every structure may be wrong under right checksums",
        max_bytes: 512,
        run: storage::image::run,
        seeds: storage::image::seeds,
    },
    Target {
        name: "pool_log",
        what: "frames and records of the log, replayed",
        max_bytes: 2048,
        run: storage::log::run,
        seeds: storage::log::seeds,
    },
    Target {
        name: "pool_superblock",
        what: "superblock copies and the root in them",
        max_bytes: 512,
        run: storage::superblock::run,
        seeds: storage::superblock::seeds,
    },
    Target {
        name: "replication_target",
        what: "the target of a replication cycle, against a source that lies",
        max_bytes: 2048,
        run: replication::target::run,
        seeds: replication::target::seeds,
    },
    Target {
        name: "replication_wire",
        what: "frames and messages between two arrays, and one end of their connection",
        max_bytes: 8192,
        run: replication::wire::run,
        seeds: replication::wire::seeds,
    },
    Target {
        name: "scsi_commands",
        what: "CDBs and parameter lists against the device server",
        max_bytes: 4096,
        run: device_server::commands::run,
        seeds: device_server::commands::seeds,
    },
    Target {
        name: "scsi_transport_id",
        what: "TransportIDs, initiator port names, lists of PERSISTENT RESERVE OUT",
        max_bytes: 1024,
        run: device_server::transport_id::run,
        seeds: device_server::transport_id::seeds,
    },
];

/// Returns the target with that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
