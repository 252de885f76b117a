//! `anybinder broker`: what the driver starts for the users that receive files; see
//! [`binder_os::broker`].

use std::process::ExitCode;

use binder_os::{UserAndGroup, broker};

use crate::cli::BrokerOptions;
use crate::failure::{Failure, failed};

pub(crate) fn run(options: &BrokerOptions) -> Result<ExitCode, Failure> {
    let user = UserAndGroup { uid: options.uid, gid: options.gid };
    broker::serve(user).map_err(failed("lending files"))?;
    Ok(ExitCode::SUCCESS)
}
