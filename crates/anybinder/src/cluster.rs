//! `anybinder servicemanager --cluster`: the program beside this one that keeps names in etcd.
//!
//! It is a program of its own because it is large: users of one machine neither carry nor build its parts.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::cli::{ClusterArguments, ServicemanagerOptions};
use crate::failure::{Failure, failed};
use crate::this_program;

/// Its name.
const PROGRAM: &str = "anybinder-cluster";

/// Becomes it. Returns only why it cannot.
pub(crate) fn become_manager(
    options: &ServicemanagerOptions,
    cluster: &ClusterArguments,
    verbose: u8,
) -> Failure {
    if options.policy.is_none() && !options.allow_all {
        return Failure::new("sharing names with other machines", "nothing says who may do what")
            .advise(
                "`--policy FILE`, or `--allow-all` for every machine with a certificate of --ca",
            );
    }
    let program = match this_program::path() {
        Ok(this) => std::path::Path::new(&this).with_file_name(PROGRAM),
        Err(failure) => return failure,
    };
    let program = if program.exists() { program.into_os_string() } else { PROGRAM.into() };
    let mut command = Command::new(&program);
    command.arg("serve").args((0..verbose).map(|_| "-v"));
    command.args(arguments(options, cluster)).arg("--").arg(options.device());
    let error = command.exec();
    failed(&format!("starting {}", program.display()))(error).advise(
        "names of many machines are kept by a program of its own, which is to lie beside this one",
    )
}

fn arguments(options: &ServicemanagerOptions, cluster: &ClusterArguments) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let texts = [
        ("--cluster", &cluster.cluster),
        ("--advertise", &cluster.advertise),
        ("--listen", &cluster.listen),
        ("--etcd-user", &cluster.etcd_user),
    ];
    for (option, text) in texts {
        if let Some(text) = text {
            arguments.extend([option.into(), text.into()]);
        }
    }
    let files = [
        ("--certificate", &cluster.certificate),
        ("--key", &cluster.key),
        ("--ca", &cluster.ca),
        ("--revoked", &cluster.revoked),
        ("--users", &cluster.users),
        ("--users-key", &cluster.users_key),
        ("--etcd-ca", &cluster.etcd_ca),
        ("--etcd-certificate", &cluster.etcd_certificate),
        ("--etcd-key", &cluster.etcd_key),
        ("--etcd-password-file", &cluster.etcd_password_file),
        ("--policy", &options.policy),
        ("--declared", &options.declared),
    ];
    for (option, file) in files {
        if let Some(file) = file {
            arguments.extend([option.into(), file.into()]);
        }
    }
    if let Some(address) = options.metrics {
        arguments.push(format!("--metrics={address}").into());
    }
    if options.allow_all {
        arguments.push("--allow-all".into());
    }
    arguments.push(format!("--lease={}", cluster.lease).into());
    arguments.push(format!("--dialect={}", options.dialect).into());
    arguments
}
