//! What the pipeline itself costs.

use crate::real::rig;
use abide_pipeline::Options;
use abide_pipeline::contract::Status;
use serde_json::json;
use tokio::time::Instant;

/// 10,000 files in 200 directories through all phases, with readers and writers that answer at once. Run it in release.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes long in a debug build; prints what it took"]
async fn ten_thousand_files() {
    for (directories, files) in [(20, 50), (200, 50)] {
        let rig = rig(Options::default());
        let staged: Vec<(String, String)> = (0..directories)
            .flat_map(|d| {
                (0..files).map(move |f| (format!("/d{d:03}/letter-{f:03}.txt"), format!("letter {d} {f}")))
            })
            .collect();
        let staged: Vec<(&str, &str)> =
            staged.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        rig.stage("b1", &staged).await;
        let begun = Instant::now();
        rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
        let status = rig.end("b1").await;
        let took = begun.elapsed();
        assert_eq!((status.status, status.directories_failed), (Status::Done, 0), "{:?}", status.notes);
        let all = directories * files;
        println!("{all} files in {directories} directories: {took:?}, {:?} for each file", took / all);
    }
}
