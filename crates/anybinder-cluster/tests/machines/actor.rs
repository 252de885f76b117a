//! A service in a process of its own, and its clients: programs that know of one device, and of no cluster.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};

use binder::binder_impl::{
    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, IBinderInternal as _, Parcel, Remotable,
    TransactionCode,
};
use binder::service_manager::ServiceManager;
use binder::transport::driver::DriverDevice;
use binder::{
    DeathRecipient, IBinder as _, Interface as _, ParcelFileDescriptor, SpIBinder, StatusCode,
    ThreadState,
};
use binder_os::acting_user::ActingUser;
use binder_testkit::HANG_TIMEOUT;

/// What makes this program a service.
pub(crate) const SERVE: &str = "serve-as-actor";
/// Answers with the word of the service.
const TELL: TransactionCode = FIRST_CALL_TRANSACTION;
/// Calls an object that comes along, and answers with what that says.
const CALL_BACK: TransactionCode = FIRST_CALL_TRANSACTION + 1;
/// Gives back the file that comes along.
const GIVE_BACK: TransactionCode = FIRST_CALL_TRANSACTION + 2;

/// Answers how often the word was told.
const COUNT: TransactionCode = FIRST_CALL_TRANSACTION + 3;

/// Answers with the user of the caller.
const WHO: TransactionCode = FIRST_CALL_TRANSACTION + 4;
/// Calls an object that comes along, as a user that is told, and answers with the user that it sees.
const WHO_CALLS_BACK: TransactionCode = FIRST_CALL_TRANSACTION + 5;
/// Gives an object of its own.
const MORE: TransactionCode = FIRST_CALL_TRANSACTION + 6;

/// A service that says one word.
struct Word {
    word: String,
    told: AtomicI32,
}

impl Remotable for Word {
    fn get_descriptor() -> &'static str {
        "test.IWord"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match code {
            TELL => {
                self.told.fetch_add(1, Ordering::Relaxed);
                reply.write(&self.word)
            }
            COUNT => reply.write(&self.told.load(Ordering::Relaxed)),
            CALL_BACK => {
                let callback: SpIBinder = data.read()?;
                reply.write(&word_of(&callback)?)
            }
            GIVE_BACK => reply.write(&data.read::<ParcelFileDescriptor>()?),
            WHO => reply.write(&i64::from(ThreadState::get_calling_uid())),
            WHO_CALLS_BACK => {
                let (callback, uid): (SpIBinder, i64) = (data.read()?, data.read()?);
                let _user = ActingUser::enter(uid.try_into().unwrap()).unwrap();
                reply.write(&caller_seen_by(&callback)?)
            }
            MORE => reply.write(&new_word("more")),
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }

    fn on_dump(&self, out: &mut dyn Write, _: &[&std::ffi::CStr]) -> Result<(), StatusCode> {
        out.write_all(self.word.as_bytes()).map_err(|_| StatusCode::FAILED_TRANSACTION)
    }
}

pub(crate) fn serve(arguments: &[String]) -> ExitCode {
    let [device, name, word] = arguments else { return ExitCode::FAILURE };
    let device = DriverDevice::open(Path::new(device)).unwrap();
    device.start_thread_pool().unwrap();
    let service = new_word(word);
    ServiceManager::of(&device).unwrap().add(name, &service).unwrap();
    println!("ready");
    io::stdout().flush().unwrap();
    // Until it is killed, or the process that started it has ended.
    let _ = io::stdin().read(&mut [0]);
    process::exit(0);
}

pub(crate) fn new_word(word: &str) -> SpIBinder {
    Binder::new(Word { word: word.to_owned(), told: AtomicI32::new(0) }).as_binder()
}

/// An object that keeps who calls it until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    has_caller: bool,
    is_open: bool,
}

impl Gate {
    pub(crate) fn object(&self) -> SpIBinder {
        Binder::new(self.clone()).as_binder()
    }

