//! Mails as they are written, and settings that are refused; whether a server takes them, `crates/app/tests/it/service/told/notices.rs` tries.

use ingather_model::job::notify::NotifyEvent;
use serde_json::json;

use super::*;

fn of(settings: serde_json::Value) -> Result<Mail, String> {
    let mut all = json!({"server": "mail.example.org", "from": "Ingather <ingather@example.org>", "to": ["ops@example.org"]});
    for (name, value) in settings.as_object().unwrap() {
        all[name] = value.clone();
    }
    Mail::of(serde_json::from_value(all).unwrap())
}

#[test]
fn a_mail_says_who_has_written_it_and_has_the_same_id_each_time() {
    let mail = of(json!({"to": ["ops@example.org", "Ann <ann@example.org>"]})).unwrap();
    let notice = Notice {
        id: "0f1e".to_owned(),
        at: 1,
        event: NotifyEvent::Failed,
        job: "größe".to_owned(),
        run: 7,
        subject: "job größe\r\nBcc: x@example.org".to_owned(),
        text: "it is so".to_owned(),
        body: json!({}),
    };
    let written = String::from_utf8(mail.message(&notice).unwrap().formatted()).unwrap();
    let (head, body) = written.split_once("\r\n\r\n").unwrap();
    for line in [
        "Message-ID: <0f1e@example.org>",
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
    ] {
        assert!(head.lines().any(|known| known == line), "no {line}: {head}");
    }
    assert!(!head.contains("\nBcc:"), "a name makes no header: {head}");
    assert_eq!(body, "it is so");
    assert_eq!(mail.describe(), "writes to ops@example.org, ann@example.org by mail.example.org");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |settings| of(settings).err().unwrap_or_else(|| panic!("it is taken"));
    assert!(refused(json!({"to": []})).contains("1 to 50 addresses"));
    assert!(refused(json!({"to": ["nobody"]})).contains("`nobody` is no address"));
    assert!(refused(json!({"user": "me"})).contains("belong together"));
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("password");
    std::fs::write(&open, "word").unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(refused(json!({"user": "me", "password_file": open})).contains("`chmod go=`"));
    let clear = json!({"user": "me", "password_file": open, "encryption": "none"});
    assert!(refused(clear).contains("not sent without encryption"));
    assert!(refused(json!({"ca_file": open})).contains("PEM"));
}
