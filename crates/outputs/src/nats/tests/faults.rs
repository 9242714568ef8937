//! A server that dies, stands still, or does not let somebody in: exact in the end, and nothing counts that is not stored.

use super::*;

#[test]
fn a_server_that_dies_and_comes_back_has_every_message_once_and_in_order() {
    let test = "a_server_that_dies_and_comes_back_has_every_message_once_and_in_order";
    let Some(mut server) = Server::start(test, "") else { return };
    let stream = Stream::at(&server.url());
    let mut output = opened(&stream.settings(), 1).unwrap();
    let batch: Vec<Change> =
        (1..=4_000).map(|seq| put(&format!("{}", seq % 50), seq, &format!("text {seq}"))).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for reached in [500, 2_000] {
                while stream.described()["state"]["last_seq"].as_u64().is_none_or(|last| last < reached) {}
                server.stop();
                server.go_on();
            }
        });
        applied(output.as_mut(), &batch);
    });
    let messages = stream.messages();
    assert!(messages.iter().map(|message| message.body["seq"].as_i64().unwrap()).eq(1..=4_000));
    // Nobody is there at first.
    server.stop();
    std::thread::scope(|scope| {
        scope.spawn(|| server.go_on());
        applied(output.as_mut(), &[put("a", 4_001, "A")]);
    });
    assert_eq!(stream.messages().len(), 4_001);
}

#[test]
fn what_is_not_acknowledged_in_time_is_given_back_and_is_there_once_in_the_end() {
    let test = "what_is_not_acknowledged_in_time_is_given_back_and_is_there_once_in_the_end";
    let Some(server) = Server::start(test, "") else { return };
    let stream = Stream::at(&server.url());
    let mut settings = stream.settings();
    settings["timeout_s"] = json!(1);
    let mut output = opened(&settings, 1).unwrap();
    applied(output.as_mut(), &[put("a", 1, "A")]);
    server.holds_still(true);
    let call = call();
    call.cancel.cancel();
    let batch = [put("a", 2, "B"), put("b", 3, "B")];
    let answers = output.apply(&call, &batch);
    for answer in &answers {
        assert!(
            matches!(answer, Err(Fault::Passing { reason, .. }) if reason.code == "server"),
            "{answer:?}"
        );
    }
    server.holds_still(false);
    // What was on its way may have been stored late. It comes again by other numbers.
    applied(output.as_mut(), &[put("a", 4, "B"), put("b", 5, "B"), put("b", 6, "C")]);
    let messages = stream.messages();
    let told: Vec<&str> = texts(&messages).into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, ["A", "B", "B", "C"]);
}

#[test]
fn a_server_that_is_away_is_told_of_and_may_be_there_later() {
    let Some(mut server) = Server::start("a_server_that_is_away_is_told_of_and_may_be_there_later", "")
    else {
        return;
    };
    let stream = Stream::at(&server.url());
    server.stop();
    let fault = opened(&stream.settings(), 1).err().unwrap();
    assert!(matches!(&fault, Fault::Passing { reason, .. } if reason.code == "server"), "{fault}");
    assert!((OUTPUT.check)(&stream.settings(), &context(1)).is_err());
    server.go_on();
    applied(opened(&stream.settings(), 1).unwrap().as_mut(), &[put("a", 1, "A")]);
}

#[test]
fn who_may_do_less_is_told_which_right_is_missing() {
    let rights = r#"authorization { users: [
        {user: all, password: "narrow-gauge-7"}
        {user: looks, password: "narrow-gauge-7", permissions: {publish: ["$JS.API.>"], subscribe: ">"}}
        {user: blind, password: "narrow-gauge-7", permissions: {publish: ["other"], subscribe: ">"}}
    ] }"#;
    let Some(server) = Server::start("who_may_do_less_is_told_which_right_is_missing", rights) else {
        return;
    };
    let stream = Stream::at(&server.url());
    let by = |user: &str, password: &str| {
        let mut settings = stream.settings();
        (settings["user"], settings["password"]) = (json!(user), json!(password));
        settings
    };
    for wrong in [stream.settings(), by("all", "TOPSECRET"), by("nobody", "TOPSECRET")] {
        let fault = refused(&wrong);
        assert!(matches!(&fault, Fault::Refused(why) if why.code == "credentials"), "{fault}");
        assert!(!fault.to_string().contains("TOPSECRET"));
    }
    let fault = opened(&by("blind", "narrow-gauge-7"), 1).err().unwrap();
    assert!(fault.reason().code == "rights" && fault.reason().message.contains("$JS.API"), "{fault}");
    let mut all = opened(&by("all", "narrow-gauge-7"), 1).unwrap();
    applied(all.as_mut(), &[put("a", 1, "A")]);
    let mut looks = opened(&by("looks", "narrow-gauge-7"), 2).unwrap();
    for _ in 0..2 {
        let fault = apply(looks.as_mut(), &[put("a", 2, "B")])[0].clone().unwrap_err();
        assert!(matches!(&fault, Fault::Passing { reason, .. } if reason.code == "rights"), "{fault}");
        assert!(fault.reason().message.contains(&format!("{}.put", stream.name)), "{fault}");
    }
    applied(all.as_mut(), &[put("a", 3, "C")]);
}
