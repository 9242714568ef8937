//! What the kernel tells of the folders that are watched, one event after the other.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use ingather_model::names;
use rustix::fs::inotify::{ReadFlags, Reader};
use rustix::io::Errno;

use super::Shared;
use super::folders::{Folders, Over};

/// Names of files by which others are left out.
const IGNORE_FILES: [&[u8]; 2] = [b".gitignore", b".ignore"];

/// Takes all that the kernel has told until now.
pub(super) fn read(shared: &Shared, folders: &mut Folders, kernel: &OwnedFd) -> Result<(), Over> {
    let mut buffer = [MaybeUninit::uninit(); 16 << 10];
    let mut told = Reader::new(kernel, &mut buffer);
    loop {
        if shared.is_closing() {
            return Err(Over::Closed);
        }
        match told.next() {
            Ok(event) => {
                let name = event.file_name().map(std::ffi::CStr::to_bytes);
                take(shared, folders, event.wd(), event.events(), name)?;
            }
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Over::lost("io", format!("the watch cannot be read: {errno}"))),
        }
    }
}

fn take(
    shared: &Shared,
    folders: &mut Folders,
    watch: i32,
    what: ReadFlags,
    name: Option<&[u8]>,
) -> Result<(), Over> {
    if what.contains(ReadFlags::QUEUE_OVERFLOW) {
        return Err(Over::lost("overflow", "more changed than the kernel could tell".to_owned()));
    }
    if what.contains(ReadFlags::UNMOUNT) {
        return Err(Over::lost("mounts", "something was unmounted".to_owned()));
    }
    let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
    let is_above = folders.above.contains(&watch);
    if what.intersects(gone) && (is_above || watch == folders.root) {
        return Err(Over::lost("root", "the source, or a folder above it, was moved or removed".to_owned()));
    }
    if is_above {
        // Of what lies in a folder above, only the way to the source matters, which is watched itself.
        name.is_none().then(|| shared.change(String::new()));
        return Ok(());
    }
    if what.contains(ReadFlags::IGNORED) {
        folders.leave(watch);
        return Ok(());
    }
    let Some(path) = folders.path(watch) else { return Ok(()) };
    let told = || shared.change(names::escape(&path).into_owned());
    let Some(name) = name else {
        // That it was moved or removed, the folder above tells.
        if what.contains(ReadFlags::ATTRIB) {
            told();
        }
        return Ok(());
    };
    if folders.own.contains(&(watch, name.into())) {
        return Ok(());
    }
    let is_folder = what.contains(ReadFlags::ISDIR);
    if let Some(only) = &folders.only {
        if **only == *name {
            told();
        }
        return Ok(());
    }
    let rules = &shared.source.rules;
    if rules.ignore_files && !is_folder && IGNORE_FILES.contains(&name) {
        return Err(Over::lost("ignore_files", "an ignore file changed".to_owned()));
    }
    // Ignore files are asked where a folder is entered; of files they are asked by the listing.
    if rules.leaves_out(&[&*path, name].concat(), is_folder, None).is_some() {
        return Ok(());
    }
    if !is_folder {
        told();
        return Ok(());
    }
    let known = folders.watched(watch, name);
    if what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        known.into_iter().for_each(|known| folders.leave(known));
    } else if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) || known.is_none() {
        // What has this name now need not be what had it before.
        known.into_iter().for_each(|known| folders.leave(known));
        folders.come(shared, watch, name)?;
    }
    told();
    Ok(())
}
