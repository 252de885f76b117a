//! `anybinder service shell`: Android's `cmd`.
//!
//! The service gets our standard streams, the words, an object that opens files for it, and one that it tells the
//! result.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};

use binder::binder_impl::{
    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, IBinderInternal as _, Parcel, Remotable,
    TransactionCode,
};
use binder::{
    DeathRecipient, IBinder as _, Interface as _, ParcelFileDescriptor, Status, StatusCode,
};

use super::Asked;
use crate::cli::ServiceShellOptions;
use crate::failure::{Failure, failed};

/// Do what a shell says.
const SHELL_COMMAND_TRANSACTION: TransactionCode = u32::from_be_bytes(*b"_CMD");

pub(super) fn run(asked: &Asked, options: &ServiceShellOptions) -> Result<ExitCode, Failure> {
    let service = asked.require(&options.name)?;
    asked.device.start_thread_pool().map_err(failed("starting a thread"))?;
    let (told, results) = mpsc::channel();
    let died = told.clone();
    let death = DeathRecipient::new(move || {
        // A command that has its result does not wait any more.
        let _ = died.send(Err(StatusCode::DEAD_OBJECT));
    });
    if service.is_remote() {
        service.link_to_death(&death).map_err(failed(&format!("watching {}", options.name)))?;
    }
    let receiver = Binder::new(ResultReceiver(told)).as_binder();
    let opener = Binder::new(FileOpener).as_binder();
    let mut data = service.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
    let written = data.write_file(io::stdin().as_fd()).and_then(|()| {
        data.write_file(io::stdout().as_fd())?;
        data.write_file(io::stderr().as_fd())?;
        data.write_slice_size(Some(&options.arguments))?;
        options.arguments.iter().try_for_each(|word| data.write(word.as_str()))?;
        data.write(&opener)?;
        data.write(&receiver)
    });
    written.map_err(failed("writing the command"))?;
    let tried = format!("giving {} a command", options.name);
    let called = service.submit_transact(SHELL_COMMAND_TRANSACTION, data, 0);
    called.map_err(failed(&tried))?;
    // The channel cannot break: the recipient of the death has an end of it.
    let result = results.recv().unwrap_or(Err(StatusCode::DEAD_OBJECT));
    let result = result.map_err(failed(&tried))?;
    if result == StatusCode::INVALID_OPERATION.code() {
        let answer = "the service takes no commands";
        return Err(Failure::new(tried, answer).advise("anybinder service dump NAME"));
    }
    let [status, ..] = result.to_le_bytes();
    Ok(ExitCode::from(status))
}

/// `com.android.internal.os.IResultReceiver`: told how a command ended.
struct ResultReceiver(Sender<Result<i32, StatusCode>>);

impl Remotable for ResultReceiver {
    fn get_descriptor() -> &'static str {
        "com.android.internal.os.IResultReceiver"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        _reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if code != FIRST_CALL_TRANSACTION {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        // A second result comes too late.
        let _ = self.0.send(Ok(data.read()?));
        Ok(())
    }
}

/// `com.android.internal.os.IShellCallback`: opens files for a service, with the rights of the user who gave the command.
struct FileOpener;

impl Remotable for FileOpener {
    fn get_descriptor() -> &'static str {
        "com.android.internal.os.IShellCallback"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if code != FIRST_CALL_TRANSACTION {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        let path: String = data.read()?;
        let _label: Option<String> = data.read()?;
        let mode: String = data.read()?;
        let file = open(&path, &mode);
        if let Err(error) = &file {
            Failure::new(format!("opening {path} for the service"), error).print();
        }
        reply.write(&Status::ok())?;
        reply.write(&file.ok().map(ParcelFileDescriptor::new))
    }
}

fn open(path: &str, mode: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match mode {
        "r" => options.read(true),
        "r+" => options.read(true).write(true),
        "w" => options.write(true).create(true).truncate(true),
        "w+" => options.read(true).write(true).create(true).truncate(true),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    options.open(path)
}
