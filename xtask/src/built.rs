//! Programs of the workspace that the tools start: built by cargo, which says where each of them lies.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Packages to choose beside those that are wanted, whose features they are: with them, libraries get the features that
/// `cargo test --workspace` gives them. Another choice compiles many libraries, the index's among them, a second time.
pub(crate) const AS_IN_TESTS: [&str; 6] =
    ["--package", "ingather-app", "--package", "ingather-outputs", "--package", "ingather-simulator"];

/// Calls something as a shell does: `cargo run` says in the environment which package it runs, and build scripts of libraries ask for such variables. With
/// them, all that needs these libraries would be compiled anew whenever `cargo x` follows cargo by itself, or the other way round.
pub(crate) fn as_by_a_shell(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_run) {
            command.env_remove(name);
        }
    }
    command
}

fn is_of_a_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "OUT_DIR"
}

/// What cargo told when it had built.
pub(crate) struct Built(String);

/// Builds with `cargo build` and these arguments.
pub(crate) fn build(root: &Path, arguments: &[&str]) -> Result<Built, String> {
    let output = as_by_a_shell(&mut Command::new("cargo"))
        .args(["build", "--quiet", "--message-format", "json-render-diagnostics"])
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    match output.status.success() {
        true => Ok(Built(String::from_utf8_lossy(&output.stdout).into_owned())),
        false => Err(format!("`cargo build {}` failed: the product must compile first", arguments.join(" "))),
    }
}

impl Built {
    /// Where a program lies.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, String> {
        let lines = self.0.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut own = lines.filter(|line| line["target"]["name"] == name);
        own.find_map(|line| line["executable"].as_str().map(PathBuf::from))
            .ok_or_else(|| format!("cargo has not built the program {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_knows_nothing_of_the_package_that_calls() {
        // `cargo test` says it as `cargo run` does.
        assert!(std::env::vars().any(|(name, _)| is_of_a_run(&name)));
        let told = as_by_a_shell(&mut Command::new("env")).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let of_a_run: Vec<&str> = told.lines().filter(|line| is_of_a_run(line)).collect();
        assert!(told.contains("PATH=") && of_a_run.is_empty(), "{of_a_run:?}");
    }

    #[test]
    fn a_program_is_where_cargo_says() {
        let told = r#"{"reason":"compiler-artifact","target":{"name":"pages"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/debug/other"}
            {"reason":"compiler-artifact","target":{"name":"pages"},"executable":"/t/debug/pages"}
            {"reason":"build-finished","success":true}"#;
        let built = Built(told.to_owned());
        assert_eq!(built.program("pages"), Ok(PathBuf::from("/t/debug/pages")));
        assert!(built.program("none").unwrap_err().contains("none"));
    }
}
