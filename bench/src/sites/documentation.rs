//! Real documentation behind nginx: the manual of PostgreSQL as Debian has it, in as many copies as are wanted, in each page of which a word
//! is another one.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::pause;
use crate::{Bench, Result};

/// Where documentation of packages is.
const PACKAGES: &str = "/usr/share/doc";
/// The package, with the version behind it.
const PACKAGE: &str = "postgresql-doc-";
/// The word in its pages that each copy has another one for.
const WORD: &str = "PostgreSQL";
/// Pages of a small bench.
const SMALL_PAGES: usize = 60;
/// Longest wait for a server that starts.
const LONGEST: Duration = Duration::from_secs(10);

/// Pages in a folder.
pub(crate) struct Documentation {
    folder: PathBuf,
    /// How many pages there are, with the one that leads to all copies.
    pub(crate) pages: usize,
    /// How many copies.
    pub(crate) copies: usize,
}

impl Documentation {
    /// About so many pages; none where the documentation is not installed.
    pub(crate) fn of(bench: &Bench, pages: usize) -> Result<Option<Documentation>> {
        let Some(source) = installed()? else { return Ok(None) };
        let mut files: Vec<PathBuf> =
            fs::read_dir(source)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.retain(|file| file.extension() == Some(OsStr::new("html")));
        files.sort();
        let (folder, copies) =
            (bench.path("site"), if bench.small { 1 } else { pages.div_ceil(files.len()) });
        if bench.small {
            // Links to pages that are not there are part of it.
            let is_first = |file: &PathBuf| file.ends_with("index.html");
            files.sort_by_key(|file| !is_first(file));
            files.truncate(SMALL_PAGES);
        }
        let mut site = Documentation { folder, pages: 1, copies };
        let mut index = "<!DOCTYPE html><html><head><title>All copies</title></head><body><ul>".to_owned();
        for copy in 0..copies {
            let word = format!("{WORD}{}", copy + 1);
            fs::create_dir_all(site.folder.join(&word))?;
            for file in &files {
                let text = String::from_utf8_lossy(&fs::read(file)?).replacen(WORD, &word, 1);
                fs::write(site.folder.join(&word).join(file.file_name().unwrap_or_default()), text)?;
                site.pages += 1;
            }
            index.push_str(&format!("<li><a href=\"{word}/index.html\">{word}</a></li>"));
        }
        fs::write(site.folder.join("index.html"), index + "</ul></body></html>")?;
        Ok(Some(site))
    }

    /// Takes it away.
    pub(crate) fn remove(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.folder)?)
    }
}

fn installed() -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(PACKAGES)? {
        let path = entry?.path().join("html");
        if path.is_dir() && path.iter().any(|part| part.to_string_lossy().starts_with(PACKAGE)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// A server that ends with this.
pub(crate) struct Nginx {
    child: Child,
    port: u16,
    /// Where it writes each answer, where it does.
    pub(crate) log: Option<PathBuf>,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One answer, as the log has it.
pub(crate) struct Logged {
    /// When it was over, seconds since 1970.
    pub(crate) at: f64,
    pub(crate) status: u16,
    pub(crate) path: String,
}

impl Nginx {
    /// Serves a site; none where there is no nginx.
    pub(crate) fn serving(bench: &Bench, site: &Documentation, logs: bool) -> Result<Option<Nginx>> {
        let Some(program) = program() else { return Ok(None) };
        let (folder, log) = (bench.path("nginx"), logs.then(|| bench.path("nginx/access.log")));
        fs::create_dir_all(&folder)?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let said = match &log {
            Some(log) => {
                format!("log_format bench '$msec $status $uri'; access_log {} bench;", log.display())
            }
            None => "access_log off;".to_owned(),
        };
        let text = format!(
            "daemon off; master_process off; pid {0}/pid; error_log stderr;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ {said} types {{ text/html html; }} sendfile on; tcp_nopush on; keepalive_requests 1000000;\n\
             client_body_temp_path {0}/1; proxy_temp_path {0}/2;\n\
             fastcgi_temp_path {0}/3; uwsgi_temp_path {0}/4; scgi_temp_path {0}/5;\n\
             server {{ listen 127.0.0.1:{port}; root {1}; }} }}\n",
            folder.display(),
            site.folder.display()
        );
        let settings = folder.join("nginx.conf");
        fs::File::create(&settings)?.write_all(text.as_bytes())?;
        // It ends with the bench also where that is killed.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM"])
            .arg(program)
            .arg("-p")
            .arg(&folder)
            .args(["-e", "stderr", "-c"])
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if child.try_wait()?.is_some() || begun.elapsed() > LONGEST {
                let said = child.stderr.take().map(BufReader::new).into_iter();
                let said: Vec<String> = said.flat_map(BufRead::lines).map_while(|line| line.ok()).collect();
                return Err(format!("nginx does not start: {}", said.join(" ")).into());
            }
            pause(Duration::from_millis(5));
        }
        let mut said = child.stderr.take().ok_or("no stderr")?;
        // It ends with the server, which would be stopped by a pipe that nobody reads.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Ok(Some(Nginx { child, port, log }))
    }

    /// Where its site begins.
    pub(crate) fn root(&self) -> String {
        format!("http://127.0.0.1:{}/index.html", self.port)
    }

    /// What it has answered so far, in order.
    pub(crate) fn logged(&self) -> Result<Vec<Logged>> {
        let text = match &self.log {
            Some(log) => fs::read_to_string(log)?,
            None => String::new(),
        };
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (at, status) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some(Logged { at, status, path: words.next()?.to_owned() })
        };
        Ok(text.lines().filter_map(line).collect())
    }
}

/// The program; Debian has it where only root looks.
fn program() -> Option<&'static Path> {
    ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().map(Path::new).find(|path| path.exists())
}
