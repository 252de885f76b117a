//! Numbers of constant expressions, as AIDL computes with them.

use core::cmp::Ordering;

use crate::syntax::BinaryOperator;

/// How wide a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    Byte,
    Int,
    Long,
}

/// A number without a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) value: i64,
    pub(crate) width: Width,
}

/// Why there is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoNumber {
    /// It is not written as one.
    Malformed,
    /// It does not fit its type.
    Overflow,
    /// It is a quotient by zero.
    DivisionByZero,
    /// It is shifted by its own width or more.
    ShiftTooFar,
}

impl Number {
    pub(crate) fn new(value: i64, width: Width) -> Self {
        Self { value, width }
    }

    /// The number that is written so. Hexadecimal numbers are bits: `0xffffffff` is -1, as in Java.
    pub(crate) fn parse(text: &str) -> Result<Self, NoNumber> {
        let (digits, is_byte, is_long) = split_suffix(text);
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let bits = match hexadecimal {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse::<u64>(),
        };
        let bits = bits.map_err(|error| match error.kind() {
            core::num::IntErrorKind::PosOverflow => NoNumber::Overflow,
            _ => NoNumber::Malformed,
        })?;
        if is_byte {
            let bits = u8::try_from(bits).map_err(|_| NoNumber::Overflow)?;
            return Ok(Self::new(bits.cast_signed().into(), Width::Byte));
        }
        let int = match hexadecimal {
            Some(_) => u32::try_from(bits).map(u32::cast_signed).ok(),
            None => i32::try_from(bits).ok(),
        };
        match (int, hexadecimal) {
            (Some(int), _) if !is_long => Ok(Self::new(int.into(), Width::Int)),
            (_, Some(_)) => Ok(Self::new(bits.cast_signed(), Width::Long)),
            (_, None) => {
                let value = i64::try_from(bits).map_err(|_| NoNumber::Overflow)?;
                Ok(Self::new(value, Width::Long))
            }
        }
    }

    /// The negative of the number that is written so, which may be the least there is.
    pub(crate) fn parse_negative(text: &str) -> Result<Self, NoNumber> {
        let (digits, ..) = split_suffix(text);
        match digits.parse::<u64>() {
            Ok(bits) if bits == i64::MIN.unsigned_abs() => Ok(Self::new(i64::MIN, Width::Long)),
            _ => Self::parse(text)?.negated(),
        }
    }

    /// As an operand: numbers are at least as wide as an int.
    pub(crate) fn promoted(self) -> Self {
        Self { width: self.width.max(Width::Int), ..self }
    }

    pub(crate) fn negated(self) -> Result<Self, NoNumber> {
        let Self { value, width } = self.promoted();
        fit(value.checked_neg(), width)
    }

    /// All bits turned.
    pub(crate) fn complement(self) -> Self {
        let Self { value, width } = self.promoted();
        Self { value: !value, width }
    }

    /// The result of an operator on two numbers. Comparisons result in 0 or 1.
    pub(crate) fn apply(self, operator: BinaryOperator, other: Self) -> Result<Self, NoNumber> {
        let (left, right) = (self.promoted(), other.promoted());
        let width = left.width.max(right.width);
        let (a, b) = (left.value, right.value);
        let order = a.cmp(&b);
        let truth = |is_true: bool| Ok(Self::new(is_true.into(), Width::Int));
        match operator {
            BinaryOperator::Or => truth(a != 0 || b != 0),
            BinaryOperator::And => truth(a != 0 && b != 0),
            BinaryOperator::BitOr => fit(Some(a | b), width),
            BinaryOperator::BitXor => fit(Some(a ^ b), width),
            BinaryOperator::BitAnd => fit(Some(a & b), width),
            BinaryOperator::Equal => truth(order == Ordering::Equal),
            BinaryOperator::NotEqual => truth(order != Ordering::Equal),
            BinaryOperator::Less => truth(order == Ordering::Less),
            BinaryOperator::LessOrEqual => truth(order != Ordering::Greater),
            BinaryOperator::Greater => truth(order == Ordering::Greater),
            BinaryOperator::GreaterOrEqual => truth(order != Ordering::Less),
            // A shift is as wide as what it shifts, and one by a negative number goes the other way.
            BinaryOperator::ShiftLeft => left.shifted(b),
            BinaryOperator::ShiftRight => {
                left.shifted(b.checked_neg().ok_or(NoNumber::ShiftTooFar)?)
            }
            BinaryOperator::Add => fit(a.checked_add(b), width),
            BinaryOperator::Subtract => fit(a.checked_sub(b), width),
            BinaryOperator::Multiply => fit(a.checked_mul(b), width),
            BinaryOperator::Divide | BinaryOperator::Remainder if b == 0 => {
                Err(NoNumber::DivisionByZero)
            }
            BinaryOperator::Divide => fit(a.checked_div(b), width),
            BinaryOperator::Remainder => fit(a.checked_rem(b), width),
        }
    }

