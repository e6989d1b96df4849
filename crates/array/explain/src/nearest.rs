//! Codes that look like a mistyped one.

use crate::Kind;
use std::collections::BTreeSet;

/// Most names that are proposed.
const MOST: usize = 5;

/// Codes whose names are close to `words`, the closest first: few letters differ, or one contains the other.
pub fn nearest(words: &str) -> Vec<&'static str> {
    let words = words.trim().to_ascii_lowercase();
    let codes: BTreeSet<_> = Kind::ALL.into_iter().flat_map(Kind::entries).map(|entry| entry.code).collect();
    let mut close: Vec<_> = codes.into_iter().filter_map(|code| Some((distance(&words, code)?, code))).collect();
    close.sort_unstable();
    close.into_iter().map(|(_, code)| code).take(MOST).collect()
}

/// How far a code is from the words; `None` if it is not close.
fn distance(words: &str, code: &str) -> Option<usize> {
    // Longer than any code: nothing is close, and comparing it would take long.
    if words.len() < 2 || words.len() > 64 {
        return None;
    }
    let edits = strsim::levenshtein(words, code);
    match edits <= words.len() / 3 {
        true => Some(edits),
        false if words.len() > 2 && (code.contains(words) || words.contains(code)) => Some(edits),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn mistyped_codes_are_found_and_others_are_not() {
        assert_eq!(nearest("pool-ful").first(), Some(&"pool-full"));
        assert_eq!(nearest("not-grantd").first(), Some(&"not-granted"));
        assert!(nearest("sanitize").contains(&"sanitize-failed"));
        for words in ["", "x", "zebra-crossing", &"x".repeat(10_000)] {
            assert!(nearest(words).is_empty(), "{words}");
        }
    }
}
