//! What is published, in which order, and what is refused.

use ingather_contract::output::{JobContainer, OutputCapabilities};
use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_testkit::suites::{self, OutputSample};

use super::*;

#[test]
fn it_keeps_what_an_output_promises() {
    let Some(stream) = Stream::here("it_keeps_what_an_output_promises") else { return };
    suites::output(&OUTPUT, &OutputSample { settings: stream.settings(), context: context(1), local: false });
    let claims = OutputCapabilities { commits: false, access: true, list: false, told: true };
    assert_eq!(OUTPUT.capabilities, claims);
}

#[test]
fn an_entry_is_told_with_who_may_see_it_and_one_that_nobody_may_see_says_so() {
    let test = "an_entry_is_told_with_who_may_see_it_and_one_that_nobody_may_see_says_so";
    let Some(stream) = Stream::here(test) else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    let container = JobContainer { container: ContainerId(1), job: 1 };
    let says = [
        Says::Acl { id: AclId(3), group: Group::default(), acl: Acl::open() },
        Says::Container { id: container, acls: Some(vec![AclId(3)]) },
    ];
    let statements = std::iter::once(begin(1, 5));
    let statements: Vec<Statement> =
        statements.chain(says.into_iter().zip(2..).map(|(says, seq)| Statement { seq, says })).collect();
    output.tell(&call(), &statements).unwrap();
    let access = |acl_id| Op::Access { version: Some(Digest(7)), acl_id, container: Some(ContainerId(1)) };
    let batch = [
        put("a", 4, "one"),
        change("a", 5, access(Some(AclId(3)))),
        change("a", 6, access(None)),
        change("a", 7, Op::Delete),
    ];
    applied(output.as_mut(), &batch);
    let messages = stream.messages();
    let told: Vec<(String, i64)> = messages
        .iter()
        .map(|one| {
            let verb = one.subject.strip_prefix(&format!("{}.", stream.name)).unwrap();
            assert_eq!((&one.body["schema"], &one.body["op"]), (&json!(1), &json!(verb)));
            (verb.to_owned(), one.body["seq"].as_i64().unwrap())
        })
        .collect();
    let expected = ["run", "acl", "container", "put", "access", "access", "delete"];
    assert_eq!(told, expected.map(str::to_owned).into_iter().zip(1..).collect::<Vec<_>>());
    let entry = &messages[3].body;
    assert_eq!((&entry["id"], &entry["fields"]["body"]), (&json!("test://a"), &json!("one")));
    assert_eq!(
        (&entry["acl"], &entry["container"], &entry["hidden"]),
        (&json!(3), &json!("1-1"), &json!(false))
    );
    assert_eq!(messages[4].body["hidden"], false);
    assert_eq!((&messages[5].body["acl"], &messages[5].body["hidden"]), (&Value::Null, &json!(true)));
    assert_eq!(messages[1].body["level"], json!(Acl::open()));
    assert_eq!(messages[2].body["acls"], json!([3]));
    assert_eq!(output.generation().number, 7);
}

#[test]
fn messages_are_in_the_order_of_their_changes_and_each_is_there_once() {
    let test = "messages_are_in_the_order_of_their_changes_and_each_is_there_once";
    let Some(stream) = Stream::here(test) else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    let batch: Vec<Change> =
        (1..=2_000).map(|seq| put(&format!("{}", seq % 7), seq, &format!("text {seq}"))).collect();
    applied(output.as_mut(), &batch);
    // The same numbers once more: their answers never came.
    applied(output.as_mut(), &batch);
    applied(output.as_mut(), &[put("8", 2_001, "text 2001")]);
    let messages = stream.messages();
    let expected: Vec<String> = (1..=2_001).map(|seq| format!("text {seq}")).collect();
    assert_eq!(
        texts(&messages),
        expected.iter().map(String::as_str).zip(1..).map(|(text, seq)| (seq, text)).collect::<Vec<_>>()
    );
    assert!(messages.iter().zip(1..).all(|(message, number)| message.number == number));
}

#[test]
fn what_is_put_replaced_and_put_again_is_told_three_times_however_soon() {
    let test = "what_is_put_replaced_and_put_again_is_told_three_times_however_soon";
    let Some(stream) = Stream::here(test) else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    applied(output.as_mut(), &[put("a", 1, "A"), put("a", 2, "B"), put("a", 3, "A")]);
    applied(output.as_mut(), &[put("a", 4, "B")]);
    applied(output.as_mut(), &[put("a", 5, "A")]);
    assert_eq!(texts(&stream.messages()), [(1, "A"), (2, "B"), (3, "A"), (4, "B"), (5, "A")]);
}

