//! `ingather search` as people ask: what a question finds, what is said of it, and what it must not tell.

use std::os::unix::fs::PermissionsExt;

use super::passages::package;
use crate::people::ordinary;
use crate::sandbox::{Sandbox, finish};

fn filled() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("both.txt", "travel costs are paid back by the office");
    sandbox.write("travel.txt", "travel by train");
    sandbox.write("other.txt", "nothing of the kind");
    sandbox.synced(&[]);
    sandbox
}

#[test]
fn a_question_without_quotes_finds_what_has_most_of_its_words() {
    let sandbox = filled();
    let answer = sandbox.run(&["search", "which", "travel", "costs", "are", "paid", "--all"]).exits(0);
    assert!(answer.err.contains("2 of 2 found: 1 with all words, 1 with some"), "{answer:?}");
    let lines =
        sandbox.run(&["search", "travel costs", "--all", "--json", "--explain-score"]).exits(0).json();
    let told: Vec<_> =
        lines.iter().map(|line| (line["document"].as_str(), line["all_words"].as_bool())).collect();
    assert_eq!(told, [(Some("both.txt"), Some(true)), (Some("travel.txt"), Some(false))]);
    assert_eq!(
        (lines[0]["explanation"][0]["word"].as_str(), lines[0]["explanation"][0]["entries"].as_u64()),
        (Some("travel"), Some(2))
    );
    let none = sandbox.run(&["search", "travel unheard", "--all"]).exits(0);
    assert!(none.err.contains("none with all words"), "{none:?}");
    let explained = sandbox.run(&["search", "costs", "--all", "--explain-score"]).exits(0);
    assert!(
        explained.out.contains("costs: 0 in the title, 1 in the text, 0 in the name; in 1 of 3 entries"),
        "{explained:?}"
    );
    assert_eq!(
        sandbox.run(&["search", "travel AND costs", "--all", "--json"]).exits(0).documents(),
        ["both.txt"]
    );
}

#[test]
fn signs_of_prose_are_noted_and_searched() {
    let sandbox = filled();
    let question = "titel: travel \"costs";
    let answer = sandbox.run(&["search", question, "--all"]).exits(0);
    for words in ["`titel` is no field", "`title:` is one", "the double quote at character 15 is not closed"]
    {
        assert!(answer.err.contains(words), "{answer:?}");
    }
    assert_eq!(sandbox.run(&["search", question, "--all", "--json"]).exits(0).documents().len(), 2);
    let quiet = sandbox.run(&["search", question, "--all", "-q"]).exits(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn a_slip_is_corrected_and_the_literal_query_offered() {
    let sandbox = filled();
    let answer = sandbox.run(&["search", "travle", "costs", "--all"]).exits(0);
    for words in [
        "nothing has `travle`: searched for `travel`",
        "ingather search '\"travle\" costs'",
        "2 of 2 found: 1 with all",
    ] {
        assert!(answer.err.contains(words), "{answer:?}");
    }
    let literal = sandbox.run(&["search", "\"travle\" costs", "--all", "--json"]).exits(0);
    assert_eq!(literal.documents(), ["both.txt"], "what nothing has in quotes leaves the other words");
}

#[test]
fn facets_as_json_begin_with_a_line_about_all_hits() {
    let sandbox = filled();
    let lines = sandbox
        .run(&["search", "travle costs", "--all", "--json", "--facets", "--limit", "1"])
        .exits(0)
        .json();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0]["total"].as_u64(), lines[0]["all_words"].as_u64()), (Some(2), Some(1)));
    assert_eq!(lines[0]["facets"]["types"][0]["count"].as_u64(), Some(2));
    assert_eq!(lines[0]["corrections"][0]["used"].as_str(), Some("travel"));
    assert_eq!(lines[1]["document"].as_str(), Some("both.txt"));
}

