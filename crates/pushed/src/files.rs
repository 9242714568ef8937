//! Content that a client names by a file (coverage S2.36): read when it is pushed, below the folder that the source names, and nowhere else.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use ingather_contract::inbox::Files;
use ingather_model::fault::Reason;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Files below a folder.
#[derive(Debug)]
pub(crate) struct Below(pub(crate) PathBuf);

impl Files for Below {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, Reason> {
        let refused = |errno: Errno| match errno {
            // A way out, a circle of links, or one of the links that the kernel makes up.
            Errno::XDEV | Errno::LOOP => forbidden(path),
            errno => unavailable(path, &errno.to_string()),
        };
        let of = |flags: OFlags| flags | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, &self.0, of(OFlags::PATH | OFlags::DIRECTORY), Mode::empty());
        let folder =
            folder.map_err(|errno| unavailable("", &format!("the folder of the source: {errno}")))?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // Nothing is opened before it is known to be a file: a pipe or a device would notice.
        let found =
            rustix::fs::openat2(&folder, path, of(OFlags::PATH), Mode::empty(), resolve).map_err(refused)?;
        let facts = rustix::fs::fstat(&found).map_err(refused)?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
            return Err(forbidden(path));
        }
        // This very file, whatever stands at its name by now.
        let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
        let file = File::open(itself).map_err(|error| unavailable(path, &error.to_string()))?;
        let mut content = Vec::new();
        file.take(most + 1)
            .read_to_end(&mut content)
            .map_err(|error| unavailable(path, &error.to_string()))?;
        match content.len() as u64 > most {
            true => Err(Reason::new(
                "too_large",
                format!("{path:?} has more than {most} bytes, and no more are taken"),
            )),
            false => Ok(content),
        }
    }
}

fn forbidden(path: &str) -> Reason {
    let sentence = format!("{path:?} is no file below the folder of the source (`files`)");
    Reason::new("path_forbidden", sentence)
}

fn unavailable(path: &str, why: &str) -> Reason {
    Reason::new("content_unavailable", format!("{path:?} cannot be read: {why}; push it again when it can"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_file_below_the_folder_is_read_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("files");
        std::fs::create_dir_all(folder.join("below")).unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::fs::write(folder.join("below/a.txt"), "content").unwrap();
        symlink("below/a.txt", folder.join("link")).unwrap();
        symlink("../secret", folder.join("out")).unwrap();
        symlink(outside.path().join("secret"), folder.join("absolute")).unwrap();
        symlink("circle", folder.join("circle")).unwrap();
        let _socket = UnixListener::bind(folder.join("socket")).unwrap();
        let files = Below(folder.clone());
        let read = |path: &str, most| files.read(path, most).map_err(|reason| reason.code);
        let content = || Ok(b"content".to_vec());
        for path in ["below/a.txt", "./below/../below/a.txt", "link"] {
            assert_eq!(read(path, 7), content(), "{path}");
        }
        let absolute = folder.join("below/a.txt");
        let forbidden = [
            "../secret",
            "below/../../secret",
            "out",
            "absolute",
            "circle",
            "below",
            "socket",
            ".",
            "..",
            "/etc/hostname",
            absolute.to_str().unwrap(),
            "/proc/self/environ",
        ];
        for path in forbidden {
            assert_eq!(read(path, 7), Err("path_forbidden".to_owned()), "{path}");
        }
        for path in ["none", "below/a.txt/b", "", "a\0b"] {
            assert_eq!(read(path, 7), Err("content_unavailable".to_owned()), "{path:?}");
        }
        assert_eq!(read("below/a.txt", 6), Err("too_large".to_owned()));
        let gone = Below(outside.path().join("none"));
        assert_eq!(gone.read("a", 7).unwrap_err().code, "content_unavailable");
    }
}
