//! `anybinder service call`: one transaction, made of words.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::str::FromStr;

use binder::StatusCode;
use binder::binder_impl::{BorrowedParcel, IBinderInternal as _, Parcel};
use serde::Serialize;

use super::{Asked, hex};
use crate::cli::ServiceCallOptions;
use crate::failure::{Failure, failed};
use crate::inspect::print;

pub(super) fn run(asked: &Asked, options: &ServiceCallOptions) -> Result<ExitCode, Failure> {
    let service = asked.require(&options.name)?;
    let tried = format!("preparing a call of {}", options.name);
    let mut data = service.prepare_transact().map_err(failed(&tried))?;
    let mut words = options.arguments.iter();
    while let Some(kind) = words.next() {
        write(&mut data, kind, &mut words)?;
    }
    let reply = service.submit_transact(options.code, data, 0);
    if asked.is_json {
        asked.print_json(&CalledRecord::of(&reply))?;
    } else {
        print(&format!("Result: {}\n", hex::describe(&reply)))?;
    }
    Ok(if reply.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the next argument.
fn write<'w>(
    data: &mut BorrowedParcel<'_>,
    kind: &OsStr,
    words: &mut impl Iterator<Item = &'w OsString>,
) -> Result<(), Failure> {
    let kind = kind.to_string_lossy();
    let mut next = || {
        let missing = || Failure::new(format!("reading '{kind}'"), "its value is missing");
        words.next().map(OsString::as_os_str).ok_or_else(missing)
    };
    let written = match &*kind {
        "i32" => data.write(&number::<i32>(next()?)?),
        "u32" => data.write(&number::<u32>(next()?)?),
        "i64" => data.write(&number::<i64>(next()?)?),
        "u64" => data.write(&number::<u64>(next()?)?),
        "f" => data.write(&number::<f32>(next()?)?),
        "d" => data.write(&number::<f64>(next()?)?),
        "s16" => data.write(&*next()?.to_string_lossy()),
        "null" => data.write_binder(None),
        "fd" => {
            let path = next()?;
            let tried = format!("opening {}", path.to_string_lossy());
            data.write_file(File::open(path).map_err(failed(&tried))?.as_fd())
        }
        "nfd" => {
            let fd: u32 = number(next()?)?;
            match fd {
                0 => data.write_file(io::stdin().as_fd()),
                1 => data.write_file(io::stdout().as_fd()),
                2 => data.write_file(io::stderr().as_fd()),
                // By its name: another open of the file has a position of its own.
                _ => {
                    let tried = format!("opening the file that is open here as {fd}");
                    let file = File::open(format!("/proc/self/fd/{fd}")).map_err(failed(&tried))?;
                    data.write_file(file.as_fd())
                }
            }
        }
        _ => {
            return Err(Failure::new(format!("reading '{kind}'"), "it is no type of an argument")
                .advise("anybinder service call --help"));
        }
    };
    written.map_err(failed(&format!("writing '{kind}'")))
}

fn number<T: FromStr>(word: &OsStr) -> Result<T, Failure> {
    let word = word.to_string_lossy();
    word.parse().map_err(|_| {
        Failure::new(format!("reading '{word}'"), "it is no number of the type before it")
    })
}

/// The outcome of a call.
#[derive(Serialize)]
struct CalledRecord {
    status: String,
    /// The bytes, two digits each, in their order.
    data: String,
    objects: Vec<ObjectRecord>,
}

#[derive(Serialize)]
struct ObjectRecord {
    offset: usize,
    kind: &'static str,
    value: u64,
}

impl CalledRecord {
    fn of(reply: &Result<Parcel, StatusCode>) -> Self {
        let parcel = match reply {
            Ok(parcel) => parcel,
            Err(status) => {
                return Self {
                    status: status.to_string(),
                    data: String::new(),
                    objects: Vec::new(),
                };
            }
        };
        let objects = parcel.objects();
        let object = |it: &binder::transport::ParcelObject| {
            let (kind, value) = hex::kind_and_value(parcel.bytes(), it.offset, &it.held);
            ObjectRecord { offset: it.offset, kind, value }
        };
        Self {
            status: StatusCode::OK.to_string(),
            data: parcel.bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
            objects: objects.iter().map(object).collect(),
        }
    }
}
