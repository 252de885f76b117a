//! What becomes of a check.

use std::error::Error;
use std::fmt::Debug;

/// Nothing, or what went wrong.
pub type Outcome = Result<(), Box<dyn Error>>;

/// Compares an answer with what it must be.
///
/// # Errors
///
/// The two, if they differ.
pub fn expect<T: Debug + PartialEq<U>, U: Debug>(what: &str, got: T, wanted: U) -> Outcome {
    if got == wanted {
        Ok(())
    } else {
        Err(format!("{what}: got {got:?}, wanted {wanted:?}").into())
    }
}
