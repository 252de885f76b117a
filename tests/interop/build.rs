//! Compiles the interfaces of the AIDL tests with rsbinder's compiler, for its client.

use std::path::PathBuf;

fn main() {
    let directory = PathBuf::from("../aidl/aidl/types");
    let sources = std::fs::read_dir(directory.join("anybinder/test")).expect("it is there");
    sources
        .map(|entry| entry.expect("it can be read").path())
        .fold(rsbinder_aidl::Builder::new(), rsbinder_aidl::Builder::source)
        .include_dir(directory)
        .output(PathBuf::from("types.rs"))
        .generate()
        .expect("the interfaces compile");
}
