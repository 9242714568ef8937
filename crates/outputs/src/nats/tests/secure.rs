//! Whom the output trusts, and how it says who it is.

use std::path::Path;

use ingather_testkit::nats::certify;

use super::*;

#[test]
fn a_server_is_trusted_by_the_roots_that_are_named_and_hears_who_asks() {
    let test = "a_server_is_trusted_by_the_roots_that_are_named_and_hears_who_asks";
    let Some(mut server) = Server::start(test, "") else { return };
    let other = tempfile::tempdir().unwrap();
    certify(server.folder());
    certify(other.path());
    let files = r#"cert_file: "FOLDER/server.pem", key_file: "FOLDER/server.key""#;
    let file = |folder: &Path, name: &str| json!(folder.join(name));
    let stream = Stream::at(&server.url());
    let mut settings = stream.settings();
    settings["servers"] = json!([server.url().replace("nats://", "tls://")]);
    let plain = refused(&settings);
    assert!(!matches!(plain, Fault::Gone), "a server without TLS is none for tls://: {plain}");

    server.configure(&format!("tls {{ {files} }}\nauthorization {{ token: \"to-ken\" }}"));
    server.go_on();
    settings["ca_file"] = file(server.folder(), "root.pem");
    settings["token"] = json!("another");
    assert_eq!(refused(&settings).reason().code, "credentials");
    settings["token"] = json!("to-ken");
    applied(opened(&settings, 1).unwrap().as_mut(), &[put("a", 1, "A")]);
    let mut wrong = settings.clone();
    wrong["ca_file"] = file(other.path(), "root.pem");
    assert_eq!(refused(&wrong).reason().code, "certificate");
    wrong.as_object_mut().unwrap().remove("ca_file");
    assert_eq!(refused(&wrong).reason().code, "certificate");
    wrong["ca_file"] = file(other.path(), "server.key");
    assert!(refused(&wrong).reason().message.contains("ca_file"));

    server.configure(&format!("tls {{ {files}, ca_file: \"FOLDER/root.pem\", verify: true }}"));
    server.go_on();
    settings.as_object_mut().unwrap().remove("token");
    assert!(opened(&settings, 1).is_err(), "it shows no certificate");
    settings["certificate_file"] = file(server.folder(), "server.pem");
    settings["key_file"] = file(server.folder(), "server.key");
    (OUTPUT.check)(&settings, &context(1)).unwrap();
    applied(opened(&settings, 2).unwrap().as_mut(), &[put("a", 2, "B")]);
}
