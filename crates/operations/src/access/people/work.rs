//! What is asked about people who are pushed, done: each change in one transaction.

use std::collections::HashSet;

use ingather_model::ids::ConnectionId;
use ingather_model::limits;
use ingather_store::connections::{self, Role};
use ingather_store::people::{self, Kind, Member, Members, Pushed};
use ingather_store::{Durability, Sql, StoreError, turns};
use serde_json::Value;

use super::filter::{Condition, Filter};
use super::patch::{self, MemberChange};
use super::resource::{self, Content, MEMBERS, Wanted, flag, shown, version, without_core};
use super::{
    ChangePerson, CreatePerson, DeletePerson, DeletedPerson, ListPeople, LookAtPeople, PeopleKind,
    PeopleList, PeopleOf, PushedResource, ReplacePerson, ShowPerson,
};
use crate::context::{Caller, Context};
use crate::problem::{Code, Problem, Result};

/// The kind of authority that people are pushed into.
const SCIM_KIND: &str = "scim";

/// Why a transaction is taken back: the store, or what was asked for.
enum Failed {
    Store(StoreError),
    Told(Problem),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Store(error)
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Failed {
        Failed::Told(problem)
    }
}

type Worked<T> = std::result::Result<T, Failed>;

/// Reads in one snapshot.
fn read<T>(
    context: &Context<'_>,
    authority: &str,
    work: impl FnOnce(&mut Sql<'_>, ConnectionId) -> Worked<T>,
) -> Result<T> {
    let Some(reader) = context.host.reader()? else { return Err(no_such_authority(authority)) };
    let mut told = None;
    let done = reader.read(|sql| {
        let found = of_scim(sql, authority);
        answered(found.and_then(|id| work(sql, id)), &mut told)
    });
    done.map_err(|error| told.unwrap_or_else(|| error.into()))
}

/// Changes something in one transaction; of what is refused nothing is done.
fn write<T>(
    context: &Context<'_>,
    authority: &str,
    mut work: impl FnMut(&mut Sql<'_>, ConnectionId) -> Worked<T>,
) -> Result<T> {
    if context.host.reader()?.is_none() {
        return Err(no_such_authority(authority));
    }
    let writing = context.host.write_beside("people that are pushed")?;
    let mut told = None;
    let done = writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        let found = of_scim(sql, authority).and_then(|id| match people::keep_authority(sql, id)? {
            Some(_) => Ok(id),
            None => Err(no_such_authority(authority).into()),
        });
        answered(found.and_then(|id| work(sql, id)), &mut told)
    });
    done.map_err(|error| told.unwrap_or_else(|| error.into()))
}

/// What a transaction ends with; a problem is kept beside it.
fn answered<T>(done: Worked<T>, told: &mut Option<Problem>) -> std::result::Result<T, StoreError> {
    *told = None;
    done.map_err(|failed| match failed {
        Failed::Store(error) => error,
        Failed::Told(problem) => {
            *told = Some(problem);
            StoreError::Refused("taken back".to_owned())
        }
    })
}

fn of_scim(sql: &mut Sql<'_>, authority: &str) -> Worked<ConnectionId> {
    let found = connections::find(sql, Role::Authority, authority)?.filter(|found| found.kind == SCIM_KIND);
    Ok(found.ok_or_else(|| no_such_authority(authority))?.id)
}

fn no_such_authority(name: &str) -> Problem {
    let sentence = format!(
        "there is no authority `{name}` of the kind `{SCIM_KIND}`; `ingather authority list` shows those there are, and `ingather apply` makes them"
    );
    Problem::new(Code::NoSuchAuthority, sentence)
}

fn no_such(of: PeopleKind, id: &str) -> Problem {
    let what = if of == PeopleKind::Users { "user" } else { "group" };
    Problem::new(Code::NoSuchPerson, format!("there is no {what} `{id}`"))
}

pub(super) fn look(context: &Context<'_>, _: &Caller<'_>, request: LookAtPeople) -> Result<PeopleOf> {
    let LookAtPeople { authority } = request;
    read(context, &authority, |_, _| Ok(()))?;
    Ok(PeopleOf { authority })
}

