//! Text form of a [`Profile`], as an administrator enters it.

use crate::logical_unit::Profile;
use std::str::FromStr;
use thiserror::Error;

/// Keyword with its effect.
struct Word {
    name: &'static str,
    set: fn(&mut Profile),
}

const WORDS: [Word; 3] = [
    Word { name: "removable", set: |profile| profile.removable = true },
    Word { name: "512e", set: |profile| profile.physical_block_exponent = 3 },
    Word { name: "write-same-to-end", set: |profile| profile.write_same_to_end = true },
];

/// Unknown keyword.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{word:?} is none of {}", WORDS.map(|word| word.name).join(", "))]
pub struct UnknownWord {
    word: String,
}

impl FromStr for Profile {
    type Err = UnknownWord;

    /// Parses keywords separated by commas; an empty text is the default profile.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let mut profile = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let known = WORDS.iter().find(|known| known.name == word);
            let known = known.ok_or_else(|| UnknownWord { word: word.to_owned() })?;
            (known.set)(&mut profile);
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
