//! People and groups that an identity provider pushes (SCIM): what a group's token opens is found by its members, and by nobody who is one no more.

use ingather_operations::OPERATIONS;
use ingather_operations::operation::Role;
use serde_json::{Value, json};

use super::{SEARCH, found};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Reply, Request};
use crate::service::{Service, key};

const SCIM: &str = "/scim/v2/acme";

fn declaration(sandbox: &Sandbox) -> Value {
    let job = |name: &str, access: Value| {
        sandbox.write(&format!("{name}/{name}.txt"), &format!("apple of {name}"));
        json!({
            "name": name, "source": {"root": sandbox.root().join(name)},
            "stages": [{"transform": "text", "settings": {}}, {"transform": "access", "settings": access}],
        })
    };
    json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {
            "acme": {"kind": "scim", "settings": {}, "group": "company", "domain": "acme"},
            "machine": {
                "kind": "listed", "settings": {"file": sandbox.path().join("people.json")}, "group": "company", "domain": "acme",
            },
        },
        "jobs": [
            job("staff", json!({"allow": ["group:staff"], "deny": ["group:trainees"]})),
            job("ann", json!({"allow": ["user:ann"]})),
        ],
    })
}

fn world(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    // Folders of this machine are open to its users.
    let people =
        json!({"users": {"ann": ["unix:everyone"], "bob": ["unix:everyone"], "ａnn": ["unix:everyone"]}});
    std::fs::write(sandbox.path().join("people.json"), people.to_string()).unwrap();
    let declaration = declaration(&sandbox);
    crate::files::settle(&sandbox.root());
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    ["staff", "ann"].iter().for_each(|job| drop(sandbox.run(&["sync", job]).exits(0)));
    sandbox
}

/// A service, and whoever pushes people into it.
struct Pushing<'s> {
    service: Service<'s>,
    key: String,
}

