//! table: cases of the acceptance suite: steps, each with its answer. `service` is done by the suite to the source meanwhile; all else is asked of
//! each driver.

use serde_json::{Value, json};

/// Steps with their answers, over a source of their own.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) steps: Vec<(Value, Value)>,
}

fn record(key: &str, text: &str) -> Value {
    json!({"key": key, "text": text, "access": ["everybody"]})
}

fn some(keys: std::ops::Range<usize>) -> Vec<Value> {
    keys.map(|n| record(&format!("a/{n}"), &format!("lamp {n}"))).collect()
}

fn push(records: &[Value], words: &[&str]) -> (Value, Value) {
    (json!({"do": "push", "records": records}), json!({"results": words}))
}

fn all(records: &[Value], word: &str) -> (Value, Value) {
    push(records, &vec![word; records.len()])
}

fn wait(outcomes: &[Option<&str>]) -> (Value, Value) {
    (json!({"do": "wait"}), json!({"outcomes": outcomes}))
}

fn delta(fields: Value) -> (Value, Value) {
    let mut step = fields;
    step["do"] = json!("delta");
    (step, json!({"opened": true}))
}

fn end(deleted: u64, veto: bool) -> (Value, Value) {
    (json!({"do": "end"}), json!({"deleted": deleted, "veto": veto}))
}

fn fails(mut step: Value, word: &str, (status, code): (u16, &str)) -> (Value, Value) {
    step["do"] = json!(word);
    (step, json!({"error": [status, code], "told": true}))
}

fn raise() -> (Value, Value) {
    (json!({"do": "raise"}), json!({"raised": true}))
}

fn service(what: &str) -> (Value, Value) {
    (json!({"service": what}), Value::Null)
}

fn state(state: &str, records: u64, deleted: u64, touched: u64) -> (Value, Value) {
    let mode = if state.is_empty() { "" } else { "full" };
    let shown =
        json!({"state": state, "mode": mode, "records": records, "deleted": deleted, "touched": touched});
    (json!({"do": "state"}), shown)
}

pub(super) fn cases() -> Vec<Case> {
    [single(), records(), callers(), runs(), guards(), others()].into_iter().flatten().collect()
}

fn single() -> Vec<Case> {
    let if_changed = |text: &str| {
        let mut record = record("1", text);
        record["if_changed"] = json!(true);
        record
    };
    let one = vec![
        push(&[record("1", "lamp")], &["pending"]),
        wait(&[Some("indexed")]),
        push(&[record("1", "lamp")], &["replaced"]),
        wait(&[Some("unchanged")]),
        push(&[if_changed("chair")], &["replaced"]),
        wait(&[Some("indexed")]),
        push(&[if_changed("chair")], &["unchanged"]),
        wait(&[None]),
        (
            json!({"do": "reports"}),
            json!({"reports": [["1", "put", "indexed"], ["1", "put", "unchanged"], ["1", "put", "indexed"]]}),
        ),
    ];
    let deletions = vec![
        push(&[record("1", "lamp"), record("2", "lamp")], &["pending", "pending"]),
        wait(&[Some("indexed"), Some("indexed")]),
        (json!({"do": "delete", "keys": ["1", "none"]}), json!({"results": ["replaced", "pending"]})),
        wait(&[Some("deleted"), Some("noop")]),
        push(&[record("3", "first"), record("3", "second")], &["pending", "replaced"]),
        wait(&[Some("superseded"), Some("indexed")]),
        state("", 2, 0, 0),
    ];
    let stream = vec![
        (
            json!({"do": "stream", "records": some(0..3)}),
            json!({"results": ["pending", "pending", "pending"]}),
        ),
        wait(&[Some("indexed"); 3]),
        delta(json!({})),
        (json!({"do": "stream", "records": some(2..4)}), json!({"results": ["unchanged", "pending"]})),
        end(2, false),
    ];
    vec![
        Case { name: "one", steps: one },
        Case { name: "deletions", steps: deletions },
        Case { name: "stream", steps: stream },
    ]
}

/// Odd keys that a record may have.
const ODD: &[&str] = &[
    "/",
    "a//b",
    "../x",
    "/x",
    "x/",
    "ü/日本",
    "\u{1f600}",
    "a b?c#d%25&e=f",
    " lead",
    "trail ",
    "\n",
    "\u{feff}",
    "\"'\\",
    "https://example.org/a?b=c",
];

