//! Every text of `tests/scenarios` is played on both databases.

use std::path::Path;

/// Names of the texts: one test each, and a test that none is forgotten.
macro_rules! scenarios {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*

        #[test]
        fn every_text_is_played() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
            let mut texts: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            texts.sort();
            let mut played = vec![$(stringify!($name)),*];
            played.sort_unstable();
            assert_eq!(texts, played);
        }
    };
}

fn play(name: &str) {
    let file = format!("tests/scenarios/{name}.txt");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
    ingather_testkit::scenario::play(&file, &text);
}

scenarios! {
    first_runs
}