pub(super) fn show(context: &Context<'_>, _: &Caller<'_>, request: ShowPerson) -> Result<PushedResource> {
    let ShowPerson { authority, of, id, attributes, excluded_attributes } = request;
    let wanted = Wanted::of(attributes.as_deref(), excluded_attributes.as_deref());
    read(context, &authority, |sql, connection| {
        let found = people::get(sql, connection, of.kind(), &id)?.ok_or_else(|| no_such(of, &id))?;
        let mut room = limits::PUSHED_MEMBERS_MAX;
        Ok(PushedResource {
            resource: with_members(sql, (&authority, connection), (of.kind(), &found), &wanted, &mut room)?,
            version: version(&found),
        })
    })
}

/// Somebody as they are shown, a group with its members where they are wanted; there is `room` for so many.
fn with_members(
    sql: &mut Sql<'_>,
    (authority, connection): (&str, ConnectionId),
    (kind, known): (Kind, &Pushed),
    wanted: &Wanted,
    room: &mut usize,
) -> Worked<Value> {
    if kind == Kind::Person || !wanted.has(MEMBERS) {
        return Ok(shown(authority, kind, known, None, wanted)?);
    }
    let members = people::members(sql, connection, &known.id, *room + 1)?;
    *room = room.checked_sub(members.len()).ok_or_else(|| {
        let sentence = "these groups have too many members for one answer; ask with `excludedAttributes=members`, or for less at once";
        Problem::new(Code::TooLarge, sentence)
    })?;
    Ok(shown(authority, kind, known, Some(&members), wanted)?)
}

pub(super) fn list(context: &Context<'_>, _: &Caller<'_>, request: ListPeople) -> Result<PeopleList> {
    let ListPeople { authority, of, filter, start_index, count, attributes, excluded_attributes } = request;
    let wanted = Wanted::of(attributes.as_deref(), excluded_attributes.as_deref());
    let sought = filter.as_deref().map(|text| Sought::of(of.kind(), text)).transpose()?.unwrap_or_default();
    let start_index = start_index.unwrap_or(1).max(1);
    let most = i64::from(limits::PUSHED_PAGE_MAX);
    let length = count.unwrap_or(most).clamp(0, most);
    read(context, &authority, |sql, connection| {
        let (total, found) = sought.find(sql, connection, of.kind(), (start_index - 1, length))?;
        let mut room = limits::PUSHED_MEMBERS_OF_A_PAGE_MAX;
        let mut resources = Vec::with_capacity(found.len());
        for one in &found {
            resources.push(with_members(
                sql,
                (&authority, connection),
                (of.kind(), one),
                &wanted,
                &mut room,
            )?);
        }
        Ok(PeopleList { total, start_index, resources })
    })
}

/// Who is looked for.
#[derive(Default)]
struct Sought {
    id: Option<String>,
    name: Option<String>,
    external: Option<String>,
    active: Option<bool>,
    /// Two conditions that nobody fulfils both.
    is_nobody: bool,
}

impl Sought {
    fn of(kind: Kind, text: &str) -> Result<Sought> {
        let wrong = |told: String| Problem::new(Code::WrongFilter, told);
        let mut sought = Sought::default();
        let name = if kind == Kind::Person { "userName" } else { "displayName" };
        for Condition { attribute, value } in Filter::read(text).map_err(wrong)?.0 {
            let attribute = without_core(&attribute).unwrap_or(&attribute);
            let is = |name: &str| attribute.eq_ignore_ascii_case(name);
            if is("active") && kind == Kind::Person {
                let active = flag(&value).ok_or_else(|| wrong("`active` is true or false".to_owned()))?;
                sought.is_nobody |= sought.active.replace(active).is_some_and(|other| other != active);
                continue;
            }
            let slot = match () {
                () if is("id") => &mut sought.id,
                () if is(name) => &mut sought.name,
                () if is("externalId") => &mut sought.external,
                () => {
                    let active = if kind == Kind::Person { ", `active`" } else { "" };
                    return Err(wrong(format!(
                        "`{attribute}` is not looked for; `{name}`, `externalId`, `id`{active} are"
                    )));
                }
            };
            let Value::String(text) = value else { return Err(wrong(format!("`{attribute}` is a text"))) };
            sought.is_nobody |= slot.as_ref().is_some_and(|other| *other != text);
            *slot = Some(text);
        }
        Ok(sought)
    }

