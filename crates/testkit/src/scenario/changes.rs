//! Changes of the source, word by word.

use ingather_model::fault::{Exhausted, Fault, Reason};

use super::dated;
use super::steps::{acl, number};
use crate::script_repository::Source;

/// One change of the source.
pub(super) fn change(source: &mut Source, name: &str, word: &str) -> Result<(), String> {
    match name {
        "root" => root(source, word),
        name if name.ends_with('/') => folder(source, name, word),
        name => file(source, name, word),
    }
}

fn root(source: &mut Source, word: &str) -> Result<(), String> {
    match word {
        "absent" => source.absent = true,
        "present" => source.absent = false,
        _ => return Err(format!("the root has no `{word}`")),
    }
    Ok(())
}

fn folder(source: &mut Source, name: &str, word: &str) -> Result<(), String> {
    let name = name.trim_start_matches('/').to_owned();
    let next = source.next_change() as u64;
    let folder = source.folder(&name);
    match word.split_once(':') {
        Some(("device", number_of_device)) => {
            folder.device = number(number_of_device)?;
            (folder.inode, folder.ctime) = (next, next as i64);
        }
        Some(("access", who)) => (folder.acl, folder.ctime) = (acl(who), next as i64),
        None if word == "there" => {}
        None if word == "unreadable" => folder.unreadable = true,
        None if word == "readable" => folder.unreadable = false,
        None if word == "changing" => folder.changing = true,
        None if word == "quiet" => folder.changing = false,
        None if word == "replaced" => (folder.inode, folder.ctime) = (next, next as i64),
        Some(("move", old)) => move_folder(source, old, &name),
        None if word == "gone" => {
            source.folders.remove(&name);
            source.files.retain(|file, _| !file.starts_with(&name));
        }
        _ => return Err(format!("a folder has no `{word}`")),
    }
    Ok(())
}

/// A folder takes what is below it along; what was at its new name goes.
fn move_folder(source: &mut Source, old: &str, new: &str) {
    if new.starts_with(old) || old.starts_with(new) {
        return;
    }
    source.files.retain(|name, _| !name.starts_with(new));
    source.folders.retain(|name, _| !name.starts_with(new));
    let change = source.next_change();
    let names: Vec<String> = source.files.keys().filter(|name| name.starts_with(old)).cloned().collect();
    for name in names {
        if let Some(mut file) = source.files.remove(&name) {
            file.ctime = change;
            source.files.insert(format!("{new}{}", &name[old.len()..]), file);
        }
    }
    let names: Vec<String> = source.folders.keys().filter(|name| name.starts_with(old)).cloned().collect();
    for name in names {
        if let Some(mut folder) = source.folders.remove(&name) {
            folder.ctime = if name == old { change } else { folder.ctime };
            source.folders.insert(format!("{new}{}", &name[old.len()..]), folder);
        }
    }
}

fn file(source: &mut Source, name: &str, word: &str) -> Result<(), String> {
    let change = source.next_change();
    if let Some(old) = word.strip_prefix("move:") {
        let mut moved = source.files.remove(old).ok_or("there is nothing to move")?;
        moved.ctime = change;
        source.files.insert(name.to_owned(), moved);
        return Ok(());
    }
    if word == "gone" {
        return source.files.remove(name).map(|_| ()).ok_or_else(|| "it is not there".to_owned());
    }
    let file = source.file(name);
    let passing = |code: &str, when_exhausted| Fault::Passing {
        reason: Reason::new(code, "it cannot be read now"),
        retry_in_ms: None,
        attempts_max: None,
        give_up_at: None,
        when_exhausted,
    };
    if dated::change(&mut file.dates, word)? {
        return Ok(());
    }
    match word.split_once(':') {
        Some(("cut_off", seconds)) => {
            if let Some((Fault::Passing { give_up_at, .. }, _)) = &mut file.fault {
                *give_up_at = Some(dated::at(seconds)?);
            }
        }
        Some(("access", who)) => (file.acl, file.ctime) = (acl(who), change),
        Some(("failing", times)) => file.fault = Some((passing("away", Exhausted::Skip), number(times)?)),
        Some(("look_failing", times)) => {
            file.look_fault = Some((passing("away", Exhausted::Skip), number(times)?))
        }
        Some(("keeping", times)) => file.fault = Some((passing("away", Exhausted::Keep), number(times)?)),
        Some(("aborting", times)) => {
            file.fault = Some((passing("away", Exhausted::AbortJob), number(times)?))
        }
        Some(("racy", times)) => file.racy = number(times)?,
        None if word == "racy" => file.racy = u32::MAX,
        None if word == "calm" => file.racy = 0,
        None if word == "unreadable" => (file.unreadable, file.ctime) = (true, change),
        None if word == "readable" => (file.unreadable, file.ctime) = (false, change),
        // The reader may open it now although nothing about the file has changed.
        None if word == "opened" => file.unreadable = false,
        None if word == "vanishing" => file.vanishing = true,
        None if word == "steady" => file.vanishing = false,
        None if word == "included" => file.excluded = false,
        None if word == "unlisted" => file.unlisted = true,
        None if word == "listed" => file.unlisted = false,
        None if word == "excluded" => file.excluded = true,
        None if word == "broken" => file.fault = Some((Fault::broken("parse", "it is broken"), u32::MAX)),
        None if word == "panicking" => file.panics = true,
        None if word == "sound" => (file.fault, file.look_fault, file.panics) = (None, None, false),
        None if word == "touched" => (file.mtime, file.ctime) = (change, change),
        None if word == "ctime" => file.ctime = change,
        // Of equal length, and under the time of before.
        Some(("quietly", content)) => (file.content, file.ctime) = (content.to_owned(), change),
        // What a page that is written through memory does: nothing tells of it.
        Some(("unseen", content)) => file.content = content.to_owned(),
        None if word.starts_with('v') => {
            if file.content != word {
                (file.content, file.mtime, file.ctime) = (word.to_owned(), change, change);
            }
        }
        _ => return Err(format!("a file has no `{word}`")),
    }
    Ok(())
}