fn records() -> Vec<Case> {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let refusals = [
        (record("1", "lamp"), "pending"),
        (json!({"key": "2", "modified": "never"}), "refused invalid_record"),
        (json!(5), "refused invalid_record"),
        (json!(["k"]), "refused invalid_record"),
        (json!({"text": "no key"}), "refused invalid_record"),
        (json!({"key": 7, "text": "x"}), "refused invalid_record"),
        (record("", "x"), "refused invalid_record"),
        (record(&"k".repeat(4_097), "x"), "refused invalid_record"),
        (record("hash", "x"), "pending"),
        (json!({"key": "other", "hash": "h".repeat(1_025)}), "refused invalid_record"),
        (record("a\u{0}b", "x"), "refused invalid_record"),
        (json!({"key": "deep", "fields": {"a": deep}}), "refused wrong_use"),
        (json!({"key": "wide", "fields": {"a": vec![1; 200_001]}}), "refused too_large"),
        (record("fat", &"x".repeat(5 << 20)), "refused invalid_record"),
        (record("huge", &"x".repeat(9 << 20)), "refused too_large"),
        (record("last", "lamp"), "pending"),
    ];
    let (bad, words): (Vec<Value>, Vec<&str>) = refusals.into_iter().unzip();
    let outcomes: Vec<Option<&str>> =
        words.iter().map(|word| (*word == "pending").then_some("indexed")).collect();
    let refused = vec![
        push(&bad, &words),
        wait(&outcomes),
        // Within a run as well; of what is refused nothing goes, for it is there.
        all(&some(0..3), "pending"),
        wait(&[Some("indexed"); 3]),
        delta(json!({})),
        push(
            &[
                record("1", "lamp"),
                record("hash", "x"),
                json!({"key": "last", "modified": "never"}),
                record("a\u{0}b", "x"),
                json!({"key": "a/0", "fields": {"a": vec![1; 200_001]}}),
                record("a/1", &"x".repeat(9 << 20)),
            ],
            &[
                "unchanged",
                "unchanged",
                "refused invalid_record",
                "refused invalid_record",
                "refused too_large",
                "refused too_large",
            ],
        ),
        end(1, false),
        state("finished", 5, 1, 4),
    ];
    let many = some(0..2_500);
    let many = vec![
        all(&many, "pending"),
        wait(&vec![Some("indexed"); 2_500]),
        delta(json!({})),
        all(&many, "unchanged"),
        end(0, false),
        state("finished", 2_500, 0, 0),
    ];
    let base64 = "bGFt".repeat((4 << 20) / 3);
    let big = [
        record("text", &"lamp ".repeat((4 << 20) / 5)),
        json!({"key": "content", "content": base64, "media_type": "text/plain", "access": ["everybody"]}),
        record("next", &"chair ".repeat((4 << 20) / 6)),
    ];
    let big = vec![
        all(&big, "pending"),
        wait(&[Some("indexed"); 3]),
        delta(json!({})),
        all(&big, "unchanged"),
        end(0, false),
    ];
    let odd: Vec<Value> = ODD.iter().map(|key| record(key, "lamp ü日本\u{1f600}")).collect();
    let odd = vec![
        all(&odd, "pending"),
        wait(&vec![Some("indexed"); odd.len()]),
        delta(json!({})),
        all(&odd, "unchanged"),
        end(0, false),
        (json!({"do": "delete", "keys": ODD}), json!({"results": vec!["replaced"; odd.len()]})),
        wait(&vec![Some("deleted"); odd.len()]),
        state("finished", 0, 0, 0),
    ];
    vec![
        Case { name: "refused", steps: refused },
        Case { name: "many", steps: many },
        Case { name: "big", steps: big },
        Case { name: "odd", steps: odd },
    ]
}

fn callers() -> Vec<Case> {
    let used = |caller: &str| (json!({"do": "use", "caller": caller}), json!({}));
    let of_none = (json!({"do": "use", "caller": "pusher", "source": "none"}), json!({}));
    let asked = || json!({"records": some(0..1)});
    let steps = vec![
        used("nobody"),
        fails(asked(), "push", (401, "unauthenticated")),
        fails(json!({}), "delta", (401, "unauthenticated")),
        used("searcher"),
        fails(asked(), "push", (403, "forbidden")),
        fails(json!({}), "state", (403, "forbidden")),
        of_none,
        fails(asked(), "push", (404, "no_such_job")),
        fails(json!({}), "delta", (404, "no_such_job")),
        fails(json!({}), "reports", (404, "no_such_job")),
        used("pusher"),
        all(&some(0..1), "pending"),
    ];
    vec![Case { name: "callers", steps }]
}