impl<'s> Pushing<'s> {
    fn into(sandbox: &'s Sandbox) -> Pushing<'s> {
        let key = key(sandbox, "provider", &["provisioner"], None);
        Pushing { service: Service::start(sandbox), key }
    }

    fn request(&self, verb: &str, path: &str) -> Request {
        Request::new(verb, &format!("{SCIM}{path}")).key(&self.key)
    }

    fn get(&self, path: &str) -> Value {
        self.request("GET", path).send(self.service.address).is(200).json()
    }

    fn send(&self, verb: &str, path: &str, body: &Value) -> Reply {
        self.request(verb, path).scim(body).send(self.service.address)
    }

    /// Makes somebody; their id.
    #[track_caller]
    fn create(&self, path: &str, body: &Value) -> String {
        let reply = self.send("POST", path, body).is(201);
        let made = reply.json();
        let id = made["id"].as_str().unwrap().to_owned();
        let place = format!("{SCIM}{path}/{id}");
        assert_eq!(made["meta"]["location"], json!(place));
        assert!(reply.head.contains(&format!("location: {}", place.to_lowercase())), "{reply:#?}");
        assert!(reply.head.contains("content-type: application/scim+json"), "{reply:#?}");
        assert!(reply.head.contains("etag: w/\"1\""), "{reply:#?}");
        id
    }

    #[track_caller]
    fn patch(&self, path: &str, operations: &Value) -> Reply {
        let schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
        self.send("PATCH", path, &json!({"schemas": schemas, "Operations": operations}))
    }

    #[track_caller]
    fn finds(&self, name: &str) -> Vec<String> {
        found(self.service.ask("GET", &format!("{SEARCH}&as={name}&domain=acme")))
    }
}

fn group(name: &str, members: &[&str]) -> Value {
    let members: Vec<Value> = members.iter().map(|id| json!({"value": id})).collect();
    json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": name, "members": members})
}

/// That it is refused in the words of SCIM.
#[track_caller]
fn refused(reply: Reply, status: u16, word: Option<&str>) -> Reply {
    let reply = reply.is(status);
    assert!(reply.head.contains("content-type: application/scim+json"), "{reply:#?}");
    let told = reply.json();
    assert_eq!(told["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    assert_eq!(
        (told["status"].as_str(), told["scimType"].as_str()),
        (Some(status.to_string().as_str()), word),
        "{told}"
    );
    assert!(told["detail"].as_str().is_some_and(|told| told.len() > 5), "{told}");
    reply
}

#[test]
fn a_change_of_members_counts_with_the_next_search() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = world(kept);
        let pushing = Pushing::into(&sandbox);
        assert_eq!(pushing.finds("ann"), [""; 0], "nobody was pushed");
        let user = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "Ann", "externalId": "x7",
            "password": "zebra-secret-7", "name": {"givenName": "Ann", "password": "zebra-secret-7"}, "active": true});
        let ann = pushing.create("/Users", &user);
        // Her token is her name as it was pushed; she is known however its letters are written.
        assert_eq!(pushing.finds("ann"), [""; 0], "the token is user:Ann");
        refused(pushing.send("POST", "/Users", &json!({"userName": "aNN"})), 409, Some("uniqueness"));
        pushing
            .patch(&format!("/Users/{ann}"), &json!([{"op": "Replace", "path": "userName", "value": "ann"}]))
            .is(200);
        assert_eq!(
            (pushing.finds("ann"), pushing.finds("ANN")),
            (vec!["ann.txt".to_owned()], vec![]),
            "nobody is ANN to the other authority"
        );
        let staff = pushing.create("/Groups", &group("staff", &[&ann]));
        assert_eq!(pushing.finds("ann"), ["ann.txt", "staff.txt"]);
        let of_staff = format!("/Groups/{staff}");
        pushing
            .patch(&of_staff, &json!([{"op": "remove", "path": format!("members[value eq \"{ann}\"]")}]))
            .is(204);
        assert_eq!(pushing.finds("ann"), ["ann.txt"], "with the very next search");
        pushing
            .patch(&of_staff, &json!([{"op": "Add", "path": "members", "value": [{"value": ann}]}]))
            .is(204);
        assert_eq!(pushing.finds("ann"), ["ann.txt", "staff.txt"]);
        pushing
            .patch(&of_staff, &json!([{"op": "Remove", "path": "members", "value": [{"value": ann}]}]))
            .is(204);
        // By a group in it, which is in a circle.
        let editors = pushing.create("/Groups", &group("editors", &[&ann, &staff]));
        assert_eq!(pushing.finds("ann"), ["ann.txt"]);
        pushing.send("PUT", &of_staff, &group("staff", &[&editors])).is(200);
        assert_eq!(pushing.finds("ann"), ["ann.txt", "staff.txt"]);
        let trainees = pushing.create("/Groups", &group("trainees", &[&staff]));
        assert_eq!(pushing.finds("ann"), ["ann.txt"], "what denies goes the same way");
        pushing.request("DELETE", &format!("/Groups/{trainees}")).send(pushing.service.address).is(204);
        assert_eq!(pushing.finds("ann"), ["ann.txt", "staff.txt"]);
        who_may_not_enter_or_is_gone_finds_nothing(&pushing, &ann);
        assert_eq!(pushing.get(&format!("/Groups/{editors}"))["members"].as_array().unwrap().len(), 1);
        assert!(!kept_text(&sandbox).contains("zebra-secret"), "a password was kept");
        sandbox.run(&["doctor"]).exits(0);
    }
}

