//! What people type: patterns and settings, whatever their bytes.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::filesystem::rules::Rules;

/// A piece of a pattern.
#[derive(Clone, Debug)]
enum Piece {
    Byte(u8),
    /// `?`: one byte of a name.
    One,
    /// `*`: bytes of a name.
    Some,
    /// `[ab]`, or `[!ab]`.
    Class(bool),
    /// `/**/`: at least the slash, and folders.
    Folders,
}

/// Whether the pieces match, by trying everything; `/` is never one of several.
fn matches(pieces: &[Piece], text: &[u8]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
    let one = |fits: &dyn Fn(u8) -> bool| {
        text.split_first().is_some_and(|(byte, text)| fits(*byte) && matches(rest, text))
    };
    match piece {
        Piece::Byte(wanted) => one(&|byte| byte == *wanted),
        Piece::One => one(&|byte| byte != b'/'),
        Piece::Class(of) => one(&|byte| byte != b'/' && matches!(byte, b'a' | b'b') == *of),
        Piece::Some => {
            let name = text.iter().take_while(|byte| **byte != b'/').count();
            (0..=name).any(|length| matches(rest, &text[length..]))
        }
        Piece::Folders => {
            let slashes = text.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            text.first() == Some(&b'/') && slashes.map(|(at, _)| at + 1).any(|at| matches(rest, &text[at..]))
        }
    }
}

fn written(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Byte(byte) => char::from(*byte).to_string(),
        Piece::One => "?".to_owned(),
        Piece::Some => "*".to_owned(),
        Piece::Class(true) => "[ab]".to_owned(),
        Piece::Class(false) => "[!ab]".to_owned(),
        Piece::Folders => "/**/".to_owned(),
    };
    pieces.iter().map(text).collect()
}

/// Pieces of a pattern from the root: names with slashes between them.
fn pattern() -> impl Strategy<Value = Vec<Piece>> {
    let piece = prop_oneof![
        5 => prop::sample::select(b"abc.".to_vec()).prop_map(Piece::Byte),
        1 => Just(Piece::One),
        2 => Just(Piece::Some),
        1 => any::<bool>().prop_map(Piece::Class),
    ];
    // Two stars in a row would be folders.
    let name = prop::collection::vec(piece, 1..4).prop_filter("two stars", |name| {
        !name.windows(2).any(|two| matches!(two, [Piece::Some, Piece::Some]))
    });
    let between = prop_oneof![3 => Just(Piece::Byte(b'/')), 1 => Just(Piece::Folders)];
    (name.clone(), prop::collection::vec((between, name), 1..3)).prop_map(|(first, others)| {
        others.into_iter().fold(first, |mut all, (between, name)| {
            all.push(between);
            all.extend(name);
            all
        })
    })
}

/// A path below the root, of names with any bytes.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::collection::vec(prop::sample::select(b"aabbc.\n\xff".to_vec()), 1..4);
    let name = name.prop_filter("no name", |name| !matches!(name.as_slice(), b"." | b".."));
    prop::collection::vec(name, 1..5).prop_map(|names| names.join(&b'/'))
}

fn rules(settings: Value) -> Result<Rules, ingather_model::fault::Fault> {
    let settings = serde_json::from_value(settings).expect("these settings have the right types");
    Rules::of(&settings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_pattern_from_the_root_matches_as_one_that_tries_everything(pattern in pattern(), path in path()) {
        let rules = rules(json!({"root": "/r", "exclude": [written(&pattern)]})).unwrap();
        prop_assert_eq!(rules.leaves_out(&path, false, None).is_some(), matches(&pattern, &path));
    }

    #[test]
    fn a_pattern_without_a_slash_matches_the_last_name(name in "[abc.?*]{1,4}", path in path()) {
        prop_assume!(!name.contains("**"));
        let pieces: Vec<Piece> = name.bytes().map(|byte| match byte {
            b'?' => Piece::One,
            b'*' => Piece::Some,
            byte => Piece::Byte(byte),
        }).collect();
        let rules = rules(json!({"root": "/r", "include": [name]})).unwrap();
        let last = path.rsplit(|byte| *byte == b'/').next().unwrap();
        prop_assert_eq!(rules.leaves_out(&path, false, None).is_none(), matches(&pieces, last));
        prop_assert!(rules.leaves_out(&path, true, None).is_none(), "folders pass");
    }

    #[test]
    fn no_pattern_makes_it_fall_over(globs in prop::collection::vec(any::<String>(), 0..4), path: Vec<u8>, folder: bool) {
        match rules(json!({"root": "/r", "include": globs, "exclude": globs})) {
            Ok(rules) => drop(rules.leaves_out(&path, folder, None)),
            Err(fault) => prop_assert_eq!(&fault.reason().code, "glob"),
        }
    }

    #[test]
    fn settings_of_any_shape_are_taken_or_refused_by_name(
        name in prop_oneof![Just("root".to_owned()), Just("size_max".to_owned()), Just("include".to_owned()), any::<String>()],
        value in prop_oneof![
            Just(Value::Null), any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from), any::<String>().prop_map(Value::from),
            prop::collection::vec(any::<String>(), 0..3).prop_map(Value::from),
        ],
    ) {
        let mut settings = json!({"root": "/"});
        settings[&name] = value;
        let opened = (crate::filesystem::REPOSITORY.open)(&settings, &Default::default());
        let known = (crate::filesystem::REPOSITORY.source_schema)();
        let known = known.get("properties").and_then(|properties| properties.get(&name)).is_some();
        match opened {
            Ok(_) => prop_assert!(known, "`{}` is no setting, and is taken", name),
            Err(fault) => prop_assert!(!fault.reason().message.is_empty()),
        }
    }
}
