//! Folders that close, open, move or are swapped while a run reads what is in them: nobody is shown what only those within could
//! read. A server that stands in the place of a stage does it, when it is sent a document.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::files;
use crate::people::ordinary;
use crate::sandbox::{Answer, Sandbox, finish};

const SECRET: &str = "topsecret";

/// Runs `sync root`; the stage that reads documents gives each back as its text, and calls `met` with the number of the call,
/// counted from 1, and the text before it answers.
pub(super) fn sync(sandbox: &Sandbox, flags: &[&str], met: impl Fn(usize, &str) + Send) -> Answer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stages = json!([{"transform": "tika", "settings": {"url": format!("http://{address}")}}]);
    std::fs::write(sandbox.path().join("stages.json"), stages.to_string()).unwrap();
    let command = sandbox.command(
        &[&["sync", "root", "--json", "--threads", "1", "--pipeline", "stages.json", "--update"], flags]
            .concat(),
    );
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 1.. {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let Some(text) = body(&mut reader) else { return };
                met(number, &text);
                let answer = json!([{"Content-Type": "text/plain", "X-TIKA:content": text}]).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    answer.len()
                );
                reader.get_mut().write_all((head + &answer).as_bytes()).unwrap();
            }
        });
        let answer = finish(command, None);
        // Without a request the server goes home.
        drop(std::net::TcpStream::connect(address));
        answer
    })
}

/// The body of a request that comes in pieces.
fn body(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut text = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut piece = vec![0; length + 2];
        reader.read_exact(&mut piece).unwrap();
        if length == 0 {
            return Some(text);
        }
        text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

const NAMES: [&str; 5] = ["a.bin", "b.bin", "c.bin", "d.bin", "e.bin"];

fn write_all(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    for name in NAMES {
        std::fs::write(folder.join(name), format!("{text} {name}")).unwrap();
    }
}

/// What somebody else finds of the secret.
fn leaked(sandbox: &Sandbox) -> Vec<String> {
    sandbox.run(&["search", SECRET, "--as", ordinary(), "--limit", "100", "--json"]).exits(0).documents()
}

/// A source with five open documents, of which the first one that is read does `closes`; those that nobody but root may find then.
fn closed(closes: impl Fn(&Sandbox) + Send + Sync) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    write_all(&sandbox.root().join("above/p"), "harmless");
    files::settle(&sandbox.root());
    let answer = sync(&sandbox, &[], |number, _| {
        if number == 1 {
            closes(&sandbox);
        }
    });
    assert_eq!(leaked(&sandbox), [""; 0], "{answer:#?}");
    sandbox
}

#[test]
fn what_is_read_in_a_folder_that_was_closed_meanwhile_is_found_by_nobody_else() {
    let close = |folder: &'static str| {
        move |sandbox: &Sandbox| {
            mode(&sandbox.root().join(folder), 0o700);
            write_all(&sandbox.root().join("above/p"), SECRET);
        }
    };
    for folder in ["above/p", "above", "."] {
        let sandbox = closed(close(folder));
        assert_eq!(sandbox.find(SECRET).len(), 5, "root finds them by the same run");
        sandbox.synced(&[]);
        assert_eq!(leaked(&sandbox), [""; 0]);
    }
    // Above the root.
    let sandbox = closed(|sandbox| {
        mode(sandbox.path(), 0o700);
        write_all(&sandbox.root().join("above/p"), SECRET);
    });
    assert_eq!(sandbox.find(SECRET).len(), 5);
}

#[test]
fn what_is_read_in_a_folder_that_took_the_place_of_another_is_found_by_nobody_else() {
    let sandbox = closed(|sandbox| {
        let other = sandbox.path().join("private");
        write_all(&other, SECRET);
        mode(&other, 0o700);
        let place = sandbox.root().join("above/p");
        std::fs::rename(&place, sandbox.path().join("away")).unwrap();
        std::fs::rename(&other, &place).unwrap();
    });
    sandbox.synced(&[]);
    assert_eq!((leaked(&sandbox).len(), sandbox.find(SECRET).len()), (0, 5));
}

