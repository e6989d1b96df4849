#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

#[test]
fn pairs_in_order() {
    assert_eq!(parse(b"").unwrap(), []);
    assert_eq!(parse(b"\0\0\0").unwrap(), []);
    assert_eq!(parse(b"A=1\0B=\0C=x=y\0").unwrap(), [("A", "1"), ("B", ""), ("C", "x=y")]);
    assert_eq!(parse(b"A=1\0\0\0").unwrap(), [("A", "1")]);
    let mut text = Vec::new();
    push(&mut text, "TargetName", "iqn.2026-01.org.example:t");
    assert_eq!(text, b"TargetName=iqn.2026-01.org.example:t\0");
}

#[test]
fn malformed_text() {
    assert_eq!(parse(b"A=1"), Err(TextError::NotTerminated));
    assert_eq!(parse(b"A\0"), Err(TextError::NoEqualsSign));
    assert_eq!(parse(b"=1\0"), Err(TextError::BadKey));
    assert_eq!(parse(b"A B=1\0"), Err(TextError::BadKey));
    assert_eq!(parse(b"A=\xFF\0"), Err(TextError::NotUtf8));
    assert_eq!(parse(b"A=\x01\0"), Err(TextError::BadValue));
    let key = |length: usize| [&vec![b'k'; length][..], b"=1\0"].concat();
    assert!(parse(&key(63)).is_ok());
    assert_eq!(parse(&key(64)), Err(TextError::BadKey));
    let value = |length: usize| [b"k=", &vec![b'v'; length][..], b"\0"].concat();
    assert!(parse(&value(MAX_VALUE_BYTES)).is_ok());
    assert_eq!(parse(&value(MAX_VALUE_BYTES + 1)), Err(TextError::BadValue));
    assert!(parse(&b"A=1\0".repeat(MAX_PAIRS)).is_ok());
    assert_eq!(parse(&b"A=1\0".repeat(MAX_PAIRS + 1)), Err(TextError::TooLong));
    assert_eq!(parse(&vec![0; MAX_TEXT_BYTES + 1]), Err(TextError::TooLong));
}

#[test]
fn numbers() {
    assert_eq!(number("262144"), Some(262_144));
    assert_eq!(number("0x40000"), Some(262_144));
    assert_eq!(number("0X1f"), Some(31));
    for bad in ["", "0x", "-1", "+1", "0x+1", "1.5", "1k", "99999999999999999999"] {
        assert_eq!(number(bad), None, "{bad}");
    }
}

#[test]
fn binary_values() {
    assert_eq!(binary("0x00fF10", 16), Some(vec![0, 0xFF, 0x10]));
    assert_eq!(binary("0xfff", 16), Some(vec![0x0F, 0xFF]));
    assert_eq!(binary("0bAAEC", 16), Some(vec![0, 1, 2]));
    assert_eq!(binary("0bAAE=", 16), Some(vec![0, 1]));
    assert_eq!(binary("0BAA==", 16), Some(vec![0]));
    assert_eq!(binary("0b+/8=", 16), Some(vec![0xFB, 0xFF]));
    for bad in ["", "0", "12", "0x", "0b", "0xzz", "0bAAE", "0bA===", "0b====", "0bAA=A", "0bA A=", "é"] {
        assert_eq!(binary(bad, 16), None, "{bad}");
    }
    assert_eq!(binary(&format!("0x{}", "00".repeat(17)), 16), None);
    assert_eq!(binary(&format!("0b{}", "AAAA".repeat(6)), 16), None);
    assert_eq!(binary_text(&[0x0A, 0xFF]), "0x0aff");
    assert_eq!(binary(&binary_text(&[1, 2, 3]), 3), Some(vec![1, 2, 3]));
}
