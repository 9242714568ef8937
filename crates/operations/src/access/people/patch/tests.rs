//! Changes in the shapes in which Entra ID and Okta send them (their documentation of provisioning), and what cannot be meant.

use serde_json::json;

use super::*;
use crate::access::people::resource::Content;

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn changed(kind: Kind, before: Value, operations: Value) -> Result<(Value, MemberChange)> {
    let Value::Object(mut fields) = before else { panic!("an object") };
    let patch =
        json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations});
    let members = apply(kind, &mut fields, &patch)?;
    Ok((Value::Object(fields), members))
}

fn user(before: Value, operations: Value) -> Value {
    changed(Kind::Person, before, operations).unwrap().0
}

#[test]
fn entra_id_changes_people_with_capitals_words_for_flags_and_paths_for_names() {
    let before = json!({"userName": "ann", "active": true, "emails": [{"type": "work", "value": "a@old", "primary": true}], "name": {"givenName": "A"}});
    let after = user(
        before.clone(),
        json!([
            {"op": "Replace", "path": "active", "value": "False"},
            {"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "a@new"},
            {"op": "Add", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "7"},
            {"op": "Add", "path": "name.familyName", "value": "B"},
            {"op": "Add", "path": format!("{ENTERPRISE}:department"), "value": "D"},
            {"op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "boss"},
        ]),
    );
    assert_eq!(
        after,
        json!({
            "userName": "ann", "active": "False", "emails": [{"type": "work", "value": "a@new", "primary": true}],
            "name": {"givenName": "A", "familyName": "B"}, "phoneNumbers": [{"type": "mobile", "value": "7"}],
            ENTERPRISE: {"department": "D", "manager": "boss"},
        })
    );
    let Value::Object(fields) = after else { panic!() };
    assert_eq!(Content::of(Kind::Person, fields).unwrap().active, Some(false), "a word is understood");
    let flat = user(
        before,
        json!([{"op": "replace", "value": {"displayName": "Ann B", "name.givenName": "Ann", format!("{ENTERPRISE}:department"): "E",
            "emails[type eq \"home\"].value": "a@home", "id": "another"}}]),
    );
    assert_eq!((&flat["displayName"], &flat["name"]["givenName"]), (&json!("Ann B"), &json!("Ann")));
    assert_eq!(
        (&flat[ENTERPRISE]["department"], &flat["emails"][1]),
        (&json!("E"), &json!({"type": "home", "value": "a@home"}))
    );
    assert_eq!(flat.get("id"), None);
}

#[test]
fn okta_ends_people_without_a_path_and_never_has_a_password_kept() {
    let after = user(
        json!({"userName": "ann", "active": true}),
        json!([{"op": "replace", "value": {"active": false, "password": "zebra"}}]),
    );
    assert_eq!(after, json!({"userName": "ann", "active": false}));
    let after = user(
        json!({"userName": "ann"}),
        json!([{"op": "add", "path": "Password", "value": "zebra"}, {"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:password", "value": "zebra"},
            {"op": "add", "path": "x.password", "value": "zebra"}, {"op": "add", "path": "name", "value": {"PassWord": "zebra", "givenName": "A"}}]),
    );
    let Value::Object(fields) = after else { panic!() };
    let content = Content::of(Kind::Person, fields).unwrap();
    assert_eq!(content.body, r#"{"name":{"givenName":"A"}}"#);
}

#[test]
fn members_come_and_go_in_the_order_that_is_said() {
    let group = |operations: Value| changed(Kind::Group, json!({"displayName": "g"}), operations).unwrap();
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    let (_, entra) = group(json!([
        {"op": "Add", "path": "members", "value": [{"$ref": null, "value": "a"}, {"value": "b"}]},
        {"op": "Remove", "path": "members", "value": [{"value": "c"}]},
    ]));
    assert_eq!(entra, MemberChange { cleared: false, removed: set(&["c"]), added: set(&["a", "b"]) });
    let (fields, okta) = group(json!([
        {"op": "remove", "path": "members[value eq \"a\"]"},
        {"op": "add", "path": "members", "value": [{"value": "d", "display": "D"}]},
        {"op": "replace", "value": {"id": "x", "displayName": "new"}},
    ]));
    assert_eq!(okta, MemberChange { cleared: false, removed: set(&["a"]), added: set(&["d"]) });
    assert_eq!(fields, json!({"displayName": "new"}));
    let (_, all) = group(
        json!([{"op": "add", "path": "Members", "value": {"value": "a"}}, {"op": "remove", "path": "members"}, {"op": "add", "value": {"members": [{"value": "b"}]}}]),
    );
    assert_eq!(all, MemberChange { cleared: true, removed: set(&[]), added: set(&["b"]) });
    let (_, other) = group(
        json!([{"op": "add", "path": "members", "value": [{"value": "a"}]}, {"op": "replace", "path": "members", "value": [{"value": "b"}]},
        {"op": "remove", "path": "members[value eq \"b\"]"}]),
    );
    assert_eq!(other, MemberChange { cleared: true, removed: set(&["b"]), added: set(&[]) });
    let (_, none) = group(json!([{"op": "remove", "path": "members", "value": []}]));
    assert_eq!(none, MemberChange::default(), "an empty list is not all of them");
}

#[test]
fn values_are_added_once_replaced_and_removed() {
    let before = json!({"emails": [{"value": "a", "type": "work"}, {"value": "b", "type": "home"}], "title": "T", "nickName": "n"});
    let after = user(
        before.clone(),
        json!([
            {"op": "add", "path": "emails", "value": [{"value": "a", "type": "work"}, {"value": "c"}]},
            {"op": "remove", "path": "emails[type eq \"HOME\"]"},
            {"op": "remove", "path": "Title"},
            {"op": "replace", "path": "nickname", "value": null},
            {"op": "remove", "path": "emails[type eq \"none\"].value"},
        ]),
    );
    assert_eq!(after, json!({"emails": [{"value": "a", "type": "work"}, {"value": "c"}]}));
    let after = user(
        before,
        json!([{"op": "replace", "path": "emails", "value": [{"value": "d"}]}, {"op": "remove", "path": "emails.value"}]),
    );
    assert_eq!(after["emails"], json!([{}]));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (operations, code) in [
        (json!([]), Code::WrongValue),
        (json!({"op": "add"}), Code::WrongValue),
        (json!([{"op": "move", "path": "title", "value": "x"}]), Code::WrongValue),
        (json!([{"op": "add", "value": "x"}]), Code::WrongValue),
        (json!([{"op": "remove"}]), Code::WrongValue),
        (json!([{"op": "remove", "value": {"title": "x"}}]), Code::WrongPath),
        (json!([{"op": "replace", "path": "id", "value": "x"}]), Code::WrongPath),
        (json!([{"op": "replace", "path": "title[", "value": "x"}]), Code::WrongPath),
        (json!([{"op": "replace", "path": "title[type eq \"a\"]", "value": "x"}]), Code::WrongPath),
        (json!([{"op": "replace", "path": "title.part", "value": "x"}]), Code::WrongPath),
        (json!([{"op": "replace", "path": 7, "value": "x"}]), Code::WrongPath),
    ] {
        let told =
            changed(Kind::Person, json!({"title": "t"}), operations.clone()).map_err(|problem| problem.code);
        assert_eq!(told, Err(code), "{operations}");
    }
    for operations in [
        json!([{"op": "add", "path": "members[value eq \"a\"]", "value": "x"}]),
        json!([{"op": "remove", "path": "members[type eq \"a\"]"}]),
        json!([{"op": "replace", "path": "members.value", "value": "x"}]),
        json!([{"op": "add", "path": "members", "value": [7]}]),
    ] {
        assert!(changed(Kind::Group, json!({}), operations.clone()).is_err(), "{operations}");
    }
    let many: Vec<Value> =
        (0..=limits::PUSHED_MEMBERS_OF_A_REQUEST_MAX).map(|n| json!({"value": n.to_string()})).collect();
    let told = changed(Kind::Group, json!({}), json!([{"op": "add", "path": "members", "value": many}]));
    assert_eq!(told.map_err(|problem| problem.code), Err(Code::TooLarge));
    let many =
        vec![json!({"op": "replace", "path": "title", "value": "x"}); limits::PUSHED_OPERATIONS_MAX + 1];
    let told = changed(Kind::Person, json!({}), many.into());
    assert_eq!(told.map_err(|problem| problem.code), Err(Code::TooLarge));
}

#[test]
fn what_is_more_than_anybody_sends_is_refused_before_it_is_worked_on() {
    let refused = |operations: Value| {
        let told = changed(Kind::Person, json!({"userName": "ann"}), operations);
        told.and_then(|(fields, _)| Content::read(Kind::Person, &fields)).map_err(|problem| problem.code)
    };
    let many: Vec<Value> = (0..=limits::PUSHED_VALUES_MAX).map(Value::from).collect();
    let long = "b".repeat(limits::PUSHED_BODY_BYTES_MAX + 1);
    let keys: Map<String, Value> =
        (0..=limits::PUSHED_VALUES_MAX).map(|key| (format!("k{key}"), Value::from(1))).collect();
    let deep = (0..=limits::PUSHED_DEPTH_MAX).fold(json!(1), |inner, _| json!([inner]));
    let half: Vec<Value> = (0..limits::PUSHED_VALUES_MAX / 2).map(|number| json!({"n": number})).collect();
    for operations in [
        json!([{"op": "add", "path": "x", "value": many}]),
        json!([{"op": "add", "path": "x", "value": &long}]),
        json!([{"op": "add", "value": keys}]),
        json!([{"op": "add", "path": "urn:x:y:b[c eq \"d\"].e", "value": deep}]),
        // What fits alone, and is too much together.
        json!([{"op": "add", "path": "x", "value": half}, {"op": "add", "path": "x.m", "value": "b".repeat(60_000)}]),
    ] {
        assert_eq!(refused(operations), Err(Code::TooLarge));
    }
    // Before it comes into each of several values.
    let (mut fields, path) = (Map::new(), Path::read("x.m").unwrap());
    let told = at(Kind::Person, &mut fields, (Verb::Add, &path, long.into()), &mut MemberChange::default());
    assert_eq!(told.map_err(|problem| problem.code), Err(Code::TooLarge));
    let keys = Value::Object(keys);
    assert_eq!(Content::read(Kind::Person, &keys).map_err(|problem| problem.code), Err(Code::TooLarge));
}

#[test]
fn nothing_that_is_said_of_who_may_enter_is_passed_over() {
    let core = "urn:ietf:params:scim:schemas:core:2.0:User";
    let below = json!({"userName": "ann", core: {"active": false}});
    assert_eq!(Content::read(Kind::Person, &below).map_err(|problem| problem.code), Err(Code::WrongValue));
    let patched =
        user(json!({"userName": "ann"}), json!([{"op": "replace", "value": {core: {"active": false}}}]));
    assert_eq!(Content::read(Kind::Person, &patched).map_err(|problem| problem.code), Err(Code::WrongValue));
    let twice = json!([{"op": "replace", "value": {"active": false, "Active": true}}]);
    assert_eq!(
        changed(Kind::Person, json!({}), twice).map_err(|problem| problem.code),
        Err(Code::WrongValue)
    );
    let named = format!("{ENTERPRISE}:password");
    let secret = json!({"userName": "ann", named: "s3cret", "name.password": "s3cret"});
    let kept = Content::read(Kind::Person, &secret).unwrap();
    assert!(!kept.body.contains("s3cret"), "{}", kept.body);
    for path in ["members[value eq \"a\"].display", "members[value eq \"\\u0000\"]"] {
        let told = changed(Kind::Group, json!({}), json!([{"op": "remove", "path": path}]));
        assert_eq!(told.map_err(|problem| problem.code), Err(Code::WrongPath), "{path}");
    }
}
