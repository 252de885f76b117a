//! Calls as clients of each release of Android make them, by numbers that are written down here.

use std::io::Write as _;
use std::path::Path;

use binder::binder_impl::{
    Binder, BorrowedParcel, FLAG_ONEWAY, IBinderInternal as _, Parcel, Remotable, TransactionCode,
};
use binder::transport::driver::DriverDevice;
use binder::{ExceptionCode, Interface as _, SpIBinder, Status, StatusCode};
use foreign::READY;

use crate::lifetimes::add;
use crate::served::new_adder;
use crate::{Check, Outcome, Place, same, soon};

pub(crate) const CHECKS: &[Check] = &[
    ("a_manager_of_android_11_serves_its_clients", |place| serve(place, "11")),
    ("a_manager_of_android_12_serves_its_clients", |place| serve(place, "12")),
    ("a_manager_of_android_13_serves_its_clients", |place| serve(place, "13")),
    ("a_manager_of_android_14_serves_its_clients", |place| serve(place, "14")),
    ("a_manager_of_android_15_serves_its_clients", |place| serve(place, "15")),
    ("a_manager_of_android_16_serves_its_clients", |place| serve(place, "16")),
    ("one_manager_serves_clients_of_all_releases_at_once", serve_all),
    ("clients_of_android_10_and_before_are_known_by_their_token", serve_old),
    ("exceptions_are_those_of_android", tell_exceptions),
];

const MANAGER: &str = "android.os.IServiceManager";

/// The numbers of a release's methods, as its AIDL file counts them: the first is 1. 0 where there is none.
struct Numbers {
    get: u32,
    get2: u32,
    check: u32,
    /// Whether `check` answers with a union.
    check_is_union: bool,
    check2: u32,
    add: u32,
    list: u32,
    listen: u32,
    unlisten: u32,
    is_declared: u32,
    instances: u32,
    apex: u32,
    updatable: u32,
    connection: u32,
    clients: u32,
    unregister: u32,
    debug: u32,
}

/// What a row is without the two newest methods, and what it has of those that came with 12 to 14.
const fn row(
    check: u32,
    check_is_union: bool,
    check2: u32,
    add: u32,
    late: [u32; 5],
    last: [u32; 3],
) -> Numbers {
    let [instances, apex, updatable, connection, debug] = late;
    let [clients, unregister, get2] = last;
    Numbers {
        get: 1,
        get2,
        check,
        check_is_union,
        check2,
        add,
        list: add + 1,
        listen: add + 2,
        unlisten: add + 3,
        is_declared: add + 4,
        instances,
        apex,
        updatable,
        connection,
        clients,
        unregister,
        debug,
    }
}

const NUMBERS: [(&str, Numbers); 6] = [
    ("11", row(2, false, 0, 3, [0, 0, 0, 0, 0], [8, 9, 0])),
    ("12", row(2, false, 0, 3, [8, 9, 0, 0, 12], [10, 11, 0])),
    ("13", row(2, false, 0, 3, [8, 9, 0, 10, 13], [11, 12, 0])),
    ("14", row(2, false, 0, 3, [8, 9, 10, 11, 14], [12, 13, 0])),
    ("15", row(3, true, 0, 4, [9, 10, 11, 12, 15], [13, 14, 2])),
    ("16", row(3, false, 4, 5, [10, 11, 12, 13, 16], [14, 15, 2])),
];

/// Calls a method, and returns its answer behind the status.
fn call(
    manager: &SpIBinder,
    code: TransactionCode,
    write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
) -> Outcome<Parcel> {
    let (reply, status) = call_raw(manager, code, write)?;
    if status.is_ok() { Ok(reply) } else { Err(format!("{code}: {status}").into()) }
}

fn call_raw(
    manager: &SpIBinder,
    code: TransactionCode,
    write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
) -> Outcome<(Parcel, Status)> {
    let mut data = empty(manager);
    data.write_interface_token(MANAGER)?;
    write(&mut data)?;
    let reply = manager.submit_transact(code, data, 0)?;
    let status = reply.read()?;
    Ok((reply, status))
}

fn empty(object: &SpIBinder) -> Parcel {
    object.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()))
}

/// Reads the union of a service and its metadata.
fn read_union(reply: &Parcel) -> Outcome<Option<SpIBinder>> {
    let head: [i32; 3] = [reply.read()?, reply.read()?, reply.read()?];
    same(head, [1, 0, 1])?;
    let len_bytes: i32 = reply.read()?;
    let service = reply.read()?;
    let is_lazy: bool = reply.read()?;
    same((len_bytes, is_lazy), (4 + 28 + 4, false))?;
    same(reply.get_data_position(), reply.get_data_size())?;
    Ok(service)
}

/// An object that is told of registrations, and of clients.
struct Callback(std::sync::mpsc::Sender<String>);

impl Remotable for Callback {
    fn get_descriptor() -> &'static str {
        "android.os.IServiceCallback"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        _reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let (name, service): (String, SpIBinder) = (data.read()?, data.read()?);
        let is_whole = data.get_data_position() == data.get_data_size();
        let said = format!("{code} {name} {:?} {is_whole}", add(&service, 1, 1));
        // The check has ended if this fails.
        let _ = self.0.send(said);
        Ok(())
    }
}