#[test]
fn what_is_read_while_a_folder_was_closed_is_found_by_nobody_after_it_opened_again() {
    let sandbox = Sandbox::sqlite();
    let place = sandbox.root().join("above/p");
    write_all(&place, "harmless");
    files::settle(&sandbox.root());
    let answer = sync(&sandbox, &[], |number, _| match number {
        1 => {
            mode(&place, 0o700);
            write_all(&place, SECRET);
        }
        // By now all have been read, some as secrets.
        6 => {
            write_all(&place, "harmless again");
            mode(&place, 0o755);
        }
        _ => {}
    });
    assert_eq!(sandbox.find(SECRET), [""; 0], "{answer:#?}");
    assert_eq!(sandbox.run(&["search", "again", "--as", ordinary(), "--json"]).exits(0).documents().len(), 5);
}

/// Another file system is mounted over a folder while a document in it is read, and taken off again before the folder is looked at once
/// more: what was read there is of a folder that nobody judged.
#[test]
fn what_is_read_of_a_file_system_that_covers_a_folder_for_a_moment_is_found_by_nobody() {
    ingather_testkit::needs!(Mounts);
    for flags in [&[][..], &["--ignore-files"]] {
        let sandbox = Sandbox::sqlite();
        let folder = |name: &str| sandbox.root().join("above").join(name);
        let private = sandbox.path().join("private");
        for name in NAMES {
            std::fs::create_dir_all(folder(name)).unwrap();
            std::fs::write(folder(name).join("f.bin"), format!("harmless {name}")).unwrap();
        }
        std::fs::create_dir(&private).unwrap();
        files::tool("mount", &["-t", "tmpfs", "none"], &private);
        mode(&private, 0o700);
        std::fs::write(private.join("f.bin"), SECRET).unwrap();
        files::settle(&sandbox.root());
        files::settle(&private);
        let covered = std::sync::Mutex::new(Vec::new());
        let answer = sync(&sandbox, flags, |number, text| {
            let mut covered = covered.lock().unwrap();
            if number == 1 {
                let others = NAMES.iter().filter(|name| !text.contains(*name));
                covered.extend(others.map(|name| folder(name)));
                for place in &*covered {
                    files::tool("mount", &["--bind", private.to_str().unwrap()], place);
                }
            } else if text.contains(SECRET) && covered.len() == 4 {
                covered.drain(..).for_each(|place| files::tool("umount", &["--lazy"], &place));
            }
        });
        assert_eq!(covered.lock().unwrap().len(), 0, "one was read while it was covered: {answer:#?}");
        assert_eq!(leaked(&sandbox), [""; 0], "{answer:#?}");
        assert_eq!(sandbox.find(SECRET), [""; 0], "{answer:#?}");
        // Looked at once more, they are found as they are.
        assert_eq!(answer.code, 0, "{answer:#?}");
        let harmless = ["search", "harmless", "--as", ordinary(), "--json"];
        assert_eq!(sandbox.run(&harmless).exits(0).documents().len(), 5, "{answer:#?}");
    }
}

#[test]
fn a_document_that_changes_each_time_that_it_is_read_is_found_by_nobody() {
    let sandbox = Sandbox::sqlite();
    let file = sandbox.root().join("a.bin");
    std::fs::write(&file, "harmless").unwrap();
    files::settle(&sandbox.root());
    let flips = |_: usize, text: &str| {
        // Closed before it says so.
        if text.contains(SECRET) {
            std::fs::write(&file, "harmless").unwrap();
            mode(&file, 0o644);
        } else {
            mode(&file, 0o600);
            std::fs::write(&file, SECRET).unwrap();
        }
    };
    let answer = sync(&sandbox, &[], flips);
    assert_eq!(answer.code, 1, "{answer:#?}");
    assert_eq!(answer.json()[0]["waiting"], 1, "{answer:#?}");
    assert_eq!(leaked(&sandbox), [""; 0]);
    // It rests.
    mode(&file, 0o644);
    files::settle(&sandbox.root());
    let answer = sync(&sandbox, &[], |_, _| ()).exits(0);
    assert_eq!(answer.json()[0]["added"], 1, "{answer:#?}");
}
