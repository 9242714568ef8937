//! `cargo x libraries`: every library in the program has a licence that allows our own, and comes from the registry.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that may be combined with Apache-2.0 in one program without further duties than a notice.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks what the lock file of the workspace below `root` brings in on this kind of machine.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new("cargo")
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", &host])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    if faults.is_empty() {
        Ok(format!("libraries: {} in order", packages.len()))
    } else {
        Err(faults.join("\n"))
    }
}

/// Why a package must not be used; nothing when it may. Packages of ours have no source.
fn fault(package: &Value) -> Option<String> {
    let source = package["source"].as_str()?;
    let name =
        format!("{} {}", package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"));
    if source != REGISTRY {
        return Some(format!("{name} comes from {source}: take a released version from crates.io"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    let advice =
        "take another library, or add the licence to xtask/src/libraries.rs and say why it is allowed";
    (!allowed(licence)).then(|| format!("{name} has the licence `{licence}`: {advice}"))
}

/// Whether a licence expression leaves a choice that is allowed.
fn allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) && rest.is_empty()
}

fn either(rest: &mut &[&str]) -> bool {
    let mut holds = both(rest);
    while let Some(("OR", tail)) = rest.split_first().map(|(word, tail)| (*word, tail)) {
        *rest = tail;
        // Both sides are read, whatever the first one says.
        holds |= both(rest);
    }
    holds
}

fn both(rest: &mut &[&str]) -> bool {
    let mut holds = one(rest);
    while let Some(("AND", tail)) = rest.split_first().map(|(word, tail)| (*word, tail)) {
        *rest = tail;
        holds &= one(rest);
    }
    holds
}

fn one(rest: &mut &[&str]) -> bool {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let holds = either(rest);
            let closed = rest.first() == Some(&")");
            *rest = rest.get(1..).unwrap_or_default();
            holds && closed
        }
        [name, "WITH", exception, tail @ ..] => {
            let name = format!("{name} WITH {exception}");
            *rest = tail;
            LICENCES.contains(&name.as_str())
        }
        [name, tail @ ..] => {
            let holds = LICENCES.contains(name);
            *rest = tail;
            holds
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_allowed_when_one_of_its_choices_is() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Apache-2.0 / MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(allowed(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT",
            "MIT)",
            "MIT MIT",
            "GPL-2.0 WITH Classpath-exception-2.0",
        ] {
            assert!(!allowed(bad), "{bad}");
        }
    }

    #[test]
    fn a_library_from_elsewhere_is_refused() {
        let package =
            |source: Option<&str>, licence: &str| serde_json::json!({"source": source, "license": licence});
        assert_eq!(fault(&package(None, "")), None);
        assert_eq!(fault(&package(Some(REGISTRY), "MIT")), None);
        assert!(fault(&package(Some(REGISTRY), "AGPL-3.0")).is_some());
        assert!(fault(&package(Some("git+https://example.org/x"), "MIT")).is_some());
    }
}
