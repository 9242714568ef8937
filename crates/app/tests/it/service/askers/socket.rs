//! Users of the machine over the socket of the service: the kernel says who they are.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::people::{Person, must, ordinary};
use crate::sandbox::Sandbox;
use crate::service::http::{Reply, Request, reply};
use crate::service::{Service, key};

/// Sends what it reads to a socket, and prints what comes back.
const CLIENT: &str = "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die \"refused: $!\"; \
    print $s $ARGV[1]; $s->flush; print while <$s>;";

pub(super) fn ask(socket: &Path, request: &Request) -> Reply {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request.text().as_bytes()).unwrap();
    reply(stream)
}

#[test]
fn the_owner_of_the_data_directory_may_do_everything_and_its_socket_is_theirs_alone() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let socket = sandbox.data().join("ingather.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
    ask(&socket, &Request::new("GET", "/api/v1/search?query=apple&limit=2&all=true")).is(200);
    ask(&socket, &Request::new("POST", "/api/v1/jobs/root/abort")).is(200);
    let changes = service.answer("GET", "/api/v1/audit");
    let own = std::fs::metadata(sandbox.data()).unwrap().uid();
    assert_eq!(changes["changes"][0]["caller"], format!("user {own}"));
    // Whoever presents a key asks by it, and with a wrong one as nobody.
    let wrong = Request::new("GET", "/api/v1/jobs").key("ing_0_0");
    ask(&socket, &wrong).refuses(401, "unauthenticated");
}

#[test]
fn another_user_searches_as_themselves_and_does_nothing_else() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    sandbox.write("open.txt", "apple");
    sandbox.write("closed.txt", "apple");
    let closed = sandbox.root().join("closed.txt");
    std::fs::set_permissions(closed, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.synced(&[]);
    let admin = key(&sandbox, "test", &["admin"], None);
    let socket = sandbox.path().join("all.sock");
    let service = Service::with(&sandbox, admin, &["--socket", socket.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o666);
    let person = Person::named(ordinary());
    let ask = |path: &str| {
        let text = Request::new("GET", path).text();
        let mut client = person.command(Path::new("perl"));
        Reply::read(&must(client.args(["-e", CLIENT]).arg(&socket).arg(text)))
    };
    let found = ask("/api/v1/search?query=apple&limit=5").is(200).json();
    assert_eq!(found["summary"]["total"], 1, "{found}");
    assert_eq!(found["hits"][0]["document"], "open.txt");
    ask("/api/v1/search?query=apple&limit=5&all=true").refuses(403, "forbidden");
    ask("/api/v1/search?query=apple&limit=5&as=root").refuses(403, "forbidden");
    for path in ["/api/v1/jobs", "/api/v1/api-keys", "/api/v1/audit", "/api/v1/authority/tokens?user=root"] {
        ask(path).refuses(403, "forbidden");
    }
    assert_eq!(service.answer("GET", "/api/v1/jobs")["jobs"][0]["job"], "root");
}