/// Of Ann, who finds what the staff finds.
fn who_may_not_enter_or_is_gone_finds_nothing(pushing: &Pushing<'_>, ann: &str) {
    pushing
        .patch(&format!("/Users/{ann}"), &json!([{"op": "Replace", "path": "active", "value": "False"}]))
        .is(200);
    assert_eq!(pushing.finds("ann"), [""; 0]);
    pushing
        .send("PUT", &format!("/Users/{ann}"), &json!({"userName": "ann", "name": {"givenName": "Ann"}}))
        .is(200);
    assert_eq!(pushing.finds("ann"), [""; 0], "nobody has said that she may enter again");
    pushing.patch(&format!("/Users/{ann}"), &json!([{"op": "replace", "value": {"active": true}}])).is(200);
    assert_eq!(pushing.finds("ann"), ["ann.txt", "staff.txt"]);
    // Whoever looks like her is somebody else.
    let other = pushing.create("/Users", &json!({"userName": "ａnn"}));
    assert_eq!(pushing.finds("%EF%BD%81nn"), [""; 0]);
    let shown = pushing.get(&format!("/Users/{ann}"));
    assert_eq!((&shown["name"], shown.get("password")), (&json!({"givenName": "Ann"}), None));
    assert_eq!(pushing.get(&format!("/Users/{other}?attributes=userName")).as_object().unwrap().len(), 3);
    pushing.request("DELETE", &format!("/Users/{ann}")).send(pushing.service.address).is(204);
    assert_eq!(pushing.finds("ann"), [""; 0]);
}

/// Whatever the data directory has in its files, as far as it is text.
fn kept_text(sandbox: &Sandbox) -> String {
    let files = std::fs::read_dir(sandbox.data())
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.unwrap().path()).ok());
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

#[test]
fn whoever_has_not_the_role_pushes_nobody_and_whoever_has_it_does_nothing_else() {
    let sandbox = world(Kept::Sqlite);
    let roles = [Role::Operator, Role::Searcher, Role::TokenReader];
    let keys = roles.map(|role| key(&sandbox, role.as_str(), &[role.as_str()], None));
    let pushing = Pushing::into(&sandbox);
    let address = pushing.service.address;
    let ann = json!({"userName": "ann"});
    let asked = [
        ("GET", "/Users"),
        ("POST", "/Users"),
        ("PATCH", "/Users/7"),
        ("DELETE", "/Groups/7"),
        ("GET", "/ServiceProviderConfig"),
    ];
    for (verb, path) in asked {
        let path = format!("{SCIM}{path}");
        let nobody = refused(Request::new(verb, &path).scim(&ann).send(address), 401, None);
        assert!(nobody.head.contains("www-authenticate: bearer"), "{nobody:#?}");
        for key in &keys {
            refused(Request::new(verb, &path).key(key).scim(&ann).send(address), 403, None);
        }
    }
    for of in ["none", "machine", "unix"] {
        let path = format!("/scim/v2/{of}/Users");
        refused(Request::new("GET", &path).key(&pushing.key).send(address), 404, None);
        refused(Request::new("POST", &path).key(&pushing.key).scim(&ann).send(address), 404, None);
    }
    for (verb, path, status) in [
        ("GET", "/Nothing", 404),
        ("PUT", "/Users", 405),
        ("GET", "/Users/7", 404),
        ("PUT", "/Groups/7", 404),
    ] {
        refused(pushing.send(verb, path, &json!({"userName": "a", "displayName": "a"})), status, None);
    }
    for path in
        ["/api/v1/jobs", "/api/v1/search?query=apple", "/api/v1/audit", "/api/v1/authority/tokens?user=ann"]
    {
        Request::new("GET", path).key(&pushing.key).send(address).refuses(403, "forbidden");
    }
    let others =
        OPERATIONS.iter().filter(|one| one.role == Role::Provisioner && !one.name.starts_with("people."));
    assert_eq!(others.count(), 0);
    // An administrator may as well.
    let id = pushing.create("/Users", &ann);
    pushing.service.ask("GET", &format!("{SCIM}/Users/{id}")).is(200);
    pushing.request("DELETE", &format!("/Users/{id}")).send(address).is(204);
    let changes = pushing.service.answer("GET", "/api/v1/audit?limit=3")["changes"].clone();
    let row = |n: usize| {
        ["caller", "operation", "person", "outcome"].map(|name| changes[n][name].as_str().unwrap().to_owned())
    };
    assert_eq!(row(0), ["key provider", "people.delete", &format!("acme/users/{id}"), "done"]);
    assert_eq!(row(1), ["key provider", "people.create", "acme/users/ann", "done"]);
    assert!(sandbox.run(&["audit", "--limit", "2"]).exits(0).out.contains("acme/users/ann"));
    // With the authority everybody goes, and another one of its name begins with nobody.
    pushing.create("/Users", &ann);
    pushing.service.ask("DELETE", "/api/v1/authorities/acme").is(200);
    refused(pushing.request("GET", "/Users").send(address), 404, None);
    let socket = format!("unix:{}", sandbox.data().join("ingather.sock").display());
    sandbox.run(&["apply", "-f", "declaration.json", "--server", &socket]).exits(0);
    assert_eq!(pushing.get("/Users")["totalResults"], json!(0));
}

