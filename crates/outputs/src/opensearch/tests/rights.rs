//! Whoever has just the rights that the manual names can do all that is done; who has less is told so, and no document pays for it.

use super::*;

/// The password of everybody whom `scripts/elasticsearch.sh` makes.
const PASSWORD: &str = "ingather-test";

#[test]
fn rights_to_one_index_are_enough_and_less_is_refused_by_name() {
    for engine in SearchEngine::each("rights_to_one_index_are_enough_and_less_is_refused_by_name") {
        if engine.login.is_none() {
            // It asks nobody who they are.
            continue;
        }
        let mut engine = engine;
        engine.index = format!("rights-{}", engine.index);
        let by = |user: &str, password: &str| json!({"url": engine.url, "index": engine.index, "user": user, "password": password});
        let least = by("ingather-least", PASSWORD);
        (OUTPUT.check)(&least, &context(1)).unwrap();
        let mut output = opened(&least, 1).unwrap();
        assert_eq!(apply(output.as_mut(), &[put("a", 1, "one"), put("b", 2, "two")]), [Ok(()), Ok(())]);
        assert_eq!(apply(output.as_mut(), &[access("a", 3), change("b", 4, Op::Delete)]), [Ok(()), Ok(())]);
        assert_eq!(commit(output.as_mut()).unwrap().number, 1);
        assert_eq!(listed(output.as_mut()).len(), 1);
        output.clear(&call()).unwrap();
        assert_eq!(apply(output.as_mut(), &[put("a", 5, "one")]), [Ok(())]);
        commit(output.as_mut()).unwrap();

        // Who may write no entry: the output fails, and no document does.
        let mut kept = opened(&by("ingather-keeper", PASSWORD), 2).unwrap();
        for batch in [[put("a", 6, "one")], [change("a", 7, Op::Delete)]] {
            let answers = apply(kept.as_mut(), &batch);
            assert!(
                answers.iter().all(|answer| answer.as_ref().is_err_and(|f| f.reason().code == "rights")),
                "{answers:?}"
            );
            assert_eq!(commit(kept.as_mut()).unwrap_err().reason().code, "rights");
        }

        let refused = |settings: &Value| opened(settings, 2).err().unwrap();
        let told = refused(&by("ingather-least", "another one"));
        assert!(matches!(&told, Fault::Refused(why) if why.code == "credentials"), "{told}");
        let told = refused(&by("ingather-reader", PASSWORD));
        assert!(
            matches!(&told, Fault::Refused(why) if why.code == "rights" && why.message.contains("indices:")),
            "{told}"
        );
        let elsewhere =
            json!({"url": engine.url, "index": "elsewhere", "user": "ingather-least", "password": PASSWORD});
        let told = refused(&elsewhere);
        assert!(matches!(&told, Fault::Refused(why) if why.code == "rights"), "{told}");
    }
}
