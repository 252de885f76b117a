//! Serves binderfs at the directory given, until it is unmounted.

use std::path::Path;

use binder_fuse::{BufferRoute, DeviceSpec, MountedBinderfs, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let dir = words.next().ok_or("usage: serve DIR [store]")?;
    let delivery = if words.next().is_some() { BufferRoute::Store } else { BufferRoute::Auto };
    let devices =
        ["binder", "hwbinder", "vndbinder"].map(|name| DeviceSpec::new(name, 0o666)).into();
    MountedBinderfs::mount(Path::new(&dir), &Options { devices, delivery, ..Options::default() })?
        .serve()?;
    Ok(())
}