    fn change(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn wait_until(&self, fact: impl Fn(&GateState) -> bool) {
        let state = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(state, HANG_TIMEOUT, |state| !fact(state));
        assert!(!waited.unwrap().1.timed_out());
    }

    pub(crate) fn wait_for_caller(&self) {
        self.wait_until(|state| state.has_caller);
    }

    pub(crate) fn open(&self) {
        self.change(|state| state.is_open = true);
    }
}

impl Remotable for Gate {
    fn get_descriptor() -> &'static str {
        "test.IWord"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        self.change(|state| state.has_caller = true);
        self.wait_until(|state| state.is_open);
        reply.write("open")
    }

    fn on_dump(&self, _: &mut dyn Write, _: &[&std::ffi::CStr]) -> Result<(), StatusCode> {
        Ok(())
    }
}

/// A process that serves a word at a device.
pub(crate) struct Service(Child);

impl Service {
    pub(crate) fn start(device: &Path, name: &str, word: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .arg(SERVE)
            .arg(device)
            .args([name, word])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call(
    object: &SpIBinder,
    code: TransactionCode,
    write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
) -> Result<Parcel, StatusCode> {
    let mut data = object.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
    data.write_interface_token("test.IWord")?;
    write(&mut data)?;
    object.submit_transact(code, data, 0)
}

/// What a service says.
pub(crate) fn word_of(object: &SpIBinder) -> Result<String, StatusCode> {
    call(object, TELL, |_| Ok(()))?.read()
}

/// How often it has said so, to any caller.
pub(crate) fn count_of(object: &SpIBinder) -> i32 {
    call(object, COUNT, |_| Ok(())).unwrap().read().unwrap()
}

/// As which user this thread calls, by the service's word.
pub(crate) fn caller_seen_by(object: &SpIBinder) -> Result<i64, StatusCode> {
    call(object, WHO, |_| Ok(()))?.read()
}

/// As which user the service calls back when it is that one, by the word of an object of ours.
pub(crate) fn caller_seen_by_callback(
    object: &SpIBinder,
    callback: &SpIBinder,
    uid: u32,
) -> Result<i64, StatusCode> {
    let write = |data: &mut BorrowedParcel<'_>| {
        data.write(callback)?;
        data.write(&i64::from(uid))
    };
    call(object, WHO_CALLS_BACK, write)?.read()
}

/// A further object of the service.
pub(crate) fn more_of(object: &SpIBinder) -> Result<SpIBinder, StatusCode> {
    call(object, MORE, |_| Ok(()))?.read()
}

/// What a service hears from an object of ours.
pub(crate) fn call_back(object: &SpIBinder, callback: &SpIBinder) -> Result<String, StatusCode> {
    call(object, CALL_BACK, |data| data.write(callback))?.read()
}

/// Calls a method that there is not.
pub(crate) fn send_unknown(object: &SpIBinder) -> Result<(), StatusCode> {
    call(object, MORE + 1, |_| Ok(())).map(drop)
}

/// Sends a file, and returns what comes back for it.
pub(crate) fn give_back(
    object: &SpIBinder,
    file: impl Into<OwnedFd>,
) -> Result<OwnedFd, StatusCode> {
    let file = ParcelFileDescriptor::new(file);
    let back: ParcelFileDescriptor = call(object, GIVE_BACK, |data| data.write(&file))?.read()?;
    Ok(back.into())
}

/// A link to the death of an object.
pub(crate) struct DeathWatch {
    heard: mpsc::Receiver<()>,
    _recipient: DeathRecipient,
}

impl DeathWatch {
    pub(crate) fn of(object: &SpIBinder) -> Self {
        let (told, heard) = mpsc::channel();
        let recipient = DeathRecipient::new(move || {
            // Its test may be over.
            let _ = told.send(());
        });
        object.link_to_death(&recipient).unwrap();
        Self { heard, _recipient: recipient }
    }

    #[track_caller]
    pub(crate) fn wait(&self) {
        assert_eq!(self.heard.recv_timeout(HANG_TIMEOUT), Ok(()), "the death is told");
    }

    /// Whether the death was told and not waited for.
    pub(crate) fn is_told(&self) -> bool {
        self.heard.try_recv().is_ok()
    }
}