#[test]
fn people_are_found_by_filters_page_by_page() {
    let sandbox = world(Kept::Sqlite);
    let pushing = Pushing::into(&sandbox);
    let ids: Vec<String> = (0..5)
        .map(|n| {
            pushing.create(
                "/Users",
                &json!({"userName": format!("u{n}"), "externalId": format!("x{}", n / 2), "active": n != 4}),
            )
        })
        .collect();
    let list = |query: &str| pushing.get(&format!("/Users?{query}"));
    let told = |query: &str| {
        let page = list(query);
        assert_eq!(page["itemsPerPage"], json!(page["Resources"].as_array().unwrap().len()));
        (page["totalResults"].as_u64().unwrap(), page["itemsPerPage"].as_u64().unwrap())
    };
    for (query, expected) in [
        ("", (5, 5)),
        ("startIndex=3&count=2", (5, 2)),
        ("startIndex=5&count=9", (5, 1)),
        ("startIndex=9", (5, 0)),
        ("startIndex=-3&count=1", (5, 1)),
        ("count=0", (5, 0)),
        ("count=-1", (5, 0)),
        ("filter=userName+eq+%22U3%22", (1, 1)),
        ("filter=userName%20eq%20%22none%22", (0, 0)),
        ("filter=externalId+eq+%22x0%22&count=1", (2, 1)),
        ("filter=externalId+eq+%22X0%22", (0, 0)),
        ("filter=active+eq+false", (1, 1)),
        ("filter=active+eq+%22True%22&count=1", (4, 1)),
        ("filter=externalId+eq+%22x2%22+and+active+eq+true", (0, 0)),
        ("filter=userName+eq+%22u1%22+and+userName+eq+%22u2%22", (0, 0)),
    ] {
        assert_eq!(told(query), expected, "{query}");
    }
    let by_id = list(&format!("filter=id+eq+%22{}%22+and+userName+eq+%22u2%22", ids[2]));
    assert_eq!(by_id["Resources"][0]["id"], json!(ids[2]));
    for wrong in [
        "userName+co+%22u%22",
        "name.givenName+eq+%22u%22",
        "displayName+eq+%22u%22",
        "userName",
        "userName+eq+7",
    ] {
        refused(
            pushing.request("GET", &format!("/Users?filter={wrong}")).send(pushing.service.address),
            400,
            Some("invalidFilter"),
        );
    }
    let sought = json!({"filter": "active eq true", "startIndex": 2, "count": 2, "attributes": ["userName"]});
    let page = pushing.send("POST", "/Users/.search", &sought).is(200).json();
    assert_eq!((&page["totalResults"], page["Resources"].as_array().unwrap().len()), (&json!(4), 2));
    assert_eq!(page["Resources"][0].as_object().unwrap().len(), 3);
}

