//! The program that runs.

use std::env;
use std::ffi::OsString;

use crate::failure::{Failure, failed};

/// Its file.
pub(crate) fn path() -> Result<OsString, Failure> {
    Ok(env::current_exe().map_err(failed("finding this program"))?.into_os_string())
}
