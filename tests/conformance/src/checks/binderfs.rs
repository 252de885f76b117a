//! The file system that devices are made in.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use binder_testkit::{DeviceRig, Driver, Message, Stage, System, commands};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::registry::checks;

checks! {
    Device c230_a_device_can_be_added_once,
    Device c231_a_name_may_have_255_bytes,
    Device c232_a_device_can_be_removed_and_the_control_cannot,
    Device c233_options_are_those_of_binderfs,
    Device c234_features_are_listed,
    Device c235_a_removed_device_works_for_those_who_have_it,
}

/// The directory of the device under test.
fn mount(stage: &Stage) -> (&dyn System, &Path) {
    let system = stage.rig().system().expect("a check for devices");
    let directory = system.device_path().parent().expect("a device has a directory");
    if !directory.join("binder-control").exists() {
        stage.skip("the device is not in a binderfs");
    }
    (system, directory)
}

/// A fresh device, whatever an earlier run left behind.
fn add(stage: &Stage, name: &str) -> PathBuf {
    let (system, directory) = mount(stage);
    let path = directory.join(name);
    let _ = fs::remove_file(&path);
    system.add_device(name.as_bytes()).unwrap();
    path
}

fn c230_a_device_can_be_added_once(stage: &Stage) {
    let path = add(stage, "added-once");
    let (system, _) = mount(stage);
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o600);
    // A file system in user space cannot serve devices; it serves files.
    assert_eq!(metadata.file_type().is_char_device(), stage.driver() == Driver::Kernel);
    assert_eq!(system.add_device(b"added-once"), Err(Errno::EXIST));
    for name in ["a/b", ".", "..", ""] {
        assert_eq!(system.add_device(name.as_bytes()), Err(Errno::ACCESS), "{name:?}");
    }
    fs::remove_file(path).unwrap();
}

fn c231_a_name_may_have_255_bytes(stage: &Stage) {
    let name = "n".repeat(255);
    let path = add(stage, &name);
    assert!(path.exists());
    fs::remove_file(path).unwrap();
}

fn c232_a_device_can_be_removed_and_the_control_cannot(stage: &Stage) {
    let path = add(stage, "removed");
    fs::remove_file(&path).unwrap();
    assert!(!path.exists());
    let refusal = fs::remove_file(path.with_file_name("binder-control")).unwrap_err();
    assert_eq!(Errno::from_io_error(&refusal), Some(Errno::PERM));
}

fn c233_options_are_those_of_binderfs(stage: &Stage) {
    let system = stage.rig().system().expect("a check for devices");
    let place = std::env::temp_dir().join(format!("binderfs-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let mount = |options: &str| {
        let options = CString::new(options).unwrap();
        let flags = MountFlags::empty();
        rustix::mount::mount("binder", &place, "binder", flags, options.as_c_str())
    };
    match mount("") {
        Ok(()) => {}
        Err(Errno::PERM | Errno::NODEV) => {
            fs::remove_dir(&place).unwrap();
            stage.skip("binderfs cannot be mounted here")
        }
        Err(errno) => panic!("mount: {errno}"),
    }
    let unmount = || rustix::mount::unmount(&place, UnmountFlags::DETACH).unwrap();
    let devices = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name());
    let own = ["binder-control", "features", "binder_logs"];
    let count = devices.filter(|name| !own.iter().any(|own| name == own)).count();
    unmount();

    for options in ["max=1048577", "max=-1", "max=", "max", "max=2x", "stats=all", "nonsense"] {
        assert_eq!(mount(options), Err(Errno::INVAL), "{options}");
    }
    if count > 0 {
        assert_eq!(mount(&format!("max={}", count - 1)), Err(Errno::NOSPC));
    }
    mount("max=1048576").unwrap();
    unmount();

    mount(&format!("max={}", count + 2)).unwrap();
    let control = place.join("binder-control");
    let add = |name: &str| system.add_device_by(&control, name.as_bytes());
    assert_eq!((add("first"), add("second")), (Ok(()), Ok(())));
    assert_eq!((add("third"), add("first"), add("a/b")), (FULL, FULL, FULL));
    fs::rename(place.join("first"), place.join("second")).unwrap();
    assert_eq!((add("third"), add("fourth")), (Ok(()), FULL));
    let remount = |options: &str| {
        let options = CString::new(options).unwrap();
        rustix::mount::mount_remount(&place, MountFlags::empty(), options.as_c_str())
    };
    remount(&format!("max={}", count + 3)).unwrap();
    assert_eq!((add("fourth"), add("fifth")), (Ok(()), FULL));
    assert_eq!(remount("max=1048577"), Err(Errno::INVAL));
    assert_eq!(remount("stats=global"), Err(Errno::INVAL));
    unmount();

    if system.mount_in_user_namespace(&place, "max=8") == Ok(()) {
        let refused = system.mount_in_user_namespace(&place, "stats=global");
        assert_eq!(refused, Err(Errno::PERM));
    }
    fs::remove_dir(&place).unwrap();
}

const FULL: Result<(), Errno> = Err(Errno::NOSPC);

fn c234_features_are_listed(stage: &Stage) {
    let (_, directory) = mount(stage);
    for feature in ["oneway_spam_detection", "extended_error", "freeze_notification"] {
        let text = fs::read_to_string(directory.join("features").join(feature)).unwrap();
        assert_eq!(text, "1\n", "{feature}");
    }
}

fn c235_a_removed_device_works_for_those_who_have_it(stage: &Stage) {
    let path = add(stage, "removed-while-open");
    let stage = Stage::new(Box::new(DeviceRig::new(&path, &path).unwrap()));
    let m = stage.manager();
    let p = stage.party();
    // Whatever the rig needs to open is open once a thread was seen to wait.
    m.park();
    fs::remove_file(&path).unwrap();
    p.write(commands().call(0, Message::new(1)));
    let call = m.woken_by_call();
    m.answer(&call, Message::new(0));
    p.read_reply();
    stage.tear_down();
}