#[test]
fn an_entry_that_is_too_large_is_refused_alone_and_named() {
    let Some(stream) = Stream::here("an_entry_that_is_too_large_is_refused_alone_and_named") else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    let large = "word ".repeat(300_000);
    let batch = [
        put("a", 1, "one"),
        put("large", 2, &large),
        put("b", 3, "two"),
        put("larger", 4, &large),
        change("a", 5, Op::Delete),
    ];
    let answers = apply(output.as_mut(), &batch);
    for (place, answer) in answers.iter().enumerate() {
        match (place, answer) {
            (1 | 3, Err(Fault::Refused(why))) => {
                assert_eq!(why.code, "entry_too_large");
                assert!(why.message.contains("max_payload"), "{}", why.message);
            }
            _ => assert_eq!(answer, &Ok(()), "{place}"),
        }
    }
    assert_eq!(texts(&stream.messages()), [(1, "one"), (3, "two"), (5, "-")]);
    assert_eq!(output.generation().number, 5);
}

#[test]
fn a_stream_that_cannot_tell_entries_is_refused_by_what_is_wrong_with_it() {
    let test = "a_stream_that_cannot_tell_entries_is_refused_by_what_is_wrong_with_it";
    let Some(stream) = Stream::here(test) else { return };
    let mut settings = stream.settings();
    settings["create"] = json!(false);
    let fault = refused(&settings);
    assert!(matches!(&fault, Fault::Refused(why) if why.message.contains("no stream")), "{fault}");
    let all = format!("{}.>", stream.name);
    for (config, told) in [
        (json!({"subjects": [all, format!("{}-too.>", stream.name)]}), "and nothing else"),
        (json!({"subjects": [format!("{}.put", stream.name)]}), "and nothing else"),
        (json!({"subjects": [all], "no_ack": true}), "no_ack"),
        (json!({"subjects": [all], "max_msgs_per_subject": 1}), "max_msgs_per_subject"),
        (json!({"subjects": [all], "max_msg_size": 1_000}), "max_payload"),
    ] {
        let mut config = config;
        (config["name"], config["storage"]) = (json!(stream.name), json!("file"));
        let made = stream.client().json(&format!("$JS.API.STREAM.CREATE.{}", stream.name), &config);
        assert!(made["error"].is_null(), "{made}");
        let fault = refused(&settings);
        assert!(matches!(&fault, Fault::Refused(why) if why.message.contains(told)), "{told}: {fault}");
        stream.dropped();
    }
}

#[test]
fn a_stream_that_is_made_keeps_all_and_drops_nothing() {
    let Some(stream) = Stream::here("a_stream_that_is_made_keeps_all_and_drops_nothing") else { return };
    let mut settings = stream.settings();
    (settings["window_s"], settings["keep_hours"], settings["stream_mib"]) = (json!(60), json!(48), json!(1));
    (OUTPUT.check)(&settings, &context(1)).unwrap();
    assert!(!stream.described()["error"].is_null(), "nothing is made by whoever only asks");
    let mut output = opened(&settings, 1).unwrap();
    let config = &stream.described()["config"];
    assert_eq!(config["subjects"], json!([format!("{}.>", stream.name)]));
    assert_eq!(
        (&config["storage"], &config["discard"], &config["retention"]),
        (&json!("file"), &json!("new"), &json!("limits"))
    );
    assert_eq!(config["duplicate_window"], 60_000_000_000_i64);
    assert_eq!(
        (&config["max_age"], &config["max_bytes"]),
        (&json!(172_800_000_000_000_i64), &json!(1 << 20))
    );
    // When it is full, what comes is given back; what is there stays.
    let text = "word ".repeat(100_000);
    let call = call();
    call.cancel.cancel();
    let answers = output.apply(&call, &[put("a", 1, &text), put("b", 2, &text), put("c", 3, &text)]);
    assert_eq!(answers[..2], [Ok(()), Ok(())]);
    assert!(
        matches!(&answers[2], Err(Fault::Passing { reason, .. }) if reason.message.contains("room")),
        "{:?}",
        answers[2]
    );
    assert_eq!(stream.messages().len(), 2);
    // Room is made in it.
    let purged = stream.client().json(&format!("$JS.API.STREAM.PURGE.{}", stream.name), &json!({}));
    assert_eq!(purged["purged"], 2, "{purged}");
    applied(output.as_mut(), &[put("c", 4, &text)]);
    assert_eq!(stream.messages().len(), 1);
}
