//! What `dpkg` runs when the package comes and goes, tried with a systemd that only notes what it is told.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use crate::{Released, said};

/// Folders of the system that the scripts look at, with what stands for them here.
const PLACES: [(&str, &str); 3] = [
    ("/run/systemd/system", "systemd"),
    ("/run/ingather.was-active", "was-active"),
    ("/var/lib/ingather", "data"),
];

/// A system with the package's scripts, and what its systemd was told.
struct System {
    folder: TempDir,
    /// It lives as long as somebody has it.
    _released: Arc<Released>,
}

impl System {
    /// One on which the service works, or does not.
    fn new(service_works: bool) -> System {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (control, released) = (path("control"), Released::shared());
        said(Command::new("dpkg-deb").arg("--control").arg(released.file("deb")).arg(&control));
        for name in ["systemd", "data", "bin"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        for name in ["postinst", "prerm", "postrm"] {
            let mut text = std::fs::read_to_string(control.join(name)).unwrap();
            for (real, here) in PLACES {
                text = text.replace(real, path(here).to_str().unwrap());
            }
            std::fs::write(control.join(name), text).unwrap();
        }
        let status = i32::from(!service_works) * 3;
        for name in ["systemctl", "systemd-sysusers"] {
            let note = format!(
                "#!/bin/sh\necho {name} \"$*\" >>{}\ncase \"$*\" in *is-active*) exit {status} ;; esac\n",
                path("told").display()
            );
            std::fs::write(path("bin").join(name), note).unwrap();
            std::fs::set_permissions(path("bin").join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        System { folder, _released: released }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs one script; what systemd was told meanwhile, and what the script says.
    fn run(&self, script: &str, arguments: &[&str]) -> (Vec<String>, String) {
        let _ = std::fs::remove_file(self.path("told"));
        let search = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = Command::new(self.path("control").join(script));
        let output = command.args(arguments).env("PATH", search).output().unwrap();
        assert!(output.status.success(), "{script} {arguments:?}: {output:#?}");
        let told = std::fs::read_to_string(self.path("told")).unwrap_or_default();
        (told.lines().map(str::to_owned).collect(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn an_installation_makes_the_user_and_starts_nothing() {
    let system = System::new(false);
    let (told, _) = system.run("postinst", &["configure", ""]);
    assert_eq!(told, ["systemd-sysusers ingather.conf", "systemctl daemon-reload"]);
}

#[test]
fn an_upgrade_ends_a_service_that_works_and_begins_it_again() {
    let system = System::new(true);
    let (told, _) = system.run("prerm", &["upgrade", "0.2.0"]);
    assert_eq!(told.last().unwrap(), "systemctl stop ingather.service");
    let (told, _) = system.run("postrm", &["upgrade", "0.2.0"]);
    assert_eq!(told, [""; 0]);
    let (told, _) = system.run("postinst", &["configure", "0.1.0"]);
    assert_eq!(told[1..], ["systemctl daemon-reload", "systemctl start ingather.service"]);
    // Once: the next upgrade finds it as it is then.
    assert!(!system.path("was-active").exists());
    let rests = System::new(false);
    rests.run("prerm", &["upgrade", "0.2.0"]);
    let (told, _) = rests.run("postinst", &["configure", "0.1.0"]);
    assert!(!told.iter().any(|line| line.contains("start")), "{told:?}");
}

#[test]
fn a_removal_ends_the_service_and_keeps_what_is_stored() {
    let system = System::new(true);
    std::fs::write(system.path("data/store.db"), "jobs").unwrap();
    let (told, _) = system.run("prerm", &["remove"]);
    assert_eq!(told.last().unwrap(), "systemctl stop ingather.service");
    assert!(!system.path("was-active").exists());
    let (told, said) = system.run("postrm", &["remove"]);
    assert_eq!((told, said.as_str()), (vec!["systemctl daemon-reload".to_owned()], ""));
    let (_, said) = system.run("postrm", &["purge"]);
    assert!(said.contains("data stays") && said.contains("remove it by hand"), "{said}");
    assert!(system.path("data/store.db").exists());
}

#[test]
fn without_systemd_the_package_comes_and_goes_as_well() {
    let system = System::new(false);
    std::fs::remove_dir(system.path("systemd")).unwrap();
    std::fs::remove_file(system.path("bin/systemd-sysusers")).unwrap();
    for (script, arguments) in
        [("postinst", ["configure", ""]), ("prerm", ["remove", ""]), ("postrm", ["remove", ""])]
    {
        // A machine that has systemd-sysusers elsewhere is not asked: only what is in this folder and the shell's own words.
        let mut command = Command::new("/bin/sh");
        command.arg(system.path("control").join(script)).args(arguments);
        let output = command.env("PATH", system.path("bin")).output().unwrap();
        assert!(output.status.success(), "{script}: {output:#?}");
    }
    assert!(!Path::new(&system.path("told")).exists());
}
