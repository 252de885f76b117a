//! The object that checks register: it adds, dumps and takes commands.

use std::ffi::CStr;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use binder::binder_impl::{
    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, FLAG_ONEWAY, IBinderInternal as _, Parcel,
    Remotable, TransactionCode,
};
use binder::service_manager::ServiceManager;
use binder::transport::driver::{DriverDevice, ProcessState};
use binder::{Interface as _, SpIBinder, Status, StatusCode};
use foreign::READY;

use crate::Outcome;

/// Adds two numbers.
pub(crate) const ADD: TransactionCode = FIRST_CALL_TRANSACTION;
/// Answers with the length of a file.
const LENGTH: TransactionCode = FIRST_CALL_TRANSACTION + 1;
/// Says how many words a shell gave, and has that as its result.
const SHELL_COMMAND: TransactionCode = u32::from_be_bytes(*b"_CMD");

/// The interface of the object.
pub(crate) const DESCRIPTOR: &str = "checks.IAdder";

pub(crate) struct Adder;

pub(crate) fn new_adder() -> SpIBinder {
    Binder::new(Adder).as_binder()
}

impl Remotable for Adder {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match code {
            ADD => {
                let sum = data.read::<i32>()?.wrapping_add(data.read()?);
                reply.write(&Status::ok())?;
                reply.write(&sum)
            }
            LENGTH => {
                let file = std::fs::File::from(data.read_file()?);
                let text = io::read_to_string(file).map_err(|_| StatusCode::UNKNOWN_ERROR)?;
                reply.write(&i64::try_from(text.len()).map_err(|_| StatusCode::BAD_VALUE)?)
            }
            SHELL_COMMAND => command(data),
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }

    fn on_dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode> {
        writeln!(out, "an adder, told {args:?}").map_err(|_| StatusCode::UNKNOWN_ERROR)
    }
}

/// Copies the input to the output, tells the words, and answers with their number.
fn command(data: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
    let mut input = std::fs::File::from(data.read_file()?);
    let mut output = std::fs::File::from(data.read_file()?);
    let _error = data.read_file()?;
    let words: Vec<String> = data.read()?;
    let opener: SpIBinder = data.read()?;
    let receiver: SpIBinder = data.read()?;
    let done = io::copy(&mut input, &mut output)
        .and_then(|_| writeln!(output, "{words:?}, and {}", read_by(&opener, &words)));
    done.map_err(|_| StatusCode::UNKNOWN_ERROR)?;
    let mut result = like(&receiver);
    result.write_interface_token("com.android.internal.os.IResultReceiver")?;
    result.write(&i32::try_from(words.len()).map_err(|_| StatusCode::BAD_VALUE)?)?;
    receiver.submit_transact(FIRST_CALL_TRANSACTION, result, FLAG_ONEWAY).map(drop)
}

/// Has the process that gave the command open the file of the first word, and reads it.
fn read_by(opener: &SpIBinder, words: &[String]) -> String {
    let asked = || {
        let mut data = like(opener);
        data.write_interface_token("com.android.internal.os.IShellCallback")?;
        data.write(words.first().map_or("", String::as_str))?;
        data.write("label")?;
        data.write("r")?;
        let reply = opener.submit_transact(FIRST_CALL_TRANSACTION, data, 0)?;
        reply.read::<Status>()?;
        reply.read::<Option<binder::ParcelFileDescriptor>>()
    };
    match asked() {
        Ok(Some(file)) => {
            let mut text = String::new();
            let read =
                std::fs::File::from(std::os::fd::OwnedFd::from(file)).read_to_string(&mut text);
            format!("{read:?} bytes")
        }
        other => format!("{other:?}"),
    }
}

fn like(object: &SpIBinder) -> Parcel {
    object.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()))
}

/// Registers an adder and serves until standard input ends.
pub(crate) fn serve(device: &Path, name: &str) -> Outcome {
    let device = DriverDevice::open(device)?;
    device.start_thread_pool()?;
    ServiceManager::of(&device)?.add(name, &new_adder())?;
    println!("{READY}");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// The same, until no client is left.
pub(crate) fn serve_lazy(device: &Path, name: &str) -> Outcome {
    ProcessState::init_with_driver(device)?;
    ProcessState::start_thread_pool();
    binder::register_lazy_service(name, new_adder())?;
    println!("{READY}");
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}
