//! Compiles the interfaces in `aidl/`, and those of the AIDL tests, to Rust, as any user of rsbinder does; and takes an
//! example out of a document and has our own compiler compile its interface.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::SystemTime;

use binder_build::{Build, Compiler, Unit};

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

/// Puts the example of the document where a program of ours includes it, and what is made of its interface beside it.
fn take_example() {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let text = fs::read_to_string(DOCUMENT).expect("the document can be read");
    let blocks = text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let example = blocks.into_iter().find(|block| block.contains(OF_THE_EXAMPLE));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let example = example.expect("the document has the example");
    fs::write(out.join("documented_hello.rs"), example).expect("it can be written");

    let interface = text.split("```aidl\n").nth(1).and_then(|rest| rest.split("```").next());
    let root = out.join("documented");
    let file = root.join("com/example/IHello.aidl");
    fs::create_dir_all(root.join("com/example")).expect("it can be made");
    fs::write(&file, interface.expect("the document has its interface"))
        .expect("it can be written");
    // Cargo would run this again for what is newer than its last run: that has just been written.
    let written = File::options().write(true).open(&file).expect("it is there");
    written.set_modified(SystemTime::UNIX_EPOCH).expect("it is ours");
    let unit = Unit::new(&root).sources_below(&root).expect("it is there");
    Build::new().compiler(Compiler::built_in()).unit(unit).run().expect("it compiles");
}
