//! A service is the one that writes to its data directory, from its beginning to its end.

use std::io::Write;
use std::net::TcpStream;

use super::Service;
use crate::sandbox::{Kept, Sandbox};

#[test]
fn as_long_as_it_serves_no_other_process_writes_and_is_told_who_does() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let holder = format!("process {}: ingather serve", service.child.id());
    sandbox.run(&["sync", "root"]).refuses(3, &[&holder]);
    sandbox.run(&["serve", "--listen", "127.0.0.1:0"]).refuses(3, &[&holder]);
    sandbox.run(&["api-key", "create", "ann", "--role", "admin"]).refuses(3, &[&holder]);
    assert_eq!(sandbox.find("apple"), ["a.txt"], "it can be searched as ever");
    drop(service);
    sandbox.synced(&[]);
}

#[test]
fn an_address_that_others_reach_is_refused_unless_it_is_meant() {
    let sandbox = Sandbox::sqlite();
    for address in ["0.0.0.0:0", "[::]:0"] {
        sandbox
            .run(&["serve", "--listen", address])
            .refuses(2, &["nothing would be encrypted", "--insecure-listen"]);
        assert!(!sandbox.data().exists(), "nothing was begun");
    }
    assert_ne!(sandbox.run(&["serve", "--listen", "localhost"]).code, 0);
    let _service = Service::on("0.0.0.0:0", &sandbox, &["--insecure-listen"]);
}

#[test]
fn a_port_that_is_taken_and_a_socket_that_is_none_are_said() {
    let sandbox = Sandbox::sqlite();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    sandbox.run(&["serve", "--listen", &address]).refuses(3, &[&address, "--listen"]);
    let file = sandbox.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let named = file.to_str().unwrap();
    sandbox
        .run(&["serve", "--listen", "127.0.0.1:0", "--socket", named])
        .refuses(3, &["no socket", "--socket"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let long = sandbox.path().join("x".repeat(120));
    let long = long.to_str().unwrap();
    sandbox.run(&["serve", "--listen", "127.0.0.1:0", "--socket", long]).refuses(3, &["107 bytes"]);
}

#[test]
fn a_service_that_lost_the_right_to_write_ends_by_itself() {
    let sandbox = Sandbox::new(Kept::Postgres);
    let mut service = Service::start(&sandbox);
    let mut other = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    other.batch_execute("DELETE FROM public.process").unwrap();
    let ended = service.ended();
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("the service ends: "), "{ended:?}");
}

#[test]
fn a_service_that_cannot_renew_the_right_to_write_says_so_and_ends_when_that_is_over() {
    let sandbox = Sandbox::new(Kept::Postgres);
    let mut service = Service::start(&sandbox);
    let mut other = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END'; \
        CREATE TRIGGER refuse BEFORE UPDATE ON public.process FOR EACH ROW EXECUTE FUNCTION refuse()";
    other.batch_execute(refuse).unwrap();
    let told = service.tells("the right to write could not be renewed");
    assert!(told.contains("no room"), "{told}");
    let ended = service.ended();
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        ended.err.contains("the service ends: ") && !ended.err.contains("could not be renewed"),
        "{ended:?}"
    );
}

/// Outputs are opened by their paths, so that two would write to one of them.
#[test]
fn a_service_whose_data_directory_was_replaced_ends_and_writes_nothing_there() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let mut service = Service::start(&sandbox);
    let moved = sandbox.path().join("moved");
    std::fs::rename(sandbox.data(), &moved).unwrap();
    sandbox.synced(&[]);
    let socket = sandbox.data().join("ingather.sock");
    std::fs::write(&socket, "another one's").unwrap();
    sandbox.write("b.txt", "apple");
    // It may have noticed by itself.
    if let Ok(mut client) = TcpStream::connect(service.address) {
        let _ = client.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    let ended = service.ended();
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("was replaced or moved away"), "{ended:?}");
    assert!(socket.exists(), "only its own socket goes");
    let verified = sandbox.run(&["verify", "--json"]).exits(0);
    assert!(!verified.out.contains("orphaned\":1"), "{verified:?}");
}
