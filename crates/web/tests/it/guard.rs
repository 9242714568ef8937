//! What the client does not connect to.

use ingather_web::http::{Client, ClientSettings};

use crate::server::{Server, fails, page, settings};

#[test]
fn loopback_is_closed_in_every_spelling_unless_it_is_allowed() {
    let server = Server::sending(page("secret"));
    let closed =
        Client::new(ClientSettings { contact: Some("a@example.com".into()), ..ClientSettings::default() })
            .unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "127.1",
        "[::]",
    ] {
        let url = format!("http://{host}:{}/", server.port()).parse().unwrap();
        assert_eq!(fails(&closed, &url), "private_address", "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn metadata_of_clouds_stays_closed_where_loopback_is_allowed() {
    let client = Client::new(ClientSettings { contact: Some("a@example.com".into()), ..settings() }).unwrap();
    for host in ["169.254.169.254", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "10.0.0.1"] {
        let url = format!("http://{host}/").parse().unwrap();
        assert_eq!(fails(&client, &url), "private_address", "{host}");
    }
}

#[test]
fn no_public_server_is_asked_without_a_contact() {
    let client = Client::new(settings()).unwrap();
    assert_eq!(fails(&client, &"http://1.1.1.1/".parse().unwrap()), "no_contact");
    let blank = Client::new(ClientSettings { contact: Some(" ".into()), ..settings() }).unwrap();
    assert_eq!(fails(&blank, &"http://1.1.1.1/".parse().unwrap()), "no_contact");
}

#[test]
fn a_proxy_is_no_way_to_addresses_that_are_closed() {
    let proxy = Server::sending(page("through"));
    let mut through = ClientSettings { contact: Some("a@example.com".into()), ..ClientSettings::default() };
    through.proxy =
        serde_json::from_value(serde_json::json!({ "url": format!("http://127.0.0.1:{}", proxy.port()) }))
            .unwrap();
    let client = Client::new(through).unwrap();
    assert_eq!(fails(&client, &"http://169.254.169.254/".parse().unwrap()), "private_address");
    assert_eq!(proxy.connections(), 0);
}
