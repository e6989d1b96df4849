//! Names of users and tokens.

use crate::error::IdentityError;

/// Longest name in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 63;

/// Checks the name of a user or token: 1 to 63 letters, digits, `.`, `_`, `-` and `@`, of which the
/// first is a letter or digit.
pub(crate) fn check(name: &str) -> Result<(), IdentityError> {
    let is_possible = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if name.len() <= MAX_NAME_BYTES && begins_well && name.chars().all(is_possible) {
        Ok(())
    } else {
        Err(IdentityError::InvalidName { name: name.chars().take(MAX_NAME_BYTES).collect() })
    }
}

/// True if two names are those of one user: their case does not count.
pub(crate) fn same(one: &str, other: &str) -> bool {
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
