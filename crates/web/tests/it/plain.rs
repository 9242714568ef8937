//! What honest servers answer.

use ingather_web::http::{Answer, Client, Condition};

use crate::server::{Server, call, client, fails, page, read, settings};

#[test]
fn a_page_comes_whole_with_its_head() {
    let server = Server::sending(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"1\"\r\nX-Robots-Tag: noindex\r\nX-Robots-Tag: a: nofollow\r\n\r\nhello",
    );
    let answer = client().ask(&call(), &server.url("/a?b"), Condition::default()).unwrap().answer().unwrap();
    let Answer::Page(head, mut body) = answer else { panic!("{answer:?}") };
    assert_eq!(head.header("etag"), Some("\"1\""));
    assert_eq!(head.headers("X-Robots-Tag").collect::<Vec<_>>(), ["noindex", "a: nofollow"]);
    assert_eq!(std::io::read_to_string(&mut body).unwrap(), "hello");
    assert!(server.heads()[0].starts_with("get /a?b http/1.1\r\n"), "{:?}", server.heads());
}

#[test]
fn chunks_and_bodies_without_a_length_are_whole_when_their_end_is_told() {
    let chunked = Server::sending(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nT: x\r\n\r\n",
    );
    assert_eq!(read(&client(), &chunked.url("/")).unwrap(), b"hello!");
    let closed = Server::sending("HTTP/1.0 200 OK\r\n\r\nhello");
    assert_eq!(read(&client(), &closed.url("/")).unwrap(), b"hello");
    for status in ["204 No Content", "205 Reset Content"] {
        let nothing = Server::sending(format!("HTTP/1.1 {status}\r\n\r\n"));
        assert_eq!(fails(&client(), &nothing.url("/")), "no_content", "it is no page without a letter");
    }
}

#[test]
fn a_server_is_told_who_asks_and_whom_to_write_to() {
    let server = Server::sending(page(""));
    let mut named = settings();
    named.agent = "Example/1".into();
    named.contact = Some("mailto:a@example.com".into());
    read(&Client::new(named).unwrap(), &server.url("/")).unwrap();
    assert!(
        server.heads()[0].contains("\r\nuser-agent: example/1 (+mailto:a@example.com)\r\n"),
        "{:?}",
        server.heads()
    );
}

#[test]
fn a_page_that_has_not_changed_is_not_sent_again() {
    let server = Server::saying(|head, stream| {
        let known =
            head.contains("if-none-match: \"1\"") && head.contains("if-modified-since: fri, 25 jun 2010");
        let answer =
            if known { "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n".to_owned() } else { page("new") };
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let condition = Condition { etag: Some("\"1\""), last_modified: Some("Fri, 25 Jun 2010 15:00:00 GMT") };
    let answer = client().ask(&call(), &server.url("/"), condition).unwrap().answer().unwrap();
    assert!(matches!(&answer, Answer::Unchanged(head) if head.status == 304), "{answer:?}");
    assert_eq!(read(&client(), &server.url("/")).unwrap(), b"new");
}

#[test]
fn redirects_are_told_and_not_followed() {
    for (location, expected) in [
        ("/there", "/there"),
        ("http://169.254.169.254/latest", "http://169.254.169.254/latest"),
        ("?x", "/here?x"),
    ] {
        let server = Server::sending(format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ));
        let answer =
            client().ask(&call(), &server.url("/here"), Condition::default()).unwrap().answer().unwrap();
        let Answer::Moved(head, to) = answer else { panic!("{answer:?}") };
        assert_eq!((head.status, to), (302, server.url("/here").join(expected).unwrap()));
        assert_eq!(server.connections(), 1);
    }
}

#[test]
fn a_page_that_is_gone_is_told_from_one_that_is_not_found() {
    for status in [404, 410] {
        let server = Server::sending(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"));
        let answer = client().ask(&call(), &server.url("/"), Condition::default()).unwrap().answer().unwrap();
        assert!(matches!(&answer, Answer::Absent(head) if head.status == status), "{answer:?}");
    }
}

#[test]
fn a_proxy_is_asked_for_the_whole_address() {
    let proxy = Server::sending(page("through"));
    let mut through = settings();
    through.contact = Some("a@example.com".into());
    through.proxy = serde_json::from_value(serde_json::json!({
        "url": format!("http://127.0.0.1:{}", proxy.port()), "user": "me", "password": "secret",
    }))
    .unwrap();
    assert!(!format!("{through:?}").contains("secret"));
    let client = Client::new(through).unwrap();
    let url = "http://name.invalid/a".parse().unwrap();
    assert_eq!(read(&client, &url).unwrap(), b"through");
    let head = &proxy.heads()[0];
    assert!(head.starts_with("get http://name.invalid/a http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic "), "{head}");
}

#[test]
fn a_server_is_told_its_cookies_and_its_secret_again() {
    let server =
        Server::sending("HTTP/1.1 200 OK\r\nSet-Cookie: seen=1; path=/\r\nContent-Length: 0\r\n\r\n");
    let mut with = settings();
    let origin = format!("http://127.0.0.1:{}", server.port());
    with.credentials =
        serde_json::from_value(serde_json::json!([{ "origin": origin, "bearer": "hush" }])).unwrap();
    let client = Client::new(with).unwrap();
    read(&client, &server.url("/a")).unwrap();
    read(&client, &server.url("/b")).unwrap();
    let heads = server.heads();
    assert!(!heads[0].contains("\r\ncookie:"), "{}", heads[0]);
    assert!(heads[1].contains("\r\ncookie: seen=1\r\n"), "{}", heads[1]);
    assert!(heads[1].contains("\r\nauthorization: bearer hush\r\n"), "{}", heads[1]);
}