#[test]
fn days_are_asked_in_the_zone_in_which_they_are_shown() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let late = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_709_247_600);
    std::fs::File::options()
        .append(true)
        .open(sandbox.root().join("a.txt"))
        .unwrap()
        .set_modified(late)
        .unwrap();
    sandbox.synced(&[]);
    // 23:00 on the last of February UTC.
    for (zone, day, other) in [("UTC0", "2024-02-29", "2024-03-01"), ("EET-2", "2024-03-01", "2024-02-29")] {
        let ask = |day: &str| {
            let mut command = sandbox.command(&["search", &format!("modified:{day} type:txt"), "--all"]);
            command.env("TZ", zone);
            finish(command, None).exits(0)
        };
        assert!(ask(day).out.contains(day), "shown and found as of the same day in {zone}");
        assert_eq!(ask(other).out, "", "{zone}");
    }
}

#[test]
fn an_answer_stays_the_same_byte_for_byte_when_hidden_files_change() {
    let sandbox = Sandbox::sqlite();
    for (name, text) in
        [("a.txt", "project zeppelin alpha"), ("b.txt", "project walrus alpha"), ("c.txt", "alpha")]
    {
        sandbox.write(name, text);
    }
    sandbox.write("closed/first.txt", "quiet");
    std::fs::set_permissions(sandbox.root().join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.synced(&[]);
    let ask = || {
        [
            "zeppelin OR walrus",
            "project alpha zeppelin",
            "alpha",
            "*",
            "zepp* unheard",
            "\"project zep\"*",
            "zeplin alpha",
        ]
        .map(|query| {
            let arguments = ["search", query, "--as", ordinary(), "--json", "--facets", "--explain-score"];
            let answer = sandbox.run(&arguments).exits(0);
            (answer.out, answer.err)
        })
    };
    let before = ask();
    assert_ne!(before[0].0, "");
    for number in 0..40 {
        let text = format!(
            "zeppelin project zeppelins zeplin zeppo{number} Die Häuser der Straße sind alt und die Leute wohnen nicht gern dort."
        );
        sandbox.write(&format!("closed/{number}.txt"), &text);
    }
    assert_eq!(sandbox.synced(&[]).get("added"), 40);
    assert_eq!(ask(), before);
}

#[test]
fn a_job_is_named_in_a_question_and_a_closed_one_is_as_one_that_is_not_there() {
    let sandbox = filled();
    let closed = sandbox.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::write(closed.join("c.txt"), "travel in secret").unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.run(&["sync", closed.to_str().unwrap(), "--name", "secrets"]).exits(0);
    let documents = |query: &str| sandbox.run(&["search", query, "--all", "--json"]).exits(0).documents();
    assert_eq!(documents("travel job:secrets"), ["c.txt"]);
    assert_eq!(documents("travel -job:secr*").len(), 2);
    let ask = |name: &str| sandbox.run(&["search", &format!("job:{name}"), "--as", ordinary()]).exits(0);
    let (hidden, unknown) = (ask("secrets"), ask("secretz"));
    assert!(hidden.err.contains("you see nothing of a job named `secrets`"), "{hidden:?}");
    assert_eq!(hidden.err.replace("secrets", "secretz"), unknown.err);
    assert_eq!((hidden.out.as_str(), unknown.out.as_str()), ("", ""));
}

#[test]
fn words_with_gaps_and_nearly_typed_ones_find_those_that_are_like_them() {
    let sandbox = filled();
    let documents = |query: &str| sandbox.run(&["search", query, "--all", "--json"]).exits(0).documents();
    assert_eq!(documents("tr*vel"), ["both.txt", "travel.txt"]);
    assert_eq!(documents("+c?sts"), ["both.txt"]);
    assert_eq!(documents("oth?r AND kinds~"), ["other.txt"]);
}

#[test]
fn hits_are_ordered_by_title_and_path() {
    let sandbox = Sandbox::sqlite();
    for (name, text) in [("b/Alpha.txt", "one"), ("a/gamma.txt", "two"), ("c/beta.txt", "three")] {
        sandbox.write(name, text);
    }
    sandbox.synced(&[]);
    let order = |sort: &str| -> Vec<String> {
        let page = |offset: &str| {
            let arguments =
                ["search", "*", "--all", "--json", "--sort", sort, "--limit", "2", "--offset", offset];
            sandbox.run(&arguments).exits(0).json()
        };
        let lines = [page("0"), page("2")].concat();
        lines.iter().map(|line| line["document"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(order("title"), ["b/Alpha.txt", "c/beta.txt", "a/gamma.txt"]);
    assert_eq!(order("-title"), ["a/gamma.txt", "c/beta.txt", "b/Alpha.txt"]);
    assert_eq!(order("path"), ["a/gamma.txt", "b/Alpha.txt", "c/beta.txt"]);
    sandbox
        .run(&["search", "*", "--all", "--sort", "name"])
        .refuses(2, &["cannot sort by `name`", "title and path"]);
}

#[test]
fn a_path_is_asked_as_people_type_it() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("finance/2024/plan.txt", "alpha");
    sandbox.write("wiki/plan.txt", "beta");
    sandbox.synced(&[]);
    let documents = |query: &str| sandbox.run(&["search", query, "--all", "--json"]).exits(0).documents();
    let root = sandbox.root();
    let above = root.file_name().unwrap().to_str().unwrap();
    assert_eq!(documents(&format!("path:\"{above}\"")), Vec::<String>::new(), "the root is the same for all");
    assert_eq!(documents("path:finance/2024"), ["finance/2024/plan.txt"]);
    let told = sandbox.run(&["search", "alpha", "--all", "--json"]).exits(0).json();
    let shown = told[0]["path"].as_str().unwrap();
    assert_eq!(
        documents(&format!("path:\"{shown}\"")),
        ["finance/2024/plan.txt"],
        "what a hit shows can be asked"
    );
    assert_eq!(documents(&format!("path:\"{}/finance\"", root.display())), ["finance/2024/plan.txt"]);
}

#[test]
fn the_same_text_is_shown_once_with_its_copies() {
    let sandbox = Sandbox::sqlite();
    for name in ["a.txt", "b.txt", "closed/c.txt", "closed/d.txt"] {
        sandbox.write(name, "travel costs of the office");
    }
    sandbox.write("other.txt", "travel by train");
    std::fs::set_permissions(sandbox.root().join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.synced(&[]);
    let shown = |arguments: &[&str]| {
        let answer = sandbox.run(&[&["search", "travel costs"], arguments].concat()).exits(0);
        let places = answer.out.lines().filter(|line| line.ends_with(".txt")).count();
        (places, answer.out.lines().find(|line| line.starts_with("  and ")).map(str::to_owned), answer.err)
    };
    let (places, copies, told) = shown(&["--all"]);
    assert_eq!((places, copies.as_deref()), (2, Some("  and 3 copies")));
    assert!(
        told.contains("2 of 5 found: 4 with all words, 1 with some") && told.contains("--all-copies"),
        "{told}"
    );
    let (places, copies, _) = shown(&["--as", ordinary()]);
    assert_eq!((places, copies.as_deref()), (2, Some("  and 1 copy")), "what is closed is no copy");
    let (places, copies, _) = shown(&["--all", "--all-copies"]);
    assert_eq!((places, copies), (5, None));
    let lines = sandbox.run(&["search", "costs", "--as", ordinary(), "--json"]).exits(0).json();
    let copies: Vec<_> =
        lines.iter().map(|line| (line["copies"].as_u64(), line["copy_of"].as_str())).collect();
    assert_eq!(copies, [(Some(1), None), (Some(1), lines[0]["uri"].as_str())]);
}

/// A document in Word's format whose properties name a language.
fn word(language: &str) -> Vec<u8> {
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='http://x/relationships/{kind}' Target='{target}'/>")
    };
    let main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
    package(&[
        (
            "[Content_Types].xml",
            &format!("<Types><Override PartName='/word/document.xml' ContentType='{main}'/></Types>"),
        ),
        (
            "_rels/.rels",
            &format!(
                "<R>{}{}</R>",
                relation("a", "officeDocument", "word/document.xml"),
                relation("b", "metadata/core-properties", "docProps/core.xml")
            ),
        ),
        (
            "docProps/core.xml",
            &format!("<cp:coreProperties><dc:language>{language}</dc:language></cp:coreProperties>"),
        ),
        (
            "word/document.xml",
            "<w:document><w:body><w:p><w:r><w:t>Häuser</w:t></w:r></w:p></w:body></w:document>",
        ),
    ])
}

/// The same in OpenDocument.
fn open_document(language: &str) -> Vec<u8> {
    let about = format!("<office:document-meta><dc:language>{language}</dc:language></office:document-meta>");
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", "<office:document-content><text:p>Häuser</text:p></office:document-content>"),
        ("meta.xml", &about),
    ])
}

/// One that says nothing of itself as a whole: its words are marked, or are what everything is by default.
fn spoken(is_marked: bool) -> Vec<u8> {
    let styles = if is_marked {
        "<style:default-style style:family='paragraph'><style:text-properties fo:language='fr'/></style:default-style>\
        <style:style style:family='paragraph' style:name='P'><style:text-properties fo:language='de'/></style:style>"
    } else {
        "<style:default-style style:family='paragraph'><style:text-properties fo:language='de'/></style:default-style>"
    };
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        (
            "content.xml",
            "<office:document-content><text:p text:style-name='P'>Häuser</text:p></office:document-content>",
        ),
        ("styles.xml", &format!("<office:document-styles>{styles}</office:document-styles>")),
    ])
}

