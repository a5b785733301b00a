//! What becomes of machines.

use super::{Seen, World, listed, run};
use abide_preprocess::calls::{Call, OkAnswer};
use abide_preprocess::limits::LAUNCH_ATTEMPTS;
use abide_preprocess::phases::ALL;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn machines_that_were_started_before_count_and_a_reset_destroys_them() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_mute: true, ..Seen::default() };
    let mut world = World::new(Duration::from_millis(10), 3_600_000, calm);
    let running = world.start().await;
    running.submit(30).await;
    world.until(|seen| seen.machines.len() == 4).await;
    running.stop().await;
    let before = world.seen.lock().unwrap().lists;

    let running = world.start().await;
    // Twice looked at since, which is a list for each of three apps: whoever wanted to start another has had room, if there was any.
    world.until(|seen| seen.lists >= before + 7).await;
    assert_eq!(world.seen.lock().unwrap().most, 4);
    let numbers = running.service.metrics().numbers();
    assert_eq!(numbers.spawned_total, 0, "they were started by another process");
    assert!(numbers.in_flight <= 4, "who waits for room is not under way: {}", numbers.in_flight);
    let site = running.service.site().await;
    site.ask::<OkAnswer>("fly", &Call::Reset).await.unwrap();
    world.until(|seen| seen.destroyed.len() == 4).await;
    running.stop().await;
    assert_eq!(world.seen.lock().unwrap().machines.len(), 4);
}

#[tokio::test]
async fn a_machine_that_is_not_destroyed_at_first_is_destroyed_later() {
    let mute = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, mute, destroy_fails: 2, ..Seen::default() };
    let seen = run(1, Duration::from_millis(100), calm).await;
    assert_eq!(seen.destroyed.len(), seen.machines.len());
}

#[tokio::test]
async fn machines_are_asked_for_as_documented_and_a_dead_one_is_replaced() {
    let seen = run(2, Duration::from_millis(20), Seen::default()).await;
    assert_eq!(seen.problems, Vec::<String>::new());
    let mut names = seen.machines.clone();
    names.sort();
    assert_eq!(names, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000002", "tiff-fly_tiff_0000002-2"]);
    assert_eq!(seen.too_many, 2 * LAUNCH_ATTEMPTS, "a 429 uses up no attempt");
    let numbers = seen.numbers.unwrap();
    assert_eq!((numbers.spawned_total, numbers.in_flight), (3, 0), "and is no start");
    let callbacks = (numbers.callbacks_succeeded_total, numbers.callbacks_failed_total);
    assert_eq!(callbacks, (2, 0), "what is said twice counts once");
    let dead = seen.ended.iter().next().unwrap();
    assert!(seen.destroyed.contains(dead), "what is left of {dead} is destroyed: {:?}", seen.destroyed);
}

/// Whose image is not there, for example. Nobody waits for it until its time is up.
#[tokio::test]
async fn a_machine_that_cannot_be_launched_is_replaced_at_once() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, end: Some("launch_failed"), ..Seen::default() };
    let ran = run(2, Duration::from_millis(20), calm);
    let seen = tokio::time::timeout(Duration::from_secs(30), ran).await.unwrap();
    assert_eq!(seen.machines.len(), 3, "{:?}", seen.machines);
}

#[tokio::test]
async fn no_more_machines_than_the_cap_and_a_callback_makes_room_for_the_next() {
    // Nobody would hear of a machine's end by asking.
    let poll = Duration::from_secs(24 * 60 * 60);
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_live: true, ..Seen::default() };
    let seen = run(30, poll, calm).await;
    assert_eq!((seen.problems, seen.machines.len()), (Vec::new(), 30));
    assert!(seen.most <= 4, "{} at a time", seen.most);
    assert!(seen.most_in_flight < 4, "one that is asked for is not there yet: {}", seen.most_in_flight);
}