fn runs() -> Vec<Case> {
    let mut closed = record("a/2", "lamp 2");
    closed["access"] = json!([]);
    let mixed =
        [&[record("a/0", "chair"), record("a/1", "lamp 1"), closed][..], &some(3..9), &some(10..11)].concat();
    let words = [
        "replaced",
        "unchanged",
        "replaced",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
        "pending",
    ];
    let changes = vec![
        delta(json!({})),
        all(&some(0..10), "pending"),
        end(0, false),
        wait(&[Some("indexed"); 10]),
        delta(json!({"mode": "full", "name": "crawler"})),
        push(&mixed, &words),
        end(1, false),
        state("finished", 10, 1, 0),
        // Nothing goes where the block has not come to its end.
        delta(json!({})),
        all(&some(3..5), "unchanged"),
        raise(),
        state("rolled_back", 10, 0, 0),
        // Of one key the last one counts, also where it alone is as before.
        delta(json!({})),
        push(
            &[record("a/1", "other"), record("a/1", "lamp 1"), record("a/3", "lamp 3")],
            &["replaced", "replaced", "unchanged"],
        ),
        raise(),
        wait(&[Some("superseded"), Some("unchanged"), None]),
        // A deletion within a run is one.
        delta(json!({"mode": "additive"})),
        push(&[json!({"key": "a/1", "delete": true})], &["replaced"]),
        end(0, false),
        wait(&[Some("deleted")]),
    ];
    let touched = |keys: std::ops::Range<usize>| {
        let keys: Vec<String> = keys.map(|n| format!("a/{n}")).collect();
        (json!({"do": "touch", "keys": keys}), json!({}))
    };
    let there = vec![
        all(&some(0..20), "pending"),
        wait(&[Some("indexed"); 20]),
        delta(json!({})),
        all(&some(0..5), "unchanged"),
        touched(5..20),
        end(0, true),
        state("finished", 20, 0, 15),
        delta(json!({})),
        all(&some(0..15), "unchanged"),
        touched(15..17),
        end(3, false),
        delta(json!({})),
        all(&some(0..1), "unchanged"),
        (json!({"do": "end", "complete": false}), json!({"deleted": 0, "veto": true})),
        state("finished", 17, 0, 0),
    ];
    vec![Case { name: "changes", steps: changes }, Case { name: "there", steps: there }]
}

fn guards() -> Vec<Case> {
    let steps = vec![
        all(&some(0..120), "pending"),
        wait(&[Some("indexed"); 120]),
        delta(json!({})),
        all(&some(0..20), "unchanged"),
        fails(json!({}), "end", (0, "deletions_held")),
        state("rolled_back", 120, 0, 0),
        delta(json!({"confirm": true})),
        all(&some(0..20), "unchanged"),
        end(100, false),
        state("finished", 20, 100, 0),
        delta(json!({})),
        fails(json!({}), "end", (0, "nothing_pushed")),
        state("rolled_back", 20, 0, 0),
        delta(json!({"confirm": true})),
        end(20, false),
        state("finished", 0, 20, 0),
    ];
    vec![Case { name: "guards", steps }]
}

fn others() -> Vec<Case> {
    let asked = || json!({"records": some(1..2)});
    let locked = vec![
        all(&some(0..1), "pending"),
        service("open"),
        fails(json!({}), "delta", (409, "source_locked")),
        service("give up"),
        delta(json!({})),
        all(&some(0..1), "unchanged"),
        end(0, false),
    ];
    let unlocked = vec![
        all(&some(0..1), "pending"),
        delta(json!({})),
        service("unlock"),
        fails(asked(), "push", (410, "run_expired")),
        fails(json!({"keys": ["a/0"]}), "touch", (410, "run_expired")),
        raise(),
        delta(json!({})),
        all(&some(1..2), "pending"),
        service("unlock"),
        fails(json!({}), "end", (410, "run_expired")),
        state("unlocked", 2, 0, 0),
    ];
    let expired = vec![
        all(&some(0..1), "pending"),
        delta(json!({"lease_seconds": 1})),
        service("take over"),
        fails(asked(), "push", (410, "run_expired")),
        raise(),
        state("rolled_back", 1, 0, 0),
    ];
    vec![
        Case { name: "locked", steps: locked },
        Case { name: "unlocked", steps: unlocked },
        Case { name: "expired", steps: expired },
    ]
}
