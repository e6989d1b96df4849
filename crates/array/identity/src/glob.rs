//! Patterns of volume names.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest pattern in bytes.
const MAX_BYTES: usize = 128;

/// Pattern of names: `*` is any text, `?` one character, and all else is itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob(String);

impl Glob {
    /// Checks a pattern: 1 to 128 printable ASCII characters.
    pub fn new(pattern: &str) -> Option<Self> {
        let fits = (1..=MAX_BYTES).contains(&pattern.len()) && pattern.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(pattern.to_owned()))
    }

    /// True if the pattern describes the whole name. Takes time in proportion to the product of both
    /// lengths at most.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut of) = (0, 0);
        // Place after the last `*`, and the end of the text that it stands for.
        let mut star = None;
        while let Some(byte) = name.get(at) {
            match pattern.get(of) {
                Some(b'*') => {
                    star = Some((of + 1, at));
                    of += 1;
                }
                Some(expected) if *expected == b'?' || expected == byte => {
                    at += 1;
                    of += 1;
                }
                _ => {
                    let Some((after, end)) = star else { return false };
                    star = Some((after, end + 1));
                    of = after;
                    at = end + 1;
                }
            }
        }
        pattern.get(of..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> Self {
        glob.0
    }
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("a pattern has 1 to {MAX_BYTES} printable ASCII characters"))
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn patterns_describe_whole_names() {
        for (pattern, names, others) in [
            ("csi-*", ["csi-1", "csi-"], ["csi", "xcsi-1"]),
            ("*-vm?", ["a-vm1", "a-vm2-vm3"], ["a-vm", "a-vm12"]),
            ("db", ["db", "db"], ["db1", ""]),
            ("*", ["", "x"], ["\u{0}never", "\u{0}never"]),
            ("a*b*c", ["abc", "aXbXbXc"], ["ab", "abcd"]),
        ] {
            let glob = Glob::new(pattern);
            let is_match = |name: &str| glob.as_ref().is_some_and(|glob| glob.matches(name));
            assert!(names.into_iter().all(is_match), "{pattern}");
            assert!(pattern == "*" || !others.into_iter().any(is_match), "{pattern}");
        }
        assert!(Glob::new("").is_none() && Glob::new("a b").is_none() && Glob::new(&"x".repeat(129)).is_none());
    }
}
