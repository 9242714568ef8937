//! The child's side: gives up its rights, then reads one document after the other.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

use ingather_model::limits;

use super::confine;
use super::frames::{self, Word};
use crate::input::{Eyes, Scratch, Spill};
use crate::pictures::Seen;
use crate::{Extracted, Input, Request, detect};

/// What a child does with a document: [`crate::extract`], or in tests something worse.
pub type Work = fn(&Request, Input) -> Extracted;

/// The word after the program's name by which it becomes a child.
pub const COMMAND: &str = "extract-worker";

/// Serves documents until the parent is gone.
///
/// # Errors
/// When the parent cannot be understood, or a limit cannot be set.
pub fn serve(work: Work) -> io::Result<()> {
    confine::close_inherited()?;
    let socket = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let scratch = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // A panic is caught and costs a part; what it would print is nobody's to read.
    std::panic::set_hook(Box::new(|_| {}));
    let in_force = confine::begin(
        limits::EXTRACT_MEMORY_BYTES_MAX,
        limits::EXTRACT_SCRATCH_BYTES_MAX,
        limits::EXTRACT_CHILD_SECONDS_MAX,
    )?;
    let thread = std::thread::Builder::new().stack_size(limits::EXTRACT_STACK_BYTES);
    let reading = thread.spawn(move || {
        let mut in_force = in_force;
        in_force.seccomp = confine::finish().is_ok();
        Child {
            socket: Rc::new(RefCell::new(BufReader::with_capacity(limits::READ_BUFFER_BYTES, socket))),
            scratch: Scratch::new(Arc::new(scratch)),
            work,
        }
        .serve(&in_force)
    })?;
    reading.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread has died")))
}

struct Child {
    /// What it hears; it answers through the same socket.
    socket: Rc<RefCell<BufReader<File>>>,
    scratch: Rc<Scratch>,
    work: Work,
}

/// How much of a document is needed before it can be read.
enum Received {
    All(Input),
    /// The source failed.
    Nothing,
}

impl Child {
    fn serve(&mut self, in_force: &confine::InForce) -> io::Result<()> {
        self.say(Word::Ready, &serde_json::to_vec(in_force)?)?;
        while let Some((word, bytes)) = hear(&self.socket, limits::EXTRACT_CHUNK_BYTES)? {
            if word != Word::Document {
                // The rest of a document that was answered before its end.
                continue;
            }
            let request: Request = serde_json::from_slice(&bytes)?;
            confine::allow_seconds(request.limits.time_ms.div_ceil(1_000))?;
            if let Received::All(input) = self.receive(&request)? {
                let found = (self.work)(&request, input);
                let mut answer = Vec::with_capacity(found.text.len() + (4 << 10));
                frames::put(&mut answer, Word::Result, |said| Ok(serde_json::to_writer(said, &found)?))?;
                self.socket.borrow_mut().get_mut().write_all(&answer)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, word: Word, bytes: &[u8]) -> io::Result<()> {
        frames::write(self.socket.borrow_mut().get_mut(), word, bytes)
    }

    /// Takes the bytes of a document: into memory, or into the scratch file when they are many; of plain text only as
    /// many as can matter.
    fn receive(&mut self, request: &Request) -> io::Result<Received> {
        let mut memory = Vec::new();
        let mut spilled: Option<Spill> = None;
        let mut enough = u64::MAX;
        loop {
            let Some((word, bytes)) = hear(&self.socket, limits::EXTRACT_CHUNK_BYTES)? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            match word {
                Word::Broken => return Ok(Received::Nothing),
                Word::Bytes | Word::Last => {}
                _ => return Err(io::Error::other("a word out of order")),
            }
            if memory.is_empty() && spilled.is_none() {
                if word != Word::Last {
                    enough = detect::bytes_that_matter(&bytes, &request.name, request.limits.text_bytes);
                }
                memory = bytes;
            } else if let Some(spilled) = &mut spilled {
                spilled.push(&bytes)?;
            } else if (memory.len() + bytes.len()) as u64 <= request.limits.memory_input_bytes {
                memory.extend_from_slice(&bytes);
            } else {
                let mut spill = Spill::begin(&self.scratch)?;
                spill.push(&std::mem::take(&mut memory))?;
                spill.push(&bytes)?;
                spilled = Some(spill);
            }
            let length = spilled.as_ref().map_or(memory.len() as u64, Spill::len);
            if word == Word::Last || length >= enough {
                break;
            }
            self.say(Word::More, b"")?;
        }
        let input = spilled.map_or_else(|| Input::memory(memory), Spill::input);
        let socket = Rc::clone(&self.socket);
        let eyes = Eyes::new(move |picture| ask(&socket, picture));
        Ok(Received::All(input.beside(&self.scratch).seen_by(&eyes)))
    }
}

fn hear(socket: &RefCell<BufReader<File>>, most: usize) -> io::Result<Option<(Word, Vec<u8>)>> {
    frames::read(&mut *socket.borrow_mut(), most)
}

/// Asks the parent what the words in a picture are.
fn ask(socket: &RefCell<BufReader<File>>, picture: &[u8]) -> Seen {
    let said = frames::write(socket.borrow_mut().get_mut(), Word::Picture, picture);
    let heard = said.and_then(|()| hear(socket, limits::BODY_BYTES_MAX));
    let words = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    match heard {
        Ok(Some((Word::Seen, bytes))) => Ok(words(bytes)),
        Ok(Some((Word::Unseen, bytes))) => Err(words(bytes)),
        Ok(_) => Err("nobody said what the words in the picture are".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The next bytes of `content`, and whether they are the last.
pub(super) fn chunk(content: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.clear();
    let length = content.take(limits::EXTRACT_CHUNK_BYTES as u64).read_to_end(buffer)?;
    Ok(length < limits::EXTRACT_CHUNK_BYTES)
}
