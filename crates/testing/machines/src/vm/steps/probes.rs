//! sg3_utils: the array's description of itself, and all of its commands that a tool of the package
//! sends, each with exit status and relevant output lines. `sg_dd` sends SCSI commands
//! (`blk_sgio=1`), which bypasses the page cache. The statuses are those of sg3_utils(8): 5 illegal
//! request, 9 opcode not supported, 14 miscompare, 22 LBA out of range.

use crate::vm::lab::{INITIATOR, Lab, PLAIN, SECOND};
use anyhow::Result;

/// SG_LIB_LBA_OUT_OF_RANGE.
const OUT_OF_RANGE: i32 = 22;

/// Tool with its expected result; `D` and `S` are the logical units.
struct Probe {
    command: &'static str,
    status: i32,
    words: &'static [&'static str],
}

const fn probe(command: &'static str, words: &'static [&'static str]) -> Probe {
    Probe { command, status: 0, words }
}

const fn refused(command: &'static str, status: i32, words: &'static [&'static str]) -> Probe {
    Probe { command, status, words }
}

const PROBES: &[Probe] = &[
    probe("sg_turs D", &[]),
    probe("sg_inq D", &["WINDLASS", "3PC=1", "CmdQue=1", "Peripheral device type: disk"]),
    probe("sg_inq -e D", &[]),
    probe("sg_luns D", &["Lun list length = 32", "0000000000000000", "0003000000000000"]),
    probe("sg_luns -s 1 D", &[]),
    probe("sg_readcap D", &["Logical block length=512 bytes", "Device size: 268435456 bytes"]),
    probe("sg_readcap -l D", &["Logical block provisioning: lbpme=1, lbprz=1", "Device size: 268435456 bytes"]),
    probe("sg_vpd D", &["Supported VPD pages", "Block limits (SBC)", "hird party copy"]),
    probe("sg_vpd -p sn D", &["Unit serial number:"]),
    probe("sg_vpd -p di D", &["designator type: NAA", "Relative target port", "Target port group", "iqn."]),
    probe("sg_vpd -p ei D", &["SIMPSUP=1", "HEADSUP=1", "ORDSUP=1"]),
    probe(
        "sg_vpd -p bl D",
        &[
            "Maximum compare and write length:",
            "Maximum unmap LBA count:",
            "Maximum write same length:",
            "Maximum atomic transfer length:",
        ],
    ),
    probe("sg_vpd -p bdc D", &["Non-rotating medium"]),
    probe(
        "sg_vpd -p lbpv D",
        &[
            "Unmap command supported (LBPU): 1",
            "Write same (16) with unmap bit supported (LBPWS): 1",
            "Provisioning type: 2",
        ],
    ),
    probe("sg_vpd -p tpc D", &["Supported descriptors", "block -> block"]),
    probe("sg_vpd -a D", &[]),
    probe("sg_rtpg D", &["target port group asymmetric access state : 0x00", "Relative target port ids"]),
    probe("sg_rtpg -e D", &["target port group id"]),
    probe("sg_opcodes D", &["Compare and write", "Extended copy", "Unmap", "Write same(16)"]),
    probe("sg_opcodes -m -o 0x89 D", &["89"]),
    probe("sg_opcodes -t D", &["Abort task", "Logical unit reset"]),
    probe("sg_modes -a D", &["Caching", "Control"]),
    probe("sg_modes -p 8 D", &[]),
    probe("sg_modes -p 8 -c 1 D", &[]),
    probe("sg_logs D", &["Supported log pages"]),
    probe("sg_logs -p lbp D", &["Logical block provisioning"]),
    probe("sg_logs -p ie D", &["Informational Exceptions"]),
    refused("sg_logs -p 0x3e D", 5, &[]),
    probe("sg_requests D", &[]),
    probe("sg_sync D", &[]),
    probe("sg_sync --16 --lba=8 --count=8 D", &[]),
    probe("sg_start --start D", &[]),
    probe("sg_prevent --allow D", &[]),
    // Reads and writes through SCSI generic.
    probe(
        "head -c 65536 /dev/urandom >/run/p && sg_dd blk_sgio=1 if=/run/p of=D bs=512 count=128 oflag=dio && sg_dd blk_sgio=1 if=D of=/run/q bs=512 count=128 && cmp /run/p /run/q",
        &[],
    ),
    probe("sg_dd blk_sgio=1 if=D of=/run/q bs=512 count=128 bpt=16 cdbsz=16 && cmp /run/p /run/q", &[]),
    probe("sg_dd blk_sgio=1 if=D of=/run/q bs=512 count=128 cdbsz=12 && cmp /run/p /run/q", &[]),
    probe("sg_verify --lba=0 --count=128 D", &[]),
    probe("sg_verify --16 --lba=0 --count=128 D", &[]),
    probe("sg_verify --lba=0 --count=128 --ndo=65536 --in=/run/p D", &[]),
    refused("sg_verify --lba=0 --count=128 --ndo=65536 --in=/dev/zero D", 14, &[]),
    refused("sg_verify --16 --lba=0x7fffffff --count=1 D", OUT_OF_RANGE, &[]),
    // COMPARE AND WRITE.
    probe(
        "head -c 512 /run/p >/run/caw; head -c 512 /dev/zero >>/run/caw; sg_compare_and_write --in=/run/caw --lba=0 --num=1 --xferlen=1024 D",
        &[],
    ),
    refused("sg_compare_and_write --in=/run/caw --lba=0 --num=1 --xferlen=1024 D", 14, &[]),
    probe("sg_dd blk_sgio=1 if=D of=/run/q bs=512 count=1 && cmp -n 512 /run/q /dev/zero", &[]),
    // Deallocation.
    probe("sg_dd blk_sgio=1 if=/run/p of=D bs=512 count=128 && sg_get_lba_status --lba=0 D", &["mapped"]),
    probe("sg_unmap --force --lba=0 --num=64 D && sg_get_lba_status --lba=0 D", &["deallocated"]),
    probe("sg_dd blk_sgio=1 if=D of=/run/q bs=512 count=64 && cmp -n 32768 /run/q /dev/zero", &[]),
    refused("sg_unmap --force --lba=0x7fffffff --num=1 D", OUT_OF_RANGE, &[]),
    probe(
        "sg_write_same --16 --lba=64 --num=64 --unmap --in=/dev/zero --xferlen=512 D && sg_get_lba_status --lba=64 D",
        &["deallocated"],
    ),
    probe("sg_write_same --16 --lba=64 --num=64 --ndob D", &[]),
    probe(
        "sg_write_same --10 --lba=64 --num=8 --in=/run/p --xferlen=512 D && sg_dd blk_sgio=1 if=D of=/run/q bs=512 skip=71 count=1 && cmp -n 512 /run/q /run/p",
        &[],
    ),
    refused("sg_write_same --16 --lba=0x7fffffff --num=1 --in=/dev/zero --xferlen=512 D", OUT_OF_RANGE, &[]),
    // EXTENDED COPY.
    probe("sg_copy_results --params D", &["Maximum segment length"]),
    probe(
        "sg_dd blk_sgio=1 if=/run/p of=D bs=512 count=128 && sg_xcopy if=D of=S bs=512 count=128 && sg_dd blk_sgio=1 if=S of=/run/q bs=512 count=128 && cmp /run/p /run/q",
        &[],
    ),
    // Commands of newer standards.
    probe("sg_write_x --16 --atomic=0 --in=/run/p --lba=0 --num=8 D", &[]),
    probe("sg_raw -r 8 D 37 00 0d 00 00 00 00 00 08 00", &[]),
    // Unsupported or invalid commands.
    refused("sg_raw D c1 00 00 00 00 00", 9, &["Invalid command operation code"]),
    refused("sg_raw D 00 00 00 00 01 00", 5, &["Invalid field in cdb"]),
    refused(
        "sg_raw -r 512 D 88 00 00 00 00 00 7f ff ff ff 00 00 00 01 00 00",
        OUT_OF_RANGE,
        &["Logical block address out of range"],
    ),
    refused("sg_raw -r 96 D 12 00 80 00 60 00", 5, &["Invalid field in cdb"]),
    // SPC-2 reservations.
    probe("sg_raw D 16 00 00 00 00 00 && sg_raw D 17 00 00 00 00 00", &[]),
    probe("sg_reset --device D", &[]),
    probe("sg_turs -n 3 D; sg_turs D", &[]),
];

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    lab.login(&[0], &[])?;
    let (disk, second) = (lab.disk(INITIATOR, 0, PLAIN)?, lab.disk(INITIATOR, 0, SECOND)?);
    for probe in PROBES {
        let words = probe.command.split(' ').map(|word| match word.trim_end_matches(';') {
            "D" => word.replacen('D', &disk, 1),
            "S" => word.replacen('S', &second, 1),
            "if=D" | "of=D" => word.replacen('D', &disk, 1),
            "if=S" | "of=S" => word.replacen('S', &second, 1),
            _ => word.to_owned(),
        });
        let title = if probe.status == 0 {
            probe.command.to_owned()
        } else {
            format!("{}: status {}", probe.command, probe.status)
        };
        lab.check(&title, &words.collect::<Vec<_>>().join(" "), probe.status, probe.words)?;
    }
    Ok(())
}