    /// How many there are, and so many of them after the first ones.
    fn find(
        &self,
        sql: &mut Sql<'_>,
        of: ConnectionId,
        kind: Kind,
        (first, length): (i64, i64),
    ) -> Worked<(i64, Vec<Pushed>)> {
        if self.is_nobody {
            return Ok((0, Vec::new()));
        }
        let most = limits::PUSHED_FOUND_MAX + 1;
        let found = match (&self.id, &self.name, &self.external) {
            (Some(id), ..) => people::get(sql, of, kind, id)?.into_iter().collect(),
            (None, Some(name), _) => people::by_name(sql, of, (kind, name), most)?,
            (None, None, Some(external)) => people::by_external(sql, of, (kind, external), most)?,
            (None, None, None) => {
                let total = people::count(sql, of, kind, self.active)?;
                return Ok((total, people::page(sql, of, (kind, self.active), (first, length))?));
            }
        };
        if found.len() == most {
            let sentence = format!("more than {} are found; add a condition", most - 1);
            return Err(Problem::new(Code::WrongFilter, sentence).into());
        }
        let fits = |one: &Pushed| {
            let is_named = |name: &String| people::name_key(name) == people::name_key(&one.name);
            self.name.as_ref().is_none_or(is_named)
                && self.external.as_ref().is_none_or(|external| one.external_id.as_ref() == Some(external))
                && self.active.is_none_or(|active| one.active == active)
        };
        let all: Vec<Pushed> = found.into_iter().filter(fits).collect();
        let total = all.len() as i64;
        let page = all.into_iter().skip(usize::try_from(first).unwrap_or(usize::MAX));
        Ok((total, page.take(usize::try_from(length).unwrap_or_default()).collect()))
    }
}

pub(super) fn create(context: &Context<'_>, _: &Caller<'_>, request: CreatePerson) -> Result<PushedResource> {
    let CreatePerson { authority, of, resource } = request;
    let content = Content::read(of.kind(), &resource)?;
    let (id, now) = (new_id()?, context.now());
    let new = Pushed {
        id,
        name: content.name,
        external_id: content.external_id,
        active: content.active.unwrap_or(true),
        body: content.body,
        revision: 1,
        created_at: now,
        changed_at: now,
    };
    let change = MemberChange::only(content.members.unwrap_or_default());
    write(context, &authority, |sql, connection| {
        if people::count(sql, connection, of.kind(), None)? >= limits::PUSHED_MAX {
            let sentence =
                format!("an authority has at most {} users, and as many groups", limits::PUSHED_MAX);
            return Err(Problem::new(Code::TooLarge, sentence).into());
        }
        if !people::add(sql, connection, of.kind(), &new)? {
            return Err(taken(&new.name).into());
        }
        if of == PeopleKind::Groups {
            members_change(sql, connection, &new.id, &change)?;
        }
        changed(sql, (&authority, connection), (of, &new), true)
    })
}

fn taken(name: &str) -> Problem {
    Problem::new(
        Code::PersonExists,
        format!("there is a user `{name}`, whose letters may be written otherwise; change that one"),
    )
}

