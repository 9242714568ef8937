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
    events_again events_goes_on events_left events_order
    erased_and_held erased_and_killed erased_and_unsettled erased_by_half erased_from_one_job erased_in_the_middle_of_a_run erased_of_all_jobs erased_while_an_output_is_away
    narrowed_and_tried_again sent_again access_of_another_owner held_by_a_broken_listing held_by_a_rule numbers_never_go_back output_left_unseen replaced_above_the_root replaced_while_written retired_and_unconfirmed store_put_back two_owners_one_batch
    unread_and_unconfirmed begun_and_taken_back older_and_dead pending_of_another_owner unread_in_a_plain_output left_entries old_text_opens openings_by_job openings_of_removed_folders openings_of_shared_entries openings_of_silent_jobs opens_at_once row_is_not_the_output unmet_and_kept told_and_cut replaced_above retired_and_back tried_again_elsewhere
    inside_what_cannot_be_opened folder_closes_meanwhile content_by_times content_unseen opens_while_it_changes absent_root access_changes access_told_twice access_without_ability attempts attempts_used_up blind_spots changing_folder
    clock_back committing_outputs components components_beside_a_lost_entry components_half_removed components_shared confirmed_set deletion_refused deletion_stopped
    dates_of_pages dates_new_ones dates_expired dates_of_files dates_expired_and_away dates_of_gone_pages dates_and_kills dates_of_attempts
    dates_by_source dates_of_failing_pages
    dry_runs due_times dying_after_the_first_send empty_root
    failing_outputs faults first_run_holds_nothing first_runs forgetful_output gone_then_put held_removals condition_on_what_is_in_it held_by_a_rule_and_unconfirmed told_by_two_owners interrupted_listing intervals kept_text kept_text_of_another_owner kept_text_and_access listing_faults
    minimal_runs moves narrowing_is_not_lost new_access_old_content no_content_no_address nothing_wider_ahead
    hidden_at_a_fault panicking
    old_removals passes one_decision_each other_device outputs_changed_while_away outputs_in_and_out power_lost_after_a_send racy_versions reads_all_again single_probe
    stopped_as_it_ends stopped_runs told_and_put_back told_of_access
    branches branches_kept condition_undecided kept_text_left_to_a_newer stood_still condition_on_what_cannot_be_read replaced_above_an_opening held_by_a_rule_and_failed removal_outlives_its_folder conditions conditions_and_kills
    site_access_needs_a_record site_as_before site_begins_anew site_cut_off site_dead_links site_erased site_failing_pages site_goes_on site_gone_pages site_held_by_the_guard site_held_on_by_passes site_islands
    site_memo_of_unconfirmed site_missing_and_killed site_missing_and_unconfirmed site_missing_after_faults site_missing_pages site_power_lost site_reached site_redirects site_seeds_broken_off site_shut_pages site_stopped site_two_owners
    handed_down handed_down_and_killed handed_down_once_more handed_down_unreached hops hops_and_killed hops_by_relation hops_kept hops_shorter_way
    site_for_now site_for_now_from_the_start site_in_place site_in_place_and_killed site_in_place_too_far site_leads_nowhere site_no_entries
    dates_handed_down dates_of_named_versions dates_of_named_versions_anew dates_of_seeds named_versions named_versions_and_killed named_versions_of_unconfirmed
    handed_down_by_missing handed_down_to_dead_links site_in_place_left_out hops_and_missing hops_and_dates hops_near_after_all hops_near_at_once
    missing_outputs people_and_services services_and_time taken_over touched_files
    pushed pushed_and_goes_on pushed_at_once pushed_cleared pushed_delta_bounds pushed_delta_runs pushed_buffered pushed_meanwhile pushed_twice_and_killed pushed_while_a_run_ends
    two_owners two_owners_access two_owners_differ two_owners_leaving_access two_owners_unconfirmed unconfirmed_twice unreadable vanishing
}
