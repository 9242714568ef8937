//! Builds what sets the allocator, against the very headers that the allocator was built with.

fn main() {
    println!("cargo:rerun-if-changed=allocator.c");
    let headers = std::env::var_os("DEP_MIMALLOC_INCLUDE_DIR").expect("`libmimalloc-sys` names its headers");
    let objects = cc::Build::new().include(headers).file("allocator.c").compile_intermediates();
    // As an object, for nothing calls it, and into the program alone: tests have another allocator.
    for object in objects {
        println!("cargo:rustc-link-arg-bin=ingather={}", object.display());
    }
}
