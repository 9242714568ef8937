//! What a finished program says of itself: its version, its machine, and the system libraries that it needs, with the least version.

use std::path::Path;
use std::process::Command;

use super::output;

/// Facts of a program, read from its file.
#[derive(Debug)]
pub(super) struct Facts {
    /// Name of the machine as compilers have it, such as `x86_64`.
    pub(super) machine: &'static str,
    /// The same as Debian has it, such as `amd64`.
    pub(super) architecture: &'static str,
    /// Packages of Debian that it needs, with least versions, in order.
    pub(super) depends: Vec<String>,
}

/// Formats of programs, with the names of their machine.
const FORMATS: &[(&str, &str, &str)] =
    &[("elf64-x86-64", "x86_64", "amd64"), ("elf64-littleaarch64", "aarch64", "arm64")];

/// System libraries by how their file names begin, with the package that brings them and the prefix of their versions.
const LIBRARIES: &[(&str, &str, &str)] = &[
    ("libc.so.", "libc6", "GLIBC_"),
    ("libm.so.", "libc6", "GLIBC_"),
    ("libdl.so.", "libc6", "GLIBC_"),
    ("libpthread.so.", "libc6", "GLIBC_"),
    ("librt.so.", "libc6", "GLIBC_"),
    ("ld-linux", "libc6", "GLIBC_"),
    ("libgcc_s.so.", "libgcc-s1", "GCC_"),
];
/// A way of linking that the system library has from this version on.
const RELATIVE: (&str, &str) = ("GLIBC_ABI_DT_RELR", "GLIBC_2.36");

/// Reads the program, once it has said that it is of this version.
pub(super) fn examine(binary: &Path, version: &str) -> Result<Facts, String> {
    let says = output(Command::new(binary).arg("--version"))
        .map_err(|error| format!("{error}; a release is made on a machine that runs its program"))?;
    let says = says.lines().next().unwrap_or_default();
    if says != format!("ingather {version}") {
        let file = binary.display();
        return Err(format!(
            "{file} says that it is `{says}`, and this workspace is version {version}: build it from this one"
        ));
    }
    let told = output(Command::new("objdump").arg("--private-headers").arg(binary))?;
    let (machine, architecture) = machine(&told)?;
    Ok(Facts { machine, architecture, depends: depends(&told)? })
}

fn machine(told: &str) -> Result<(&'static str, &'static str), String> {
    let format =
        told.lines().find_map(|line| line.split_once("file format ")).map_or("", |(_, name)| name.trim());
    let known = FORMATS.iter().find(|(name, ..)| *name == format);
    known.map(|(_, machine, architecture)| (*machine, *architecture)).ok_or_else(|| {
        format!("a program of the format `{format}` is not known: add it to xtask/src/release/program.rs")
    })
}

/// Reads which versions of which libraries the program refers to. A library that nobody knows is refused: the package would install
/// where it is missing.
fn depends(told: &str) -> Result<Vec<String>, String> {
    let mut least: std::collections::BTreeMap<&str, Vec<u32>> = std::collections::BTreeMap::new();
    let library = |file: &str| {
        let found = LIBRARIES.iter().find(|(begins, ..)| file.starts_with(begins));
        found.ok_or_else(|| {
            format!("the program needs {file}: say in xtask/src/release/program.rs which package has it")
        })
    };
    let mut from = None;
    for line in told.lines().map(str::trim) {
        if let Some(file) = line.strip_prefix("NEEDED") {
            least.entry(library(file.trim())?.1).or_default();
        } else if let Some(file) = line.strip_prefix("required from ") {
            from = Some(library(file.trim_end_matches(':'))?);
        } else if let (Some((file, package, prefix)), [_, _, _, name]) =
            (from, line.split_whitespace().collect::<Vec<_>>().as_slice())
        {
            let name = if *name == RELATIVE.0 { RELATIVE.1 } else { name };
            let version = name.strip_prefix(prefix).and_then(numbers).ok_or_else(|| {
                format!("the program needs `{name}` of {file}…, which is no version: see xtask/src/release/program.rs")
            })?;
            let known = least.entry(package).or_default();
            *known = version.max(std::mem::take(known));
        }
    }
    if least.get("libc6").is_none_or(Vec::is_empty) {
        return Err(
            "the program names no version of libc6: a release is a program that is linked to it".to_owned()
        );
    }
    let written = |version: Vec<u32>| version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    Ok(least
        .into_iter()
        .map(|(package, version)| match version.is_empty() {
            true => package.to_owned(),
            false => format!("{package} (>= {})", written(version)),
        })
        .collect())
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "
p:     file format elf64-x86-64

Dynamic Section:
  NEEDED               libgcc_s.so.1
  NEEDED               libm.so.6
  NEEDED               libc.so.6
  STRSZ                0x0000000000000b27

Version References:
  required from libm.so.6:
    0x06969187 0x00 08 GLIBC_2.9
  required from libc.so.6:
    0x09691a75 0x00 03 GLIBC_2.2.5
    0x0d696916 0x00 12 GLIBC_2.34
    0x0d696917 0x02 17 GLIBC_2.7
";

    #[test]
    fn the_least_versions_are_the_highest_that_are_referred_to() {
        assert_eq!(machine(TOLD), Ok(("x86_64", "amd64")));
        assert_eq!(depends(TOLD).unwrap(), ["libc6 (>= 2.34)", "libgcc-s1"]);
        let later = TOLD.replace("GLIBC_2.7", RELATIVE.0);
        assert_eq!(depends(&later).unwrap()[0], "libc6 (>= 2.36)");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(machine("p: file format elf32-i386").unwrap_err().contains("elf32-i386"));
        let other = TOLD.replace("libm.so.6", "libssl.so.3");
        assert!(depends(&other).unwrap_err().contains("needs libssl.so.3"));
        let private = TOLD.replace("GLIBC_2.7", "GLIBC_PRIVATE");
        assert!(depends(&private).unwrap_err().contains("GLIBC_PRIVATE"));
        assert!(depends("").unwrap_err().contains("no version of libc6"));
    }
}
