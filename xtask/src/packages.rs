//! What cargo knows of the workspace: its packages and what each declares to use.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A package of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// Name, such as `ingather-model`.
    pub(crate) name: String,
    /// Folder below the root, such as `crates/model`.
    pub(crate) folder: String,
    /// What its manifest declares.
    pub(crate) uses: Vec<Use>,
}

/// A declared dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// Name of the package.
    pub(crate) package: String,
    /// Name in code.
    pub(crate) ident: String,
    /// Declared for tests only.
    pub(crate) dev: bool,
}

/// Asks cargo.
pub(crate) fn read(root: &Path) -> Result<Vec<Package>, String> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(parse(&value))
}

/// Reads cargo's answer; what it does not say is empty.
pub(crate) fn parse(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let root = format!("{}/", text(metadata, "workspace_root"));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(package, "name"),
            folder: text(package, "manifest_path")
                .trim_start_matches(&root)
                .trim_end_matches("/Cargo.toml")
                .to_owned(),
            uses: list(&package["dependencies"])
                .iter()
                .map(|used| Use {
                    package: text(used, "name"),
                    ident: used["rename"]
                        .as_str()
                        .or(used["name"].as_str())
                        .unwrap_or_default()
                        .replace('-', "_"),
                    dev: used["kind"].as_str() == Some("dev"),
                })
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_answer_is_understood() {
        let metadata = serde_json::json!({"workspace_root": "/r", "packages": [{
            "name": "a-b", "manifest_path": "/r/crates/b/Cargo.toml",
            "dependencies": [{"name": "x-y", "rename": null, "kind": null}, {"name": "z", "rename": "w-v", "kind": "dev"}],
        }]});
        let package = &parse(&metadata)[0];
        assert_eq!((package.name.as_str(), package.folder.as_str()), ("a-b", "crates/b"));
        assert_eq!(package.uses[0], Use { package: "x-y".into(), ident: "x_y".into(), dev: false });
        assert_eq!(package.uses[1], Use { package: "z".into(), ident: "w_v".into(), dev: true });
    }
}
