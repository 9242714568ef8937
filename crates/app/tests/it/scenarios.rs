//! One scenario file for each word of a folder's life: tests/scenarios/NAME.txt with what must be answered.

use crate::sandbox::Kept;
use crate::scenario::{acts_as_others, play};

/// Makes a test of each scenario, so that each fails by its own name, and the list that is compared with the folder.
macro_rules! scenarios {
    ($($name:ident: $($kept:ident)+;)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];
        $(
            #[test]
            fn $name() {
                if acts_as_others(stringify!($name)) {
                    ingather_testkit::needs!(Users);
                }
                $(play(stringify!($name), Kept::$kept);)+
            }
        )+
    };
}

scenarios! {
    access_of_a_file: Sqlite Postgres;
    access_of_a_folder: Sqlite Postgres;
    compare_content: Sqlite;
    deep_folders: Sqlite Postgres;
    delete_guard_off: Sqlite;
    dry_run: Sqlite;
    exclude: Sqlite;
    file_becomes_folder: Sqlite;
    files_swapped: Sqlite Postgres;
    folder_becomes_file: Sqlite;
    folder_moved: Sqlite Postgres;
    folder_opened_while_held: Sqlite;
    folder_replaced: Sqlite;
    folder_unreadable: Sqlite Postgres;
    folder_unreadable_opened: Sqlite;
    hard_links: Sqlite;
    hidden: Sqlite;
    huge: Sqlite;
    ignore_files: Sqlite;
    include: Sqlite;
    links: Sqlite;
    minimal: Sqlite;
    minimal_narrows: Sqlite;
    moved_and_unreadable: Sqlite;
    name_not_utf8: Sqlite Postgres;
    name_with_newline: Sqlite Postgres;
    owner_changes: Sqlite Postgres;
    path_very_long: Sqlite;
    racy: Sqlite;
    removals_held: Sqlite Postgres;
    removals_held_void: Sqlite;
    removed_and_back: Sqlite;
    root_absent: Sqlite;
    root_empty: Sqlite;
    root_unreadable: Sqlite;
    single_file: Sqlite;
    size_max_lowered: Sqlite;
    sparse: Sqlite;
    special_files: Sqlite;
    unreadable_known: Sqlite;
    unreadable_moved_back: Sqlite;
    unreadable_new: Sqlite;
    update_flags: Sqlite;
    zero_byte: Sqlite;
}

#[test]
fn every_scenario_file_is_played() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().trim_end_matches(".txt").to_owned())
        .collect();
    files.sort();
    assert_eq!(files, NAMES, "a file without a line above, or the reverse");
}
