//! Compiles the interfaces in `aidl/`, and those of the AIDL tests, to Rust, as any user of rsbinder does.

use std::path::PathBuf;

fn main() {
    rsbinder_aidl::Builder::new()
        .include_dir(PathBuf::from("aidl"))
        .source(PathBuf::from("aidl/foreign/IHost.aidl"))
        .output(PathBuf::from("interfaces.rs"))
        .generate()
        .expect("the interfaces in aidl/ compile");

    let types = PathBuf::from("../aidl/aidl/types");
    let sources = std::fs::read_dir(types.join("anybinder/test")).expect("it is there");
    sources
        .map(|entry| entry.expect("it can be read").path())
        .fold(rsbinder_aidl::Builder::new(), rsbinder_aidl::Builder::source)
        .include_dir(types)
        .output(PathBuf::from("types.rs"))
        .generate()
        .expect("the interfaces of the AIDL tests compile");
}
