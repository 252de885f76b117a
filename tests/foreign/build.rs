//! Compiles the interfaces in `aidl/` to Rust, as any user of rsbinder does.

use std::path::PathBuf;

fn main() {
    rsbinder_aidl::Builder::new()
        .include_dir(PathBuf::from("aidl"))
        .source(PathBuf::from("aidl/foreign/IHost.aidl"))
        .output(PathBuf::from("interfaces.rs"))
        .generate()
        .expect("the interfaces in aidl/ compile");
}
