//! What constants come to.

use crate::code;

/// The Rust of a constant's value.
fn value(of: &str, expression: &str) -> String {
    let members = format!(
        "const {of} A = {expression}; const int B = 6; enum E {{ ONE = 1, TWO, FOUR = TWO + 2 }}"
    );
    let text = code("p/X.aidl", &format!("package p; parcelable X {{ {members} }}"));
    let line = text.lines().find(|line| line.starts_with("pub const r#A"));
    let value = line.and_then(|line| line.split_once(" = ")).map(|(_, value)| value);
    value.unwrap_or_default().trim_end_matches(';').to_owned()
}

#[test]
fn numbers() {
    for (of, expression, wanted) in [
        ("int", "42", "42"),
        ("int", "-42", "-42"),
        ("int", "+42", "42"),
        ("int", "0xffffffff", "-1"),
        ("int", "-0xffffffff", "1"),
        ("int", "-2147483648", "-2147483648"),
        ("long", "-9223372036854775808", "-9223372036854775808"),
        ("long", "0xfL << 32", "64424509440"),
        ("long", "4294967295", "4294967295"),
        ("byte", "0xC0u8", "-64"),
        ("int", "2 + 3 * 4", "14"),
        ("int", "(2 + 3) * 4", "20"),
        ("int", "2 - 3 - 4", "-5"),
        ("int", "29 / 3 * 10 + 29 % 3", "92"),
        ("int", "1 | 16 >> 2", "5"),
        ("int", "0x0f ^ 0x33 & 0x99", "30"),
        ("int", "~42 & (1 << 3 | 16 >> 2) ^ 7", "3"),
        ("int", "1 || 1 && 0", "1"),
        ("int", "1 == 4 == 0", "1"),
        ("int", "2 < 3 <= 3 > 4", "0"),
        ("int", "!0 + !5", "1"),
        ("int", "8 << -1", "4"),
        ("int", "1 << 30 >> 30", "1"),
        ("int", "B * 7", "42"),
        ("int", "X.B + p.X.B", "12"),
        ("int", "E.FOUR << 2", "16"),
        ("long", "B", "6"),
        ("boolean", "true", "true"),
        ("boolean", "B > 5 && E.TWO != 3", "true"),
        ("boolean", "!true", "false"),
    ] {
        assert_eq!(value(of, expression), wanted, "{of} {expression}");
    }
}

#[test]
fn fractions_keep_their_value() {
    for (of, expression, wanted) in [
        ("float", "3.14f", "3.140000f32"),
        ("double", "-3.14e17", "-314000000000000000.000000f64"),
        ("double", "3.14f", "3.140000f64"),
        ("double", ".5", "0.500000f64"),
        ("double", "1.", "1.000000f64"),
        ("float", "1", "1.000000f32"),
        ("double", "- -1.5", "1.500000f64"),
        // Six digits would make nothing of these.
        ("double", "1e-9", "1e-9f64"),
        ("double", "0.1234567891", "0.1234567891f64"),
        ("float", "1.5e-10f", "1.5e-10f32"),
    ] {
        assert_eq!(value(of, expression), wanted, "{of} {expression}");
    }
}

#[test]
fn texts_and_characters() {
    for (of, expression, wanted) in [
        ("String", "\"a\" + \"b\" + \"c\"", "\"abc\""),
        ("String", "\"\"", "\"\""),
        ("String", "\"it's {}\"", "\"it's {}\""),
        ("char", "'x'", "'x' as u16"),
        ("char", "'\\''", "'\\'' as u16"),
        ("char", "'\\n'", "'\\n' as u16"),
        ("char", "'\"'", "'\"' as u16"),
        ("char", "'\\u20ac'", "'\u{20ac}' as u16"),
    ] {
        assert_eq!(value(of, expression), wanted, "{of} {expression}");
    }
}

#[test]
fn enumerators_count_from_the_last_that_says_its_value() {
    let text = code(
        "p/E.aidl",
        "package p; @Backing(type=\"long\") enum E { A, B, C = 1L << 40, D, E = A - 5, F, G = C, H = 1 < 2, }",
    );
    let values: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("r#")?.strip_suffix(',')).collect();
    let wanted = [
        "A = 0",
        "B = 1",
        "C = 1099511627776",
        "D = 1099511627777",
        "E = -5",
        "F = -4",
        "G = 1099511627776",
        "H = 1",
    ];
    assert_eq!(values, wanted);
    // One may be named before it is counted.
    let text = code("p/E.aidl", "package p; enum E { A = C + 1, B = 5, C }");
    assert!(text.contains("r#A = 7,"), "{text}");
}