/// Makes every call of a release.
pub(crate) fn speak(device: &Path, release: &str) -> Outcome {
    let numbers = NUMBERS.iter().find(|row| row.0 == release).ok_or("no such release")?;
    let numbers = &numbers.1;
    let device = DriverDevice::open(device)?;
    device.start_thread_pool()?;
    let manager = device.context_object()?;
    let name = format!("of.{release}");
    let (adder, callback, told) = {
        let (teller, told) = std::sync::mpsc::channel();
        (new_adder(), Binder::new(Callback(teller)).as_binder(), told)
    };

    call(&manager, numbers.add, |data| {
        data.write(&name)?;
        data.write(&adder)?;
        data.write(&false)?;
        data.write(&8_i32)
    })?;
    let by_name = |data: &mut BorrowedParcel<'_>| data.write(&name);
    let found = call(&manager, numbers.get, by_name)?.read::<Option<SpIBinder>>()?;
    same(found.as_ref() == Some(&adder), true)?;
    let reply = call(&manager, numbers.check, by_name)?;
    let found = if numbers.check_is_union { read_union(&reply)? } else { reply.read()? };
    same(found.as_ref() == Some(&adder), true)?;
    for code in [numbers.get2, numbers.check2].into_iter().filter(|code| *code != 0) {
        let found = read_union(&call(&manager, code, by_name)?)?;
        same(found.as_ref() == Some(&adder), true)?;
        let missing = call(&manager, code, |data| data.write("nobody"))?;
        same(read_union(&missing)?.is_none(), true)?;
    }
    let names: Vec<String> = call(&manager, numbers.list, |data| data.write(&8_i32))?.read()?;
    same(names.contains(&name), true)?;

    let with_callback = |data: &mut BorrowedParcel<'_>| {
        data.write(&name)?;
        data.write(&callback)
    };
    call(&manager, numbers.listen, with_callback)?;
    same(told.recv()?, format!("1 {name} Ok(2) true"))?;
    call(&manager, numbers.unlisten, with_callback)?;
    let again = call_raw(&manager, numbers.unlisten, with_callback)?.1;
    same(again.exception_code(), ExceptionCode::ILLEGAL_STATE)?;

    // What tells Android 11 to 14 from each other, which have the numbers so far in common.
    call(&manager, numbers.clients, |data| {
        data.write(&name)?;
        data.write(&adder)?;
        data.write(&callback)
    })?;
    let declared = call(&manager, numbers.is_declared, |data| data.write("a.IFoo/default"))?;
    same(declared.read::<bool>()?, true)?;
    if numbers.instances != 0 {
        let instances = call(&manager, numbers.instances, |data| data.write("a.IFoo"))?;
        same(instances.read::<Vec<String>>()?, vec!["default".to_owned()])?;
        let apex = call(&manager, numbers.apex, |data| data.write("a.IFoo/default"))?;
        same(apex.read::<Option<String>>()?, Some("com.x".to_owned()))?;
        let debug = call(&manager, numbers.debug, |_| Ok(()))?;
        // Others that were listed may have gone since.
        let count: i32 = debug.read()?;
        same(count > 0, true)?;
    }
    if numbers.updatable != 0 {
        let names = call(&manager, numbers.updatable, |data| data.write("com.x"))?;
        same(names.read::<Vec<String>>()?, vec!["a.IFoo/default".to_owned()])?;
    }
    if numbers.connection != 0 {
        let place = call(&manager, numbers.connection, |data| data.write("a.IFoo/default"))?;
        let (is_there, _len_bytes): (i32, i32) = (place.read()?, place.read()?);
        let (ip, port): (String, i32) = (place.read()?, place.read()?);
        same((is_there, ip.as_str(), port), (1, "10.0.0.1", 4242))?;
    }

    // A client that has just found it may be about to hold it, even if clients are counted meanwhile.
    call(&manager, numbers.get, by_name)?;
    let with_service = |data: &mut BorrowedParcel<'_>| {
        data.write(&name)?;
        data.write(&adder)
    };
    let refused = call_raw(&manager, numbers.unregister, with_service)?.1;
    same(refused.exception_code(), ExceptionCode::ILLEGAL_STATE)?;
    println!("{READY}");
    std::io::stdout().flush()?;
    Ok(())
}

const DECLARED: &str = "a.IFoo/default apex=com.x address=10.0.0.1:4242\n";

/// A file of declarations, which goes with this.
struct Declared(std::path::PathBuf);

