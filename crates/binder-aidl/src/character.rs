//! Characters in single quotes.

/// The character that is written so, quotes included.
pub(crate) fn parse(text: &str) -> Result<char, &'static str> {
    let inner = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or_default();
    let mut chars = inner.chars();
    let char = match (chars.next(), chars.next(), chars.next()) {
        (Some(char), None, None) if char != '\\' => char,
        (Some('\\'), Some('u'), Some(_)) => {
            let digits = inner[2..].bytes().all(|it| it.is_ascii_hexdigit()) && inner.len() == 6;
            let code = u32::from_str_radix(&inner[2..], 16).ok().filter(|_| digits);
            code.and_then(char::from_u32)
                .ok_or("`\\u` is followed by the four digits of a character")?
        }
        (Some('\\'), Some(escaped), None) => match escaped {
            '0' => '\0',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '\\' | '\'' | '"' => escaped,
            _ => return Err("AIDL has no such escape"),
        },
        _ => return Err("a `char` is exactly one character"),
    };
    match u16::try_from(u32::from(char)) {
        Ok(_) => Ok(char),
        Err(_) => Err("a `char` has 16 bits, this character more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_of_16_bits() {
        for (text, char) in [
            ("'x'", 'x'),
            ("'\\''", '\''),
            ("'\\\\'", '\\'),
            ("'\\0'", '\0'),
            ("'\\u20ac'", '\u{20ac}'),
            ("'\u{20ac}'", '\u{20ac}'),
        ] {
            assert_eq!(parse(text), Ok(char), "{text}");
        }
        for text in [
            "''",
            "'ab'",
            "'\\x'",
            "'\\u12'",
            "'\\ud800'",
            "'\\u+123'",
            "'\u{1f600}'",
            "'\\u\u{e9}\u{e9}'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