/// Nobody is ever called so again, also where a backup of before is restored.
fn new_id() -> Result<String> {
    let random = turns::random().map_err(|error| {
        Problem::new(Code::Resources, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(random[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is answered of a change.
fn changed(
    sql: &mut Sql<'_>,
    (authority, connection): (&str, ConnectionId),
    (of, now): (PeopleKind, &Pushed),
    shows_members: bool,
) -> Worked<PushedResource> {
    let wanted = Wanted::of(None, (!shows_members).then_some(MEMBERS));
    let mut room = limits::PUSHED_MEMBERS_MAX;
    let resource = with_members(sql, (authority, connection), (of.kind(), now), &wanted, &mut room)?;
    Ok(PushedResource { resource, version: version(now) })
}

/// Changes the members of a group that is locked. Whoever comes is there, and does not go meanwhile.
fn members_change(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    group: &str,
    change: &MemberChange,
) -> Worked<()> {
    if change.is_nothing() {
        return Ok(());
    }
    let ids: Vec<&str> = change.added.iter().map(String::as_str).collect();
    let added: Vec<Member> = people::present(sql, connection, &ids)?;
    let known: HashSet<&str> = added.iter().map(|member| member.id.as_str()).collect();
    if let Some(unknown) = ids.iter().find(|id| !known.contains(*id)) {
        let sentence =
            format!("there is no user and no group `{unknown}`, which is to be a member; make it first");
        return Err(Problem::new(Code::WrongValue, sentence).into());
    }
    let removed = change.removed.iter().cloned().collect();
    match people::change_members(
        sql,
        connection,
        group,
        &Members { cleared: change.cleared, removed, added },
    )? {
        true => Ok(()),
        false => Err(resource::too_many_members().into()),
    }
}

pub(super) fn replace(
    context: &Context<'_>,
    _: &Caller<'_>,
    request: ReplacePerson,
) -> Result<PushedResource> {
    let ReplacePerson { authority, of, id, resource, if_match } = request;
    let content = Content::read(of.kind(), &resource)?;
    // What is left out is none (RFC 7644, 3.5.1).
    let change = MemberChange::only(content.members.clone().unwrap_or_default());
    let now = context.now();
    write(context, &authority, |sql, connection| {
        let known = seen(sql, connection, (of, &id), if_match.as_deref())?;
        let next = put(sql, connection, (of, known), (content.clone(), &change), now)?;
        changed(sql, (&authority, connection), (of, &next), true)
    })
}

pub(super) fn change(context: &Context<'_>, _: &Caller<'_>, request: ChangePerson) -> Result<PushedResource> {
    let ChangePerson { authority, of, id, patch, if_match } = request;
    let now = context.now();
    write(context, &authority, |sql, connection| {
        let known = seen(sql, connection, (of, &id), if_match.as_deref())?;
        let mut fields = Content::fields(of.kind(), &known)?;
        let change = patch::apply(of.kind(), &mut fields, &patch)?;
        let content = Content::of(of.kind(), fields)?;
        let next = put(sql, connection, (of, known), (content, &change), now)?;
        changed(sql, (&authority, connection), (of, &next), false)
    })
}

/// Somebody who is about to be changed, as whoever asks has seen them.
fn seen(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    (of, id): (PeopleKind, &str),
    if_match: Option<&str>,
) -> Worked<Pushed> {
    let known = people::to_change(sql, connection, of.kind(), id)?.ok_or_else(|| no_such(of, id))?;
    let is = |wanted: &str| wanted.trim() == "*" || strong(wanted) == strong(&version(&known));
    match if_match.is_none_or(|wanted| wanted.split(',').any(is)) {
        true => Ok(known),
        false => {
            let sentence = format!("`{id}` has the version {} by now; look at it again", version(&known));
            Err(Problem::new(Code::Outdated, sentence).into())
        }
    }
}

/// A version without what says that it is a weak one.
fn strong(version: &str) -> &str {
    let version = version.trim();
    version.strip_prefix("W/").unwrap_or(version)
}

/// Puts what somebody is now in place of what they were, and says it.
fn put(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    (of, known): (PeopleKind, Pushed),
    (content, change): (Content, &MemberChange),
    now: i64,
) -> Worked<Pushed> {
    let Content { name, external_id, active, body, members: _ } = content;
    // Whoever says nothing of it lets nobody in again.
    let active = active.unwrap_or(known.active);
    let next = Pushed { name, external_id, active, body, changed_at: now, ..known };
    if of == PeopleKind::Groups {
        members_change(sql, connection, &next.id, change)?;
    }
    match people::replace(sql, connection, of.kind(), &next)? {
        true => Ok(Pushed { revision: next.revision + 1, ..next }),
        false => Err(taken(&next.name).into()),
    }
}

pub(super) fn delete(context: &Context<'_>, _: &Caller<'_>, request: DeletePerson) -> Result<DeletedPerson> {
    let DeletePerson { authority, of, id, if_match } = request;
    let now = context.now();
    write(context, &authority, |sql, connection| {
        let gone = seen(sql, connection, (of, &id), if_match.as_deref())?;
        people::remove(sql, connection, of.kind(), &gone, now)?;
        Ok(())
    })?;
    Ok(DeletedPerson { id })
}