    /// Shifted to the left, or to the right by a negative number.
    fn shifted(self, by: i64) -> Result<Self, NoNumber> {
        let width_bits = if self.width == Width::Long { 64 } else { 32 };
        let distance = u32::try_from(by.unsigned_abs()).ok().filter(|it| *it < width_bits);
        let distance = distance.ok_or(NoNumber::ShiftTooFar)?;
        let value = match self.width {
            _ if by < 0 => self.value >> distance,
            Width::Long => self.value << distance,
            Width::Byte | Width::Int => {
                // Bits beyond the 32nd fall off.
                let int = i32::try_from(self.value).map_err(|_| NoNumber::Overflow)?;
                (int << distance).into()
            }
        };
        Ok(Self { value, ..self })
    }
}

/// The digits, and whether they are of a byte or of a long.
fn split_suffix(text: &str) -> (&str, bool, bool) {
    if let Some(digits) = text.strip_suffix("u8") {
        return (digits, true, false);
    }
    match text.strip_suffix(['l', 'L']) {
        Some(digits) => (digits, false, true),
        None => (text, false, false),
    }
}

fn fit(value: Option<i64>, width: Width) -> Result<Number, NoNumber> {
    let value = value.ok_or(NoNumber::Overflow)?;
    if width != Width::Long && i32::try_from(value).is_err() {
        return Err(NoNumber::Overflow);
    }
    Ok(Number { value, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> Number {
        Number::new(value, Width::Int)
    }

    fn long(value: i64) -> Number {
        Number::new(value, Width::Long)
    }

    #[test]
    fn numbers_have_the_width_that_they_need() {
        assert_eq!(Number::parse("2147483647"), Ok(int(i32::MAX.into())));
        assert_eq!(Number::parse("2147483648"), Ok(long(1 << 31)));
        assert_eq!(Number::parse("1L"), Ok(long(1)));
        assert_eq!(Number::parse("255u8"), Ok(Number::new(-1, Width::Byte)));
        assert_eq!(Number::parse("256u8"), Err(NoNumber::Overflow));
        assert_eq!(Number::parse("9223372036854775808"), Err(NoNumber::Overflow));
        assert_eq!(Number::parse_negative("9223372036854775808"), Ok(long(i64::MIN)));
        assert_eq!(Number::parse_negative("2147483648"), Ok(long(i32::MIN.into())));
        assert_eq!(Number::parse("12ab"), Err(NoNumber::Malformed));
        assert_eq!(Number::parse("0x"), Err(NoNumber::Malformed));
    }

    #[test]
    fn hexadecimal_numbers_are_bits() {
        assert_eq!(Number::parse("0x7fffffff"), Ok(int(i32::MAX.into())));
        assert_eq!(Number::parse("0xffffffff"), Ok(int(-1)));
        assert_eq!(Number::parse("0xFFFFFFFFL"), Ok(long(0xffff_ffff)));
        assert_eq!(Number::parse("0xffffffffffffffff"), Ok(long(-1)));
        assert_eq!(Number::parse("0x1ffffffffffffffff"), Err(NoNumber::Overflow));
        assert_eq!(Number::parse("0xC0u8"), Ok(Number::new(-64, Width::Byte)));
    }

    #[test]
    fn arithmetic_stays_within_the_wider_operand() {
        let max = int(i32::MAX.into());
        assert_eq!(max.apply(BinaryOperator::Add, int(1)), Err(NoNumber::Overflow));
        assert_eq!(max.apply(BinaryOperator::Add, long(1)), Ok(long(1 << 31)));
        assert_eq!(int(i32::MIN.into()).negated(), Err(NoNumber::Overflow));
        assert_eq!(
            int(i32::MIN.into()).apply(BinaryOperator::Divide, int(-1)),
            Err(NoNumber::Overflow)
        );
        assert_eq!(
            long(i64::MIN).apply(BinaryOperator::Remainder, long(-1)),
            Err(NoNumber::Overflow)
        );
        for operator in [BinaryOperator::Divide, BinaryOperator::Remainder] {
            assert_eq!(int(1).apply(operator, int(0)), Err(NoNumber::DivisionByZero));
        }
    }

    #[test]
    fn shifts_are_as_wide_as_what_they_shift() {
        let shift = |left: Number, by| left.apply(BinaryOperator::ShiftLeft, int(by));
        assert_eq!(shift(int(1), 31), Ok(int(i32::MIN.into())));
        assert_eq!(shift(int(1), 32), Err(NoNumber::ShiftTooFar));
        assert_eq!(shift(long(1), 40), Ok(long(1 << 40)));
        assert_eq!(shift(int(8), -1), Ok(int(4)));
        assert_eq!(int(-8).apply(BinaryOperator::ShiftRight, int(1)), Ok(int(-4)));
        let least = long(i64::MIN);
        assert_eq!(int(1).apply(BinaryOperator::ShiftRight, least), Err(NoNumber::ShiftTooFar));
    }
}
