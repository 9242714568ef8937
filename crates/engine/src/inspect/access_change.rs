//! How the access of a document differs from when it was read last.

use ingather_model::access::{Acl, Entry};

use super::stage_acl::StageAcl;

/// Entries of an acl that a mode alone makes: root, owner, group, others.
pub(super) const MODE_ENTRIES: usize = 4;

/// What about the access of a document is not as it was when it was last read; none when all is.
pub(super) fn changed(
    name: &str,
    before: Option<&Acl>,
    now: &Acl,
    stage_acl: Option<&StageAcl>,
) -> Option<String> {
    let before = before?;
    if before == now {
        return None;
    }
    let of_source = stage_acl.map(|stage_acl| stage_acl.of_source(before).zip(stage_acl.of_source(now)));
    let (before, now) = match (&of_source, stage_acl) {
        (Some(Some((before, now))), _) => (before, now),
        (Some(None), Some(stage_acl)) => return Some(stage_acl.changed(name)),
        _ => (before, now),
    };
    let (Acl::Ordered(old), Acl::Ordered(new)) = (before, now) else {
        return Some(format!("the access of `{name}` was changed since it was last read"));
    };
    let who =
        |entries: &[Entry], at: usize| entries.get(at).map(|entry| entry.who.clone()).unwrap_or_default();
    let group = |entries: &[Entry]| {
        entries
            .iter()
            .map(|entry| entry.who.as_str())
            .find(|who| who.starts_with("unix:g:"))
            .unwrap_or_default()
            .to_owned()
    };
    let from_to = |what: &str, old: String, new: String| {
        Some(format!("the {what} of `{name}` was changed since it was last read, from `{old}` to `{new}`"))
    };
    if who(old, 1) != who(new, 1) {
        from_to("owner", who(old, 1), who(new, 1))
    } else if old.len() != new.len() || new.len() != MODE_ENTRIES {
        Some(format!("the access list (ACL) of `{name}` was changed since it was last read"))
    } else if group(old) != group(new) {
        from_to("group", group(old), group(new))
    } else {
        Some(format!("the mode of `{name}` was changed since it was last read"))
    }
}
