//! Names of users and tokens, and of other objects of the management plane.

use crate::error::IdentityError;

/// Longest name in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 63;

/// True for a name: 1 to 63 letters, digits, `.`, `_`, `-` and `@`, of which the first is a letter or digit.
pub fn is_name(text: &str) -> bool {
    let is_possible = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.len() <= MAX_NAME_BYTES && begins_well && text.chars().all(is_possible)
}

/// Checks the name of a user or token.
pub(crate) fn check(name: &str) -> Result<(), IdentityError> {
    let fault = || IdentityError::InvalidName { name: name.chars().take(MAX_NAME_BYTES).collect() };
    if is_name(name) { Ok(()) } else { Err(fault()) }
}

/// True if two names are those of one object: their case does not count.
pub fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_are_plain() {
        let longest = "x".repeat(63);
        for name in ["a", "anna", "Anna.Berg_2-x@example.org", "7", &longest] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["", "-a", ".a", "@a", "a b", "a/b", "é", "a\n", &"x".repeat(64)] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