#[tokio::test]
async fn a_machine_whose_start_was_not_noted_is_found_by_its_name() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, answer_lost: true, ..Seen::default() };
    let seen = run(1, Duration::from_millis(20), calm).await;
    assert_eq!((seen.problems, seen.machines), (Vec::new(), vec!["tiff-fly_tiff_0000001".to_owned()]));
    assert!(seen.destroyed.contains("machine1"), "and no orphan is left: {:?}", seen.destroyed);
}

#[tokio::test]
async fn a_machine_past_its_time_is_destroyed_and_replaced() {
    let mute = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, mute, ..Seen::default() };
    let seen = run(1, Duration::from_millis(20), calm).await;
    assert_eq!(seen.machines, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000001-2"]);
    assert!(seen.destroyed.contains("machine1"), "{:?}", seen.destroyed);
}

#[tokio::test]
async fn what_was_reported_but_not_uploaded_is_made_by_another_attempt() {
    let liar = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_live: true, liar, ..Seen::default() };
    let seen = run(1, Duration::from_secs(24 * 60 * 60), calm).await;
    assert_eq!(seen.machines, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000001-2"]);
}

/// A reset whose machines could not be destroyed at once, and the message again: names are the same, lives are not.
#[tokio::test]
async fn a_machine_of_a_former_life_is_not_taken_for_that_of_the_next() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_mute: true, all_live: true, ..Seen::default() };
    // Nobody looks after what is left in the meantime.
    let mut world = World::new(Duration::from_secs(24 * 60 * 60), 3_600_000, calm);
    let running = world.start().await;
    running.submit(2).await;
    world.until(|seen| seen.machines.len() == 2).await;
    world.seen.lock().unwrap().destroy_fails = 2;
    let site = running.service.site().await;
    site.ask::<OkAnswer>("fly", &Call::Reset).await.unwrap();
    world.until(|seen| seen.destroy_fails == 0).await;
    world.seen.lock().unwrap().all_mute = false;
    running.submit(2).await;
    let status = tokio::time::timeout(Duration::from_secs(60), running.end()).await.unwrap();
    assert_eq!((status.status.as_str(), status.inputs.converted), ("DONE", 2), "{status:?}");
    running.stop().await;
    let seen = world.seen.lock().unwrap();
    assert_eq!((seen.machines.len(), seen.conflicts), (4, 2));
    assert!(seen.destroyed.contains("machine1") && seen.destroyed.contains("machine2"));
}

#[tokio::test]
async fn machines_for_images_and_documents_are_asked_for_as_documented() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_fail: true, all_live: true, ..Seen::default() };
    let mut world = World::new(Duration::from_millis(20), 60_000, calm);
    world.phases = ALL;
    let running = world.start().await;
    let mut photo = listed("c.png", "image/png");
    photo["cid"] = json!("bafkreiphoto");
    running
        .submit_files(vec![listed("a.tif", "image/tiff"), listed("b.pdf", "application/pdf"), photo])
        .await;
    let status = running.end().await;
    assert_eq!((status.status.as_str(), status.inputs.failed), ("DONE", 3), "{status:?}");
    world.until(|seen| seen.heard == seen.said).await;
    let numbers = running.service.metrics().numbers();
    assert_eq!((numbers.callbacks_succeeded_total, numbers.callbacks_failed_total), (0, 3));
    running.stop().await;
    let seen = world.seen.lock().unwrap();
    assert_eq!(seen.problems, Vec::<String>::new());
    assert_eq!(seen.machines, ["tiff-fly_tiff_0000001", "pdf-fly_pdf_0000002", "img-fly_image_0000003"]);
    let env = &seen.envs[2];
    let said = ["INPUT_FILE_NAME", "INPUT_CONTENT_TYPE", "INPUT_FILE_SIZE", "INPUT_CID", "CDN_PUBLIC_URL"];
    assert_eq!(
        said.map(|name| env[name].as_str().unwrap_or_default()),
        ["c.png", "image/png", "9", "bafkreiphoto", "https://cdn.example"]
    );
    assert_eq!(seen.envs[1]["MEMORY_MB"], json!("2048"));
}
