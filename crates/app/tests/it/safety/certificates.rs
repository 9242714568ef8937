//! Certificates for tests of TLS, made by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::people::must;

/// Certificates of the test's own: roots, and what they stand behind.
pub(crate) struct Certificates(pub(super) PathBuf);

impl Certificates {
    pub(crate) fn make(folder: &Path) -> Certificates {
        std::fs::create_dir(folder).unwrap();
        let made = Certificates(folder.to_owned());
        made.root("root");
        made.root("stranger");
        made.signed("server", "localhost", "subjectAltName=DNS:localhost");
        made.signed("client", "ingather", "subjectAltName=DNS:ingather");
        made
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn openssl(&self, arguments: &[&str]) {
        must(Command::new("openssl").args(arguments).current_dir(&self.0));
    }

    pub(crate) fn root(&self, name: &str) {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
        let subject = format!("/CN={name}");
        self.openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            &subject,
            "-keyout",
            &key,
            "-out",
            &certificate,
        ]);
    }

    pub(crate) fn signed(&self, name: &str, subject: &str, extension: &str) {
        let [key, request, certificate, more] =
            ["key", "csr", "pem", "ext"].map(|extension| format!("{name}.{extension}"));
        std::fs::write(self.0.join(&more), format!("{extension}\nbasicConstraints=CA:FALSE\n")).unwrap();
        let subject = format!("/CN={subject}");
        self.openssl(&[
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            &subject,
            "-keyout",
            &key,
            "-out",
            &request,
        ]);
        self.openssl(&[
            "x509",
            "-req",
            "-days",
            "2",
            "-in",
            &request,
            "-CA",
            "root.pem",
            "-CAkey",
            "root.key",
            "-CAcreateserial",
            "-extfile",
            &more,
            "-out",
            &certificate,
        ]);
    }
}
