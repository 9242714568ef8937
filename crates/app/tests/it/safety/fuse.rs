//! A file system whose other side is the test: what lies on it, its times and its modes are whatever the test says at that moment.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::people::must;

/// A file or a folder; its number is its place in the list, counted from 1. The first one is the root.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Number of the folder that it is in.
    pub(super) parent: u64,
    pub(super) name: &'static str,
    pub(super) mode: u32,
    /// Its times, seconds since 1970.
    pub(super) time: u64,
    /// Of a file.
    pub(super) text: Option<String>,
}

/// A folder that everybody may pass.
pub(super) fn open_folder(parent: u64, name: &'static str) -> Node {
    Node { parent, name, mode: 0o755, time: 1_000_000_000, text: None }
}

/// A file that everybody may read.
pub(super) fn open_file(parent: u64, name: &'static str, text: &str) -> Node {
    Node { mode: 0o644, text: Some(text.to_owned()), ..open_folder(parent, name) }
}

/// Happens before a file is read.
type Met = Box<dyn Fn(&mut Vec<Node>) + Send>;

/// A mounted one; it is taken off when this goes.
pub(super) struct Mounted(PathBuf);

/// Mounts `nodes`; `checked` says that the kernel goes by the modes, else whoever serves it would.
pub(super) fn mount(place: &Path, checked: bool, nodes: Vec<Node>, met: Met) -> Mounted {
    let device = File::options().read(true).write(true).open("/dev/fuse").expect("this test needs /dev/fuse");
    let mut options = "fd=0,rootmode=40755,user_id=0,group_id=0,allow_other".to_owned();
    if checked {
        options += ",default_permissions";
    }
    // The program that mounts finds the device as its input.
    let mut command = Command::new("mount");
    command.args(["-i", "-t", "fuse", "-o", &options, "test"]).arg(place);
    must(command.stdin(Stdio::from(device.try_clone().unwrap())));
    // It ends when the last mount of it is gone, or with the process.
    std::thread::spawn(move || serve(device, nodes, &met));
    Mounted(place.to_owned())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        must(Command::new("umount").arg(&self.0));
    }
}

/// Answers until it is taken off.
fn serve(mut device: File, mut nodes: Vec<Node>, met: &Met) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = device.read(&mut request) {
        let number = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap());
        let (unique, node) = (number(8), number(16));
        let operation = u32::from_le_bytes(request[4..8].try_into().unwrap());
        let Some(answer) = answer(operation, node, &request[40..length], &mut nodes, met) else {
            continue;
        };
        let (error, body) = answer.map_or_else(|error| (-error, Vec::new()), |body| (0, body));
        let mut whole = (16 + body.len() as u32).to_le_bytes().to_vec();
        whole.extend_from_slice(&i32::to_le_bytes(error));
        whole.extend_from_slice(&unique.to_le_bytes());
        whole.extend_from_slice(&body);
        // Whoever asked may have gone.
        let _ = device.write(&whole);
    }
}

const NO_ENTRY: i32 = 2;
const NOT_THERE: i32 = 38;

/// The answer to one request, as `linux/fuse.h` lays it out; none for those that have none.
fn answer(
    operation: u32,
    node: u64,
    request: &[u8],
    nodes: &mut Vec<Node>,
    met: &Met,
) -> Option<Result<Vec<u8>, i32>> {
    let offset = || request.get(8..16).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    Some(Ok(match operation {
        // Forgetting, one or many, and interrupting.
        2 | 36 | 42 => return None,
        // Beginning: version 7.31.
        26 => bytes(&[7 | 31 << 32, 65_536, 16 | 12 << 16 | 65_536 << 32, 1, 0, 0, 0, 0]),
        // Looking a name up.
        1 => {
            let name = request.split(|byte| *byte == 0).next().unwrap_or_default();
            let found = nodes.iter().position(|known| known.parent == node && known.name.as_bytes() == name);
            match found {
                Some(at) => [bytes(&[at as u64 + 1, 1, 0, 0, 0]), facts(nodes, at as u64 + 1)].concat(),
                None => return Some(Err(NO_ENTRY)),
            }
        }
        // Facts; they are asked for each time.
        3 => [bytes(&[0, 0]), facts(nodes, node)].concat(),
        // Opening a file, whose content is asked for each time, or a folder.
        14 => bytes(&[0, 1]),
        27 => bytes(&[0, 0]),
        15 => {
            met(nodes);
            let text = nodes[node as usize - 1].text.clone().unwrap_or_default().into_bytes();
            text.get(offset() as usize..).unwrap_or_default().to_vec()
        }
        // What is in a folder, all at once.
        28 if offset() > 0 => Vec::new(),
        28 => nodes.iter().enumerate().filter(|(_, known)| known.parent == node).fold(
            Vec::new(),
            |mut all, (at, known)| {
                let kind = if known.text.is_some() { 8 } else { 4 };
                all.extend(bytes(&[at as u64 + 1, at as u64 + 1, known.name.len() as u64 | kind << 32]));
                all.extend_from_slice(known.name.as_bytes());
                all.resize(all.len().next_multiple_of(8), 0);
                all
            },
        ),
        17 => bytes(&[1_000, 1_000, 1_000, 10, 10, 4_096 | 255 << 32, 4_096, 0, 0, 0]),
        18 | 25 | 29 | 38 => Vec::new(),
        _ => return Some(Err(NOT_THERE)),
    }))
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn facts(nodes: &[Node], number: u64) -> Vec<u8> {
    let node = &nodes[number as usize - 1];
    let (kind, size) = match &node.text {
        Some(text) => (0o100_000, text.len() as u64),
        None => (0o040_000, 4_096),
    };
    let mode = u64::from(kind | node.mode);
    // Number, size, blocks, three times, their nanoseconds, mode and links, owner and group, device and size of blocks.
    let time = node.time;
    bytes(&[number, size, 8, time, time, time, 1 | 1 << 32, 1 | mode << 32, 1, 0, 4_096])
}
