//! READ DEFECT DATA parameter data, SBC-3 §5.17 and §5.18, for a medium without defects.

/// Mask of PLISTV, GLISTV and DEFECT LIST FORMAT as requested: bits 4-0.
pub const REQUESTED: u8 = 0x1f;

/// Empty list of READ DEFECT DATA (10). `requested`: byte 2 of the CDB.
pub fn empty_list_10(requested: u8) -> Vec<u8> {
    vec![0, requested & REQUESTED, 0, 0]
}

/// Empty list of READ DEFECT DATA (12). `requested`: byte 1 of the CDB.
pub fn empty_list_12(requested: u8) -> Vec<u8> {
    vec![0, requested & REQUESTED, 0, 0, 0, 0, 0, 0]
}