#[test]
fn a_group_is_changed_as_it_was_seen_and_of_what_is_refused_nothing_is_done() {
    let sandbox = world(Kept::Sqlite);
    let pushing = Pushing::into(&sandbox);
    let ids = [pushing.create("/Users", &json!({"userName": "ann"}))];
    let group = pushing.create("/Groups", &group("Staff", &[&ids[0]]));
    let groups = pushing.get("/Groups?filter=displayName+eq+%22staff%22&excludedAttributes=members");
    assert_eq!((&groups["totalResults"], groups["Resources"][0].get("members")), (&json!(1), None));
    let path = format!("/Groups/{group}");
    assert_eq!(pushing.get(&path)["members"][0]["value"], json!(ids[0]));
    let seen = |version: &str, body: &Value| {
        pushing
            .request("PUT", &path)
            .header(&format!("If-Match: {version}"))
            .scim(body)
            .send(pushing.service.address)
    };
    let other = json!({"displayName": "Others"});
    seen("W/\"1\"", &other).is(200);
    refused(seen("W/\"1\"", &other), 412, None);
    assert!(seen("\"2\", \"9\"", &other).is(200).head.contains("etag: w/\"3\""));
    assert_eq!(pushing.get(&path)["members"], json!([]), "what is left out is none");
    for (body, word) in [
        (json!({"displayName": "x", "members": [{"value": "nobody"}]}), "invalidValue"),
        (json!({"members": []}), "invalidValue"),
        (json!({"displayName": " x"}), "invalidValue"),
        (json!({"displayName": "x\u{7}"}), "invalidValue"),
    ] {
        refused(pushing.send("PUT", &path, &body), 400, Some(word));
    }
    refused(
        pushing.request("POST", "/Users").json_text("{").send(pushing.service.address),
        400,
        Some("invalidSyntax"),
    );
    refused(
        pushing.patch(&path, &json!([{"op": "replace", "path": "a b", "value": 1}])),
        400,
        Some("invalidPath"),
    );
    refused(
        pushing.send("POST", "/Users", &json!({"userName": "big", "note": "x".repeat(70_000)})),
        413,
        None,
    );
    assert_eq!(pushing.get(&path)["meta"]["version"], json!("W/\"3\""), "of what is refused nothing is done");
    for described in ["/ServiceProviderConfig", "/ResourceTypes", "/ResourceTypes/User", "/Schemas"] {
        assert!(pushing.get(described)["schemas"].is_array(), "{described}");
    }
    refused(pushing.request("GET", "/Schemas/none").send(pushing.service.address), 404, None);
}

#[test]
fn of_many_who_push_one_name_at_once_one_does_and_no_member_of_many_is_lost() {
    const CLIENTS: usize = 8;
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = world(kept);
        let pushing = Pushing::into(&sandbox);
        let group = pushing.create("/Groups", &json!({"displayName": "staff"}));
        let start = std::sync::Barrier::new(CLIENTS);
        let statuses: Vec<(u16, u16)> = std::thread::scope(|scope| {
            let (pushing, start, group) = (&pushing, &start, &group);
            let clients = (0..CLIENTS).map(|n| {
                scope.spawn(move || {
                    let own = pushing.create("/Users", &json!({"userName": format!("u{n}")}));
                    start.wait();
                    let name = if n % 2 == 0 { "ann" } else { "ANN" };
                    let made = pushing.send("POST", "/Users", &json!({"userName": name})).status;
                    let joins = json!([{"op": "add", "path": "members", "value": [{"value": own}]}]);
                    (made, pushing.patch(&format!("/Groups/{group}"), &joins).status)
                })
            });
            let clients: Vec<_> = clients.collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        let of = |status: u16| statuses.iter().filter(|(made, _)| *made == status).count();
        assert_eq!((of(201), of(409)), (1, CLIENTS - 1), "{statuses:?}");
        assert!(statuses.iter().all(|(_, joined)| *joined == 204), "{statuses:?}");
        assert_eq!(pushing.get(&format!("/Groups/{group}"))["members"].as_array().unwrap().len(), CLIENTS);
        sandbox.run(&["doctor"]).exits(0);
    }
}
