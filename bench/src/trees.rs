//! Folders of text files, the same on every machine and in every run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Result, measure};

const WORDS: &str = "the of and to in that is was for it with as his on be at by had not are but from or have an they \
    which one you were all her she there would their we him been has when who will no more if out so up said what its \
    about than into them can only other time new some could these two may first then do any like my now over such our \
    man me even most made after also did many off before must well back through years much where your way down should";

/// Bytes of one file.
const FILE_BYTES: usize = 2_048;

/// English text of about `bytes` bytes: common words and about 30,000 rarer ones; the same for the same number.
pub(crate) fn text(number: u64, bytes: usize) -> String {
    let common: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 16);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state % 5 < 3 {
            out.push_str(common[(state >> 20) as usize % common.len()]);
        } else {
            // The smaller numbers more often, as words are.
            let rank = ((state >> 20) % 30_000) * ((state >> 40) % 1_000) / 1_000;
            for step in 0..3 {
                let syllable = (rank * 7 + step * 131) % 400;
                out.push(char::from(b'b' + (syllable % 20) as u8));
                out.push(b"aeiou"[syllable as usize / 20 % 5].into());
            }
            out.push_str(["", "ing", "ed", "s"][(state >> 60) as usize % 4]);
        }
        out.push(if state.is_multiple_of(17) { '\n' } else { ' ' });
    }
    out
}

/// So many web pages of about `bytes` bytes in folders of a hundred: a head, a menu, scripts, paragraphs with links and
/// marked words, a table.
pub(crate) fn pages(root: &Path, name: &str, count: usize, bytes: usize) -> Result<()> {
    for number in 0..count {
        let folder = root.join(format!("part-{:05}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("{name}{number:06}.html")), web_page(number, bytes))?;
    }
    Ok(())
}

/// One page; about half of it is text for people, as is usual.
fn web_page(number: usize, bytes: usize) -> String {
    let words = text(number as u64, bytes);
    let mut words = words.split_whitespace();
    let mut line = |count: usize| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{} &ndash; Page {number}</title>\n\
         <meta name=\"description\" content=\"{}\">\n<link rel=\"canonical\" href=\"https://example.org/page/{number}\">\n",
        line(5),
        line(20)
    );
    for part in ["reset", "layout", "menu", "print"] {
        page.push_str(&format!(
            "<link rel=\"stylesheet\" href=\"/style/{part}.css?v={number}\" media=\"all\">\n"
        ));
    }
    page.push_str("<script>\n");
    for at in 0..30 {
        page.push_str(&format!(
            "  window.state['{at}'] = {{ seen: {number} < {at}, \"label\": '</div>' }};\n"
        ));
    }
    page.push_str("</script>\n</head>\n<body class=\"page\">\n<nav><ul>\n");
    for at in 0..20 {
        page.push_str(&format!(
            "<li class=\"menu-item depth-1\"><a href=\"/part/{at}\">{}</a></li>\n",
            line(2)
        ));
    }
    page.push_str("</ul></nav>\n<main>\n");
    while page.len() + 800 < bytes {
        page.push_str(&format!(
            "<h2 id=\"h{0}\">{1}</h2>\n<p class=\"text\">{2} <a href=\"/page/{0}?from=menu&amp;sort=up\" rel=\"next\">{3}</a> {4} \
             <em>{5}</em>, <strong>{6}</strong>&nbsp;{7}.</p>\n<!-- end of part {0} -->\n",
            page.len(), line(4), line(30), line(3), line(25), line(2), line(2), line(20)
        ));
    }
    page.push_str("<table>\n");
    while page.len() + 60 < bytes {
        page.push_str(&format!("<tr><td>{}</td><td>{}</td></tr>\n", line(2), page.len()));
    }
    page.push_str("</table></main></body></html>\n");
    page
}

/// A tree on disk.
pub(crate) struct Files {
    /// Its root.
    pub(crate) root: PathBuf,
    /// Its folders, the root not counted.
    pub(crate) folders: Vec<PathBuf>,
    /// How many files.
    pub(crate) count: usize,
    changes: usize,
}

impl Files {
    /// `files` files in folders of a hundred, twenty folders above these.
    pub(crate) fn wide(root: PathBuf, files: usize) -> Result<Files> {
        let folders: Vec<PathBuf> = (0..files.div_ceil(100))
            .map(|folder| root.join(format!("folder-{:02}/part-{folder:05}", folder % 20)))
            .collect();
        Files::fill(root, folders, files, 100)
    }

    /// `files` files in folders of ten, which stand ten by ten in folders: 11,111 folders for 100,000 files.
    pub(crate) fn deep(root: PathBuf, files: usize) -> Result<Files> {
        let digits = files.div_ceil(10).saturating_sub(1).to_string().len();
        let folders = (0..files.div_ceil(10))
            .map(|folder| {
                let number = format!("{folder:0digits$}");
                number.chars().fold(root.clone(), |path, digit| path.join(format!("level-{digit}")))
            })
            .collect();
        Files::fill(root, folders, files, 10)
    }

    fn fill(root: PathBuf, folders: Vec<PathBuf>, count: usize, each: usize) -> Result<Files> {
        for (number, folder) in folders.iter().enumerate() {
            fs::create_dir_all(folder)?;
            for file in number * each..count.min((number + 1) * each) {
                fs::write(folder.join(format!("document-{file:06}.txt")), text(file as u64, FILE_BYTES))?;
            }
        }
        settle();
        Ok(Files { root, folders, count, changes: 0 })
    }

    /// Gives every file a mode.
    pub(crate) fn set_mode(&self, mode: u32) -> Result<()> {
        for folder in &self.folders {
            for entry in fs::read_dir(folder)? {
                fs::set_permissions(entry?.path(), fs::Permissions::from_mode(mode))?;
            }
        }
        settle();
        Ok(())
    }

    /// Changes a file in so many folders, and replaces one by a new one in so many others, spread over the tree.
    pub(crate) fn change(&mut self, changed: usize, replaced: usize) -> Result<()> {
        let step = (self.folders.len() / (changed + replaced)).max(1);
        for (number, folder) in self.folders.iter().step_by(step).take(changed + replaced).enumerate() {
            self.changes += 1;
            let names =
                fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
            let Some(first) = names.iter().min() else { continue };
            let text = text(1_000_000 + self.changes as u64, FILE_BYTES);
            if number < changed {
                fs::write(first, text)?;
            } else {
                fs::remove_file(first)?;
                fs::write(folder.join(format!("new-{:06}.txt", self.changes)), text)?;
            }
        }
        settle();
        Ok(())
    }
}

/// Waits until nothing that was written can be changed again within the grain of the file system's clock.
pub(crate) fn settle() {
    measure::pause(Duration::from_millis(2_100));
}
