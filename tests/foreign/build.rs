//! Compiles the interfaces in `aidl/`, and those of the AIDL tests, to Rust, as any user of rsbinder does; and takes an
//! example out of a document.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The document with the example, and what only the example itself has in it.
const DOCUMENT: &str = "../../docs/libbinder.md";
const OF_THE_EXAMPLE: &str = "BnHello::new_binder";

fn main() {
    rsbinder_aidl::Builder::new()
        .include_dir(PathBuf::from("aidl"))
        .source(PathBuf::from("aidl/foreign/IHost.aidl"))
        .output(PathBuf::from("interfaces.rs"))
        .generate()
        .expect("the interfaces in aidl/ compile");

    let types = PathBuf::from("../aidl/aidl/types");
    let sources = fs::read_dir(types.join("anybinder/test")).expect("it is there");
    sources
        .map(|entry| entry.expect("it can be read").path())
        .fold(rsbinder_aidl::Builder::new(), rsbinder_aidl::Builder::source)
        .include_dir(types)
        .output(PathBuf::from("types.rs"))
        .generate()
        .expect("the interfaces of the AIDL tests compile");
    take_example();
}

/// Puts the example of the document where a program of ours includes it, and what it includes itself beside it.
fn take_example() {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    println!("cargo::rerun-if-changed=src/hello_interface.rs");
    let text = fs::read_to_string(DOCUMENT).expect("the document can be read");
    let blocks = text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let example = blocks.into_iter().find(|block| block.contains(OF_THE_EXAMPLE));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let put = |name: &str, text: &str| fs::write(out.join(name), text).expect("it can be written");
    put("documented_hello.rs", example.expect("the document has the example"));
    let interface = fs::read_to_string(Path::new("src/hello_interface.rs"));
    put("aidl.rs", &interface.expect("it can be read"));
}