impl Declared {
    fn new(name: &str) -> Outcome<Self> {
        let file = format!("manager-declared-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::write(&path, DECLARED)?;
        Ok(Self(path))
    }
}

impl Drop for Declared {
    fn drop(&mut self) {
        // Nothing else depends on it.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn serve(place: &Place, release: &str) -> Outcome {
    let declared = Declared::new(release)?;
    let file = declared.0.to_string_lossy();
    let _manager = place.manager(&["--dialect", release, "--declared", &file])?;
    place.program("speak", release)?.succeed()?;
    // Our own library finds out what it speaks.
    let (_device, manager) = place.connect()?;
    same(format!("{:?}", manager.dialect()), format!("Android{release}"))?;
    manager.add("ours", &new_adder())?;
    same(manager.get("ours")?.is_some() && manager.check("ours")?.is_some(), true)
}

fn serve_all(place: &Place) -> Outcome {
    let declared = Declared::new("all")?;
    let file = declared.0.to_string_lossy();
    let _manager = place.manager(&["--declared", &file])?;
    for _ in 0..3 {
        let start = |row: &(&str, Numbers)| place.program("speak", row.0);
        let speakers = NUMBERS.iter().map(start).collect::<Outcome<Vec<_>>>()?;
        speakers.into_iter().try_for_each(crate::Program::succeed)?;
    }
    let (_device, manager) = place.connect()?;
    same(format!("{:?}", manager.dialect()), "Android16".to_owned())?;
    soon("all are gone", || manager.list().is_ok_and(|names| names == ["manager"]))
}

/// A call of Android 10, or of 9 and before, whose tokens are shorter.
fn call_old(
    manager: &SpIBinder,
    words: usize,
    code: TransactionCode,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> Result<Parcel, StatusCode> {
    let mut data = empty(manager);
    for _ in 0..words {
        data.write(&-1_i32)?;
    }
    data.write(MANAGER)?;
    write(&mut data)?;
    manager.submit_transact(code, data, 0)
}

fn serve_old(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (device, _) = place.connect()?;
    let manager = device.context_object()?;
    let adder = new_adder();
    for (words, name) in [(1, "of.9"), (2, "of.10")] {
        let added = call_old(&manager, words, 3, |data| {
            data.write(name)?;
            data.write_bare_binder(Some(&adder))?;
            data.write(&0_i32)?;
            if words == 2 { data.write(&8_i32) } else { Ok(()) }
        });
        let added = added?;
        same((added.read::<i32>()?, added.get_data_size()), (0, 4))?;
        for code in [1, 2] {
            let found = call_old(&manager, words, code, |data| data.write(name))?;
            same(found.read_bare_binder()?.as_ref() == Some(&adder), true)?;
            same(found.get_data_size(), 24)?;
            let missing = call_old(&manager, words, code, |data| data.write("nobody"))?;
            same((missing.read::<i32>()?, missing.get_data_size()), (0, 4))?;
        }
        let mut names = Vec::new();
        let end = loop {
            let index = i32::try_from(names.len())?;
            let reply = call_old(&manager, words, 4, |data| {
                data.write(&index)?;
                if words == 2 { data.write(&15_i32) } else { Ok(()) }
            });
            match reply {
                Ok(reply) => names.push(reply.read::<String>()?),
                Err(status) => break status,
            }
        };
        same(names.contains(&name.to_owned()) && names.contains(&"manager".to_owned()), true)?;
        same(end, StatusCode::PERMISSION_DENIED)?;
        let unnamed = call_old(&manager, words, 3, |data| {
            data.write("")?;
            data.write_bare_binder(Some(&adder))?;
            data.write(&0_i32)
        });
        same(unnamed.err(), Some(StatusCode::PERMISSION_DENIED))?;
        let unknown = call_old(&manager, words, 5, |_| Ok(()));
        same(unknown.err(), Some(StatusCode::UNKNOWN_TRANSACTION))?;
    }
    Ok(())
}

fn tell_exceptions(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (device, _) = place.connect()?;
    let (manager, adder) = (device.context_object()?, new_adder());
    let numbers = &NUMBERS[5].1;
    let refused = |code, write: &dyn Fn(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>| {
        call_raw(&manager, code, write).map(|(_, status)| status.exception_code())
    };
    let null: Option<SpIBinder> = None;
    let null_service = refused(numbers.add, &|data| {
        data.write("x")?;
        data.write(&null)?;
        data.write(&false)?;
        data.write(&8_i32)
    })?;
    same(null_service, ExceptionCode::NULL_POINTER)?;
    let unnamed = refused(numbers.listen, &|data| {
        data.write("no name")?;
        data.write(&adder)
    })?;
    same(unnamed, ExceptionCode::ILLEGAL_ARGUMENT)?;
    let unknown = refused(numbers.unregister, &|data| {
        data.write("x")?;
        data.write(&adder)
    })?;
    same(unknown, ExceptionCode::ILLEGAL_STATE)?;
    let _other = place.program("serve", "theirs")?;
    let theirs = refused(numbers.clients, &|data| {
        data.write("theirs")?;
        data.write(&adder)?;
        data.write(&adder)
    })?;
    same(theirs, ExceptionCode::UNSUPPORTED_OPERATION)?;
    // What no release has.
    let none = call_raw(&manager, 100, |_| Ok(())).map(drop).map_err(|error| error.to_string());
    same(none, Err(StatusCode::UNKNOWN_TRANSACTION.to_string()))?;
    // A one-way concerns the manager as well.
    let mut data = empty(&manager);
    data.write_interface_token(MANAGER)?;
    manager.submit_transact(numbers.debug, data, FLAG_ONEWAY)?;
    Ok(())
}
