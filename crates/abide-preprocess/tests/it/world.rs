//! A world with batches: the test is the manifest's worker and every outside worker.

use abide_blob::Signer;
use abide_core::job::JobState;
use abide_core::name::UniqueKey;
use abide_core::object::Incarnation;
use abide_engine::CallError;
use abide_engine::testing::World;
use abide_engine::worker::{done, failed_for_good};
use abide_preprocess::calls::{
    AttemptRef, BeginAnswer, HaveAnswer, OkAnswer, OutputAnswer, StatusAnswer, TaskPage, TasksAnswer,
};
use abide_preprocess::file::ProcessableFile;
use abide_preprocess::jobs::{self, Ended, Order};
use abide_preprocess::{Batch, Call, Options, QueueMessage, Report};
use abide_store::view::{JobFilter, JobView};
use abide_store::{Answer, Read};
use serde_json::json;

pub(crate) const B: &str = "preprocess/b1";

pub(crate) fn signer() -> Signer {
    Signer::new([3; 32])
}

pub(crate) fn options() -> Options {
    Options::new(signer())
}

pub(crate) fn message() -> QueueMessage {
    QueueMessage::read(&json!({
        "batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json", "r2_prefix": "staging/b1/",
        "uploader": "ada", "root_pi": "01ROOT", "custom_prompts": {"x": 1},
    }))
    .unwrap()
}

pub(crate) fn file(name: &str, content_type: &str) -> ProcessableFile {
    let stem = abide_preprocess::phases::tiff::stem(name);
    ProcessableFile {
        r2_key: format!("staging/b1/{name}"),
        logical_path: format!("/box/{name}"),
        file_name: name.to_owned(),
        file_size: 10,
        content_type: content_type.to_owned(),
        processing_config: json!({"ocr": true}),
        output_r2_key: stem.map(|stem| format!("staging/b1/{stem}.jpg")),
        ..ProcessableFile::default()
    }
}

/// A world in which the manifest's worker has nothing to say: the test brings the files.
pub(crate) fn world(options: Options) -> World {
    world_of(World::new(), options)
}

pub(crate) fn world_of(mut world: World, options: Options) -> World {
    world.object(Batch::new(options));
    world.worker(jobs::QUEUE, jobs::MANIFEST, |_| done(&()));
    world
}

/// Begins a batch with these files.
pub(crate) fn start(world: &mut World, files: Vec<ProcessableFile>) {
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    let life = life(world);
    let call = Call::Files { life, from: 0, files, last: true };
    let have: HaveAnswer = world.call(B, &call).unwrap();
    assert_eq!(have.have, None);
}

pub(crate) fn life(world: &mut World) -> Incarnation {
    let Answer::Object(Some(view)) = world.read(Read::Object(B.parse().unwrap())) else { panic!("no batch") };
    view.incarnation
}

pub(crate) fn status(world: &mut World) -> StatusAnswer {
    world.call(B, &Call::Status).unwrap()
}

/// `[total, completed, failed, in flight]` of each phase.
pub(crate) fn counts(world: &mut World) -> Vec<[u64; 4]> {
    let phases = status(world).phases;
    let of = |phase: &abide_preprocess::calls::PhaseProgress| {
        let progress = phase.progress;
        [progress.tasks_total, progress.tasks_completed, progress.tasks_failed, phase.in_flight]
    };
    phases.iter().map(of).collect()
}

pub(crate) fn output(world: &mut World) -> Vec<ProcessableFile> {
    let answer: OutputAnswer = world.call(B, &Call::Output(Default::default())).unwrap();
    answer.output
}

pub(crate) fn tasks(world: &mut World) -> TasksAnswer {
    world.call(B, &Call::Tasks(TaskPage { limit: Some(500), ..TaskPage::default() })).unwrap()
}

/// Jobs that are not over, oldest first.
pub(crate) fn jobs(world: &mut World, kind: &str) -> Vec<JobView> {
    let filter = JobFilter { limit: 1_000, ..JobFilter::default() };
    let Answer::Jobs(page) = world.read(Read::Jobs(filter)) else { panic!("jobs are answered in kind") };
    let mut jobs: Vec<JobView> =
        page.jobs.into_iter().filter(|job| job.kind.as_str() == kind && !job.state.is_over()).collect();
    jobs.reverse();
    jobs
}

/// What launchers are asked to do.
pub(crate) fn orders(world: &mut World, tag: &str) -> Vec<Order> {
    jobs(world, tag).iter().map(|job| job.payload.decode().unwrap()).collect()
}

pub(crate) fn states(world: &mut World, key: &str) -> Option<JobState> {
    let filter = JobFilter { limit: 1_000, ..JobFilter::default() };
    let Answer::Jobs(page) = world.read(Read::Jobs(filter)) else { panic!("jobs are answered in kind") };
    page.jobs
        .into_iter()
        .find(|job| job.unique_key == Some(UniqueKey::new(key).unwrap()))
        .map(|job| job.state)
}

/// The success of a task, as a worker that knows only the seed's text reports it.
pub(crate) fn success(order: &Order) -> Report {
    let name = &order.input.file_name;
    match order.tag.as_str() {
        "image" => {
            let key = format!("{}.ref.json", order.input.r2_key);
            serde_json::from_value(json!({
                "task_id": order.attempt.task_id, "batch_id": "b1", "status": "success", "ref_json_r2_key": key,
                "ref_data": {"url": format!("/asset/{}", order.asset_id)}, "archive_r2_key": format!("archive/{name}"),
            }))
            .unwrap()
        }
        _ => serde_json::from_value(json!({
            "task_id": order.attempt.task_id, "batch_id": "b1", "status": "success",
            "output_r2_key": order.input.output_r2_key.clone().unwrap_or_default(),
            "output_file_name": format!("{name}.jpg"), "output_file_size": 5,
        }))
        .unwrap(),
    }
}

pub(crate) fn callback(
    world: &mut World,
    attempt: &AttemptRef,
    report: Report,
) -> Result<OkAnswer, CallError> {
    let signature = jobs::sign(&signer(), "b1", attempt);
    let (attempt, report) = (attempt.clone(), Box::new(report));
    world.call(B, &Call::Callback { attempt, signature, report, in_parts: 0 })
}

/// What a launcher does before it starts a worker.
pub(crate) fn begin(world: &mut World, attempt: &AttemptRef) -> BeginAnswer {
    world.call(B, &Call::Begin { attempt: attempt.clone(), machine_id: None }).unwrap()
}

/// Does everything that launchers are asked to do, until nothing is left.
pub(crate) fn work(world: &mut World) {
    for tag in ["tiff", "pdf", "image"] {
        loop {
            let orders = orders(world, tag);
            let mut moved = false;
            for order in orders {
                if begin(world, &order.attempt).go {
                    callback(world, &order.attempt, success(&order)).unwrap();
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }
}

/// A launcher whose processes end like this.
pub(crate) fn ends(world: &mut World, tag: &'static str, reason: Option<&'static str>) {
    world.worker(jobs::QUEUE, tag, move |_| match reason {
        Some(reason) => done(&Ended::Failed { reason: reason.to_owned() }),
        None => done(&Ended::Exited),
    });
}

/// A launcher that can start nothing.
pub(crate) fn cannot_launch(world: &mut World, tag: &'static str) {
    world.worker(jobs::QUEUE, tag, |_| failed_for_good("the token is not valid"));
}
