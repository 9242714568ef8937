//! Builds what sets the allocator, against the very headers that the allocator was built with.

fn main() {
    println!("cargo:rerun-if-changed=allocator.c");
    let headers = std::env::var_os("DEP_MIMALLOC_INCLUDE_DIR").expect("`libmimalloc-sys` names its headers");
    // Nothing calls it: without this the linker leaves it out.
    cc::Build::new()
        .include(headers)
        .file("allocator.c")
        .link_lib_modifier("+whole-archive")
        .compile("ingather_allocator");
}
