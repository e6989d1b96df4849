//! A [`Profile`] in words, as an administrator gives it.

use crate::logical_unit::Profile;
use std::str::FromStr;
use thiserror::Error;

/// Every word: what it is called, and what it sets.
const WORDS: [(&str, fn(&mut Profile)); 3] = [
    ("removable", |profile| profile.removable = true),
    ("512e", |profile| profile.physical_block_exponent = 3),
    ("write-same-to-end", |profile| profile.write_same_to_end = true),
];

/// A word that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{word:?} is none of {}", WORDS.map(|(word, _)| word).join(", "))]
pub struct UnknownWord {
    word: String,
}

impl FromStr for Profile {
    type Err = UnknownWord;

    /// Words separated by commas; none for the default.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let mut profile = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let row = WORDS.iter().find(|(known, _)| *known == word);
            let (_, set) = row.ok_or_else(|| UnknownWord { word: word.to_owned() })?;
            set(&mut profile);
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_set_what_they_say() {
        let all = Profile { removable: true, physical_block_exponent: 3, write_same_to_end: true };
        assert_eq!("removable, 512e,write-same-to-end".parse(), Ok(all));
        assert_eq!("".parse(), Ok(Profile::default()));
        let error = "512e,4kn".parse::<Profile>().map_err(|error| error.to_string());
        assert_eq!(error, Err("\"4kn\" is none of removable, 512e, write-same-to-end".into()));
    }
}
