//! `cargo xtask check`: what no compiler checks.

mod circles;
mod edges;
mod manifest;
mod names;
mod sources;

use crate::TaskFailure;

/// Runs all checks and reports everything they find.
pub(crate) fn run() -> Result<(), TaskFailure> {
    let mut complaints = edges::complaints()?;
    complaints.extend(manifest::complaints()?);
    complaints.extend(circles::complaints()?);
    complaints.extend(names::complaints()?);
    complaints.extend(sources::complaints()?);
    complaints.extend(crate::schema::complaint()?);
    complaints.extend(crate::package::complaints()?);
    sources::print_unsafe_modules()?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        println!("check: ok");
        Ok(())
    } else {
        Err(format!("{} complaints", complaints.len()).into())
    }
}
