//! Compiles the interfaces of the AIDL tests, and our harder ones, by our own compiler.

use binder_build::{Build, Compiler, Error, Unit};

fn main() -> Result<(), Error> {
    let of_the_tests = |name: &str| {
        let directory = format!("../aidl/aidl/{name}");
        Unit::new(&directory).sources_below(&directory)
    };
    Build::new()
        .compiler(Compiler::built_in())
        .unit(of_the_tests("types")?)
        .unit(of_the_tests("versioned")?.version(2, "0123456789abcdef"))
        .unit(of_the_tests("vintf")?.vintf())
        .unit(of_the_tests("platform")?)
        .unit(Unit::new("../foreign/aidl").sources_below("../foreign/aidl")?)
        .unit(Unit::new("aidl").include("by_hand").sources_below("aidl")?)
        .unit(Unit::new("shapes").sources_below("shapes")?.vintf())
        .run()
}
