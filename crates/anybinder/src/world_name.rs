//! Names of worlds.

use std::fmt;
use std::str::FromStr;

/// The name of a world: that of a directory, too, and without surprises in a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorldName(String);

const NAME_BYTES_MAX: usize = 64;

impl WorldName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for WorldName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.len() > NAME_BYTES_MAX {
            return Err(format!(
                "it has {} bytes, and a name {NAME_BYTES_MAX} at most",
                name.len()
            ));
        }
        if !name.starts_with(|it: char| it.is_ascii_alphanumeric()) || !name.bytes().all(is_plain) {
            return Err(
                "a name consists of letters, digits, '-', '_' and '.', and begins with a letter \
                        or a digit"
                    .into(),
            );
        }
        Ok(Self(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["a", "dev", "0", "A-b_c.d", &"n".repeat(64)] {
            assert_eq!(name.parse::<WorldName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            ".",
            "..",
            ".a",
            "-a",
            "_a",
            "a/b",
            "../a",
            "a b",
            "a\n",
            "\u{e9}",
            "a\0",
            "a;b",
            "$(a)",
            &"n".repeat(65),
        ] {
            assert!(name.parse::<WorldName>().is_err(), "{name:?}");
        }
    }
}
