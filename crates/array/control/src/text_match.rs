//! Texts that are found whatever their case. Most texts are ASCII, and are compared where they are.

/// True if `text` has `wanted`, which is in lower case, anywhere in it.
pub(crate) fn contains(text: &str, wanted: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(wanted);
    }
    let wanted = wanted.as_bytes();
    wanted.is_empty() || text.as_bytes().windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted))
}

/// True if `text` begins with `wanted`, which is in lower case.
pub(crate) fn begins(text: &str, wanted: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().starts_with(wanted);
    }
    text.as_bytes().get(..wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{begins, contains};

    #[test]
    fn they_agree_with_the_texts_in_lower_case() {
        for text in ["", "a", "Win-DC1", "WIN", "win", "xwin", "Ärger", "ÄRGER win", "\u{212a}elvin", "İ"] {
            for wanted in ["", "a", "win", "win-dc1", "dc1", "ärger", "ger", "kelvin", "i\u{307}", "longer than all"] {
                let lower = text.to_lowercase();
                assert_eq!(contains(text, wanted), lower.contains(wanted), "{text} {wanted}");
                assert_eq!(begins(text, wanted), lower.starts_with(wanted), "{text} {wanted}");
            }
        }
    }
}