#[test]
fn the_language_that_a_document_or_a_job_names_is_obeyed() {
    let sandbox = Sandbox::sqlite();
    // Too short to tell anything by itself.
    sandbox.write("page.html", "<!DOCTYPE html><html lang='de-AT'><body>Häuser</body></html>");
    sandbox
        .write("notes.xml", "<?xml version='1.0'?><Aufzeichnung xml:lang='de'><p>Häuser</p></Aufzeichnung>");
    sandbox.write(
        "feed.rss",
        "<?xml version='1.0'?><rss version='2.0' xml:lang='de-CH'><channel><title>Häuser</title></channel></rss>",
    );
    sandbox.write("strict.html", "<!DOCTYPE html><html xml:lang='deu'><body>Häuser</body></html>");
    for (name, bytes) in [
        ("paper.docx", word("de-DE")),
        ("paper.odt", open_document("de")),
        ("marked.odt", spoken(true)),
        ("plain.odt", spoken(false)),
    ] {
        std::fs::write(sandbox.root().join(name), bytes).unwrap();
    }
    sandbox.write("untold.html", "<!DOCTYPE html><html><body>Häuser</body></html>");
    // Each part is in its own language.
    let mail = "From: a@b\nSubject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n\
        <!DOCTYPE html><html lang=fr><p>deux maisons</html>\n--x\nContent-Type: text/html\nContent-Disposition: attachment; filename=in.html\n\n\
        <!DOCTYPE html><html lang=es><p>dos casas</html>\n--x--\n";
    sandbox.write("mail.eml", mail);
    sandbox.synced(&[]);
    let documents = |query: &str| sandbox.run(&["search", query, "--all", "--json"]).exits(0).documents();
    let german = [
        "feed.rss",
        "marked.odt",
        "notes.xml",
        "page.html",
        "paper.docx",
        "paper.odt",
        "plain.odt",
        "strict.html",
    ];
    assert_eq!(documents("+Haus"), german);
    assert_eq!(documents("lang:de"), german);
    assert_eq!(documents("lang:es"), ["mail.eml"]);
    assert_eq!(documents("+casa lang:es").len(), 1);
    // The text of XML is what stands between its tags.
    assert_eq!(documents("aufzeichnung"), [""; 0]);
    let pipeline = sandbox.path().join("pipeline.toml");
    let stages = "[[stages]]\ntransform = \"text\"\n\n[[stages]]\ntransform = \"language\"\nsettings = { otherwise = \"de\" }\n";
    std::fs::write(&pipeline, stages).unwrap();
    sandbox.synced(&["--pipeline", pipeline.to_str().unwrap(), "--update"]);
    assert_eq!(documents("+Haus").len(), 9, "the job says what the text does not tell");
}
